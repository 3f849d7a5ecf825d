// SPDX-License-Identifier: Apache-2.0
// The pieces of messages, into mailboxes and out of them. Data path: no allocation, no lock, no
// log, and no system call but to read the memory of another process.

#include "coll/call/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "comm/registry.h"
#include "xport/expose.h"

#define LENT UINT32_MAX                // in place of a piece's bytes: it is a placement
#define LENT_FROM ((uint64_t)16 << 10) // bytes that are worth waiting for the receiver

// For a message that is on its way; who sleeps is another matter.
#define QUICK_LOOKS 64

// Where messages of this pair, in this direction, are.
static void ends_of(const struct tern__message *message, int *to, int *from)
{
    int self = message->endpoint->calls->rank;
    *to = message->sends ? message->peer : self;
    *from = message->sends ? self : message->peer;
}

static struct tern__mail *mail_of(const struct tern__message *message, uint32_t number)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail(message->endpoint->calls->area, to, from, number);
}

static char *payload_of(const struct tern__message *message, uint32_t number)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail_payload(message->endpoint->calls->area, to, from, number);
}

static struct tern__mail_ack *ack_of(const struct tern__message *message)
{
    int to;
    int from;
    ends_of(message, &to, &from);
    return tern__area_mail_ack(message->endpoint->calls->area, to, from);
}

static void ring(const struct tern__message *message)
{
    tern__bell_ring(tern__window_bell(message->endpoint->calls->area, message->peer));
}

// Whether the other rank is on another machine: what is put into its mailbox here, and what it is
// told there, is sent to it.
static bool is_elsewhere(const struct tern__message *message)
{
    const struct tern__elsewhere *elsewhere = message->endpoint->calls->elsewhere;
    return elsewhere != NULL && (elsewhere->ranks >> message->peer & 1) != 0;
}

// A line whose number is stored, with what is in it and a payload.
static void send_line(const struct tern__message *message, int owner, const void *line,
                      uint32_t line_bytes, const char *payload, uint64_t bytes)
{
    const struct tern__calls *calls = message->endpoint->calls;
    const struct tern__group *group = &calls->comm->group;
    const char *part = tern__area_part(calls->area, owner);
    struct tern__net_area area = {
        .slot = (uint32_t)group->slot,
        .number = calls->area->number,
        .generation = calls->elsewhere->generation,
        .rank = owner,
        .offset = bytes > 0 ? (uint64_t)(payload - part) : 0,
        .bytes = bytes,
        .line = (uint32_t)((const char *)line - part),
        .line_bytes = line_bytes,
        .run = tern__peek(line),
        .then = TERN__NET_AREA_LINE | TERN__NET_AREA_RING_ONE,
    };
    tern__net_area_send(calls->elsewhere->net, group->members[message->peer], &area, payload,
                        (const char *)line + sizeof(uint32_t));
}

// Whether the next piece is known to have room. The acknowledgements are looked at when it is not:
// each look takes their line away from the receiver, who writes there.
static inline bool has_room(const struct tern__pipe *pipe)
{
    return pipe->pieces + 1 - pipe->taken <= TERN__MAIL_SLOTS;
}

// Whether the message can go on: there is room, a piece, or the acknowledgement.
static bool is_ready(const struct tern__message *message, struct tern__pipe *pipe)
{
    uint32_t next = pipe->pieces + 1;
    if (!message->sends) {
        return tern__flag_load(&mail_of(message, next)->number) == next; // partner: put_piece
    }
    if (!message->by_reference && has_room(pipe)) {
        return true;
    }
    pipe->taken = tern__flag_load(&ack_of(message)->taken); // partner: take_piece
    return message->by_reference ? tern__reached(pipe->taken, message->last) : has_room(pipe);
}

// From how many bytes on the receiver reads a message out of ordinary memory. A short one leaves
// its sender free; with more ranks than processors pieces are faster, since one side works while
// the other has no turn.
static uint64_t lend_from(const struct tern__calls *calls)
{
    if (calls->direct_option != TERN__DIRECT_ON) {
        return calls->direct_option; // off: nobody reads
    }
    return tern__job_ladder(calls->work.job).alone
               ? (uint64_t)TERN__MAIL_SLOTS * TERN__MAIL_BYTES / 2 + 1
               : UINT64_MAX;
}

// Whether the receiver can take it from where it lies: in a window, or in ordinary memory that it
// may read.
static bool lend(const struct tern__message *message, struct tern__mail *mail)
{
    const struct tern__calls *calls = message->endpoint->calls;
    struct tern__placement placement = {0};
    if (message->bytes < LENT_FROM || is_elsewhere(message)) {
        return false;
    }
    placement.in_window =
        tern__call_place(calls, message->buffer, message->bytes, &placement.in_offset);
    if (placement.in_window == 0) {
        if (message->bytes < lend_from(calls) ||
            !tern__reach_both(&calls->comm->group, message->peer)) {
            return false;
        }
        placement.in_offset = (uintptr_t)message->buffer;
    }
    memcpy(mail->data, &placement, sizeof placement);
    return true;
}

static void send_piece(const struct tern__message *message, const struct tern__mail *mail,
                       uint32_t number)
{
    const char *payload = payload_of(message, number);
    uint64_t bytes = mail->bytes > TERN__LINE_BYTES ? mail->bytes : 0;
    send_line(message, message->peer, mail, sizeof *mail - sizeof(uint32_t), payload, bytes);
}

static void put_piece(struct tern__message *message, struct tern__pipe *pipe)
{
    int64_t begin_ns = tern__trace_start();
    uint32_t number = ++pipe->pieces;
    struct tern__mail *mail = mail_of(message, number);
    uint64_t rest = message->bytes - message->moved;
    mail->signature = message->signature;
    if (message->moved == 0 && lend(message, mail)) {
        mail->bytes = LENT;
        message->by_reference = true;
        message->last = number;
    } else {
        uint64_t part = rest < TERN__MAIL_BYTES ? rest : TERN__MAIL_BYTES;
        bool line = part <= TERN__LINE_BYTES;
        mail->bytes = (uint32_t)part;
        if (part > 0) {
            tern__expose(line ? (char *)mail->data : payload_of(message, number),
                         message->buffer + message->moved, part);
        }
        message->moved += part;
    }
    message->begun = true;
    tern__flag_store(&mail->number, number); // partner: is_ready
    if (is_elsewhere(message)) {
        send_piece(message, mail, number);
    } else {
        ring(message);
    }
    if (has_room(pipe)) { // the next line is called back, so that the next message finds it here
        tern__own_line(mail_of(message, number + 1));
    }
    if (begin_ns != 0) {
        tern__trace_piece(message, number, message->by_reference ? message->bytes : mail->bytes,
                          begin_ns);
    }
}

// Out of the sender's ordinary memory.
static int take_far(const struct tern__message *message, uint64_t from)
{
    struct tern__group *group = &message->endpoint->calls->comm->group;
    struct tern__unread unread;
    if (message->peer == group->rank) {
        memcpy(message->buffer, (const char *)(uintptr_t)from, message->bytes);
        return TERN_OK;
    }
    if (tern__reach_read(group, message->peer, message->buffer, from, message->bytes, &unread)) {
        return TERN_OK;
    }
    char what[96];
    snprintf(what, sizeof what, "message %llu, a recv of %llu bytes from %s",
             (unsigned long long)message->number, (unsigned long long)message->bytes,
             tern__rank_name(group, message->peer).text);
    return tern__reach_fail(group, &unread, what);
}

static int take_lent(struct tern__message *message, const struct tern__mail *mail)
{
    struct tern__placement placement;
    memcpy(&placement, mail->data, sizeof placement);
    struct tern__group *group = &message->endpoint->calls->comm->group;
    if (placement.in_window == 0) {
        TERN_TRY(take_far(message, placement.in_offset));
        message->moved = message->bytes;
        return TERN_OK;
    }
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
    struct tern__group *group = &message->endpoint->calls->comm->group;
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

static int take_piece(struct tern__message *message, struct tern__pipe *pipe)
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
    if (is_elsewhere(message)) {
        send_line(message, message->endpoint->calls->rank, ack_of(message), 0, NULL, 0);
    } else {
        ring(message);
    }
    if (begin_ns != 0) {
        tern__trace_piece(message, number, bytes, begin_ns);
    }
    return TERN_OK;
}

static void end_message(struct tern__message *message, struct tern__pipe *pipe, int status)
{
    struct tern__endpoint *endpoint = message->endpoint;
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
    if (--endpoint->waiting == 0) {
        tern__work_end(&endpoint->work);
    }
}

void tern__endpoint_fail(struct tern__endpoint *endpoint, int status)
{
    for (int peer = 0; peer < endpoint->calls->nranks; peer++) {
        while (endpoint->out[peer].oldest != NULL) {
            end_message(endpoint->out[peer].oldest, &endpoint->out[peer], status);
        }
        while (endpoint->in[peer].oldest != NULL) {
            end_message(endpoint->in[peer].oldest, &endpoint->in[peer], status);
        }
    }
}

int tern__pipe_advance(struct tern__pipe *pipe, bool lent)
{
    int moved = 0;
    while (pipe->oldest != NULL && is_ready(pipe->oldest, pipe)) {
        struct tern__message *message = pipe->oldest;
        if (!lent && !message->sends && mail_of(message, pipe->pieces + 1)->bytes == LENT) {
            break;
        }
        moved = 1;
        if (message->by_reference) {
            end_message(message, pipe, TERN_OK);
            continue;
        }
        if (message->sends) {
            put_piece(message, pipe);
        } else {
            TERN_TRY(take_piece(message, pipe));
        }
        if (!message->by_reference && message->moved == message->bytes) {
            end_message(message, pipe, TERN_OK);
        }
    }
    return moved;
}

// Whether the message's piece is there, or comes within a few looks.
static bool comes(const struct tern__message *message, struct tern__pipe *pipe)
{
    for (uint32_t looks = 0; looks < QUICK_LOOKS; looks++) {
        if (is_ready(message, pipe)) {
            const struct tern__mail *mail = mail_of(message, pipe->pieces + 1);
            return mail->signature == message->signature;
        }
    }
    return false;
}

bool tern__message_quick(tern_comm *comm, const tern_coll *call)
{
    struct tern__calls *calls = tern__handle_lives(comm, TERN__COMM) ? comm->calls : NULL;
    struct tern__endpoint *endpoint = calls != NULL ? calls->endpoint : NULL;
    size_t element_bytes = tern_dtype_size(call->dtype);
    if (endpoint == NULL || call->root < 0 || call->root >= calls->nranks ||
        call->root == calls->rank || element_bytes == 0 ||
        call->count >= LENT_FROM / element_bytes ||
        (tern__work_is_running(&endpoint->work) && !tern__work_is_mine(&endpoint->work)) ||
        tern__flag_load(&comm->group.shared->failed) != TERN__WORKING ||
        tern__peek(&tern__trace_on) != 0) {
        return false;
    }
    struct tern__message message = {
        .endpoint = endpoint,
        .sends = call->kind == TERN_COLL_SEND,
        .peer = call->root,
        .bytes = call->count * element_bytes,
    };
    message.buffer = message.sends ? (char *)(uintptr_t)call->in : call->out;
    message.signature =
        tern__signature_pack(TERN_COLL_SEND, call->dtype, 0, 0, 0, -1, message.bytes);
    struct tern__pipe *pipe = tern__pipe_of(&message);
    if (message.buffer == NULL || pipe->oldest != NULL ||
        !(message.sends ? is_ready(&message, pipe) : comes(&message, pipe))) {
        return false;
    }
    tern__message_count(&message, pipe);
    if (message.sends) {
        put_piece(&message, pipe);
    } else {
        (void)take_piece(&message, pipe); // its signature is the right one, and it is not far
    }
    tern__record_end(message.record, TERN_OK, 0);
    return true;
}

bool tern__endpoint_advance(struct tern__endpoint *endpoint)
{
    bool moved = false;
    for (int peer = 0; peer < endpoint->calls->nranks && endpoint->waiting > 0; peer++) {
        int out = tern__pipe_advance(&endpoint->out[peer], true);
        int in = out < 0 ? out : tern__pipe_advance(&endpoint->in[peer], true);
        if (in < 0) {
            tern__endpoint_fail(endpoint, in);
            return true;
        }
        moved = moved || out > 0 || in > 0;
    }
    endpoint->work.moves += moved;
    return moved;
}

bool tern__endpoint_ready(struct tern__endpoint *endpoint)
{
    for (int peer = 0; peer < endpoint->calls->nranks; peer++) {
        struct tern__pipe *const pipes[] = {&endpoint->out[peer], &endpoint->in[peer]};
        for (int i = 0; i < 2; i++) {
            if (pipes[i]->oldest != NULL && is_ready(pipes[i]->oldest, pipes[i])) {
                return true;
            }
        }
    }
    return false;
}
