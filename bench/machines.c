// SPDX-License-Identifier: Apache-2.0
// Messages and all_reduce between machines; bench/machines.py starts it with `tern run --hosts`.
// BENCH_ORDER=any: sums of all_reduce in any order.

#include "machines.h"

#include "job.h"
#include "tern/tern.h"

// A window: where messages arrive, what all_reduce reads and writes, and a signal.
enum { IN = LARGE, OUT = 2 * LARGE, SIGNAL = 3 * LARGE, WINDOW = 3 * LARGE + 64 };

static tern_window *window;
static int32_t taken;
static tern_order order;

static unsigned char *own(size_t offset)
{
    return (unsigned char *)tern_window_address(window, rank) + offset;
}

static void join(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    const char *word = getenv("BENCH_ORDER");
    order = word != NULL && strcmp(word, "any") == 0 ? TERN_ORDER_ANY : TERN_ORDER_RANK;
    must(tern_window_create(world, WINDOW, &options, &window));
}

static void meet(void)
{
    must(tern_comm_barrier(world));
}

static void give(const void *from, size_t bytes)
{
    must(tern_put(window, 1 - rank, 0, from, bytes));
    must(tern_signal_notify(window, 1 - rank, SIGNAL, 1, TERN_NOTIFY_ADD));
}

static const void *take(size_t bytes)
{
    (void)bytes;
    taken++;
    must(tern_signal_wait(window, SIGNAL, TERN_CMP_GE, taken, TERN_TIMEOUT_DEFAULT));
    return own(0);
}

static void all_reduce(size_t count)
{
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = own(IN),
                      .out = own(OUT),
                      .count = count,
                      .dtype = TERN_F32,
                      .order = order};
    must(tern_coll_run(world, &call));
}

static void slowest(double *times, int count)
{
    must(tern_all_reduce(world, times, times, (size_t)count, TERN_F64, TERN_MAX));
}

static void leave(void)
{
    must(tern_window_destroy(window));
    must(tern_comm_destroy(world));
}
