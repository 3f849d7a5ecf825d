// SPDX-License-Identifier: Apache-2.0
// Tasks, as the executor appends them: what can be seen of one alone is checked at once, and a task
// that is wrong is not kept.

#include <stdio.h>
#include <string.h>

#include "plan/record/record.h"

// Where the executor is, for who looks at it from outside.
static void show_place(struct recording *recording, struct record_place place)
{
    struct record_shared *shared = recording->shared;
    if (place.file != recording->last_file) {
        recording->last_file = place.file;
        shared->line = 0;
        snprintf(shared->file, sizeof shared->file, "%s", place.file);
    }
    shared->line = place.line;
}

// The stream of a task; NULL: after a finding.
static struct record_stream *begin_task(void *stream, struct record_place place)
{
    struct recording *recording = tern__recording;
    if (recording == NULL) {
        return NULL;
    }
    show_place(recording, place);
    if (recording->tasks == TERN_RECORD_TASKS_MAX) {
        tern_status_ignore(tern_record_fail(place.file, place.line, "there are more than %u tasks",
                                            TERN_RECORD_TASKS_MAX));
        return NULL;
    }
    return tern__record_check_stream(stream, place);
}

static int add_task(struct record_stream *stream, const struct record_task *task)
{
    if (!tern__record_grow((void **)&stream->tasks, &stream->room, stream->count, sizeof *task)) {
        return tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the tasks");
    }
    stream->tasks[stream->count++] = *task;
    tern__recording->tasks++;
    return TERN_OK;
}

struct operand {
    const char *task; // "copy"
    const char *role; // "reads", "writes"
    const void *address;
    uint64_t bytes;
    struct record_stream *stream;
    struct record_place place;
};

static int refuse_operand(const struct operand *operand, const char *text)
{
    return tern_record_fail(operand->place.file, operand->place.line, "stream %d: the %s %s %s",
                            operand->stream->number, operand->task, operand->role, text);
}

// Only bytes that the buffer has.
static int check_end(const struct operand *operand, const struct record_memory *memory)
{
    uint64_t begin = (uintptr_t)operand->address - memory->base;
    if (begin <= memory->bytes && operand->bytes <= memory->bytes - begin) {
        return TERN_OK;
    }
    char text[192];
    snprintf(text, sizeof text,
             "bytes %llu..%llu of %s of rank %d, which has %llu: %llu bytes past its end",
             (unsigned long long)begin, (unsigned long long)(begin + operand->bytes), memory->name,
             memory->rank, (unsigned long long)memory->bytes,
             (unsigned long long)(begin + operand->bytes - memory->bytes));
    return refuse_operand(operand, text);
}

// From an address to an operand of an op. An operand of no bytes may be anywhere.
static int resolve(const struct operand *operand, tern_plan_range *range)
{
    const struct record_memory *memory = tern__record_memory_at(tern__recording, operand->address);
    char text[160];
    if (memory == NULL && operand->bytes == 0) {
        *range =
            (tern_plan_range){.rank = (uint16_t)operand->stream->rank, .buffer = TERN_PLAN_SCRATCH};
        return TERN_OK;
    }
    if (memory == NULL) {
        snprintf(text, sizeof text, "%llu bytes at %s%p, which is in no buffer",
                 (unsigned long long)operand->bytes, operand->address == NULL ? "null, " : "",
                 operand->address);
        return refuse_operand(operand, text);
    }
    if (!memory->ccl && memory->rank != operand->stream->rank) {
        snprintf(text, sizeof text, "%s of rank %d; other ranks see only its CCL_In and CCL_Out",
                 memory->name, memory->rank);
        return refuse_operand(operand, text);
    }
    int status = check_end(operand, memory);
    *range =
        (tern_plan_range){.offset = memory->offset + ((uintptr_t)operand->address - memory->base),
                          .rank = (uint16_t)memory->rank,
                          .buffer = memory->buffer};
    return status;
}

static int check_link(const struct operand *operand, int from, int to)
{
    const struct recording *recording = tern__recording;
    if (from == to || recording->linked[from * recording->nranks + to]) {
        return TERN_OK;
    }
    return tern_record_fail(operand->place.file, operand->place.line,
                            "stream %d: the %s needs the link %d>%d, which is missing",
                            operand->stream->number, operand->task, from, to);
}

static int add_transfer(struct record_task *task, struct operand operand, const void *to,
                        const void *from)
{
    int self = operand.stream->rank;
    operand.role = "reads";
    operand.address = from;
    int status = resolve(&operand, &task->from);
    if (status == TERN_OK) {
        operand.role = "writes";
        operand.address = to;
        status = resolve(&operand, &task->to);
    }
    status = status == TERN_OK ? check_link(&operand, task->from.rank, self) : status;
    status = status == TERN_OK ? check_link(&operand, self, task->to.rank) : status;
    return status == TERN_OK ? add_task(operand.stream, task) : status;
}

int tern_record_copy(void *stream, void *to, uint64_t room, const void *from, uint64_t bytes,
                     const char *file, int line)
{
    struct record_place place = {file, line};
    struct operand operand = {.task = "copy",
                              .bytes = bytes,
                              .stream = begin_task(stream, place),
                              .place = place};
    if (operand.stream == NULL) {
        return TERN_ERR_ARG;
    }
    if (bytes > room) {
        return tern_record_fail(
            file, line, "stream %d: the copy of %llu bytes goes into %llu: %llu bytes past the end",
            operand.stream->number, (unsigned long long)bytes, (unsigned long long)room,
            (unsigned long long)(bytes - room));
    }
    struct record_task task = {.kind = RECORD_COPY, .length = bytes, .place = place};
    return add_transfer(&task, operand, to, from);
}

int tern_record_reduce(void *stream, const tern_record_reduce_task *asked, const char *file,
                       int line)
{
    struct record_place place = {file, line};
    struct operand operand = {.task = "reduce",
                              .stream = begin_task(stream, place),
                              .place = place};
    struct recording *recording = tern__recording;
    if (operand.stream == NULL) {
        return TERN_ERR_ARG;
    }
    if (asked->dtype != recording->dtype || asked->op != recording->op) {
        return tern_record_fail(file, line,
                                "stream %d: the reduce is a %s of %s, the call's %s of %s",
                                operand.stream->number, tern_reduce_op_name(asked->op),
                                tern_dtype_name(asked->dtype), tern_reduce_op_name(recording->op),
                                tern_dtype_name(recording->dtype));
    }
    if (asked->count > TERN_PLAN_BYTES_MAX / recording->request.unit) {
        return tern_record_fail(file, line, "stream %d: a reduce of %llu elements",
                                operand.stream->number, (unsigned long long)asked->count);
    }
    operand.bytes = asked->count * recording->request.unit;
    struct record_task task = {.kind = RECORD_REDUCE,
                               .atomic = asked->atomic,
                               .length = operand.bytes,
                               .place = place};
    return add_transfer(&task, operand, asked->to, asked->from);
}

// One more use of a bit.
static int add_use(struct record_stream *stream, struct record_bit *bit, enum record_kind kind,
                   struct record_place place)
{
    if (bit == NULL) {
        return TERN_ERR_ARG;
    }
    struct record_uses *uses = kind == RECORD_POST ? &bit->posts : &bit->waits;
    if (!tern__record_grow((void **)&uses->items, &uses->room, uses->count, sizeof *uses->items)) {
        return tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the notifies");
    }
    struct record_task task = {.kind = (uint8_t)kind,
                               .use = (uint32_t)uses->count,
                               .bit = bit,
                               .place = place};
    // The lane is known when all streams are there.
    uses->items[uses->count++] =
        (struct record_use){.lane = (uint32_t)stream->number, .index = (uint32_t)stream->count};
    return add_task(stream, &task);
}

static int use_notify(void *stream, const void *notify, enum record_kind kind,
                      struct record_place place)
{
    struct record_stream *known = begin_task(stream, place);
    struct record_bit *bit = known != NULL ? tern__record_check_notify(notify, place) : NULL;
    return known != NULL ? add_use(known, bit, kind, place) : TERN_ERR_ARG;
}

int tern_record_post(void *stream, void *notify, const char *file, int line)
{
    return use_notify(stream, notify, RECORD_POST, (struct record_place){file, line});
}

int tern_record_wait(void *stream, void *notify, const char *file, int line)
{
    return use_notify(stream, notify, RECORD_WAIT, (struct record_place){file, line});
}

static int use_link(void *stream, const void *link, int bit, enum record_kind kind,
                    struct record_place place)
{
    struct record_stream *known = begin_task(stream, place);
    char what[64];
    snprintf(what, sizeof what, "stream %d: %s", known != NULL ? known->number : -1,
             kind == RECORD_POST ? "a post" : "a wait");
    const struct record_link *end =
        known != NULL ? tern__record_check_link(link, what, place) : NULL;
    if (end == NULL) {
        return TERN_ERR_ARG;
    }
    if (bit < 0 || bit >= TERN_RECORD_LINK_BITS) {
        return tern_record_fail(place.file, place.line, "stream %d: a link has no notify %d",
                                known->number, bit);
    }
    bool post = kind == RECORD_POST;
    struct operand operand = {.task = post ? "post" : "wait", .stream = known, .place = place};
    int status = check_link(&operand, post ? end->rank : end->peer, post ? end->peer : end->rank);
    struct record_bit *used = post ? tern__record_link_bit(end->peer, end->rank, bit)
                                   : tern__record_link_bit(end->rank, end->peer, bit);
    return status == TERN_OK ? add_use(known, used, kind, place) : status;
}

int tern_record_link_post(void *stream, void *link, int bit, const char *file, int line)
{
    return use_link(stream, link, bit, RECORD_POST, (struct record_place){file, line});
}

int tern_record_link_wait(void *stream, void *link, int bit, const char *file, int line)
{
    return use_link(stream, link, bit, RECORD_WAIT, (struct record_place){file, line});
}
