// SPDX-License-Identifier: Apache-2.0
// Which recv a message goes to: by tag, and where it comes from. A message that meets none is kept
// in memory of its own, if recvs of other messages wait for what is behind it. No lock, no system
// call; allocation only for such messages.

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "coll/call/trace.h"

static struct tern__message *first_with(const struct tern__mail_queue *queue, uint64_t tag)
{
    struct tern__message *message = queue->oldest;
    while (message != NULL && message->tag != tag) {
        message = message->next;
    }
    return message;
}

struct tern__message *tern__recv_find(struct tern__endpoint *endpoint, int from, uint64_t tag)
{
    struct tern__message *one = first_with(&endpoint->in[from].queue, tag);
    struct tern__message *any = first_with(&endpoint->any, tag);
    if (one == NULL || any == NULL) {
        return one != NULL ? one : any;
    }
    return one->posted < any->posted ? one : any;
}

void tern__recv_take(struct tern__message *message, int from, uint64_t bytes)
{
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__mail_queue *queue = tern__mail_queue_of(message);
    struct tern__message *before = NULL;
    for (struct tern__message *at = queue->oldest; at != NULL && at != message; at = at->next) {
        before = at;
    }
    if (before == NULL) {
        queue->oldest = message->next;
    } else {
        before->next = message->next;
    }
    queue->newest = queue->newest == message ? before : queue->newest;
    message->next = NULL;
    if (tern__message_is_any(message)) {
        endpoint->turn = (from + 1) % endpoint->calls->nranks;
    }
    message->peer = from;
    message->bytes = bytes;
}

bool tern__recv_wants(const struct tern__endpoint *endpoint, int from)
{
    return endpoint->in[from].queue.oldest != NULL || endpoint->any.oldest != NULL;
}

bool tern__recv_fits(const struct tern__message *message, uint64_t signature, uint64_t bytes)
{
    uint64_t wanted = message->signature;
    if (message->received == NULL) {
        return signature == wanted && bytes == message->bytes;
    }
    return tern__signature_unpack(signature).dtype == tern__signature_unpack(wanted).dtype &&
           bytes <= message->bytes;
}

int tern__recv_differs(const struct tern__message *message, int from, uint64_t number,
                       uint64_t signature, uint64_t bytes)
{
    struct tern__group *group = &message->endpoint->calls->comm->group;
    char tag[40] = "";
    if (message->tag != 0) {
        snprintf(tag, sizeof tag, " with tag %llu", (unsigned long long)message->tag);
    }
    return tern__group_fail(
        group, TERN_ERR_MISMATCH, from,
        "the ranks disagree on message %llu from %s to %s%s: rank %d sends %llu bytes of %s, rank "
        "%d receives %s%llu bytes of %s",
        (unsigned long long)number, tern__rank_name(group, from).text,
        tern__rank_name(group, group->rank).text, tag, from, (unsigned long long)bytes,
        tern_dtype_name((tern_dtype)tern__signature_unpack(signature).dtype), group->rank,
        message->received != NULL ? "at most " : "", (unsigned long long)message->bytes,
        tern_dtype_name((tern_dtype)tern__signature_unpack(message->signature).dtype));
}

// Messages that came before their recv.

struct tern__early *tern__early_begin(struct tern__endpoint *endpoint, int from,
                                      const struct tern__mail *mail, uint64_t bytes)
{
    struct tern__group *group = &endpoint->calls->comm->group;
    struct tern__pipe *pipe = &endpoint->in[from];
    struct tern__early *early = malloc(sizeof *early + bytes);
    if (early == NULL) {
        tern__group_fail(group, TERN_ERR_MEMORY, group->rank,
                         "recv: no memory for message %llu of %s, %llu bytes with tag %llu, which "
                         "came before one that is waited for",
                         (unsigned long long)pipe->seen + 1, tern__rank_name(group, from).text,
                         (unsigned long long)bytes, (unsigned long long)mail->tag);
        return NULL;
    }
    *early = (struct tern__early){.number = pipe->seen + 1,
                                  .tag = mail->tag,
                                  .signature = mail->signature,
                                  .bytes = bytes};
    struct tern__early **last = &pipe->early;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = early;
    return early;
}

struct tern__early *tern__early_find(const struct tern__endpoint *endpoint, int from, uint64_t tag)
{
    struct tern__early *early = endpoint->in[from].early;
    while (early != NULL && (early->claimed != NULL || early->tag != tag)) {
        early = early->next;
    }
    return early;
}

void tern__early_free(struct tern__pipe *pipe, struct tern__early *early)
{
    struct tern__early **link = &pipe->early;
    while (*link != early) {
        link = &(*link)->next;
    }
    *link = early->next;
    free(early);
}

void tern__message_end(struct tern__message *message, int status)
{
    struct tern__endpoint *endpoint = message->endpoint;
    tern__record_end(message->record, status, 0);
    if (message->traced_ns != 0) {
        tern__trace_message(message);
    }
    if (message->received != NULL && status == TERN_OK) {
        *message->received = (tern_received){.from = message->peer,
                                             .count = message->bytes / message->element_bytes,
                                             .tag = message->tag};
    }
    message->status = status;
    message->ended_by = tern__thread_number();
    if (--endpoint->waiting == 0) {
        tern__work_end(&endpoint->work);
    }
    tern__work_done(&endpoint->work, &message->done); // the message may be gone after this
}

// Messages of a rank to itself.

static uint64_t count_tag(const struct tern__mail_queue *queue, uint64_t tag, bool begun)
{
    uint64_t count = 0;
    for (const struct tern__message *at = queue->oldest; at != NULL; at = at->next) {
        count += at->tag == tag && (begun || !at->begun);
    }
    return count;
}

// Sends to this rank that have been started, and that no recv has met.
static uint64_t count_sent(const struct tern__endpoint *endpoint, uint64_t tag)
{
    const struct tern__calls *calls = endpoint->calls;
    int self = calls->rank;
    uint64_t count = count_tag(&endpoint->out[self].queue, tag, false);
    for (uint32_t at = endpoint->in[self].pieces; at != endpoint->out[self].pieces;) {
        const struct tern__mail *mail = tern__area_mail(calls->area, self, self, ++at);
        count += mail->signature != 0 && mail->tag == tag;
    }
    for (const struct tern__early *at = endpoint->in[self].early; at != NULL; at = at->next) {
        count += at->tag == tag && at->claimed == NULL;
    }
    return count;
}

int tern__message_check_alone(const struct tern__message *message)
{
    const struct tern__endpoint *endpoint = message->endpoint;
    int self = endpoint->calls->rank;
    if (message->peer != self && (!tern__message_is_any(message) || endpoint->calls->nranks > 1)) {
        return TERN_OK;
    }
    // Whether a send would find room in the mailbox does not count: what works must not depend on
    // the size.
    uint64_t sent = count_sent(endpoint, message->tag);
    uint64_t wanted = count_tag(&endpoint->in[self].queue, message->tag, true) +
                      count_tag(&endpoint->any, message->tag, true);
    if (message->sends ? wanted > sent : sent > wanted) {
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG,
                      "%s: rank %d is this rank itself, and no %s has been started that it would "
                      "meet, so it would wait for itself; start one of the two with "
                      "tern_coll_start first",
                      message->name, self, message->sends ? "recv from it" : "send to it");
}
