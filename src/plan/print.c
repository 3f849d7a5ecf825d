// SPDX-License-Identifier: Apache-2.0
// From a plan to its text (docs/plan-format.md), always the same bytes for the same plan. Numbers
// are written by hand: printf would take most of the time, and its locale is not ours.

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/text.h"

#define PIECE_MAX 64 // bytes of the longest piece that is put at once, and more
#define FILE_ROOM 65536

// Where text goes: into memory that grows, or through a buffer into a file.
struct sink {
    char *text;
    size_t length, room;
    FILE *file; // or NULL
    const char *name;
    int status; // of the first failure; after it nothing is put
};

static void flush(struct sink *sink)
{
    if (fwrite(sink->text, 1, sink->length, sink->file) != sink->length) {
        sink->status =
            tern__fail_errno(TERN_ERR_SYSTEM, "cannot write the plan to %.400s", sink->name);
    }
    sink->length = 0;
}

static bool make_room(struct sink *sink)
{
    if (sink->status == TERN_OK && sink->length + PIECE_MAX > sink->room) {
        if (sink->file != NULL && sink->room > 0) {
            flush(sink);
        } else {
            size_t room = sink->room > 0 ? 2 * sink->room : FILE_ROOM;
            char *grown = realloc(sink->text, room);
            if (grown == NULL) {
                sink->status =
                    tern__fail(TERN_ERR_MEMORY, "no memory for a text of %zu bytes", room);
                return false;
            }
            sink->text = grown;
            sink->room = room;
        }
    }
    return sink->status == TERN_OK;
}

static void put_text(struct sink *sink, const char *text)
{
    size_t length = strlen(text);
    if (make_room(sink)) {
        memcpy(sink->text + sink->length, text, length);
        sink->length += length;
    }
}

static void put_number(struct sink *sink, const char *before, uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_text(sink, before);
    put_text(sink, at);
}

static void put_header(struct sink *sink, const tern_plan *plan)
{
    const tern_plan_spec *spec = &plan->spec;
    put_text(sink, "tern-plan 1\nkind ");
    put_text(sink, tern_plan_kind_name(spec->kind));
    put_number(sink, "\nranks ", (uint64_t)spec->nranks);
    put_number(sink, "\nbytes ", spec->bytes);
    put_number(sink, "\nunit ", spec->unit);
    put_text(sink, "\nalgorithm ");
    put_text(sink, spec->algorithm);
    if (tern__kind_has_root(spec->kind)) {
        put_number(sink, "\nroot ", (uint64_t)spec->root);
    }
    if (plan->scratch_bytes > 0) {
        put_number(sink, "\nscratch ", plan->scratch_bytes);
    }
    if (spec->slots != 0) {
        put_text(sink, "\nslots");
        put_text(sink, tern__plan_in_slots(plan, TERN_PLAN_IN) ? " in" : "");
        put_text(sink, tern__plan_in_slots(plan, TERN_PLAN_SCRATCH) ? " scratch" : "");
    }
    put_text(sink, "\n");
}

static void put_range(struct sink *sink, const tern_plan_range *range)
{
    put_number(sink, " ", range->rank);
    put_text(sink, ".");
    put_text(sink, tern__buffer_name((tern_plan_buffer)range->buffer));
    put_number(sink, "+", range->offset);
}

static void put_transfer(struct sink *sink, const tern_plan *plan, const struct tern__op *op)
{
    const tern_plan_range *operand = tern__op_operands(plan, op);
    put_number(sink, " ", op->length);
    put_text(sink, op->flags == TERN_PLAN_ATOMIC ? " atomic :" : " :");
    for (int i = 0; i < op->sources_count; i++) {
        put_range(sink, operand++);
    }
    put_text(sink, " ->");
    for (int i = 0; i < op->destinations_count; i++) {
        put_range(sink, operand++);
    }
}

static void put_op(struct sink *sink, const tern_plan *plan, const struct tern__op *op)
{
    put_text(sink, tern__op_kind_name((tern_plan_op_kind)op->kind));
    put_number(sink, " @", op->round);
    switch ((tern_plan_op_kind)op->kind) {
    case TERN_PLAN_COPY:
    case TERN_PLAN_REDUCE:
        put_transfer(sink, plan, op);
        break;
    case TERN_PLAN_POST:
        put_number(sink, " rank ", op->peer);
        put_number(sink, " signal ", op->signal);
        break;
    case TERN_PLAN_WAIT:
        put_number(sink, " signal ", op->signal);
        put_number(sink, " count ", op->length);
        break;
    }
    put_text(sink, "\n");
}

static void put_plan(struct sink *sink, const tern_plan *plan)
{
    put_header(sink, plan);
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            put_number(sink, "rank ", (uint64_t)rank);
            put_number(sink, " lane ", (uint64_t)lane);
            put_text(sink, "\n");
            size_t count = plan->ranks[rank].lanes[lane].count;
            for (size_t i = 0; i < count && sink->status == TERN_OK; i++) {
                put_op(sink, plan, tern__plan_op(plan, rank, lane, i));
            }
        }
    }
    put_text(sink, "end\n");
}

static int plan_print(const tern_plan *plan, char **text, size_t *length)
{
    TERN_TRY(tern__plan_lives("tern_plan_print", plan));
    if (text == NULL || length == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_print: text and length must not be NULL");
    }
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_STATE, "tern_plan_print: the plan must be sealed first");
    }
    struct sink sink = {0};
    put_plan(&sink, plan);
    if (!make_room(&sink)) {
        free(sink.text);
        return sink.status;
    }
    sink.text[sink.length] = '\0';
    char *fitted = realloc(sink.text, sink.length + 1);
    *text = fitted != NULL ? fitted : sink.text;
    *length = sink.length;
    return TERN_OK;
}

int tern_plan_print(const tern_plan *plan, char **text, size_t *length)
{
    return TERN__CALL(plan_print(plan, text, length));
}

int tern__plan_write(const tern_plan *plan, FILE *file, const char *name)
{
    struct sink sink = {.file = file, .name = name};
    put_plan(&sink, plan);
    if (sink.status == TERN_OK) {
        flush(&sink);
    }
    if (sink.status == TERN_OK && fflush(file) != 0) {
        sink.status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot write the plan to %.400s", name);
    }
    free(sink.text);
    return sink.status;
}
