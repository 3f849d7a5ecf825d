// SPDX-License-Identifier: Apache-2.0
// Several threads of a rank, each with plans of its own on one communicator, and ranks that are
// threads of one process: for ThreadSanitizer.
#include <pthread.h>

#include "plan/exec/test/kit.h"

enum { THREADS = 3, RUNS = 150 };

struct worker {
    tern_comm *comm;
    struct kit_bench benches[2];
    int number;
    int result;
};

static int work(struct worker *worker)
{
    int n = tern_comm_size(worker->comm);
    int rank = tern_comm_rank(worker->comm);
    uint64_t count = (uint64_t)n * 13;
    for (int run = 0; run < RUNS; run++) {
        int data = run * THREADS + worker->number;
        for (int i = 0; i < 2; i++) {
            kit_fill(&worker->benches[i], data + i, rank, count, true);
            CHECK(tern_exec_start(worker->benches[i].exec) == TERN_OK);
        }
        for (int i = 0; i < 2; i++) {
            CHECK(tern_exec_wait(worker->benches[(i + rank) % 2].exec) == TERN_OK);
        }
        for (int i = 0; i < 2; i++) {
            CHECK(kit_compare(&worker->benches[i], data + i, n, count, true) == 0);
        }
    }
    return 0;
}

static void *start_work(void *arg)
{
    struct worker *worker = arg;
    worker->result = work(worker);
    return NULL;
}

static int run_threads(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    uint64_t count = (uint64_t)n * 13;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    tern_plan *plans[2] = {kit_fused(n, count, 4, 2), kit_ring(n, 13, 4)};
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.comm = comm, .number = i};
        for (int k = 0; k < 2; k++) {
            tern_exec_options options = {.dtype = TERN_F32};
            CHECK(kit_open(comm, plans[k], options, &workers[i].benches[k]) == 0);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, start_work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(workers[i].result == 0);
        CHECK(kit_close(&workers[i].benches[0]) == 0);
        CHECK(kit_close(&workers[i].benches[1]) == 0);
    }
    return tern_plan_destroy(plans[0]) + tern_plan_destroy(plans[1]);
}

static void threads_of_a_rank_run_plans_side_by_side(void **state)
{
    assert_true(ranks_run_comm(1, run_threads, NULL, 60));
    assert_true(ranks_run_comm(3, run_threads, NULL, 60));
}

static void *wait_elsewhere(void *arg)
{
    struct kit_bench *bench = arg;
    bool refused = tern_exec_wait(bench->exec) == TERN_ERR_STATE &&
                   strstr(tern_last_error(), "another thread") != NULL;
    return (void *)(uintptr_t)refused;
}

static int run_elsewhere(tern_comm *comm, void *arg)
{
    struct kit_bench bench;
    tern_plan *plan = kit_fused(2, 26, 4, 1);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    if (tern_comm_rank(comm) == 0) {
        CHECK(tern_exec_start(bench.exec) == TERN_OK);
        pthread_t thread;
        void *refused;
        CHECK(pthread_create(&thread, NULL, wait_elsewhere, &bench) == 0);
        CHECK(pthread_join(thread, &refused) == 0);
        CHECK(refused != NULL);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_exec_wait(bench.exec) == TERN_OK);
    } else {
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void a_run_is_ended_by_the_thread_that_started_it(void **state)
{
    assert_true(ranks_run_comm(2, run_elsewhere, NULL, 30));
}

// Ranks as threads: what one writes, another reads, in one address space.
struct rank_thread {
    const char *path;
    int rank, count;
    int result;
};

static int be_a_rank(struct rank_thread *self)
{
    tern_comm *comm;
    CHECK(tern_init_at(self->rank, self->count, self->path, NULL, &comm) == TERN_OK);
    struct worker worker = {.comm = comm};
    uint64_t count = (uint64_t)self->count * 13;
    tern_plan *plans[2] = {kit_fused(self->count, count, 4, 2), kit_ring(self->count, 13, 4)};
    for (int k = 0; k < 2; k++) {
        tern_exec_options options = {.dtype = TERN_F32};
        CHECK(kit_open(comm, plans[k], options, &worker.benches[k]) == 0);
    }
    CHECK(work(&worker) == 0);
    for (int k = 0; k < 2; k++) {
        CHECK(kit_close(&worker.benches[k]) == 0);
        CHECK(tern_plan_destroy(plans[k]) == TERN_OK);
    }
    return tern_comm_destroy(comm);
}

static void *start_rank(void *arg)
{
    struct rank_thread *self = arg;
    self->result = be_a_rank(self);
    return NULL;
}

static void ranks_may_be_threads(void **state)
{
    enum { N = 3 };
    char folder[] = "/tmp/tern-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/meet", folder);
    struct rank_thread ranks[N];
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        ranks[i] = (struct rank_thread){.path = path, .rank = i, .count = N};
        assert_int_equal(pthread_create(&threads[i], NULL, start_rank, &ranks[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(ranks[i].result, 0);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_rank_run_plans_side_by_side),
        cmocka_unit_test(a_run_is_ended_by_the_thread_that_started_it),
        cmocka_unit_test(ranks_may_be_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
