// SPDX-License-Identifier: Apache-2.0
// Shapes, strides, tensors in global memory, and tiles of the PTO ISA, as types; what they become
// for tern's C functions is at the end of each.
#ifndef TERN_FACES_PTO_COMMON_PTO_TILE_HPP
#define TERN_FACES_PTO_COMMON_PTO_TILE_HPP

#include <array> // braced lists, std::min: kernels use them and include nothing
#include <new>

#include "pto/common/type.hpp"
#include "pto/tern/shared.hpp"
#include "tern/isa.h"
#include "tern/tile.h"

namespace pto
{
namespace tern_detail
{

inline int check(const char *name, int status); // call.hpp

// Whether GetValue and SetValue tell of what they do.
inline bool elements_are_checked()
{
    static const bool on = tern_tile_is_checked() != 0;
    return __builtin_expect(on, 0);
}

// Five numbers, of which those that are DYNAMIC in the type are given to the constructor.
template <int64_t N1, int64_t N2, int64_t N3, int64_t N4, int64_t N5> struct numbers {
    static constexpr int64_t fixed[5] = {N1, N2, N3, N4, N5};
    static constexpr int dynamic_count =
        (N1 == DYNAMIC) + (N2 == DYNAMIC) + (N3 == DYNAMIC) + (N4 == DYNAMIC) + (N5 == DYNAMIC);

    static constexpr void fill(int64_t (&to)[5])
    {
        for (int d = 0; d < 5; d++) {
            to[d] = fixed[d] == DYNAMIC ? 1 : fixed[d];
        }
    }

    // All five, of which the dynamic ones count, or only those.
    template <typename... Given> static constexpr void fill(int64_t (&to)[5], Given... given)
    {
        constexpr int count = static_cast<int>(sizeof...(Given));
        static_assert(count == 5 || count == dynamic_count,
                      "as many arguments as there are dynamic dimensions, or five");
        const int64_t values[] = {static_cast<int64_t>(given)...};
        int next = 0;
        for (int d = 0; d < 5; d++) {
            bool takes = fixed[d] == DYNAMIC || count == 5;
            int64_t value = takes ? values[next++] : 0;
            to[d] = fixed[d] == DYNAMIC ? value : fixed[d];
        }
    }
};

} // namespace tern_detail

template <int64_t N1 = DYNAMIC, int64_t N2 = DYNAMIC, int64_t N3 = DYNAMIC, int64_t N4 = DYNAMIC,
          int64_t N5 = DYNAMIC>
struct Shape {
    static constexpr int64_t staticShape[5] = {N1, N2, N3, N4, N5};
    int64_t shape[5];

    constexpr Shape() : shape{}
    {
        tern_detail::numbers<N1, N2, N3, N4, N5>::fill(shape);
    }
    template <typename... Given,
              typename = std::enable_if_t<(sizeof...(Given) > 0) &&
                                          (std::is_convertible_v<Given, int64_t> && ...)>>
    constexpr Shape(Given... given) : shape{}
    {
        tern_detail::numbers<N1, N2, N3, N4, N5>::fill(shape, given...);
    }
};

template <int64_t N1 = DYNAMIC, int64_t N2 = DYNAMIC, int64_t N3 = DYNAMIC, int64_t N4 = DYNAMIC,
          int64_t N5 = DYNAMIC>
struct Stride {
    static constexpr int64_t staticStride[5] = {N1, N2, N3, N4, N5};
    int64_t stride[5];

    constexpr Stride() : stride{}
    {
        tern_detail::numbers<N1, N2, N3, N4, N5>::fill(stride);
    }
    template <typename... Given,
              typename = std::enable_if_t<(sizeof...(Given) > 0) &&
                                          (std::is_convertible_v<Given, int64_t> && ...)>>
    constexpr Stride(Given... given) : stride{}
    {
        tern_detail::numbers<N1, N2, N3, N4, N5>::fill(stride, given...);
    }
};

template <typename Element_, typename Shape_, typename Stride_, Layout Layout_ = Layout::ND>
struct GlobalTensor {
    using Shape = Shape_;
    using Stride = Stride_;
    using RawDType = std::remove_cv_t<Element_>;
    using DType = __gm__ Element_;
    static constexpr Layout layout = Layout_;
    static constexpr const int64_t (&staticShape)[5] = Shape::staticShape;
    static constexpr const int64_t (&staticStride)[5] = Stride::staticStride;

    GlobalTensor() = default;
    GlobalTensor(DType *data) : data_(data)
    {
    }
    GlobalTensor(DType *data, const Shape &shape) : data_(data), shape_(shape)
    {
    }
    GlobalTensor(DType *data, const Shape &shape, const Stride &stride)
        : data_(data), shape_(shape), stride_(stride)
    {
    }

    int64_t GetShape(int dim) const
    {
        return dim < 0 || dim > 4 ? -1 : shape_.shape[dim];
    }
    int64_t GetStride(int dim) const
    {
        return dim < 0 || dim > 4 ? -1 : stride_.stride[dim];
    }
    template <int dim> static constexpr int64_t GetShape()
    {
        return Shape::staticShape[dim];
    }
    template <int dim> static constexpr int64_t GetStride()
    {
        return Stride::staticStride[dim];
    }
    template <typename... Given> void SetShape(Given... given)
    {
        shape_ = Shape(given...);
    }
    template <typename... Given> void SetStride(Given... given)
    {
        stride_ = Stride(given...);
    }
    DType *data() const
    {
        return data_;
    }
    void SetAddr(DType *data)
    {
        data_ = data;
    }

    // The element so many behind the first one, as the scalar unit reads and writes it.
    RawDType GetValue(int64_t index) const
    {
        if (tern_detail::elements_are_checked()) {
            RawDType value;
            tern_tensor view = tern_view();
            tern_detail::check("GetValue", tern_tensor_get_element(&view, index, &value));
            return value;
        }
        return data_[index];
    }
    void SetValue(int64_t index, RawDType value)
    {
        if (tern_detail::elements_are_checked()) {
            tern_tensor view = tern_view();
            tern_detail::check("SetValue", tern_tensor_set_element(&view, index, &value));
            return;
        }
        data_[index] = value;
    }

    // For tern's C functions.
    tern_tensor tern_view() const
    {
        tern_tensor view = {const_cast<RawDType *>(data_),
                            tern_detail::dtype_of<RawDType>::value,
                            {},
                            {}};
        for (int d = 0; d < 5; d++) {
            view.shape[d] = shape_.shape[d];
            view.stride[d] = stride_.stride[d];
        }
        return view;
    }

  private:
    DType *data_ = nullptr;
    Shape shape_;
    Stride stride_;
};

// A buffer on the chip. Without TASSIGN it has memory of its own from its first use on; a copy of a
// tile is the same memory.
template <TileType Loc_, typename Element_, int Rows_, int Cols_,
          BLayout BFractal_ = BLayout::RowMajor, int RowValid_ = Rows_, int ColValid_ = Cols_,
          SLayout SFractal_ = SLayout::NoneBox, int SFractalSize_ = 512,
          PadValue PadVal_ = PadValue::Null, CompactMode Compact_ = CompactMode::Null>
struct Tile {
    using DType = Element_;
    using TileDType = DType *;
    static constexpr TileType Loc = Loc_;
    static constexpr int Rows = Rows_;
    static constexpr int Cols = Cols_;
    static constexpr int Numel = Rows_ * Cols_;
    static constexpr int ValidRow = RowValid_;
    static constexpr int ValidCol = ColValid_;
    static constexpr BLayout BFractal = BFractal_;
    static constexpr SLayout SFractal = SFractal_;
    static constexpr int SFractalSize = SFractalSize_;
    static constexpr PadValue PadVal = PadVal_;
    static constexpr CompactMode Compact = Compact_;
    static constexpr bool isRowMajor = BFractal_ == BLayout::RowMajor;

    static_assert(Rows > 0 && Cols > 0 && ValidRow <= Rows && ValidCol <= Cols);
    static_assert(SFractal != SLayout::NoneBox || BFractal != BLayout::RowMajor ||
                      Cols * sizeof(DType) % 32 == 0,
                  "a row of a tile is a multiple of 32 bytes");
    static_assert(SFractal != SLayout::NoneBox || BFractal != BLayout::ColMajor ||
                      Rows * sizeof(DType) % 32 == 0,
                  "a column of a tile is a multiple of 32 bytes");

    int RowMaskInternal = ValidRow == DYNAMIC ? Rows : ValidRow;
    int ColMaskInternal = ValidCol == DYNAMIC ? Cols : ValidCol;

    Tile() = default;
    explicit Tile(int valid)
    {
        static_assert((ValidRow == DYNAMIC) != (ValidCol == DYNAMIC),
                      "one argument: one dynamic dimension");
        (ValidRow == DYNAMIC ? RowMaskInternal : ColMaskInternal) = valid;
    }
    Tile(int valid_rows, int valid_columns)
    {
        static_assert(ValidRow == DYNAMIC && ValidCol == DYNAMIC,
                      "two arguments: two dynamic dimensions");
        RowMaskInternal = valid_rows;
        ColMaskInternal = valid_columns;
    }

    int GetValidRow() const
    {
        return ValidRow == DYNAMIC ? RowMaskInternal : ValidRow;
    }
    int GetValidCol() const
    {
        return ValidCol == DYNAMIC ? ColMaskInternal : ValidCol;
    }
    void SetValidRow(int rows)
    {
        RowMaskInternal = rows;
    }
    void SetValidCol(int columns)
    {
        ColMaskInternal = columns;
    }
    void SetValidShape(int rows, int columns)
    {
        RowMaskInternal = rows;
        ColMaskInternal = columns;
    }

    DType *data() const
    {
        if (data_ == nullptr) {
            constexpr std::align_val_t line{64};
            own_.reset(::operator new(bytes, line),
                       [](void *memory) { ::operator delete (memory, std::align_val_t{64}); });
            data_ = static_cast<DType *>(own_.get());
        }
        return data_;
    }
    DType GetValue(int index) const
    {
        if (tern_detail::elements_are_checked()) {
            DType value;
            tern_tile view = tern_view();
            tern_detail::check("GetValue", tern_tile_get(&view, index, &value));
            return value;
        }
        return data()[index];
    }
    DType GetValue(int row, int column) const
    {
        return GetValue(offset(row, column));
    }
    void SetValue(int index, DType value)
    {
        if (tern_detail::elements_are_checked()) {
            tern_tile view = tern_view();
            tern_detail::check("SetValue", tern_tile_set(&view, index, &value));
            return;
        }
        data()[index] = value;
    }
    void SetValue(int row, int column, DType value)
    {
        SetValue(offset(row, column), value);
    }

    static constexpr size_t bytes = size_t{Rows} * Cols * sizeof(DType);

    void tern_assign(void *memory)
    {
        own_.reset();
        data_ = static_cast<DType *>(memory);
    }

    // For tern's C functions; what they make of the valid rows and columns.
    tern_tile tern_view() const
    {
        return {data(),
                tern_detail::dtype_of<DType>::value,
                Rows,
                Cols,
                GetValidRow(),
                GetValidCol(),
                (ValidRow == DYNAMIC ? TERN_TILE_ROWS : 0) |
                    (ValidCol == DYNAMIC ? TERN_TILE_COLUMNS : 0),
                rowsTogether ? TERN_TILE_ROW_MAJOR : TERN_TILE_COLUMN_MAJOR,
                this};
    }
    void tern_take(const tern_tile &view)
    {
        RowMaskInternal = ValidRow == DYNAMIC ? view.valid_rows : RowMaskInternal;
        ColMaskInternal = ValidCol == DYNAMIC ? view.valid_columns : ColMaskInternal;
    }

  private:
    // The boxes of the chip's matrix unit are not laid out here: their tiles lie in rows.
    static constexpr bool rowsTogether = isRowMajor || SFractal != SLayout::NoneBox;

    static int offset(int row, int column)
    {
        return rowsTogether ? row * Cols + column : column * Rows + row;
    }

    mutable DType *data_ = nullptr;
    mutable tern_detail::shared<void> own_;
};

template <typename T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileLeft = Tile<TileType::Left, T, Rows, Cols, BLayout::ColMajor, ValidRow, ValidCol,
                      SLayout::RowMajor, 512>;
template <typename T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileRight = Tile<TileType::Right, T, Rows, Cols, BLayout::RowMajor, ValidRow, ValidCol,
                       SLayout::ColMajor, 512>;
template <typename T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileAcc = Tile<TileType::Acc, T, Rows, Cols, BLayout::ColMajor, ValidRow, ValidCol,
                     SLayout::RowMajor, 1024>;

// Shapes and strides of matrices that lie together: in rows, in columns, in blocks of 16 rows of 32
// bytes. Rows and columns that are DYNAMIC are given to the constructor.
template <typename T, int Rows, int Cols, Layout L = Layout::ND> struct tern_matrix {
    static constexpr int64_t block = 32 / static_cast<int64_t>(sizeof(T));
    static constexpr int64_t times(int64_t a, int64_t b)
    {
        return a < 0 || b < 0 ? DYNAMIC : a * b;
    }
    static constexpr int64_t parts(int64_t whole, int64_t part)
    {
        return whole < 0 ? DYNAMIC : whole / part;
    }
    static constexpr int64_t all = times(Rows, Cols);
    using shape = std::conditional_t<L == Layout::NZ,
                                     Shape<1, parts(Cols, block), parts(Rows, 16), 16, block>,
                                     Shape<1, 1, 1, Rows, Cols>>;
    using stride =
        std::conditional_t<L == Layout::NZ, Stride<all, times(Rows, block), 16 * block, block, 1>,
                           std::conditional_t<L == Layout::DN, Stride<all, all, all, 1, Rows>,
                                              Stride<all, all, all, Cols, 1>>>;

    static constexpr shape shape_of(int64_t rows, int64_t cols)
    {
        return L == Layout::NZ ? shape(1, cols / block, rows / 16, 16, block)
                               : shape(1, 1, 1, rows, cols);
    }
    static constexpr stride stride_of(int64_t rows, int64_t cols)
    {
        const int64_t size = rows * cols;
        return L == Layout::NZ   ? stride(size, rows * block, 16 * block, block, 1)
               : L == Layout::DN ? stride(size, size, size, 1, rows)
                                 : stride(size, size, size, cols, 1);
    }
};

template <typename T, int Rows, int Cols, Layout L = Layout::ND>
struct TileShape2D : tern_matrix<T, Rows, Cols, L>::shape {
    using Base = typename tern_matrix<T, Rows, Cols, L>::shape;
    constexpr TileShape2D() = default;
    constexpr TileShape2D(int64_t rows, int64_t cols)
        : Base(tern_matrix<T, Rows, Cols, L>::shape_of(rows, cols))
    {
    }
    template <typename... Given,
              typename = std::enable_if_t<sizeof...(Given) == 1 || sizeof...(Given) == 5>>
    constexpr TileShape2D(Given... given) : Base(given...)
    {
    }
};

template <typename T, int Rows, int Cols, Layout L = Layout::ND>
struct BaseShape2D : tern_matrix<T, Rows, Cols, L>::stride {
    using Base = typename tern_matrix<T, Rows, Cols, L>::stride;
    constexpr BaseShape2D() = default;
    constexpr BaseShape2D(int64_t rows, int64_t cols)
        : Base(tern_matrix<T, Rows, Cols, L>::stride_of(rows, cols))
    {
    }
    template <typename... Given,
              typename = std::enable_if_t<sizeof...(Given) == 1 || sizeof...(Given) == 5>>
    constexpr BaseShape2D(Given... given) : Base(given...)
    {
    }
};

namespace tern_detail
{

template <typename T> struct is_tile : std::false_type {
};
template <TileType L, typename T, int R, int C, BLayout B, int VR, int VC, SLayout S, int F,
          PadValue P, CompactMode M>
struct is_tile<Tile<L, T, R, C, B, VR, VC, S, F, P, M>> : std::true_type {
};
template <typename T> struct is_global : std::false_type {
};
template <typename T, typename S, typename D, Layout L>
struct is_global<GlobalTensor<T, S, D, L>> : std::true_type {
};

} // namespace tern_detail
} // namespace pto

#include "pto/tern/call.hpp" // check

#endif
