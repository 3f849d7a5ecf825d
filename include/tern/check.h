// SPDX-License-Identifier: Apache-2.0
// The checker: proves that a sealed plan does what its kind says, under every interleaving of its
// lanes, or lists everything that is wrong with it, each with a witness. If asked, also in place:
// whether it does the same when, on any of the ranks, `out` is the memory of `in` as tern/coll.h
// says for the kind. What a plan says of slots (tern/plan.h) is taken for granted, and said in the
// report.
//
// On a topology with machines no op may read the memory of another machine, and what is written to
// it, by copies only, goes over a network. Of that one thing is assumed: what one rank writes to
// another and the posts that it makes to the same one arrive in the order in which it does them. So
// a write is there for who knows of a later post by the same rank to the same rank; a post to
// anybody else says nothing of it. Inputs that lie in slots are there on every machine.
#ifndef TERN_CHECK_H
#define TERN_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "tern/plan.h"
#include "tern/topo.h"

TERN_BEGIN_DECLS

#define TERN_CHECK_BYTES_MAX (UINT64_C(4) << 30) // memory that a check may take

typedef struct tern_check tern_check;

typedef enum tern_check_rule {
    TERN_CHECK_BOUNDS,   // operands inside their buffers, aligned; in-op overlap
    TERN_CHECK_LINK,     // transfers and posts only over existing links, in their direction
    TERN_CHECK_DEADLOCK, // every wait can end, whatever the interleaving
    TERN_CHECK_RACE,     // no two conflicting accesses without happens-before
    TERN_CHECK_REACH,    // between machines only what a network can do; where there are machines
    TERN_CHECK_RESULT,   // at the end every output byte holds exactly what the kind says
    TERN_CHECK_IN_PLACE, // what is read as `in` is read before it is overwritten as `out`
    TERN_CHECK_RULES,
} tern_check_rule;

// What sort of mistake a finding is.
typedef enum tern_check_cause {
    TERN_CHECK_OUTSIDE,      // bounds: an operand outside its buffer, or in one that is not there
    TERN_CHECK_NOT_UNITS,    // bounds: bytes that are not whole elements
    TERN_CHECK_OVERLAP,      // bounds: operands of an op overlap
    TERN_CHECK_NO_LINK,      // link
    TERN_CHECK_STARVED,      // deadlock: a wait for more posts than there are
    TERN_CHECK_CYCLE,        // deadlock: lanes that wait for each other
    TERN_CHECK_CONFLICT,     // race
    TERN_CHECK_UNAWAITED,    // race: after a post that nobody waits for
    TERN_CHECK_REMOTE,       // reach: an op that needs the memory of another machine at once
    TERN_CHECK_UNDELIVERED,  // reach: a write to another machine that may come later than its use
    TERN_CHECK_UNWRITTEN,    // result: bytes that nobody has written
    TERN_CHECK_WRONG_SUM,    // result: a sum that was wrong when it was made
    TERN_CHECK_MISSING,      // result: a sum without all contributions
    TERN_CHECK_MISPLACED,    // result: the right thing of another place
    TERN_CHECK_WRONG_SOURCE, // result: the input of another rank
    TERN_CHECK_NOT_COPIED,   // result: a sum where an input is wanted
    TERN_CHECK_NOT_MET,      // result of a barrier: a rank may end before all have begun
    TERN_CHECK_OVERWRITTEN,  // in place
    TERN_CHECK_CAUSES,
} tern_check_cause;

// A finding for programs: its sort, and the ops it is about, up to two.
typedef struct tern_check_detail {
    tern_check_cause cause;
    int ops_count;
    struct {
        int rank, lane;
        size_t index;
    } ops[2];
} tern_check_detail;

// In which order the sums of a proved reducing plan are taken.
typedef enum tern_check_order {
    TERN_CHECK_ORDER_NONE, // the kind has no sums
    // One reduce of the ranks' inputs 0..n-1: the bits of the naive reference.
    TERN_CHECK_ORDER_RANK,
    TERN_CHECK_ORDER_FIXED, // some other order, the same in every run
    TERN_CHECK_ORDER_ANY,   // left to chance (atomic reduces)
    // Inputs 0..n-1 one after the other, but in several reduces, each of which rounds: the bits of
    // the naive reference for types that sums keep, not for f16 and bf16.
    TERN_CHECK_ORDER_CHAIN,
} tern_check_order;

// Checks. topo NULL: every link exists. TERN_OK when the check itself could be made, whatever it
// found; TERN_ERR_ARG for an unsealed plan or a topology that has not as many ranks as the plan,
// TERN_ERR_LIMIT for a plan whose check takes more memory than TERN_CHECK_BYTES_MAX,
// TERN_ERR_MEMORY.
TERN_CALL int tern_check_plan(const tern_plan *plan, const tern_topo *topo, tern_check **check);

// The same, and the rule TERN_CHECK_IN_PLACE, which tern_check_plan leaves out. A plan that breaks
// only this rule is right, but not in place.
TERN_CALL int tern_check_plan_in_place(const tern_plan *plan, const tern_topo *topo,
                                       tern_check **check);
TERN_API int tern_check_destroy(tern_check *check);

// In the place of a plan one of less work for processors: its sums are fused (tern_plan_fuse), and
// the posts and waits are only those that its copies and reduces need: of two that touch the same
// bytes the later one waits for the earlier one, and a rank ends when nobody touches its memory any
// more. Copies and reduces stay in their lanes. Each of the two steps is left out where what comes
// of it is not proved, or no better; what is right in place stays so. The old plan is destroyed
// when there is a new one. TERN_ERR_ARG for a plan that is refuted; also the errors of
// tern_check_plan.
TERN_CALL int tern_check_quicken(tern_plan **plan, const tern_topo *topo);

// True when all rules that were asked for are proved.
TERN_API bool tern_check_proved(const tern_check *check);
TERN_API tern_check_order tern_check_sum_order(const tern_check *check);

// The findings of a rule: how many there are (at most 1000 a rule keep their text), and the
// sentence of one, with the ops by rank, lane and index; NULL when there is none. What follows from
// a finding is no finding of its own: its sentence ends in "(and 15 more that follow from it)".
TERN_API size_t tern_check_count(const tern_check *check, tern_check_rule rule);
// False when the findings of another rule have left a rule without a verdict.
TERN_API bool tern_check_decided(const tern_check *check, tern_check_rule rule);
TERN_API const char *tern_check_finding(const tern_check *check, tern_check_rule rule,
                                        size_t index);

// What tern_check_finding says, for programs; false when there is no such finding.
TERN_API bool tern_check_get_detail(const tern_check *check, tern_check_rule rule, size_t index,
                                    tern_check_detail *detail);

// One summary line per rule, always; then the findings; then what is outside the checker's reach.
TERN_CALL int tern_check_print(const tern_check *check, FILE *file);

TERN_END_DECLS

#endif
