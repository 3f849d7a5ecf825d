// SPDX-License-Identifier: Apache-2.0
// The interpreter that the other tests lean on refutes wrong plans: each is a right one with one
// thing changed, or three ops written by hand.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "support/interp.h"
#include "support/kinds.h"
#include "tern/algo.h"

enum { SEEDS = 60 };

enum change { DROP, OFFSET, RANK, COUNT, SHORTER, LATER };

struct target {
    int rank, lane;
    size_t op;
    enum change change;
};

// Changes an op, whose destination may be stored in `place`. False where it cannot be changed so.
static bool change_op(enum change change, const tern_plan_spec *spec, tern_plan_op *op,
                      tern_plan_range *place)
{
    bool move = op->destinations_count == 1;
    *place = move ? op->destinations[0] : (tern_plan_range){0};
    switch (change) {
    case OFFSET:
        place->offset += spec->unit;
        op->destinations = move ? place : NULL;
        return move;
    case RANK:
        place->rank = (uint16_t)((place->rank + 1) % spec->nranks);
        op->destinations = move ? place : NULL;
        return move;
    case SHORTER:
        op->length -= move ? spec->unit : 0;
        return move;
    case COUNT:
        op->count++;
        return op->kind == TERN_PLAN_WAIT;
    case DROP:
    case LATER:
        return true;
    }
    return false;
}

// Copies a lane, and the target's op, if it is in it, changed. False where that is not possible.
static bool copy_lane(const tern_plan *plan, tern_plan *copy, int rank, int lane,
                      const struct target *target)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    size_t count = tern_plan_op_count(plan, rank, lane);
    bool here = rank == target->rank && lane == target->lane;
    if (here && target->change == LATER && target->op + 1 >= count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        tern_plan_op op;
        tern_plan_range place;
        size_t from = i;
        if (here && target->change == LATER && (i == target->op || i == target->op + 1)) {
            from = i == target->op ? i + 1 : i - 1;
        }
        assert_int_equal(tern_plan_get_op(plan, rank, lane, from, &op), TERN_OK);
        if (here && i == target->op && !change_op(target->change, spec, &op, &place)) {
            return false;
        }
        if (!here || i != target->op || target->change != DROP) {
            assert_int_equal(tern_plan_add(copy, rank, lane, &op), TERN_OK);
        }
    }
    return true;
}

// A copy of a plan in which one op is dropped or changed, or comes after its successor. NULL where
// that op cannot be changed so.
static tern_plan *changed(const tern_plan *plan, const struct target *target)
{
    tern_plan *copy;
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    assert_int_equal(tern_plan_create(spec, &copy), TERN_OK);
    uint64_t scratch = tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH);
    assert_int_equal(tern_plan_need_scratch(copy, scratch), TERN_OK);
    for (int rank = 0; rank < spec->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            if (!copy_lane(plan, copy, rank, lane, target)) {
                tern_plan_destroy(copy);
                return NULL;
            }
        }
    }
    assert_int_equal(tern_plan_seal(copy), TERN_OK);
    return copy;
}

static bool refuted(const tern_plan *plan, const tern_topo *topo)
{
    char why[256];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        if (!interp_run(plan, topo, seed, why, sizeof why)) {
            return true;
        }
    }
    return false;
}

// Applies a change to every op in turn. A plan whose ops are swapped may still be right (two
// posts), a wait may be repeated by a later one: `all` says whether every one must be refuted.
static void check_changes(tern_plan_kind kind, const char *name, enum change change, bool all)
{
    tern_topo *topo;
    tern_plan *plan;
    assert_int_equal(tern_topo_create("mesh:6", &topo), TERN_OK);
    tern_algo_request request = {.kind = kind,
                                 .topo = topo,
                                 .bytes = 8 * 6 * 17,
                                 .unit = 8,
                                 .root = kind_has_root(kind) ? 4 : 0,
                                 .order = TERN_ORDER_ANY,
                                 .algorithm = name};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
    assert_false(refuted(plan, topo));
    int made = 0;
    int found = 0;
    for (int rank = 0; rank < 6; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan *wrong = changed(plan, &(struct target){rank, lane, i, change});
                if (wrong == NULL) {
                    continue;
                }
                bool refused = refuted(wrong, topo);
                made++;
                found += refused;
                if (all && !refused) {
                    fail_msg("%s: change %d of rank %d, lane %d, op %zu is not found", name,
                             (int)change, rank, lane, i);
                }
                tern_plan_destroy(wrong);
            }
        }
    }
    assert_true(made > 0 && found > 0);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static void finds_dropped_ops(void **state)
{
    check_changes(TERN_PLAN_ALL_REDUCE, "fused", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "two_shot", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "halving_doubling", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "tree", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "cut_small", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "cut_optimal", DROP,
                  false); // some waits are implied by others
    check_changes(TERN_PLAN_ALL_REDUCE, "ring", DROP, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "staged", DROP, true);
}

// Of the kinds with a root every algorithm, whatever is changed.
static void finds_changes_of_rooted_kinds(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *name;
    } rows[] = {{TERN_PLAN_BROADCAST, "fused"},     {TERN_PLAN_REDUCE_TO_ROOT, "fused"},
                {TERN_PLAN_REDUCE_TO_ROOT, "pull"}, {TERN_PLAN_REDUCE_TO_ROOT, "staged"},
                {TERN_PLAN_REDUCE_TO_ROOT, "tree"}, {TERN_PLAN_GATHER, "direct"},
                {TERN_PLAN_GATHER, "pull"},         {TERN_PLAN_SCATTER, "direct"},
                {TERN_PLAN_SCATTER, "push"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_changes(rows[i].kind, rows[i].name, DROP, true);
        check_changes(rows[i].kind, rows[i].name, COUNT, true);
        // Where an op has several destinations, as in a fused broadcast, nothing is changed so.
        if (rows[i].kind != TERN_PLAN_BROADCAST) {
            check_changes(rows[i].kind, rows[i].name, OFFSET, true);
            check_changes(rows[i].kind, rows[i].name, RANK, true);
            check_changes(rows[i].kind, rows[i].name, SHORTER, true);
        }
    }
}

static void finds_wrong_operands(void **state)
{
    static const char *const names[] = {"ring", "halving_doubling", "cut_relay", "cut_optimal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_changes(TERN_PLAN_ALL_REDUCE, names[i], OFFSET, true);
        check_changes(TERN_PLAN_ALL_REDUCE, names[i], RANK, true);
        check_changes(TERN_PLAN_ALL_REDUCE, names[i], SHORTER, true);
    }
}

static void finds_wrong_signals(void **state)
{
    check_changes(TERN_PLAN_ALL_REDUCE, "fused", COUNT, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "tree", COUNT, true);
    check_changes(TERN_PLAN_ALL_REDUCE, "cut_relay", COUNT,
                  false); // only the last count is never reached
    check_changes(TERN_PLAN_ALL_REDUCE, "ring", LATER, false);
}

static void finds_a_missing_link(void **state)
{
    tern_topo *topo;
    tern_plan *plan;
    char why[256];
    assert_int_equal(tern_topo_create("mesh:4", &topo), TERN_OK);
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 64,
                                 .unit = 8};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
    assert_int_equal(tern_topo_cut(topo, "2>1"), TERN_OK);
    assert_false(interp_run(plan, topo, 1, why, sizeof why));
    assert_non_null(strstr(why, "there is no link 2>1"));
    assert_true(interp_run(plan, NULL, 1, why, sizeof why));
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static tern_plan *by_hand(tern_plan_kind kind, int nranks)
{
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&(tern_plan_spec){.kind = kind,
                                                        .nranks = nranks,
                                                        .bytes = kind == TERN_PLAN_BARRIER ? 0 : 16,
                                                        .unit = 8},
                                      &plan),
                     TERN_OK);
    return plan;
}

static void add_copy(tern_plan *plan, int rank, int from, int to, uint64_t offset)
{
    tern_plan_range source = {.rank = (uint16_t)from, .buffer = TERN_PLAN_IN};
    tern_plan_range destination = {.rank = (uint16_t)to, .buffer = TERN_PLAN_OUT, .offset = offset};
    tern_plan_op op = {.kind = TERN_PLAN_COPY,
                       .length = 16,
                       .sources = &source,
                       .sources_count = 1,
                       .destinations = &destination,
                       .destinations_count = 1};
    assert_int_equal(tern_plan_add(plan, rank, 0, &op), TERN_OK);
}

// Right values, but rank 0 has ended when they come.
static void finds_touching_after_the_end(void **state)
{
    char why[256];
    tern_plan *plan = by_hand(TERN_PLAN_BROADCAST, 2);
    add_copy(plan, 0, 0, 0, 0);
    add_copy(plan, 1, 0, 1, 0);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    bool found = false;
    for (uint64_t seed = 0; seed < SEEDS && !found; seed++) {
        found = !interp_run(plan, NULL, seed, why, sizeof why);
    }
    assert_true(found);
    assert_non_null(strstr(why, "touches rank 0 after its lanes ended"));
    tern_plan_destroy(plan);
}

static void finds_bounds(void **state)
{
    char why[256];
    tern_plan *plan = by_hand(TERN_PLAN_BROADCAST, 1);
    add_copy(plan, 0, 0, 0, 8);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_false(interp_run(plan, NULL, 1, why, sizeof why));
    assert_string_equal(why,
                        "rank 0, lane 0, op 0: bytes 8+16 of buffer 1 of rank 0, which has 16");
    tern_plan_destroy(plan);
}

// The root is rank 0; of rank 1 a scatter has no input, and the others no output.
static void finds_buffers_that_are_not_there(void **state)
{
    char why[256];
    for (int kind = TERN_PLAN_REDUCE_TO_ROOT; kind <= TERN_PLAN_SCATTER; kind++) {
        tern_plan *plan = by_hand((tern_plan_kind)kind, 2);
        bool scatter = kind == TERN_PLAN_SCATTER;
        tern_plan_range from = {.rank = 1, .buffer = TERN_PLAN_IN};
        tern_plan_range to = {.rank = 1, .buffer = TERN_PLAN_OUT};
        tern_plan_op op = {.kind = TERN_PLAN_COPY,
                           .length = 8,
                           .sources = &from,
                           .sources_count = 1,
                           .destinations = &to,
                           .destinations_count = 1};
        assert_int_equal(tern_plan_add(plan, 1, 0, &op), TERN_OK);
        assert_int_equal(tern_plan_seal(plan), TERN_OK);
        bool found = false;
        for (uint64_t seed = 0; seed < SEEDS && !found; seed++) {
            found = !interp_run(plan, NULL, seed, why, sizeof why) &&
                    strstr(why, scatter ? "rank 1 has no buffer 0" : "rank 1 has no buffer 1");
        }
        assert_true(found);
        tern_plan_destroy(plan);
    }
}

static void finds_a_barrier_that_is_none(void **state)
{
    tern_plan *plan = by_hand(TERN_PLAN_BARRIER, 3);
    // 0 hears from 1, 1 from 2, 2 from 0: nobody from both others.
    for (int rank = 0; rank < 3; rank++) {
        tern_plan_op post = {.kind = TERN_PLAN_POST, .peer = (rank + 2) % 3};
        tern_plan_op wait = {.kind = TERN_PLAN_WAIT, .count = 1};
        assert_int_equal(tern_plan_add(plan, rank, 0, &post), TERN_OK);
        assert_int_equal(tern_plan_add(plan, rank, 0, &wait), TERN_OK);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_true(refuted(plan, NULL));
    tern_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_dropped_ops),
        cmocka_unit_test(finds_wrong_operands),
        cmocka_unit_test(finds_wrong_signals),
        cmocka_unit_test(finds_a_missing_link),
        cmocka_unit_test(finds_bounds),
        cmocka_unit_test(finds_changes_of_rooted_kinds),
        cmocka_unit_test(finds_buffers_that_are_not_there),
        cmocka_unit_test(finds_touching_after_the_end),
        cmocka_unit_test(finds_a_barrier_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
