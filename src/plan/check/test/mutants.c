// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// Does the checker check? Right plans are spoiled at random, in every way a plan can be wrong. Each
// mutant must be refuted, or run right under 50 adversarial schedules of an independent interpreter
// (test/support/interp.h): no accepted mutant may ever give a wrong result; nor one that is
// accepted in place, with any ranks in place. MUTANTS sets the number.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/interp.h"
#include "support/kinds.h"
#include "support/random.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/status.h"

enum { OPS_MAX = 4096, OPERANDS_MAX = 128, MUTANTS_DEFAULT = 10000, SCHEDULES = 50 };

struct draft_op {
    int rank;
    int lane;
    tern_plan_op op;
    tern_plan_range operands[OPERANDS_MAX]; // sources, then destinations
};

// A plan that can be changed.
struct draft {
    tern_plan_spec spec;
    uint64_t scratch;
    int count;
    struct draft_op ops[OPS_MAX];
};

static uint64_t random_state;

static int below(int limit)
{
    return (int)random_below(&random_state, (uint64_t)limit);
}

static void read_draft(const tern_plan *plan, struct draft *draft)
{
    draft->spec = *tern_plan_get_spec(plan);
    draft->spec.algorithm = "mutant";
    draft->scratch = tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH);
    draft->count = 0;
    for (int rank = 0; rank < draft->spec.nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                assert_true(draft->count < OPS_MAX);
                struct draft_op *to = &draft->ops[draft->count++];
                to->rank = rank;
                to->lane = lane;
                assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &to->op), TERN_OK);
                int sources = to->op.sources_count;
                int all = sources + to->op.destinations_count;
                assert_true(all <= OPERANDS_MAX);
                for (int o = 0; o < all; o++) {
                    to->operands[o] =
                        o < sources ? to->op.sources[o] : to->op.destinations[o - sources];
                }
            }
        }
    }
}

// Builds the draft; NULL when a builder already refuses it.
static tern_plan *build_draft(struct draft *draft)
{
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&draft->spec, &plan), TERN_OK);
    int status = tern_plan_need_scratch(plan, draft->scratch);
    for (int i = 0; i < draft->count && status == TERN_OK; i++) {
        struct draft_op *from = &draft->ops[i];
        from->op.sources = from->operands;
        from->op.destinations = from->operands + from->op.sources_count;
        status = tern_plan_add(plan, from->rank, from->lane, &from->op);
    }
    if (status != TERN_OK || tern_plan_seal(plan) != TERN_OK) {
        tern_plan_destroy(plan);
        return NULL;
    }
    return plan;
}

static bool is_transfer(const struct draft_op *op)
{
    return op->op.kind == TERN_PLAN_COPY || op->op.kind == TERN_PLAN_REDUCE;
}

static int pick(const struct draft *draft, bool (*fits)(const struct draft_op *))
{
    for (int tries = 0; tries < 200; tries++) {
        int at = below(draft->count);
        if (fits == NULL || fits(&draft->ops[at])) {
            return at;
        }
    }
    return -1;
}

static bool is_signal(const struct draft_op *op)
{
    return !is_transfer(op);
}

static bool is_wait(const struct draft_op *op)
{
    return op->op.kind == TERN_PLAN_WAIT;
}

static bool is_reduce(const struct draft_op *op)
{
    return op->op.kind == TERN_PLAN_REDUCE;
}

static bool is_post(const struct draft_op *op)
{
    return op->op.kind == TERN_PLAN_POST;
}

static void drop_op(struct draft *draft, int at)
{
    memmove(&draft->ops[at], &draft->ops[at + 1],
            (size_t)(draft->count - at - 1) * sizeof draft->ops[0]);
    draft->count--;
}

static void insert_op(struct draft *draft, int at, const struct draft_op *op)
{
    memmove(&draft->ops[at + 1], &draft->ops[at],
            (size_t)(draft->count - at) * sizeof draft->ops[0]);
    draft->ops[at] = *op;
    draft->count++;
}

// Moves an op next to another one, into its lane.
static void move_op(struct draft *draft, int at)
{
    static struct draft_op moved;
    moved = draft->ops[at];
    drop_op(draft, at);
    int to = below(draft->count);
    moved.rank = draft->ops[to].rank;
    moved.lane = draft->ops[to].lane;
    insert_op(draft, to, &moved);
}

static void swap_neighbours(struct draft *draft, int at)
{
    if (at + 1 < draft->count && draft->ops[at].rank == draft->ops[at + 1].rank &&
        draft->ops[at].lane == draft->ops[at + 1].lane) {
        static struct draft_op first;
        first = draft->ops[at];
        draft->ops[at] = draft->ops[at + 1];
        draft->ops[at + 1] = first;
    }
}

static void change_operand(struct draft *draft, struct draft_op *op, int how)
{
    tern_plan_range *range = &op->operands[below(op->op.sources_count + op->op.destinations_count)];
    uint64_t unit = draft->spec.unit;
    switch (how) {
    case 0:
        range->rank = (uint16_t)below(draft->spec.nranks);
        break;
    case 1:
        range->buffer = (uint16_t)below(3);
        break;
    case 2:
        range->offset += unit * (uint64_t)(1 + below(3));
        break;
    default:
        range->offset -= range->offset >= unit ? unit : 0;
        break;
    }
}

static void change_length(struct draft *draft, struct draft_op *op, bool longer)
{
    if (longer) {
        op->op.length += draft->spec.unit;
    } else {
        op->op.length -= op->op.length >= draft->spec.unit ? draft->spec.unit : 0;
    }
}

static void change_sources(struct draft_op *op, bool drop)
{
    int count = op->op.sources_count;
    if (count < 2) {
        return;
    }
    int at = below(count);
    if (drop) {
        memmove(&op->operands[at], &op->operands[at + 1],
                (size_t)(count + op->op.destinations_count - at - 1) * sizeof op->operands[0]);
        op->op.sources_count--;
    } else { // in place of another
        op->operands[at] = op->operands[below(count)];
    }
}

static void change_signal(struct draft *draft, struct draft_op *op)
{
    switch (below(3)) {
    case 0:
        op->op.signal = (uint32_t)below((int)op->op.signal + 3);
        break;
    case 1:
        op->op.peer = below(draft->spec.nranks);
        break;
    default:
        op->op.count = (uint32_t)((int)op->op.count + (below(2) == 0 ? 1 : -1));
        op->op.count = op->op.count == 0 ? 1 : op->op.count;
        break;
    }
}

// A post goes over a third rank: it tells that one, on a signal of its own, and a lane there tells
// the peer. Between machines it then says nothing of what was put to the peer.
static bool relay(struct draft *draft, struct draft_op *post)
{
    int over = below(draft->spec.nranks);
    int lane = 0;
    uint32_t signal = 0;
    for (int i = 0; i < draft->count; i++) {
        const struct draft_op *op = &draft->ops[i];
        int rank = op->op.kind == TERN_PLAN_POST ? op->op.peer : op->rank;
        lane = op->rank == over && op->lane >= lane ? op->lane + 1 : lane;
        signal =
            is_signal(op) && rank == over && op->op.signal >= signal ? op->op.signal + 1 : signal;
    }
    if (draft->count + 2 > OPS_MAX || over == post->rank) {
        return false;
    }
    static struct draft_op told;
    static struct draft_op tells;
    told = (struct draft_op){.rank = over, .lane = lane};
    told.op = (tern_plan_op){.kind = TERN_PLAN_WAIT, .signal = signal, .count = 1};
    tells = *post;
    tells.rank = over;
    tells.lane = lane;
    post->op.peer = over;
    post->op.signal = signal;
    insert_op(draft, draft->count, &told);
    insert_op(draft, draft->count, &tells);
    return true;
}

// Of kinds that have a root.
static bool change_root(tern_plan_spec *spec)
{
    int root = below(spec->nranks);
    bool changed = kind_has_root(spec->kind) && root != spec->root;
    spec->root = changed ? root : spec->root;
    return changed;
}

static const char *const kinds[] = {"drop",          "duplicate",    "move",    "swap", "retarget",
                                    "buffer",        "shift",        "unshift", "grow", "shrink",
                                    "drop a source", "source twice", "signal",  "wait", "post",
                                    "atomic",        "root",         "relay",   "cut"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

// Spoils the draft; false when this kind of mutation does not apply.
static bool mutate(struct draft *draft, int kind)
{
    bool (*const wanted[KINDS])(const struct draft_op *) = {
        [4] = is_transfer, [5] = is_transfer, [6] = is_transfer,  [7] = is_transfer,
        [8] = is_transfer, [9] = is_transfer, [10] = is_transfer, [11] = is_transfer,
        [12] = is_signal,  [13] = is_wait,    [14] = is_post,     [15] = is_reduce,
        [17] = is_post};
    int at = pick(draft, wanted[kind]);
    if (at < 0 || draft->count < 2) {
        return false;
    }
    static struct draft_op copy;
    struct draft_op *op = &draft->ops[at];
    switch (kind) {
    case 0:
        drop_op(draft, at);
        break;
    case 1:
        copy = *op;
        insert_op(draft, at, &copy);
        break;
    case 2:
        move_op(draft, at);
        break;
    case 3:
        swap_neighbours(draft, at);
        break;
    case 8:
    case 9:
        change_length(draft, op, kind == 8);
        break;
    case 10:
    case 11:
        change_sources(op, kind == 10);
        break;
    case 12:
    case 13:
    case 14:
        change_signal(draft, op);
        break;
    case 15:
        op->op.flags ^= TERN_PLAN_ATOMIC;
        break;
    case 16:
        return change_root(&draft->spec);
    case 17:
        return relay(draft, op);
    default:
        change_operand(draft, op, kind - 4);
        break;
    }
    return true;
}

struct subject {
    tern_plan_kind kind;
    const char *topo;
    const char *cut;
    const char *algorithm; // "atomic", "told": below
    uint64_t units;        // per share
    int root;
};

// A sum in an order left to chance: rank 1 puts its input down and says so, the others add theirs:
// rank 0 all of it at once, rank 2 in pieces, on two lanes, the first half together with rank 3's.
static const char atomic_text[] = "tern-plan 1\n"
                                  "kind reduce\nranks 4\nbytes 48\nunit 4\nalgorithm atomic\n"
                                  "root 1\n"
                                  "rank 0 lane 0\n"
                                  "wait @0 signal 0 count 1\n"
                                  "reduce @1 48 atomic : 0.in+0 -> 1.out+0\n"
                                  "post @1 rank 1 signal 0\n"
                                  "rank 1 lane 0\n"
                                  "copy @0 48 : 1.in+0 -> 1.out+0\n"
                                  "post @0 rank 0 signal 0\n"
                                  "post @0 rank 2 signal 0\n"
                                  "post @0 rank 3 signal 0\n"
                                  "wait @1 signal 0 count 4\n"
                                  "post @1 rank 3 signal 0\n"
                                  "rank 2 lane 0\n"
                                  "wait @0 signal 0 count 1\n"
                                  "reduce @1 24 atomic : 2.in+0 3.in+0 -> 1.out+0\n"
                                  "reduce @1 12 atomic : 2.in+24 -> 1.out+24\n"
                                  "post @1 rank 1 signal 0\n"
                                  "rank 2 lane 1\n"
                                  "wait @0 signal 0 count 1\n"
                                  "reduce @1 12 atomic : 2.in+36 -> 1.out+36\n"
                                  "post @1 rank 1 signal 0\n"
                                  "rank 3 lane 0\n"
                                  "wait @0 signal 0 count 1\n"
                                  "reduce @1 24 atomic : 3.in+24 -> 1.out+24\n"
                                  "post @1 rank 1 signal 0\n"
                                  "wait @1 signal 0 count 2\n"
                                  "end\n";

// A barrier in which rank 0 waits for one of two posts: either says that rank 3 has begun, and the
// lanes of rank 2 say by either of two more that it has begun itself.
static const char told_text[] = "tern-plan 1\n"
                                "kind barrier\nranks 4\nbytes 0\nunit 4\nalgorithm told\n"
                                "rank 0 lane 0\n"
                                "wait @0 signal 0 count 1\n"
                                "wait @0 signal 1 count 1\n"
                                "wait @0 signal 2 count 1\n"
                                "post @1 rank 1 signal 1\n"
                                "post @1 rank 2 signal 1\n"
                                "post @1 rank 3 signal 1\n"
                                "rank 1 lane 0\n"
                                "post @0 rank 0 signal 2\n"
                                "wait @0 signal 0 count 1\n"
                                "post @0 rank 0 signal 1\n"
                                "wait @1 signal 1 count 1\n"
                                "rank 2 lane 0\n"
                                "post @0 rank 0 signal 0\n"
                                "wait @0 signal 0 count 1\n"
                                "post @0 rank 0 signal 1\n"
                                "wait @1 signal 1 count 1\n"
                                "rank 2 lane 1\n"
                                "post @0 rank 0 signal 0\n"
                                "rank 3 lane 0\n"
                                "post @0 rank 1 signal 0\n"
                                "post @0 rank 2 signal 0\n"
                                "wait @1 signal 1 count 1\n"
                                "end\n";

static const struct subject subjects[] = {
    {TERN_PLAN_ALL_REDUCE, "mesh:3", NULL, "fused", 7, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:4", NULL, "two_shot", 5, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:3", NULL, "one_shot", 4, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:4", NULL, "ring", 3, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:5", NULL, "halving_doubling", 3, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:5", NULL, "tree", 6, 0},
    {TERN_PLAN_REDUCE_SCATTER, "mesh:4", NULL, "direct", 3, 0},
    {TERN_PLAN_REDUCE_SCATTER, "mesh:3", NULL, "ring", 3, 0},
    {TERN_PLAN_ALL_GATHER, "mesh:4", NULL, "ring", 3, 0},
    {TERN_PLAN_ALL_GATHER, "mesh:4", NULL, "direct", 3, 0},
    {TERN_PLAN_BROADCAST, "mesh:5", NULL, "tree", 3, 0},
    {TERN_PLAN_ALL_TO_ALL, "mesh:4", NULL, "direct", 2, 0},
    {TERN_PLAN_BARRIER, "mesh:5", NULL, "dissemination", 0, 0},
    {TERN_PLAN_BARRIER, "mesh:4", NULL, "direct", 0, 0},
    {TERN_PLAN_BARRIER, "mesh:6", NULL, "tree", 0, 0},
    {TERN_PLAN_BARRIER, "mesh:4", NULL, "told", 0, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:4", NULL, "staged", 3, 0},
    {TERN_PLAN_ALL_GATHER, "mesh:4", NULL, "pull", 3, 0},
    {TERN_PLAN_ALL_TO_ALL, "mesh:4", NULL, "pull", 2, 0},
    {TERN_PLAN_BROADCAST, "mesh:4", NULL, "fused", 3, 2},
    {TERN_PLAN_REDUCE_TO_ROOT, "mesh:4", NULL, "fused", 3, 1},
    {TERN_PLAN_REDUCE_TO_ROOT, "mesh:3", NULL, "pull", 3, 2},
    {TERN_PLAN_REDUCE_TO_ROOT, "mesh:4", NULL, "staged", 3, 3},
    {TERN_PLAN_REDUCE_TO_ROOT, "mesh:6", NULL, "tree", 3, 1},
    {TERN_PLAN_REDUCE_TO_ROOT, "mesh:4", NULL, "atomic", 3, 1},
    {TERN_PLAN_GATHER, "mesh:4", NULL, "direct", 3, 2},
    {TERN_PLAN_GATHER, "mesh:4", NULL, "pull", 3, 1},
    {TERN_PLAN_SCATTER, "mesh:4", NULL, "direct", 3, 2},
    {TERN_PLAN_SCATTER, "mesh:4", NULL, "push", 3, 1},
    {TERN_PLAN_ALL_REDUCE, "mesh:5", "1-3", "cut_small", 3, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:5", "1-3", "cut_owners", 3, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:5", "0-1", "cut_relay", 9, 0},
    {TERN_PLAN_ALL_REDUCE, "mesh:6", "2-4", "cut_optimal", 7, 0},
    {TERN_PLAN_ALL_REDUCE, "machines:2x2", NULL, "one", 3, 0},
    {TERN_PLAN_ALL_REDUCE, "machines:1+2+1", NULL, "one_sums", 301, 0},
    {TERN_PLAN_ALL_REDUCE, "machines:2x2", NULL, "chain", 5201, 0},
    {TERN_PLAN_ALL_REDUCE, "machines:3x1", NULL, "two", 9001, 0},
    {TERN_PLAN_ALL_REDUCE, "machines:1+2", NULL, "two_raw", 301, 0},
    {TERN_PLAN_REDUCE_SCATTER, "machines:2x2", NULL, "two", 3, 0},
    {TERN_PLAN_REDUCE_TO_ROOT, "machines:3x1", NULL, "chain", 3, 1},
    {TERN_PLAN_REDUCE_TO_ROOT, "machines:2x2", NULL, "two", 300, 3},
    {TERN_PLAN_ALL_GATHER, "machines:2x2", NULL, "one", 400, 0},
    {TERN_PLAN_BROADCAST, "machines:2+1+1", NULL, "chain", 401, 1},
    {TERN_PLAN_ALL_TO_ALL, "machines:2x2", NULL, "one", 3, 0},
    {TERN_PLAN_GATHER, "machines:1+2", NULL, "one", 3, 0},
    {TERN_PLAN_SCATTER, "machines:1+2", NULL, "one", 3, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static tern_plan *make_plan(const struct subject *subject, tern_topo **topo)
{
    tern_plan *plan;
    assert_int_equal(tern_topo_create(subject->topo, topo), TERN_OK);
    if (subject->cut != NULL) {
        assert_int_equal(tern_topo_cut(*topo, subject->cut), TERN_OK);
    }
    bool atomic = strcmp(subject->algorithm, "atomic") == 0;
    if (atomic || strcmp(subject->algorithm, "told") == 0) {
        const char *text = atomic ? atomic_text : told_text;
        if (tern_plan_parse(text, strlen(text), subject->algorithm, &plan) != TERN_OK) {
            fail_msg("%s", tern_last_error());
        }
        return plan;
    }
    tern_algo_request request = {.kind = subject->kind,
                                 .topo = *topo,
                                 .bytes = subject->units * 4 * (uint64_t)tern_topo_size(*topo),
                                 .unit = 4,
                                 .root = subject->root,
                                 .order = TERN_ORDER_ANY,
                                 .algorithm = subject->algorithm};
    if (tern_algo_plan(&request, &plan) != TERN_OK) {
        fail_msg("%s over %s: %s", subject->algorithm, subject->topo, tern_last_error());
    }
    return plan;
}

// Cuts a link that the plan uses, or one that it does not.
static void cut_some_link(tern_topo *topo)
{
    char link[32];
    int n = tern_topo_size(topo);
    int from = below(n);
    int to = (from + 1 + below(n - 1)) % n;
    snprintf(link, sizeof link, "%d>%d", from, to);
    if (tern_topo_link(topo, from, to, NULL)) {
        assert_int_equal(tern_topo_cut(topo, link), TERN_OK);
    }
}

static struct draft draft;
static size_t refuted[KINDS];
static size_t accepted[KINDS];
static size_t accepted_in_place;

// Runs what was accepted under schedules, each with other ranks in place if that was accepted, too.
static void run_accepted(const struct subject *subject, const tern_plan *plan,
                         const tern_topo *topo, int kind, uint64_t seed)
{
    char why[512] = "";
    tern_check *check;
    assert_int_equal(tern_check_plan_in_place(plan, topo, &check), TERN_OK);
    bool in_place = tern_check_proved(check);
    tern_check_destroy(check);
    accepted_in_place += in_place;
    for (uint64_t schedule = 0; schedule < SCHEDULES; schedule++) {
        uint64_t run = seed * SCHEDULES + schedule;
        uint64_t ranks = random_next(&random_state) | (schedule % 8 == 0 ? UINT64_MAX : 0);
        if (!interp_run(plan, topo, run, why, sizeof why) ||
            (in_place && !interp_run_in_place(plan, topo, ranks, run, why, sizeof why))) {
            fail_msg("accepted but wrong: %s of %s, seed %llu, in place %llx: %s", kinds[kind],
                     subject->algorithm, (unsigned long long)seed,
                     (unsigned long long)(in_place ? ranks : 0), why);
        }
    }
}

static void try_mutant(const struct subject *subject, int kind, uint64_t seed)
{
    tern_topo *topo;
    tern_plan *plan = make_plan(subject, &topo);
    read_draft(plan, &draft);
    tern_plan_destroy(plan);
    bool cut = strcmp(kinds[kind], "cut") == 0;
    if (cut) {
        cut_some_link(topo);
    } else if (!mutate(&draft, kind)) {
        tern_topo_destroy(topo);
        return;
    }
    plan = build_draft(&draft);
    tern_check *check = NULL;
    if (plan != NULL) {
        assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
    }
    if (plan == NULL || !tern_check_proved(check)) {
        refuted[kind]++;
    } else {
        accepted[kind]++;
        run_accepted(subject, plan, topo, kind, seed);
    }
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static void subjects_are_proved(void **state)
{
    for (int i = 0; i < SUBJECTS; i++) {
        tern_topo *topo;
        tern_check *check;
        tern_plan *plan = make_plan(&subjects[i], &topo);
        assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
        if (!tern_check_proved(check)) {
            tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
            fail_msg("%s is not proved", subjects[i].algorithm);
        }
        tern_check_destroy(check);
        tern_plan_destroy(plan);
        tern_topo_destroy(topo);
    }
}

static void no_accepted_mutant_is_ever_wrong(void **state)
{
    const char *wanted = getenv("MUTANTS");
    uint64_t count = wanted != NULL ? strtoull(wanted, NULL, 10) : MUTANTS_DEFAULT;
    for (uint64_t seed = 0; seed < count; seed++) {
        random_state = seed;
        try_mutant(&subjects[seed % SUBJECTS], (int)(seed / SUBJECTS % KINDS), seed);
    }
    size_t all_refuted = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        printf("%-14s %5zu refuted, %4zu accepted and right\n", kinds[kind], refuted[kind],
               accepted[kind]);
        all_refuted += refuted[kind];
    }
    printf("%zu of them right in place, too\n", accepted_in_place);
    // Most mutations spoil a plan; a checker that accepts most of them does not check.
    assert_true(all_refuted * 2 > count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subjects_are_proved),
        cmocka_unit_test(no_accepted_mutant_is_ever_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
