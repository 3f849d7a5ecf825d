// SPDX-License-Identifier: Apache-2.0
// The pieces of messages, out of mailboxes. Data path: no allocation, no lock, no log, and no
// system call but to read the memory of another process.

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "coll/call/trace.h"
#include "comm/registry.h"
#include "xport/copy.h"
#include "xport/expose.h"

// For a message that is on its way; who sleeps is another matter.
#define QUICK_LOOKS 64

// The memory of so many bytes or fewer is asked for while their line is looked at, so that both
// come from a far sender at once: who stores a few lines ends each before it can be taken away.
#define FETCHES_TO 512

// The next piece of a rank, or NULL when it has not come.
static const struct tern__mail *next_mail(const struct tern__endpoint *endpoint, int from)
{
    const struct tern__calls *calls = endpoint->calls;
    uint32_t next = endpoint->in[from].pieces + 1;
    const struct tern__mail *mail = tern__area_mail(calls->area, calls->rank, from, next);
    return tern__flag_load(&mail->number) == next ? mail : NULL; // partner: put_piece
}

// Whether it is asked for: who else is to come is seen only behind it.
bool tern__can_take(const struct tern__endpoint *endpoint, int from)
{
    const struct tern__pipe *pipe = &endpoint->in[from];
    bool wanted = pipe->into != NULL || pipe->filling != NULL || tern__recv_wants(endpoint, from);
    if (pipe->helped) {
        const struct tern__calls *calls = endpoint->calls;
        return tern__help_is_over(tern__area_mail_help(calls->area, calls->rank, from));
    }
    return wanted && next_mail(endpoint, from) != NULL;
}

static uint64_t mail_bytes(const struct tern__mail *mail)
{
    uint64_t bytes = mail->bytes;
    if (mail->bytes == TERN__MAIL_REFERENCE) {
        struct tern__mail_reference place;
        memcpy(&place, mail->data, sizeof place);
        return place.bytes;
    }
    if (mail->bytes > TERN__MAIL_LINE_BYTES) {
        memcpy(&bytes, mail->data, sizeof bytes);
    }
    return bytes;
}

// Where a piece goes: into the buffer of a recv, or into memory of its message's own.
struct target {
    char *to;
    uint64_t bytes;  // of the message
    uint64_t number; // of the message, for sentences
};

// Out of the sender's ordinary memory, with its help. 1: it still writes.
static int take_far(struct tern__endpoint *endpoint, int from, uint64_t address,
                    const struct target *target)
{
    struct tern__unread unread;
    struct tern__calls *calls = endpoint->calls;
    struct tern__group *group = &calls->comm->group;
    struct tern__pipe *pipe = &endpoint->in[from];
    int done;
    if (from == group->rank) {
        tern__copy(target->to, (const char *)(uintptr_t)address, target->bytes);
        return TERN_OK;
    }
    // Of two that send to each other neither has time for the other one.
    bool helped = target->bytes >= TERN__HELP_FROM && endpoint->out[from].queue.oldest == NULL &&
                  tern__job_ladder(calls->work.job).alone;
    if (helped || pipe->helped) {
        done = tern__help_read(group, from, target->to, address, target->bytes,
                               tern__area_mail_help(calls->area, calls->rank, from), &unread);
        pipe->helped = done == 0;
    } else {
        done = tern__reach_read(group, from, target->to, address, target->bytes, &unread) ? 1 : -1;
    }
    if (done >= 0) {
        return 1 - done;
    }
    char what[96];
    snprintf(what, sizeof what, "message %llu, a recv of %llu bytes from %s",
             (unsigned long long)target->number, (unsigned long long)target->bytes,
             tern__rank_name(group, from).text);
    return tern__reach_fail(group, &unread, what);
}

static int take_referred(struct tern__endpoint *endpoint, int from, uint32_t number,
                         const struct target *target)
{
    struct tern__calls *calls = endpoint->calls;
    struct tern__group *group = &calls->comm->group;
    const struct tern__mail *mail = tern__area_mail(calls->area, calls->rank, from, number);
    struct tern__mail_reference place;
    memcpy(&place, mail->data, sizeof place);
    if (place.window == 0) {
        if (from != calls->rank && !endpoint->in[from].helped) {
            tern__distance_measure(&calls->distance,
                                   tern__area_mail_payload(calls->area, calls->rank, from, number));
        }
        return take_far(endpoint, from, place.offset, target);
    }
    const char *base =
        tern__registry_base(group->job, (int)(place.window >> 32), (uint32_t)place.window - 1);
    if (base == NULL) {
        return tern__group_fail(group, TERN_ERR_ARG, group->rank,
                                "recv: the buffer of %s is in a window that %s has destroyed",
                                tern__rank_name(group, from).text,
                                tern__rank_name(group, group->rank).text);
    }
    tern__copy(target->to, base + place.offset, target->bytes);
    return TERN_OK;
}

// Takes the next piece out of the mailbox: *bytes of the message. 1: not yet all of it.
static int take_piece(struct tern__endpoint *endpoint, int from, const struct target *target,
                      uint64_t *bytes)
{
    struct tern__calls *calls = endpoint->calls;
    struct tern__pipe *pipe = &endpoint->in[from];
    uint32_t number = pipe->pieces + 1;
    const struct tern__mail *mail = tern__area_mail(calls->area, calls->rank, from, number);
    if (mail->bytes == TERN__MAIL_REFERENCE) {
        int status = take_referred(endpoint, from, number, target);
        if (status != TERN_OK) {
            return status;
        }
        *bytes = target->bytes;
    } else {
        bool line = mail->bytes <= TERN__MAIL_LINE_BYTES;
        *bytes = mail->bytes;
        const char *data = line ? (const char *)mail->data
                                : tern__area_mail_payload(calls->area, calls->rank, from, number);
        if (from != calls->rank && !tern__mail_is_elsewhere(calls, from)) {
            tern__hand_measure(&calls->distance, data, mail->bytes);
        }
        if (mail->bytes > 0) {
            tern__memcpy(target->to, data, mail->bytes);
        }
    }
    pipe->pieces = number;
    struct tern__mail_ack *ack = tern__area_mail_ack(calls->area, calls->rank, from);
    tern__flag_store(&ack->taken, number); // partner: can_send
    if (tern__mail_is_elsewhere(calls, from)) {
        tern__mail_tell(calls, from, calls->rank, ack, 0, NULL, 0);
    } else {
        tern__mail_ring(calls, from);
    }
    return TERN_OK;
}

// A whole message that came before the recv that it goes to.
static void deliver(struct tern__pipe *pipe, struct tern__early *early,
                    struct tern__message *message)
{
    if (early->bytes > 0) {
        tern__memcpy(message->buffer, early->data, early->bytes);
    }
    message->moved = early->bytes;
    tern__early_free(pipe, early);
    tern__message_end(message, TERN_OK);
}

// The first piece of a message: finds out where it goes.
static int meet(struct tern__endpoint *endpoint, int from, const struct tern__mail *mail)
{
    struct tern__pipe *pipe = &endpoint->in[from];
    uint64_t bytes = mail_bytes(mail);
    struct tern__message *message = tern__recv_find(endpoint, from, mail->tag);
    if (message == NULL) {
        pipe->filling = tern__early_begin(endpoint, from, mail, bytes);
        pipe->seen++;
        return pipe->filling != NULL ? TERN_OK : TERN_ERR_MEMORY;
    }
    if (!tern__recv_fits(message, mail->signature, bytes)) {
        return tern__recv_differs(message, from, pipe->seen + 1, mail->signature, bytes);
    }
    pipe->seen++;
    tern__recv_take(message, from, bytes);
    message->begun = true;
    pipe->into = message;
    return TERN_OK;
}

static int take_into(struct tern__endpoint *endpoint, int from, struct tern__message *message)
{
    int64_t begin_ns = tern__trace_start();
    uint64_t bytes;
    struct target target = {message->buffer + message->moved, message->bytes, message->number};
    int status = take_piece(endpoint, from, &target, &bytes);
    if (status != TERN_OK) {
        return status;
    }
    message->moved += bytes;
    if (begin_ns != 0) {
        tern__trace_piece(message, endpoint->in[from].pieces, bytes, begin_ns);
    }
    if (message->moved == message->bytes) {
        endpoint->in[from].into = NULL;
        tern__message_end(message, TERN_OK);
    }
    return TERN_OK;
}

static int take_early(struct tern__endpoint *endpoint, int from, struct tern__early *early)
{
    struct tern__pipe *pipe = &endpoint->in[from];
    uint64_t bytes;
    assert(early != NULL); // a message that is no recv's has one: meet
    struct target target = {(char *)early->data + early->moved, early->bytes, early->number};
    int status = take_piece(endpoint, from, &target, &bytes);
    if (status != TERN_OK) {
        return status;
    }
    early->moved += bytes;
    if (early->moved == early->bytes) {
        pipe->filling = NULL;
        if (early->claimed != NULL) {
            deliver(pipe, early, early->claimed);
        }
    }
    return TERN_OK;
}

// What has come from a rank. A recv of any rank ends the turn of who has served it, so that one
// that sends without end does not keep the others waiting.
int tern__take_some(struct tern__endpoint *endpoint, int from, bool by_reference)
{
    struct tern__pipe *pipe = &endpoint->in[from];
    int moved = 0;
    while (tern__can_take(endpoint, from)) {
        const struct tern__mail *mail = next_mail(endpoint, from);
        int turn = endpoint->turn;
        if (!by_reference && mail->bytes == TERN__MAIL_REFERENCE) {
            break;
        }
        moved = 1;
        if (pipe->into == NULL && pipe->filling == NULL) {
            TERN_TRY(meet(endpoint, from, mail));
        }
        int status = pipe->into != NULL ? take_into(endpoint, from, pipe->into)
                                        : take_early(endpoint, from, pipe->filling);
        TERN_TRY(status);
        if (status > 0 || endpoint->turn != turn) {
            break;
        }
    }
    return moved;
}

// A recv that has begun: whether what it asks for has come before, from this rank.
int tern__take_claim(struct tern__message *message, int from)
{
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__pipe *pipe = &endpoint->in[from];
    struct tern__early *early = tern__early_find(endpoint, from, message->tag);
    if (early == NULL) {
        return 0;
    }
    if (!tern__recv_fits(message, early->signature, early->bytes)) {
        return tern__recv_differs(message, from, early->number, early->signature, early->bytes);
    }
    tern__recv_take(message, from, early->bytes);
    message->begun = true;
    if (early->moved == early->bytes && pipe->filling != early) {
        deliver(pipe, early, message);
    } else {
        early->claimed = message;
    }
    return 1;
}

// Whether a piece is there, or comes within a few looks; of a message that the recv takes.
static bool comes(const struct tern__message *message)
{
    const struct tern__mail *mail = NULL;
    const struct tern__calls *calls = message->endpoint->calls;
    uint32_t next = message->endpoint->in[message->peer].pieces + 1;
    const char *payload = tern__area_mail_payload(calls->area, calls->rank, message->peer, next);
    bool in_line = message->bytes <= TERN__MAIL_LINE_BYTES;
    uint64_t end = in_line || message->bytes > FETCHES_TO ? 0 : message->bytes;
    for (uint32_t looks = 0; looks < QUICK_LOOKS && mail == NULL; looks++) {
        mail = next_mail(message->endpoint, message->peer);
        for (uint64_t at = 0; at < end; at += TERN_CACHE_LINE) {
            __builtin_prefetch(payload + at);
        }
    }
    return mail != NULL && mail->tag == message->tag &&
           tern__recv_fits(message, mail->signature, mail_bytes(mail));
}

// Nothing else is under way from the rank, or of any rank.
static bool is_clear(const struct tern__endpoint *endpoint, int from)
{
    const struct tern__pipe *pipe = &endpoint->in[from];
    return !tern__recv_wants(endpoint, from) && pipe->into == NULL && pipe->early == NULL;
}

bool tern__take_quick(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__pipe *pipe = &endpoint->in[message->peer];
    uint64_t bytes;
    if (!is_clear(endpoint, message->peer) || !comes(message)) {
        return false;
    }
    message->bytes = mail_bytes(next_mail(endpoint, message->peer));
    tern__message_count(message);
    pipe->seen++;
    struct target target = {message->buffer, message->bytes, message->number};
    (void)take_piece(endpoint, message->peer, &target, &bytes); // it is not far
    if (message->received != NULL) {
        *message->received = (tern_received){.from = message->peer,
                                             .count = message->bytes / message->element_bytes,
                                             .tag = message->tag};
    }
    return true;
}
