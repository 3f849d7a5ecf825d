// SPDX-License-Identifier: Apache-2.0
// The checker from inside. The idea: signals only count up, so an op that can be executed stays
// executable whatever else happens; therefore every interleaving gets equally far, and one greedy
// execution decides about deadlock for all of them (check/order.c). During that execution vector
// clocks (Mattern, Fidge) say what must have happened before each op in every interleaving.
// Accesses are compared by clock as in FastTrack (Flanagan, Freund; check/memory.c). If no two
// conflicting accesses are unordered, all interleavings compute the same, so the values of the one
// execution, kept symbolically (check/value.c), are the result (check/result.c).
#ifndef TERN_PLAN_CHECK_H
#define TERN_PLAN_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/check/clock.h"
#include "plan/ir.h"
#include "tern/check.h"

#define TERN__FINDINGS_KEPT 1000
// Ops that are looked at for the words of findings, so that a plan full of mistakes has an answer
// soon.
#define TERN__CAUSES_VISITS_MAX ((size_t)1 << 24)

// What several findings have in common.
struct finding_cause {
    uint64_t key;
    size_t finding; // + 1; 0: a free entry
};

struct findings {
    size_t count;
    char **texts;      // of the first TERN__FINDINGS_KEPT
    size_t *followers; // of each: those with the same cause
    tern_check_detail *details;
    size_t kept, room;
    struct finding_cause *causes; // a table by key
};

struct tern_check {
    struct tern__handle handle;
    struct findings rules[TERN_CHECK_RULES];
    bool unchecked[TERN_CHECK_RULES]; // not looked at, because another rule failed
    bool in_place;                    // that rule was asked for
    int machines;                     // of the topology; 0: nothing is said of them
    tern_check_order order;
    uint32_t slots; // of the plan
    int nranks;
    size_t ops;
    bool out_of_memory;
};

// Lanes of all ranks, numbered through.
struct lanes {
    uint32_t *first; // per rank, and one past the last
    uint16_t *rank;  // per lane
    uint32_t count;
};

// A place in the plan.
struct place {
    uint32_t lane;
    uint32_t index;
};

struct order; // check/order.h
#define TERN__NO_PLACE ((struct place){.lane = UINT32_MAX})

static inline bool tern__is_place(struct place place)
{
    return place.lane != UINT32_MAX;
}

struct memory;  // check/memory.h
struct network; // check/network.c
struct values;  // check/value.c

// The state of one check.
struct checking {
    const tern_plan *plan;
    const tern_topo *topo;
    struct tern_check *check;
    struct lanes lanes;
    bool *unfit; // per lane and op of the static pass: operands out of bounds
    size_t *unfit_first;
    struct budget budget;
    struct clock_pool pool;
    struct clock **clocks; // per lane: what must have happened before its next op
    uint32_t *position;    // per lane: ops executed
    struct order *order;   // from the execution to the end
    struct memory *memory;
    struct network *network; // NULL: no machines
    struct values *values;
    size_t causes_visits;              // of ops, in search of what a race follows from
    struct place in_place_reported[2]; // so that it is not said once per stretch
};

// The check with a limit of its own in place of TERN_CHECK_BYTES_MAX.
int tern__check_plan_within(const tern_plan *plan, const tern_topo *topo, uint64_t bytes_max,
                            tern_check **check);

// Findings. The text is cut at 400 bytes. After memory has run out nothing is added.
void tern__check_add(struct tern_check *check, tern_check_rule rule, const char *format, ...)
    TERN_PRINTF(3, 4);
// What sort the finding is that was added last, and its ops; `second`, and both, may be no place.
void tern__check_mark(struct checking *checking, tern_check_rule rule, tern_check_cause cause,
                      struct place first, struct place second);
// One finding for each cause: true when there is one of that cause already, which then counts
// another that follows from it; false when it must be added next, and will be the one of that
// cause.
bool tern__check_follows(struct tern_check *check, tern_check_rule rule, uint64_t cause);
// So many more follow from the finding that was added last.
void tern__check_followed(struct tern_check *check, tern_check_rule rule, size_t count);
void tern__check_forget(struct tern_check *check, tern_check_rule rule);
// At the end: says of each finding how many follow from it.
void tern__check_finish(struct tern_check *check);

// "rank 1, lane 0, op 3 (reduce)"
void tern__place_text(const struct checking *checking, struct place place, char *text, size_t size);

static inline const struct tern__lane *tern__lane_of(const struct checking *checking, uint32_t lane)
{
    int rank = checking->lanes.rank[lane];
    return &checking->plan->ranks[rank].lanes[lane - checking->lanes.first[rank]];
}

static inline const struct tern__op *tern__place_op(const struct checking *checking,
                                                    struct place place)
{
    int rank = checking->lanes.rank[place.lane];
    return tern__plan_op(checking->plan, rank, (int)(place.lane - checking->lanes.first[rank]),
                         place.index);
}

// Whether an op must have happened before the next op of `lane`, in every interleaving.
static inline bool tern__must_precede(const struct checking *checking, struct place place,
                                      uint32_t lane)
{
    return place.lane == lane || tern__clock_done(checking->clocks[lane], place.lane) > place.index;
}

// Adds a race: `early` was done before `late` and need not be. When nobody waits for a post that
// comes after one of them, that is the finding, with the first race as an example, and others are
// counted. `rank` is whose lanes should have waited for `early`; `late` may be no place: the end of
// that rank.
void tern__race_add(struct checking *checking, struct place early, struct place late, int rank,
                    const char *text);

// What goes between machines (check/network.c). Whether one rank's memory is on another machine
// than the other rank.
bool tern__network_create(struct checking *checking);
void tern__network_destroy(struct checking *checking);
bool tern__is_remote(const struct checking *checking, int rank, int owner);
// Adds to what a post tells: what the poster's rank has written to the peer before it is there.
bool tern__network_post(struct checking *checking, struct place post, int peer,
                        struct clock **told);
// Whether who knows `clock` knows that what an op wrote to the memory of `owner` is there. An op of
// another machine's rank only.
bool tern__network_arrived(const struct checking *checking, struct place write, int owner,
                           const struct clock *clock);
// Adds a finding: what was written may not be there yet for `late`; for no place: at the end of
// `owner`.
void tern__network_late(struct checking *checking, struct place write, struct place late, int owner,
                        const char *what);

// Passes, in this order. Each returns false only when memory runs out.
bool tern__check_shapes(struct checking *checking); // bounds, links
bool tern__check_reach(struct checking *checking);  // reads and reduces between machines
bool tern__check_order(struct checking *checking);  // executes; deadlock, races, late writes
void tern__order_destroy(struct checking *checking);
bool tern__check_ends(struct checking *checking);   // who may still be busy when a rank has ended
bool tern__check_result(struct checking *checking); // values at the end

// What the kind says that a position of `out` of a rank holds at the end, and how far that goes.
struct wanted {
    int source;    // whose input; -1: the sum of all
    int64_t delta; // input position - output position
    uint64_t end;
};
struct wanted tern__result_wanted(const tern_plan *plan, int rank, uint64_t position);

// Memory: what each byte holds and who touched it.
bool tern__memory_create(struct checking *checking);
void tern__memory_destroy(struct checking *checking);
// Accounts for the next op of a lane (a copy or reduce that fits).
bool tern__memory_execute(struct checking *checking, struct place place, const struct tern__op *op);

// The same op with regard to what is in both `in` and `out` (check/in_place.c).
bool tern__in_place_execute(struct checking *checking, struct place place,
                            const struct tern__op *op);

// What a stretch of memory holds: value `node` at position + delta.
struct content {
    uint32_t node;
    struct place wrong_by; // the op that first put it where it is wrong; TERN__NO_PLACE: none
    int64_t delta;
};
// Visits the stretches of a buffer in order, with the op that wrote each last.
typedef void (*tern__content_visitor)(void *arg, uint64_t begin, uint64_t end,
                                      struct content content, struct place writer);
void tern__memory_visit(const struct checking *checking, int rank, tern_plan_buffer buffer,
                        tern__content_visitor visit, void *arg);

// Symbolic values.
enum { TERN__NODE_UNDEFINED = 0 };
struct node_facts {
    bool undefined;        // of bytes that nobody wrote, unless it is a sum
    bool whole;            // all ranks' contributions are in it
    bool flat;             // one reduce of raw inputs 0..n-1 in order
    int ordered;           // inputs 0..ordered-1 in order, in one reduce after the other; 0: not so
    bool atomic;           // summed in an order left to chance
    bool sum;              // the result of a reduce; otherwise an input or undefined
    int rank;              // of an input: whose
    struct place maker;    // of a sum: the op
    uint32_t mistake;      // the first that went into a sum; 0: none
    int64_t mistake_delta; // how much further on in the inputs the sum was in which it was made
};

// A sum that cannot be right, whatever becomes of it, and the term that is to blame.
struct mistake {
    enum { MISTAKE_UNDEFINED, MISTAKE_TWICE, MISTAKE_SHIFTED } kind;
    struct place maker;
    uint64_t from; // where in the op, bytes
    uint32_t term; // which operand
    uint32_t node; // what it holds
    int rank;      // twice: whose contribution
    int64_t shift; // shifted: how much further on it is than most terms
    uint32_t rest; // the first term of those, and what it holds
    uint32_t rest_node;
};
bool tern__values_create(struct checking *checking);
void tern__values_destroy(struct checking *checking);
// The input of a rank.
uint32_t tern__value_input(const struct checking *checking, int rank);
// A sum of contents at one position of an op; its delta is that of the first. Of one term: a copy.
struct addition {
    const struct content *terms;
    size_t count;
    struct place maker;
    uint64_t from; // the position
    bool atomic;
};
bool tern__value_sum(struct checking *checking, const struct addition *addition,
                     struct content *sum);
const struct mistake *tern__value_mistake(const struct checking *checking, uint32_t mistake);
const struct node_facts *tern__value_facts(const struct checking *checking, uint32_t node);
bool tern__value_has(const struct checking *checking, uint32_t node, int rank);

#endif
