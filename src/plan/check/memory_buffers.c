// SPDX-License-Identifier: Apache-2.0
// The buffers of all ranks: made, looked at and freed.

#include <stdlib.h>

#include "plan/check/memory.h"
#include "plan/shared.h"

static uint64_t size_of(const struct checking *checking, int rank, int buffer)
{
    const tern_plan *plan = checking->plan;
    if (buffer == SHARED) {
        return checking->check->in_place ? tern__shared_bytes(plan, rank) : 0;
    }
    return tern__plan_has_buffer(plan, rank, (tern_plan_buffer)buffer)
               ? tern_plan_buffer_bytes(plan, (tern_plan_buffer)buffer)
               : 0;
}

bool tern__memory_create(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    struct memory *memory = calloc(1, sizeof *memory);
    checking->memory = memory;
    if (memory == NULL) {
        return false;
    }
    memory->reported[0] = memory->reported[1] = TERN__NO_PLACE;
    memory->buffers = calloc((size_t)plan->spec.nranks * BUFFERS, sizeof *memory->buffers);
    memory->terms = calloc(TERN_PLAN_OPERANDS_MAX + 1, sizeof *memory->terms);
    memory->ends = calloc(TERN_PLAN_OPERANDS_MAX + 1, sizeof *memory->ends);
    if (memory->buffers == NULL || memory->terms == NULL || memory->ends == NULL) {
        return false;
    }
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int b = 0; b < BUFFERS; b++) {
            struct content content = {.node = b == TERN_PLAN_IN ? tern__value_input(checking, rank)
                                                                : TERN__NODE_UNDEFINED,
                                      .wrong_by = TERN__NO_PLACE};
            if (!tern__stretches_create(tern__memory_buffer(checking, rank, b), &checking->budget,
                                        size_of(checking, rank, b), content)) {
                return false;
            }
        }
    }
    return true;
}

void tern__memory_destroy(struct checking *checking)
{
    struct memory *memory = checking->memory;
    if (memory == NULL) {
        return;
    }
    for (int i = 0; memory->buffers != NULL && i < checking->plan->spec.nranks * BUFFERS; i++) {
        tern__stretches_destroy(&memory->buffers[i]);
    }
    free(memory->buffers);
    free(memory->terms);
    free(memory->ends);
    free(memory);
}

bool tern__memory_isolate(struct checking *checking, struct stretches *buffer, uint64_t begin,
                          uint64_t end)
{
    return tern__stretches_split(buffer, &checking->budget, begin) &&
           tern__stretches_split(buffer, &checking->budget, end);
}

void tern__memory_visit(const struct checking *checking, int rank, tern_plan_buffer buffer,
                        tern__content_visitor visit, void *arg)
{
    const struct stretches *row = tern__memory_buffer(checking, rank, (int)buffer);
    struct cursor at = {0};
    bool more = row->size > 0;
    while (more) {
        const struct stretch *stretch = tern__stretch_at(row, at);
        visit(arg, stretch->begin, tern__stretch_end(row, at), stretch->content, stretch->write);
        more = tern__stretches_next(row, &at);
    }
}
