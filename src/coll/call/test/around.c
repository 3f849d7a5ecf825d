// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 180
// Calls and what is around them: waits for other things, windows that come and go, communicators
// that end, threads, and as many ranks as there can be.
#include <pthread.h>

#include "coll/call/test/random.h"
#include "tern/signal.h"

static uint64_t base_seed;

// Calls that were started move while their thread waits for something else: the last rank starts
// its part only after the others have it from somewhere else that they may go on.

enum { OTHERS = 6, LARGE = 400000 };

static int wait_for_other(int which, int turn, tern_comm *world, tern_comm *side,
                          tern_window *window)
{
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    tern_window *made;
    tern_comm *part;
    int32_t token = 1;
    switch (which) {
    case 0:
        return tern_barrier(side);
    case 1:
        if (rank > 0) {
            CHECK(tern_recv(side, &token, 1, TERN_I32, rank - 1) == TERN_OK);
        }
        return rank < n - 1 ? tern_send(side, &token, 1, TERN_I32, rank + 1) : TERN_OK;
    case 2:
        CHECK(tern_window_create(world, 4096, NULL, &made) == TERN_OK);
        return tern_window_destroy(made);
    case 3:
        CHECK(tern_comm_split(world, 0, rank, &part) == TERN_OK);
        return tern_comm_destroy(part);
    case 4:
        CHECK(tern_signal_notify(window, (rank + 1) % n, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
        return tern_signal_wait(window, 0, TERN_CMP_GE, turn, TERN_TIMEOUT_DEFAULT);
    default:
        return tern_comm_barrier(world);
    }
}

// Even ranks wait for the call first and for the other thing then, odd ranks the other way round:
// an odd rank's part of the call has to move while it waits for the other thing.
static int cross(tern_comm *world, void *arg)
{
    static float in[LARGE];
    static float out[LARGE];
    int which = *(const int *)arg;
    int n = tern_comm_size(world);
    tern_comm *side;
    tern_window *window;
    CHECK(tern_comm_split(world, 0, 0, &side) == TERN_OK);
    CHECK(tern_window_create(world, 4096, NULL, &window) == TERN_OK);
    int turn = 0;
    for (size_t count = 1; count <= LARGE; count = count * 20) {
        turn++;
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = in, .out = out, .count = count};
        tern_request request = 0;
        for (size_t i = 0; i < count; i++) {
            in[i] = (float)i;
        }
        CHECK(tern_coll_start(world, &call, &request) == TERN_OK);
        if (tern_comm_rank(world) % 2 == 0) {
            CHECK(tern_request_wait(&request) >= 0);
            CHECK(wait_for_other(which, turn, world, side, window) == 0);
        } else {
            CHECK(wait_for_other(which, turn, world, side, window) == 0);
            CHECK(tern_request_wait(&request) >= 0);
        }
        for (size_t i = 0; i < count; i++) {
            CHECK(out[i] == (float)n * (float)i);
        }
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return tern_comm_destroy(side);
}

static void calls_move_while_their_thread_waits_for_something_else(void **state)
{
    for (int which = 0; which < OTHERS; which++) {
        printf("other thing %d\n", which);
        fflush(stdout);
        assert_true(ranks_run_comm(3, cross, &which, 10));
    }
}

// The same call again and again, at addresses that were in a window a moment ago, or will be: what
// was looked up for them before must not be used.
static int come_and_go(tern_comm *world, void *arg)
{
    enum { COUNT = 10000, BYTES = COUNT * 4 };
    struct ref_case c = {.kind = TERN_COLL_ALL_REDUCE,
                         .dtype = TERN_F32,
                         .n = tern_comm_size(world),
                         .count = COUNT};
    int rank = tern_comm_rank(world);
    float *heap = malloc(3 * BYTES);
    float *expected = malloc(BYTES);
    CHECK(heap != NULL && expected != NULL);
    for (uint64_t round = 0; round < 60; round++) {
        tern_window *window;
        tern_window *later;
        c.seed = base_seed + round;
        c.count = round % 3 == 0 ? 10 : COUNT;
        CHECK(tern_window_create(world, 3 * BYTES, NULL, &window) == TERN_OK);
        float *own = tern_window_address(window, rank);
        bool lies_in = (round + (uint64_t)rank * (round / 20)) % 2 == 0;
        float *in = lies_in ? own : heap;
        float *out = lies_in ? own + COUNT : heap + COUNT;
        ref_output(&c, rank, expected);
        for (int again = 0; again < 3; again++) {
            ref_input(&c, rank, 0, c.count, in);
            CHECK(tern_all_reduce(world, in, out, c.count, TERN_F32, TERN_SUM) == TERN_OK);
            CHECK(memcmp(out, expected, c.count * 4) == 0);
            memset(out, 0, c.count * 4);
        }
        if (round % 4 == 0) { // another window is likely to get its place
            CHECK(tern_window_destroy(window) == TERN_OK);
            CHECK(tern_window_create(world, 3 * BYTES, NULL, &later) == TERN_OK);
            own = tern_window_address(later, rank);
            ref_input(&c, rank, 0, c.count, own);
            CHECK(tern_all_reduce(world, own, own + COUNT, c.count, TERN_F32, TERN_SUM) == TERN_OK);
            CHECK(memcmp(own + COUNT, expected, c.count * 4) == 0);
            window = later;
        }
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    free(heap);
    free(expected);
    return 0;
}

static void windows_come_and_go_between_equal_calls(void **state)
{
    assert_true(ranks_run_comm(2, come_and_go, NULL, 30));
    assert_true(ranks_run_comm(5, come_and_go, NULL, 30));
}

// A communicator is not destroyed under a request.
static int destroy_early(tern_comm *world, void *arg)
{
    tern_comm *side;
    tern_comm *part;
    float in = 1;
    float out = 0;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = &in, .out = &out, .count = 1};
    tern_request running = 0;
    tern_request prepared = 0;
    CHECK(tern_comm_split(world, 0, 0, &side) == TERN_OK);
    CHECK(tern_coll_prepare(side, &call, &prepared) == TERN_OK);
    CHECK(tern_comm_destroy(side) == TERN_ERR_STATE);
    CHECK(strstr(tern_last_error(), ": 1 request of it has not ended; wait for running") != NULL);
    CHECK(tern_request_free(&prepared) == TERN_OK);
    CHECK(tern_coll_start(side, &call, &running) == TERN_OK);
    CHECK(tern_comm_split(side, 0, 0, &part) == TERN_OK);
    CHECK(tern_comm_destroy(side) == TERN_ERR_STATE);
    CHECK(strstr(tern_last_error(), "1 split communicator, 1 request of it have not") != NULL);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_request_wait(&running) >= 0);
    CHECK(out == (float)tern_comm_size(world));
    CHECK(tern_barrier(side) == TERN_OK); // it works
    return tern_comm_destroy(side);
}

static void a_communicator_with_requests_is_not_destroyed(void **state)
{
    assert_true(ranks_run_comm(1, destroy_early, NULL, 10));
    assert_true(ranks_run_comm(3, destroy_early, NULL, 10));
}

// Threads of a rank, each with a communicator of its own, make calls at the same time.
enum { THREADS = 3, THREAD_CALLS = 250 };

struct worker {
    struct kit_bench bench;
    uint64_t seed;
    int result;
};

static int work(struct worker *worker)
{
    struct random_calls r = {.bench = &worker->bench, .state = worker->seed + 7};
    uint64_t state = worker->seed;
    for (int i = 0; i < THREAD_CALLS; i++) {
        struct ref_case c = random_case(&state, 40000);
        bool blocking = random_below(&state, 2) == 0;
        // The windows are the world's, which no thread makes calls on: memory, here.
        struct kit_work one;
        if (c.op == TERN_FUNCTION && ref_reduces(c.kind)) {
            continue; // notes in one place for all threads whether it was misaligned
        }
        if (blocking) {
            kit_make(&worker->bench, KIT_WORLD, &c, i % 4 == 0, i % 4, i / 4 % 4,
                     worker->bench.slots - 1, &one);
            CHECK(kit_run(&one, (enum kit_mode)(i % KIT_MODES)) == 0);
            continue;
        }
        while (r.count == worker->bench.slots - 1) {
            CHECK(random_end_some(&r) == 0);
        }
        int slot = random_free_slot(&r);
        struct kit_work *started = &r.works[slot];
        kit_make(&worker->bench, KIT_WORLD, &c, false, i % 4, i / 4 % 4, slot, started);
        kit_fill(started);
        CHECK(kit_start(started) >= 0);
        r.busy[slot] = true;
        r.count++;
    }
    return random_end_all(&r);
}

static void *work_in_thread(void *arg)
{
    struct worker *worker = arg;
    worker->result = work(worker);
    return NULL;
}

static int run_threads(tern_comm *world, void *arg)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    int n = tern_comm_size(world);
    for (int i = 0; i < THREADS; i++) {
        tern_comm *side;
        CHECK(tern_comm_split(world, 0, tern_comm_rank(world), &side) == TERN_OK);
        CHECK(kit_open(side, random_most(40000, n), 6, &workers[i].bench) == 0);
        workers[i].seed = base_seed + (uint64_t)i;
        workers[i].result = -1;
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work_in_thread, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        tern_comm *side = workers[i].bench.comms[KIT_WORLD];
        CHECK(workers[i].result == 0);
        CHECK(kit_close(&workers[i].bench) == 0);
        CHECK(tern_comm_destroy(side) == TERN_OK);
    }
    return 0;
}

static void threads_with_a_communicator_each_are_independent(void **state)
{
    assert_true(ranks_run_comm(1, run_threads, NULL, 60));
    assert_true(ranks_run_comm(2, run_threads, NULL, 60));
    assert_true(ranks_run_comm(3, run_threads, NULL, 60));
}

// Every kind, small and large, on as many ranks as there can be.
static int run_many(tern_comm *world, void *arg)
{
    static const size_t counts[] = {0, 1, 7, 300, 5000};
    enum { BYTES = 5001 * 8 };
    struct kit_bench bench;
    int n = tern_comm_size(world);
    CHECK(kit_open(world, random_most(BYTES, n), 1, &bench) == 0);
    for (int kind = 0; kind <= TERN_COLL_RECV; kind++) {
        for (int size = 0; size < 5; size += 1 + SANITIZED) {
            struct ref_case c = {.kind = (tern_coll_kind)kind,
                                 .dtype = size % 2 == 0 ? TERN_F32 : TERN_BF16,
                                 .count = kind == TERN_COLL_BARRIER ? 0 : counts[size],
                                 .root = n - 1,
                                 .seed = base_seed,
                                 .spread = true};
            struct kit_work one;
            kit_make(&bench, KIT_WORLD, &c, false, kind % 2 == 0 ? KIT_WINDOW : KIT_HEAP,
                     size % 2 == 0   ? KIT_WINDOW
                     : kind % 2 == 0 ? KIT_WINDOW
                                     : KIT_HEAP,
                     0, &one);
            CHECK(kit_run(&one, (enum kit_mode)((kind + size) % KIT_MODES)) == 0);
        }
    }
    return kit_close(&bench);
}

static void every_kind_works_on_as_many_ranks_as_there_can_be(void **state)
{
    assert_true(ranks_run_comm(33, run_many, NULL, 300));
    assert_true(SANITIZED || ranks_run_comm(TERN_RANKS_MAX, run_many, NULL, 120));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_move_while_their_thread_waits_for_something_else),
        cmocka_unit_test(windows_come_and_go_between_equal_calls),
        cmocka_unit_test(a_communicator_with_requests_is_not_destroyed),
        cmocka_unit_test(threads_with_a_communicator_each_are_independent),
        cmocka_unit_test(every_kind_works_on_as_many_ranks_as_there_can_be),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
