// SPDX-License-Identifier: Apache-2.0
// Going through the lanes of a script.

#include "plan/exec/lanes.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/trace.h"
#include "net/net.h"
#include "plan/exec/add.h"
#include "sync/bell.h"

int tern__lanes_create(struct tern__lanes *lanes, size_t count)
{
    lanes->open = calloc(count + 1, sizeof *lanes->open);
    lanes->next = calloc(count + 1, sizeof(void *));
    lanes->added = calloc(count + 1, sizeof *lanes->added);
    return lanes->open != NULL && lanes->next != NULL && lanes->added != NULL
               ? TERN_OK
               : tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %zu lanes", count);
}

void tern__lanes_free(struct tern__lanes *lanes)
{
    free(lanes->open);
    free((void *)lanes->next);
    free(lanes->added);
}

void tern__lanes_begin(struct tern__lanes *lanes)
{
    lanes->failed = false;
    lanes->open_count = lanes->script != NULL ? lanes->script->lanes_count : 0;
    for (uint32_t lane = 0; lane < lanes->open_count; lane++) {
        lanes->open[lane] = (uint16_t)lane;
        lanes->next[lane] = lanes->script->lanes[lane].begin;
        lanes->added[lane] = 0;
    }
}

char *tern__lanes_word(const struct tern__lanes *lanes, int rank, uint32_t word)
{
    return lanes->signals + (size_t)rank * lanes->window->size_bytes + word * sizeof(uint32_t);
}

uint32_t tern__lanes_seen(const struct tern__lanes *lanes, const struct tern__step *step)
{
    const char *word = tern__lanes_word(lanes, lanes->binding->rank, step->word);
    // partner: the notify of a post
    return tern__flag_load((const _Atomic uint32_t *)(const void *)word) -
           lanes->counted[step->word];
}

static _Atomic uint32_t *counter_of(const struct tern__lanes *lanes, uint32_t signal)
{
    return (_Atomic uint32_t *)(void *)(lanes->arrivals + (size_t)signal * TERN_CACHE_LINE);
}

void tern__ring_others(const tern_window *window)
{
    for (int rank = 0; rank < window->nranks; rank++) {
        if (rank != window->rank) {
            tern__bell_ring(tern__window_bell(window, rank));
        }
    }
}

void tern__arrive(const tern_window *window, _Atomic uint32_t *counter, uint32_t before)
{
    uint32_t n = (uint32_t)window->nranks;
    if (n > 2 && tern__flag_add(counter, 1) + 1 != before + n) {
        return; // partner: has_met, of whoever waits for the last one
    }
    tern__ring_others(window);
}

static bool has_met(const struct tern__lanes *lanes, uint32_t signal)
{
    return tern__reached(tern__flag_load(counter_of(lanes, signal)),
                         lanes->passed[signal] + (uint32_t)lanes->window->nranks);
}

bool tern__lanes_begun(const struct tern__lanes *lanes, int rank)
{
    const char *head = lanes->heads + (size_t)rank * lanes->window->size_bytes;
    const _Atomic uint32_t *begun = (lanes->binding->elsewhere >> rank & 1) != 0
                                        ? &lanes->told[rank]
                                        : (const _Atomic uint32_t *)(const void *)head;
    // partner: the store of whoever begins a run; also acquires what that rank wrote before it.
    return tern__reached(tern__flag_load(begun), lanes->run);
}

// Whether all of these ranks have begun the run; remembers those that have.
static bool have_begun(struct tern__lanes *lanes, uint64_t ranks)
{
    for (uint64_t left = ranks & ~lanes->begun; left != 0; left &= left - 1) {
        if (!tern__lanes_begun(lanes, __builtin_ctzll(left))) {
            return false;
        }
        lanes->begun |= left & -left;
    }
    return true;
}

// Whether a step has to wait for nothing any more.
static inline bool is_ready(struct tern__lanes *lanes, const struct tern__step *step)
{
    switch ((enum tern__step_kind)step->kind) {
    case TERN__STEP_WAIT:
        return tern__reached(tern__lanes_seen(lanes, step), step->count);
    case TERN__STEP_MEET:
        return has_met(lanes, step->signal);
    default:
        if (tern__transfer_waits(lanes->binding, step)) {
            return tern__transfer_is_over(lanes->binding, step);
        }
        return (step->gates & ~lanes->begun) == 0 || have_begun(lanes, step->gates);
    }
}

static void post(const struct tern__lanes *lanes, const struct tern__step *step)
{
    if ((lanes->binding->left >> step->peer & 1) != 0) {
        return;
    }
    if ((lanes->binding->elsewhere >> step->peer & 1) != 0) {
        tern__net_post(tern__lanes_word(lanes, step->peer, step->word));
        return;
    }
    lanes->window->xport->notify(tern__lanes_word(lanes, step->peer, step->word), 1,
                                 TERN_NOTIFY_ADD);
    tern__bell_ring(tern__window_bell(lanes->window, step->peer));
}

// Whether a step is a copy to another machine and the next one a post to the same rank, which can
// go in one message.
static bool takes_post(const struct tern__lanes *lanes, const struct tern__step *step,
                       const struct tern__step *end)
{
    const struct tern__binding *binding = lanes->binding;
    const struct tern__step *next = step + 1;
    return binding->elsewhere != 0 && step->kind == TERN__STEP_COPY &&
           step->destinations_count == 1 && next != end && next->kind == TERN__STEP_POST &&
           next->peer == step->operands[1].rank && (binding->elsewhere >> next->peer & 1) != 0 &&
           (binding->far >> step->operands[0].rank & 1) == 0 && (next->gates & ~lanes->begun) == 0;
}

// Goes on with a transfer; true when it is over.
static bool transfer(struct tern__lanes *lanes, uint32_t lane, const struct tern__step *step)
{
    bool wanted = false;
    if (step->kind != TERN__STEP_ADD) {
        lanes->failed = !tern__transfer(lanes->binding, lanes->window->xport, step, &lanes->unread);
        return !lanes->failed && !tern__transfer_waits(lanes->binding, step);
    }
    bool over = tern__add(lanes->binding, step, &lanes->added[lane], &wanted);
    if (wanted) {
        tern__ring_others(lanes->window); // partner: the look of tern__add_is_free
    }
    lanes->added[lane] = over ? 0 : lanes->added[lane];
    return over;
}

// Does what is ready of a lane, up to the second transfer; true when that was anything.
static bool advance(struct tern__lanes *lanes, uint32_t lane)
{
    const struct tern__step *begin = lanes->next[lane];
    const struct tern__step *end = lanes->script->lanes[lane].end;
    const struct tern__step *step = begin;
    bool transferred = false;
    bool posted = false; // with the transfer before
    bool moved = false;
    for (; step != end; step++) {
        int64_t begin_ns = tern__trace_start();
        if (!is_ready(lanes, step)) {
            break;
        }
        if (step->kind == TERN__STEP_POST) {
            if (!posted) {
                post(lanes, step);
            }
            posted = false;
        } else if (step->kind == TERN__STEP_ARRIVE) {
            tern__arrive(lanes->window, counter_of(lanes, step->signal),
                         lanes->passed[step->signal]);
        } else if (step->kind != TERN__STEP_WAIT && step->kind != TERN__STEP_MEET) {
            if (transferred) {
                break;
            }
            uint32_t added = lanes->added[lane];
            posted = takes_post(lanes, step, end);
            if (posted) {
                tern__transfer_and_post(lanes->binding, step,
                                        tern__lanes_word(lanes, step[1].peer, step[1].word));
            } else if (!transfer(lanes, lane, step)) {
                moved = lanes->added[lane] != added;
                break;
            }
            transferred = true;
            continue; // which has its own event
        }
        if (begin_ns != 0) {
            lanes->trace(lanes, step, begin_ns);
        }
    }
    lanes->next[lane] = step;
    return moved || step != begin;
}

bool tern__lanes_sweep(struct tern__lanes *lanes)
{
    bool moved = false;
    for (uint32_t i = 0; i < lanes->open_count && !lanes->failed;) {
        uint32_t lane = lanes->open[i];
        moved = advance(lanes, lane) || moved;
        if (lanes->next[lane] == lanes->script->lanes[lane].end) {
            lanes->open[i] = lanes->open[--lanes->open_count];
        } else {
            i++;
        }
    }
    return moved;
}

bool tern__lanes_ready(struct tern__lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->open_count; i++) {
        uint32_t lane = lanes->open[i];
        const struct tern__step *step = lanes->next[lane];
        if (is_ready(lanes, step) &&
            (step->kind != TERN__STEP_ADD ||
             tern__add_is_free(tern__add_next(lanes->binding, step, lanes->added[lane])))) {
            return true;
        }
    }
    return false;
}

void tern__lanes_end(struct tern__lanes *lanes)
{
    const struct tern__script *script = lanes->script;
    for (uint32_t signal = 0; script != NULL && signal < script->posts_count; signal++) {
        lanes->counted[tern__script_word(script, signal)] += script->posts[signal];
    }
}

const struct tern__step *tern__lanes_stand(const struct tern__lanes *lanes, int *lane)
{
    if (lanes->open_count == 0) {
        return NULL;
    }
    *lane = lanes->script->lanes[lanes->open[0]].lane;
    return lanes->next[lanes->open[0]];
}
