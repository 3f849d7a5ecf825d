// SPDX-License-Identifier: Apache-2.0
// Notify, wait and test on tensors of signals: counters, scoreboards, matrices, parts of them; in
// windows and in other memory; what times out, who died, and whose turn it is.
#include "support/cmocka.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/look.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/block.h"
#include "tern/coll.h"
#include "tern/isa.h"
#include "tern/memory.h"
#include "tern/window.h"

enum { FREE = 64, GRID_ROWS = 8, GRID = 16, WORDS = 512 };

struct bench {
    tern_comm *comm;
    tern_window *window;
    int rank, n;
};

static int open_bench(tern_comm *comm, struct bench *b)
{
    *b = (struct bench){NULL, NULL, tern_comm_rank(comm), tern_comm_size(comm)};
    b->comm = comm;
    CHECK(tern_window_create(comm, WORDS * sizeof(int32_t), NULL, &b->window) == TERN_OK);
    return 0;
}

static int32_t *word_of(const struct bench *b, int rank, int index)
{
    return (int32_t *)machines_address(b->window, rank) + FREE + index;
}

static tern_tensor signal_at(const struct bench *b, int rank, int index)
{
    return tern_tensor_1d(word_of(b, rank, index), TERN_I32, 1);
}

static int value_of(const struct bench *b, int index)
{
    int32_t value;
    return tern_signal_read(b->window, (size_t)(FREE + index) * 4, &value) == TERN_OK ? value : -1;
}

static int notify_and_wait(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(open_bench(comm, &b) == 0);
    int next = (b.rank + 1) % b.n;
    int before = (b.rank + b.n - 1) % b.n;
    tern_tensor counter = signal_at(&b, 0, 0);
    tern_tensor to_next = signal_at(&b, next, 1);
    tern_tensor slot = signal_at(&b, 0, 2 + b.rank);
    tern_tensor mine = signal_at(&b, b.rank, 1);
    // A counter of all, a value from the one before, a scoreboard.
    CHECK(tern_tensor_notify(&counter, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_tensor_notify(&to_next, b.rank + 100, TERN_NOTIFY_SET) == TERN_OK);
    CHECK(tern_tensor_notify(&slot, b.rank + 1000, TERN_NOTIFY_SET) == TERN_OK);
    CHECK(tern_tensor_wait(&mine, TERN_CMP_EQ, before + 100, RANKS_SOON_NS) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(b.rank != 0 || value_of(&b, 0) == b.n);
    for (int rank = 0; b.rank == 0 && rank < b.n; rank++) {
        CHECK(value_of(&b, 2 + rank) == rank + 1000);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    // Fifty from each of the others; and credits that are given back.
    for (int i = 0; b.rank != 0 && i < 50; i++) {
        CHECK(tern_tensor_notify(&counter, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    if (b.rank == 0) {
        int wanted = b.n + (b.n - 1) * 50;
        CHECK(tern_tensor_wait(&counter, TERN_CMP_GE, wanted, RANKS_SOON_NS) == TERN_OK);
        CHECK(tern_tensor_notify(&counter, -wanted, TERN_NOTIFY_ADD) == TERN_OK);
        CHECK(value_of(&b, 0) == 0);
    }
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    return 0;
}

static void counters_values_and_scoreboards(void **state)
{
    assert_true(ranks_run_counts(1, 8, notify_and_wait, NULL, 60));
    assert_true(machines_run_comm("aabb", notify_and_wait, NULL, 60));
}

// All cells of a matrix, and of a part of a wider grid, whatever is around it.
static int matrices(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(open_bench(comm, &b) == 0);
    const int shapes[][3] = {{4, 8, 8}, {7, 13, 13}, {4, 8, GRID}, {1, 100, 100}, {5, 1, GRID}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int first = shapes[s][2] == GRID ? 2 * GRID + 4 : 0;
        int32_t value = (int32_t)s + 1;
        tern_tensor own = tern_tensor_2d(word_of(&b, b.rank, first), TERN_I32, shapes[s][0],
                                         shapes[s][1], shapes[s][2]);
        if (b.rank == 0) {
            for (int i = shapes[s][0] * shapes[s][1] - 1; i >= 0; i--) {
                int at = first + i / shapes[s][1] * shapes[s][2] + i % shapes[s][1];
                tern_tensor cell = signal_at(&b, b.n - 1, at);
                CHECK(tern_tensor_notify(&cell, value, TERN_NOTIFY_SET) == TERN_OK);
            }
        }
        if (b.rank == b.n - 1) {
            CHECK(tern_tensor_wait(&own, TERN_CMP_EQ, value, RANKS_SOON_NS) == TERN_OK);
            CHECK(tern_tensor_test(&own, TERN_CMP_EQ, value) == 1);
            CHECK(tern_tensor_test(&own, TERN_CMP_GT, value) == 0);
            // One cell alone that does not hold, wherever it is.
            for (int i = 0; i < shapes[s][0] * shapes[s][1]; i++) {
                int at = first + i / shapes[s][1] * shapes[s][2] + i % shapes[s][1];
                *word_of(&b, b.rank, at) = -1;
                CHECK(tern_tensor_test(&own, TERN_CMP_EQ, value) == 0);
                CHECK(tern_tensor_wait(&own, TERN_CMP_EQ, value, 0) == TERN_ERR_TIMEOUT);
                *word_of(&b, b.rank, at) = value;
            }
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    return 0;
}

static void all_cells_must_hold_and_no_others(void **state)
{
    assert_true(ranks_run_comm(1, matrices, NULL, 60));
    assert_true(ranks_run_comm(2, matrices, NULL, 60));
}

static void comparisons(void **state)
{
    int32_t word;
    tern_tensor signal = tern_tensor_1d(&word, TERN_I32, 1);
    const struct {
        int32_t is;
        tern_cmp cmp;
        int32_t value;
        int holds;
    } rows[] = {{42, TERN_CMP_EQ, 42, 1},   {42, TERN_CMP_EQ, 100, 0},  {50, TERN_CMP_NE, 0, 1},
                {50, TERN_CMP_NE, 50, 0},   {100, TERN_CMP_GE, 50, 1},  {100, TERN_CMP_GE, 100, 1},
                {100, TERN_CMP_GT, 50, 1},  {100, TERN_CMP_GT, 100, 0}, {50, TERN_CMP_LE, 100, 1},
                {100, TERN_CMP_LE, 100, 1}, {50, TERN_CMP_LT, 100, 1},  {100, TERN_CMP_LT, 100, 0},
                {-1, TERN_CMP_LT, 0, 1},    {-1, TERN_CMP_GE, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        word = rows[i].is;
        assert_int_equal(tern_tensor_test(&signal, rows[i].cmp, rows[i].value), rows[i].holds);
        assert_int_equal(tern_tensor_wait(&signal, rows[i].cmp, rows[i].value, 0),
                         rows[i].holds ? TERN_OK : TERN_ERR_TIMEOUT);
    }
    // Nothing to hold: holds.
    signal.shape[2] = 0;
    assert_int_equal(tern_tensor_test(&signal, TERN_CMP_EQ, 12345), 1);
    assert_int_equal(tern_tensor_wait(&signal, TERN_CMP_EQ, 12345, 0), TERN_OK);
}

// In memory that is in no window, between threads.
static int32_t here[2];

static void *answer(void *arg)
{
    tern_tensor question = tern_tensor_1d(&here[0], TERN_I32, 1);
    tern_tensor reply = tern_tensor_1d(&here[1], TERN_I32, 1);
    for (int32_t i = 1; i <= 200; i++) {
        if (tern_tensor_wait(&question, TERN_CMP_GE, i, RANKS_SOON_NS) != TERN_OK) {
            return arg;
        }
        if (i % 50 == 0) {
            usleep(20000); // the other one sleeps by now
        }
        if (tern_tensor_notify(&reply, 1, TERN_NOTIFY_ADD) != TERN_OK) {
            return arg;
        }
    }
    return NULL;
}

static void other_memory_of_the_process_will_do(void **state)
{
    pthread_t thread;
    void *failed;
    tern_tensor question = tern_tensor_1d(&here[0], TERN_I32, 1);
    tern_tensor reply = tern_tensor_1d(&here[1], TERN_I32, 1);
    assert_int_equal(pthread_create(&thread, NULL, answer, here), 0);
    for (int32_t i = 1; i <= 200; i++) {
        assert_int_equal(tern_tensor_notify(&question, i, TERN_NOTIFY_SET), TERN_OK);
        assert_int_equal(tern_tensor_wait(&reply, TERN_CMP_EQ, i, RANKS_SOON_NS), TERN_OK);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(tern_tensor_wait(&reply, TERN_CMP_LT, 0, 1000000), TERN_ERR_TIMEOUT);
    assert_true(look_says("waited 0.001 s for the signal at "));
    assert_true(look_says("element (0, 0, 0, 0, 0) is 200, wanted < 0"));
}

// A store wakes nobody, but the fence behind it does: each of these waits sleeps by then, and would
// else go on for a tenth of a second.
enum { STORES = 150 };

static _Atomic int32_t stored[2];

static void *store_back(void *arg)
{
    tern_tensor there = tern_tensor_1d((void *)&stored[0], TERN_I32, 1);
    for (int32_t i = 1; i <= STORES; i++) {
        if (tern_tensor_wait(&there, TERN_CMP_GE, i, RANKS_SOON_NS) != TERN_OK) {
            return arg;
        }
        usleep(1000);
        atomic_store_explicit(&stored[1], i, memory_order_relaxed);
        tern_fence();
    }
    return NULL;
}

static void a_fence_wakes_who_waits_for_stores(void **state)
{
    pthread_t thread;
    void *failed;
    tern_tensor back = tern_tensor_1d((void *)&stored[1], TERN_I32, 1);
    int64_t begin_ns = tern__now_ns();
    assert_int_equal(pthread_create(&thread, NULL, store_back, (void *)stored), 0);
    for (int32_t i = 1; i <= STORES; i++) {
        usleep(1000);
        atomic_store_explicit(&stored[0], i, memory_order_relaxed);
        tern_fence();
        assert_int_equal(tern_tensor_wait(&back, TERN_CMP_GE, i, RANKS_SOON_NS), TERN_OK);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    printf("%d stores and fences there and back: %.3f s, and 0.1 s each without\n", STORES,
           (double)(tern__now_ns() - begin_ns) * 1e-9);
}

// Who polls for a signal of a rank that died learns of it; so does who waits.
static int poll_for_the_dead(int rank, const struct ranks *ranks, void *arg)
{
    bool polls = *(const bool *)arg;
    tern_comm *comm;
    struct bench b;
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(open_bench(comm, &b) == 0);
    tern_tensor mine = signal_at(&b, b.rank, 0);
    if (rank == 1) {
        usleep(30000);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    while (polls && (status = tern_tensor_test(&mine, TERN_CMP_EQ, 1)) == 0) {
    }
    if (!polls) {
        status = tern_tensor_wait(&mine, TERN_CMP_EQ, 1, RANKS_SOON_NS);
    }
    CHECK(says(status, TERN_ERR_PEER, "rank 1"));
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    tern_status_ignore(tern_comm_destroy(comm));
    return 0;
}

static void the_dead_are_noticed(void **state)
{
    for (int polls = 0; polls < 2; polls++) {
        bool how = polls != 0;
        struct ranks ranks;
        ranks_begin(&ranks, 2, poll_for_the_dead, &how);
        assert_true(ranks_wait(&ranks, 60));
        assert_int_equal(ranks.statuses[0], 0);
        assert_int_equal(ranks.statuses[1], SIGKILL);
        assert_true(ranks_end(&ranks));
    }
}

// With one processor for all, a loop of tests must let the notifier run; also one that looks at
// signals which hold already. In turn: each turn would cost a slice of each poller.
enum { POLLERS = 16, TURNS = 3000 };

static int poll_each_other(tern_comm *comm, void *arg)
{
    struct bench b;
    cpu_set_t one;
    CHECK(open_bench(comm, &b) == 0);
    CHECK(sched_getaffinity(0, sizeof one, &one) == 0);
    int kept = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &one) && kept++ > 0) {
            CPU_CLR(cpu, &one);
        }
    }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    int next = (b.rank + 1) % b.n;
    tern_tensor holds = signal_at(&b, b.rank, 1);
    tern_tensor mine = signal_at(&b, b.rank, 0);
    tern_tensor to = signal_at(&b, next, 0);
    for (int32_t turn = 1; turn <= TURNS; turn++) {
        CHECK(b.rank != 0 || tern_tensor_notify(&to, 1, TERN_NOTIFY_ADD) == TERN_OK);
        int there;
        while ((there = tern_tensor_test(&holds, TERN_CMP_EQ, 0)) == 1 &&
               (there = tern_tensor_test(&mine, TERN_CMP_GE, turn)) == 0) {
        }
        CHECK(there == 1);
        CHECK(b.rank == 0 || tern_tensor_notify(&to, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    return 0;
}

static void pollers_let_others_run(void **state)
{
    assert_true(ranks_run_comm(POLLERS, poll_each_other, NULL, 60));
}

static int refusals(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(open_bench(comm, &b) == 0);
    tern_tensor mine = signal_at(&b, b.rank, 0);
    tern_tensor other = signal_at(&b, 1 - b.rank, 0);
    tern_tensor half = mine;
    half.dtype = TERN_F32;
    tern_tensor wide = mine;
    wide.shape[4] = (int64_t)tern_window_size(b.window) / 4;
    CHECK(tern_tensor_wait(&other, TERN_CMP_EQ, 0, 0) == TERN_ERR_ARG); // though it holds
    CHECK(tern_tensor_wait(&other, TERN_CMP_EQ, 1, 0) == TERN_ERR_ARG);
    CHECK(look_says("only rank") && look_says("tern_tensor_test may look at it"));
    CHECK(tern_tensor_test(&other, TERN_CMP_EQ, 1) == 0);
    CHECK(tern_tensor_notify(&half, 1, TERN_NOTIFY_SET) == TERN_ERR_ARG);
    CHECK(look_says("a signal has i32, and not f32"));
    CHECK(tern_tensor_test(&wide, TERN_CMP_EQ, 1) == TERN_ERR_ARG);
    CHECK(look_says("and reaches 256 bytes beyond the "));
    wide.shape[4] = 1;
    wide.data = (char *)wide.data + 2;
    CHECK(tern_tensor_notify(&wide, 1, TERN_NOTIFY_SET) == TERN_ERR_ARG);
    CHECK(look_says("is not aligned to the 4 bytes of a i32"));
    CHECK(tern_tensor_notify(NULL, 1, TERN_NOTIFY_SET) == TERN_ERR_ARG);
    CHECK(tern_tensor_notify(&mine, 1, (tern_notify_op)2) == TERN_ERR_ARG);
    CHECK(look_says("tern_tensor_notify: 2 is no way to notify"));
    tern_tensor none = mine;
    none.shape[3] = 0;
    CHECK(tern_tensor_notify(&none, 1, TERN_NOTIFY_SET) == TERN_OK);
    none.shape[3] = -1;
    CHECK(tern_tensor_notify(&none, 1, TERN_NOTIFY_SET) == TERN_ERR_ARG);
    CHECK(tern_tensor_wait(&mine, (tern_cmp)6, 1, 0) == TERN_ERR_ARG);
    CHECK(tern_tensor_test(&mine, (tern_cmp)6, 1) == TERN_ERR_ARG);
    CHECK(tern_tensor_wait(&mine, TERN_CMP_EQ, 1, -2) == TERN_ERR_ARG);
    CHECK(tern_tensor_wait(&mine, TERN_CMP_EQ, 1, 1000) == TERN_ERR_TIMEOUT);
    CHECK(look_says("seen 0, wanted == 1"));
    CHECK(value_of(&b, 0) == 0);
    // Memory of tern_alloc is this process's alone; in the child of a fork a window is nobody's.
    int32_t *own;
    CHECK(tern_alloc(comm, 64, (void **)&own) == TERN_OK);
    tern_tensor private = tern_tensor_1d(own, TERN_I32, 1);
    *own = 0;
    CHECK(tern_tensor_notify(&private, 3, TERN_NOTIFY_ADD) == TERN_OK && *own == 3);
    CHECK(tern_tensor_wait(&private, TERN_CMP_EQ, 3, 0) == TERN_OK);
    CHECK(tern_tensor_wait(&private, TERN_CMP_EQ, 4, 0) == TERN_ERR_TIMEOUT);
    CHECK(tern_free(own) == TERN_OK);
    pid_t child = fork();
    if (child == 0) {
        bool refused = says(tern_tensor_notify(&mine, 9, TERN_NOTIFY_SET), TERN_ERR_STATE,
                            "signal is in a window of the process that this one is a fork of");
        _exit(refused ? 0 : 1);
    }
    int ended;
    CHECK(child > 0 && waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(value_of(&b, 0) == 0);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    return 0;
}

// A thread that waits in memory of its process moves what it has begun: rank 0's all_reduce is in
// many pieces, and its other thread answers only when rank 1 is through with it.
static int32_t told;

static void *tell(void *arg)
{
    tern_window *window = arg;
    tern_tensor signal = tern_tensor_1d(&told, TERN_I32, 1);
    int status = tern_signal_wait(window, 0, TERN_CMP_EQ, 1, RANKS_SOON_NS);
    return status == TERN_OK && tern_tensor_notify(&signal, 1, TERN_NOTIFY_SET) == TERN_OK ? NULL
                                                                                           : arg;
}

static int wait_while_calls_move(tern_comm *comm, void *arg)
{
    enum { COUNT = 1 << 19 };
    static float in[COUNT];
    static float out[COUNT];
    struct bench b;
    tern_request request;
    pthread_t thread;
    void *failed = NULL;
    CHECK(open_bench(comm, &b) == 0);
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)(b.rank + i);
    }
    CHECK(b.rank != 0 || pthread_create(&thread, NULL, tell, b.window) == 0);
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = in,
                      .out = out,
                      .count = COUNT,
                      .dtype = TERN_F32,
                      .op = TERN_SUM};
    CHECK(tern_coll_start(comm, &call, &request) == TERN_OK);
    if (b.rank == 0) {
        tern_tensor signal = tern_tensor_1d(&told, TERN_I32, 1);
        CHECK(tern_tensor_wait(&signal, TERN_CMP_EQ, 1, RANKS_SOON_NS) == TERN_OK);
    }
    CHECK(tern_request_wait(&request) == TERN_OK);
    if (b.rank == 1) {
        CHECK(tern_signal_notify(b.window, 0, 0, 1, TERN_NOTIFY_SET) == TERN_OK);
    } else {
        CHECK(pthread_join(thread, &failed) == 0 && failed == NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(out[i] == (float)(2 * i + 1));
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(b.window) == TERN_OK);
    return 0;
}

static void what_was_begun_moves_meanwhile(void **state)
{
    assert_true(ranks_run_comm(2, wait_while_calls_move, NULL, 60));
}

static void what_is_wrong_is_said(void **state)
{
    assert_true(ranks_run_comm(2, refusals, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_values_and_scoreboards),
        cmocka_unit_test(all_cells_must_hold_and_no_others),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(other_memory_of_the_process_will_do),
        cmocka_unit_test(a_fence_wakes_who_waits_for_stores),
        cmocka_unit_test(the_dead_are_noticed),
        cmocka_unit_test(pollers_let_others_run),
        cmocka_unit_test(what_was_begun_moves_meanwhile),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
