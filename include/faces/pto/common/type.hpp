// SPDX-License-Identifier: Apache-2.0
// The words that kernels for the PTO ISA are written with, on a processor: macros, the two halves,
// and what is said of memory, pipes and tiles. Names and values are those of the PTO ISA.
#ifndef TERN_FACES_PTO_COMMON_TYPE_HPP
#define TERN_FACES_PTO_COMMON_TYPE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tern/block.h"
#include "tern/dtype.h"

// Host and chip are one program here, and one address space.
#ifndef __global__
#define __global__
#endif
#ifndef __aicore__
#define __aicore__
#endif
#ifndef AICORE
#define AICORE
#endif
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __in__
#define __out__
#define __inout__
#define PTO_INST inline
#define PTO_INTERNAL inline

#if !defined(__CCE_AICORE__) && !defined(__CPU_SIM)
#ifdef PTO_NPU_ARCH_A5
#define __CCE_AICORE__ 310
#else
#define __CCE_AICORE__ 220
#endif
#endif
#if !defined(PTO_NPU_ARCH_A5) && !defined(MEMORY_BASE)
#define MEMORY_BASE
#endif

namespace pto
{
namespace tern_detail
{

inline uint32_t bits_of(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// IEEE 754 binary16, rounded to nearest even.
struct f16_format {
    static constexpr tern_dtype dtype = TERN_F16;
    static float widen(uint16_t half)
    {
        uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
        uint32_t rest = half & 0x7fffu;
        if (rest < 0x400u) { // a multiple of 2^-24
            return float_of(sign | bits_of(static_cast<float>(rest) * 0x1p-24f));
        }
        return float_of(sign | ((rest << 13) + (rest < 0x7c00u ? 0x38000000u : 0x70000000u)));
    }
    static uint16_t narrow(float value)
    {
        uint32_t bits = bits_of(value);
        uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
        uint32_t rest = bits & 0x7fffffffu;
        if (rest > 0x7f800000u) {
            return static_cast<uint16_t>(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
        }
        if (rest >= 0x477ff000u) { // rounds to 65536 or more
            return static_cast<uint16_t>(sign | 0x7c00u);
        }
        if (rest < 0x38800000u) { // 0.5 has the last digit of a subnormal half as its own
            return static_cast<uint16_t>(sign | (bits_of(float_of(rest) + 0.5f) - 0x3f000000u));
        }
        return static_cast<uint16_t>(sign | ((rest - 0x37fff001u + (rest >> 13 & 1u)) >> 13));
    }
};

// The upper half of a float, rounded to nearest even.
struct bf16_format {
    static constexpr tern_dtype dtype = TERN_BF16;
    static float widen(uint16_t half)
    {
        return float_of(static_cast<uint32_t>(half) << 16);
    }
    static uint16_t narrow(float value)
    {
        uint32_t bits = bits_of(value);
        if ((bits & 0x7fffffffu) > 0x7f800000u) {
            return static_cast<uint16_t>(bits >> 16 | 0x40u);
        }
        return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
};

// A number of 16 bits; arithmetic is that of float, rounded at each assignment.
template <typename Format> class number16
{
  public:
    number16() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    number16(T value) : bits_(Format::narrow(static_cast<float>(value)))
    {
    }
    template <typename Other>
    number16(const number16<Other> &other) : bits_(Format::narrow(static_cast<float>(other)))
    {
    }
    operator float() const
    {
        return Format::widen(bits_);
    }
    template <typename T> number16 &operator+=(T other)
    {
        return *this = float(*this) + float(other);
    }
    template <typename T> number16 &operator-=(T other)
    {
        return *this = float(*this) - float(other);
    }
    template <typename T> number16 &operator*=(T other)
    {
        return *this = float(*this) * float(other);
    }
    template <typename T> number16 &operator/=(T other)
    {
        return *this = float(*this) / float(other);
    }

  private:
    uint16_t bits_;
};

} // namespace tern_detail
} // namespace pto

// Global, as the compiler of the chip has them.
using half = pto::tern_detail::number16<pto::tern_detail::f16_format>;
using bfloat16_t = pto::tern_detail::number16<pto::tern_detail::bf16_format>;

enum pipe_t {
    PIPE_S = 0,    // scalars
    PIPE_V = 1,    // vectors
    PIPE_M = 2,    // matrices
    PIPE_MTE1 = 3, // L1 to L0
    PIPE_MTE2 = 4, // loads
    PIPE_MTE3 = 5, // stores
    PIPE_ALL = 6,
    PIPE_FIX = 10, // accumulator to memory
};
#define PIPE_FIX PIPE_FIX // kernels ask whether it is defined

enum event_t {
    EVENT_ID0,
    EVENT_ID1,
    EVENT_ID2,
    EVENT_ID3,
    EVENT_ID4,
    EVENT_ID5,
    EVENT_ID6,
    EVENT_ID7,
};

enum class cache_line_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE = 1 };
enum mem_dsb_t { DSB_ALL = 0, DSB_DDR = 1, DSB_UB = 2, DSB_SEQ = 3 };
constexpr cache_line_t SINGLE_CACHE_LINE = cache_line_t::SINGLE_CACHE_LINE;
constexpr cache_line_t ENTIRE_DATA_CACHE = cache_line_t::ENTIRE_DATA_CACHE;

namespace pto
{

constexpr int DYNAMIC = -1;

enum class Layout { ND, DN, NZ };
enum class TileType { Vec, Mat, Left, Right, Acc, Bias, Scaling, ScaleLeft, ScaleRight, Ctrl };
enum class BLayout { RowMajor = 0, ColMajor = 1 };
enum class SLayout { NoneBox = 0, RowMajor = 1, ColMajor = 2 };
enum class PadValue { Null, Zero, Max, Min };
enum class CompactMode { Null, Normal };
enum class AtomicType : uint8_t { AtomicNone = 0, AtomicAdd = 1 };
enum class RoundMode {
    CAST_NONE,
    CAST_RINT,
    CAST_ROUND,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_TRUNC,
    CAST_ODD
};

namespace GlobalTensorDim
{
constexpr int DIM_0 = 0;
constexpr int DIM_1 = 1;
constexpr int DIM_2 = 2;
constexpr int DIM_3 = 3;
constexpr int DIM_4 = 4;
constexpr int TOTAL_DIM = 5;
} // namespace GlobalTensorDim

// What an instruction returns, and may be given to a later one.
struct RecordEvent {
    void Wait() const
    {
        tern_pipe_barrier(TERN_PIPE_MTE3);
    }
};

namespace tern_detail
{

// TERN_F32 of float, …
template <typename T> struct dtype_of;
template <> struct dtype_of<float> {
    static constexpr tern_dtype value = TERN_F32;
};
template <> struct dtype_of<double> {
    static constexpr tern_dtype value = TERN_F64;
};
template <> struct dtype_of<half> {
    static constexpr tern_dtype value = TERN_F16;
};
template <> struct dtype_of<bfloat16_t> {
    static constexpr tern_dtype value = TERN_BF16;
};
template <> struct dtype_of<int8_t> {
    static constexpr tern_dtype value = TERN_I8;
};
template <> struct dtype_of<int16_t> {
    static constexpr tern_dtype value = TERN_I16;
};
template <> struct dtype_of<int32_t> {
    static constexpr tern_dtype value = TERN_I32;
};
template <> struct dtype_of<int64_t> {
    static constexpr tern_dtype value = TERN_I64;
};
template <> struct dtype_of<uint8_t> {
    static constexpr tern_dtype value = TERN_U8;
};
template <> struct dtype_of<uint16_t> {
    static constexpr tern_dtype value = TERN_U16;
};
template <> struct dtype_of<uint32_t> {
    static constexpr tern_dtype value = TERN_U32;
};
template <> struct dtype_of<uint64_t> {
    static constexpr tern_dtype value = TERN_U64;
};

} // namespace tern_detail
} // namespace pto

#endif
