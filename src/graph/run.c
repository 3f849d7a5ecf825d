// SPDX-License-Identifier: Apache-2.0
// A run (run.h). Data path: no allocation, lock, system call or log, but for tasks that wait for
// signals or need several calls.

#include "graph/run.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/away.h"
#include "graph/chip.h"
#include "graph/gang.h"
#include "graph/hold.h"
#include "graph/rings.h"
#include "isa/signal.h"

// What one call has to do. Tasks that end without having run are ended in turn, not one inside the
// other: a chain of them may be as long as a graph.
struct todo {
    struct tern_chip *chip;
    struct tern__core *core;   // the caller, or NULL
    struct tern__task *direct; // what the core runs next
    struct tern__task *first;  // to be ended
};

// Does not look at the task, which may be far away in memory.
static void put(struct todo *todo, struct tern__task *task, int kind)
{
    struct tern__cores *cores = &todo->chip->cores;
    struct tern__ready *ready = atomic_load_explicit(&cores->ready[kind], memory_order_acquire);
    if (todo->core != NULL && todo->core->kind == kind) {
        struct tern__ready_own *own = &todo->core->own;
        // What became ready before goes first.
        if (todo->direct == NULL && tern__ready_looks_empty(ready) && !tern__ready_own_any(own) &&
            tern__peek(&todo->chip->gangs.count) == 0) {
            todo->direct = task;
            return;
        }
        if (todo->core->only) {
            tern__ready_own_put(own, ready, task);
            return;
        }
    }
    tern__ready_put(ready, task);
    tern__cores_wake(cores, kind);
}

static void end_later(struct todo *todo, struct tern__task *task)
{
    task->next = todo->first;
    todo->first = task;
}

static void place(struct todo *todo)
{
    struct tern__task *ended = tern__gangs_place(todo->chip);
    while (ended != NULL) {
        struct tern__task *next = ended->next;
        end_later(todo, ended);
        ended = next;
    }
}

// Exact: a long double has 64 bits of mantissa, or more.
static_assert(LDBL_MANT_DIG >= 64, "a predicate compares 64-bit integers as long double");
static long double element_of(const tern_predicate *predicate)
{
    const void *at = predicate->address;
    switch (predicate->dtype) {
    case TERN_F32: {
        float value;
        memcpy(&value, at, sizeof value);
        return (long double)value;
    }
    case TERN_F64: {
        double value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    case TERN_I8:
        return *(const int8_t *)at;
    case TERN_U8:
        return *(const uint8_t *)at;
    case TERN_I16:
        return *(const int16_t *)at;
    case TERN_U16:
        return *(const uint16_t *)at;
    case TERN_I32:
        return *(const int32_t *)at;
    case TERN_U32:
        return *(const uint32_t *)at;
    case TERN_I64:
        return (long double)*(const int64_t *)at;
    case TERN_U64:
        return (long double)*(const uint64_t *)at;
    default:
        return 0;
    }
}

static bool predicate_holds(const tern_predicate *predicate)
{
    const long double seen = element_of(predicate), value = (long double)predicate->value;
    if (isunordered(seen, value)) {
        return predicate->cmp == TERN_CMP_NE;
    }
    return tern__cmp_holds((seen > value) - (seen < value), predicate->cmp, 0);
}

static bool is_poisoned(const struct todo *todo, struct tern__task *task)
{
    if (__builtin_expect(tern__peek(&todo->chip->run.cancelled) != 0, 0)) {
        tern__task_poison(task);
    }
    return (tern__peek(&task->flags) & TERN__TASK_POISONED) != 0;
}

// Its waits, if it has any, hold.
static void start(struct todo *todo, struct tern__task *task)
{
    if (is_poisoned(todo, task) || (task->special & TERN__TASK_EMPTY) != 0 ||
        ((task->special & TERN__TASK_PREDICATE) != 0 && !predicate_holds(&task->more->predicate))) {
        if ((task->special & TERN__TASK_AWAY) != 0) {
            todo->chip->away->drop(todo->chip->away, task);
        }
        end_later(todo, task);
    } else if ((task->special & TERN__TASK_GANG) != 0) {
        tern__poke(&task->more->left, tern__task_calls(task));
        tern__gangs_add(todo->chip, task);
        place(todo);
    } else if ((task->special & TERN__TASK_AWAY) != 0) {
        if (!todo->chip->away->ready(todo->chip->away, task)) {
            tern__task_poison(task);
            end_later(todo, task);
        }
    } else {
        put(todo, task, task->core);
    }
}

static void ready(struct todo *todo, struct tern__task *task)
{
    if (__builtin_expect(task->special == 0, 1)) { // poisoned or not: core.c looks
        put(todo, task, task->core);
    } else if ((task->special & TERN__TASK_WAITS) == 0 || is_poisoned(todo, task) ||
               tern__hold_start(todo->chip, task)) {
        start(todo, task);
    }
}

// partner: the same of other threads; acquires what those before have written
static bool was_last(_Atomic uint32_t *pending)
{
    return atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) == 1;
}

// The same where nobody else can make it one less: no atomic operation, which would wait until all
// that was stored before is in the cache.
static bool is_last(_Atomic uint32_t *pending)
{
    return atomic_load_explicit(pending, memory_order_acquire) == 1 || was_last(pending);
}

// In a trace an arrow leads from here to the task; from a join, from what released that.
static void note_release(const struct tern__task *task, struct tern__task *released)
{
    if (__builtin_expect(tern__peek(&tern__trace_on) != 0, 0)) {
        const bool join = (task->special & TERN__TASK_JOIN) != 0;
        released->by = join ? task->by : tern__task_id_of(task) + 1;
    }
}

// What comes after a task of a graph that grows.
static void release_edges(struct todo *todo, struct tern__task *task, bool poisoned)
{
    struct tern__edge *edge = atomic_exchange( // partner: tern__task_link
        &task->after, poisoned ? TERN__EDGES_POISONED : TERN__EDGES_CLOSED);
    while (edge != NULL) {
        struct tern__edge *next = edge->next; // the edge is its `to`'s
        if (next != NULL) {
            tern__own_line(&next->to->pending);
        }
        if (poisoned) {
            tern__task_poison(edge->to);
        }
        if (was_last(&edge->to->pending)) {
            note_release(task, edge->to);
            // It runs soon, and likely here; and all of that was written by who built it.
            tern__own_line(&edge->to->after);
            __builtin_prefetch(edge->to->args);
            __builtin_prefetch(edge->to->before);
            ready(todo, edge->to);
        }
        edge = next;
    }
}

// Of one that is whole.
static void release_order(struct todo *todo, const struct tern__task *task, bool poisoned)
{
    const tern_graph *graph = todo->chip->run.graph;
    const struct tern__order *order = &graph->order;
    const uint32_t *to = &order->to[order->first[task->number]];
    const uint32_t *end = &order->to[order->first[task->number + 1]];
    for (; to < end; to++) {
        if (poisoned) {
            tern__task_poison(tern__graph_at(graph, *to));
        }
        if (is_last(&order->pending[*to])) {
            struct tern__task *next = tern__graph_at(graph, *to);
            note_release(task, next);
            tern__poke(&order->pending[*to], order->fanin[*to]); // for the next run
            __builtin_prefetch(next);
            __builtin_prefetch(&order->first[*to]);
            if (order->plain[*to] != TERN__ORDER_SPECIAL) {
                put(todo, next, order->plain[*to]);
            } else {
                ready(todo, next);
            }
        }
    }
}

// Returns whether it counts.
static bool end_one(struct todo *todo, struct tern__task *task)
{
    struct tern_chip *chip = todo->chip;
    bool grows = chip->run.grows;
    bool poisoned = (tern__peek(&task->flags) & TERN__TASK_POISONED) != 0;
    // Once what comes after it has been released, a join may retire, and its row be another task's.
    const bool join = (task->special & TERN__TASK_JOIN) != 0;
    if (grows) {
        release_edges(todo, task, poisoned);
    } else {
        release_order(todo, task, poisoned);
    }
    if (poisoned && !grows) {
        tern__poke(&task->flags, 0);
    }
    if (join) {
        return false;
    }
    if (todo->core != NULL) {
        uint32_t ended = tern__peek(&todo->core->ended);
        tern__poke(&todo->core->ended, ended + 1);
        if (poisoned) {
            tern__poke(&todo->core->skipped, tern__peek(&todo->core->skipped) + 1);
        }
    } else if (poisoned) {
        atomic_fetch_add(&chip->run.skipped, 1);
    }
    if (grows) {
        if (chip->run.rings != NULL) {
            tern__rings_ended(chip->run.rings, task);
        }
        // partner: tern__rings_wait
        if (tern__flag_load(&chip->orchestrator_waits) == TERN__CODE_TENSOR_WAIT_TIMEOUT) {
            tern__bell_ring(&chip->room_bell);
        }
    }
    return true;
}

static void tell(struct tern_chip *chip, uint64_t count)
{
    // partner: tern__run_close
    uint64_t ended = atomic_fetch_add(&chip->run.ended, count) + count;
    if (ended == atomic_load(&chip->run.total)) {
        tern__chip_ring(chip);
    }
}

// `count`: of tasks that have ended and are not told yet.
static struct tern__task *end_all(struct todo *todo, uint64_t count)
{
    while (todo->first != NULL) {
        struct tern__task *task = todo->first;
        todo->first = task->next;
        count += end_one(todo, task);
    }
    if (todo->core == NULL && count > 0) {
        tell(todo->chip, count);
    }
    return todo->direct;
}

struct tern__task *tern__run_finish(struct tern_chip *chip, struct tern__task *task,
                                    struct tern__core *core)
{
    struct todo todo = {.chip = chip, .core = core};
    const uint64_t count = end_one(&todo, task); // not through the list: `next` is in another line
    return end_all(&todo, count);
}

struct tern__task *tern__run_call_ended(struct tern_chip *chip, struct tern__task *task,
                                        struct tern__core *core)
{
    bool last = (task->special & TERN__TASK_GANG) == 0 ||
                // partner: the same of other cores; acquires what their calls have written
                atomic_fetch_sub(&task->more->left, 1) == 1;
    return last ? tern__run_finish(chip, task, core) : NULL;
}

void tern__run_ready(struct tern_chip *chip, struct tern__task *task)
{
    struct todo todo = {.chip = chip};
    ready(&todo, task);
    end_all(&todo, 0);
}

void tern__run_release(struct tern_chip *chip, struct tern__task *task, uint32_t count)
{
    struct todo todo = {.chip = chip};
    // When nobody else has a part in it, no atomic operation is needed: one would wait until all
    // that the caller has just written is in its cache.
    if (atomic_load_explicit(&task->pending, memory_order_acquire) == count) { // partner: was_last
        tern__poke(&task->pending, 0);
        ready(&todo, task);
    } else if (atomic_fetch_sub_explicit(&task->pending, count, memory_order_acq_rel) == count) {
        ready(&todo, task);
    }
    end_all(&todo, 0);
}

static void let_go(struct tern_chip *chip, struct tern__hold *hold)
{
    struct tern__task *task = hold->task;
    if (hold->ends) {
        free(hold);
        tern__run_call_ended(chip, task, NULL);
        return;
    }
    struct todo todo = {.chip = chip};
    start(&todo, task);
    end_all(&todo, 0);
}

void tern__run_look(struct tern_chip *chip, bool must)
{
    if (chip->away != NULL) {
        chip->away->look(chip->away, must);
    }
    struct tern__hold *hold = tern__holds_take(chip, must);
    while (hold != NULL) {
        struct tern__hold *next = hold->next;
        let_go(chip, hold);
        hold = next;
    }
}

void tern__run_place(struct tern_chip *chip)
{
    struct todo todo = {.chip = chip};
    place(&todo);
    end_all(&todo, 0);
}

void tern__run_fail(struct tern_chip *chip, int status, int code, const char *format, ...)
{
    struct tern__run *run = &chip->run;
    if (!tern__flag_swap(&run->failed, TERN__RUN_WELL, TERN__RUN_FAILING)) {
        return; // another one was first
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->failure, sizeof run->failure, format, arguments);
    va_end(arguments);
    run->status = status;
    run->code = code;
    tern__flag_store(&run->failed, TERN__RUN_FAILED); // partner: scheduler.c
    tern__chip_ring(chip);
    tern__bell_ring(&chip->room_bell);
}

void tern__run_failed(struct tern__core *core, struct tern__task *task)
{
    const char *name = tern_graph_code_name(core->called.code);
    tern__task_poison(task);
    tern__run_fail(core->chip, TERN_ERR_KERNEL, core->called.code, "%s%stask '%s' failed: %.400s",
                   core->called.code != 0 ? name : "", core->called.code != 0 ? ": " : "",
                   task->name, core->called.failure);
}

void tern__run_tell(struct tern__core *core)
{
    uint32_t ended = tern__peek(&core->ended);
    uint32_t count = ended - tern__peek(&core->told_ended);
    if (count != 0) {
        tern__poke(&core->told_ended, ended);
        tell(core->chip, count);
    }
}

void tern__run_close(struct tern_chip *chip, uint64_t total)
{
    atomic_store(&chip->run.total, total); // partner: tell
    if (atomic_load(&chip->run.ended) == total) {
        tern__chip_ring(chip);
    }
}

bool tern__run_is_over(const struct tern_chip *chip)
{
    return atomic_load(&chip->run.ended) == atomic_load(&chip->run.total) &&
           tern__flag_load(&chip->orchestrates) == 0;
}

uint64_t tern__run_ended(const struct tern_chip *chip, uint64_t *skipped)
{
    uint64_t ended = atomic_load(&chip->run.ended);
    *skipped = atomic_load(&chip->run.skipped);
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        const struct tern__core *core = &chip->cores.list[i];
        ended += tern__peek(&core->ended) - tern__peek(&core->told_ended);
        *skipped += tern__peek(&core->skipped);
    }
    return ended;
}

static uint64_t arrow_of(const struct tern_chip *chip, uint64_t id)
{
    return tern__trace_arrow(TERN__ARROW_TASK, (int)chip->number, chip->run.number, id);
}

void tern__run_trace(const struct tern__core *core, const struct tern__task *task, int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TASK};
    event.out = arrow_of(core->chip, tern__task_id_of(task));
    if ((task->special & TERN__TASK_WAITS) != 0 && task->more->hold.untils[0].word == NULL) {
        // The arrow of the task's first signal ends at its slice.
        const tern_condition *condition = &task->more->hold.untils[0].condition;
        const tern_window *window = condition->window;
        event.in = tern__window_arrow(window, window->rank, condition->offset_bytes);
        event.has = TERN__TRACE_IN_AT_BEGIN;
    } else if (task->by != 0) {
        event.in = arrow_of(core->chip, task->by - 1);
        event.has = TERN__TRACE_IN_AT_BEGIN | TERN__TRACE_IN_HERE;
    }
    tern__trace_name(&event, task->name);
    tern__trace_put(&event);
}
