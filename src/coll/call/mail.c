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

int tern__message_check_alone(struct tern__message *message)
{
    const struct tern__endpoint *endpoint = message->endpoint;
    int self = endpoint->calls->rank;
    if (message->peer != self) {
        return TERN_OK;
    }
    // Message k meets message k of the other direction. Whether a send would find room in the
    // mailbox does not count: what works must not depend on the size.
    const struct tern__pipe *pipe = tern__pipe_of(message);
    const struct tern__pipe *other = message->sends ? &endpoint->in[self] : &endpoint->out[self];
    if (other->messages > pipe->messages) {
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG,
                      "%s: rank %d is this rank itself, and no %s has been started that it would "
                      "meet, so it would wait for itself; start one of the two with "
                      "tern_coll_start first",
                      message->name, self, message->sends ? "recv from it" : "send to it");
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

// "message 3 (send of 4096 bytes to rank 2), of which 1024 are on their way"
static void name_message(const struct tern__message *message, char *text, size_t size)
{
    const struct tern__group *group = &message->endpoint->calls->comm->group;
    snprintf(text, size, "message %llu, a %s of %llu bytes %s %s, of which %llu have moved",
             (unsigned long long)message->number, message->sends ? "send" : "recv",
             (unsigned long long)message->bytes, message->sends ? "to" : "from",
             tern__rank_name(group, message->peer).text, (unsigned long long)message->moved);
}

static void work_asleep(struct tern__work *work)
{
    const struct tern__message *message = endpoint_of_work(work)->awaited;
    tern__job_doing(work->job, TERN__DOING_MAIL, (uint64_t)(message != NULL ? message->peer : 0));
    if (message != NULL) {
        tern__record_waits(message->record, tern__stuck(message->peer, 0, -1), tern__now_ns());
    }
}

static int work_broken(struct tern__work *work, bool deep)
{
    struct tern__endpoint *endpoint = endpoint_of_work(work);
    struct tern__group *group = &endpoint->calls->comm->group;
    const struct tern__message *message = endpoint->awaited;
    TERN_TRY(tern__group_check(group, deep));
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    if (message == NULL || (left >> message->peer & 1) == 0 ||
        tern__endpoint_ready(endpoint)) { // partner: tern__group_leave, after its last message
        return TERN_OK;
    }
    char name[160];
    name_message(message, name, sizeof name);
    return tern__group_has_left(group, message->peer, " before %s", name);
}

static int work_timed_out(struct tern__work *work, int64_t waited_ns)
{
    struct tern__endpoint *endpoint = endpoint_of_work(work);
    struct tern__group *group = &endpoint->calls->comm->group;
    const struct tern__message *message = endpoint->awaited;
    char name[160];
    char doing[TERN__FAILURE_BYTES / 2];
    name_message(message, name, sizeof name);
    tern__doing_ranks(group, UINT64_C(1) << message->peer, doing, sizeof doing);
    return tern__group_timed_out(group, waited_ns, message->peer, "%s; %s", name, doing);
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

static const struct tern__work_ops endpoint_ops = {
    .advance = advance_work,
    .ready = work_ready,
    .asleep = work_asleep,
    .broken = work_broken,
    .timed_out = work_timed_out,
    .awake = work_awake,
    .describe = work_describe,
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
        calls->endpoint = made;
    }
    *endpoint = calls->endpoint;
    return TERN_OK;
}

void tern__endpoint_free(struct tern__endpoint *endpoint)
{
    if (endpoint != NULL) {
        tern__endpoint_fail(endpoint, TERN_ERR_STATE);
        free(endpoint);
    }
}

int tern__message_begin(struct tern__message *message)
{
    struct tern__endpoint *endpoint = message->endpoint;
    struct tern__pipe *pipe = tern__pipe_of(message);
    if (tern__work_is_running(&endpoint->work) && !tern__work_is_mine(&endpoint->work)) {
        return tern__fail(TERN_ERR_STATE,
                          "%s: messages of this communicator that another thread began have not "
                          "ended",
                          message->name);
    }
    message->moved = 0;
    message->by_reference = false;
    message->begun = false;
    message->done = false;
    message->next = NULL;
    tern__message_count(message, pipe);
    if (endpoint->waiting++ == 0) {
        tern__work_begin(&endpoint->work);
    }
    if (pipe->oldest == NULL) {
        pipe->oldest = message;
    } else {
        pipe->newest->next = message;
    }
    pipe->newest = message;
    // A long copy comes later: the caller may be about to begin a send that another rank waits for.
    int status = tern__pipe_advance(pipe, false);
    if (status < 0) {
        tern__endpoint_fail(endpoint, status);
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
    struct tern__endpoint *endpoint = message->endpoint;
    endpoint->awaited = message;
    while (!message->done) {
        int status = tern__work_wait(&endpoint->work, &message->done, message->timeout_ns);
        if (status < 0) {
            tern__endpoint_fail(endpoint, status);
        }
    }
    endpoint->awaited = NULL;
    return message->status < 0 ? tern__message_failed(message) : TERN_OK;
}
