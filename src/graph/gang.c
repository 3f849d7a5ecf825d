// SPDX-License-Identifier: Apache-2.0
// Placing tasks of several calls (gang.h).

#include "graph/gang.h"

#include <stddef.h>

#include "graph/chip.h"
#include "graph/run.h"

// The cores of a call of the task: of cluster `unit`, or core `unit` of its kind.
static int cores_of(struct tern__cores *cores, const struct tern__task *task, int unit,
                    struct tern__core **found, int *slots)
{
    if (task->core != TERN_CORE_MIX) {
        found[0] = tern__core_at(cores, task->core, unit);
        slots[0] = 0;
        return 1;
    }
    int count = 0;
    for (int slot = 0; slot < 3; slot++) {
        if (task->more->mix[slot] != NULL) {
            found[count] = slot == 0 ? tern__core_at(cores, TERN_CORE_AIC, unit)
                                     : tern__core_at(cores, TERN_CORE_AIV, 2 * unit + slot - 1);
            slots[count++] = slot;
        }
    }
    return count;
}

static int units_of(const struct tern__cores *cores, const struct tern__task *task)
{
    return task->core == TERN_CORE_MIX ? tern__cores_clusters(cores)
                                       : tern__cores_of(cores, task->core);
}

// Also what is kept for a task that came later: else two tasks could each keep what the other one
// needs, since cores become idle at any time.
static bool hold(struct tern__core *core, struct tern__task *task)
{
    const struct tern__task *other = core->held_for;
    if (other == task) {
        return true;
    }
    if (other != NULL ? tern__reached(task->more->turn, other->more->turn)
                      : !tern__flag_swap(&core->state, TERN__CORE_IDLE, // partner: core.c
                                         TERN__CORE_HELD)) {
        return false;
    }
    core->held_for = task;
    return true;
}

static void let_go(struct tern__core *core)
{
    core->held_for = NULL;
    tern__flag_store(&core->state, TERN__CORE_IDLE); // partner: has_work in core.c
    tern__bell_ring(&core->bell);
}

static void give(struct tern__core *core, struct tern__task *task, int block, int slot,
                 struct tern__cluster *cluster)
{
    core->held_for = NULL;
    core->given_cluster = cluster;
    core->given = task;
    core->given_block = block;
    core->given_slot = slot;
    tern__flag_store(&core->state, TERN__CORE_GIVEN); // partner: has_work in core.c
    tern__bell_ring(&core->bell);
}

// Holds the cores of a unit. All of them: true. Else those that it got are kept, or are again what
// they were.
static bool hold_unit(struct tern__cores *cores, struct tern__task *task, int unit, bool keeps)
{
    struct tern__core *found[3];
    int slots[3];
    int count = cores_of(cores, task, unit, found, slots);
    int held = 0;
    struct tern__task *before[3];
    for (int i = 0; i < count; i++) {
        before[i] = found[i]->held_for;
        held += hold(found[i], task);
    }
    if (held == count || keeps) {
        return held == count;
    }
    for (int i = 0; i < count; i++) {
        if (before[i] != NULL) {
            found[i]->held_for = before[i];
        } else if (found[i]->held_for == task) {
            let_go(found[i]);
        }
    }
    return false;
}

static void give_unit(struct tern__cores *cores, struct tern__task *task, int unit, int block)
{
    struct tern__core *found[3];
    int slots[3];
    int count = cores_of(cores, task, unit, found, slots);
    struct tern__cluster *cluster = NULL;
    if (task->core == TERN_CORE_MIX) {
        uint32_t lanes = 0;
        for (int i = 0; i < count; i++) {
            lanes |= 1u << slots[i];
        }
        cluster = tern__cluster_begin(cores->clusters, unit, lanes);
    }
    for (int i = 0; i < count; i++) {
        give(found[i], task, block, slots[i], cluster);
    }
}

static void let_unit_go(struct tern__cores *cores, const struct tern__task *task, int unit)
{
    struct tern__core *found[3];
    int slots[3];
    int count = cores_of(cores, task, unit, found, slots);
    for (int i = 0; i < count; i++) {
        if (found[i]->held_for == task) {
            let_go(found[i]);
        }
    }
}

// What is held for the task and is not of the unit.
static void let_others_go(struct tern__cores *cores, const struct tern__task *task, int unit)
{
    struct tern__core *found[3];
    int slots[3];
    int count = unit >= 0 ? cores_of(cores, task, unit, found, slots) : 0;
    for (int i = 0; i < tern__cores_count(cores); i++) {
        bool keeps = false;
        for (int k = 0; k < count; k++) {
            keeps = keeps || found[k] == &cores->list[i];
        }
        if (!keeps && cores->list[i].held_for == task) {
            let_go(&cores->list[i]);
        }
    }
}

// Returns whether all blocks have been given.
static bool place_together(struct tern__cores *cores, struct tern__task *task)
{
    int units = units_of(cores, task);
    int have = 0;
    for (int unit = 0; unit < units; unit++) {
        have += hold_unit(cores, task, unit, true);
    }
    if (have < (int)task->blocks) {
        return false;
    }
    // Whole units only; then all at once. The task may end as soon as the last has been given.
    int blocks = (int)task->blocks;
    int taken[TERN_CORES_MAX];
    int count = 0;
    for (int unit = 0; unit < units; unit++) {
        if (hold_unit(cores, task, unit, true) && count < blocks) {
            taken[count++] = unit;
        }
    }
    for (int unit = 0, at = 0; unit < units; unit++) {
        if (at < count && taken[at] == unit) {
            at++;
        } else {
            let_unit_go(cores, task, unit);
        }
    }
    for (int block = 0; block < count; block++) {
        give_unit(cores, task, taken[block], block);
    }
    return true;
}

// Once its last block has been given, the task may end at any time.
static bool place_singly(struct tern__cores *cores, struct tern__task *task, bool first)
{
    struct tern__task_more *more = task->more;
    int units = units_of(cores, task);
    int blocks = (int)task->blocks;
    int block = more->next_block;
    for (int unit = 0; unit < units && block < blocks; unit++) {
        if (hold_unit(cores, task, unit, unit == more->reserve)) {
            if (++block == blocks) {
                let_others_go(cores, task, unit);
                give_unit(cores, task, unit, block - 1);
                return true;
            }
            give_unit(cores, task, unit, block - 1);
        }
    }
    more->next_block = block;
    if (first && task->core == TERN_CORE_MIX && more->reserve < 0) {
        more->reserve = 0;
        (void)hold_unit(cores, task, 0, true);
    }
    return false;
}

static bool place(struct tern_chip *chip, struct tern__task *task, bool first)
{
    return task->more->sync_start ? place_together(&chip->cores, task)
                                  : place_singly(&chip->cores, task, first);
}

// Takes out of the list what has been placed. Of a run that is cancelled that is all; returns what
// has not been placed.
static struct tern__task *place_all(struct tern_chip *chip)
{
    struct tern__gangs *gangs = &chip->gangs;
    bool cancelled = tern__flag_load(&chip->run.cancelled) != 0;
    bool first_mix = true;
    struct tern__task *dropped = NULL;
    struct tern__task *last = NULL;
    struct tern__task **link = &gangs->first;
    while (*link != NULL) {
        struct tern__task *task = *link;
        struct tern__task *next = task->more->next_gang;
        bool is_mix = task->core == TERN_CORE_MIX;
        if (cancelled) {
            let_others_go(&chip->cores, task, -1);
            task->next = dropped;
            dropped = task;
        }
        if (cancelled || place(chip, task, first_mix)) {
            *link = next;
            tern__flag_add(&gangs->count, UINT32_MAX);
        } else {
            first_mix = first_mix && !is_mix;
            last = task;
            link = &task->more->next_gang;
        }
    }
    gangs->last = last;
    return dropped;
}

struct tern__task *tern__gangs_place(struct tern_chip *chip)
{
    pthread_mutex_lock(&chip->gangs.lock);
    struct tern__task *dropped = place_all(chip);
    pthread_mutex_unlock(&chip->gangs.lock);
    struct tern__task *ended = NULL;
    while (dropped != NULL) {
        struct tern__task *next = dropped->next;
        uint32_t calls = tern__task_calls(dropped);
        uint32_t given = calls / dropped->blocks * (uint32_t)dropped->more->next_block;
        tern__task_poison(dropped);
        if (atomic_fetch_sub(&dropped->more->left, calls - given) == calls - given) {
            dropped->next = ended;
            ended = dropped;
        }
        dropped = next;
    }
    return ended;
}

void tern__gangs_add(struct tern_chip *chip, struct tern__task *task)
{
    struct tern__gangs *gangs = &chip->gangs;
    task->more->next_gang = NULL;
    task->more->next_block = 0;
    task->more->reserve = -1;
    pthread_mutex_lock(&gangs->lock);
    task->more->turn = gangs->turns++;
    *(gangs->first != NULL ? &gangs->last->more->next_gang : &gangs->first) = task;
    gangs->last = task;
    tern__flag_add(&gangs->count, 1); // partner: await_task in core.c
    pthread_mutex_unlock(&gangs->lock);
}
