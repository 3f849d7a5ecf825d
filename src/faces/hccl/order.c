// SPDX-License-Identifier: Apache-2.0
// The order of calls, and groups. Set-up path: a call allocates what the stream keeps of it.

#include "faces/hccl/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "comm/comm.h"

// What a thread's group has gathered, in order.
struct gathered {
    struct gathered *next;
    struct tern__hccl_work *work;
    tern_stream *stream;
};

static _Thread_local struct {
    int depth;
    struct gathered *first, *last;
} group;

bool tern__hccl_in_group(void)
{
    return group.depth > 0;
}

bool tern__hccl_gathers(const struct hccl *comm)
{
    const struct gathered *one = group.first;
    while (one != NULL && one->work->comm != comm) {
        one = one->next;
    }
    return one != NULL;
}

struct tern__hccl_work *tern__hccl_work_new(const char *name, struct hccl *comm, uint32_t count,
                                            size_t words, size_t **room)
{
    size_t head = sizeof(struct tern__hccl_work) + (size_t)count * sizeof(tern_coll);
    size_t bytes = head + words * sizeof **room;
    struct tern__hccl_work *work = calloc(1, bytes);
    if (work == NULL) {
        tern__set_error("%s: no memory for %u calls", name, count);
        return NULL;
    }
    work->comm = comm;
    work->name = name;
    work->bytes = bytes;
    work->made_at = work;
    work->count = count;
    if (room != NULL) {
        *room = (size_t *)(void *)((char *)work + head);
    }
    return work;
}

static const size_t *moved(const size_t *pointer, const void *from, void *to)
{
    return pointer == NULL ? NULL
                           : (const size_t *)(void *)((char *)to +
                                                      ((const char *)pointer - (const char *)from));
}

// Its bytes were copied: arrays at `from` are at `to`.
static void move(tern_coll *call, const void *from, void *to)
{
    call->in_counts = moved(call->in_counts, from, to);
    call->in_offsets = moved(call->in_offsets, from, to);
    call->out_counts = moved(call->out_counts, from, to);
    call->out_offsets = moved(call->out_offsets, from, to);
}

// All under way together.
static int run_several(const struct tern__hccl_work *work)
{
    tern_comm *comm = work->comm->comm;
    tern_request *requests = calloc(work->count, sizeof *requests);
    if (requests == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for %u requests", work->count);
    }
    int status = TERN_OK;
    for (uint32_t i = 0; i < work->count && status == TERN_OK; i++) {
        status = tern_coll_start(comm, &work->calls[i], &requests[i]);
    }
    if (status != TERN_OK) { // those that were started must end
        status = tern__group_fail(&comm->group, status, (int)work->comm->rank, "%s: %s", work->name,
                                  tern_last_error());
    }
    int ended = tern_request_wait_all(requests, (int)work->count);
    free(requests);
    return status != TERN_OK ? status : ended;
}

static int run(struct tern__hccl_work *work)
{
    int status =
        work->count == 1 ? tern_coll_run(work->comm->comm, &work->calls[0]) : run_several(work);
    if (status != TERN_OK) {
        tern__hccl_failed(work->comm, status);
    }
    return status;
}

static int run_in_stream(void *args)
{
    struct tern__hccl_work *work = args;
    for (uint32_t i = 0; i < work->count; i++) {
        move(&work->calls[i], work->made_at, work);
    }
    return run(work);
}

// Its stream has failed: the others would wait for this rank.
static void drop(void *args)
{
    struct tern__hccl_work *work = args;
    struct hccl *comm = work->comm;
    int status = tern__group_fail(&comm->comm->group, TERN_ERR_KERNEL, (int)comm->rank,
                                  "rank %u did not make its %s, because its stream had failed: %s",
                                  comm->rank, work->name, tern_last_error());
    tern__hccl_failed(comm, status);
}

int tern__hccl_enter(struct hccl *comm)
{
    for (;;) {
        // Without the lock: what is waited for may be behind a callback that makes such calls.
        TERN_TRY(tern_event_sync(comm->ended, TERN_TIMEOUT_DEFAULT));
        pthread_mutex_lock(&comm->order);
        if (tern_event_test(comm->ended) == 1) { // no other has been made since
            return TERN_OK;
        }
        pthread_mutex_unlock(&comm->order);
    }
}

void tern__hccl_leave(struct hccl *comm)
{
    pthread_mutex_unlock(&comm->order);
}

// After the communicator's last call.
static int append(struct tern__hccl_work *work, tern_stream *stream)
{
    struct hccl *comm = work->comm;
    int status = TERN_OK;
    pthread_mutex_lock(&comm->order);
    if (comm->stream != NULL && comm->stream != stream) {
        status = tern_stream_wait_event(stream, comm->ended);
    }
    if (status == TERN_OK) {
        status = tern_stream_call(stream, &(tern_stream_host_call){.function = run_in_stream,
                                                                   .dropped = drop,
                                                                   .name = work->name,
                                                                   .args = work,
                                                                   .args_bytes = work->bytes,
                                                                   .ended = comm->ended});
    }
    if (status == TERN_OK) {
        comm->stream = stream;
    }
    pthread_mutex_unlock(&comm->order);
    return status;
}

static HcclResult place(struct tern__hccl_work *work, tern_stream *stream)
{
    int status;
    if (stream != NULL) {
        status = append(work, stream);
    } else {
        status = tern__hccl_enter(work->comm);
        if (status == TERN_OK) {
            status = run(work);
            tern__hccl_leave(work->comm);
        }
    }
    return tern__hccl_result(status);
}

HcclResult tern__hccl_ready(const char *call, const struct hccl *comm)
{
    HcclResult result = tern__hccl_lives(call, comm);
    if (result == HCCL_SUCCESS && tern__flag_load(&comm->suspended) != 0) {
        return tern__hccl_refuse(call, HCCL_E_SUSPENDING,
                                 "communicator '%s' is suspended; HcclCommResume ends that",
                                 comm->name);
    }
    return result;
}

HcclResult tern__hccl_submit(struct tern__hccl_work *work, tern_stream *stream)
{
    HcclResult result = HCCL_SUCCESS;
    if (!tern__hccl_in_group()) {
        result = place(work, stream);
        free(work);
        return result;
    }
    struct gathered *one = malloc(sizeof *one);
    if (one == NULL) {
        result = tern__hccl_refuse(work->name, HCCL_E_MEMORY, "no memory for a call of a group");
        free(work);
        return result;
    }
    *one = (struct gathered){.work = work, .stream = stream};
    *(group.first == NULL ? &group.first : &group.last->next) = one;
    group.last = one;
    return HCCL_SUCCESS;
}

HcclResult HcclGroupStart(void)
{
    group.depth++;
    return HCCL_SUCCESS;
}

HcclResult HcclGroupStatusGet(bool *isGroupEnabled)
{
    if (isGroupEnabled == NULL) {
        return tern__hccl_no_pointer("HcclGroupStatusGet", "isGroupEnabled");
    }
    *isGroupEnabled = tern__hccl_in_group();
    return HCCL_SUCCESS;
}

static bool goes_with(const struct gathered *one, const struct gathered *first)
{
    return one->work->comm == first->work->comm && one->stream == first->stream;
}

// The work of one communicator and stream, as one. NULL: no memory.
static struct tern__hccl_work *join(const struct gathered *first)
{
    uint32_t count = 0;
    size_t words = 0;
    for (const struct gathered *one = first; one != NULL; one = one->next) {
        if (goes_with(one, first)) {
            count += one->work->count;
            words += one->work->bytes / sizeof(size_t);
        }
    }
    size_t *room = NULL;
    struct tern__hccl_work *work =
        tern__hccl_work_new("HcclGroupEnd", first->work->comm, count, words, &room);
    uint32_t made = 0;
    for (const struct gathered *one = first; one != NULL && work != NULL; one = one->next) {
        if (goes_with(one, first)) {
            memcpy(room, one->work, one->work->bytes); // all of it: simple, and arrays keep places
            for (uint32_t i = 0; i < one->work->count; i++) {
                work->calls[made] = one->work->calls[i];
                move(&work->calls[made++], one->work, room);
            }
            room += one->work->bytes / sizeof(size_t);
        }
    }
    return work;
}

// Frees what goes with the first of the list, and returns the rest.
static struct gathered *take_off(struct gathered *list)
{
    HcclComm comm = list->work->comm;
    aclrtStream stream = list->stream;
    struct gathered *rest = NULL, **end = &rest;
    while (list != NULL) {
        struct gathered *next = list->next;
        if (list->work->comm == comm && list->stream == stream) {
            free(list->work);
            free(list);
        } else {
            *end = list;
            end = &list->next;
        }
        list = next;
    }
    *end = NULL;
    return rest;
}

HcclResult HcclGroupEnd(void)
{
    const char *call = "HcclGroupEnd";
    if (group.depth == 0) {
        return tern__hccl_refuse(call, HCCL_E_UNAVAIL,
                                 "no group has begun in this thread; HcclGroupStart begins one");
    }
    if (--group.depth > 0) {
        return HCCL_SUCCESS;
    }
    HcclResult result = HCCL_SUCCESS;
    struct gathered *list = group.first;
    group.first = group.last = NULL;
    while (list != NULL) {
        HcclResult ready = tern__hccl_ready(call, list->work->comm);
        struct tern__hccl_work *work = ready == HCCL_SUCCESS ? join(list) : NULL;
        if (work != NULL) {
            ready = place(work, list->stream);
            free(work);
        } else if (ready == HCCL_SUCCESS) {
            ready = tern__hccl_result(TERN_ERR_MEMORY);
        }
        result = result != HCCL_SUCCESS ? result : ready;
        list = take_off(list);
    }
    return result;
}
