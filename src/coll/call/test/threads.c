// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2
// Threads of a rank: blocking calls on one communicator in turn, requests that another thread ends,
// waits that other threads wake, and communicators that are aborted under all of it.
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

#include "coll/call/test/kit.h"
#include "tern/waiter.h"

enum { THREADS = 3, LARGE = 30000, FLOATS = LARGE };

// Blocking messages of two threads at a time, one in each direction; and blocking sums, which all
// ranks make in as many threads, all alike, so that any order of the threads agrees.
struct worker {
    tern_comm *comm;
    int number, rounds, wrong;
    size_t count;
    float *in, *out;
    tern_request request;
};

static void *sum_in_turn(void *arg)
{
    struct worker *w = arg;
    int n = tern_comm_size(w->comm);
    for (int round = 0; round < w->rounds; round++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = w->in, .out = w->out};
        call.count = w->count;
        tern_request request = 0;
        bool started = round % 3 == 2;
        w->out[0] = w->out[w->count - 1] = 0;
        int status =
            started ? tern_coll_start(w->comm, &call, &request) : tern_coll_run(w->comm, &call);
        status = started && status == TERN_OK ? tern_request_wait(&request) : status;
        if (status != TERN_OK || w->out[0] != (float)n || w->out[w->count - 1] != (float)n) {
            fprintf(stderr, "thread %d, round %d: %s\n", w->number, round, tern_last_error());
            w->wrong++;
            return NULL;
        }
    }
    return NULL;
}

static int run_workers(tern_comm *comm, void *(*body)(void *), size_t count, int rounds)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.comm = comm, .number = i, .rounds = rounds, .count = count};
        workers[i].in = malloc(2 * FLOATS * sizeof(float));
        CHECK(workers[i].in != NULL);
        workers[i].out = workers[i].in + FLOATS;
        for (int k = 0; k < FLOATS; k++) {
            workers[i].in[k] = 1;
        }
        CHECK(pthread_create(&threads[i], NULL, body, &workers[i]) == 0);
    }
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        wrong += workers[i].wrong;
        free(workers[i].in);
    }
    return wrong;
}

static int sum_together(tern_comm *world, void *arg)
{
    int rounds = (int)kit_number("TERN_TEST_SCALE", 1) * (SANITIZED ? 12 : 40);
    CHECK(run_workers(world, sum_in_turn, 2, 3 * rounds) == 0);
    CHECK(run_workers(world, sum_in_turn, LARGE, rounds / 4) == 0);
    return tern_barrier(world);
}

static void blocking_calls_of_threads_are_made_in_turn(void **state)
{
    assert_true(ranks_run_comm(1, sum_together, NULL, 60));
    assert_true(ranks_run_comm(2, sum_together, NULL, 60));
    assert_true(ranks_run_comm(3, sum_together, NULL, 60));
    assert_true(ranks_run_comm(5, sum_together, NULL, 60));
}

// One thread receives what the other rank sends only after it got what this rank's other thread
// sends: a thread that waits does not keep the others from their calls.
static void *receive(void *arg)
{
    struct worker *w = arg;
    w->wrong =
        tern_recv(w->comm, w->out, w->count, TERN_F32, 1 - tern_comm_rank(w->comm)) != TERN_OK;
    return NULL;
}

static int cross(tern_comm *world, void *arg)
{
    static float in[LARGE];
    static float out[LARGE];
    int rank = tern_comm_rank(world);
    for (size_t count = 1; count <= LARGE; count *= 30) {
        struct worker w = {.comm = world, .count = count, .out = out};
        pthread_t thread;
        in[count - 1] = (float)(rank + 1);
        if (rank == 0) {
            CHECK(pthread_create(&thread, NULL, receive, &w) == 0);
            poll(NULL, 0, 20); // it waits
            CHECK(tern_send(world, in, count, TERN_F32, 1) == TERN_OK);
            CHECK(pthread_join(thread, NULL) == 0 && w.wrong == 0);
        } else {
            CHECK(tern_recv(world, out, count, TERN_F32, 0) == TERN_OK);
            CHECK(tern_send(world, in, count, TERN_F32, 0) == TERN_OK);
        }
        CHECK(out[count - 1] == (float)(2 - rank));
    }
    return 0;
}

static void a_thread_that_waits_holds_up_no_other(void **state)
{
    assert_true(ranks_run_comm(2, cross, NULL, 60));
}

// Each thread ends what the one before has started.
static void *end_it(void *arg)
{
    struct worker *w = arg;
    int index = -1;
    int status = w->number == 0   ? tern_request_wait(&w->request)
                 : w->number == 1 ? tern_request_wait_any(&w->request, 1, &index)
                                  : 0;
    while (w->number == 2 && status == 0) {
        status = tern_request_test(&w->request);
    }
    w->wrong = status < 0 || w->request != 0;
    return NULL;
}

static int hand_over(tern_comm *world, void *arg)
{
    enum { BOTH = 3 };
    static float in[FLOATS];
    static float out[BOTH][FLOATS];
    int n = tern_comm_size(world);
    for (int round = 0; round < 30; round++) {
        struct worker workers[BOTH];
        pthread_t threads[BOTH];
        size_t count = round % 2 == 0 ? 2 : LARGE;
        in[0] = in[count - 1] = 1;
        for (int i = 0; i < BOTH; i++) {
            tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                              .in = in,
                              .out = out[i],
                              .count = count};
            workers[i] = (struct worker){.number = (i + round) % BOTH};
            CHECK(tern_coll_start(world, &call, &workers[i].request) == TERN_OK);
        }
        for (int i = 0; i < BOTH; i++) {
            CHECK(pthread_create(&threads[i], NULL, end_it, &workers[i]) == 0);
        }
        for (int i = 0; i < BOTH; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0 && workers[i].wrong == 0);
            CHECK(out[i][0] == (float)n && out[i][count - 1] == (float)n);
        }
    }
    return 0;
}

static void another_thread_may_end_a_request(void **state)
{
    assert_true(ranks_run_comm(1, hand_over, NULL, 60));
    assert_true(ranks_run_comm(2, hand_over, NULL, 60));
    assert_true(ranks_run_comm(5, hand_over, NULL, 60));
}

// A mix: communicators of their own and one of all threads, started calls, waits with limits, wakes
// by the others; in the end one thread aborts what the others wait for.
struct mixer {
    tern_comm *own, *common;
    tern_waiter *waiters[THREADS];
    int number, rounds, wrong;
};

static int wait_with_limits(struct mixer *m, tern_request *request)
{
    int index = TERN_WAIT_NONE;
    do {
        if (tern_request_wait_any_for(request, 1, &index, 1000000 * (m->number % 2),
                                      m->waiters[m->number]) != TERN_OK) {
            return 1;
        }
        CHECK(tern_waiter_wake(m->waiters[(m->number + 1) % THREADS]) == TERN_OK);
    } while (index == TERN_WAIT_TIMEOUT || index == TERN_WAIT_WOKEN);
    return index != 0 || *request != 0;
}

static int mix_rounds(struct mixer *m)
{
    float in[64];
    float out[2][64] = {{0}};
    int n = tern_comm_size(m->own);
    for (int i = 0; i < 64; i++) {
        in[i] = 1;
    }
    for (int round = 0; round < m->rounds; round++) {
        tern_request request = 0;
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = in, .out = out[0], .count = 64};
        CHECK(tern_coll_start(m->own, &call, &request) == TERN_OK);
        CHECK(tern_all_reduce(m->common, in, out[1], 64, TERN_F32, TERN_SUM) == TERN_OK);
        CHECK(out[1][63] == (float)n);
        CHECK(round % 4 != 0 || tern_barrier(m->own) == TERN_OK);
        CHECK(wait_with_limits(m, &request) == 0 && out[0][63] == (float)n);
    }
    return 0;
}

static void *mix(void *arg)
{
    struct mixer *m = arg;
    m->wrong = mix_rounds(m);
    return NULL;
}

// All threads wait for what does not come, until the last one of rank 0 ends it.
static void *wait_for_the_end(void *arg)
{
    struct mixer *m = arg;
    float in = 1;
    float out = 0;
    int index;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = &in, .out = &out, .count = 1};
    tern_request request = 0;
    int status = TERN_ERR_ABORTED;
    if (tern_comm_rank(m->common) == 0 && m->number == THREADS - 1) {
        poll(NULL, 0, 100);
        m->wrong = tern_comm_abort(m->common, "enough") != TERN_OK;
        return NULL;
    }
    if (tern_comm_rank(m->common) != 0 && m->number == 0) {
        status = tern_recv(m->common, &out, 1, TERN_F32, 0);
    } else if (tern_comm_rank(m->common) != 0 && m->number == 1) {
        call.kind = TERN_COLL_RECV;
        status = tern_coll_start(m->common, &call, &request);
        while (status == TERN_OK) { // wakes of before may be left
            status =
                tern_request_wait_any_for(&request, 1, &index, TERN_TIMEOUT_NEVER, m->waiters[1]);
        }
    }
    m->wrong =
        status != TERN_ERR_ABORTED ||
        (tern_comm_rank(m->common) != 0 && m->number < 2 &&
         strstr(tern_last_error(), "rank 0 (0 of the job) ended the communicator: enough") == NULL);
    if (m->wrong != 0) {
        fprintf(stderr, "thread %d: %d, %s\n", m->number, status, tern_last_error());
    }
    return NULL;
}

static int run_mixers(struct mixer *mixers, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, &mixers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        wrong += mixers[i].wrong;
    }
    return wrong;
}

static int stress(tern_comm *world, void *arg)
{
    struct mixer mixers[THREADS] = {{0}};
    tern_comm *common;
    int rank = tern_comm_rank(world);
    CHECK(tern_comm_split(world, 0, rank, &common) == TERN_OK);
    for (int i = 0; i < THREADS; i++) {
        mixers[i].number = i;
        mixers[i].common = common;
        mixers[i].rounds = (int)kit_number("TERN_TEST_SCALE", 1) * (SANITIZED ? 12 : 40);
        CHECK(tern_comm_split(world, 0, rank, &mixers[i].own) == TERN_OK);
        CHECK(tern_waiter_create(world, &mixers[0].waiters[i]) == TERN_OK);
    }
    for (int i = 1; i < THREADS; i++) {
        memcpy(mixers[i].waiters, mixers[0].waiters, sizeof mixers[0].waiters);
    }
    CHECK(run_mixers(mixers, mix) == 0);
    CHECK(tern_barrier(world) == TERN_OK);
    CHECK(run_mixers(mixers, wait_for_the_end) == 0);
    CHECK(tern_barrier(world) == TERN_OK);
    for (int i = 0; i < THREADS; i++) {
        CHECK(tern_barrier(mixers[i].own) == TERN_OK);
        CHECK(tern_waiter_destroy(mixers[0].waiters[i]) == TERN_OK);
        CHECK(tern_comm_destroy(mixers[i].own) == TERN_OK);
    }
    return tern_comm_destroy(common);
}

static void a_mix_of_threads_and_communicators(void **state)
{
    assert_true(ranks_run_comm(2, stress, NULL, 60));
    assert_true(ranks_run_comm(3, stress, NULL, 60));
    assert_true(ranks_run_comm(5, stress, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_calls_of_threads_are_made_in_turn),
        cmocka_unit_test(a_thread_that_waits_holds_up_no_other),
        cmocka_unit_test(another_thread_may_end_a_request),
        cmocka_unit_test(a_mix_of_threads_and_communicators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
