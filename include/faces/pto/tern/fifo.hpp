// SPDX-License-Identifier: Apache-2.0
// TPipe, TPUSH, TPOP, TALLOC and TFREE of the PTO ISA: rings of slots between the cube core and the
// vector cores of a mixed task, over tern/fifo.h. And the flags between these cores.
//
// TPOP of a tile gives its slot back, as on a2a3, so TFREE without a tensor has nothing to do. A
// slot's tile lies there row after row. Between kernels of `<<<>>>`, which are not mixed, nobody is
// at the other end: refused.
#ifndef TERN_FACES_PTO_TERN_FIFO_HPP
#define TERN_FACES_PTO_TERN_FIFO_HPP

#include "pto/tern/call.hpp"
#include "tern/cluster.h"
#include "tern/fifo.h"

// Of a vector core which one it is, and how many a cluster has.
inline int64_t get_subblockid()
{
    return tern_cluster_lane() == 2 ? 1 : 0;
}
inline int64_t get_subblockdim()
{
    int vectors = tern_cluster_vectors();
    return vectors > 0 ? vectors : 1;
}

// The flag and the mode are bits of the second argument: mode 1 between the vector cores, mode 2
// between the cube core and these. What the pipe has stored is there before.
inline void ffts_cross_core_sync(pipe_t, uint64_t config)
{
    pto::tern_detail::check("ffts_cross_core_sync",
                            tern_cluster_set(static_cast<int>(config >> 8 & 0xf),
                                             static_cast<tern_cluster_mode>(config >> 4 & 0x3)));
}
inline void wait_flag_dev(int64_t flag)
{
    pto::tern_detail::check("wait_flag_dev", tern_cluster_wait(static_cast<int>(flag)));
}
inline void set_ffts_base_addr(uint64_t)
{
}

namespace pto
{

struct Direction {
    enum : uint8_t {
        DIR_C2V = 1,
        DIR_V2C = 2,
        DIR_BOTH = 3,
        DIR_V2C_CTRL = 4,
        DIR_C2V_GM = 5,
        DIR_V2C_GM = 6,
        DIR_BOTH_GM = 7
    };
};

enum class TileSplitAxis : uint8_t { TILE_NO_SPLIT = 0, TILE_UP_DOWN = 1, TILE_LEFT_RIGHT = 2 };

namespace tern_detail
{

// One end of a pipe. The entry that comes next is the pipe's tileIndex.
class fifo_end
{
  public:
    int tileIndex = 0;

    void setEntryOffset(int bytes)
    {
        end_.offset_bytes = static_cast<size_t>(bytes);
    }
    int getEntryOffset() const
    {
        return static_cast<int>(end_.offset_bytes);
    }

    void tern_open(int counter, bool to_vectors, uint32_t slots, uint32_t slot_bytes, void *memory)
    {
        end_.counter = counter;
        end_.to_vectors = to_vectors;
        end_.slots = slots;
        end_.slot_bytes = slot_bytes;
        end_.memory = memory;
        check("TPipe", tern_fifo_open(&end_));
    }
    template <typename Call> void tern_call(const char *name, Call call)
    {
        end_.entry = static_cast<uint32_t>(tileIndex);
        check(name, call(&end_));
        tileIndex = static_cast<int>(end_.entry);
    }

  protected:
    tern_fifo end_ = {};
};

struct fifo_producer : fifo_end {
    // Whether it waits for a free slot, and whether it says that there is an entry.
    void setAllocateStatus(bool on)
    {
        end_.unawaited = !on;
    }
    bool getAllocateStatus() const
    {
        return !end_.unawaited;
    }
    void setRecordStatus(bool on)
    {
        end_.untold = !on;
    }
    bool getRecordStatus() const
    {
        return !end_.untold;
    }
};

struct fifo_consumer : fifo_end {
    // Whether it waits for an entry, and whether it says that the slot is free.
    void setWaitStatus(bool on)
    {
        end_.unawaited = !on;
    }
    bool getWaitStatus() const
    {
        return !end_.unawaited;
    }
    void setFreeStatus(bool on)
    {
        end_.untold = !on;
    }
    bool getFreeStatus() const
    {
        return !end_.untold;
    }
};

constexpr tern_fifo_split split_of(TileSplitAxis split)
{
    return split == TileSplitAxis::TILE_UP_DOWN      ? TERN_FIFO_ROWS
           : split == TileSplitAxis::TILE_LEFT_RIGHT ? TERN_FIFO_COLUMNS
                                                     : TERN_FIFO_WHOLE;
}

// The part of a slot that a vector core has, as a tensor: behind that of the first one.
template <typename Global>
void assign_slot(Global &global, void *slot, TileSplitAxis split, bool halves)
{
    using Element = typename Global::RawDType;
    int64_t behind = 0;
    if (halves && get_subblockid() == 1 && split == TileSplitAxis::TILE_UP_DOWN) {
        behind = global.GetShape(3) * global.GetStride(3);
    } else if (halves && get_subblockid() == 1 && split == TileSplitAxis::TILE_LEFT_RIGHT) {
        behind = global.GetShape(4) * global.GetStride(4);
    }
    global.SetAddr(static_cast<Element *>(slot) + behind);
}

} // namespace tern_detail

// GM_SLOT_BUFFER: SlotNum slots, of DIR_BOTH twice as many, first those to the vector cores;
// nullptr: slots of the block's own. The other two are where TPOP puts tiles, in UB and in L1,
// LocalSlotNum of them in turn.
template <uint8_t FlagID, uint8_t DirType, uint32_t SlotSize, uint32_t SlotNum,
          uint32_t LocalSlotNum = 2, bool IsNoSplit = false, bool EN_UNIT_FLAG = false>
struct TPipe {
    static constexpr bool is_both =
        DirType == Direction::DIR_BOTH || DirType == Direction::DIR_BOTH_GM;
    static constexpr bool is_c2v =
        is_both || DirType == Direction::DIR_C2V || DirType == Direction::DIR_C2V_GM;
    static constexpr bool is_v2c =
        is_both || DirType == Direction::DIR_V2C || DirType == Direction::DIR_V2C_GM;
    static constexpr uint32_t SyncPeriod = SlotNum <= 2 ? SlotNum : SlotNum / 2;

    static_assert(is_c2v || is_v2c, "a pipe of control signals is not here");
    static_assert(SlotNum >= 1 && LocalSlotNum >= 1 && SlotSize >= 1, "a pipe has slots");
    static_assert(FlagID + (is_both ? 3 : 1) < TERN_CLUSTER_FLAGS,
                  "a pipe takes the flags FlagID and FlagID + 1, of both directions to FlagID + 3");

    struct {
        __gm__ void *GM_SLOT_BUFFER;
        uint32_t C2V_CONSUMER_BUF;
        uint32_t V2C_CONSUMER_BUF;
    } fifo;
    tern_detail::fifo_producer prod;
    tern_detail::fifo_consumer cons;

    explicit TPipe(__gm__ void *slots, uint32_t c2v, uint32_t v2c) : fifo{slots, c2v, v2c}
    {
        const bool cube = tern_cluster_lane() == 0;
        open(prod, is_both ? cube : is_c2v);
        open(cons, is_both ? !cube : is_c2v);
    }

    static constexpr bool shouldWaitFree(int tile)
    {
        return tile >= static_cast<int>(SlotNum);
    }
    static constexpr bool shouldNotifyFree(int)
    {
        return true;
    }

  private:
    void open(tern_detail::fifo_end &end, bool to_vectors)
    {
        const bool second = is_both && !to_vectors;
        char *memory = static_cast<char *>(fifo.GM_SLOT_BUFFER);
        end.tern_open(FlagID + (second ? 2 : 0), to_vectors, SlotNum, SlotSize,
                      memory != nullptr && second ? memory + size_t{SlotNum} * SlotSize : memory);
    }
};

namespace tern_detail
{

template <typename T> struct is_pipe : std::false_type {
};
template <uint8_t F, uint8_t D, uint32_t S, uint32_t N, uint32_t L, bool I, bool E>
struct is_pipe<TPipe<F, D, S, N, L, I, E>> : std::true_type {
    static constexpr uint32_t local_slots = L;
};

template <typename Pipe, typename T> void push(Pipe &pipe, T &tile, TileSplitAxis split, int vector)
{
    static_assert(T::Loc == TileType::Acc || T::Loc == TileType::Vec,
                  "TPUSH takes tiles of the accumulator and of UB");
    static_assert(T::Loc == TileType::Acc ? Pipe::is_c2v : Pipe::is_v2c,
                  "this pipe goes the other way");
    tern_tile view = tile.tern_view();
    pipe.prod.tern_call("TPUSH", [&](tern_fifo *end) {
        return tern_fifo_push(end, &view, split_of(split), vector);
    });
}

template <typename Pipe, typename T> void pop(Pipe &pipe, T &tile, TileSplitAxis split, int vector)
{
    static_assert(T::Loc == TileType::Vec || T::Loc == TileType::Mat,
                  "TPOP takes tiles of UB and of L1");
    static_assert(T::Loc == TileType::Vec ? Pipe::is_c2v : Pipe::is_v2c,
                  "this pipe goes the other way");
    const uint32_t base =
        T::Loc == TileType::Vec ? pipe.fifo.C2V_CONSUMER_BUF : pipe.fifo.V2C_CONSUMER_BUF;
    const uint32_t turn = static_cast<uint32_t>(pipe.cons.tileIndex) % is_pipe<Pipe>::local_slots;
    void *memory = nullptr;
    check("TPOP", tern_buffer_address(T::Loc == TileType::Vec ? TERN_BUFFER_UB : TERN_BUFFER_L1,
                                      base + turn * T::bytes, T::bytes, &memory));
    tile.tern_assign(memory);
    tern_tile view = tile.tern_view();
    pipe.cons.tern_call("TPOP", [&](tern_fifo *end) {
        return tern_fifo_pop(end, &view, split_of(split), vector);
    });
}

} // namespace tern_detail

template <typename Pipe, typename T, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_tile<T>::value, int> = 0, typename... Events,
          typename = std::enable_if_t<(!std::is_integral_v<Events> && ...)>>
PTO_INST RecordEvent TPUSH(Pipe &pipe, T &tile, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::push(pipe, tile, Split, -1);
    return {};
}

// Of the vector core of this number.
template <typename Pipe, typename T, TileSplitAxis Split, typename... Events>
PTO_INST RecordEvent TPUSH(Pipe &pipe, T &tile, int32_t subBlockId, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::push(pipe, tile, Split, subBlockId);
    return {};
}

template <typename T, typename Pipe, typename... Events,
          typename = std::enable_if_t<tern_detail::is_pipe<Pipe>::value>>
PTO_INST RecordEvent TPUSH(T &tile, Pipe &pipe, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::push(pipe, tile, TileSplitAxis::TILE_NO_SPLIT, -1);
    return {};
}

template <typename Pipe, typename T, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_tile<T>::value, int> = 0, typename... Events,
          typename = std::enable_if_t<(!std::is_integral_v<Events> && ...)>>
PTO_INST RecordEvent TPOP(Pipe &pipe, T &tile, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::pop(pipe, tile, Split, -1);
    return {};
}

template <typename Pipe, typename T, TileSplitAxis Split, typename... Events>
PTO_INST RecordEvent TPOP(Pipe &pipe, T &tile, int32_t subBlockId, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::pop(pipe, tile, Split, subBlockId);
    return {};
}

template <typename T, typename Pipe, typename... Events,
          typename = std::enable_if_t<tern_detail::is_pipe<Pipe>::value>>
PTO_INST RecordEvent TPOP(T &tile, Pipe &pipe, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::pop(pipe, tile, TileSplitAxis::TILE_NO_SPLIT, -1);
    return {};
}

// A slot as a tensor: TALLOC gives one to write, and TPUSH says that it is written; TPOP gives one
// to read, and TFREE says that it is read. Of a split each vector core has its part.
template <typename Pipe, typename Global, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_global<Global>::value, int> = 0, typename... Events>
PTO_INST RecordEvent TALLOC(Pipe &pipe, Global &global, Events &...events)
{
    tern_detail::wait_for(events...);
    void *slot = nullptr;
    pipe.prod.tern_call("TALLOC", [&](tern_fifo *end) { return tern_fifo_reserve(end, &slot); });
    tern_detail::assign_slot(global, slot, Split, tern_cluster_lane() > 0);
    return {};
}

template <typename Pipe, typename Global, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_global<Global>::value, int> = 0, typename... Events>
PTO_INST RecordEvent TPUSH(Pipe &pipe, Global &, Events &...events)
{
    tern_detail::wait_for(events...);
    pipe.prod.tern_call("TPUSH", tern_fifo_commit);
    return {};
}

template <typename Pipe, typename Global, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_global<Global>::value, int> = 0, typename... Events>
PTO_INST RecordEvent TPOP(Pipe &pipe, Global &global, Events &...events)
{
    tern_detail::wait_for(events...);
    void *slot = nullptr;
    pipe.cons.tern_call("TPOP", [&](tern_fifo *end) { return tern_fifo_take(end, &slot); });
    tern_detail::assign_slot(global, slot, Split, tern_cluster_lane() > 0);
    return {};
}

template <typename Pipe, typename Global, TileSplitAxis Split,
          std::enable_if_t<tern_detail::is_global<Global>::value, int> = 0, typename... Events>
PTO_INST RecordEvent TFREE(Pipe &pipe, Global &, Events &...events)
{
    tern_detail::wait_for(events...);
    pipe.cons.tern_call("TFREE", tern_fifo_release);
    return {};
}

template <typename Pipe, TileSplitAxis Split, typename... Events>
PTO_INST RecordEvent TFREE(Pipe &, Events &...events)
{
    tern_detail::wait_for(events...);
    return {};
}
template <typename Pipe, typename... Events,
          typename = std::enable_if_t<(!tern_detail::is_global<Events>::value && ...)>>
PTO_INST RecordEvent TFREE(Pipe &, Events &...events)
{
    tern_detail::wait_for(events...);
    return {};
}

} // namespace pto

#endif
