// SPDX-License-Identifier: Apache-2.0
// Objects of AscendC::Hccl in other blocks than the one that works for all. Many kernels make their
// calls in every block alike: those of the working block become tasks, and those of the others mean
// its tasks, by their number. So every block can wait for a turn.
//
// A life of the server is what lies between the working block's Init and its Finalize. A following
// object is of the life that runs when it is initialised, or else of the next one; its Finalize
// waits for the end of that life, so that the block's next object is of a later one.

#include "base/cgroup.h"
#include "base/error.h"
#include "base/options.h"
#include "faces/hccl/device.h"
#include "sync/ladder.h"
#include "tern/block.h"

void tern__hccl_follow_begin(tern_hccl *object, struct hccl_server *server)
{
    pthread_mutex_lock(&server->lock);
    object->life = server->life + (server->owner == NULL);
    pthread_mutex_unlock(&server->lock);
}

int tern__hccl_follow_prepare(tern_hccl *object, uint32_t type, bool prepare, tern_hccl_site site)
{
    uint32_t most = object->newest != 0 ? TERN_HCCL_TASKS_NEWEST : TERN_HCCL_TASKS_MAX;
    if (object->followed == TERN_HCCL_SLOTS || (prepare && object->prepares >= most)) {
        return -1; // the working block says why
    }
    object->prepares += prepare;
    object->calls[object->followed] = (tern_hccl_call){.site = site, .type = type};
    return (int)object->followed++;
}

static bool has_ended(const tern_hccl *object, const struct hccl_server *server)
{
    return (int32_t)(tern__flag_load(&server->ended) - object->life) >= 0;
}

// Waits on the bell that rings when turns have been run and when a life ends.
static int wait_until(struct hccl_server *server, bool (*holds)(void *arg), void *arg)
{
    struct tern__ladder ladder = tern__ladder_for(server->ranks + 1, tern__cpus_allowed());
    struct tern__wait wait = {.bell = &server->done,
                              .ladder = &ladder,
                              .holds = holds,
                              .broken = tern__never_broken,
                              .arg = arg};
    TERN_TRY(tern__timeout_option(0, &wait.timeout_ns));
    return tern__ladder_climb(&wait);
}

// The working block's task of that number; NULL: it has not prepared it.
static struct device_task *task_of(const tern_hccl *object, struct hccl_server *server, int handle)
{
    bool there = tern__flag_load(&server->begun) == object->life && !has_ended(object, server) &&
                 tern__observe(&server->prepared) > (uint32_t)handle; // partner: add
    return there ? &server->tasks[handle] : NULL;
}

static void tell_alone(const tern_hccl *object, int handle, const char *until)
{
    const tern_hccl_call *call = &object->calls[handle];
    tern__hccl_tell(call->site, TERN_ERR_STATE,
                    "%s: called by block %d alone%s; the calls of block %lld become tasks, and "
                    "other blocks may only repeat them",
                    tern__hccl_task_name(call->type), tern_block_index(), until,
                    (long long)object->works);
}

// A Wait of a following object for a turn, and what it returns.
struct follow {
    const tern_hccl *object;
    struct hccl_server *server;
    int handle;
    uint32_t turn;
    bool woken;
    int result;
};

static bool turn_is_over(void *arg)
{
    struct follow *follow = arg;
    struct hccl_server *server = follow->server;
    const struct device_task *task = task_of(follow->object, server, follow->handle);
    const uint32_t finished = task != NULL ? tern__flag_load(&task->finished) : 0;
    if (task != NULL && finished >= task->call.repeat && follow->turn > finished) {
        follow->result = -1; // the working block says why
        return true;
    }
    if (task != NULL && finished >= follow->turn) {
        follow->result = tern__hccl_task_status(task) < 0 ? -1 : 0;
        return true;
    }
    if (task != NULL && !follow->woken && tern__observe(&task->committed) >= follow->turn) {
        tern__hccl_line_ring(server, server->rank); // the working block may not wait
        follow->woken = true;
    }
    if (has_ended(follow->object, server)) {
        follow->result = (uint32_t)follow->handle < tern__peek(&server->last) ? 0 : -1;
        return true;
    }
    return false;
}

int tern__hccl_follow_wait(tern_hccl *object, int handle)
{
    if (handle < 0 || (uint32_t)handle >= object->followed) {
        return -1;
    }
    struct follow follow = {.object = object,
                            .server = object->server,
                            .handle = handle,
                            .turn = ++object->calls[handle].waits,
                            .result = -1};
    if (wait_until(follow.server, turn_is_over, &follow) == TERN_ERR_TIMEOUT) {
        tell_alone(object, handle, " until the deadline of its Wait");
        return -1;
    }
    return follow.result;
}

int tern__hccl_follow_query(const tern_hccl *object, int handle)
{
    struct hccl_server *server = object->server;
    if (handle < 0 || (uint32_t)handle >= object->followed) {
        return -1;
    }
    const struct device_task *task = task_of(object, server, handle);
    if (task == NULL) {
        return 0;
    }
    tern__hccl_line_ring(server, server->rank);
    uint32_t finished = tern__flag_load(&task->finished);
    return tern__hccl_task_status(task) < 0 ? -1 : (int)finished;
}

static bool life_is_over(void *arg)
{
    const struct follow *follow = arg;
    return has_ended(follow->object, follow->server);
}

void tern__hccl_follow_end(const tern_hccl *object)
{
    struct hccl_server *server = object->server;
    struct follow follow = {.object = object, .server = server};
    if (object->followed > 0) {
        const bool ended = wait_until(server, life_is_over, &follow) == TERN_OK;
        const uint32_t last = ended ? tern__peek(&server->last) : 0;
        if (last < object->followed) {
            tell_alone(object, (int)last, "");
        }
    }
    tern__hccl_server_give(server);
}
