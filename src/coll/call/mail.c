// SPDX-License-Identifier: Apache-2.0
// send and recv. Data path: no lock, no log, no allocation but at a communicator's first message,
// and no system call but to sleep when nothing can go on.

#include "coll/call/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "sync/doing.h"

static int endpoint_of(struct tern__calls *calls, struct tern__endpoint **endpoint);

int tern__message_check(const char *name, struct tern__calls *calls, const tern_coll *from,
                        struct tern__message *message)
{
    memset(message, 0, sizeof *message);
    TERN_TRY(tern__call_check_comm(name, calls));
    TERN_TRY(endpoint_of(calls, &message->endpoint));
    TERN_TRY(tern__call_check_timeout(name, calls, from, &message->timeout_ns));
    message->name = name;
    message->sends = from->kind == TERN_COLL_SEND;
    message->peer = from->root;
    message->buffer = message->sends ? (char *)(uintptr_t)from->in : from->out;
    size_t element = tern_dtype_size(from->dtype);
    if (element == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no dtype", name, (int)from->dtype);
    }
    bool any = !message->sends && from->root == TERN_RANK_ANY;
    if (!any && (from->root < 0 || from->root >= calls->nranks)) {
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
    message->tag = from->tag;
    message->received = message->sends ? NULL : from->received;
    message->element_bytes = element;
    message->signature = tern__message_signature(from->dtype, message->bytes);
    return TERN_OK;
}

static struct tern__endpoint *endpoint_of_work(struct tern__work *work)
{
    return (struct tern__endpoint *)(void *)((char *)work - offsetof(struct tern__endpoint, work));
}

static bool advance_work(struct tern__work *work)
{
    return tern__endpoint_advance(endpoint_of_work(work));
}

static bool work_ready(struct tern__work *work)
{
    return tern__endpoint_ready(endpoint_of_work(work));
}

// "message 3, a send of 4096 bytes to rank 2, tag 7, of which 1024 have moved", "message 1, a recv
// of at most 40 bytes from any rank"
static void name_message(const struct tern__message *message, char *text, size_t size)
{
    const struct tern__group *group = &message->endpoint->calls->comm->group;
    bool any = tern__message_is_any(message);
    char tag[40] = "";
    char moved[56] = "";
    if (message->tag != 0) {
        snprintf(tag, sizeof tag, ", tag %llu", (unsigned long long)message->tag);
    }
    if (!any) {
        snprintf(moved, sizeof moved, ", of which %llu have moved",
                 (unsigned long long)message->moved);
    }
    snprintf(text, size, "message %llu, a %s of %s%llu bytes %s %s%s%s",
             (unsigned long long)message->number, message->sends ? "send" : "recv",
             message->received != NULL && !message->begun ? "at most " : "",
             (unsigned long long)message->bytes, message->sends ? "to" : "from",
             any ? "any rank" : tern__rank_name(group, message->peer).text, tag, moved);
}

static void work_asleep(struct tern__work *work)
{
    const struct tern__message *message = endpoint_of_work(work)->awaited;
    tern__job_doing(work->job, TERN__DOING_MAIL,
                    (uint64_t)(int64_t)(message != NULL ? message->peer : 0));
    if (message != NULL) {
        tern__record_waits(message->record, tern__stuck(message->peer, 0, -1), tern__now_ns());
    }
}

// The ranks of which one must do something for the message; none for a recv of any rank where there
// is no other.
static uint64_t peers_of(const struct tern__message *message)
{
    return message->peer >= 0 ? UINT64_C(1) << message->peer : message->endpoint->calls->others;
}

static int work_broken(struct tern__work *work, bool deep)
{
    struct tern__endpoint *endpoint = endpoint_of_work(work);
    struct tern__group *group = &endpoint->calls->comm->group;
    const struct tern__message *message = endpoint->awaited;
    TERN_TRY(tern__group_check(group, deep));
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    uint64_t wanted = message != NULL ? peers_of(message) : 0;
    if (wanted == 0 || (left & wanted) != wanted ||
        tern__endpoint_ready(endpoint)) { // partner: tern__group_leave, after its last message
        return TERN_OK;
    }
    char name[192];
    name_message(message, name, sizeof name);
    int last = message->peer < 0 ? 63 - __builtin_clzll(wanted) : message->peer;
    return tern__group_has_left(group, last, " before %s", name);
}

static int work_timed_out(struct tern__work *work, int64_t waited_ns)
{
    struct tern__endpoint *endpoint = endpoint_of_work(work);
    struct tern__group *group = &endpoint->calls->comm->group;
    const struct tern__message *message = endpoint->awaited;
    char name[192];
    char doing[TERN__FAILURE_BYTES / 2];
    name_message(message, name, sizeof name);
    int blamed = tern__doing_ranks(group, peers_of(message), doing, sizeof doing);
    return tern__group_timed_out(group, waited_ns, message->peer >= 0 ? message->peer : blamed,
                                 "%s; %s", name, doing);
}

static void work_awake(struct tern__work *work)
{
    const struct tern__message *message = endpoint_of_work(work)->awaited;
    if (message != NULL) {
        tern__record_waits(message->record, 0, 0);
    }
}

static void work_describe(struct tern__work *work, struct tern__trace_event *event)
{
    const struct tern__endpoint *endpoint = endpoint_of_work(work);
    if (endpoint->awaited != NULL) {
        tern__trace_message_rest(endpoint->awaited, event);
    }
}

static void work_await(struct tern__work *work, const void *what)
{
    endpoint_of_work(work)->awaited = what;
}

static const struct tern__work_ops endpoint_ops = {
    .advance = advance_work,
    .ready = work_ready,
    .asleep = work_asleep,
    .broken = work_broken,
    .timed_out = work_timed_out,
    .awake = work_awake,
    .describe = work_describe,
    .await = work_await,
};

static int endpoint_of(struct tern__calls *calls, struct tern__endpoint **endpoint)
{
    if (calls->endpoint == NULL) {
        struct tern__endpoint *made = calloc(1, sizeof *made);
        if (made == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for messages");
        }
        made->calls = calls;
        made->work.ops = &endpoint_ops;
        made->work.job = calls->comm->group.job;
        made->work.turn = &calls->comm->turn;
        calls->endpoint = made;
    }
    *endpoint = calls->endpoint;
    return TERN_OK;
}

void tern__endpoint_let_go(struct tern__endpoint *endpoint)
{
    for (int peer = 0; endpoint != NULL && peer < TERN_RANKS_MAX; peer++) {
        while (endpoint->in[peer].early != NULL) {
            tern__early_free(&endpoint->in[peer], endpoint->in[peer].early);
        }
    }
    free(endpoint);
}

void tern__endpoint_free(struct tern__endpoint *endpoint)
{
    if (endpoint != NULL) {
        tern__endpoint_fail(endpoint, TERN_ERR_STATE);
        tern__endpoint_let_go(endpoint);
    }
}

int tern__message_begin(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__mail_queue *queue = tern__mail_queue_of(message);
    message->moved = 0;
    message->by_reference = false;
    message->helps = false;
    message->begun = false;
    tern__poke(&message->done, 0);
    message->next = NULL;
    tern__message_count(message);
    if (endpoint->waiting++ == 0) {
        tern__work_begin(&endpoint->work);
    }
    if (queue->oldest == NULL) {
        queue->oldest = message;
    } else {
        queue->newest->next = message;
    }
    queue->newest = message;
    // A long copy comes later: the caller may be about to begin a send that another rank waits for.
    int status = tern__message_advance(message, false);
    if (status < 0) {
        tern__endpoint_fail(endpoint, status);
    }
    return TERN_OK;
}

// The sentence of a message that has failed for the communicator's reasons.
int tern__message_failed(const struct tern__message *message)
{
    char name[192];
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
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__awaited awaited = {.work = &endpoint->work,
                                    .done = &message->done,
                                    .what = message,
                                    .timeout_ns = message->timeout_ns};
    while (tern__observe(&message->done) == 0) {
        int status = tern__work_wait(&awaited);
        if (status < 0) {
            tern__turn_take(endpoint->work.turn);
            if (tern__observe(&message->done) == 0) {
                tern__endpoint_fail(endpoint, status);
            }
            tern__turn_leave(endpoint->work.turn);
        }
    }
    if (message->status >= 0) {
        return TERN_OK;
    }
    if (message->ended_by != tern__thread_number()) { // the sentence of the communicator
        tern_status_ignore(tern__comm_check(endpoint->calls->comm));
    }
    return tern__message_failed(message);
}
