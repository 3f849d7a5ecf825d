// SPDX-License-Identifier: Apache-2.0
// From the plan of one byte a slice, or a share, to the plan of a real size: an offset counts
// slices (shares) there, and bytes here. Set-up path.

#include <stdlib.h>

#include "base/error.h"
#include "plan/ir.h"
#include "plan/slices.h"
#include "plan/steps.h"

struct slicing {
    const tern_plan *plan;
    tern_plan *built;
    bool shares; // of equal length; else slices
    uint64_t share;
    struct tern__slices slices;
    tern_plan_range *ranges; // of an op, here
};

// Where so many slices, or shares, end.
static uint64_t place(const struct slicing *s, uint64_t count)
{
    return s->shares ? count * s->share : tern__slice_begin(&s->slices, count);
}

static int fail_lengths(int rank, int lane, const tern_plan *plan)
{
    return tern__fail(TERN_ERR_ARG,
                      "the plan '%s' for %s cannot be scaled: in an op of rank %d, lane %d, the "
                      "operands are different slices",
                      plan->algorithm, tern_plan_kind_name(plan->spec.kind), rank, lane);
}

static int slice_op(void *arg, int rank, int lane, const tern_plan_op *op)
{
    const struct slicing *s = arg;
    tern_plan_op here = *op;
    if (op->kind == TERN_PLAN_POST || op->kind == TERN_PLAN_WAIT) {
        return tern_plan_add(s->built, rank, lane, op);
    }
    int count = op->sources_count + op->destinations_count;
    for (int i = 0; i < count; i++) {
        const tern_plan_range *range =
            i < op->sources_count ? &op->sources[i] : &op->destinations[i - op->sources_count];
        uint64_t begin = place(s, range->offset);
        uint64_t length = place(s, range->offset + op->length) - begin;
        if (i > 0 && length != here.length) {
            return fail_lengths(rank, lane, s->plan);
        }
        here.length = length;
        s->ranges[i] = *range;
        s->ranges[i].offset = begin;
    }
    here.sources = s->ranges;
    here.destinations = s->ranges + op->sources_count;
    return here.length > 0 ? tern_plan_add(s->built, rank, lane, &here) : TERN_OK;
}

static int build(struct slicing *s, const tern_plan_spec *spec, tern_plan **made)
{
    TERN_TRY(tern_plan_create(spec, &s->built));
    int status = tern_plan_need_scratch(s->built, place(s, s->plan->scratch_bytes));
    status = status == TERN_OK ? tern__plan_visit(s->plan, slice_op, s) : status;
    return tern__plan_finish(status, s->built, made);
}

int tern__plan_slice(const tern_plan *sealed, uint64_t bytes, uint32_t unit, tern_plan **made)
{
    tern_plan_spec spec = sealed->spec;
    uint64_t n = (uint64_t)spec.nranks;
    if (spec.unit != 1 || (spec.bytes != n && spec.kind != TERN_PLAN_BARRIER)) {
        return tern__fail(TERN_ERR_ARG,
                          "the plan '%s' for %s over %d ranks has not one byte for each of them",
                          sealed->algorithm, tern_plan_kind_name(spec.kind), spec.nranks);
    }
    spec.bytes = bytes;
    spec.unit = unit;
    struct slicing s = {.plan = sealed,
                        .shares = tern__kind_has_shares(spec.kind),
                        .share = bytes / n,
                        .slices = tern__slices_of(bytes, n, unit),
                        .ranges = calloc(TERN_PLAN_OPERANDS_MAX, sizeof *s.ranges)};
    if (s.ranges == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to scale a plan");
    }
    int status = build(&s, &spec, made);
    free(s.ranges);
    return status;
}
