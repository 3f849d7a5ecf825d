// SPDX-License-Identifier: Apache-2.0
// The plan of a recording: a stream is a lane, a task an op, the k-th use of a bit a signal.

#include <ctype.h>
#include <stdio.h>

#include "base/error.h"
#include "plan/record/record.h"

// Letters, digits, '_' and '-' of the registered name.
static void make_name(const char *executor, char name[32])
{
    snprintf(name, 32, "%s", executor);
    for (char *c = name; *c != '\0'; c++) {
        *c = isalnum((unsigned char)*c) || *c == '-' ? *c : '_';
    }
}

// The signals of a rank: those of its bits, one after the other.
static int number_signals(struct recording *recording)
{
    for (int r = 0; r < recording->nranks; r++) {
        size_t signal = 0;
        for (size_t i = 0; i < recording->ranks[r].bits_count; i++) {
            struct record_bit *bit = recording->ranks[r].bits[i];
            bit->signal = (uint32_t)signal;
            signal += bit->posts.count;
        }
        if (signal > TERN_PLAN_SIGNALS_MAX) {
            return tern__record_finding(TERN_ERR_LIMIT,
                                        "rank %d is posted to %zu times; a plan has at most %d "
                                        "signals a rank: use larger CCL buffers",
                                        r, signal, TERN_PLAN_SIGNALS_MAX);
        }
    }
    return TERN_OK;
}

static int add_op(tern_plan *plan, const struct record_stream *stream,
                  const struct record_task *task)
{
    tern_plan_range sources[] = {task->from, task->to};
    if (task->kind == RECORD_REDUCE && !task->atomic) { // adds to what is there
        sources[0] = task->to;
        sources[1] = task->from;
    }
    tern_plan_op op = {.round = task->round};
    switch ((enum record_kind)task->kind) {
    case RECORD_COPY:
    case RECORD_REDUCE:
        op.kind = task->kind == RECORD_COPY ? TERN_PLAN_COPY : TERN_PLAN_REDUCE;
        op.flags = task->atomic ? TERN_PLAN_ATOMIC : 0;
        op.length = task->length;
        op.sources = sources;
        op.sources_count = task->kind == RECORD_REDUCE && !task->atomic ? 2 : 1;
        op.destinations = &task->to;
        op.destinations_count = 1;
        break;
    case RECORD_POST:
        op.kind = TERN_PLAN_POST;
        op.peer = task->bit->owner;
        op.signal = task->bit->signal + task->use;
        break;
    case RECORD_WAIT:
        op.kind = TERN_PLAN_WAIT;
        op.signal = task->bit->signal + task->use;
        op.count = 1;
        break;
    }
    return tern_plan_add(plan, stream->rank, stream->number, &op);
}

int tern__record_emit(struct recording *recording, tern_plan **plan)
{
    char name[32];
    uint64_t scratch = 0;
    make_name(recording->request.executor, name);
    TERN_TRY(number_signals(recording));
    tern_plan_spec spec = {.kind = recording->request.kind,
                           .nranks = recording->nranks,
                           .bytes = recording->request.bytes,
                           .unit = recording->request.unit,
                           .root = recording->request.root,
                           .algorithm = name};
    TERN_TRY(tern_plan_create(&spec, plan));
    for (int r = 0; r < recording->nranks; r++) {
        const struct record_rank *rank = &recording->ranks[r];
        scratch = rank->scratch_bytes > scratch ? rank->scratch_bytes : scratch;
        for (size_t s = 0; s < rank->streams_count; s++) {
            const struct record_stream *stream = rank->streams[s];
            for (size_t i = 0; i < stream->count; i++) {
                TERN_TRY(add_op(*plan, stream, &stream->tasks[i]));
            }
        }
    }
    TERN_TRY(tern_plan_need_scratch(*plan, scratch));
    return tern_plan_seal(*plan);
}
