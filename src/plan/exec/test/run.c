// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-threads: none
// Runs of plans made by hand, over 1 to 16 processes: 200 in a row with other data each time and
// with ranks that come late, bit for bit against sums in rank order.
#include "base/clock.h"
#include "plan/exec/test/kit.h"

enum { RUNS = 200 };

struct job {
    tern_plan *(*make)(int n);
    uint64_t count_of_one; // elements: this times n, plus count_more
    uint64_t count_more;
    bool whole;
    size_t in_offset, out_offset;
};

static int run_many(tern_comm *comm, void *arg)
{
    const struct job *job = arg;
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    uint64_t count = job->count_of_one * (uint64_t)n + job->count_more;
    struct kit_bench bench;
    tern_plan *plan = job->make(n);
    CHECK(tern_plan_buffer_bytes(plan, TERN_PLAN_IN) == count * sizeof(float));
    tern_exec_options options = {.dtype = TERN_F32,
                                 .in_offset = job->in_offset,
                                 .out_offset = job->out_offset};
    if (kit_open(comm, plan, options, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, run, rank, count, job->whole);
        kit_dawdle(run, rank);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, n, count, job->whole) == 0);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void for_all_counts(const struct job *job)
{
    assert_true(ranks_run_counts(1, 16, run_many, (void *)(uintptr_t)job, 100));
}

static tern_plan *make_fused(int n)
{
    return kit_fused(n, (uint64_t)n * 37 + 5, sizeof(float), 1);
}

static void fused_all_reduce_is_right(void **state)
{
    for_all_counts(&(struct job){.make = make_fused, .count_of_one = 37, .count_more = 5});
}

// Fewer elements than ranks: most ranks have nothing to sum, only to signal.
static tern_plan *make_tiny(int n)
{
    return kit_fused(n, 3, sizeof(float), 1);
}

static void slices_of_nothing_keep_their_signals(void **state)
{
    for_all_counts(
        &(struct job){.make = make_tiny, .count_more = 3, .in_offset = 4, .out_offset = 12});
}

static tern_plan *make_lanes(int n)
{
    return kit_fused(n, (uint64_t)n * 50 + 1, sizeof(float), 7);
}

static void lanes_run_side_by_side(void **state)
{
    for_all_counts(&(struct job){.make = make_lanes, .count_of_one = 50, .count_more = 1});
}

static tern_plan *make_ring(int n)
{
    return kit_ring(n, 29, sizeof(float));
}

static void ring_all_reduce_is_right(void **state)
{
    for_all_counts(&(struct job){.make = make_ring, .count_of_one = 29, .whole = true});
}

// One rank. Lane 0 waits for lane 1, lane 1 for lane 2, …, the last for nobody; then each for the
// one below it: no order of running the lanes one after the other would end. In between copies of 0
// bytes, at places that do not exist.
static tern_plan *make_knot(int n)
{
    enum { LANES = 5 };
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, 4, 4);
    tern_plan_range nowhere = hand_at(0, TERN_PLAN_OUT, 1 << 20);
    hand_must(tern_plan_need_scratch(plan, 4 * LANES));
    for (int lane = 0; lane < LANES; lane++) {
        uint64_t slot = 4 * (uint64_t)lane;
        uint32_t number = (uint32_t)lane;
        bool last = lane == LANES - 1;
        hand_copy(plan, 0, lane, nowhere, nowhere, 0);
        if (!last) {
            hand_wait(plan, 0, lane, number, 1);
        }
        hand_copy(plan, 0, lane,
                  last ? hand_at(0, TERN_PLAN_IN, 0) : hand_at(0, TERN_PLAN_SCRATCH, slot + 4),
                  hand_at(0, TERN_PLAN_SCRATCH, slot), 4);
        hand_copy(plan, 0, lane, nowhere, nowhere, 0);
        if (lane > 0) {
            hand_post(plan, 0, lane, 0, number - 1);
            hand_wait(plan, 0, lane, LANES + number, 1);
        } else {
            hand_copy(plan, 0, lane, hand_at(0, TERN_PLAN_SCRATCH, 0), hand_at(0, TERN_PLAN_OUT, 0),
                      4);
        }
        if (!last) {
            hand_post(plan, 0, lane, 0, LANES + number + 1);
        }
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

static void lanes_that_need_each_other_are_interleaved(void **state)
{
    struct job job = {.make = make_knot, .count_more = 1};
    assert_true(ranks_run_comm(1, run_many, &job, 60));
}

// Counts posts over the point where the words wrap, and numbers runs over theirs.
static int run_around(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    uint64_t count = (uint64_t)n * 9;
    const uint32_t *first = arg;
    struct kit_bench bench;
    tern_plan *plan = kit_fused(n, count, sizeof(float), 2);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    // As after so many runs.
    struct tern__lanes *lanes = &bench.exec->lanes;
    lanes->run = *first;
    tern__poke(&bench.exec->own->begun, *first);
    for (uint32_t signal = 0; signal < 2; signal++) {
        uint32_t posts = *first * (uint32_t)n;
        uint32_t word = tern__script_word(lanes->script, signal);
        memcpy(tern__lanes_word(lanes, rank, word), &posts, sizeof posts);
        lanes->counted[word] = posts;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, run, rank, count, false);
        kit_dawdle(run, rank);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, n, count, false) == 0);
    }
    CHECK(lanes->run == *first + RUNS);
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void counters_wrap_around(void **state)
{
    // Runs over 2^32; with 3 ranks, posts over 2^31 and over 2^32.
    uint32_t firsts[] = {UINT32_MAX - RUNS / 2, UINT32_MAX / 6 - RUNS / 2,
                         UINT32_MAX / 3 - RUNS / 2};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        assert_true(ranks_run_comm(3, run_around, &firsts[i], 60));
    }
}

// Broadcast by one op from rank 0: a root that never waits may be many runs ahead, if it is let.
static int run_broadcast(tern_comm *comm, void *arg)
{
    enum { COUNT = 5000 };
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, n, COUNT * 4, 4);
    tern_plan_range from = hand_at(0, TERN_PLAN_IN, 0);
    tern_plan_range to[TERN_RANKS_MAX];
    for (int i = 0; i < n; i++) {
        to[i] = hand_at(i, TERN_PLAN_OUT, 0);
    }
    tern_plan_op spread = {.kind = TERN_PLAN_COPY,
                           .length = COUNT * 4,
                           .sources = &from,
                           .sources_count = 1,
                           .destinations = to,
                           .destinations_count = n};
    hand_must(tern_plan_add(plan, 0, 0, &spread));
    for (int i = 0; i < n; i++) {
        hand_post(plan, 0, 0, i, 3);
        hand_wait(plan, i, 0, 3, 1);
    }
    hand_must(tern_plan_seal(plan));
    struct kit_bench bench;
    tern_exec_options options = {.dtype = TERN_F32, .flags = TERN_EXEC_COUNT_LINKS};
    if (kit_open(comm, plan, options, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, rank == 0 ? run : -run - 1, rank, COUNT, false);
        kit_dawdle(run, rank);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, 1, COUNT, false) == 0);
    }
    for (int peer = 0; peer < n; peer++) {
        bool used = rank == 0 && peer != 0;
        CHECK(tern_exec_link_bytes(bench.exec, rank, peer) == (used ? RUNS * COUNT * 4u : 0));
        CHECK(tern_exec_link_bytes(bench.exec, peer, rank) == 0);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void a_copy_to_many_and_a_root_that_runs_ahead(void **state)
{
    assert_true(ranks_run_counts(1, 16, run_broadcast, NULL, 60));
}

// A rank may post into the next run of a rank that is still in this one; here two ranks post to one
// signal, one of them late, and nothing but the posts says that the data is there.
static int run_two_posters(tern_comm *comm, void *arg)
{
    enum { N = 3 };
    int rank = tern_comm_rank(comm);
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_GATHER, N, N * 4, 4);
    hand_post(plan, 1, 0, 0, 0); // has no data for rank 0, and waits for nobody
    hand_copy(plan, 2, 0, hand_at(2, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 8), 4);
    hand_post(plan, 2, 0, 0, 0);
    hand_wait(plan, 0, 0, 0, 2);
    hand_must(tern_plan_seal(plan));
    struct kit_bench bench;
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, run, rank, 1, true);
        if (rank == 2) {
            usleep(200);
        }
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        float seen;
        memcpy(&seen, bench.out_bytes + 8, sizeof seen);
        CHECK(rank != 0 || seen == kit_value(run, 2, 0, true));
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void posts_of_the_next_run_do_not_count_in_this_one(void **state)
{
    assert_true(ranks_run_comm(3, run_two_posters, NULL, 60));
}

// Every rank adds its whole input to every output at once; whole numbers, so any order is right.
static int run_atomic(tern_comm *comm, void *arg)
{
    enum { COUNT = 300 };
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, COUNT * 4, 4);
    for (int i = 0; i < n; i++) {
        tern_plan_range own = hand_at(i, TERN_PLAN_IN, 0);
        tern_plan_range to[TERN_RANKS_MAX];
        for (int peer = 0; peer < n; peer++) {
            to[peer] = hand_at(peer, TERN_PLAN_OUT, 0);
        }
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .flags = TERN_PLAN_ATOMIC,
                           .length = COUNT * 4,
                           .sources = &own,
                           .sources_count = 1,
                           .destinations = to,
                           .destinations_count = n};
        hand_must(tern_plan_add(plan, i, 0, &op));
        for (int peer = 0; peer < n; peer++) {
            hand_post(plan, i, 0, peer, 0);
        }
        hand_wait(plan, i, 0, 0, (uint32_t)n);
    }
    hand_must(tern_plan_seal(plan));
    struct kit_bench bench;
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS / 4; run++) {
        kit_fill(&bench, run, rank, COUNT, true);
        memset(bench.out_bytes, 0, COUNT * 4);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, n, COUNT, true) == 0);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void atomic_sums_lose_nothing(void **state)
{
    assert_true(ranks_run_comm(5, run_atomic, NULL, 60));
}

// Three plans in flight on one thread; each rank waits for them in another order, some by polling.
static int run_several(tern_comm *comm, void *arg)
{
    enum { PLANS = 3 };
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    uint64_t count = (uint64_t)n * 11;
    tern_plan *plans[PLANS] = {kit_fused(n, count, 4, 1), kit_ring(n, 11, 4),
                               kit_fused(n, count, 4, 3)};
    struct kit_bench benches[PLANS];
    for (int i = 0; i < PLANS; i++) {
        if (kit_open(comm, plans[i], (tern_exec_options){.dtype = TERN_F32}, &benches[i]) != 0) {
            return 1;
        }
    }
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < PLANS; i++) {
            int at = (i + rank) % PLANS;
            kit_fill(&benches[at], run * PLANS + at, rank, count, true);
            CHECK(tern_exec_start(benches[at].exec) == TERN_OK);
        }
        kit_dawdle(run, rank);
        for (int i = 0; i < PLANS; i++) {
            int at = (i + 2 * rank) % PLANS;
            int ended = 0;
            while (rank % 2 == 1 && run % 16 == 0 && ended == 0) {
                ended = tern_exec_test(benches[at].exec);
                CHECK(ended >= 0);
                usleep(1);
            }
            CHECK(tern_exec_wait(benches[at].exec) == TERN_OK);
            CHECK(tern_exec_test(benches[at].exec) == 1);
            CHECK(kit_compare(&benches[at], run * PLANS + at, n, count, true) == 0);
        }
    }
    for (int i = 0; i < PLANS; i++) {
        CHECK(kit_close(&benches[i]) == 0);
        CHECK(tern_plan_destroy(plans[i]) == TERN_OK);
    }
    return 0;
}

static void several_plans_in_flight(void **state)
{
    assert_true(ranks_run_counts(1, 8, run_several, NULL, 60));
}

// Rank 0 copies from rank 1 and posts; now one is late, now the other, later each time in case the
// machine is so busy that the other has not gone to sleep. Who sleeps is rung, and
// does not only look around every 100 ms: the bell counts its rings.
static int run_late(tern_comm *comm, void *arg)
{
    enum { LATE_RUNS = 14, LATE_US = 5000 };
    int rank = tern_comm_rank(comm);
    struct tern__bell *bell = &comm->group.job->ctl->ranks[rank].bell;
    tern_plan *plan = hand_plan(TERN_PLAN_BROADCAST, 2, 4, 4);
    hand_copy(plan, 0, 0, hand_at(1, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), 4);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    hand_must(tern_plan_seal(plan));
    struct kit_bench bench;
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    uint32_t rung = 0;
    for (int run = 0; run < LATE_RUNS; run++) {
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        if (run % 2 == rank) {
            usleep((useconds_t)LATE_US << (run / 2));
        }
        uint32_t before = tern__flag_load(&bell->rings);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        rung += run % 2 != rank ? tern__flag_load(&bell->rings) - before : 0;
    }
    CHECK(rung >= 1); // rank 0 by the beginning of rank 1, rank 1 by the post
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void who_sleeps_is_woken(void **state)
{
    assert_true(ranks_run_comm(2, run_late, NULL, 30));
}

// More signals than get a line each, the last of them used.
static int run_packed(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, n, 0, 1);
    for (int rank = 0; rank < n; rank++) {
        for (int peer = 0; peer < n; peer++) {
            hand_post(plan, rank, 0, peer, 100000 + (uint32_t)rank);
            hand_wait(plan, rank, 0, 100000 + (uint32_t)peer, 1);
        }
    }
    hand_must(tern_plan_seal(plan));
    tern_exec *exec;
    tern_exec_options options = {.dtype = TERN_U8};
    CHECK(tern_exec_create(comm, plan, &options, &exec) == TERN_OK);
    CHECK(tern_window_size(exec->window) < 1 << 20);
    for (int run = 0; run < RUNS; run++) {
        CHECK(tern_exec_run(exec) == TERN_OK);
    }
    CHECK(tern_exec_destroy(exec) == TERN_OK);
    return tern_plan_destroy(plan);
}

static void very_many_signals_are_packed(void **state)
{
    assert_true(ranks_run_comm(3, run_packed, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_all_reduce_is_right),
        cmocka_unit_test(slices_of_nothing_keep_their_signals),
        cmocka_unit_test(lanes_run_side_by_side),
        cmocka_unit_test(ring_all_reduce_is_right),
        cmocka_unit_test(lanes_that_need_each_other_are_interleaved),
        cmocka_unit_test(counters_wrap_around),
        cmocka_unit_test(a_copy_to_many_and_a_root_that_runs_ahead),
        cmocka_unit_test(posts_of_the_next_run_do_not_count_in_this_one),
        cmocka_unit_test(atomic_sums_lose_nothing),
        cmocka_unit_test(several_plans_in_flight),
        cmocka_unit_test(who_sleeps_is_woken),
        cmocka_unit_test(very_many_signals_are_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
