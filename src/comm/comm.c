// SPDX-License-Identifier: Apache-2.0
// Communicators: the first of a job, barrier, health, destroy. Set-up path, but for the barrier.

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
#include "comm/fault.h"
#include "comm/heap.h"
#include "comm/registry.h"
#include "comm/window.h"
#include "net/engine.h"
#include "sync/work.h"

static void in_child(void)
{
    tern__work_forget();
    tern__registry_forget();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

// What carries the bytes between machines, where that is a plug-in. All ranks must name the same;
// what others need to know of each is exchanged in pieces that fit a cell.
static int start_engine(struct tern__group *group)
{
    enum { PIECE = TERN__CELL_BYTES };
    char card[TERN__NET_CARD_BYTES] = {0};
    char pieces[TERN_RANKS_MAX][PIECE];
    const char *word;
    TERN_TRY(tern__net_engine_word(&word));
    snprintf(card, PIECE, "%s", word);
    TERN_TRY(tern__group_exchange(group, TERN__MEETING_WINDOW, card, PIECE, pieces));
    for (int rank = 0; rank < group->size; rank++) {
        if (strcmp(pieces[rank], word) != 0) {
            return tern__group_fail(group, TERN_ERR_MISMATCH, rank,
                                    "TERN_NET is '%s' for rank %d and '%s' for rank %d; all ranks "
                                    "of a job need the same",
                                    word, group->rank, pieces[rank], rank);
        }
    }
    if (strcmp(word, "tcp") == 0) {
        return TERN_OK;
    }
    char *cards = calloc((size_t)group->size, sizeof card);
    memset(card, 0, sizeof card);
    int status = cards != NULL ? tern__net_engine_open(group->job->net, word, card)
                               : tern__fail(TERN_ERR_MEMORY, "no memory for an engine");
    if (status != TERN_OK) {
        free(cards);
        return tern__group_fail(group, status, group->rank, "%s", tern_last_error());
    }
    for (size_t at = 0; at < sizeof card && status == TERN_OK; at += PIECE) {
        size_t part = sizeof card - at < PIECE ? sizeof card - at : PIECE;
        status = tern__group_exchange(group, TERN__MEETING_WINDOW, card + at, part, pieces);
        for (int rank = 0; rank < group->size && status == TERN_OK; rank++) {
            memcpy(cards + (size_t)rank * sizeof card + at, (char *)pieces + (size_t)rank * part,
                   part);
        }
    }
    status = status == TERN_OK ? tern__net_engine_connect(group->job->net, cards) : status;
    free(cards);
    group->barriers_before = group->barriers;
    return status;
}

// The area of the first communicator, with the heap behind it. Where a rank may not reserve as many
// addresses (ulimit -v), there is no heap, on any rank.
static int make_area(tern_comm *comm)
{
    int nranks = comm->group.size;
    size_t area_bytes = tern__area_bytes(nranks, comm->group.job->net != NULL);
    size_t heap_bytes = tern__heap_bytes(nranks);
    int status = tern__window_create_sparse(comm, area_bytes + heap_bytes, &comm->area);
    if (status == TERN_ERR_MEMORY) {
        return tern__window_create_sparse(comm, area_bytes, &comm->area);
    }
    return status == TERN_OK ? tern__heap_create(comm, heap_bytes) : status;
}

static void stop_net(struct tern__job *job)
{
    if (job->machines != NULL) {
        tern__net_stop(job);
        tern__fault_unwatch_windows();
    }
}

tern_comm *tern__comm_bare(struct tern__job *job)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    tern_comm *made = tern__handle_new(TERN__COMM, sizeof *made);
    if (made == NULL) {
        tern__fail(TERN_ERR_MEMORY, "no memory for a communicator");
        return NULL;
    }
    made->first = true;
    made->group = (struct tern__group){.job = job,
                                       .shared = &job->ctl->comms[0],
                                       .rank = job->rank,
                                       .size = job->nranks};
    for (int rank = 0; rank < job->nranks; rank++) {
        made->group.members[rank] = rank;
        made->xports[rank] = job->machines == NULL          ? &tern__xport_shm
                             : tern__job_is_here(job, rank) ? &tern__xport_near
                                                            : &tern__xport_net;
    }
    tern__group_place(&made->group);
    job->first = &made->group;
    return made;
}

int tern__comm_first(struct tern__job *job, void (*ended)(void), tern_comm **comm)
{
    tern_comm *made = tern__comm_bare(job);
    if (made == NULL) {
        tern__job_leave(job);
        return TERN_ERR_MEMORY;
    }
    made->ended = ended;
    int status = TERN_OK;
    if (job->machines != NULL) {
        tern__fault_watch_windows();
        status = tern__net_start(job);
        status = status == TERN_OK ? start_engine(&made->group) : status;
    }
    status = status == TERN_OK ? make_area(made) : status;
    status = status == TERN_OK ? tern__checking_create(made) : status;
    if (status != TERN_OK) {
        tern__checking_destroy(made);
        tern_window_destroy(made->area);
        tern__group_leave(&made->group);
        stop_net(job);
        tern__job_leave(job);
        tern__handle_free(made, sizeof *made);
        return status;
    }
    if (tern__log_rank() < 0) {
        tern__log_set_rank(job->rank);
        made->logs = true;
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

static int comm_abort(tern_comm *comm, const char *sentence)
{
    TERN_TRY(tern__comm_lives("tern_comm_abort", comm));
    bool said = sentence != NULL && sentence[0] != '\0';
    char last[TERN_ERROR_BYTES];
    snprintf(last, sizeof last, "%s", tern_last_error());
    tern_status_ignore(tern__group_fail(&comm->group, TERN_ERR_ABORTED, comm->group.rank,
                                        "%s ended the communicator%s%s",
                                        tern__rank_name(&comm->group, comm->group.rank).text,
                                        said ? ": " : "", said ? sentence : ""));
    tern__set_error("%s", last); // this call has not failed
    return TERN_OK;
}

int tern_comm_abort(tern_comm *comm, const char *sentence)
{
    return TERN__CALL(comm_abort(comm, sentence));
}

static void free_area(const tern_comm *comm, bool keeps_memory)
{
    if (keeps_memory) {
        tern_window_release(comm->area);
    } else {
        tern_window_destroy(comm->area);
    }
}

// In the child of a fork: frees the child's copies and mappings. The job, where the parent goes on,
// sees nothing of it.
static int let_go(tern_comm *comm, bool keeps_memory)
{
    if (comm->calls != NULL) {
        comm->free_calls(comm->calls);
    }
    tern__heap_let_go(comm->heap);
    tern__checking_destroy(comm);
    free_area(comm, keeps_memory);
    if (comm->first) {
        tern__job_let_go(comm->group.job);
    }
    tern__handle_free(comm, sizeof *comm);
    return TERN_OK;
}

// TERN_OK when nothing is left that was made from it; else what.
static int check_childless(const char *call, struct tern_comm *comm, bool keeps_memory)
{
    static const char *const names[TERN__CHILDREN] = {
        "window", "chip", "split communicator", "request", "tern_alloc block", "waiter"};
    char text[160] = "";
    size_t used = 0;
    uint32_t total = 0;
    uint32_t requests = 0;
    for (int child = 0; child < TERN__CHILDREN; child++) {
        uint32_t count = tern__flag_load(&comm->children[child]);
        count = keeps_memory && child == TERN__CHILD_MEMORY ? 0 : count;
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
    bool blocks = !keeps_memory && tern__flag_load(&comm->children[TERN__CHILD_MEMORY]) > 0;
    return tern__fail(TERN_ERR_STATE, "%s: %s of it %s not ended; %s%s%s", call, text,
                      total > 1 ? "have" : "has",
                      blocks             ? "tern_free and destroy what was made from it first"
                      : total > requests ? "destroy what was made from it first"
                                         : "",
                      total > requests && requests > 0 ? "; " : "",
                      requests > 0 ? "wait for running requests (tern_request_wait) and free "
                                     "persistent ones (tern_request_free) first"
                                   : "");
}

static int comm_destroy(const char *call, tern_comm *comm, bool keeps_memory)
{
    if (comm == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(comm, TERN__COMM)) {
        return let_go(comm, keeps_memory);
    }
    TERN_TRY(tern__comm_lives(call, comm));
    TERN_TRY(check_childless(call, comm, keeps_memory));
    struct tern__job *job = comm->group.job;
    tern__turn_take(&comm->turn); // a thread may have ended its last call and not left it yet
    if (comm->calls != NULL) {
        comm->free_calls(comm->calls);
    }
    tern__turn_leave(&comm->turn);
    tern__heap_destroy(comm->heap);
    free_area(comm, keeps_memory);
    tern__group_leave(&comm->group);
    if (comm->first) {
        tern__checking_destroy(comm);
        stop_net(job);
        tern__job_leave(job);
        if (comm->logs) {
            tern__log_set_rank(-1);
        }
        if (comm->ended != NULL) {
            comm->ended();
        }
    } else {
        tern__comm_loses(comm->parent, TERN__CHILD_PART);
    }
    tern__handle_free(comm, sizeof *comm);
    return TERN_OK;
}

int tern_comm_destroy(tern_comm *comm)
{
    return TERN__CALL_OF_CALLS(comm_destroy("tern_comm_destroy", comm, false));
}

int tern_comm_release(tern_comm *comm)
{
    return TERN__CALL_OF_CALLS(comm_destroy("tern_comm_release", comm, true));
}
