// SPDX-License-Identifier: Apache-2.0
// The pieces of messages, into mailboxes, and whose turn it is. Data path: no allocation, no lock,
// no log, and no system call.

#include "coll/call/quick.h"
#include "coll/call/trace.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "xport/expose.h"

#define REFERENCE_FROM ((uint64_t)16 << 10) // bytes that are worth waiting for the receiver

// Where a mailbox has no more payloads than may be on their way, the receiver still has the lines
// that are written next: pieces of so many bytes go past the caches even when it is near, where
// that is ever quicker (xport/expose.h).
#define PAST_FROM ((uint64_t)16 << 10)

// After a piece of so many bytes or fewer the memory of the next one is called back, as long as
// that one will be. Longer ones keep more stores waiting for lines than it saves.
#define CALLS_BACK_TO 1024

static bool returns(const struct tern__calls *calls)
{
    return tern__area_mail_ring(calls->nranks) == TERN__MAIL_SLOTS;
}

static struct tern__mail *mail_of(const struct tern__message *message, uint32_t number)
{
    const struct tern__calls *calls = message->endpoint->calls;
    return tern__area_mail(calls->area, message->peer, calls->rank, number);
}

static char *payload_of(const struct tern__message *message, uint32_t number)
{
    const struct tern__calls *calls = message->endpoint->calls;
    return tern__area_mail_payload(calls->area, message->peer, calls->rank, number);
}

// Whether the next piece is known to have room. The acknowledgements are looked at when it is not:
// each look takes their line away from the receiver, who writes there.
static inline bool has_room(const struct tern__pipe *pipe)
{
    return pipe->pieces + 1 - pipe->taken <= TERN__MAIL_SLOTS;
}

// Whether a message to another rank can go on: there is room, or the acknowledgement.
static bool can_send(const struct tern__message *message, struct tern__pipe *pipe)
{
    const struct tern__calls *calls = message->endpoint->calls;
    if (!message->by_reference && has_room(pipe)) {
        return true;
    }
    const struct tern__mail_ack *ack = tern__area_mail_ack(calls->area, message->peer, calls->rank);
    pipe->taken = tern__flag_load(&ack->taken); // partner: take_piece
    return message->by_reference ? tern__reached(pipe->taken, message->last) : has_room(pipe);
}

// From how many bytes on the receiver reads a message out of ordinary memory. A shorter one leaves
// its sender free. With more ranks than processors, so does all that the mailbox has room for: it
// is put there while the receiver has no turn. Two copies at a time, piece by piece, are quicker
// than a system call, as long as the receiver is near and the mailbox larger than what is there.
// Where plain copies to a far receiver are the quickest ones (xport/expose.h), so is the system
// call for half of that and less: 64 KiB took 3.6 us instead of 7.
static uint64_t refer_from(const struct tern__calls *calls)
{
    if (calls->direct_option != TERN__DIRECT_ON) {
        return calls->direct_option; // off: nobody reads
    }
    uint64_t room = (uint64_t)TERN__MAIL_SLOTS * TERN__MAIL_BYTES;
    bool far = tern__distance_is_long(&calls->distance);
    bool plain = far && !calls->distance.past;
    if (!tern__job_ladder(calls->work.job).alone) {
        return plain ? room / 2 : room + 1;
    }
    return plain ? REFERENCE_FROM : returns(calls) || far ? room / 2 + 1 : UINT64_MAX;
}

// Whether the receiver can take it from where it lies: in a window, or in ordinary memory that it
// may read.
static bool put_reference(struct tern__message *message, struct tern__mail *mail, uint32_t number)
{
    const struct tern__calls *calls = message->endpoint->calls;
    struct tern__mail_reference place = {.bytes = message->bytes};
    if (message->bytes < REFERENCE_FROM || tern__mail_is_elsewhere(calls, message->peer)) {
        return false;
    }
    place.window = tern__call_place(calls, message->buffer, message->bytes, &place.offset);
    if (place.window == 0) {
        if (message->bytes < refer_from(calls) ||
            !tern__reach_both(&calls->comm->group, message->peer)) {
            return false;
        }
        place.offset = (uintptr_t)message->buffer;
        message->helps = message->bytes >= TERN__HELP_FROM && message->peer != calls->rank;
        payload_of(message, number)[0] = 0; // a line that tells the receiver how far this rank is
    }
    memcpy(mail->data, &place, sizeof place);
    return true;
}

static void send_piece(const struct tern__message *message, const struct tern__mail *mail,
                       uint32_t number)
{
    const char *payload = payload_of(message, number);
    uint64_t bytes = mail->bytes > TERN__MAIL_LINE_BYTES ? mail->bytes : 0;
    tern__mail_tell(message->endpoint->calls, message->peer, message->peer, mail,
                    sizeof *mail - sizeof(uint32_t), payload, bytes);
}

// The next bytes of the message, into the line or into the payload.
static void fill_piece(struct tern__message *message, struct tern__mail *mail, uint32_t number)
{
    uint64_t rest = message->bytes - message->moved;
    uint64_t part = rest < TERN__MAIL_BYTES ? rest : TERN__MAIL_BYTES;
    bool line = part <= TERN__MAIL_LINE_BYTES;
    mail->bytes = (uint32_t)part;
    if (!line) {
        memcpy(mail->data, &message->bytes, sizeof message->bytes);
    }
    const char *from = message->buffer + message->moved;
    if (returns(message->endpoint->calls) && message->endpoint->calls->distance.past &&
        part >= PAST_FROM) {
        tern__expose(payload_of(message, number), from, part);
    } else if (part > 0) {
        tern__hand_over(&message->endpoint->calls->distance,
                        line ? (char *)mail->data : payload_of(message, number), from, part);
    }
    message->moved += part;
}

// What the next message will write was last read by the receiver: its line, and, as far as this one
// goes, its payload. They are called back, so that it finds them here.
static void call_back_next(const struct tern__message *message, const struct tern__pipe *pipe,
                           uint32_t bytes)
{
    if (!has_room(pipe)) { // what is there may not have been taken yet
        return;
    }
    tern__own_line(mail_of(message, pipe->pieces + 1));
    char *payload = payload_of(message, pipe->pieces + 1);
    uint64_t end = bytes > TERN__MAIL_LINE_BYTES && bytes <= CALLS_BACK_TO ? bytes : 0;
    for (uint64_t at = 0; at < end; at += TERN_CACHE_LINE) {
        tern__call_back(payload + at);
    }
}

static void put_piece(struct tern__message *message, struct tern__pipe *pipe)
{
    const struct tern__calls *calls = message->endpoint->calls;
    int64_t begin_ns = tern__trace_start();
    uint32_t number = ++pipe->pieces;
    struct tern__mail *mail = mail_of(message, number);
    mail->signature = message->begun ? 0 : message->signature;
    mail->tag = message->tag;
    if (!message->begun && put_reference(message, mail, number)) {
        mail->bytes = TERN__MAIL_REFERENCE;
        message->by_reference = true;
        message->last = number;
    } else {
        fill_piece(message, mail, number);
    }
    message->begun = true;
    tern__flag_store(&mail->number, number); // partner: next_mail
    if (tern__mail_is_elsewhere(calls, message->peer)) {
        send_piece(message, mail, number);
    } else {
        tern__mail_ring(calls, message->peer);
    }
    call_back_next(message, pipe, mail->bytes);
    if (begin_ns != 0) {
        tern__trace_piece(message, number, message->by_reference ? message->bytes : mail->bytes,
                          begin_ns);
    }
}

static void end_oldest(struct tern__mail_queue *queue, int status)
{
    struct tern__message *message = queue->oldest;
    queue->oldest = message->next;
    queue->newest = queue->oldest == NULL ? NULL : queue->newest;
    tern__message_end(message, status);
}

static void fail_queue(struct tern__mail_queue *queue, int status)
{
    while (queue->oldest != NULL) {
        end_oldest(queue, status);
    }
}

void tern__endpoint_fail(struct tern__endpoint *endpoint, int status)
{
    const struct tern__calls *calls = endpoint->calls;
    int64_t until_ns = tern__now_ns() + TERN__HELP_LEAVE_NS;
    for (int peer = 0; peer < calls->nranks; peer++) {
        struct tern__pipe *in = &endpoint->in[peer];
        if (in->helped) {
            tern__help_leave(&calls->comm->group, peer,
                             tern__area_mail_help(calls->area, calls->rank, peer), until_ns);
            in->helped = false;
        }
        fail_queue(&endpoint->out[peer].queue, status);
        fail_queue(&in->queue, status);
        if (in->into != NULL) {
            tern__message_end(in->into, status);
            in->into = NULL;
        }
        for (struct tern__early *early = in->early; early != NULL; early = early->next) {
            if (early->claimed != NULL) {
                tern__message_end(early->claimed, status);
                early->claimed = NULL;
            }
        }
    }
    fail_queue(&endpoint->any, status);
}

// Sends.

// The receiver's copy of this message, if this rank may help with it.
static struct tern__help *help_of(const struct tern__message *message)
{
    struct tern__calls *calls = message->endpoint->calls;
    return message->helps && tern__job_ladder(calls->work.job).alone
               ? tern__area_mail_help(calls->area, message->peer, calls->rank)
               : NULL;
}

static bool give_help(const struct tern__message *message)
{
    struct tern__help *help = help_of(message);
    return help != NULL &&
           tern__help_give(&message->endpoint->calls->comm->group, message->peer, help);
}

static bool is_help_wanted(const struct tern__message *message)
{
    const struct tern__help *help = help_of(message);
    return help != NULL && tern__help_is_wanted(help);
}

static int send_some(struct tern__pipe *pipe)
{
    int moved = 0;
    while (pipe->queue.oldest != NULL) {
        struct tern__message *message = pipe->queue.oldest;
        if (!can_send(message, pipe)) {
            if (!give_help(message)) {
                break;
            }
            moved = 1;
            continue;
        }
        moved = 1;
        if (message->by_reference) {
            end_oldest(&pipe->queue, TERN_OK);
            continue;
        }
        put_piece(message, pipe);
        if (!message->by_reference && message->moved == message->bytes) {
            end_oldest(&pipe->queue, TERN_OK);
        }
    }
    return moved;
}

int tern__message_advance(struct tern__message *message, bool by_reference)
{
    struct tern__endpoint *endpoint = message->endpoint;
    if (message->sends) {
        return send_some(&endpoint->out[message->peer]);
    }
    int ranks = tern__message_is_any(message) ? endpoint->calls->nranks : 1;
    int first = ranks > 1 ? endpoint->turn : message->peer < 0 ? 0 : message->peer;
    int moved = 0;
    for (int i = 0; i < ranks && moved == 0; i++) {
        moved = tern__take_claim(message, (first + i) % endpoint->calls->nranks);
    }
    for (int i = 0; i < ranks && moved >= 0 && tern__peek(&message->done) == 0; i++) {
        int taken = tern__take_some(endpoint, (first + i) % endpoint->calls->nranks, by_reference);
        moved = taken != 0 ? taken : moved;
    }
    return moved;
}

static bool put_quick(struct tern__message *message)
{
    struct tern__pipe *pipe = &message->endpoint->out[message->peer];
    if (pipe->queue.oldest != NULL || !can_send(message, pipe)) {
        return false;
    }
    tern__message_count(message);
    put_piece(message, pipe);
    return true;
}

static bool quick_in_turn(const tern_comm *comm, const tern_coll *call)
{
    struct tern__calls *calls = comm->calls;
    struct tern__endpoint *endpoint = calls != NULL ? calls->endpoint : NULL;
    size_t element_bytes = tern_dtype_size(call->dtype);
    if (endpoint == NULL || call->root < 0 || call->root >= calls->nranks ||
        call->root == calls->rank || element_bytes == 0 ||
        call->count >= REFERENCE_FROM / element_bytes ||
        tern__flag_load(&comm->group.shared->failed) != TERN__WORKING ||
        tern__peek(&tern__trace_on) != 0) {
        return false;
    }
    struct tern__message message = {
        .endpoint = endpoint,
        .sends = call->kind == TERN_COLL_SEND,
        .peer = call->root,
        .bytes = call->count * element_bytes,
        .tag = call->tag,
        .received = call->kind == TERN_COLL_SEND ? NULL : call->received,
        .element_bytes = element_bytes,
    };
    message.buffer = message.sends ? (char *)(uintptr_t)call->in : call->out;
    message.signature = tern__message_signature(call->dtype, message.bytes);
    if (message.buffer == NULL ||
        !(message.sends ? put_quick(&message) : tern__take_quick(&message))) {
        return false;
    }
    tern__record_end(message.record, TERN_OK, 0);
    return true;
}

bool tern__message_quick(tern_comm *comm, const tern_coll *call)
{
    if (!tern__handle_lives(comm, TERN__COMM)) {
        return false;
    }
    tern__turn_take(&comm->turn);
    bool made = quick_in_turn(comm, call);
    tern__turn_leave(&comm->turn);
    return made;
}

bool tern__endpoint_advance(struct tern__endpoint *endpoint)
{
    bool moved = false;
    int n = endpoint->calls->nranks;
    int first = endpoint->turn;
    for (int i = 0; i < n && endpoint->waiting > 0; i++) {
        int peer = (first + i) % n;
        int out = send_some(&endpoint->out[peer]);
        int in = tern__take_some(endpoint, peer, true);
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
        struct tern__pipe *out = &endpoint->out[peer];
        const struct tern__message *oldest = out->queue.oldest;
        if ((oldest != NULL && (can_send(oldest, out) || is_help_wanted(oldest))) ||
            tern__can_take(endpoint, peer)) {
            return true;
        }
    }
    return false;
}
