// SPDX-License-Identifier: Apache-2.0
// The instructions of the PTO ISA that are not communication: load and store, arithmetic on tiles,
// flags, barriers, and which block this is. Operands: destination, sources, and events, whose
// Wait() is called first. Each does what it says before it returns, so flags have nothing to order;
// pipe barriers and cache operations are fences of memory.
#ifndef TERN_FACES_PTO_PTO_INST_HPP
#define TERN_FACES_PTO_PTO_INST_HPP

#include <ctime>

#include "pto/tern/call.hpp"
#include "pto/tern/launch.hpp"
#include "tern/stream.h"
#include "tern/tile.h"

// Which block this is.
inline int64_t get_block_idx()
{
    return tern_block_index();
}
inline int64_t get_block_num()
{
    return tern_block_count();
}

namespace pto::tern_detail
{
struct block_index {
    operator int64_t() const
    {
        return tern_block_index();
    }
};
} // namespace pto::tern_detail
inline constexpr pto::tern_detail::block_index block_idx{};

// Order within a core and towards other ranks.
inline void set_flag(pipe_t from, pipe_t to, int event)
{
    tern_flag_set(static_cast<tern_pipe>(from), static_cast<tern_pipe>(to), event);
}
inline void wait_flag(pipe_t from, pipe_t to, int event)
{
    tern_flag_wait(static_cast<tern_pipe>(from), static_cast<tern_pipe>(to), event);
}
inline void pipe_barrier(pipe_t pipe)
{
    tern_pipe_barrier(static_cast<tern_pipe>(pipe));
}
template <typename Mode> inline void dsb(Mode)
{
    tern_fence();
}
template <typename... Arguments> inline void dcci(Arguments...)
{
    tern_fence();
}

// Which elements vector instructions of the chip compute: here the valid ones of tiles, always.
inline void set_mask_norm()
{
}
inline void set_mask_count()
{
}
inline void set_vector_mask(uint64_t, uint64_t)
{
}

// Ticks of 20 ns.
inline int64_t get_sys_cnt()
{
    std::timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec) / 20;
}

namespace pto
{
namespace tern_detail
{

constexpr tern_buffer buffer_of(TileType type)
{
    switch (type) {
    case TileType::Mat:
        return TERN_BUFFER_L1;
    case TileType::Left:
    case TileType::ScaleLeft:
        return TERN_BUFFER_L0A;
    case TileType::Right:
    case TileType::ScaleRight:
        return TERN_BUFFER_L0B;
    case TileType::Acc:
        return TERN_BUFFER_L0C;
    case TileType::Bias:
        return TERN_BUFFER_BT;
    case TileType::Scaling:
        return TERN_BUFFER_FB;
    default:
        return TERN_BUFFER_UB;
    }
}

// No offset is as great, and no pointer as small.
constexpr uint64_t least_pointer = uint64_t{1} << 32;

template <typename T> void assign_offset(T &tile, uint64_t offset)
{
    void *memory = reinterpret_cast<void *>(static_cast<uintptr_t>(offset));
    if (offset < least_pointer) {
        check("TASSIGN", tern_buffer_address(buffer_of(T::Loc), offset, T::bytes, &memory));
    }
    tile.tern_assign(memory);
}

// A tensor of blocks (Layout::NZ: blocks of columns, blocks of rows, rows, elements) is loaded and
// stored by columns of blocks.
template <typename Move>
void move_blocks(const tern_tensor &whole, const tern_tile &tile, const Move &move)
{
    int64_t size = static_cast<int64_t>(tern_dtype_size(whole.dtype));
    for (int64_t column = 0; column < whole.shape[1]; column++) {
        tern_tensor part = whole;
        tern_tile view = tile;
        part.data = static_cast<char *>(whole.data) + column * whole.stride[1] * size;
        part.shape[1] = 1;
        int64_t from = column * whole.shape[4];
        view.data = static_cast<char *>(tile.data) + from * size;
        view.valid_columns =
            static_cast<int32_t>(tile.valid_columns > from ? tile.valid_columns - from : 0);
        move(part, view);
    }
}

template <typename T, typename Global> void load(T &tile, const Global &global)
{
    tern_tile view = tile.tern_view();
    tern_tensor from = global.tern_view();
    if constexpr (Global::layout == Layout::NZ) {
        move_blocks(from, view, [](const tern_tensor &part, tern_tile &to) {
            check("TLOAD", tern_tile_load(&to, &part));
        });
    } else {
        check("TLOAD", tern_tile_load(&view, &from));
    }
}

template <typename T, typename Global>
void store(const Global &global, const T &tile, AtomicType atomic)
{
    tern_tile view = tile.tern_view();
    tern_tensor to = global.tern_view();
    tern_atomic how = atomic == AtomicType::AtomicAdd ? TERN_ATOMIC_ADD : TERN_ATOMIC_NONE;
    if constexpr (Global::layout == Layout::NZ) {
        move_blocks(to, view, [how](const tern_tensor &part, tern_tile &from) {
            check("TSTORE", tern_tile_store(&part, &from, how));
        });
    } else {
        check("TSTORE", tern_tile_store(&to, &view, how));
    }
}

constexpr tern_rounding rounding(RoundMode mode)
{
    switch (mode) {
    case RoundMode::CAST_NONE:
    case RoundMode::CAST_RINT:
        return TERN_ROUND_EVEN;
    case RoundMode::CAST_ROUND:
        return TERN_ROUND_AWAY;
    case RoundMode::CAST_FLOOR:
        return TERN_ROUND_DOWN;
    case RoundMode::CAST_CEIL:
        return TERN_ROUND_UP;
    case RoundMode::CAST_TRUNC:
        return TERN_ROUND_ZERO;
    case RoundMode::CAST_ODD:
        return TERN_ROUND_ODD;
    }
    return static_cast<tern_rounding>(TERN_ROUND_ODD + 1); // there is none: it is refused
}

template <typename D, typename A, typename B>
void combine(const char *name, D &dst, A &a, B &b, tern_tile_op op)
{
    tern_tile views[3] = {dst.tern_view(), a.tern_view(), b.tern_view()};
    check(name, tern_tile_combine(&views[0], &views[1], &views[2], op));
}

template <typename D, typename A>
void combine_scalar(const char *name, D &dst, A &a, typename D::DType scalar, tern_tile_op op)
{
    tern_tile views[2] = {dst.tern_view(), a.tern_view()};
    check(name, tern_tile_combine_scalar(&views[0], &views[1], &scalar, op));
}

} // namespace tern_detail

// A tile at an offset of the block's buffer of its type, or where a pointer says; a tensor at a
// pointer.
template <typename T, typename Address> PTO_INST void TASSIGN(T &object, Address address)
{
    if constexpr (!tern_detail::is_tile<T>::value) {
        object.SetAddr(address);
    } else if constexpr (std::is_pointer_v<Address>) {
        object.tern_assign(const_cast<void *>(static_cast<const volatile void *>(address)));
    } else {
        tern_detail::assign_offset(object, static_cast<uint64_t>(address));
    }
}

template <std::size_t Address, typename T> PTO_INST void TASSIGN(T &tile)
{
    tern_detail::assign_offset(tile, Address);
}

template <typename T, typename Global, typename... Events>
PTO_INST RecordEvent TLOAD(T &tile, Global &global, Events &...events)
{
    tern_detail::check_tile<Global, T>();
    tern_detail::wait_for(events...);
    tern_detail::load(tile, global);
    return {};
}

template <typename T, typename Global, AtomicType atomic = AtomicType::AtomicNone>
PTO_INST void TSTORE_IMPL(Global &global, T &tile)
{
    tern_detail::store(global, tile, atomic);
}

// From an accumulator of float also to half and bfloat16_t.
template <typename T, typename Global, AtomicType atomic = AtomicType::AtomicNone,
          typename... Events>
PTO_INST RecordEvent TSTORE(Global &global, T &tile, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::store(global, tile, atomic);
    return {};
}

#define TERN_PTO_COMBINE(NAME, OP)                                                                 \
    template <typename D, typename A, typename B, typename... Events>                              \
    PTO_INST RecordEvent NAME(D &dst, A &src0, B &src1, Events &...events)                         \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        tern_detail::combine(#NAME, dst, src0, src1, OP);                                          \
        return {};                                                                                 \
    }                                                                                              \
    template <typename D, typename A, typename... Events>                                          \
    PTO_INST RecordEvent NAME##S(D &dst, A &src, typename D::DType scalar, Events &...events)      \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        tern_detail::combine_scalar(#NAME "S", dst, src, scalar, OP);                              \
        return {};                                                                                 \
    }
TERN_PTO_COMBINE(TADD, TERN_TILE_ADD)
TERN_PTO_COMBINE(TSUB, TERN_TILE_SUB)
TERN_PTO_COMBINE(TMUL, TERN_TILE_MUL)
TERN_PTO_COMBINE(TDIV, TERN_TILE_DIV)
TERN_PTO_COMBINE(TMAX, TERN_TILE_MAX)
TERN_PTO_COMBINE(TMIN, TERN_TILE_MIN)
TERN_PTO_COMBINE(TAND, TERN_TILE_AND)
TERN_PTO_COMBINE(TOR, TERN_TILE_OR)
TERN_PTO_COMBINE(TSHL, TERN_TILE_SHL)
TERN_PTO_COMBINE(TSHR, TERN_TILE_SHR)
#undef TERN_PTO_COMBINE

template <typename D, typename... Events>
PTO_INST RecordEvent TEXPANDS(D &dst, typename D::DType scalar, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile view = dst.tern_view();
    tern_detail::check("TEXPANDS", tern_tile_fill(&view, &scalar));
    return {};
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TAXPY(D &dst, S &src, typename S::DType scalar, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TAXPY", tern_tile_axpy(&views[0], &views[1], &scalar));
    return {};
}

// CAST_NONE rounds as CAST_RINT: to nearest, ties to even. CAST_ROUND: ties away from zero.
template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TCVT(D &dst, S &src, RoundMode mode, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TCVT", tern_tile_convert_rounded(&views[0], &views[1],
                                                         tern_detail::rounding(mode)));
    return {};
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TMOV(D &dst, S &src, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TMOV", tern_tile_convert(&views[0], &views[1]));
    return {};
}

#define TERN_PTO_ROWS(NAME, OP)                                                                    \
    template <typename D, typename S, typename T, typename... Events>                              \
    PTO_INST RecordEvent NAME(D &dst, S &src, T &, Events &...events)                              \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        tern_tile views[2] = {dst.tern_view(), src.tern_view()};                                   \
        tern_detail::check(#NAME, tern_tile_reduce_rows(&views[0], &views[1], OP));                \
        return {};                                                                                 \
    }
TERN_PTO_ROWS(TROWSUM, TERN_TILE_ADD)
TERN_PTO_ROWS(TROWPROD, TERN_TILE_MUL)
TERN_PTO_ROWS(TROWMAX, TERN_TILE_MAX)
TERN_PTO_ROWS(TROWMIN, TERN_TILE_MIN)
#undef TERN_PTO_ROWS

// One tile out of another one.
#define TERN_PTO_OF_ONE(NAME, CALL, ...)                                                           \
    template <typename D, typename S, typename... Events>                                          \
    PTO_INST RecordEvent NAME(D &dst, S &src, Events &...events)                                   \
    {                                                                                              \
        tern_detail::wait_for_but_tiles(events...);                                                \
        tern_tile views[2] = {dst.tern_view(), src.tern_view()};                                   \
        tern_detail::check(#NAME, CALL(&views[0], &views[1] __VA_ARGS__));                         \
        return {};                                                                                 \
    }
TERN_PTO_OF_ONE(TEXP, tern_tile_apply, , TERN_TILE_EXP)
TERN_PTO_OF_ONE(TSQRT, tern_tile_apply, , TERN_TILE_SQRT)
TERN_PTO_OF_ONE(TRSQRT, tern_tile_apply, , TERN_TILE_RSQRT)
TERN_PTO_OF_ONE(TRECIP, tern_tile_apply, , TERN_TILE_RECIP)
TERN_PTO_OF_ONE(TLOG, tern_tile_apply, , TERN_TILE_LOG)
TERN_PTO_OF_ONE(TABS, tern_tile_apply, , TERN_TILE_ABS)
TERN_PTO_OF_ONE(TNEG, tern_tile_apply, , TERN_TILE_NEG)
TERN_PTO_OF_ONE(TRELU, tern_tile_apply, , TERN_TILE_RELU)
TERN_PTO_OF_ONE(TNOT, tern_tile_apply, , TERN_TILE_NOT)
TERN_PTO_OF_ONE(TCOLPROD, tern_tile_reduce_columns, , TERN_TILE_MUL)
TERN_PTO_OF_ONE(TCOLMAX, tern_tile_reduce_columns, , TERN_TILE_MAX)
TERN_PTO_OF_ONE(TCOLMIN, tern_tile_reduce_columns, , TERN_TILE_MIN)
TERN_PTO_OF_ONE(TROWEXPAND, tern_tile_spread_rows, )
TERN_PTO_OF_ONE(TCOLEXPAND, tern_tile_spread_columns, )
TERN_PTO_OF_ONE(TCOLSUM, tern_tile_reduce_columns, , TERN_TILE_ADD)
#undef TERN_PTO_OF_ONE

// The form with a tile for what lies between, and how the sum is made: here always in order.
template <typename D, typename S, typename T,
          typename = std::enable_if_t<tern_detail::is_tile<T>::value>>
PTO_INST RecordEvent TCOLSUM(D &dst, S &src, T &, bool)
{
    return TCOLSUM(dst, src);
}

// The same memory as a tile of another shape, or another type.
template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TRESHAPE(D &dst, S &src, Events &...events)
{
    static_assert(D::bytes == S::bytes, "both tiles have as many bytes");
    tern_detail::wait_for(events...);
    dst.tern_assign(src.data());
    return {};
}

// start, start + 1, …; descending: start, start - 1, …
template <typename D, typename T, int descending, typename... Events>
PTO_INST RecordEvent TCI(D &dst, T start, Events &...events)
{
    tern_detail::wait_for(events...);
    const typename D::DType first = static_cast<typename D::DType>(start);
    tern_tile view = dst.tern_view();
    tern_detail::check("TCI", tern_tile_count(&view, &first, descending));
    return {};
}

// The newer form, with a tile for what lies between.
template <typename D, typename Between, typename T, int descending, typename... Events>
PTO_INST RecordEvent TCI(D &dst, T start, Between &, Events &...events)
{
    return TCI<D, T, descending>(dst, start, events...);
}

template <typename D, typename S, typename... Events>
PTO_INST RecordEvent TEXTRACT(D &dst, S &src, int row = 0, int column = 0, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_tile views[2] = {dst.tern_view(), src.tern_view()};
    tern_detail::check("TEXTRACT", tern_tile_extract(&views[0], &views[1], row, column));
    return {};
}

// All blocks of the kernel wait for each other. The soft form counts in memory that all of them
// name, whose first word has been 0 once; usedCores: as many blocks, 0: all.
enum class SyncAllMode { Hard, Soft };
enum class SyncCoreType { AIVOnly, AICOnly, Mix };

constexpr int32_t SYNCALL_SOFT_WORKSPACE_INT32 = 16;
constexpr int32_t SYNCALL_SOFT_SLOT_INT32 = 8; // of the tile of the older form

template <SyncCoreType = SyncCoreType::AIVOnly> PTO_INST void SYNCALL()
{
    tern_detail::check("SYNCALL", tern_block_sync());
}

template <SyncAllMode mode, SyncCoreType = SyncCoreType::AIVOnly, typename Global>
PTO_INST void SYNCALL(Global &workspace, int32_t usedCores = 0)
{
    static_assert(mode == SyncAllMode::Soft && std::is_same_v<typename Global::RawDType, int32_t>);
    tern_detail::check("SYNCALL", tern_block_sync_soft(workspace.data(), usedCores));
}

// The older form has a tile for what is read of the workspace; nothing is put there here.
template <SyncAllMode mode, SyncCoreType core = SyncCoreType::AIVOnly, typename Global, typename T,
          typename = std::enable_if_t<tern_detail::is_tile<T>::value>>
PTO_INST void SYNCALL(Global &workspace, T &, int32_t usedCores = 0)
{
    SYNCALL<mode, core>(workspace, usedCores);
}

// Between two pipes, at once.
template <pipe_t from, pipe_t to>
PTO_INST void PtoSetWaitFlag(event_t set = EVENT_ID0, event_t wait = EVENT_ID0)
{
    set_flag(from, to, set);
    wait_flag(from, to, wait);
}

} // namespace pto

#include "pto/common/event.hpp"
#include "pto/tern/combine.hpp"
#include "pto/tern/cube.hpp"
#include "pto/tern/fifo.hpp"
#include "pto/tern/masks.hpp"
#include "pto/tern/places.hpp"
#include "pto/tern/scalar.hpp"
#include "pto/tern/sort.hpp"

#include "pto/comm/pto_comm_inst.hpp" // sources that include this alone communicate, too

#endif
