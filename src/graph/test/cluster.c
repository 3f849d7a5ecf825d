// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120
// Flags, counters and memory between the kernels of mixed tasks: of all three cores and of two, of
// many blocks at a time, on chips with few and many clusters; and what is said when one does not
// come.
#include "support/cmocka.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "rings_kit.h"
#include "tern/cluster.h"

enum { BLOCKS = 8, ROUNDS = 12, SLOTS = 3, ALL = 7 };

// What the kernels of a block hand over to each other.
struct shared {
    int32_t given, taken[3];
    int64_t sum[3];
    int32_t *slots; // of counters_fill_a_ring
};

struct job {
    tern_kernel kernel;
    uint32_t lanes; // bits
    int tasks, blocks;
    int flag; // of set_and_go: each task has another one than the next
    struct shared shared[BLOCKS];
};

static const int shapes[][2] = {{1, 2}, {3, 7}, {24, 48}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static struct shared *shared_of(int64_t *args)
{
    struct job *job = pointer(args[0]);
    return &job->shared[tern_kernel_block()];
}

static uint32_t lanes_of(int64_t *args)
{
    const struct job *job = pointer(args[0]);
    return job->lanes;
}

static bool ok(int status)
{
    if (status != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
    return status == TERN_OK;
}

// One after the other: they use the same memory.
static int tasks_of(tern_graph *graph, void *arg)
{
    struct job *job = arg;
    tern_region order = row_of(job->shared, sizeof job->shared / 4, TERN_REGION_I32);
    for (int i = 0; i < job->tasks; i++) {
        tern_task task = {.name = "meeting", .core = TERN_CORE_MIX, .blocks = job->blocks};
        for (int lane = 0; lane < 3; lane++) {
            task.mix[lane] = (job->lanes >> lane & 1) != 0 ? job->kernel : NULL;
        }
        tern_task_arg args[] = {scalar_arg(word(job)), region_arg(TERN_INOUT, &order)};
        TRY(submit(graph, &task, args, 2, NULL));
    }
    return TERN_OK;
}

static int run_job(struct job *job, int shape)
{
    tern_chip *chip = chip_of(shapes[shape][0], shapes[shape][1]);
    int status = run_rings(chip, NULL, tasks_of, job, false);
    char text[600];
    snprintf(text, sizeof text, "%s", tern_last_error());
    assert_true(fine(tern_chip_destroy(chip)));
    if (status != TERN_OK) {
        print_message("%s\n", text);
    }
    return status;
}

// The AIC gives a number and waits until each AIV has taken it. A flag is left set at the end: the
// next task begins with zeros.
static void hand_over(int64_t *args)
{
    struct shared *shared = shared_of(args);
    int lane = tern_kernel_slot();
    int vectors = __builtin_popcount(lanes_of(args) >> 1);
    if (tern_cluster_vectors() != vectors) {
        tern_kernel_fail("%d AIV, and not %d", tern_cluster_vectors(), vectors);
        return;
    }
    shared->sum[lane] = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        if (lane == 0) {
            shared->given = round * round;
            if (!ok(tern_cluster_set(3, TERN_CLUSTER_ACROSS)) || !ok(tern_cluster_wait(15))) {
                return;
            }
            for (int other = 1; other < 3; other++) {
                shared->sum[0] += shared->taken[other];
            }
        } else {
            if (!ok(tern_cluster_wait(3))) {
                return;
            }
            shared->taken[lane] = shared->given + lane;
            shared->sum[lane] += shared->given;
            if (!ok(tern_cluster_set(15, TERN_CLUSTER_ACROSS))) {
                return;
            }
        }
    }
    (void)ok(tern_cluster_set(3, TERN_CLUSTER_ACROSS));
}

static void flags_are_met_by_all_of_the_other_side(void **state)
{
    static const uint32_t lanes[] = {ALL, 3, 5};
    (void)state;
    for (int i = 0; i < 3 * SHAPES; i++) {
        struct job job = {.kernel = hand_over, .lanes = lanes[i % 3], .tasks = 3, .blocks = BLOCKS};
        assert_int_equal(run_job(&job, i / 3), TERN_OK);
        int64_t squares = ROUNDS * (ROUNDS + 1) * (2 * ROUNDS + 1) / 6;
        for (int block = 0; block < BLOCKS; block++) {
            int64_t sum = 0;
            for (int lane = 1; lane < 3; lane++) {
                bool there = (job.lanes >> lane & 1) != 0;
                assert_int_equal(job.shared[block].sum[lane], there ? squares : 0);
                sum += there ? squares + ROUNDS * lane : 0;
            }
            assert_int_equal(job.shared[block].sum[0], sum);
        }
    }
}

// The AIC has ended, and may be in the next block, before the AIV waits for what it has set.
static void set_and_go(int64_t *args)
{
    struct shared *shared = shared_of(args);
    int flag = ((const struct job *)pointer(args[0]))->flag;
    int lane = tern_kernel_slot();
    if (lane != 0) {
        usleep(300);
    }
    for (int round = 1; round <= ROUNDS; round++) {
        if (lane == 0) {
            (void)ok(tern_cluster_set(flag, TERN_CLUSTER_ACROSS));
        } else if (!ok(tern_cluster_wait(flag))) {
            return;
        }
        shared->sum[lane] += round;
    }
}

enum { JOBS = 24 };

static int jobs_at_once(tern_graph *graph, void *arg)
{
    struct job *jobs = arg;
    for (int i = 0; i < JOBS; i++) {
        TRY(tasks_of(graph, &jobs[i]));
    }
    return TERN_OK;
}

static void blocks_of_a_cluster_overlap(void **state)
{
    static const uint32_t lanes[] = {3, 5, ALL, 5, 3};
    struct job *jobs = calloc(JOBS, sizeof *jobs);
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = (struct job){.kernel = set_and_go,
                                   .lanes = lanes[i % 5],
                                   .tasks = 1,
                                   .blocks = 3,
                                   .flag = i % TERN_CLUSTER_FLAGS};
        }
        tern_chip *chip = chip_of(shapes[shape][0], shapes[shape][1]);
        assert_true(fine(run_rings(chip, NULL, jobs_at_once, jobs, false)));
        assert_true(fine(tern_chip_destroy(chip)));
        for (int i = 0; i < JOBS * 3; i++) {
            const struct job *job = &jobs[i / 3];
            for (int lane = 0; lane < 3; lane++) {
                assert_int_equal(job->shared[i % 3].sum[lane],
                                 (job->lanes >> lane & 1) != 0 ? ROUNDS * (ROUNDS + 1) / 2 : 0);
            }
        }
    }
    free(jobs);
}

// Each AIV adds up what the other one has written, with the AIC between them or without it.
static void exchange(int64_t *args)
{
    struct shared *shared = shared_of(args);
    int lane = tern_kernel_slot();
    if (lane == 0) {
        return;
    }
    shared->sum[lane] = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        shared->taken[lane] = round * lane;
        if (!ok(tern_cluster_set(0, TERN_CLUSTER_VECTORS)) || !ok(tern_cluster_wait(0))) {
            return;
        }
        shared->sum[lane] += shared->taken[3 - lane];
        if (!ok(tern_cluster_set(1, TERN_CLUSTER_VECTORS)) || !ok(tern_cluster_wait(1))) {
            return;
        }
    }
}

static void the_two_vector_cores_meet(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * SHAPES; i++) {
        struct job job = {.kernel = exchange,
                          .lanes = i % 2 == 0 ? ALL : 6,
                          .tasks = 2,
                          .blocks = BLOCKS};
        assert_int_equal(run_job(&job, i / 2), TERN_OK);
        for (int block = 0; block < BLOCKS; block++) {
            assert_int_equal(job.shared[block].sum[1], ROUNDS * (ROUNDS + 1));
            assert_int_equal(job.shared[block].sum[2], ROUNDS * (ROUNDS + 1) / 2);
        }
    }
}

// A ring of three slots from the AIC to the AIV, and its memory: both counters only grow.
static void fill_a_ring(int64_t *args)
{
    struct shared *shared = shared_of(args);
    int lane = tern_kernel_slot();
    void *memory;
    if (!ok(tern_cluster_memory(7, SLOTS * sizeof(int32_t), &memory))) {
        return;
    }
    int32_t *slots = memory;
    shared->sum[lane] = 0;
    for (uint32_t entry = 0; entry < ROUNDS; entry++) {
        if (lane == 0) {
            if (entry >= SLOTS && !ok(tern_cluster_await(31, entry - SLOTS + 1))) {
                return;
            }
            slots[entry % SLOTS] = (int32_t)entry * 3;
            if (!ok(tern_cluster_post(0, entry + 1))) {
                return;
            }
        } else {
            if (!ok(tern_cluster_await(0, entry + 1))) {
                return;
            }
            shared->sum[lane] += slots[entry % SLOTS];
            if (!ok(tern_cluster_post(31, entry + 1))) {
                return;
            }
        }
    }
}

static void counters_fill_a_ring(void **state)
{
    static const uint32_t lanes[] = {ALL, 3, 5};
    (void)state;
    for (int i = 0; i < 3 * SHAPES; i++) {
        struct job job = {.kernel = fill_a_ring,
                          .lanes = lanes[i % 3],
                          .tasks = 2,
                          .blocks = BLOCKS};
        assert_int_equal(run_job(&job, i / 3), TERN_OK);
        for (int block = 0; block < BLOCKS; block++) {
            for (int lane = 1; lane < 3; lane++) {
                assert_int_equal(job.shared[block].sum[lane],
                                 (job.lanes >> lane & 1) != 0 ? 3 * ROUNDS * (ROUNDS - 1) / 2 : 0);
            }
        }
    }
}

// The AIC gives two and ends; the AIV wait for a third.
static void end_early(int64_t *args)
{
    (void)args;
    int lane = tern_kernel_slot();
    for (int i = 0; i < 3; i++) {
        if (lane == 0 ? i < 2 && !ok(tern_cluster_set(4, TERN_CLUSTER_ACROSS))
                      : !ok(tern_cluster_wait(4))) {
            return;
        }
    }
}

static void wait_alone(int64_t *args)
{
    (void)args;
    (void)ok(tern_kernel_slot() == 0 ? tern_cluster_set(2, TERN_CLUSTER_ACROSS)
                                     : tern_cluster_await(2, 1));
}

static void wait_for_itself(int64_t *args)
{
    (void)args;
    (void)ok(tern_cluster_wait(9));
}

static void says_why(tern_kernel kernel, uint32_t lanes, const char *sentence)
{
    struct job job = {.kernel = kernel, .lanes = lanes, .tasks = 1, .blocks = 1};
    tern_chip *chip = chip_of(1, 2);
    assert_true(says(run_rings(chip, NULL, tasks_of, &job, false), TERN_ERR_KERNEL, sentence));
    assert_true(fine(tern_chip_destroy(chip)));
}

static void who_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    says_why(end_early, 3,
             "tern_cluster_wait: the first AIV of block 0 of 'meeting' waits for ever until flag 4 "
             "has come to 3: the AIC 2 (its kernel has ended)");
    says_why(end_early, ALL, "has come to 3: the AIC 2 (its kernel has ended)");
    says_why(wait_alone, 5,
             "tern_cluster_await: the second AIV of block 0 of 'meeting' waits for ever until "
             "counter 2 has come to 1: the AIC 0 (its kernel has ended)");
    says_why(wait_for_itself, 6, "has come to 1: the first AIV 0");
}

static void wait_for_each_other(int64_t *args)
{
    (void)args;
    (void)ok(tern_kernel_slot() == 0 ? tern_cluster_wait(1) : tern_cluster_await(6, 2));
}

static void a_circle_is_said_at_once(void **state)
{
    (void)state;
    setenv("TERN_TIMEOUT", "25", 1);
    says_why(wait_for_each_other, 3, "; all kernels of the block wait for each other");
    says_why(wait_for_each_other, ALL, "; all kernels of the block wait for each other");
    unsetenv("TERN_TIMEOUT");
}

// An AIV works for as long as the AIC waits for it.
static void come_late(int64_t *args)
{
    struct shared *shared = shared_of(args);
    _Atomic int32_t *told = (_Atomic int32_t *)&shared->given;
    if (tern_kernel_slot() == 0) {
        (void)ok(tern_cluster_wait(5));
        atomic_store(told, 1);
    }
    while (atomic_load(told) == 0) {
        sched_yield();
    }
}

static void a_wait_has_a_deadline(void **state)
{
    (void)state;
    setenv("TERN_TIMEOUT", "0.2", 1);
    says_why(
        come_late, 3,
        "tern_cluster_wait: the AIC of block 0 of 'meeting' waits since 0.2 s until flag 5 has "
        "come to 1: the first AIV 0");
    unsetenv("TERN_TIMEOUT");
}

static void is_refused(int64_t *args)
{
    int64_t *done = &shared_of(args)->sum[0];
    void *memory;
    if (tern_kernel_slot() == 0) {
        if (says(tern_cluster_set(16, TERN_CLUSTER_ACROSS), TERN_ERR_ARG,
                 "there is no flag 16; they are 0 to 15") &&
            says(tern_cluster_wait(-1), TERN_ERR_ARG, "no flag -1") &&
            says(tern_cluster_set(0, (tern_cluster_mode)0), TERN_ERR_ARG, "there is no mode 0") &&
            says(tern_cluster_set(0, TERN_CLUSTER_VECTORS), TERN_ERR_ARG, "is for the AIV") &&
            says(tern_cluster_post(32, 1), TERN_ERR_ARG, "no counter 32; they are 0 to 31") &&
            says(tern_cluster_await(32, 1), TERN_ERR_ARG, "no counter 32") &&
            fine(tern_cluster_post(1, 5)) &&
            says(tern_cluster_post(1, 4), TERN_ERR_ARG, "counter 1 is 5 already, and not 4") &&
            says(tern_cluster_memory(32, 1, &memory), TERN_ERR_ARG, "no number 32") &&
            says(tern_cluster_memory(0, 0, &memory), TERN_ERR_ARG, "0 bytes") &&
            says(tern_cluster_memory(0, 1, NULL), TERN_ERR_ARG, "must not be NULL") &&
            fine(tern_cluster_memory(0, 100, &memory)) &&
            fine(tern_cluster_memory(0, 50, &memory)) && ((uintptr_t)memory & 63) == 0 &&
            says(tern_cluster_memory(0, 101, &memory), TERN_ERR_ARG,
                 "101 bytes, where another kernel of the block has asked for 100")) {
            *done = 1;
        }
    }
}

static void bad_arguments_have_sentences(void **state)
{
    (void)state;
    struct job job = {.kernel = is_refused, .lanes = 3, .tasks = 1, .blocks = 1};
    assert_int_equal(run_job(&job, 0), TERN_OK);
    assert_int_equal(job.shared[0].sum[0], 1);
    void *memory;
    assert_int_equal(tern_cluster_vectors(), 0);
    assert_true(says(tern_cluster_set(0, TERN_CLUSTER_ACROSS), TERN_ERR_STATE,
                     "the caller is no kernel of a mixed task"));
    assert_true(says(tern_cluster_wait(0), TERN_ERR_STATE, "no kernel of a mixed task"));
    assert_true(says(tern_cluster_post(0, 1), TERN_ERR_STATE, "no kernel of a mixed task"));
    assert_true(says(tern_cluster_await(0, 1), TERN_ERR_STATE, "no kernel of a mixed task"));
    assert_true(
        says(tern_cluster_memory(0, 1, &memory), TERN_ERR_STATE, "no kernel of a mixed task"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_met_by_all_of_the_other_side),
        cmocka_unit_test(blocks_of_a_cluster_overlap),
        cmocka_unit_test(the_two_vector_cores_meet),
        cmocka_unit_test(counters_fill_a_ring),
        cmocka_unit_test(who_has_ended_is_not_waited_for),
        cmocka_unit_test(a_circle_is_said_at_once),
        cmocka_unit_test(a_wait_has_a_deadline),
        cmocka_unit_test(bad_arguments_have_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
