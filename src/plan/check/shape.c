// SPDX-License-Identifier: Apache-2.0
// What can be seen op by op: operands inside their buffers, no overlap inside an op, and links.

#include <stdlib.h>

#include "plan/check/check.h"

static const char *where_text(const struct checking *checking, struct place place, char text[96])
{
    tern__place_text(checking, place, text, 96);
    return text;
}

static void mark(struct checking *checking, tern_check_cause cause, struct place place)
{
    tern__check_mark(checking, TERN_CHECK_BOUNDS, cause, place, TERN__NO_PLACE);
}

static bool overlap(const tern_plan_range *a, const tern_plan_range *b, uint64_t length)
{
    return a->rank == b->rank && a->buffer == b->buffer && a->offset < b->offset + length &&
           b->offset < a->offset + length;
}

// Whether an operand lies inside its buffer and on a unit.
static bool fits(struct checking *checking, struct place place, const struct tern__op *op,
                 const tern_plan_range *range)
{
    const tern_plan *plan = checking->plan;
    uint64_t size = tern_plan_buffer_bytes(plan, (tern_plan_buffer)range->buffer);
    char where[96];
    if (op->length == 0) { // of no bytes: legal everywhere
        return true;
    }
    if (!tern__plan_has_buffer(plan, range->rank, (tern_plan_buffer)range->buffer)) {
        tern__check_add(checking->check, TERN_CHECK_BOUNDS,
                        "%s: rank %u has no %s; in a %s only the root has one, rank %d",
                        where_text(checking, place, where), range->rank,
                        tern__buffer_name((tern_plan_buffer)range->buffer),
                        tern_plan_kind_name(plan->spec.kind), plan->spec.root);
        mark(checking, TERN_CHECK_OUTSIDE, place);
        return false;
    }
    if (range->offset > size || op->length > size - range->offset) {
        tern__check_add(checking->check, TERN_CHECK_BOUNDS,
                        "%s: bytes %llu..%llu of %s of rank %u; it has %llu",
                        where_text(checking, place, where), (unsigned long long)range->offset,
                        (unsigned long long)range->offset + op->length,
                        tern__buffer_name((tern_plan_buffer)range->buffer), range->rank,
                        (unsigned long long)size);
        mark(checking, TERN_CHECK_OUTSIDE, place);
        return false;
    }
    if (range->offset % plan->spec.unit != 0 || op->length % plan->spec.unit != 0) {
        tern__check_add(checking->check, TERN_CHECK_BOUNDS,
                        "%s: %llu bytes at %llu of %s of rank %u are not whole units of %u",
                        where_text(checking, place, where), (unsigned long long)op->length,
                        (unsigned long long)range->offset,
                        tern__buffer_name((tern_plan_buffer)range->buffer), range->rank,
                        plan->spec.unit);
        mark(checking, TERN_CHECK_NOT_UNITS, place);
        return false;
    }
    return true;
}

// Destinations overlap nothing; a source may be the same range as a destination, unless the reduce
// is atomic: it goes destination by destination, and would read what it has just added to.
static bool destinations_apart(struct checking *checking, struct place place,
                               const struct tern__op *op)
{
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    int count = op->sources_count + op->destinations_count;
    if (op->length == 0) {
        return true;
    }
    for (int d = op->sources_count; d < count; d++) {
        for (int other = 0; other < d; other++) {
            bool source = other < op->sources_count;
            bool same =
                operands[other].offset == operands[d].offset && (op->flags & TERN_PLAN_ATOMIC) == 0;
            if (overlap(&operands[other], &operands[d], op->length) && !(source && same)) {
                char where[96];
                tern__check_add(checking->check, TERN_CHECK_BOUNDS,
                                "%s: %s %d and destination %d overlap",
                                where_text(checking, place, where),
                                source ? "source" : "destination",
                                source ? other : other - op->sources_count, d - op->sources_count);
                mark(checking, TERN_CHECK_OVERLAP, place);
                return false;
            }
        }
    }
    return true;
}

static void check_link(struct checking *checking, struct place place, int from, int to,
                       const char *use)
{
    if (checking->topo == NULL || from == to || tern_topo_link(checking->topo, from, to, NULL)) {
        return;
    }
    char where[96];
    tern__check_add(checking->check, TERN_CHECK_LINK,
                    "%s: %s needs the link %d>%d, which does not "
                    "exist",
                    where_text(checking, place, where), use, from, to);
    tern__check_mark(checking, TERN_CHECK_LINK, TERN_CHECK_NO_LINK, place, TERN__NO_PLACE);
}

static void check_links(struct checking *checking, struct place place, const struct tern__op *op)
{
    int self = checking->lanes.rank[place.lane];
    if (op->kind == TERN_PLAN_POST) {
        check_link(checking, place, self, op->peer, "the post");
    }
    if (op->length == 0 || op->kind == TERN_PLAN_WAIT) {
        return;
    }
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        bool source = i < op->sources_count;
        // An atomic reduce reads what it adds to at the memory itself.
        check_link(checking, place, source ? operands[i].rank : self,
                   source ? self : operands[i].rank, source ? "reading" : "writing");
    }
}

static bool op_fits(struct checking *checking, struct place place, const struct tern__op *op)
{
    bool fit = true;
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        fit = fits(checking, place, op, &operands[i]) && fit;
    }
    return fit && destinations_apart(checking, place, op);
}

bool tern__check_shapes(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    size_t ops = 0;
    checking->unfit_first = calloc((size_t)checking->lanes.count + 1, sizeof(size_t));
    checking->unfit = calloc(plan->ops_count + 1, sizeof(bool));
    if (checking->unfit_first == NULL || checking->unfit == NULL) {
        return false;
    }
    for (uint32_t lane = 0; lane < checking->lanes.count; lane++) {
        int rank = checking->lanes.rank[lane];
        const struct tern__lane *row = &plan->ranks[rank].lanes[lane - checking->lanes.first[rank]];
        checking->unfit_first[lane] = ops;
        for (uint32_t index = 0; index < row->count; index++) {
            struct place place = {.lane = lane, .index = index};
            const struct tern__op *op = &row->ops[index];
            checking->unfit[ops++] = !op_fits(checking, place, op);
            check_links(checking, place, op);
        }
    }
    return !checking->check->out_of_memory;
}
