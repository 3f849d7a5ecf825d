// SPDX-License-Identifier: Apache-2.0
// Objects of AscendC::Hccl in other blocks than the one that works for all. Many kernels make their
// calls in every block alike: those of the working block become tasks, and those of the others mean
// its tasks, by their number. So every block can wait for a turn.
//
// A life of the server is what lies between the working block's Init and its Finalize. A following
// object is of the life that runs when it is initialised, or else of the next one; its Finalize
// waits for the end of that life, so that the block's next object is of a later one.

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "faces/hccl/device.h"
#include "tern/block.h"

enum { FOLLOW_SLEEP_NS = 20000 };

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

// Sleeps for a moment; false: it has waited for too long.
static bool pause_until(int64_t deadline)
{
    nanosleep(&(struct timespec){.tv_nsec = FOLLOW_SLEEP_NS}, NULL);
    return tern__now_ns() < deadline;
}

static int deadline_of(int64_t *deadline)
{
    int64_t timeout;
    TERN_TRY(tern__timeout_option(0, &timeout));
    *deadline = tern__deadline_after(timeout);
    return TERN_OK;
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

int tern__hccl_follow_wait(tern_hccl *object, int handle)
{
    struct hccl_server *server = object->server;
    if (handle < 0 || (uint32_t)handle >= object->followed) {
        return -1;
    }
    int64_t deadline;
    if (deadline_of(&deadline) != TERN_OK) {
        return -1;
    }
    uint32_t turn = ++object->calls[handle].waits;
    bool woken = false;
    do {
        const struct device_task *task = task_of(object, server, handle);
        uint32_t finished = task != NULL ? tern__flag_load(&task->finished) : 0;
        if (task != NULL && finished >= task->call.repeat && turn > finished) {
            return -1; // the working block says why
        }
        if (task != NULL && finished >= turn) {
            return task->status < 0 ? -1 : 0;
        }
        if (task != NULL && !woken && tern__observe(&task->committed) >= turn) {
            tern__hccl_server_ring(server, server->rank); // the working block may not wait
            woken = true;
        }
        if (has_ended(object, server)) {
            return (uint32_t)handle < tern__peek(&server->last) ? 0 : -1;
        }
    } while (pause_until(deadline));
    tell_alone(object, handle, " until the deadline of its Wait");
    return -1;
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
    tern__hccl_server_ring(server, server->rank);
    uint32_t finished = tern__flag_load(&task->finished);
    return finished >= task->call.repeat && task->status < 0 ? -1 : (int)finished;
}

void tern__hccl_follow_end(const tern_hccl *object)
{
    struct hccl_server *server = object->server;
    int64_t deadline;
    if (object->followed == 0 || deadline_of(&deadline) != TERN_OK) {
        return;
    }
    bool ended = has_ended(object, server);
    while (!ended && pause_until(deadline)) {
        ended = has_ended(object, server);
    }
    uint32_t last = ended ? tern__peek(&server->last) : 0;
    if (last < object->followed) {
        tell_alone(object, (int)last, "");
    }
}
