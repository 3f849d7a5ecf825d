// SPDX-License-Identifier: Apache-2.0
// The server of a communicator: which turn is next, and who runs it.
//
// When the thread wakes. A system call costs as much as a small collective, so committing a turn
// does not wake the thread by itself: most kernels wait at once, and run the turn there. The thread
// is woken when a processor is free for it, by a Query, and by need: a rank that has waited for a
// while for others to begin a turn says so in its line, and rings those that have committed it; who
// commits later sees that line. Lines of other machines cannot be seen: where ranks are on several,
// committing wakes the thread, which costs little beside a call between machines.

#include "faces/hccl/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/options.h"
#include "faces/acl/state.h"
#include "base/thread.h"
#include "sync/ladder.h"
#include "tern/block.h"
#include "tern/memory.h"

static struct hccl_server *groups[TERN_HCCL_GROUPS_MAX];
static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;

struct hccl_server *tern__hccl_server_of_group(uint32_t group)
{
    pthread_mutex_lock(&groups_lock);
    struct hccl_server *found = group < TERN_HCCL_GROUPS_MAX ? groups[group] : NULL;
    pthread_mutex_unlock(&groups_lock);
    return found;
}

struct hccl_server *tern__hccl_server_take(const void *context)
{
    struct hccl_server *found = NULL;
    pthread_mutex_lock(&groups_lock);
    for (int i = 0; i < TERN_HCCL_GROUPS_MAX; i++) {
        if (groups[i] != NULL && groups[i]->context == context) {
            found = groups[i];
        }
    }
    if (found != NULL) {
        found->users++;
    }
    pthread_mutex_unlock(&groups_lock);
    return found;
}

void tern__hccl_server_give(struct hccl_server *server)
{
    pthread_mutex_lock(&groups_lock);
    server->users--;
    tern__bell_ring(&server->done); // under the lock: who waits for it frees the server
    pthread_mutex_unlock(&groups_lock);
}

// The first task of the prefix that has turns left; NULL: none.
static struct device_task *first_open(struct hccl_server *server)
{
    uint32_t prepared = tern__observe(&server->prepared); // partner: prepare, in device.c
    for (uint32_t i = 0; i < prepared; i++) {
        struct device_task *task = &server->tasks[i];
        if (tern__peek(&task->finished) < task->call.repeat) {
            return task;
        }
    }
    return NULL;
}

// Whether what an InterHcclGroupSync is about is committed.
static bool is_ready(const struct device_task *task)
{
    if (task->call.type != HCCL_CMD_INTER_GROUP_SYNC) {
        return true;
    }
    const struct hccl_server *other = tern__hccl_server_of_group((uint32_t)task->call.count);
    const struct device_task *before = other != NULL ? &other->tasks[task->call.op] : NULL;
    return before == NULL || tern__observe(&before->committed) >= before->call.repeat;
}

static bool can_run(const struct device_task *task)
{
    return task != NULL && is_ready(task) &&
           tern__observe(&task->committed) > tern__peek(&task->finished);
}

// Until the task of the other communicator has finished.
static void run_sync(struct device_task *task)
{
    struct hccl_server *other = tern__hccl_server_of_group((uint32_t)task->call.count);
    struct device_task *before = other != NULL ? &other->tasks[task->call.op] : NULL;
    if (before != NULL && tern__hccl_server_drive(other, before, before->call.repeat) != TERN_OK) {
        tern__hccl_task_kill(task, TERN_ERR_KERNEL, "InterHcclGroupSync: %s", tern_last_error());
        return;
    }
    tern__hccl_turn_end(task);
}

// The next turn of the task. Under busy.
static void run_turn(struct hccl_server *server, struct device_task *task)
{
    if (task->call.type == HCCL_CMD_INTER_GROUP_SYNC) {
        run_sync(task);
    } else {
        tern__hccl_turn_run(server, task);
    }
}

// Under busy. False: nothing of the prefix can run.
static bool run_prefix(struct hccl_server *server)
{
    struct device_task *task = first_open(server);
    bool can = can_run(task);
    if (can) {
        run_turn(server, task);
    }
    return can;
}

// Whether a rank has waited long for a turn that this one has not begun.
static bool is_awaited(const struct hccl_server *server)
{
    uint32_t entered = tern__peek(&server->line[server->rank]->entered);
    for (int i = 0; i < server->ranks; i++) {
        const struct server_line *other = server->line[i];
        uint32_t turn = other != NULL ? tern__flag_load(&other->impatient) : 0;
        if (turn != 0 && i != server->rank && !tern__reached(entered, turn)) {
            return true;
        }
    }
    return false;
}

static void consider_thread(struct hccl_server *server)
{
    if (server->spare || server->across || is_awaited(server)) {
        tern__hccl_line_ring(server, server->rank);
    }
}

static bool try_busy(struct hccl_server *server)
{
    return tern__flag_swap(&server->busy, 0, 1);
}

static void end_busy(struct hccl_server *server)
{
    tern__flag_store(&server->busy, 0); // partner: may_go_on
    tern__bell_ring(&server->done);
}

void tern__hccl_server_commit(struct hccl_server *server, struct device_task *task, uint32_t turns)
{
    struct server_line *line = server->line[server->rank];
    tern__flag_store(&task->committed, tern__peek(&task->committed) + turns); // partner: can_run
    if (task->collective) {
        tern__flag_add(&line->committed, turns); // partner: await_others, in turn.c
    }
    tern__bell_ring(&server->done); // a block that follows may wait for this
    consider_thread(server);
}

struct wait {
    struct hccl_server *server;
    struct device_task *task;
    uint32_t turns;
};

static bool may_go_on(void *arg)
{
    struct wait *wait = arg;
    return tern__flag_load(&wait->task->finished) >= wait->turns ||
           tern__flag_load(&wait->server->busy) == 0;
}

static int wait_for_thread(struct wait *wait)
{
    struct hccl_server *server = wait->server;
    struct tern__ladder ladder = tern__ladder_for(server->ranks, tern__cpus_allowed());
    struct tern__wait climb = {.bell = &server->done,
                               .ladder = &ladder,
                               .holds = may_go_on,
                               .broken = tern__never_broken,
                               .arg = wait};
    TERN_TRY(tern__timeout_option(0, &climb.timeout_ns));
    // What the thread waits for ends before, with a better sentence.
    climb.timeout_ns = tern__twice(climb.timeout_ns);
    int status = tern__ladder_climb(&climb);
    return status != TERN_ERR_TIMEOUT
               ? status
               : tern__fail(status, "the server has not run the turn in %.3g s",
                            (double)climb.timeout_ns * 1e-9);
}

// The block that would have to commit what comes before waits here.
static void bring_forward(struct hccl_server *server, struct device_task *task)
{
    struct device_task *first = first_open(server);
    if (first != NULL && !is_ready(first)) {
        tern__hccl_task_kill(first, TERN_ERR_KERNEL,
                             "InterHcclGroupSync: what it waits for has not been committed");
    } else {
        run_turn(server, task);
    }
}

int tern__hccl_server_drive(struct hccl_server *server, struct device_task *task, uint32_t turns)
{
    struct wait wait = {server, task, turns};
    while (tern__flag_load(&task->finished) < turns) {
        if (!try_busy(server)) {
            TERN_TRY(wait_for_thread(&wait));
            continue;
        }
        while (tern__peek(&task->finished) < turns) {
            if (!run_prefix(server)) {
                bring_forward(server, task);
            }
        }
        end_busy(server);
        if (can_run(first_open(server))) {
            consider_thread(server);
        }
    }
    return TERN_OK;
}

void tern__hccl_server_drain(struct hccl_server *server)
{
    uint32_t prepared = tern__peek(&server->prepared);
    for (uint32_t i = 0; i < prepared; i++) {
        struct device_task *task = &server->tasks[i];
        if (tern__hccl_server_drive(server, task, task->released) == TERN_OK &&
            task->released < task->call.repeat && !task->agreed) {
            // Takes part in the agreement, so that a rank that has committed it does not wait.
            task->status = TERN_ERR_KERNEL;
            snprintf(task->why, sizeof task->why, "%s: none of its %u turns was committed",
                     tern__hccl_task_name(task->call.type), (unsigned)task->call.repeat);
            tern__hccl_server_commit(server, task, task->call.repeat);
            tern__hccl_server_drive(server, task, task->call.repeat);
        }
    }
}

void tern__hccl_server_rest(struct hccl_server *server)
{
    struct wait wait = {server, &server->tasks[0], UINT32_MAX};
    while (!try_busy(server)) { // the thread looks at them for a moment
        (void)wait_for_thread(&wait);
    }
    tern__publish(&server->prepared, 0); // partner: first_open
    end_busy(server);
}

struct doorbell {
    struct hccl_server *server;
    uint32_t seen;
};

static bool has_work(void *arg)
{
    const struct doorbell *doorbell = arg;
    struct hccl_server *server = doorbell->server;
    return tern__flag_load(&server->line[server->rank]->doorbell) != doorbell->seen;
}

static void *server_main(void *arg)
{
    struct doorbell doorbell = {arg, 0};
    struct hccl_server *server = arg;
    struct server_line *line = server->line[server->rank];
    // It looks for longer than a moment only where that takes the processor from nobody.
    struct tern__ladder ladder = server->spare ? tern__ladder_for(1, 2) : (struct tern__ladder){0};
    while (tern__flag_load(&server->stop) == 0) {
        tern__ladder_climb(&(struct tern__wait){.bell = &line->bell,
                                                .ladder = &ladder,
                                                .timeout_ns = INT64_MAX,
                                                .holds = has_work,
                                                .broken = tern__never_broken,
                                                .arg = &doorbell});
        doorbell.seen = tern__flag_load(&line->doorbell);
        bool ran = true;
        while (ran && tern__flag_load(&server->stop) == 0 && try_busy(server)) {
            ran = run_prefix(server);
            end_busy(server);
        }
    }
    return NULL;
}

static int make_lines(struct hccl_server *server)
{
    TERN_TRY(tern_comm_split(server->hccl->comm, 0, server->rank, &server->comm));
    TERN_TRY(tern_window_create(server->comm, sizeof(struct server_line), NULL, &server->lines));
    for (int i = 0; i < server->ranks; i++) {
        bool is_here = tern_window_is_local(server->lines, i) == 1;
        server->line[i] = is_here ? tern_window_address(server->lines, i) : NULL;
        server->across = server->across || !is_here;
    }
    return TERN_OK;
}

static int take_group(struct hccl_server *server)
{
    int status = TERN_ERR_LIMIT;
    pthread_mutex_lock(&groups_lock);
    for (uint32_t i = 0; i < TERN_HCCL_GROUPS_MAX && status != TERN_OK; i++) {
        if (groups[i] == NULL) {
            groups[i] = server;
            server->group = i;
            status = TERN_OK;
        }
    }
    pthread_mutex_unlock(&groups_lock);
    return status == TERN_OK ? TERN_OK
                             : tern__fail(status,
                                          "HcclAllocComResourceByTiling: %d communicators of this "
                                          "process have resources already",
                                          TERN_HCCL_GROUPS_MAX);
}

static void free_server(struct hccl_server *server)
{
    tern_free(server->scratch);
    tern_window_destroy(server->lines);
    tern_comm_destroy(server->comm);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

// False: an object uses it.
static bool leave_group(void *arg)
{
    const struct hccl_server *server = arg;
    pthread_mutex_lock(&groups_lock);
    bool unused = server->users == 0;
    if (unused && groups[server->group] == server) {
        groups[server->group] = NULL;
    }
    pthread_mutex_unlock(&groups_lock);
    return unused;
}

int tern__hccl_server_close(struct hccl *hccl)
{
    struct hccl_server *server = hccl->server;
    if (server == NULL || leave_group(server)) {
        return TERN_OK;
    }
    TERN_TRY(tern__acl_may_wait());
    struct tern__ladder ladder = tern__ladder_for(server->ranks, tern__cpus_allowed());
    struct tern__wait climb = {.bell = &server->done,
                               .ladder = &ladder,
                               .holds = leave_group,
                               .broken = tern__never_broken,
                               .arg = server};
    TERN_TRY(tern__timeout_option(0, &climb.timeout_ns));
    climb.timeout_ns = tern__twice(climb.timeout_ns); // as in wait_for_thread
    int status = tern__ladder_climb(&climb);
    return status != TERN_ERR_TIMEOUT
               ? status
               : tern__fail(status,
                            "HcclCommDestroy: a kernel's object has not called Finalize in %.3g s",
                            (double)climb.timeout_ns * 1e-9);
}

int tern__hccl_server_start(struct hccl *hccl)
{
    struct hccl_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a server of kernels' calls");
    }
    server->hccl = hccl;
    server->rank = tern_comm_rank(hccl->comm);
    server->ranks = tern_comm_size(hccl->comm);
    server->context = tern_window_context(hccl->window);
    server->crowded = tern__cpus_allowed() < server->ranks;
    server->spare = tern__cpus_allowed() >= 2 * server->ranks;
    pthread_mutex_init(&server->lock, NULL);
    int status = make_lines(server);
    status = status == TERN_OK ? take_group(server) : status;
    if (status == TERN_OK) {
        status = tern__thread_start(&server->thread, server_main, server);
        if (status != TERN_OK) {
            leave_group(server);
        }
    }
    if (status != TERN_OK) {
        free_server(server);
        return status;
    }
    hccl->server = server;
    return TERN_OK;
}

void tern__hccl_server_stop(struct hccl *hccl)
{
    struct hccl_server *server = hccl->server;
    if (server == NULL) {
        return;
    }
    leave_group(server);
    tern__flag_store(&server->stop, 1);
    tern__hccl_line_ring(server, server->rank);
    pthread_join(server->thread, NULL);
    free_server(server);
    hccl->server = NULL;
}
