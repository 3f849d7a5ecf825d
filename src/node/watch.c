// SPDX-License-Identifier: Apache-2.0
// What the host of a node does beside handing out tasks: gives a run up, sees to groups that have
// failed, says what runs, and tells all chips something.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "graph/chip.h"
#include "node/node.h"
#include "sync/wait.h"

// How long the chips of a group that has failed may take to come back.
#define GROUP_NS TERN_NS_PER_SECOND

static void take(struct tern__node_call *call, struct tern__node_call **finished)
{
    if (!call->gone) {
        call->gone = true;
        call->next = *finished;
        *finished = call;
    }
}

// The chips may still be at work: only a communicator that has failed keeps what they do from what
// comes later.
static void away_cancel(struct tern__away *away)
{
    tern_node *node = tern__node_of(away);
    struct tern__node_call *finished = NULL;
    pthread_mutex_lock(&node->lock);
    node->broken = true;
    for (int chip = 0; chip < node->chips; chip++) {
        struct tern__node_lane *lane = &node->lanes[chip];
        for (struct tern__node_member *member = lane->first; member != NULL;
             member = member->next) {
            take(member->call, &finished);
        }
        lane->first = NULL;
        lane->waiting = 0;
        for (uint32_t n = tern__peek(&lane->done); n != lane->sent; n++) {
            struct tern__node_member *member = lane->flight[n % TERN__NODE_SLOTS];
            if (member != NULL) {
                take(member->call, &finished);
            }
        }
        tern__poke(&lane->done, lane->sent);
    }
    tern__flag_store(&node->flying, 0);
    pthread_mutex_unlock(&node->lock);
    tern__group_fail(&node->comm->group, TERN_ERR_TIMEOUT, 0,
                     "the run of the node was given up at its deadline");
    for (struct tern__node_call *call = finished; call != NULL; call = call->next) {
        call->failed_chip = -1;
        tern__task_poison(call->task);
    }
    tern__node_finish(node, finished);
}

// A group that has failed, and whose other chips do not come back.
static const struct tern__node_call *find_stuck(const tern_node *node)
{
    for (int chip = 0; chip < node->chips; chip++) {
        const struct tern__node_lane *lane = &node->lanes[chip];
        for (uint32_t n = tern__peek(&lane->done); n != lane->sent; n++) {
            const struct tern__node_member *member = lane->flight[n % TERN__NODE_SLOTS];
            if (member != NULL && member->call->failed_chip >= 0 &&
                tern__now_ns() - member->call->failed_ns > GROUP_NS) {
                return member->call;
            }
        }
    }
    return NULL;
}

static void away_tick(struct tern__away *away)
{
    tern_node *node = tern__node_of(away);
    struct tern__group *group = &node->comm->group;
    pthread_mutex_lock(&node->lock);
    const struct tern__node_call *stuck = find_stuck(node);
    if (stuck != NULL) {
        tern__group_fail(
            group, TERN_ERR_KERNEL, stuck->failed_chip + 1,
            "task '%s' failed on chip %d (rank %d), and other chips of its group do not "
            "come back: %.300s",
            stuck->task->name, stuck->failed_chip, stuck->failed_chip + 1, stuck->failure);
    }
    const bool told = tern__flag_load(&node->chip->run.failed) == TERN__RUN_FAILED;
    const bool busy = tern__flag_load(&node->flying) != 0;
    pthread_mutex_unlock(&node->lock);
    // Else the scheduler finds it, and asks what runs.
    if (told && busy && tern__group_check(group, true) != TERN_OK) {
        away_cancel(away);
    }
}

// Of a group that is the first in the lane of a chip: which of its chips is not idle, or -1.
static int find_busy(const tern_node *node, int chip)
{
    const struct tern__node_member *first = node->lanes[chip].first;
    const struct tern__node_call *call = first != NULL ? first->call : NULL;
    for (int i = 0; call != NULL && call->members_count > 1 && i < call->members_count; i++) {
        if (tern__node_in_flight(&node->lanes[call->members[i].chip]) != 0) {
            return call->members[i].chip;
        }
    }
    return -1;
}

static size_t away_describe(struct tern__away *away, char *text, size_t size)
{
    tern_node *node = tern__node_of(away);
    size_t used = 0;
    pthread_mutex_lock(&node->lock);
    for (int chip = 0; chip < node->chips && used + 160 < size; chip++) {
        const struct tern__node_lane *lane = &node->lanes[chip];
        const uint32_t done = tern__peek(&lane->done);
        const struct tern__node_member *member =
            tern__node_in_flight(lane) != 0 ? lane->flight[done % TERN__NODE_SLOTS] : NULL;
        if (member != NULL) {
            used += (size_t)snprintf(text + used, size - used,
                                     "; task '%s' is running on chip %d (rank %d)",
                                     member->call->task->name, chip, chip + 1);
        }
        const int busy = find_busy(node, chip);
        if (busy >= 0 && used + 160 < size) {
            used += (size_t)snprintf(text + used, size - used,
                                     "; task '%s' keeps chip %d until chip %d is idle",
                                     lane->first->call->task->name, chip, busy);
        }
    }
    pthread_mutex_unlock(&node->lock);
    return used;
}

static bool away_runs(const struct tern__away *away)
{
    const tern_node *node =
        (const tern_node *)(const void *)((const char *)away - offsetof(tern_node, away));
    return tern__flag_load(&node->flying) != 0;
}

const struct tern__away tern__node_away = {.ready = tern__node_ready,
                                           .drop = tern__node_drop,
                                           .look = tern__node_look,
                                           .tick = away_tick,
                                           .cancel = away_cancel,
                                           .describe = away_describe,
                                           .runs = away_runs};

static bool all_answered(void *arg)
{
    tern_node *node = arg;
    tern__node_look(&node->away, true);
    return tern__flag_load(&node->flying) == 0;
}

static int chips_broken(void *arg, bool deep)
{
    tern_node *node = arg;
    return tern__group_check(&node->comm->group, deep);
}

int tern__node_tell(const char *call, tern_node *node, enum tern__node_kind kind, const char *path)
{
    char message[TERN__NODE_SLOT_BYTES];
    struct tern__node_message head = {.kind = kind};
    const size_t size = sizeof head + strlen(path) + 1;
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, path, strlen(path) + 1);
    pthread_mutex_lock(&node->lock);
    node->refused_by = -1;
    for (int chip = 0; chip < node->chips; chip++) {
        tern__node_send(node, chip, message, size, NULL);
    }
    pthread_mutex_unlock(&node->lock);
    struct tern__job *job = node->comm->group.job;
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait wait = {.bell = &job->ctl->ranks[job->rank].bell,
                              .ladder = &ladder,
                              .timeout_ns = node->chip->timeout_ns,
                              .holds = all_answered,
                              .broken = chips_broken,
                              .arg = node};
    const int status = tern__wait(&wait);
    if (status != TERN_OK) {
        return status == TERN_ERR_TIMEOUT
                   ? tern__group_fail(&node->comm->group, status, -1,
                                      "%s: not all chips have answered in time", call)
                   : status;
    }
    return node->refused_by < 0
               ? TERN_OK
               : tern__fail(node->refused.status, "%s: chip %d (rank %d): %.400s", call,
                            node->refused_by, node->refused_by + 1, node->refused.text);
}
