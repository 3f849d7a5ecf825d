// SPDX-License-Identifier: Apache-2.0
// Orchestrations of which a random task fails while others are submitted, run and retire: what
// depends on it, by regions or by `after`, has not run; all else that was submitted has; the
// sentence names the task, and the chip runs on. TERN_TEST_CASES: how many; TERN_TEST_SEED.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

enum { CELLS = 6, TASKS = 80, CELLS_OF_TASK = 3 };

struct plan {
    uint64_t random;
    int count, fails;
    int submitted; // tasks before this one
    bool scopes;   // each task in one of its own, so that it retires early
    struct task {
        struct plan *plan;
        int cells_count, cells[CELLS_OF_TASK];
        int after; // an earlier task, or -1
    } tasks[TASKS];
    uint64_t cells[CELLS];
};

static int below(struct plan *plan, int limit)
{
    return (int)random_below(&plan->random, (uint64_t)limit);
}

static void change(uint64_t *cell, int task)
{
    *cell = *cell * 3 + (uint64_t)task + 1;
}

static void kernel(int64_t *args)
{
    const struct task *task = pointer(args[0]);
    int at = (int)(task - task->plan->tasks);
    if (at == task->plan->fails) {
        tern_kernel_fail("%d is the one", at);
        return;
    }
    for (int i = 0; i < task->cells_count; i++) {
        change(tern_region_data(pointer(args[i + 1])), at);
    }
}

static void make(struct plan *plan, uint64_t seed)
{
    *plan = (struct plan){.random = seed};
    plan->count = 1 + below(plan, TASKS);
    plan->fails = below(plan, plan->count);
    plan->scopes = below(plan, 2) == 0;
    for (int i = 0; i < plan->count; i++) {
        struct task *task = &plan->tasks[i];
        task->plan = plan;
        task->after = i > 0 && below(plan, 4) == 0 ? below(plan, i) : -1;
        int first = below(plan, CELLS);
        task->cells_count = below(plan, CELLS_OF_TASK + 1);
        for (int k = 0; k < task->cells_count; k++) {
            task->cells[k] = (first + k) % CELLS;
        }
    }
}

static int orchestrate(tern_graph *graph, void *arg)
{
    struct plan *plan = arg;
    tern_task_id ids[TASKS];
    for (int i = 0; i < plan->count; i++) {
        struct task *task = &plan->tasks[i];
        tern_region regions[CELLS_OF_TASK];
        tern_task_arg args[CELLS_OF_TASK + 1] = {scalar_arg(word(task))};
        for (int k = 0; k < task->cells_count; k++) {
            regions[k] = row_of(&plan->cells[task->cells[k]], 1, TERN_REGION_U64);
            args[k + 1] = region_arg(TERN_INOUT, &regions[k]);
        }
        char name[16];
        snprintf(name, sizeof name, "task%d", i);
        tern_submission submission = {.task = {.name = name,
                                               .core = TERN_CORE_AIV,
                                               .kernel = kernel},
                                      .args = args,
                                      .args_count = task->cells_count + 1,
                                      .after = task->after >= 0 ? &ids[task->after] : NULL,
                                      .after_count = task->after >= 0};
        if (plan->scopes) {
            TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        }
        TRY(tern_graph_submit(graph, &submission, &ids[i]));
        plan->submitted = i + 1;
        if (plan->scopes) {
            TRY(tern_graph_scope_end(graph));
        }
    }
    return TERN_OK;
}

// In the head: the cells after the tasks that were submitted.
static void simulate(const struct plan *plan, uint64_t *cells)
{
    bool poisoned[TASKS] = {false};
    bool spoilt[CELLS] = {false};
    for (int i = 0; i < plan->submitted; i++) {
        const struct task *task = &plan->tasks[i];
        poisoned[i] = i == plan->fails || (task->after >= 0 && poisoned[task->after]);
        for (int k = 0; k < task->cells_count; k++) {
            poisoned[i] = poisoned[i] || spoilt[task->cells[k]];
        }
        for (int k = 0; k < task->cells_count; k++) {
            spoilt[task->cells[k]] = spoilt[task->cells[k]] || poisoned[i];
            if (!poisoned[i]) {
                change(&cells[task->cells[k]], i);
            }
        }
    }
}

static bool run_case(tern_chip *chip, struct plan *plan)
{
    tern_ring_options options = {.window = {16}, .edges = {256}, .regions = {64}};
    uint64_t wanted[CELLS] = {0};
    char words[64];
    if (!plan->scopes) {
        options.window[0] = 128;
        options.regions[0] = 1024;
        options.edges[0] = 8192;
    }
    snprintf(words, sizeof words, "task 'task%d' failed: %d is the one", plan->fails, plan->fails);
    int status = run_rings(chip, &options, orchestrate, plan, below(plan, 2) == 0);
    if (!says(status, TERN_ERR_KERNEL, words) || plan->submitted <= plan->fails) {
        return false;
    }
    simulate(plan, wanted);
    if (memcmp(wanted, plan->cells, sizeof wanted) == 0) {
        return true;
    }
    // The task that was submitted at the very moment may have come to nothing: its submission saw
    // that what it came after was gone, and that the run had failed.
    memset(wanted, 0, sizeof wanted);
    plan->submitted--;
    simulate(plan, wanted);
    return memcmp(wanted, plan->cells, sizeof wanted) == 0;
}

static void what_depends_on_a_task_that_fails_does_not_run(void **state)
{
    static struct plan plan;
    uint64_t seed = random_seed();
    tern_chip *chips[] = {chip_of(0, 1), chip_of(0, 2), chip_of(0, 5)};
    for (uint64_t i = 0; i < cases_wanted(10000); i++) {
        make(&plan, seed + i);
        bool well = run_case(chips[i % 3], &plan);
        if (!well) {
            fprintf(stderr, "case %llu, task %d of %d fails, %d submitted\n", (unsigned long long)i,
                    plan.fails, plan.count, plan.submitted);
        }
        assert_true(well);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(fine(tern_chip_destroy(chips[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_depends_on_a_task_that_fails_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
