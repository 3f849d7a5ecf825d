// SPDX-License-Identifier: Apache-2.0
// send and recv. Data path: no lock, no log, no allocation but at a communicator's first message, and no
// system call but to sleep when nothing can go on.

#include "coll/call/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/registry.h"
#include "sync/doing.h"

#define LENT UINT32_MAX                // in place of a piece's bytes: it is a placement
#define LENT_FROM ((uint64_t)16 << 10) // bytes that are worth waiting for the receiver

// One direction between this rank and another.
struct pipe {
    struct tern__message *oldest, *newest;
    uint32_t pieces;   // that have been put into the mailbox, or taken out of it
    uint64_t messages; // that have begun
};

struct tern__mailman {
    struct tern__task task;
    struct tern__calls *calls;
    int waiting;                         // messages that have not ended
    const struct tern__message *awaited; // that the thread waits for, for sentences
    struct pipe out[TERN_RANKS_MAX], in[TERN_RANKS_MAX];
};

static int man_of(struct tern__calls *calls, struct tern__mailman **man);

int tern__message_check(const char *name, tern_comm *comm, const tern_coll *from,
                        struct tern__message *message)
{
    memset(message, 0, sizeof *message);
    TERN_TRY(tern__comm_lives(name, comm));
    struct tern__calls *calls;
    TERN_TRY(tern__calls_of(comm, &calls));
    TERN_TRY(tern__call_check_comm(name, comm));
    TERN_TRY(man_of(calls, &message->man));
    message->name = name;
    message->sends = from->kind == TERN_COLL_SEND;
    message->peer = from->root;
    message->buffer = message->sends ? (char *)(uintptr_t)from->in : from->out;
    size_t element = tern_dtype_size(from->dtype);
    if (element == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no dtype", name, (int)from->dtype);
    }
    if (from->root < 0 || from->root >= calls->nranks) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: the other rank is %d; the communicator has ranks 0..%d", name,
                          from->root, calls->nranks - 1);
    }
    if (__builtin_mul_overflow(from->count, element, &message->bytes) ||
        message->bytes > SIZE_MAX / 2) {
        return tern__fail(TERN_ERR_ARG, "%s: the elements are more bytes than a size_t can count",
                          name);
    }
    if (message->bytes > 0 && message->buffer == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", name,
                          message->sends ? "in" : "out");
    }
    message->signature =
        tern__signature_pack(TERN_COLL_SEND, from->dtype, 0, 0, 0, -1, message->bytes);
    return TERN_OK;
}

static struct pipe *pipe_of(struct tern__message *message)
{
    struct tern__mailman *man = message->man;
    return message->sends ? &man->out[message->peer] : &man->in[message->peer];
}

// Where messages of this pair, in this direction, are.
static void ends_of(const struct tern__message *message, int *to, int *from)
{
    int self = message->man->calls->rank;
    *to = message->sends ? message->peer : self;
    *from = message->sends ? self : message->peer;
}

static struct tern__mail *mail_of(const struct tern__message *message, uint32_t number)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail(message->man->calls->area, to, from, number);
}

static char *payload_of(const struct tern__message *message, uint32_t number)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail_payload(message->man->calls->area, to, from, number);
}

static struct tern__mail_ack *ack_of(const struct tern__message *message)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail_ack(message->man->calls->area, to, from);
}

static void ring(const struct tern__message *message)
{
    tern__bell_ring(tern__window_bell(message->man->calls->area, message->peer));
}

// Whether the message can go on: there is room, a piece, or the acknowledgement.
static bool is_ready(const struct tern__message *message, const struct pipe *pipe)
{
    uint32_t next = pipe->pieces + 1;
    if (message->sends) {
        uint32_t taken = tern__flag_load(&ack_of(message)->taken); // partner: take_piece
        return message->lent ? tern__reached(taken, message->last)
                             : next - taken <= TERN__MAIL_SLOTS;
    }
    return tern__flag_load(&mail_of(message, next)->number) == next; // partner: put_piece
}

// Whether the receiver can take it from where it lies.
static bool lend(const struct tern__message *message, struct tern__mail *mail)
{
    struct tern__placement placement = {0};
    placement.in_window = message->bytes < LENT_FROM
                              ? 0
                              : tern__call_place(message->man->calls, message->buffer,
                                                 message->bytes, &placement.in_offset);
    if (placement.in_window == 0) {
        return false;
    }
    memcpy(mail->data, &placement, sizeof placement);
    return true;
}

static void put_piece(struct tern__message *message, struct pipe *pipe)
{
    int64_t begin_ns = tern__trace_start();
    uint32_t number = ++pipe->pieces;
    struct tern__mail *mail = mail_of(message, number);
    uint64_t rest = message->bytes - message->moved;
    mail->signature = message->signature;
    if (message->moved == 0 && lend(message, mail)) {
        mail->bytes = LENT;
        message->lent = true;
        message->last = number;
    } else {
        uint64_t part = rest < TERN__MAIL_BYTES ? rest : TERN__MAIL_BYTES;
        bool line = part <= TERN__LINE_BYTES;
        mail->bytes = (uint32_t)part;
        if (part > 0) {
            memcpy(line ? (char *)mail->data : payload_of(message, number),
                   message->buffer + message->moved, part);
        }
        message->moved += part;
    }
    message->begun = true;
    tern__flag_store(&mail->number, number); // partner: is_ready
    ring(message);
    if (begin_ns != 0) {
        tern__trace_piece(message, number, message->lent ? message->bytes : mail->bytes, begin_ns);
    }
}

static int take_lent(struct tern__message *message, const struct tern__mail *mail)
{
    struct tern__placement placement;
    memcpy(&placement, mail->data, sizeof placement);
    struct tern__group *group = &message->man->calls->comm->group;
    const char *base = tern__registry_base(group->job, (int)(placement.in_window >> 32),
                                           (uint32_t)placement.in_window - 1);
    if (base == NULL) {
        return tern__group_fail(group, TERN_ERR_ARG, group->rank,
                                "recv: the buffer of %s is in a window that %s has destroyed",
                                tern__rank_name(group, message->peer).text,
                                tern__rank_name(group, group->rank).text);
    }
    memcpy(message->buffer, base + placement.in_offset, message->bytes);
    message->moved = message->bytes;
    return TERN_OK;
}

static int differ(const struct tern__message *message, uint64_t sent)
{
    struct tern__group *group = &message->man->calls->comm->group;
    struct tern__signature theirs = tern__signature_unpack(sent);
    struct tern__signature own = tern__signature_unpack(message->signature);
    return tern__group_fail(group, TERN_ERR_MISMATCH, message->peer,
                            "the ranks disagree on message %llu from %s to %s: rank %d "
                            "sends %llu bytes of %s, rank %d receives %llu bytes of %s",
                            (unsigned long long)message->number,
                            tern__rank_name(group, message->peer).text,
                            tern__rank_name(group, group->rank).text, message->peer,
                            (unsigned long long)theirs.bytes,
                            tern_dtype_name((tern_dtype)theirs.dtype), group->rank,
                            (unsigned long long)own.bytes, tern_dtype_name((tern_dtype)own.dtype));
}

static int take_piece(struct tern__message *message, struct pipe *pipe)
{
    int64_t begin_ns = tern__trace_start();
    uint32_t number = pipe->pieces + 1;
    const struct tern__mail *mail = mail_of(message, number);
    if (!message->begun && mail->signature != message->signature) {
        return differ(message, mail->signature);
    }
    message->begun = true;
    if (mail->bytes == LENT) {
        TERN_TRY(take_lent(message, mail));
    } else {
        bool line = mail->bytes <= TERN__LINE_BYTES;
        if (mail->bytes > 0) {
            memcpy(message->buffer + message->moved,
                   line ? (const char *)mail->data : payload_of(message, number), mail->bytes);
        }
        message->moved += mail->bytes;
    }
    uint64_t bytes = mail->bytes == LENT ? message->bytes : mail->bytes;
    pipe->pieces = number;
    tern__flag_store(&ack_of(message)->taken, number); // partner: is_ready
    ring(message);
    if (begin_ns != 0) {
        tern__trace_piece(message, number, bytes, begin_ns);
    }
    return TERN_OK;
}

static void end_message(struct tern__message *message, struct pipe *pipe, int status)
{
    struct tern__mailman *man = message->man;
    pipe->oldest = message->next;
    if (pipe->oldest == NULL) {
        pipe->newest = NULL;
    }
    tern__record_end(message->record, status, 0);
    if (message->traced_ns != 0) {
        tern__trace_message(message);
    }
    message->status = status;
    message->done = true;
    if (--man->waiting == 0) {
        tern__task_end(&man->task);
    }
}

void tern__mailman_fail(struct tern__mailman *man, int status)
{
    for (int peer = 0; peer < man->calls->nranks; peer++) {
        while (man->out[peer].oldest != NULL) {
            end_message(man->out[peer].oldest, &man->out[peer], status);
        }
        while (man->in[peer].oldest != NULL) {
            end_message(man->in[peer].oldest, &man->in[peer], status);
        }
    }
}

// 1 when anything moved.
static int advance_pipe(struct pipe *pipe)
{
    int moved = 0;
    while (pipe->oldest != NULL && is_ready(pipe->oldest, pipe)) {
        struct tern__message *message = pipe->oldest;
        moved = 1;
        if (message->lent) {
            end_message(message, pipe, TERN_OK);
            continue;
        }
        if (message->sends) {
            put_piece(message, pipe);
        } else {
            TERN_TRY(take_piece(message, pipe));
        }
        if (!message->lent && message->moved == message->bytes) {
            end_message(message, pipe, TERN_OK);
        }
    }
    return moved;
}

static bool advance(struct tern__mailman *man)
{
    bool moved = false;
    for (int peer = 0; peer < man->calls->nranks && man->waiting > 0; peer++) {
        int out = advance_pipe(&man->out[peer]);
        int in = out < 0 ? out : advance_pipe(&man->in[peer]);
        if (in < 0) {
            tern__mailman_fail(man, in);
            return true;
        }
        moved = moved || out > 0 || in > 0;
    }
    man->task.moves += moved;
    return moved;
}

int tern__message_check_alone(struct tern__message *message)
{
    const struct tern__mailman *man = message->man;
    int self = man->calls->rank;
    if (message->peer != self) {
        return TERN_OK;
    }
    // Message k meets message k of the other direction. Whether a send would find room in the mailbox does
    // not count: what works must not depend on the size.
    const struct pipe *pipe = pipe_of(message);
    const struct pipe *other = message->sends ? &man->in[self] : &man->out[self];
    if (other->messages > pipe->messages) {
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG,
                      "%s: rank %d is this rank itself, and no %s has been started that it would "
                      "meet, so it would wait for itself; start one of the two with "
                      "tern_coll_start first",
                      message->name, self, message->sends ? "recv from it" : "send to it");
}

static struct tern__mailman *man_of_task(struct tern__task *task)
{
    return (struct tern__mailman *)(void *)((char *)task - offsetof(struct tern__mailman, task));
}

static bool advance_task(struct tern__task *task)
{
    return advance(man_of_task(task));
}

static bool task_ready(struct tern__task *task)
{
    struct tern__mailman *man = man_of_task(task);
    for (int peer = 0; peer < man->calls->nranks; peer++) {
        const struct pipe *const pipes[] = {&man->out[peer], &man->in[peer]};
        for (int i = 0; i < 2; i++) {
            if (pipes[i]->oldest != NULL && is_ready(pipes[i]->oldest, pipes[i])) {
                return true;
            }
        }
    }
    return false;
}

// "message 3 (send of 4096 bytes to rank 2), of which 1024 are on their way"
static void name_message(const struct tern__message *message, char *text, size_t size)
{
    const struct tern__group *group = &message->man->calls->comm->group;
    snprintf(text, size, "message %llu, a %s of %llu bytes %s %s, of which %llu have moved",
             (unsigned long long)message->number, message->sends ? "send" : "recv",
             (unsigned long long)message->bytes, message->sends ? "to" : "from",
             tern__rank_name(group, message->peer).text, (unsigned long long)message->moved);
}

static void task_asleep(struct tern__task *task)
{
    const struct tern__message *message = man_of_task(task)->awaited;
    tern__job_doing(task->job, TERN__DOING_MAIL, (uint64_t)(message != NULL ? message->peer : 0));
    if (message != NULL) {
        tern__record_waits(message->record, tern__stuck(message->peer, 0, -1), tern__now_ns());
    }
}

static int task_broken(struct tern__task *task, bool deep)
{
    struct tern__mailman *man = man_of_task(task);
    struct tern__group *group = &man->calls->comm->group;
    const struct tern__message *message = man->awaited;
    TERN_TRY(tern__group_check(group, deep));
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    if (message == NULL || (left >> message->peer & 1) == 0 ||
        task_ready(task)) { // partner: tern__group_leave, after its last message
        return TERN_OK;
    }
    char name[160];
    name_message(message, name, sizeof name);
    return tern__group_fail(group, TERN_ERR_LEFT, message->peer,
                            "%s has left the communicator (tern_comm_destroy) before %s",
                            tern__rank_name(group, message->peer).text, name);
}

static int task_timed_out(struct tern__task *task)
{
    struct tern__mailman *man = man_of_task(task);
    struct tern__group *group = &man->calls->comm->group;
    const struct tern__message *message = man->awaited;
    char name[160];
    char doing[TERN__FAILURE_BYTES / 2];
    name_message(message, name, sizeof name);
    tern__doing_ranks(group, UINT64_C(1) << message->peer, doing, sizeof doing);
    return tern__group_fail(group, TERN_ERR_TIMEOUT, message->peer, "%s waited %.3g s in %s; %s",
                            tern__rank_name(group, group->rank).text,
                            (double)task->job->timeout_ns * 1e-9, name, doing);
}

static void task_awake(struct tern__task *task)
{
    const struct tern__message *message = man_of_task(task)->awaited;
    if (message != NULL) {
        tern__record_waits(message->record, 0, 0);
    }
}

static void task_describe(struct tern__task *task, struct tern__trace_event *event)
{
    const struct tern__mailman *man = man_of_task(task);
    if (man->awaited != NULL) {
        tern__trace_message_rest(man->awaited, event);
    }
}

static int man_of(struct tern__calls *calls, struct tern__mailman **man)
{
    if (calls->mailman == NULL) {
        struct tern__mailman *made = calloc(1, sizeof *made);
        if (made == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for messages");
        }
        made->calls = calls;
        made->task = (struct tern__task){
            .advance = advance_task,
            .ready = task_ready,
            .asleep = task_asleep,
            .broken = task_broken,
            .timed_out = task_timed_out,
            .awake = task_awake,
            .describe = task_describe,
            .job = calls->comm->group.job,
        };
        calls->mailman = made;
    }
    *man = calls->mailman;
    return TERN_OK;
}

const struct tern__calls *tern__mailman_calls(const struct tern__mailman *man)
{
    return man->calls;
}

struct tern__task *tern__mailman_task(struct tern__mailman *man)
{
    return &man->task;
}

void tern__mailman_await(struct tern__mailman *man, const struct tern__message *message)
{
    man->awaited = message;
}

void tern__mailman_free(struct tern__mailman *man)
{
    if (man != NULL) {
        tern__mailman_fail(man, TERN_ERR_STATE);
        free(man);
    }
}

int tern__message_begin(struct tern__message *message)
{
    struct tern__mailman *man = message->man;
    struct pipe *pipe = pipe_of(message);
    if (tern__task_is_running(&man->task) && !tern__task_is_mine(&man->task)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: messages of this communicator that another thread began have not "
                          "ended",
                          message->name);
    }
    message->moved = 0;
    message->lent = false;
    message->begun = false;
    message->done = false;
    message->next = NULL;
    message->number = ++pipe->messages;
    message->record =
        tern__record_begin(man->task.job,
                           (struct tern__beginning){
                               .comm_slot = man->calls->comm->group.slot,
                               .way = TERN__WAY_MAIL,
                               .sequence = message->number,
                               .signature = (message->signature & ~UINT64_C(31)) |
                                            (message->sends ? TERN_COLL_SEND : TERN_COLL_RECV) |
                                            (uint64_t)(unsigned)message->peer << 13,
                               .bytes = message->bytes,
                           });
    if (man->waiting++ == 0) {
        tern__task_begin(&man->task);
    }
    if (pipe->oldest == NULL) {
        pipe->oldest = message;
    } else {
        pipe->newest->next = message;
    }
    pipe->newest = message;
    int status = advance_pipe(pipe);
    if (status < 0) {
        tern__mailman_fail(man, status);
    }
    return TERN_OK;
}

// The sentence of a message that has failed for the communicator's reasons.
int tern__message_failed(const struct tern__message *message)
{
    char name[160];
    char detail[TERN_ERROR_BYTES];
    if (message->status == TERN_ERR_MISMATCH) {
        return message->status;
    }
    name_message(message, name, sizeof name);
    snprintf(detail, sizeof detail, "%s", tern_last_error());
    if (strstr(detail, name) != NULL) { // it is this message that the sentence is about
        return tern__fail(message->status, "%s: %s", message->name, detail);
    }
    return tern__fail(message->status, "%s: %s: %s", message->name, name, detail);
}

int tern__message_wait(struct tern__message *message)
{
    struct tern__mailman *man = message->man;
    man->awaited = message;
    while (!message->done) {
        int status = tern__task_wait(&man->task, &message->done);
        if (status < 0) {
            tern__mailman_fail(man, status);
        }
    }
    man->awaited = NULL;
    return message->status < 0 ? tern__message_failed(message) : TERN_OK;
}
