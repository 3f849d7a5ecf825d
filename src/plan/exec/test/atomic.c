// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-threads: none
// Atomic reduces in runs: up to seven into one range at the same time, of every operation, beside
// other transfers; nothing is lost, a NaN is the one NaN, and who dies or stands still with a lock
// in hand is named.
#include <math.h>
#include <signal.h>

#include "plan/exec/add.h"
#include "plan/exec/test/kit.h"
#include "support/owners.h"
#include "support/sanitized.h"
#include "tern/check.h"
#include "tern/topo.h"

enum { RUNS = ROUNDS_OF(40) };

struct owners_job {
    uint64_t count; // elements
    bool cut;
    bool quick; // with the least posts, and sums in one op
};

static void prove(const tern_plan *plan, int n, bool cut)
{
    tern_topo *topo;
    tern_check *check;
    char mesh[16];
    snprintf(mesh, sizeof mesh, "mesh:%d", n);
    assert_int_equal(tern_topo_create(mesh, &topo), TERN_OK);
    if (cut) {
        assert_int_equal(tern_topo_cut(topo, "0-1"), TERN_OK);
    }
    assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    assert_int_equal(tern_check_sum_order(check),
                     n > 1 ? TERN_CHECK_ORDER_ANY : TERN_CHECK_ORDER_RANK);
    tern_check_destroy(check);
    tern_topo_destroy(topo);
}

static int run_owners(tern_comm *comm, void *arg)
{
    const struct owners_job *job = arg;
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    struct kit_bench bench;
    tern_plan *plan = owners_plan(n, job->cut, job->count * 4, 4);
    if (job->quick) {
        CHECK(tern_check_quicken(&plan, NULL) == TERN_OK);
        CHECK(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH) == 0);
    }
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, run, rank, job->count, true);
        kit_dawdle(run, rank);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, n, job->count, true) == 0);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void all_reduce_by_owners_is_right(void **state)
{
    const uint64_t counts[] = {1, 256, 25000, 100003};
    const int ranks[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            for (int cut = 0; cut < (ranks[k] > 2 ? 2 : 1); cut++) {
                struct owners_job job = {.count = counts[i], .cut = cut != 0};
                tern_plan *plan = owners_plan(ranks[k], job.cut, job.count * 4, 4);
                prove(plan, ranks[k], job.cut);
                tern_plan_destroy(plan);
                assert_true(ranks_run_comm(ranks[k], run_owners, &job, 60));
            }
        }
    }
}

// Many runs, one behind the other, with no more posts than the ops of one need.
static void made_quicker_it_is_right(void **state)
{
    for (int n = 2; n <= 8; n++) {
        struct owners_job job = {.count = 9001, .cut = n > 2, .quick = true};
        assert_true(ranks_run_comm(n, run_owners, &job, 60));
    }
}

// The plan that executors for eight chips with one link missing make of 1 MiB: as many tasks.
static void the_golden_number_of_ops(void **state)
{
    tern_plan *plan = owners_plan(8, true, 1 << 20, 4);
    assert_int_equal(tern_plan_total_ops(plan), 884);
    prove(plan, 8, true);
    tern_plan_destroy(plan);
}

// Every rank adds two of its own ranges to all outputs, from an odd element on, over the ends of
// stripes; out holds what it held before, too.
enum { FIRST = 3, WIDE = 20000 };

static tern_plan *make_wide(int n)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, (2 * WIDE + FIRST) * 2, 2);
    for (int rank = 0; rank < n; rank++) {
        tern_plan_range from[] = {hand_at(rank, TERN_PLAN_IN, FIRST * 2),
                                  hand_at(rank, TERN_PLAN_IN, (FIRST + WIDE) * 2)};
        tern_plan_range to[TERN_RANKS_MAX];
        for (int peer = 0; peer < n; peer++) {
            to[peer] = hand_at(peer, TERN_PLAN_OUT, FIRST * 2);
        }
        tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                           .flags = TERN_PLAN_ATOMIC,
                           .length = WIDE * 2,
                           .sources = from,
                           .sources_count = 2,
                           .destinations = to,
                           .destinations_count = n};
        hand_must(tern_plan_add(plan, rank, 0, &op));
        for (int peer = 0; peer < n; peer++) {
            hand_post(plan, rank, 0, peer, 0);
        }
        hand_wait(plan, rank, 0, 0, (uint32_t)n);
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

static int16_t element_of(int run, int rank, int i)
{
    return (int16_t)kit_mix((uint64_t)run, (uint64_t)rank, (uint64_t)i);
}

static int16_t fold(tern_reduce_op op, int16_t a, int16_t b)
{
    return op == TERN_SUM    ? (int16_t)(uint16_t)((uint16_t)a + (uint16_t)b)
           : op == TERN_PROD ? (int16_t)(uint16_t)((uint32_t)(uint16_t)a * (uint16_t)b)
           : op == TERN_MAX  ? (a > b ? a : b)
                             : (a < b ? a : b);
}

static int compare_wide(const struct kit_bench *bench, int run, int n, tern_reduce_op op)
{
    for (int i = 0; i < WIDE; i++) {
        int16_t expected = 7;
        for (int rank = 0; rank < n; rank++) {
            expected = fold(op, expected, element_of(run, rank, FIRST + i));
            expected = fold(op, expected, element_of(run, rank, FIRST + WIDE + i));
        }
        int16_t seen;
        memcpy(&seen, bench->out_bytes + (FIRST + i) * 2, sizeof seen);
        CHECK(seen == expected);
    }
    return 0;
}

static int run_wide(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_reduce_op op = *(const tern_reduce_op *)arg;
    struct kit_bench bench;
    tern_plan *plan = make_wide(n);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_I16, .op = op}, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < 2 * WIDE + FIRST; i++) {
            int16_t values[] = {element_of(run, rank, i), 7};
            memcpy(bench.in_bytes + i * 2, &values[0], 2);
            memcpy(bench.out_bytes + i * 2, &values[1], 2);
        }
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(compare_wide(&bench, run, n, op) == 0);
    }
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void every_operation_and_many_operands(void **state)
{
    const tern_reduce_op ops[] = {TERN_SUM, TERN_PROD, TERN_MAX, TERN_MIN};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        assert_true(ranks_run_comm(3, run_wide, (void *)(uintptr_t)&ops[i], 60));
        assert_true(ranks_run_comm(8, run_wide, (void *)(uintptr_t)&ops[i], 60));
    }
}

// A NaN with a payload, and infinities of both signs, become the NaN that every reduce gives.
static int run_nan(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    struct kit_bench bench;
    tern_plan *plan = owners_plan(n, false, 8, 4);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    const uint32_t payload = 0xffc12345;
    float values[2] = {1, rank == 0 ? -INFINITY : INFINITY};
    if (rank == n - 1) {
        memcpy(&values[0], &payload, sizeof payload);
    }
    memcpy(bench.in_bytes, values, sizeof values);
    CHECK(tern_exec_run(bench.exec) == TERN_OK);
    uint32_t bits[2];
    memcpy(bits, bench.out_bytes, sizeof bits);
    CHECK(bits[0] == 0x7fc00000 && bits[1] == 0x7fc00000);
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void a_nan_is_the_one_nan(void **state)
{
    assert_true(ranks_run_comm(3, run_nan, NULL, 30));
}

static void a_wanted_lock_says_so_when_it_is_freed(void **state)
{
    struct tern__add_lock lock = {0};
    assert_int_equal(tern__add_holder(&lock), -1);
    assert_true(tern__add_take(&lock, 63));
    assert_int_equal(tern__add_holder(&lock), 63);
    assert_false(tern__add_drop(&lock)); // nobody wanted it
    assert_true(tern__add_is_free(&lock));
    assert_true(tern__add_take(&lock, 0));
    assert_false(tern__add_take(&lock, 1));
    assert_int_equal(tern__add_holder(&lock), 0);
    assert_true(tern__add_drop(&lock));
    assert_true(tern__add_take(&lock, 1));
    assert_false(tern__add_is_free(&lock));
    assert_true(tern__add_drop(&lock));
}

// Rank 1 holds what the others add to, and is killed, or does not move until they have given up.
static int hold(int rank, const struct ranks *ranks, void *arg)
{
    enum { COUNT = 30000 };
    bool dies = *(const bool *)arg;
    int n = ranks->count;
    tern_comm *comm;
    struct kit_bench bench;
    CHECK(ranks_join(rank, ranks, (dies ? 60 : 2) * INT64_C(1000000000), &comm) == TERN_OK);
    tern_plan *plan = owners_plan(n, false, COUNT * 4, 4);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    CHECK(tern_exec_run(bench.exec) == TERN_OK);
    struct tern__add_lock *locks = (struct tern__add_lock *)(void *)bench.exec->binding.locks;
    if (rank == 1) { // those of rank 0
        for (int i = 0; i < TERN__ADD_LOCKS; i++) {
            CHECK(tern__add_take(&locks[i], 1));
        }
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank == 1 && dies) {
        CHECK(tern_exec_start(bench.exec) == TERN_OK);
        raise(SIGKILL);
    }
    int status = tern_exec_run(bench.exec);
    CHECK(status == (dies ? TERN_ERR_PEER : TERN_ERR_TIMEOUT));
    CHECK(strstr(tern_last_error(), dies ? "rank 1 " : "waited 2 s in run 2") != NULL);
    CHECK(kit_close(&bench) == 0);
    tern_plan_destroy(plan);
    return tern_comm_destroy(comm);
}

static void who_dies_with_a_lock_is_an_error(void **state)
{
    bool dies = true;
    struct ranks ranks;
    ranks_begin(&ranks, 3, hold, &dies);
    assert_true(ranks_wait(&ranks, 30));
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(ranks.statuses[rank], rank == 1 ? SIGKILL : 0);
    }
    assert_true(ranks_end(&ranks));
}

static void who_keeps_a_lock_is_an_error_in_time(void **state)
{
    bool dies = false;
    assert_true(ranks_run(3, hold, &dies, 30));
}

// Rank 1 begins the run and keeps what it holds; the others say for whom they wait.
static int name_holder(int rank, const struct ranks *ranks, void *arg)
{
    int n = ranks->count;
    tern_comm *comm;
    struct kit_bench bench;
    CHECK(ranks_join(rank, ranks, 2 * INT64_C(1000000000), &comm) == TERN_OK);
    tern_plan *plan = make_wide(n);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_I16}, &bench) != 0) {
        return 1;
    }
    struct tern__add_lock *locks = (struct tern__add_lock *)(void *)bench.exec->binding.locks;
    for (int i = 0; rank == 1 && i < TERN__ADD_LOCKS; i++) {
        CHECK(tern__add_take(&locks[i], 1));
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    int status = tern_exec_start(bench.exec);
    while (rank == 1 && status == TERN_OK) {
        usleep(1000);
        status = tern_comm_health(comm);
    }
    status = rank == 1 ? status : tern_exec_wait(bench.exec);
    CHECK(status == TERN_ERR_TIMEOUT);
    CHECK(rank == 1 || strstr(tern_last_error(), "at lane 0, op 0 (reduce), for rank 1 to be done "
                                                 "with what it adds to one of its") != NULL);
    CHECK(kit_close(&bench) == 0);
    tern_plan_destroy(plan);
    return tern_comm_destroy(comm);
}

static void who_keeps_a_lock_is_named(void **state)
{
    assert_true(ranks_run(3, name_holder, NULL, 30));
}

// As a collective call binds it: slices of a scaled plan, elements of 12 bytes, a function.
struct triple {
    uint32_t words[3];
};

static void add_triples(void *accumulator, const void *source, size_t count, void *arg)
{
    struct triple *to = accumulator;
    const struct triple *from = source;
    for (size_t i = 0; i < count; i++) {
        for (int word = 0; word < 3; word++) {
            to[i].words[word] += from[i].words[word];
        }
    }
}

static void slices_of_odd_elements_are_added(void **state)
{
    enum { COUNT = 9000, BEGIN = 7 };
    static struct triple in[COUNT], out[COUNT];
    static struct tern__add_lock locks[TERN__ADD_LOCKS];
    tern_plan_range operands[] = {hand_at(0, TERN_PLAN_IN, 1), hand_at(0, TERN_PLAN_OUT, 1)};
    struct tern__step step = {.kind = TERN__STEP_ADD,
                              .sources_count = 1,
                              .destinations_count = 1,
                              .operands = operands,
                              .length = 1};
    struct tern__binding binding = {.in_map = TERN__MAP_SLICES,
                                    .out_map = TERN__MAP_SLICES,
                                    .bounds = {0, BEGIN * 12, COUNT * 12},
                                    .in = {(const char *)in},
                                    .out = {(char *)out},
                                    .locks = (char *)locks,
                                    .nranks = 1,
                                    .element_bytes = 12,
                                    .function = add_triples};
    for (uint32_t i = 0; i < COUNT; i++) {
        in[i] = (struct triple){{i, 2 * i, 3 * i}};
        out[i] = (struct triple){{1, 2, 3}};
    }
    uint32_t done = 0;
    bool wanted = false;
    assert_true(tern__add_take(&locks[2], 5)); // somebody else is at the third stripe
    assert_false(tern__add(&binding, &step, &done, &wanted));
    assert_int_equal(done, 2);
    assert_ptr_equal(tern__add_next(&binding, &step, done), &locks[2]);
    assert_false(tern__add(&binding, &step, &done, &wanted));
    assert_true(tern__add_drop(&locks[2]));
    assert_true(tern__add(&binding, &step, &done, &wanted));
    assert_false(wanted);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t added = i < BEGIN ? 0 : i;
        assert_int_equal(out[i].words[0], 1 + added);
        assert_int_equal(out[i].words[2], 3 + 3 * added);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_by_owners_is_right),
        cmocka_unit_test(made_quicker_it_is_right),
        cmocka_unit_test(the_golden_number_of_ops),
        cmocka_unit_test(every_operation_and_many_operands),
        cmocka_unit_test(a_nan_is_the_one_nan),
        cmocka_unit_test(a_wanted_lock_says_so_when_it_is_freed),
        cmocka_unit_test(who_dies_with_a_lock_is_an_error),
        cmocka_unit_test(who_keeps_a_lock_is_an_error_in_time),
        cmocka_unit_test(who_keeps_a_lock_is_named),
        cmocka_unit_test(slices_of_odd_elements_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
