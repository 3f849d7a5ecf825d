// SPDX-License-Identifier: Apache-2.0
// Steps from a sealed plan to a sealed plan: what collective calls make of the plan of an algorithm
// before they run it. The result is a plan like any other: printed, proved, executed. Set-up path.
#ifndef TERN_PLAN_STEPS_H
#define TERN_PLAN_STEPS_H

#include <stdbool.h>

#include "tern/plan.h"

// Whether ranks only read what others have, and of that only `in` and `scratch`.
bool tern__plan_pulls(const tern_plan *plan);

// trim.c: the plan without the posts and waits that only say "I have finished with yours", and with
// `in`, and scratch if it has any, in slots, where nobody needs to hear that. Lanes and signals
// keep their numbers. TERN_ERR_ARG for a plan that does not pull: there, the last wait of a rank
// may say that its output is complete.
int tern__plan_trim(const tern_plan *sealed, tern_plan **made);

// slice.c: the plan for `bytes` in units of `unit`, from the one of a byte for each slice, or
// share, with unit 1 (a column of src/coll/algo.def says of which algorithms that is the plan of
// every size). TERN_ERR_ARG for another plan, and for sizes that the kind does not have.
int tern__plan_slice(const tern_plan *sealed, uint64_t bytes, uint32_t unit, tern_plan **made);

// stage.c: the plan with `in` copied to scratch first, by its rank; then all ranks meet, and the
// ops read the copies. In scratch are, from a cache line each, the copies, the plan's own, and
// `out`. If the plan has buffers in slots, that scratch lies in slots.
struct tern__staging {
    bool own_in; // a rank's ops read its own `in` where it lies, and only what others read is
                 // copied; not right in place
    bool out;    // `out`, too, is in scratch, and copied at the end
};
int tern__plan_stage(const tern_plan *sealed, const struct tern__staging *how, tern_plan **made);

// resync.c: the plan with the same copies and reduces in the same lanes, and only those posts and
// waits that they need, if it was proved: of two that touch the same bytes, but for two reads or
// two atomic adds, the later one hears of the earlier one, and a rank ends when nobody touches its
// memory any more. Ops of no bytes go. in_place: it was proved in place, too, and that stays so.
// Whether it has fewer posts than before is for the caller to see. TERN_ERR_ARG for a barrier, and
// for a plan that gets stuck; TERN_ERR_LIMIT for one of too many lanes and transfers.
int tern__plan_resync(const tern_plan *sealed, bool in_place, tern_plan **made);

// stage.c: what other ranks read of each rank's `in`: by rank and place, none touching the next.
// The array is the caller's, to free().
struct tern__stretch {
    int rank;
    uint64_t begin, end;
};
int tern__plan_exposed(const tern_plan *plan, struct tern__stretch **stretches, size_t *count);

// steps.c: visits all ops of a plan, rank by rank, until a visit fails.
typedef int tern__op_visitor(void *arg, int rank, int lane, const tern_plan_op *op);
int tern__plan_visit(const tern_plan *plan, tern__op_visitor *visit, void *arg);

// The end of a step: seals what it has built and hands it out, or, after a failure, destroys it.
int tern__plan_finish(int status, tern_plan *built, tern_plan **made);

#endif
