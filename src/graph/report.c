// SPDX-License-Identifier: Apache-2.0
// What sentences about a run that failed say of its tasks and of the other ranks.

#include <stdio.h>

#include "graph/chip.h"
#include "isa/signal.h"
#include "sync/doing.h"

// A wait whose signal has not come, "; " before it; returns the length.
static size_t describe_wait(const struct tern__run *run, const struct tern__graph_task *task,
                            const struct tern__graph_wait *wait, char *text, size_t size)
{
    tern_condition condition = tern__wait_in_run(wait, run->number);
    int32_t seen = tern__condition_seen(&condition);
    if (tern__cmp_holds(seen, condition.cmp, condition.value)) {
        return 0;
    }
    return (size_t)snprintf(text, size,
                            "; task '%s' waits for the signal at byte %zu of window "
                            "%u: seen %d, wanted %s %d",
                            task->call.name, condition.offset_bytes, condition.window->number, seen,
                            tern__cmp_text(condition.cmp), condition.value);
}

void tern__run_describe(const struct tern_chip *chip, struct tern__graph_task *const *held,
                        char *text, size_t size)
{
    const struct tern__run *run = &chip->run;
    size_t used = (size_t)snprintf(text, size, "%u of %u tasks finished", run->finished,
                                   run->graph->table.admitted);
    for (int i = 0; i < tern__cores_count(&chip->cores) && used + 160 < size; i++) {
        if (held[i] != NULL) {
            char core[24];
            tern__core_text(&chip->cores.list[i], core, sizeof core);
            used += (size_t)snprintf(text + used, size - used, "; task '%s' is running on %s",
                                     held[i]->call.name, core);
        }
    }
    for (const struct tern__graph_task *task = run->waiting.first; task != NULL;
         task = task->next) {
        const struct tern__graph_wait *wait = task->waits;
        for (; wait != NULL && used + 160 < size; wait = wait->next) {
            used += describe_wait(run, task, wait, text + used, size - used);
        }
    }
}

void tern__run_describe_others(const struct tern_chip *chip, int status, char *text, size_t size)
{
    text[0] = '\0';
    if (status == TERN_ERR_TIMEOUT && chip->comm != NULL && chip->comm->group.size > 1 &&
        chip->run.waiting.first != NULL) {
        const struct tern__group *group = &chip->comm->group;
        snprintf(text, size, "; ");
        tern__doing_ranks(group, tern__group_others(group), text + 2, size - 2);
    }
}
