// SPDX-License-Identifier: Apache-2.0
// What sentences about a run that failed say of its tasks and of the other ranks.

#include <stdio.h>

#include "graph/away.h"
#include "graph/chip.h"
#include "isa/signal.h"
#include "sync/doing.h"

// A wait whose signal has not come, "; " before it; returns the length.
static size_t describe_until(const struct tern__run *run, const struct tern__hold *hold,
                             const struct tern__until *until, char *text, size_t size)
{
    if (tern__until_holds(until, run->number)) {
        return 0;
    }
    const char *does = hold->ends ? "has run and ends with" : "waits for";
    int32_t seen = tern__until_seen(until);
    if (until->word != NULL) {
        return (size_t)snprintf(text, size, "; task '%s' %s the word at %p: seen %u, wanted %u",
                                hold->task->name, does, (const void *)until->word, (uint32_t)seen,
                                (uint32_t)until->condition.value);
    }
    return (size_t)snprintf(text, size,
                            "; task '%s' %s the signal at byte %zu of window "
                            "%u: seen %d, wanted %s %d",
                            hold->task->name, does, until->condition.offset_bytes,
                            until->condition.window->number, seen,
                            tern__cmp_text(until->condition.cmp),
                            tern__until_wanted(until, run->number));
}

static size_t describe_total(const struct tern_chip *chip, char *text, size_t size)
{
    uint64_t skipped;
    uint64_t ended = tern__run_ended(chip, &skipped);
    uint64_t total = atomic_load(&chip->run.total);
    if (total == TERN__TOTAL_OPEN) {
        return (size_t)snprintf(text, size, "%llu tasks finished, and the orchestration goes on",
                                (unsigned long long)(ended - skipped));
    }
    return (size_t)snprintf(text, size, "%llu of %llu tasks finished",
                            (unsigned long long)(ended - skipped), (unsigned long long)total);
}

void tern__run_describe(struct tern_chip *chip, char *text, size_t size)
{
    const struct tern__run *run = &chip->run;
    size_t used = describe_total(chip, text, size);
    for (int i = 0; i < tern__cores_count(&chip->cores) && used + 160 < size; i++) {
        const struct tern__core *core = &chip->cores.list[i];
        const struct tern__task *task = atomic_load_explicit(&core->running, memory_order_acquire);
        if (task != NULL) {
            char name[24];
            tern__core_text(core, name, sizeof name);
            used += (size_t)snprintf(text + used, size - used, "; task '%s' is running on %s",
                                     task->name, name);
        }
    }
    pthread_mutex_lock(&chip->holds.lock);
    for (const struct tern__hold *hold = chip->holds.first; hold != NULL; hold = hold->next) {
        for (uint32_t i = 0; i < hold->count && used + 160 < size; i++) {
            used += describe_until(run, hold, &hold->untils[i], text + used, size - used);
        }
    }
    pthread_mutex_unlock(&chip->holds.lock);
    if (chip->away != NULL && used + 160 < size) {
        chip->away->describe(chip->away, text + used, size - used);
    }
}

bool tern__run_has_kernel(const struct tern_chip *chip)
{
    bool runs = chip->away != NULL && chip->away->runs(chip->away);
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        runs = runs || atomic_load_explicit(&chip->cores.list[i].running, memory_order_acquire);
    }
    return runs;
}

static bool has_ready(const struct tern_chip *chip)
{
    bool ready = tern__flag_load(&chip->gangs.count) != 0;
    for (int kind = 0; kind < 2; kind++) {
        ready = ready || tern__ready_any(atomic_load(&chip->cores.ready[kind]));
    }
    for (int i = 0; i < tern__cores_count(&chip->cores); i++) {
        ready = ready || tern__ready_own_any(&chip->cores.list[i].own);
    }
    return ready;
}

bool tern__run_is_held(struct tern_chip *chip, char *text, size_t size)
{
    bool held = false;
    if (tern__run_has_kernel(chip) || has_ready(chip) ||
        tern__flag_load(&chip->orchestrates) != 0 || tern__flag_load(&chip->holds.words) != 0) {
        return false;
    }
    pthread_mutex_lock(&chip->holds.lock);
    for (const struct tern__hold *hold = chip->holds.first; hold != NULL && !held;
         hold = hold->next) {
        for (uint32_t i = 0; i < hold->count && !held; i++) {
            held = !tern__until_holds(&hold->untils[i], chip->run.number);
            const tern_condition *condition = &hold->untils[i].condition;
            snprintf(text, size, "task '%.18s' for byte %zu of window %u", hold->task->name,
                     condition->offset_bytes, condition->window->number);
        }
    }
    pthread_mutex_unlock(&chip->holds.lock);
    return held;
}

// Running goes before ready, ready before waiting, waiting before the orchestration.
int tern__run_classify(struct tern_chip *chip, char *text, size_t size)
{
    bool runs = tern__run_has_kernel(chip);
    bool ready = has_ready(chip);
    bool orchestrates = tern__flag_load(&chip->orchestrates) != 0;
    bool element = tern__peek(&chip->orchestrator_waits) == TERN__CODE_TENSOR_WAIT_TIMEOUT;
    const char *class = runs    ? "running-stalled: a kernel runs"
                        : ready ? "ready-but-idle: tasks are ready and no core takes them"
                        : tern__flag_load(&chip->holds.count) != 0
                            ? "dependency deadlock: tasks wait for signals"
                        : orchestrates ? "orchestrator starvation: no task is in flight"
                                       : "dependency deadlock: tasks wait for others";
    int code = element ? TERN__CODE_TENSOR_WAIT_TIMEOUT : TERN__CODE_SCHEDULER_TIMEOUT;
    snprintf(text, size, "%s: it did not end within %.3g s (%s)", tern_graph_code_name(code),
             (double)chip->timeout_ns * 1e-9, class);
    return code;
}

void tern__run_describe_others(struct tern_chip *chip, int status, char *text, size_t size)
{
    text[0] = '\0';
    if (status == TERN_ERR_TIMEOUT && chip->comm != NULL &&
        tern__flag_load(&chip->holds.count) != 0) {
        const struct tern__group *group = &chip->comm->group;
        snprintf(text, size, "; ");
        tern__doing_others(group, text + 2, size - 2);
        text[0] = text[2] != '\0' ? ';' : '\0';
    }
}
