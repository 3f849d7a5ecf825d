// SPDX-License-Identifier: Apache-2.0
// What an object of AscendC::Hccl asks. Everything that is wrong is told with the place of the
// call; calls that were not done make the kernel's stream report an error. Short path: prepare,
// commit and wait make no system call and allocate nothing.

#include "faces/hccl/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tern/block.h"

void *tern_hccl_group_context(uint32_t group)
{
    struct hccl_server *server = tern__hccl_server_of_group(group);
    return server != NULL ? (void *)(uintptr_t)server->context : NULL;
}

// The server of an object that is in use; NULL: none, which `call` is told of.
static struct hccl_server *server_of(const tern_hccl *object, const char *call, tern_hccl_site site)
{
    if (object->state != OBJECT_LIVE) {
        const char *why = object->state == OBJECT_NEW     ? "before Init"
                          : object->state == OBJECT_ENDED ? "after Finalize"
                                                          : "on an object whose Init was refused";
        tern__hccl_tell(site, TERN_ERR_STATE, "%s: called %s", call, why);
        return NULL;
    }
    return object->server;
}

static bool is_follower(const tern_hccl *object)
{
    return object->state == OBJECT_LIVE && object->follows != 0;
}

// The same for calls that are the owner's.
static struct hccl_server *owned(const tern_hccl *object, const char *call, tern_hccl_site site)
{
    struct hccl_server *server = server_of(object, call, site);
    if (server == NULL) {
        return NULL;
    }
    if (object->right == 0) {
        tern__hccl_tell(site, TERN_ERR_STATE,
                        "%s: called by block %d, or on the wrong kind of core; %s", call,
                        tern_block_index(),
                        object->follows != 0
                            ? "the block that works calls it"
                            : "the configuration of the object names another kind");
        return NULL;
    }
    if (server->owner != object || server->life != object->life) {
        tern__hccl_tell(site, TERN_ERR_STATE,
                        "%s: called on a copy of the object that Init was called on", call);
        return NULL;
    }
    return server;
}

static struct device_task *task_of(struct hccl_server *server, const char *call, int handle,
                                   tern_hccl_site site)
{
    if (handle >= 0 && (uint32_t)handle < tern__peek(&server->prepared) &&
        server->tasks[handle].prepare) {
        return &server->tasks[handle];
    }
    if (handle != -1 || !server->refused) { // else it has been told why the handle is -1
        tern__hccl_tell(site, TERN_ERR_ARG, "%s: there is no handle %d", call, handle);
    }
    return NULL;
}

static void claim(tern_hccl *object, struct hccl_server *server, tern_hccl_site site)
{
    pthread_mutex_lock(&server->lock);
    bool free_now = server->owner == NULL;
    if (free_now) {
        server->owner = object;
        object->life = ++server->life;
        tern__flag_store(&server->begun, server->life); // partner: task_of, in follow.c
        server->prepares = server->collective = 0;
        server->refused = false;
    }
    pthread_mutex_unlock(&server->lock);
    if (!free_now) {
        tern__hccl_server_give(server);
        object->state = OBJECT_REFUSED;
        tern__hccl_tell(
            site, TERN_ERR_STATE,
            "Init: another object is in use on this context; it has to call Finalize first");
    }
}

void tern_hccl_init(tern_hccl *object, const tern_hccl_start *start, tern_hccl_site site)
{
    if (object->state == OBJECT_LIVE || object->state == OBJECT_ENDED) {
        tern__hccl_tell(site, TERN_ERR_STATE, "Init: the object %s; an object is initialised once",
                        object->state == OBJECT_LIVE ? "has been initialised"
                                                     : "has called Finalize");
        return;
    }
    struct hccl_server *server = tern__hccl_server_take(start->context);
    if (server == NULL) {
        object->state = OBJECT_REFUSED;
        tern__hccl_tell(
            site, TERN_ERR_ARG,
            "Init: %p is no context of HcclAllocComResourceByTiling (GetHcclContext gives it)",
            start->context);
        return;
    }
    *object = (tern_hccl){.server = server,
                          .tiling = start->tiling,
                          .works = start->block,
                          .state = OBJECT_LIVE,
                          .newest = start->newest,
                          .right = start->kind_fits != 0 && tern_block_index() == start->block,
                          .follows = start->kind_fits != 0 && tern_block_index() != start->block};
    if (object->follows != 0) {
        tern__hccl_follow_begin(object, server);
    } else if (object->right != 0) {
        claim(object, server, site);
    } else {
        tern__hccl_server_give(server);
    }
}

int tern_hccl_set_tiling(tern_hccl *object, const void *tiling, uint64_t offset, int by_offset,
                         tern_hccl_site site)
{
    const char *call = by_offset != 0 ? "SetCcTilingV2" : "SetCcTiling";
    if (server_of(object, call, site) == NULL) {
        return -1;
    }
    if (by_offset != 0 && (object->newest == 0 || object->tiling == NULL)) {
        tern__hccl_tell(site, TERN_ERR_STATE, "%s: it needs InitV2 with a tiling", call);
        return -1;
    }
    const char *found = by_offset != 0 ? (const char *)object->tiling + offset : tiling;
    if (found == NULL) {
        tern__hccl_tell(site, TERN_ERR_ARG, "%s: the tiling must not be NULL", call);
        return -1;
    }
    return 0; // how a call runs is tern's choice; a tiling says nothing that changes a result
}

int tern_hccl_set_reduce_types(tern_hccl *object, uint32_t op, uint32_t to, uint32_t from,
                               tern_hccl_site site)
{
    const char *call = "SetReduceDataTypeAbility";
    if (server_of(object, call, site) == NULL || op == HCCL_REDUCE_RESERVED) {
        return 0;
    }
    if (op > HCCL_REDUCE_MIN || op == HCCL_REDUCE_PROD || to != from) {
        tern__hccl_tell(
            site, TERN_ERR_ARG,
            "%s: operation %u from type %u to type %u; there are sum, max and min, from "
            "a type to itself",
            call, op, from, to);
        return 0;
    }
    return 1; // what counts is what Prepare names
}

// A free slot; NULL: none, or the limit of Prepare calls is reached.
static struct device_task *next_slot(const tern_hccl *object, struct hccl_server *server,
                                     const char *call, bool prepare, tern_hccl_site site)
{
    uint32_t most = object->newest != 0 ? TERN_HCCL_TASKS_NEWEST : TERN_HCCL_TASKS_MAX;
    uint32_t slot = tern__peek(&server->prepared);
    if ((prepare && server->prepares >= most) || slot == TERN_HCCL_SLOTS) {
        server->refused = server->refused || prepare;
        tern__hccl_tell(
            site, TERN_ERR_LIMIT,
            "%s: there are %u Prepare calls between Init and Finalize (%u after InitV2), and %u "
            "with control messages",
            call, (unsigned)TERN_HCCL_TASKS_MAX, (unsigned)TERN_HCCL_TASKS_NEWEST,
            (unsigned)TERN_HCCL_SLOTS);
        return NULL;
    }
    struct device_task *task = &server->tasks[slot];
    task->site = site;
    task->agreed = task->iterated = false;
    task->released = task->waited = task->sliced = 0;
    task->status = TERN_OK;
    task->past_bytes = 0;
    task->prepare = prepare;
    tern__poke(&task->committed, 0);
    tern__poke(&task->finished, 0);
    return task;
}

// The task is there for the server, with so many turns.
static void add(struct hccl_server *server, struct device_task *task, uint32_t turns)
{
    task->number = task->collective ? server->collective++ : 0;
    server->prepares += task->prepare;
    tern__publish(&server->prepared, tern__peek(&server->prepared) + 1); // partner: first_open
    task->released = turns;
    if (turns > 0) {
        tern__hccl_server_commit(server, task, turns);
    }
}

int tern_hccl_prepare(tern_hccl *object, const tern_hccl_task *call, tern_hccl_site site)
{
    const char *name = tern__hccl_task_name(call->type);
    bool prepare = call->type != HCCL_CMD_BARRIER;
    if (is_follower(object)) {
        return tern__hccl_follow_prepare(object, call->type, prepare, site);
    }
    struct hccl_server *server = owned(object, name, site);
    struct device_task *task =
        server != NULL ? next_slot(object, server, name, prepare, site) : NULL;
    if (task == NULL) {
        return -1;
    }
    task->call = *call;
    task->collective = call->type != HCCL_CMD_BATCH_WRITE;
    int status = tern__hccl_task_check(server, task);
    task->call.repeat = task->call.repeat > 0 ? task->call.repeat : 1;
    if (status == TERN_OK) {
        int handle = (int)(task - server->tasks);
        add(server, task, call->commit != 0 ? task->call.repeat : 0);
        return handle;
    }
    snprintf(task->why, sizeof task->why, "%s", tern_last_error());
    task->status = status;
    server->refused = true;
    tern__hccl_tell(site, status, "%s", task->why);
    if (task->collective) { // the others learn of it in the agreement
        task->prepare = false;
        server->prepares++;
        add(server, task, task->call.repeat);
    }
    return -1;
}

void tern_hccl_commit(tern_hccl *object, int handle, tern_hccl_site site)
{
    if (is_follower(object)) {
        return;
    }
    struct hccl_server *server = owned(object, "Commit", site);
    struct device_task *task = server != NULL ? task_of(server, "Commit", handle, site) : NULL;
    if (task == NULL) {
        return;
    }
    if (task->released >= task->call.repeat) {
        tern__hccl_tell(site, TERN_OK,
                        "Commit: all %u turns of handle %d have been committed; ignored",
                        (unsigned)task->call.repeat, handle);
        return;
    }
    task->released++;
    tern__hccl_server_commit(server, task, 1);
}

// What went wrong with a task whose turn has finished; it is the stream's error.
static int outcome(const struct device_task *task)
{
    int status = tern__hccl_task_status(task);
    if (status < 0) {
        tern_status_ignore(
            tern_block_note(status, "%s:%d: %s", task->site.file, task->site.line, task->why));
    }
    return status < 0 ? -1 : 0;
}

int tern_hccl_wait(tern_hccl *object, int handle, tern_hccl_site site)
{
    if (is_follower(object)) {
        return tern__hccl_follow_wait(object, handle);
    }
    struct hccl_server *server = owned(object, "Wait", site);
    struct device_task *task = server != NULL ? task_of(server, "Wait", handle, site) : NULL;
    if (task == NULL) {
        return -1;
    }
    if (task->waited >= task->released) {
        bool all = task->released == task->call.repeat;
        tern__hccl_tell(
            site, all ? TERN_OK : TERN_ERR_STATE,
            "Wait: handle %d (%s of line %d) has %u turns, %u of them committed, and this is "
            "Wait number %u",
            handle, tern__hccl_task_name(task->call.type), task->site.line,
            (unsigned)task->call.repeat, (unsigned)task->released, (unsigned)task->waited + 1);
        return -1;
    }
    task->waited++;
    if (tern__hccl_server_drive(server, task, task->waited) != TERN_OK) {
        tern__hccl_tell(site, TERN_ERR_TIMEOUT, "Wait: handle %d: %s", handle, tern_last_error());
        return -1;
    }
    return outcome(task);
}

int tern_hccl_query(tern_hccl *object, int handle, tern_hccl_site site)
{
    if (is_follower(object)) {
        return tern__hccl_follow_query(object, handle);
    }
    struct hccl_server *server = owned(object, "Query", site);
    struct device_task *task = server != NULL ? task_of(server, "Query", handle, site) : NULL;
    if (task == NULL) {
        return -1;
    }
    uint32_t finished = tern__flag_load(&task->finished);
    if (finished < task->released) {
        tern__hccl_line_ring(server, server->rank); // a kernel that asks does not wait
    }
    return finished == task->call.repeat && outcome(task) < 0 ? -1 : (int)finished;
}

int tern_hccl_iterate(tern_hccl *object, int handle, uint16_t *slices, uint16_t length, int sync,
                      tern_hccl_site site)
{
    struct hccl_server *server = owned(object, "Iterate", site);
    struct device_task *task = server != NULL ? task_of(server, "Iterate", handle, site) : NULL;
    if (task == NULL) {
        return -1;
    }
    if (task->call.type != HCCL_CMD_ALLTOALLV || slices == NULL || length == 0) {
        tern__hccl_tell(site, TERN_ERR_ARG,
                        "Iterate: it is for AlltoAllV, with room for 1 slice or more");
        return -1;
    }
    uint32_t n = (uint32_t)server->ranks;
    uint32_t turn = task->sliced / n;
    task->iterated = true;
    if (turn >= task->call.repeat) {
        return 0;
    }
    if (sync != 0 && turn >= task->released) {
        tern__hccl_tell(site, TERN_ERR_STATE,
                        "Iterate: turn %u of handle %d has not been committed", (unsigned)turn,
                        handle);
        return -1;
    }
    if (sync != 0 &&
        (tern__hccl_server_drive(server, task, turn + 1) != TERN_OK || outcome(task) < 0)) {
        return -1;
    }
    // Its own first, then those of the ranks behind it.
    uint32_t filled = 0;
    for (; filled < length && task->sliced / n == turn; filled++, task->sliced++) {
        slices[filled] = (uint16_t)(((uint32_t)server->rank + task->sliced) % n);
    }
    return (int)filled;
}

void tern_hccl_group_sync(tern_hccl *object, int group, int handle, tern_hccl_site site)
{
    const char *name = "InterHcclGroupSync";
    if (is_follower(object)) {
        (void)tern__hccl_follow_prepare(object, HCCL_CMD_INTER_GROUP_SYNC, false, site);
        return;
    }
    struct hccl_server *server = owned(object, name, site);
    if (server == NULL) {
        return;
    }
    struct hccl_server *other = group >= 0 ? tern__hccl_server_of_group((uint32_t)group) : NULL;
    if (other == NULL || other == server) {
        tern__hccl_tell(site, TERN_ERR_ARG, "%s: group %d is %s", name, group,
                        other == NULL ? "of no communicator" : "the object's own");
        return;
    }
    if (task_of(other, name, handle, site) == NULL) {
        return;
    }
    struct device_task *task = next_slot(object, server, name, false, site);
    if (task != NULL) {
        task->call = (tern_hccl_task){.type = HCCL_CMD_INTER_GROUP_SYNC,
                                      .op = (uint32_t)handle,
                                      .count = (uint64_t)group,
                                      .repeat = 1};
        task->collective = false;
        add(server, task, 1);
    }
}

// Which handles were not waited for as often as they have turns, and not committed.
static void tell_open(const struct hccl_server *server, tern_hccl_site site)
{
    uint32_t prepared = tern__peek(&server->prepared);
    for (uint32_t i = 0; i < prepared; i++) {
        const struct device_task *task = &server->tasks[i];
        unsigned turns = task->call.repeat;
        if (!task->prepare) {
            continue;
        }
        if (task->released < turns) {
            tern__hccl_tell(site, TERN_ERR_STATE,
                            "Finalize: handle %u (%s of line %d): %u of its %u turns "
                            "were committed; the others will not run",
                            (unsigned)i, tern__hccl_task_name(task->call.type), task->site.line,
                            (unsigned)task->released, turns);
        } else if (task->waited < turns && !task->iterated) {
            tern__hccl_tell(site, TERN_OK,
                            "Finalize: handle %u (%s of line %d) has %u turns, and Wait was "
                            "called %u times",
                            (unsigned)i, tern__hccl_task_name(task->call.type), task->site.line,
                            turns, (unsigned)task->waited);
        }
    }
}

static void end_life(struct hccl_server *server)
{
    tern__hccl_server_drain(server);
    uint32_t prepared = tern__peek(&server->prepared);
    for (uint32_t i = 0; i < prepared; i++) {
        outcome(&server->tasks[i]);
    }
    tern__poke(&server->last, prepared);
    tern__hccl_server_rest(server);
    pthread_mutex_lock(&server->lock);
    server->owner = NULL;
    tern__flag_store(&server->ended, server->life); // partner: has_ended, in follow.c
    pthread_mutex_unlock(&server->lock);
    tern__hccl_server_give(server);
}

void tern_hccl_finalize(tern_hccl *object, tern_hccl_site site)
{
    struct hccl_server *server = server_of(object, "Finalize", site);
    if (server == NULL) {
        return;
    }
    if (object->right != 0) {
        server = owned(object, "Finalize", site);
        if (server == NULL) {
            return;
        }
        tell_open(server, site);
        end_life(server);
    } else if (object->follows != 0) {
        tern__hccl_follow_end(object);
    }
    object->state = OBJECT_ENDED;
}

void tern_hccl_drop(tern_hccl *object, tern_hccl_site site)
{
    struct hccl_server *server = object->server;
    if (is_follower(object)) {
        tern__hccl_server_give(server);
        object->state = OBJECT_ENDED;
        return;
    }
    if (object->state != OBJECT_LIVE || object->right == 0 || server->owner != object ||
        server->life != object->life) {
        return;
    }
    if (tern__peek(&server->prepared) > 0) {
        tern__hccl_tell(site, TERN_ERR_STATE,
                        "an object ends that has prepared tasks and not called Finalize "
                        "(the last of them: %s of %s:%d)",
                        tern__hccl_task_name(
                            server->tasks[tern__peek(&server->prepared) - 1].call.type),
                        server->tasks[tern__peek(&server->prepared) - 1].site.file,
                        server->tasks[tern__peek(&server->prepared) - 1].site.line);
    }
    end_life(server);
    object->state = OBJECT_ENDED;
}

void *tern_hccl_window(const tern_hccl *object, uint32_t rank, int out)
{
    const struct hccl_server *server = object->state == OBJECT_LIVE ? object->server : NULL;
    if (server == NULL || rank >= (uint32_t)server->ranks) {
        return NULL;
    }
    const uint64_t *bases = out != 0 ? server->context->windowsOut : server->context->windowsIn;
    return (void *)(uintptr_t)bases[rank];
}

uint32_t tern_hccl_rank(const tern_hccl *object)
{
    const struct hccl_server *server = object->state == OBJECT_LIVE ? object->server : NULL;
    return server != NULL ? (uint32_t)server->rank : UINT32_MAX;
}

uint32_t tern_hccl_rank_count(const tern_hccl *object)
{
    const struct hccl_server *server = object->state == OBJECT_LIVE ? object->server : NULL;
    return server != NULL ? (uint32_t)server->ranks : UINT32_MAX;
}
