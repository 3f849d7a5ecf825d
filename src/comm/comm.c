// SPDX-License-Identifier: Apache-2.0
// Communicators: the first of a job, split, barrier, health, destroy. Set-up path, but for the
// barrier.

#include "comm/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "base/log.h"
#include "boot/join.h"
#include "comm/area.h"
#include "comm/checking.h"
#include "comm/heap.h"
#include "comm/registry.h"
#include "comm/window.h"
#include "sync/work.h"

static void in_child(void)
{
    tern__work_forget();
    tern__registry_forget();
    tern__windows_forget();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

// The area of the first communicator, with the heap behind it. Where a rank may not reserve as many
// addresses (ulimit -v), there is no heap, on any rank.
static int make_area(tern_comm *comm)
{
    int nranks = comm->group.size;
    size_t heap_bytes = tern__heap_bytes(nranks);
    int status =
        tern__window_create_sparse(comm, tern__area_bytes(nranks) + heap_bytes, &comm->area);
    if (status == TERN_ERR_MEMORY) {
        return tern__window_create_sparse(comm, tern__area_bytes(nranks), &comm->area);
    }
    return status == TERN_OK ? tern__heap_create(comm, heap_bytes) : status;
}

int tern__comm_first(struct tern__job *job, void (*ended)(void), tern_comm **comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    tern_comm *made = tern__handle_new(TERN__COMM, sizeof *made);
    if (made == NULL) {
        tern__job_leave(job);
        return tern__fail(TERN_ERR_MEMORY, "no memory for a communicator");
    }
    made->first = true;
    made->ended = ended;
    made->group = (struct tern__group){.job = job,
                                       .shared = &job->ctl->comms[0],
                                       .rank = job->rank,
                                       .size = job->nranks};
    for (int rank = 0; rank < job->nranks; rank++) {
        made->group.members[rank] = rank;
        made->xports[rank] = tern__xport_find("shm");
    }
    int status = make_area(made);
    status = status == TERN_OK ? tern__checking_create(made) : status;
    if (status != TERN_OK) {
        tern__checking_destroy(made);
        tern_window_destroy(made->area);
        tern__group_leave(&made->group);
        tern__job_leave(job);
        tern__handle_free(made, sizeof *made);
        return status;
    }
    if (tern__log_rank() < 0) {
        tern__log_set_rank(job->rank);
    }
    *comm = made;
    return TERN_OK;
}

int tern_comm_rank(const tern_comm *comm)
{
    TERN_TRY(tern__comm_lives("tern_comm_rank", comm));
    return comm->group.rank;
}

int tern_comm_size(const tern_comm *comm)
{
    TERN_TRY(tern__comm_lives("tern_comm_size", comm));
    return comm->group.size;
}

static int comm_barrier(tern_comm *comm)
{
    TERN_TRY(tern__comm_lives("tern_comm_barrier", comm));
    tern__checking_tick(comm);
    int status = tern__group_barrier(&comm->group, TERN__MEETING_BARRIER);
    tern__checking_join(comm);
    return status;
}

int tern_comm_barrier(tern_comm *comm)
{
    return TERN__CALL(comm_barrier(comm));
}

int tern_comm_health(tern_comm *comm)
{
    TERN_TRY(tern__comm_lives("tern_comm_health", comm));
    return tern__group_check(&comm->group, true);
}

// What a rank says in a split, and where its part's shared state is.
struct split_choice {
    int32_t color;
    int32_t key;
};

// Fills in the members that chose this rank's colour, ordered by (key, rank); members are ranks of
// the parent.
static void choose_members(const struct split_choice *choices, const struct tern__group *parent,
                           struct tern__group *part)
{
    int color = choices[parent->rank].color;
    for (int rank = 0; rank < parent->size; rank++) {
        if (choices[rank].color != color) {
            continue;
        }
        int at = part->size++;
        while (at > 0 && choices[part->members[at - 1]].key > choices[rank].key) {
            part->members[at] = part->members[at - 1];
            at--;
        }
        part->members[at] = rank;
    }
}

// Takes a free slot of the control memory, or returns -1. A slot is zero when it is free.
static int take_slot(struct tern__ctl *ctl, int holders)
{
    for (int slot = 1; slot < TERN__COMM_SLOTS; slot++) {
        if (tern__peek(&ctl->slots[slot]) == 0 && tern__flag_swap(&ctl->slots[slot], 0, 1)) {
            tern__poke(&ctl->comms[slot].holders, (uint32_t)holders);
            return slot;
        }
    }
    return -1;
}

static void release_slot(struct tern__ctl *ctl, int slot)
{
    memset((void *)&ctl->comms[slot], 0, sizeof ctl->comms[slot]);
    tern__flag_store(&ctl->slots[slot], 0); // partner: take_slot
}

static int comm_split(tern_comm *comm, int color, int key, tern_comm **part)
{
    TERN_TRY(tern__comm_lives("tern_comm_split", comm));
    if (part == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_comm_split: part must not be NULL");
    }
    struct tern__group *parent = &comm->group;
    struct split_choice mine = {.color = color < 0 ? -1 : color, .key = key};
    struct split_choice choices[TERN_RANKS_MAX];
    int32_t slots[TERN_RANKS_MAX];
    tern_comm *made = tern__handle_new(TERN__COMM, sizeof *made);
    int32_t slot = -1;
    int status = tern__group_exchange(parent, TERN__MEETING_SPLIT, &mine, sizeof mine, choices);
    if (status == TERN_OK && made != NULL && color >= 0) {
        choose_members(choices, parent, &made->group);
        if (made->group.members[0] == parent->rank) {
            slot = take_slot(parent->job->ctl, made->group.size);
        }
    }
    if (status == TERN_OK) {
        status = tern__group_exchange(parent, TERN__MEETING_SPLIT, &slot, sizeof slot, slots);
    }
    if (status == TERN_OK && made == NULL) {
        status = tern__fail(TERN_ERR_MEMORY, "no memory for a communicator");
    }
    if (status != TERN_OK || color < 0) {
        tern__handle_free(made, sizeof *made);
        *part = status == TERN_OK ? NULL : *part;
        return status;
    }
    struct tern__group *group = &made->group;
    group->job = parent->job;
    group->slot = slots[group->members[0]];
    if (group->slot < 0) {
        tern__handle_free(made, sizeof *made);
        return tern__fail(TERN_ERR_LIMIT,
                          "tern_comm_split: %d communicators of this job are alive "
                          "and there cannot be more",
                          TERN__COMM_SLOTS);
    }
    group->shared = &group->job->ctl->comms[group->slot];
    for (int rank = 0; rank < group->size; rank++) {
        group->rank = group->members[rank] == parent->rank ? rank : group->rank;
        made->xports[rank] = comm->xports[group->members[rank]];
        group->members[rank] = parent->members[group->members[rank]];
    }
    made->parent = comm;
    tern__comm_gains(comm, TERN__CHILD_PART);
    status = tern__window_create_sparse(made, tern__area_bytes(group->size), &made->area);
    if (status != TERN_OK) {
        tern_comm_destroy(made);
        return status;
    }
    *part = made;
    return TERN_OK;
}

int tern_comm_split(tern_comm *comm, int color, int key, tern_comm **part)
{
    return TERN__CALL_OF_CALLS(comm_split(comm, color, key, part));
}

// In the child of a fork: frees the child's copies and mappings. The job, where the parent goes on,
// sees nothing of it.
static int let_go(tern_comm *comm)
{
    if (comm->calls != NULL) {
        comm->free_calls(comm->calls);
    }
    tern__heap_let_go(comm->heap);
    tern__checking_destroy(comm);
    tern_window_destroy(comm->area);
    if (comm->first) {
        tern__job_let_go(comm->group.job);
    }
    tern__handle_free(comm, sizeof *comm);
    return TERN_OK;
}

// TERN_OK when nothing is left that was made from it; else what.
static int check_childless(struct tern_comm *comm)
{
    static const char *const names[TERN__CHILDREN] = {"window", "chip", "split communicator",
                                                      "request", "tern_alloc block"};
    char text[160] = "";
    size_t used = 0;
    uint32_t total = 0;
    uint32_t requests = 0;
    for (int child = 0; child < TERN__CHILDREN; child++) {
        uint32_t count = tern__flag_load(&comm->children[child]);
        if (count > 0) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%u %s%s", used > 0 ? ", " : "",
                                 count, names[child], count > 1 ? "s" : "");
        }
        total += count;
        requests += child == TERN__CHILD_REQUEST ? count : 0;
    }
    if (total == 0) {
        return TERN_OK;
    }
    bool blocks = tern__flag_load(&comm->children[TERN__CHILD_MEMORY]) > 0;
    return tern__fail(TERN_ERR_STATE, "tern_comm_destroy: %s of it %s not ended; %s%s%s", text,
                      total > 1 ? "have" : "has",
                      blocks             ? "tern_free and destroy what was made from it first"
                      : total > requests ? "destroy what was made from it first"
                                         : "",
                      total > requests && requests > 0 ? "; " : "",
                      requests > 0 ? "wait for running requests (tern_request_wait) and free "
                                     "persistent ones (tern_request_free) first"
                                   : "");
}

static int comm_destroy(tern_comm *comm)
{
    if (comm == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(comm, TERN__COMM)) {
        return let_go(comm);
    }
    TERN_TRY(tern__comm_lives("tern_comm_destroy", comm));
    TERN_TRY(check_childless(comm));
    struct tern__job *job = comm->group.job;
    int slot = comm->group.slot;
    if (comm->calls != NULL) {
        comm->free_calls(comm->calls);
    }
    tern__heap_destroy(comm->heap);
    tern__checking_destroy(comm);
    tern_window_destroy(comm->area);
    bool last = tern__group_leave(&comm->group);
    if (comm->first) {
        tern__job_leave(job);
        tern__log_set_rank(-1);
        if (comm->ended != NULL) {
            comm->ended();
        }
    } else {
        if (last) {
            release_slot(job->ctl, slot);
        }
        tern__comm_loses(comm->parent, TERN__CHILD_PART);
    }
    tern__handle_free(comm, sizeof *comm);
    return TERN_OK;
}

int tern_comm_destroy(tern_comm *comm)
{
    return TERN__CALL_OF_CALLS(comm_destroy(comm));
}
