// SPDX-License-Identifier: Apache-2.0
// What waits for signals (hold.h). A hold is put into the list by who has seen, under the lock,
// that it does not hold; the notify that comes later rings the scheduler, which looks under the
// lock. So none is overlooked.

#include "graph/hold.h"

#include <stdlib.h>
#include <string.h>

#include "graph/chip.h"
#include "graph/run.h"
#include "isa/check.h"
#include "isa/signal.h"
#include "tern/window.h"

// Checking mode: what ranks had done before they notified is known to this one from here on.
static void tell_check(const struct tern__until *until)
{
    tern_window *window = until->condition.window;
    size_t offset_bytes = until->condition.offset_bytes;
    int rank = -1;
    if (until->word == NULL || (tern_window_find((const void *)(uintptr_t)until->word, &window,
                                                 &rank, &offset_bytes) == TERN_OK &&
                                rank == window->rank)) {
        tern__watch_seen(window, offset_bytes, until->condition.cmp, until->condition.value,
                         TERN__WATCH_TEST);
    }
}

static bool all_hold(const struct tern_chip *chip, const struct tern__hold *hold)
{
    for (uint32_t i = 0; i < hold->count; i++) {
        if (!tern__until_holds(&hold->untils[i], chip->run.number)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < hold->count && tern__checking(); i++) {
        tell_check(&hold->untils[i]);
    }
    return true;
}

static bool has_word(const struct tern__hold *hold)
{
    for (uint32_t i = 0; i < hold->count; i++) {
        if (hold->untils[i].word != NULL) {
            return true;
        }
    }
    return false;
}

static void append(struct tern__holds *holds, struct tern__hold *hold)
{
    hold->next = NULL;
    *(holds->first != NULL ? &holds->last->next : &holds->first) = hold;
    holds->last = hold;
}

// False: it holds already, or it is in vain, and the task is poisoned.
static bool add(struct tern_chip *chip, struct tern__hold *hold)
{
    struct tern__holds *holds = &chip->holds;
    pthread_mutex_lock(&holds->lock);
    // The count first: who sets in_vain then looks at it.
    tern__flag_add(&holds->count, 1); // partner: tern__holds_take
    bool holds_now = all_hold(chip, hold);
    bool waits = !holds_now && tern__flag_load(&chip->run.in_vain) == 0;
    if (waits) {
        append(holds, hold);
        if (has_word(hold) && tern__flag_add(&holds->words, 1) == 0) {
            tern__chip_ring(chip); // from now on it looks by itself
        }
    } else {
        tern__flag_add(&holds->count, UINT32_MAX);
        if (!holds_now) {
            tern__task_poison(hold->task);
        }
    }
    pthread_mutex_unlock(&holds->lock);
    return waits;
}

// Waits overlap one another. Their arrows end at the tasks, which are slices.
static void trace_wait(const struct tern__hold *hold)
{
    const struct tern__until *until = &hold->untils[0];
    struct tern__trace_event event = {.begin_ns = hold->since_ns,
                                      .kind = TERN__TRACE_WAIT,
                                      .has = TERN__TRACE_HAS_SIGNAL | TERN__TRACE_OVERLAPS,
                                      .signal = until->condition.offset_bytes};
    tern__trace_name(&event, hold->task->name);
    tern__trace_put(&event);
}

bool tern__hold_start(struct tern_chip *chip, struct tern__task *task)
{
    struct tern__hold *hold = &task->more->hold;
    hold->since_ns = tern__trace_start();
    if (add(chip, hold)) {
        return false;
    }
    if (hold->since_ns != 0) {
        trace_wait(hold);
    }
    return true;
}

bool tern__hold_end(struct tern_chip *chip, struct tern__task *task,
                    const struct tern__until *untils, uint32_t count, bool *waits)
{
    struct tern__hold *hold = malloc(sizeof *hold + count * sizeof *untils);
    if (hold == NULL) {
        return false;
    }
    *hold = (struct tern__hold){.task = task,
                                .ends = true,
                                .count = count,
                                .untils = (struct tern__until *)(void *)(hold + 1)};
    memcpy(hold->untils, untils, count * sizeof *untils);
    *waits = add(chip, hold);
    if (!*waits) {
        free(hold);
    }
    return true;
}

struct tern__hold *tern__holds_take(struct tern_chip *chip, bool must)
{
    struct tern__holds *holds = &chip->holds;
    if (tern__flag_load(&holds->count) == 0) {
        return NULL;
    }
    if (must) {
        pthread_mutex_lock(&holds->lock);
    } else if (pthread_mutex_trylock(&holds->lock) != 0) {
        return NULL;
    }
    bool in_vain = tern__flag_load(&chip->run.in_vain) != 0;
    struct tern__hold *hold = holds->first;
    struct tern__hold *gone = NULL;
    struct tern__hold **gone_end = &gone;
    holds->first = NULL;
    while (hold != NULL) {
        struct tern__hold *next = hold->next;
        bool holds_now = all_hold(chip, hold);
        if (in_vain || holds_now) {
            if (!holds_now) {
                tern__task_poison(hold->task);
            }
            *gone_end = hold;
            gone_end = &hold->next;
            if (has_word(hold)) {
                tern__flag_add(&holds->words, UINT32_MAX);
            }
            tern__flag_add(&holds->count, UINT32_MAX);
        } else {
            append(holds, hold);
        }
        hold = next;
    }
    *gone_end = NULL;
    pthread_mutex_unlock(&holds->lock);
    for (hold = gone; hold != NULL; hold = hold->next) {
        if (!hold->ends && hold->since_ns != 0) {
            trace_wait(hold);
        }
    }
    return gone;
}
