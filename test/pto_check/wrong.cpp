// SPDX-License-Identifier: Apache-2.0
// Kernels that work by luck, each with a twin that is right: what checking mode must find, at the
// line marked "WRONG: name", and must not. Two ranks; `wrong NAME` runs the wrong one, `right NAME`
// its twin. Exit status 0: no kernel failed; 3: one did.
#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "comm_context.h"
#include "tern/tern.h"

using namespace pto;

constexpr int N = 256;
using Row = GlobalTensor<int32_t, Shape<1, 1, 1, 1, N>, Stride<N, N, N, N, 1>>;
using RowTile = Tile<TileType::Vec, int32_t, 1, N>;

// A window: four rows of N words, then signals a line apart.
struct Place {
    __gm__ CommContext *ctx;
    __gm__ int32_t *base;
    int rank, peer;

    explicit Place(__gm__ CommContext *context) : ctx(context)
    {
        rank = static_cast<int>(ctx->rankId);
        peer = 1 - rank;
        base = reinterpret_cast<__gm__ int32_t *>(ctx->windowsIn[rank]);
    }
    __gm__ int32_t *row(int i) const
    {
        return base + 64 + i * N;
    }
    __gm__ int32_t *there(__gm__ int32_t *mine) const
    {
        return CommRemotePtr(ctx, mine, peer);
    }
    __gm__ int32_t *signal(int i) const
    {
        return base + 64 + 8 * N + 16 * i;
    }
    void notify(int i, int32_t value = 1, comm::NotifyOp op = comm::NotifyOp::AtomicAdd) const
    {
        comm::Signal s(there(signal(i)));
        comm::TNOTIFY(s, value, op);
    }
    void wait(int i, int32_t value) const
    {
        comm::Signal s(signal(i));
        comm::TWAIT(s, value, comm::WaitCmp::GE);
    }
};

#define KERNEL(name) template <bool right> __global__ AICORE void name(__gm__ CommContext *ctx)

// 1: the notify overtakes what was put.
KERNEL(barrier_before_notify)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        if (right) {
            pipe_barrier(PIPE_ALL);
        }
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: barrier_before_notify
    }
}

// 2: a barrier, but of another pipe.
KERNEL(barrier_of_the_stores)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        pipe_barrier(right ? PIPE_MTE3 : PIPE_V);
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: barrier_of_the_stores
    }
}

// 3: the barrier comes after the notify.
KERNEL(barrier_after_notify)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        if (right) {
            pipe_barrier(PIPE_ALL);
        }
        p.notify(0);
        pipe_barrier(PIPE_ALL);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: barrier_after_notify
    }
}

// 4: a store by hand, and no flag.
KERNEL(flag_after_store)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        TLOAD(tile, mine);
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        TSTORE(theirs, tile);
        if (right) {
            set_flag(PIPE_MTE3, PIPE_S, EVENT_ID1);
            wait_flag(PIPE_MTE3, PIPE_S, EVENT_ID1);
        }
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: flag_after_store
    }
}

// 5: the flag was set before the store.
KERNEL(flag_too_early)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        TLOAD(tile, mine);
        if (!right) {
            set_flag(PIPE_MTE3, PIPE_S, EVENT_ID1);
        }
        TSTORE(theirs, tile);
        if (right) {
            set_flag(PIPE_MTE3, PIPE_S, EVENT_ID1);
        }
        wait_flag(PIPE_MTE3, PIPE_S, EVENT_ID1);
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: flag_too_early
    }
}

// 6: the event of the put is not waited for.
KERNEL(event_waited_for)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        RecordEvent event = comm::TPUT(theirs, mine, tile);
        comm::Signal s(p.there(p.signal(0)));
        if (right) {
            comm::TNOTIFY(s, 1, comm::NotifyOp::AtomicAdd, event);
        } else {
            comm::TNOTIFY(s, 1, comm::NotifyOp::AtomicAdd);
        }
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: event_waited_for
    }
}

// 7: the receiver does not wait at all.
KERNEL(wait_before_load)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        pipe_barrier(PIPE_ALL);
        p.notify(0);
        p.notify(1);
    } else {
        while (reinterpret_cast<volatile int32_t *>(p.signal(1))[0] == 0) {
        }
        if (right) {
            p.wait(0, 1);
        }
        TLOAD(tile, got); // WRONG: wait_before_load
    }
}

// 8: the receiver waits for another signal.
KERNEL(wait_for_the_right_signal)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        p.notify(1);
        comm::TPUT(theirs, mine, tile);
        pipe_barrier(PIPE_ALL);
        p.notify(0);
    } else {
        p.wait(right ? 0 : 1, 1);
        if (!right) {
            while (reinterpret_cast<volatile int32_t *>(p.signal(0))[0] == 0) {
            }
        }
        TLOAD(tile, got); // WRONG: wait_for_the_right_signal
    }
}

// 9: the second iteration overwrites what the receiver may still be reading.
KERNEL(credit_before_reuse)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    for (int i = 1; i <= 2; i++) {
        if (p.rank == 0) {
            if (right && i > 1) {
                p.wait(1, i - 1);
            }
            if (!right && i > 1) {
                while (reinterpret_cast<volatile int32_t *>(p.signal(1))[0] == 0) {
                }
            }
            comm::TPUT(theirs, mine, tile); // WRONG: credit_before_reuse
            pipe_barrier(PIPE_ALL);
            p.notify(0);
        } else {
            p.wait(0, i);
            TLOAD(tile, got);
            pipe_barrier(PIPE_ALL);
            p.notify(1);
        }
    }
}

// 10: Set 1 and wait for 1 again: the old value satisfies the second wait.
KERNEL(signal_counts_up)
{
    Place p(ctx);
    for (int i = 1; i <= 2; i++) {
        if (p.rank == 0) {
            if (i > 1) {
                p.wait(1, 1);
            }
            p.notify(0, right ? i : 1, comm::NotifyOp::Set);
        } else {
            comm::Signal s(p.signal(0));
            comm::TWAIT(s, right ? i : 1, comm::WaitCmp::GE); // WRONG: signal_counts_up
            if (i == 2 || right) {
                p.notify(1);
            }
        }
    }
    if (p.rank == 1 && !right) {
        p.notify(1);
    }
}

// 11: tiles that lie across each other.
KERNEL(tiles_apart)
{
    Place p(ctx);
    RowTile one, two;
    TASSIGN(one, 0x0);
    TASSIGN(two, right ? 0x400 : 0x200);
    Row first(p.row(0)), second(p.row(1)), out(p.row(2));
    TLOAD(one, first);
    TLOAD(two, second);
    TSTORE(out, one); // WRONG: tiles_apart
    if (right) {      // blocks of columns: the parts of one tile
        using Blocks = GlobalTensor<int32_t, TileShape2D<int32_t, 32, 32, Layout::NZ>,
                                    BaseShape2D<int32_t, 32, 32, Layout::NZ>, Layout::NZ>;
        Tile<TileType::Mat, int32_t, 32, 32, BLayout::ColMajor, 32, 32, SLayout::RowMajor> tile;
        TASSIGN(tile, 0x0);
        Blocks from(p.row(4)), to(p.row(12));
        TLOAD(tile, from);
        TSTORE(to, tile);
    }
}

// 12: the two tiles of a put overlap.
KERNEL(ping_and_pong_apart)
{
    Place p(ctx);
    RowTile ping, pong;
    TASSIGN(ping, 0x0);
    TASSIGN(pong, right ? 0x400 : 0x3e0);
    Row mine(p.row(0)), theirs(p.there(p.row(1 + p.rank)));
    comm::TPUT(theirs, mine, ping, pong); // WRONG: ping_and_pong_apart
}

// 13: the tiles of a reduction are one.
KERNEL(acc_and_recv_apart)
{
    Place p(ctx);
    RowTile acc, recv;
    TASSIGN(acc, 0x0);
    TASSIGN(recv, right ? 0x400 : 0x0);
    Row tensors[2], out(p.row(2));
    tensors[p.rank] = Row(p.row(0));
    tensors[p.peer] = Row(p.there(p.row(0)));
    comm::ParallelGroup<Row> group(tensors, 2, p.rank);
    comm::TREDUCE(group, out, acc, recv, comm::ReduceOp::Sum); // WRONG: acc_and_recv_apart
}

// 14: a tile beyond the end of the buffer.
KERNEL(tile_inside_ub)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, right ? 0x2fc00 : 0x2fe00); // WRONG: tile_inside_ub
    Row mine(p.row(0));
    TLOAD(tile, mine);
}

// 15: one row too many: beyond the window.
KERNEL(put_inside_window)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    uint64_t last = p.ctx->windowsIn[p.peer] + p.ctx->winSize - N * sizeof(int32_t);
    Row mine(p.row(0)), theirs(reinterpret_cast<__gm__ int32_t *>(last) + (right ? 0 : 1));
    comm::TPUT(theirs, mine, tile); // WRONG: put_inside_window
}

// 16: an asynchronous put that is not waited for before the notify.
KERNEL(async_wait_before_notify)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE> scratch;
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::AsyncSession session;
        comm::BuildAsyncSession(scratch, nullptr, session);
        comm::AsyncEvent event = comm::TPUT_ASYNC(theirs, mine, session);
        if (right) {
            event.Wait(session);
        }
        pipe_barrier(PIPE_ALL);
        p.notify(0);
        event.Wait(session);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: async_wait_before_notify
    }
}

// 17: an asynchronous put that nobody ever waits for.
KERNEL(async_wait_at_all)
{
    Place p(ctx);
    Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE> scratch;
    Row mine(p.row(0)), theirs(p.there(p.row(1)));
    comm::AsyncSession session;
    comm::BuildAsyncSession(scratch, nullptr, session);
    comm::AsyncEvent event = comm::TPUT_ASYNC(theirs, mine, session); // WRONG: async_wait_at_all
    if (right) {
        event.Wait(session);
    }
}

// 18: what the block has stored is loaded again, without a flag between.
KERNEL(store_before_load)
{
    Place p(ctx);
    RowTile one, two;
    TASSIGN(one, 0x0);
    TASSIGN(two, 0x400);
    Row first(p.row(0)), second(p.row(1));
    TLOAD(one, first);
    TSTORE(second, one);
    if (right) {
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    TLOAD(two, second); // WRONG: store_before_load
}

// 19: the wrong direction: both wait for what both should have sent.
KERNEL(notify_the_other)
{
    Place p(ctx);
    comm::Signal s(right ? p.there(p.signal(0)) : p.signal(1));
    comm::TNOTIFY(s, 1, comm::NotifyOp::AtomicAdd);
    comm::Signal own(p.signal(0));
    comm::TWAIT(own, 1, comm::WaitCmp::GE); // WRONG: notify_the_other
}

// 20: one count less than is waited for.
KERNEL(as_many_as_are_waited_for)
{
    Place p(ctx);
    p.notify(0);
    comm::Signal own(p.signal(0));
    comm::TWAIT(own, right ? 1 : 2, comm::WaitCmp::GE); // WRONG: as_many_as_are_waited_for
}

// 21: two ranks store into the same place.
KERNEL(a_place_each)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0));
    Row place(p.rank == 0 ? p.row(1) : p.there(p.row(right ? 2 : 1)));
    if (p.rank == 1) {
        p.wait(0, 1);
        comm::TPUT(place, mine, tile); // WRONG: a_place_each
    } else {
        p.notify(0);
        comm::TPUT(place, mine, tile); // WRONG: a_place_each
    }
}

// 22: a get reads what the other rank is still storing into its own window.
KERNEL(get_after_the_notify)
{
    Place p(ctx);
    RowTile tile, other;
    TASSIGN(tile, 0x0);
    TASSIGN(other, 0x400);
    Row mine(p.row(0)), out(p.row(1)), theirs(p.there(p.row(1))), here(p.row(2));
    if (p.rank == 0) {
        TLOAD(tile, mine);
        TSTORE(out, tile);
        if (right) {
            pipe_barrier(PIPE_ALL);
        }
        p.notify(0);
    } else {
        p.wait(0, 1);
        comm::TGET(here, theirs, other); // WRONG: get_after_the_notify
    }
}

// 23: the tile is loaded again before it has been stored.
KERNEL(tile_free_before_reuse)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row first(p.row(0)), second(p.row(1)), out(p.row(2));
    TLOAD(tile, first);
    TSTORE(out, tile);
    if (right) {
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    TLOAD(tile, second); // WRONG: tile_free_before_reuse
}

// 24: half of a strided block overlaps what the other rank stores.
KERNEL(columns_apart)
{
    using Half = GlobalTensor<int32_t, Shape<1, 1, 1, 8, 16>, Stride<256, 256, 256, 32, 1>>;
    Place p(ctx);
    Tile<TileType::Vec, int32_t, 8, 16> tile;
    TASSIGN(tile, 0x0);
    Half mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1) + (right ? 16 : 8));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: columns_apart
    }
}

// 25: behind more signals than are told apart.
KERNEL(barrier_with_many_signals)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    constexpr int MANY = 5000;
    for (int i = 0; i <= MANY; i++) {
        __gm__ int32_t *word = p.base + 8000 + i;
        comm::Signal here(word), there(p.there(word));
        if (i == MANY && p.rank == 0) {
            comm::TPUT(theirs, mine, tile);
            if (right) {
                pipe_barrier(PIPE_ALL);
            }
        }
        if (p.rank == 0) {
            comm::TNOTIFY(there, 1, comm::NotifyOp::AtomicAdd);
        } else {
            comm::TWAIT(here, 1, comm::WaitCmp::GE);
        }
    }
    if (p.rank == 1) {
        TLOAD(tile, got); // WRONG: barrier_with_many_signals
    }
}

// 26: two tiles at the same place: the second load takes the first one's values.
KERNEL(tiles_at_places_of_their_own)
{
    Place p(ctx);
    RowTile one, two, sum;
    TASSIGN(one, 0x0);
    TASSIGN(two, right ? 0x400 : 0x0);
    TASSIGN(sum, 0x800);
    Row first(p.row(0)), second(p.row(1)), out(p.row(2));
    TLOAD(one, first);
    TLOAD(two, second);
    TADD(sum, one, two); // WRONG: tiles_at_places_of_their_own
    TSTORE(out, sum);
    pipe_barrier(PIPE_ALL);
    if (right) { // two names for one place: what is read is what was written last
        RowTile again, other;
        TASSIGN(again, 0x0);
        TASSIGN(other, 0x0);
        TLOAD(again, first);
        TADD(sum, again, two);
        TLOAD(other, second);
        TADD(sum, again, two);
        TLOAD(again, first);
        TEXPANDS(other, 0);
        TADD(sum, again, other);
    }
}

// 27: what should be put is got: the other rank's row goes over the own one.
KERNEL(put_from_here)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1)));
    if (p.rank == 0) {
        comm::TPUT(right ? theirs : mine, right ? mine : theirs, tile); // WRONG: put_from_here
    }
}

// 28: the other way about.
KERNEL(get_to_here)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1)));
    if (p.rank == 0) {
        comm::TGET(right ? mine : theirs, right ? theirs : mine, tile); // WRONG: get_to_here
    }
}

// 29: put to one rank (here: to itself), and told another.
KERNEL(put_to_whom_it_tells)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), place(right ? p.there(p.row(1)) : p.row(1)), got(p.row(1));
    if (p.rank == 0) {
        TEXPANDS(tile, 7);
        TSTORE(mine, tile);
        pipe_barrier(PIPE_ALL);
        comm::TPUT(place, mine, tile);
        pipe_barrier(PIPE_ALL);
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: put_to_whom_it_tells
    }
}

// 30: a single element is read before it has been told that it is there.
KERNEL(element_after_barrier)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row mine(p.row(0)), theirs(p.there(p.row(1))), got(p.row(1));
    if (p.rank == 0) {
        comm::TPUT(theirs, mine, tile);
        if (right) {
            pipe_barrier(PIPE_ALL);
        }
        p.notify(0);
    } else {
        p.wait(0, 1);
        if (got.GetValue(3) != 0) { // WRONG: element_after_barrier
            p.notify(1);
        }
    }
}

// 31: a single element is written into another rank's memory, and a notify overtakes it.
KERNEL(element_set_before_notify)
{
    Place p(ctx);
    Row theirs(p.there(p.row(1))), got(p.row(1));
    RowTile tile;
    TASSIGN(tile, 0x0);
    if (p.rank == 0) {
        theirs.SetValue(5, 7);
        if (theirs.GetValue(5) != 7) { // this unit sees its own
            return;
        }
        theirs.SetValue(6, 8);
        if (right) {
            pipe_barrier(PIPE_ALL);
        }
        p.notify(0);
    } else {
        p.wait(0, 1);
        TLOAD(tile, got); // WRONG: element_set_before_notify
    }
}

// 32: one element behind the end of a tile.
KERNEL(element_inside_tile)
{
    RowTile tile;
    TASSIGN(tile, 0x0);
    for (int i = 0; i < (right ? N : N + 1) && ctx != nullptr; i++) {
        tile.SetValue(i, i); // WRONG: element_inside_tile
    }
}

// 33: one element behind the end of a tensor, in the window.
KERNEL(element_inside_tensor)
{
    Place p(ctx);
    Row mine(p.row(0));
    int32_t sum = 0;
    for (int i = 0; i < (right ? N : N + 1); i++) {
        sum += mine.GetValue(i); // WRONG: element_inside_tensor
    }
    mine.SetValue(0, sum);
}

// 34: beyond the end of the window.
KERNEL(element_inside_window)
{
    Place p(ctx);
    Row last(p.base + ctx->winSize / 4 - (right ? N : N / 2));
    last.SetValue(N - 1, 1); // WRONG: element_inside_window
}

// 35: a tile whose values another one took before any of them was read.
KERNEL(element_of_a_tile_that_is_there)
{
    Place p(ctx);
    RowTile one, two;
    TASSIGN(one, 0x0);
    TASSIGN(two, right ? 0x400 : 0x0);
    Row first(p.row(0)), second(p.row(1));
    TLOAD(one, first);
    TLOAD(two, second);
    two.SetValue(1, one.GetValue(1)); // WRONG: element_of_a_tile_that_is_there
    one.SetValue(2, 3);
    TADD(two, two, one);
}

// 36: an element is written while a store may still read the tile.
KERNEL(element_free_before_reuse)
{
    Place p(ctx);
    RowTile tile;
    TASSIGN(tile, 0x0);
    Row out(p.row(0));
    for (int i = 0; i < N; i++) {
        tile.SetValue(i, i);
    }
    TSTORE(out, tile);
    if (right) {
        pipe_barrier(PIPE_MTE3);
    }
    tile.SetValue(0, 9); // WRONG: element_free_before_reuse
}

using Kernel = void (*)(CommContext *);
struct Case {
    const char *name;
    Kernel wrong, right;
};
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name < false>, name < true>                                                         \
    }
static const Case cases[] = {
    CASE(barrier_before_notify),
    CASE(barrier_of_the_stores),
    CASE(barrier_after_notify),
    CASE(flag_after_store),
    CASE(flag_too_early),
    CASE(event_waited_for),
    CASE(wait_before_load),
    CASE(wait_for_the_right_signal),
    CASE(credit_before_reuse),
    CASE(signal_counts_up),
    CASE(tiles_apart),
    CASE(ping_and_pong_apart),
    CASE(acc_and_recv_apart),
    CASE(tile_inside_ub),
    CASE(put_inside_window),
    CASE(async_wait_before_notify),
    CASE(async_wait_at_all),
    CASE(store_before_load),
    CASE(notify_the_other),
    CASE(as_many_as_are_waited_for),
    CASE(a_place_each),
    CASE(get_after_the_notify),
    CASE(tile_free_before_reuse),
    CASE(columns_apart),
    CASE(barrier_with_many_signals),
    CASE(tiles_at_places_of_their_own),
    CASE(put_from_here),
    CASE(get_to_here),
    CASE(put_to_whom_it_tells),
    CASE(element_after_barrier),
    CASE(element_set_before_notify),
    CASE(element_inside_tile),
    CASE(element_inside_tensor),
    CASE(element_inside_window),
    CASE(element_of_a_tile_that_is_there),
    CASE(element_free_before_reuse),
};

static int run(const Case &one, bool wrong)
{
    tern_comm *comm;
    tern_window *window;
    tern_stream *stream;
    if (tern_init(nullptr, &comm) != TERN_OK ||
        tern_window_create(comm, 1 << 16, nullptr, &window) != TERN_OK ||
        tern_stream_create(&stream) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        return 1;
    }
    auto *ctx = const_cast<CommContext *>(tern_window_context(window));
    Kernel kernel = wrong ? one.wrong : one.right;
    kernel<<<1, nullptr, stream>>>(ctx);
    int status = tern_stream_destroy(stream);
    if (status != TERN_OK) {
        fprintf(stderr, "%s: %s\n", one.name, tern_last_error());
    }
    tern_status_ignore(tern_comm_barrier(comm)); // it has failed where a wait was in vain
    tern_window_destroy(window);
    tern_comm_destroy(comm);
    return status == TERN_OK ? 0 : 3;
}

int main(int argc, char **argv)
{
    for (const Case &one : cases) {
        if (argc == 3 && strcmp(argv[2], one.name) == 0) {
            return run(one, strcmp(argv[1], "wrong") == 0);
        }
        if (argc == 2) {
            puts(one.name);
        }
    }
    return argc == 2 ? 0 : 2;
}
