// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// What tern_coll_select says will be selected is what runs: compared with the records of the calls,
// for every kind, sizes around every switch, buffers in windows or not, in place or not, algorithms
// named or not.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/record_algorithm.h"
#include "comm/comm.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/tune.h"
#include "tern/window.h"

#define BYTES_MAX ((size_t)3 << 19)

struct world {
    tern_comm *comm;
    char *in[2], *out[2]; // elsewhere, in windows
    int compared, either;
};

static bool has_shares(tern_coll_kind kind)
{
    return kind != TERN_COLL_ALL_REDUCE && kind != TERN_COLL_BROADCAST &&
           kind != TERN_COLL_REDUCE && kind != TERN_COLL_BARRIER;
}

static bool is_shares(const tern_coll *call)
{
    return tern_coll_kind_facts(call->kind)->counts;
}

// Makes the call if it can be made, and compares.
static int compare(struct world *world, tern_coll call, int windows, bool in_place)
{
    const struct tern__group *group = &world->comm->group;
    tern_coll_choice choice;
    struct tern__recorded calls[TERN__RECORDS];
    call.in = world->in[windows];
    call.out = in_place ? world->in[windows] : world->out[windows];
    int foreseen = tern_coll_select(&call, group->size, windows, &choice);
    int status = tern_coll_run(world->comm, &call);
    CHECK(status == foreseen);
    if (status != TERN_OK) {
        CHECK(status == TERN_ERR_ARG || status == TERN_ERR_LIMIT);
        return 0;
    }
    CHECK(tern__records_read(group->job->ctl, group->members[group->rank], calls) > 0);
    CHECK(calls[0].signature.kind == call.kind && calls[0].state == TERN__RECORD_DONE);
    const char *way = tern__way_name(calls[0].way);
    const char *expected = strcmp(choice.way, "line") == 0 ? "slot" : choice.way;
    if (strcmp(expected, "staged/direct") == 0) { // one of them, as it turns out
        expected = strcmp(way, "direct") == 0 || (strcmp(way, "slot") == 0 && is_shares(&call))
                       ? way
                       : "staged";
        world->either++;
    }
    if (strcmp(tern__record_algorithm(&calls[0]), choice.algorithm) != 0 ||
        strcmp(way, expected) != 0) {
        fprintf(
            stderr,
            "%s of %zu elements on %d ranks, windows %d, in place %d, algorithm %s: foreseen %s by "
            "%s (%s), run %s by %s\n",
            tern_coll_kind_name(call.kind), call.count, group->size, windows, in_place,
            call.algorithm != NULL ? call.algorithm : "not named", choice.algorithm, choice.way,
            choice.why, tern__record_algorithm(&calls[0]), way);
        return 1;
    }
    world->compared++;
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int compare_kind(struct world *world, tern_coll_kind kind)
{
    int n = tern_comm_size(world->comm);
    size_t share = has_shares(kind) ? (size_t)n : 1;
    tern_tune_row row;
    CHECK(tern_tune_get((tern_plan_kind)kind, n, &row) == TERN_OK);
    const size_t sizes[] = {4,
                            48,
                            52,
                            4096,
                            row.small_bytes - 4,
                            row.small_bytes,
                            row.small_bytes + 4 * share,
                            (row.direct_from + 4) * share,
                            (row.direct_from > 4 ? row.direct_from - 4 : 4) * share,
                            (row.direct_to + 4) * share,
                            262144,
                            BYTES_MAX / 2};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int i = 0; i < 4; i++) {
            int windows = i % 2;
            bool in_place = i / 2 != 0; // on all ranks, where that is the same on all
            if (in_place && kind != TERN_COLL_ALL_REDUCE && kind != TERN_COLL_ALL_TO_ALL) {
                continue;
            }
            tern_coll call = {.kind = kind,
                              .count = kind == TERN_COLL_BARRIER
                                           ? 0
                                           : least(sizes[s], BYTES_MAX / 2) / 4 / share,
                              .dtype = TERN_F32,
                              .op = TERN_SUM,
                              .root = n - 1};
            CHECK(compare(world, call, windows, in_place) == 0);
            for (int a = 0; tern_algo_name((tern_plan_kind)kind, a) != NULL; a++) {
                call.algorithm = tern_algo_name((tern_plan_kind)kind, a);
                call.order = TERN_ORDER_ANY;
                CHECK(compare(world, call, windows, in_place) == 0);
            }
        }
    }
    return 0;
}

// V-collectives: equal ones, so that the window of any rank is large enough.
static int compare_counts(struct world *world)
{
    static const tern_coll_kind kinds[] = {TERN_COLL_ALL_GATHER_V, TERN_COLL_REDUCE_SCATTER_V,
                                           TERN_COLL_ALL_TO_ALL_V, TERN_COLL_GATHER_V,
                                           TERN_COLL_SCATTER_V};
    size_t counts[TERN_RANKS_MAX];
    int n = tern_comm_size(world->comm);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t share = 16; share <= BYTES_MAX / 8 / (size_t)n; share *= 8) {
            for (int i = 0; i < n; i++) {
                counts[i] = share;
            }
            tern_coll call = {.kind = kinds[k],
                              .count = share,
                              .dtype = TERN_F32,
                              .in_counts = counts,
                              .out_counts = counts};
            CHECK(compare(world, call, 0, false) == 0);
            CHECK(compare(world, call, 1, false) == 0);
        }
    }
    return 0;
}

static char elsewhere[2 * BYTES_MAX];

static int work(tern_comm *comm, void *arg)
{
    struct world world = {.comm = comm};
    tern_window *window;
    CHECK(tern_window_create(comm, 2 * BYTES_MAX, NULL, &window) == TERN_OK);
    world.in[1] = tern_window_address(window, tern_comm_rank(comm));
    world.out[1] = world.in[1] + BYTES_MAX;
    world.in[0] = elsewhere;
    world.out[0] = world.in[0] + BYTES_MAX;
    for (int kind = TERN_COLL_ALL_REDUCE; kind < TERN_PLAN_KINDS; kind++) {
        CHECK(compare_kind(&world, (tern_coll_kind)kind) == 0);
    }
    CHECK(compare_counts(&world) == 0);
    CHECK(world.compared > 200);
    CHECK(world.either > 10 || tern_comm_size(comm) == 1 || getenv("TERN_ALGO") != NULL ||
          getenv("TERN_DIRECT") != NULL);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void what_is_foreseen_is_what_runs(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 8};
    setenv("TERN_TUNE", "", 1);
    unsetenv("TERN_ALGO");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i += 1 + SANITIZED) {
        assert_true(ranks_run_comm(counts[i], work, NULL, 60));
    }
}

// The same with a name in the environment; its order of sums is then accepted.
static void with_names_in_the_environment(void **state)
{
    setenv("TERN_TUNE", "", 1);
    setenv("TERN_ALGO", "ring,all_reduce:halving_doubling,broadcast:tree", 1);
    assert_true(ranks_run_comm(4, work, NULL, 60));
    unsetenv("TERN_ALGO");
}

// And where large inputs stay in ordinary memory, also those of sums.
static void with_inputs_that_are_read_where_they_lie(void **state)
{
    setenv("TERN_TUNE", "", 1);
    setenv("TERN_DIRECT", "20000", 1);
    bool right = ranks_run_comm(2, work, NULL, 60) && ranks_run_comm(3, work, NULL, 60);
    unsetenv("TERN_DIRECT");
    assert_true(right);
}

static void wrong_questions_are_refused(void **state)
{
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .count = 1, .dtype = TERN_F32};
    tern_coll_choice choice;
    assert_int_equal(tern_coll_select(NULL, 2, 0, &choice), TERN_ERR_ARG);
    assert_int_equal(tern_coll_select(&call, 2, 0, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_coll_select(&call, 0, 0, &choice), TERN_ERR_ARG);
    assert_int_equal(tern_coll_select(&call, 65, 0, &choice), TERN_ERR_ARG);
    call.op = TERN_AND;
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_ERR_ARG);
    call.op = TERN_SUM;
    call.algorithm = "best";
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_ERR_ARG);
    call.algorithm = "ring";
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "not in the order of the ranks"));
    call.order = TERN_ORDER_ANY;
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_OK);
    assert_string_equal(choice.algorithm, "ring");
    call.kind = TERN_COLL_BROADCAST;
    call.algorithm = NULL;
    call.root = 2;
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_ERR_ARG);
    call.kind = (tern_coll_kind)99;
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_ERR_ARG);
    call.kind = TERN_COLL_SEND;
    assert_int_equal(tern_coll_select(&call, 2, 0, &choice), TERN_OK);
    assert_string_equal(choice.way, "mail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_foreseen_is_what_runs),
        cmocka_unit_test(with_names_in_the_environment),
        cmocka_unit_test(with_inputs_that_are_read_where_they_lie),
        cmocka_unit_test(wrong_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
