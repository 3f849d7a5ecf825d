// SPDX-License-Identifier: Apache-2.0
// The lanes of a node's chips: what is ready goes into them, from there to the chips, and what
// comes back ends. A lane is first in, first out. A group stands in the lanes of all its chips, put
// there at one moment, and is sent when it is the first in all of them and they are idle. So two
// groups never keep chips from each other: of those that wait the oldest has nothing before it but
// tasks of one chip, which need nobody else.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "graph/chip.h"
#include "node/node.h"
#include "tern/put.h"

// The word of a chip that counts what it has done. Acquires what it wrote before.
static uint32_t seen_done(const tern_node *node, int chip)
{
    return tern__flag_load(
        (const _Atomic uint32_t *)(const void *)tern__window_at(node->window, 0,
                                                                tern__node_done_at(chip)));
}

static size_t append(char *message, size_t used, const void *part, size_t size)
{
    memcpy(message + used, part, size);
    return used + size;
}

// The message of one member. Its regions go with offsets of the window for addresses.
static size_t write_message(const tern_node *node, const struct tern__node_member *member,
                            char *message)
{
    const struct tern__node_call *call = member->call;
    const struct tern__node_arg *given = call->args + (member - call->members) * call->args_count;
    const int64_t *regions = call->task->args + 1;
    struct tern__node_message head = {.kind = TERN__NODE_RUN,
                                      .args_count = (uint8_t)call->args_count,
                                      .domains_count = (uint8_t)call->domains_count,
                                      .orchestrates = call->orchestrates};
    int64_t args[TERN_TASK_ARGS_MAX];
    size_t used = sizeof head;
    used = append(message, used, call->domains, call->domains_count * sizeof *call->domains);
    for (int i = 0; i < call->args_count; i++) {
        args[i] = (int64_t)given[i].value;
        if (given[i].is_region) {
            tern_region region = *(const tern_region *)(intptr_t)regions[given[i].value];
            region.address -= (uint64_t)(uintptr_t)node->window->base;
            used = append(message, used, &region, sizeof region);
            head.is_region |= UINT64_C(1) << i;
            head.access[head.regions_count] = given[i].access;
            args[i] = head.regions_count++;
        }
    }
    used = append(message, used, args, (size_t)call->args_count * sizeof *args);
    memcpy(head.function, call->function, sizeof head.function);
    snprintf(head.name, sizeof head.name, "%s", call->task->name);
    append(message, 0, &head, sizeof head);
    return used;
}

void tern__node_send(tern_node *node, int chip, const void *message, size_t size,
                     struct tern__node_member *member)
{
    struct tern__node_lane *lane = &node->lanes[chip];
    lane->flight[lane->sent % TERN__NODE_SLOTS] = member;
    int status = tern_put(node->window, chip + 1, tern__node_slot_at(lane->sent), message, size);
    lane->sent++;
    tern__flag_add(&node->flying, 1);
    if (status == TERN_OK) {
        tern_status_ignore(
            tern_signal_notify(node->window, chip + 1, TERN__NODE_SENT, 1, TERN_NOTIFY_ADD));
    }
}

static void send_member(tern_node *node, struct tern__node_member *member)
{
    struct tern__node_lane *lane = &node->lanes[member->chip];
    char message[TERN__NODE_SLOT_BYTES];
    lane->first = member->next;
    lane->waiting--;
    member->number = lane->sent;
    tern__node_send(node, member->chip, message, write_message(node, member, message), member);
}

// Whether the group is the first everywhere, and its chips are idle.
static bool group_may_start(const tern_node *node, const struct tern__node_call *call)
{
    for (int i = 0; i < call->members_count; i++) {
        const struct tern__node_lane *lane = &node->lanes[call->members[i].chip];
        if (lane->first != &call->members[i] || tern__node_in_flight(lane) != 0) {
            return false;
        }
    }
    return true;
}

// Sends what can be sent to the chips of `some`, a bit for each.
static void pump(tern_node *node, uint64_t some)
{
    while (some != 0) {
        const int chip = __builtin_ctzll(some);
        const struct tern__node_lane *lane = &node->lanes[chip];
        struct tern__node_call *call = lane->first != NULL ? lane->first->call : NULL;
        const bool may = call != NULL &&
                         (call->members_count > 1 ? group_may_start(node, call)
                                                  : tern__node_in_flight(lane) < TERN__NODE_SLOTS);
        if (!may) {
            some &= some - 1;
            continue;
        }
        call->sent = true;
        for (int i = 0; i < call->members_count; i++) {
            some |= UINT64_C(1) << call->members[i].chip;
            send_member(node, &call->members[i]);
        }
    }
}

static int least_busy(const tern_node *node)
{
    int best = 0;
    for (int chip = 1; chip < node->chips; chip++) {
        const struct tern__node_lane *lane = &node->lanes[chip], *other = &node->lanes[best];
        if (tern__node_in_flight(lane) + lane->waiting <
            tern__node_in_flight(other) + other->waiting) {
            best = chip;
        }
    }
    return best;
}

static struct tern__node_call *call_of(const struct tern__task *task)
{
    return (struct tern__node_call *)(intptr_t)task->args[0];
}

bool tern__node_ready(struct tern__away *away, struct tern__task *task)
{
    tern_node *node = tern__node_of(away);
    struct tern__node_call *call = call_of(task);
    uint64_t some = 0;
    pthread_mutex_lock(&node->lock);
    if (node->broken) {
        pthread_mutex_unlock(&node->lock);
        free(call);
        return false;
    }
    call->task = task;
    if (call->any) {
        call->members[0].chip = least_busy(node);
    }
    for (int i = 0; i < call->members_count; i++) {
        struct tern__node_member *member = &call->members[i];
        struct tern__node_lane *lane = &node->lanes[member->chip];
        member->next = NULL;
        *(lane->first != NULL ? &lane->last->next : &lane->first) = member;
        lane->last = member;
        lane->waiting++;
        some |= UINT64_C(1) << member->chip;
    }
    pump(node, some);
    pthread_mutex_unlock(&node->lock);
    return true;
}

void tern__node_drop(struct tern__away *away, struct tern__task *task)
{
    (void)away;
    free(call_of(task));
}

// The other chips of the group do not wait for this one.
static void end_waits(tern_node *node, const struct tern__node_call *call)
{
    for (int i = 0; i < call->members_count; i++) {
        const struct tern__node_member *member = &call->members[i];
        if (!member->ended) {
            tern_status_ignore(tern_signal_notify(node->window, member->chip + 1, TERN__NODE_ENDED,
                                                  (int32_t)(member->number + 1), TERN_NOTIFY_SET));
        }
    }
}

// The message's report, if there is one.
static const struct tern__node_report *report_of(const tern_node *node, int chip, uint32_t number)
{
    const struct tern__node_report *report = (const struct tern__node_report *)(const void *)
        tern__window_at(node->window, 0, tern__node_report_at(chip, number));
    return report->number == number + 1 ? report : NULL;
}

static void member_ended(tern_node *node, struct tern__node_member *member,
                         const struct tern__node_report *report, struct tern__node_call **finished)
{
    struct tern__node_call *call = member->call;
    member->ended = true;
    call->left--;
    if (report != NULL && call->failed_chip < 0) {
        call->failed_chip = member->chip;
        call->failed_ns = tern__now_ns();
        snprintf(call->failure, sizeof call->failure, "%.*s", (int)sizeof report->text - 1,
                 report->text);
        if (call->left > 0) {
            end_waits(node, call);
        }
    }
    if (call->left == 0) {
        call->next = *finished;
        *finished = call;
    }
}

// What a chip has done. Returns whether that was anything.
static bool collect(tern_node *node, int chip, struct tern__node_call **finished)
{
    struct tern__node_lane *lane = &node->lanes[chip];
    const uint32_t seen = seen_done(node, chip);
    bool any = false;
    while (tern__peek(&lane->done) != seen && tern__node_in_flight(lane) != 0) {
        const uint32_t number = tern__peek(&lane->done);
        struct tern__node_member *member = lane->flight[number % TERN__NODE_SLOTS];
        const struct tern__node_report *report = report_of(node, chip, number);
        tern__poke(&lane->done, number + 1);
        tern__flag_add(&node->flying, UINT32_MAX);
        any = true;
        if (member != NULL) {
            member_ended(node, member, report, finished);
        } else if (report != NULL && (node->refused_by < 0 || chip < node->refused_by)) {
            node->refused = *report;
            node->refused_by = chip;
        }
    }
    return any;
}

static void finish(tern_node *node, struct tern__node_call *call)
{
    struct tern__task *task = call->task;
    if (call->failed_chip >= 0) {
        tern__run_fail(node->chip, TERN_ERR_KERNEL, 0,
                       "task '%s' failed on chip %d (rank %d): %.400s", task->name,
                       call->failed_chip, call->failed_chip + 1, call->failure);
        tern__task_poison(task);
    }
    free(call);
    tern__run_finish(node->chip, task, NULL);
}

void tern__node_finish(tern_node *node, struct tern__node_call *calls)
{
    while (calls != NULL) {
        struct tern__node_call *next = calls->next;
        finish(node, calls);
        calls = next;
    }
}

void tern__node_look(struct tern__away *away, bool must)
{
    tern_node *node = tern__node_of(away);
    struct tern__node_call *finished = NULL;
    uint64_t some = 0;
    if (tern__flag_load(&node->flying) == 0) {
        return;
    }
    for (int chip = 0; chip < node->chips; chip++) {
        if (seen_done(node, chip) != tern__peek(&node->lanes[chip].done)) {
            some |= UINT64_C(1) << chip;
        }
    }
    if (some == 0) {
        return;
    }
    if (must) {
        pthread_mutex_lock(&node->lock);
    } else if (pthread_mutex_trylock(&node->lock) != 0) {
        return;
    }
    bool any = false;
    for (int chip = 0; chip < node->chips && !node->broken; chip++) {
        any = ((some >> chip & 1) != 0 && collect(node, chip, &finished)) || any;
    }
    if (any) {
        pump(node, some);
    }
    pthread_mutex_unlock(&node->lock);
    tern__node_finish(node, finished);
}
