// SPDX-License-Identifier: Apache-2.0
// Leaves out of a plan the posts and waits that only say "I have finished with yours". A signal of
// a rank is needed if, after a wait for it, the lane moves bytes or makes a post that is needed.
// Set-up path.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/ir.h"
#include "plan/steps.h"

struct trim {
    const tern_plan *plan;
    tern_plan *built;
    uint32_t signals; // of the rank that has most
    bool *needed;     // by rank and signal
};

static bool *needed(const struct trim *trim, int rank, uint32_t signal)
{
    return &trim->needed[(size_t)rank * trim->signals + signal];
}

// Goes back through a lane. True when that made a signal needed.
static bool mark_lane(const struct trim *trim, int rank, const struct tern__lane *lane)
{
    bool marked = false;
    bool later = false; // bytes move, or a post that somebody needs
    for (size_t i = lane->count; i-- > 0;) {
        const struct tern__op *op = &lane->ops[i];
        if (op->kind == TERN_PLAN_POST) {
            later = later || *needed(trim, op->peer, op->signal);
        } else if (op->kind == TERN_PLAN_WAIT) {
            marked = marked || (later && !*needed(trim, rank, op->signal));
            *needed(trim, rank, op->signal) |= later;
        } else {
            later = later || op->length > 0;
        }
    }
    return marked;
}

// A post that is needed makes the waits before it needed, in whichever lane, so until nothing
// changes.
static void mark(const struct trim *trim)
{
    for (bool marked = true; marked;) {
        marked = false;
        for (int rank = 0; rank < trim->plan->spec.nranks; rank++) {
            const struct tern__plan_rank *row = &trim->plan->ranks[rank];
            for (int lane = 0; lane < row->lanes_count; lane++) {
                marked = mark_lane(trim, rank, &row->lanes[lane]) || marked;
            }
        }
    }
}

static int keep_op(void *arg, int rank, int lane, const tern_plan_op *op)
{
    const struct trim *trim = arg;
    bool posts = op->kind == TERN_PLAN_POST;
    bool kept = posts || op->kind == TERN_PLAN_WAIT
                    ? *needed(trim, posts ? op->peer : rank, op->signal)
                    : true;
    return kept ? tern_plan_add(trim->built, rank, lane, op) : TERN_OK;
}

static int build(struct trim *trim, tern_plan **made)
{
    tern_plan_spec spec = trim->plan->spec;
    spec.slots = TERN_PLAN_IN_SLOTS;
    spec.slots |= trim->plan->scratch_bytes > 0 ? TERN_PLAN_SCRATCH_SLOTS : 0;
    TERN_TRY(tern_plan_create(&spec, &trim->built));
    int status = tern_plan_need_scratch(trim->built, trim->plan->scratch_bytes);
    status = status == TERN_OK ? tern__plan_visit(trim->plan, keep_op, trim) : status;
    return tern__plan_finish(status, trim->built, made);
}

int tern__plan_trim(const tern_plan *sealed, tern_plan **made)
{
    if (!tern__plan_pulls(sealed)) {
        return tern__fail(TERN_ERR_ARG,
                          "the plan '%s' for %s cannot run on slots: there, ranks only read what "
                          "others have, and store into their own out",
                          sealed->algorithm, tern_plan_kind_name(sealed->spec.kind));
    }
    struct trim trim = {.plan = sealed, .signals = tern__plan_signals(sealed)};
    trim.needed = calloc((size_t)sealed->spec.nranks * trim.signals + 1, sizeof *trim.needed);
    if (trim.needed == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %u signals", trim.signals);
    }
    mark(&trim);
    int status = build(&trim, made);
    free(trim.needed);
    return status;
}
