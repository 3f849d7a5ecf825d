// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Calls between machines, which the ranks take this one for. Every kind of call against the naive
// reference, bit for bit, as matrix.c has it for one machine, where ranks are 2 x 2, 2 x 3, 3 x 1,
// 4 x 2, unevenly many, and not in the order of the machines. And ranks that have done their part
// and leave, while others of their machine still need what is sent to them.
#include <pthread.h>
#include <sched.h>

#include "coll/call/call.h"
#include "coll/call/test/samples.h"
#include "support/machines.h"
#include "tern/algo.h"
#include "tern/put.h"

static const char *const layouts[] = {"aabb", "aaabbb", "abc", "abb", "aabbccdd", "ab", "abab"};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };
static int sizes_of[LAYOUTS];

static int run_layout(tern_comm *world, void *arg)
{
    return run_samples(world, *(const int *)arg);
}

static void every_call_gives_the_bits_of_the_reference(void **state)
{
    for (int i = 0; i < LAYOUTS; i++) {
        sizes_of[i] = (int)strlen(layouts[i]);
    }
    samples_ranks = sizes_of;
    samples_ranks_count = LAYOUTS;
    samples_megabytes = 12;
    take_samples();
    for (int i = 0; i < LAYOUTS; i++) {
        int64_t begin = tern__now_ns();
        if (!machines_run_comm(layouts[i], run_layout, &i, 600)) {
            fail_msg("on %s, seed %llu", layouts[i], (unsigned long long)base_seed);
        }
        printf("%s: %d calls in %.1f s\n", layouts[i], samples_of(i),
               (double)(tern__now_ns() - begin) * 1e-9);
    }
    free(samples);
}

// In a gather those that give leave at once; the root, last on its machine, still waits.
static int leave_early(tern_comm *world, void *arg)
{
    enum { ROUNDS = ROUNDS_OF(40), MOST = 30000 };
    static int32_t in[MOST];
    static int32_t out[8 * MOST];
    static const size_t counts[] = {1, 100, 5000, MOST};
    int n = tern_comm_size(world);
    int rank = tern_comm_rank(world);
    for (int round = 0; round < ROUNDS; round++) {
        tern_comm *part;
        size_t count = counts[round % 4];
        int root = n - 1 - round / 4 % n;
        for (size_t k = 0; k < count; k++) {
            in[k] = (int32_t)k * 3 + rank * 1000 + round;
        }
        CHECK(tern_comm_split(world, 0, rank, &part) == TERN_OK);
        if (ref_mix((uint64_t)round, (uint64_t)rank, 5) % 4 == 0) {
            usleep(2000); // others are ahead
        }
        CHECK(tern_gather(part, in, out, count, TERN_I32, root) == TERN_OK);
        CHECK(tern_comm_destroy(part) == TERN_OK);
        for (int from = 0; rank == root && from < n; from++) {
            for (size_t k = 0; k < count; k++) {
                CHECK(out[(size_t)from * count + k] == (int32_t)k * 3 + from * 1000 + round);
            }
        }
    }
    return 0;
}

static void who_has_done_its_part_may_leave(void **state)
{
    for (int i = 0; i < LAYOUTS; i++) {
        assert_true(machines_run_comm(layouts[i], leave_early, NULL, 60));
    }
}

// What the ranks of a machine publish is sent by the last of them, for all. The others may be gone
// before that has come.
static int leave_after_sums(tern_comm *world, void *arg)
{
    enum { ROUNDS = ROUNDS_OF(90), MOST = 300 };
    static const size_t counts[] = {1, 12, 13, MOST};
    int n = tern_comm_size(world);
    int rank = tern_comm_rank(world);
    for (int round = 0; round < ROUNDS; round++) {
        int32_t in[MOST];
        int32_t out[MOST];
        tern_comm *part;
        size_t count = counts[round % 4];
        for (size_t k = 0; k < count; k++) {
            in[k] = (int32_t)k * 3 + rank + round;
        }
        CHECK(tern_comm_split(world, 0, rank, &part) == TERN_OK);
        for (int call = 0; call <= round % 3; call++) {
            if (ref_mix((uint64_t)round, (uint64_t)rank, (uint64_t)call) % 4 == 0) {
                usleep(500);
            }
            CHECK(tern_all_reduce(part, in, out, count, TERN_I32, TERN_SUM) == TERN_OK);
            for (size_t k = 0; k < count; k++) {
                CHECK(out[k] == n * ((int32_t)k * 3 + round) + n * (n - 1) / 2);
            }
        }
        CHECK(tern_comm_destroy(part) == TERN_OK);
    }
    return 0;
}

static void who_has_the_sum_may_leave(void **state)
{
    for (int i = 0; i < LAYOUTS; i++) {
        assert_true(machines_run_comm(layouts[i], leave_after_sums, NULL, 120));
    }
}

// The last rank makes no call. Of the others of its machine the first one knows that they do.
struct missing {
    _Atomic int waiting; // ranks that are about to make the call
    _Atomic int over;    // 1: rank 0 has given up
};
static struct missing *missing;

static void begin_missing(void)
{
    missing = ranks_shared(sizeof *missing);
}

// A sum of one element. Rank 0 begins behind all others but the last, which begins when rank 0 has
// given up; the others may have it all before they hear of that.
static int sum_without_the_last(tern_comm *comm)
{
    int32_t in = 1;
    int32_t out = 0;
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = &in,
                      .out = &out,
                      .count = 1,
                      .dtype = TERN_I32,
                      .op = TERN_SUM,
                      .timeout_ns = rank == 0 ? TERN_NS_PER_SECOND : TERN_TIMEOUT_DEFAULT};
    if (rank == 0) {
        ranks_count_await(&missing->waiting, n - 2);
    } else if (rank == n - 1) {
        ranks_count_await(&missing->over, 1);
    } else {
        missing->waiting++;
    }
    int status = tern_coll_run(comm, &call);
    if (rank == 0) {
        char words[64];
        const char *came = strstr(tern_last_error(), " and not all ranks came: ");
        snprintf(words, sizeof words, " came: rank %d ", n - 1);
        missing->over = 1;
        CHECK(status == TERN_ERR_TIMEOUT && out == 0 && came != NULL);
        CHECK(strstr(came, words) != NULL && strchr(came, ';') == NULL); // nobody else
    }
    return 0;
}

static int one_is_missing(tern_comm *comm, void *arg)
{
    CHECK(tern_barrier(comm) == TERN_OK);
    return sum_without_the_last(comm);
}

static void who_waits_has_come_also_where_others_of_its_machine_have_not(void **state)
{
    static const char *const places[] = {"aabb", "aaabbb", "aabbcc"};
    for (int i = 0; i < 3; i++) {
        begin_missing();
        assert_true(machines_run_comm(places[i], one_is_missing, NULL, 60));
    }
}

// Rank 2 waits in a sum, while others that it has begun with rank 0 end one after the other.
enum { MOVING = 4000 };

static void *keep_moving(void *arg)
{
    int32_t in = 1;
    int32_t out = 0;
    int status = TERN_OK;
    for (int i = 0; i < MOVING && status == TERN_OK; i++) {
        usleep(250);
        status = tern_all_reduce(arg, &in, &out, 1, TERN_I32, TERN_SUM);
    }
    return status == TERN_OK ? NULL : arg;
}

static int wait_and_move(tern_comm *comm, void *arg)
{
    static int32_t out[MOVING];
    static tern_request requests[MOVING];
    int rank = tern_comm_rank(comm);
    tern_comm *pair;
    pthread_t mover;
    void *failed = NULL;
    int32_t in = 1;
    tern_coll moving = {.kind = TERN_COLL_ALL_REDUCE,
                        .in = &in,
                        .count = 1,
                        .dtype = TERN_I32,
                        .op = TERN_SUM,
                        .timeout_ns = TERN_TIMEOUT_DEFAULT};
    CHECK(tern_comm_split(comm, rank % 2, rank, &pair) == TERN_OK);
    CHECK(tern_barrier(comm) == TERN_OK);
    for (int i = 0; i < MOVING && rank == 2; i++) {
        moving.out = &out[i];
        CHECK(tern_coll_start(pair, &moving, &requests[i]) == TERN_OK);
    }
    CHECK(rank != 0 || pthread_create(&mover, NULL, keep_moving, pair) == 0);
    CHECK(sum_without_the_last(comm) == 0);
    CHECK(rank != 0 || (pthread_join(mover, &failed) == 0 && failed == NULL));
    CHECK(tern_request_wait_all(requests, rank == 2 ? MOVING : 0) == TERN_OK);
    return tern_comm_destroy(pair);
}

static void who_waits_has_come_also_while_its_other_calls_move(void **state)
{
    begin_missing();
    assert_true(machines_run_comm("aabb", wait_and_move, NULL, 60));
}

// A line that was sent by its rank, which had waited, and then by the last of its machine.
static int come_twice(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    for (int round = 0; round < TERN__LINES + 2 * TERN__SLOTS; round++) {
        int32_t out = 0;
        if (rank == n - 1 && round >= TERN__LINES) { // lines that were used before
            usleep(30000);
        }
        CHECK(tern_all_reduce(comm, &rank, &out, 1, TERN_I32, TERN_SUM) == TERN_OK);
        CHECK(out == n * (n - 1) / 2);
    }
    CHECK(tern_barrier(comm) == TERN_OK); // all have counted themselves in the runs before it
    const struct tern__calls *calls = comm->calls;
    for (uint32_t run = calls->ended + 1 - TERN__LINES; run != calls->ended; run++) {
        uint32_t counted = *tern__area_arrivals(calls->area, run, 0);
        CHECK(counted == calls->arrivals[run % TERN__LINES][0]);
    }
    return 0;
}

static void what_comes_twice_counts_once(void **state)
{
    assert_true(machines_run_comm("aabb", come_twice, NULL, 60));
    assert_true(machines_run_comm("aaabbb", come_twice, NULL, 60));
}

// Rank 0's line of the gather is behind what it has put to the rank that receives for machine b;
// its line of the sum comes with that of rank 1, earlier.
static _Atomic int *begun;

static int overtake(tern_comm *comm, void *arg)
{
    enum { ROUNDS = ROUNDS_OF(40), MUCH = 8 << 20 };
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_window *window;
    CHECK(tern_window_create(comm, MUCH, NULL, &window) == TERN_OK);
    const void *own = tern_window_address(window, rank);
    for (int round = 0; round < ROUNDS; round++) {
        int32_t all[8];
        int32_t out = 0;
        CHECK(tern_barrier(comm) == TERN_OK);
        if (rank == 0) {
            CHECK(tern_put(window, 2, 0, own, MUCH) == TERN_OK);
        }
        CHECK(tern_gather(comm, &rank, all, 1, TERN_I32, 1) == TERN_OK);
        if (rank == 0) {
            *begun = round + 1;
        }
        while (rank == 1 && *begun <= round) {
            sched_yield();
        }
        if (rank == 1) {
            usleep(20); // it has made its call
        }
        CHECK(tern_all_reduce(comm, &rank, &out, 1, TERN_I32, TERN_SUM) == TERN_OK);
        CHECK(out == n * (n - 1) / 2);
    }
    return tern_window_destroy(window);
}

static void a_line_may_come_before_an_earlier_one(void **state)
{
    begun = ranks_shared(sizeof *begun);
    assert_true(machines_run_comm("aabb", overtake, NULL, 60));
}

// What lies in a slot of a rank that gives nothing stays on its machine.
static int scatter_often(tern_comm *comm, void *arg)
{
    enum { COUNT = 256, SMALL_COUNT = 32, SHARES = 6, MARK = 0x5a };
    enum { BYTES = COUNT * SHARES * (int)sizeof(int32_t) };
    static int32_t in[COUNT * SHARES];
    static int32_t out[COUNT];
    int rank = tern_comm_rank(comm);
    CHECK(tern_barrier(comm) == TERN_OK);
    const struct tern__calls *calls = comm->calls;
    for (uint32_t slot = 0; slot < TERN__SLOTS; slot++) {
        memset(tern__area_payload(calls->area, rank, slot), MARK, BYTES);
    }
    for (uint32_t run = 0; run < TERN__LINES; run++) {
        memset(tern__area_small_payload(calls->area, rank, run), MARK, TERN__SMALL_BYTES);
    }
    for (int i = 0; i < COUNT * SHARES; i++) {
        in[i] = i;
    }
    for (int round = 0; round < 3 * TERN__SLOTS; round++) {
        CHECK(tern_scatter(comm, in, out, COUNT, TERN_I32, 0) == TERN_OK);
        CHECK(memcmp(out, &in[rank * COUNT], sizeof out) == 0);
    }
    for (int round = 0; round < 2 * TERN__LINES; round++) {
        CHECK(tern_scatter(comm, in, out, SMALL_COUNT, TERN_I32, 0) == TERN_OK);
        CHECK(memcmp(out, &in[rank * SMALL_COUNT], SMALL_COUNT * sizeof out[0]) == 0);
    }
    CHECK(tern_barrier(comm) == TERN_OK);
    for (int other = 1; other < SHARES; other++) {
        bool here = (calls->elsewhere->ranks >> other & 1) == 0;
        for (uint32_t slot = 0; slot < TERN__SLOTS && !here; slot++) {
            const char *payload = tern__area_payload(calls->area, other, slot);
            CHECK(memchr(payload, MARK, BYTES) == NULL);
        }
        for (uint32_t run = 0; run < TERN__LINES && !here; run++) {
            const char *payload = tern__area_small_payload(calls->area, other, run);
            CHECK(memchr(payload, MARK, TERN__SMALL_BYTES) == NULL);
        }
    }
    return 0;
}

static void only_who_has_an_input_sends_one(void **state)
{
    assert_true(machines_run_comm("aaabbb", scatter_often, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_the_bits_of_the_reference),
        cmocka_unit_test(who_has_done_its_part_may_leave),
        cmocka_unit_test(who_has_the_sum_may_leave),
        cmocka_unit_test(who_waits_has_come_also_where_others_of_its_machine_have_not),
        cmocka_unit_test(who_waits_has_come_also_while_its_other_calls_move),
        cmocka_unit_test(what_comes_twice_counts_once),
        cmocka_unit_test(a_line_may_come_before_an_earlier_one),
        cmocka_unit_test(only_who_has_an_input_sends_one),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
