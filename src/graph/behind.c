// SPDX-License-Identifier: Apache-2.0
// Looks from tasks that wait along the edges, breadth first, at up to MOST tasks. Only while the
// orchestration has returned: then no row, edge or notice changes any more, but that lists of edges
// are closed when a signal has come meanwhile.

#include "graph/behind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/window.h"
#include "graph/graph.h"
#include "graph/until.h"

enum { WAITS = 8, MOST = 4096, SLOTS = 2 * MOST };

// A signal that has not come, and who waits for it.
struct wait {
    const struct tern__task *task;
    bool ends;
    tern_condition condition;
};

struct walk {
    const struct tern__task *queue[MOST];
    const struct tern__task *seen[SLOTS]; // by address
    int count;
};

static int find_waits(struct tern_chip *chip, struct wait waits[WAITS])
{
    int count = 0;
    pthread_mutex_lock(&chip->holds.lock);
    for (const struct tern__hold *hold = chip->holds.first; hold != NULL; hold = hold->next) {
        for (uint32_t i = 0; i < hold->count && count < WAITS; i++) {
            const struct tern__until *until = &hold->untils[i];
            if (until->word == NULL && !tern__until_holds(until, chip->run.number)) {
                waits[count++] = (struct wait){hold->task, hold->ends, until->condition};
            }
        }
    }
    pthread_mutex_unlock(&chip->holds.lock);
    return count;
}

static void reach(struct walk *walk, const struct tern__task *task)
{
    size_t slot = (uintptr_t)task / sizeof *task * 0x9e3779b1u % SLOTS;
    while (walk->seen[slot] != NULL && walk->seen[slot] != task) {
        slot = (slot + 1) % SLOTS;
    }
    if (walk->seen[slot] == NULL && walk->count < MOST) {
        walk->seen[slot] = task;
        walk->queue[walk->count++] = task;
    }
}

static void reach_after(const struct tern_chip *chip, struct walk *walk,
                        const struct tern__task *task)
{
    if (!chip->run.grows) {
        const tern_graph *graph = chip->run.graph;
        const struct tern__order *order = &graph->order;
        for (uint32_t k = order->first[task->number]; k < order->first[task->number + 1]; k++) {
            reach(walk, tern__graph_at(graph, order->to[k]));
        }
        return;
    }
    const struct tern__edge *edge = atomic_load_explicit(&task->after, memory_order_acquire);
    for (; edge != NULL && !tern__edges_are_closed(edge); edge = edge->next) {
        reach(walk, edge->to);
    }
}

static struct tern__wait_link make_link(const struct wait *wait, const struct tern__task *task,
                                        const tern_notice *notice)
{
    const tern_window *from = wait->condition.window;
    const tern_window *to = notice->window;
    struct tern__wait_link link = {
        .waits_at = wait->condition.offset_bytes,
        .waits_window = from->number,
        .waits_slot = (uint8_t)from->comm->group.slot,
        .notifies_at = notice->offset_bytes,
        .notifies_window = to->number,
        .notifies_slot = (uint8_t)to->comm->group.slot,
        .rank =
            (uint8_t)(notice->rank >= 0 ? to->comm->group.members[notice->rank] : TERN__LINK_ALL),
        .same = task == wait->task,
    };
    snprintf(link.waits, sizeof link.waits, "%s", wait->task->name);
    snprintf(link.notifies, sizeof link.notifies, "%s", task->name);
    return link;
}

static int find_links(struct tern_chip *chip, struct walk *walk, struct tern__wait_link *links)
{
    struct wait waits[WAITS];
    const int waits_count = find_waits(chip, waits);
    int count = 0;
    for (int i = 0; i < waits_count; i++) {
        memset(walk, 0, sizeof *walk);
        reach(walk, waits[i].task);
        for (int at = 0; at < walk->count && count < TERN__LINKS; at++) {
            const struct tern__task *task = walk->queue[at];
            // Of a task whose kernel has run, only what comes after it is to come.
            const bool notifies =
                (task->special & TERN__TASK_NOTIFIES) != 0 && !(at == 0 && waits[i].ends);
            for (int k = 0; notifies && k < task->more->notices_count && count < TERN__LINKS; k++) {
                links[count++] = make_link(&waits[i], task, &task->more->notices[k]);
            }
            reach_after(chip, walk, task);
        }
    }
    return count;
}

void tern__behind_show(struct tern_chip *chip, struct tern__behind *behind, bool held,
                       uint64_t ended)
{
    const struct tern__behind now = {.shown = held,
                                     .ended = ended,
                                     .holds = tern__flag_load(&chip->holds.count)};
    if (held == behind->shown &&
        (!held || (ended == behind->ended && now.holds == behind->holds))) {
        return;
    }
    struct tern__wait_link links[TERN__LINKS];
    struct walk *walk = held ? malloc(sizeof *walk) : NULL;
    const int count = walk != NULL ? find_links(chip, walk, links) : 0;
    free(walk);
    tern__links_show(chip->comm->group.job, links, count);
    *behind = now;
}
