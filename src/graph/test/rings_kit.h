// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of orchestrations that submit tasks to rings.
#ifndef TERN_GRAPH_TEST_RINGS_KIT_H
#define TERN_GRAPH_TEST_RINGS_KIT_H

#include "kit.h"
#include "tern/submit.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_status = (call);                                                                   \
        if (try_status != TERN_OK) {                                                               \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

static inline tern_chip *chip_within(int aic, int aiv, int64_t timeout_ns)
{
    tern_chip *chip = NULL;
    tern_chip_options options = {.aic_count = aic, .aiv_count = aiv, .timeout_ns = timeout_ns};
    return fine(tern_chip_create(NULL, &options, &chip)) ? chip : NULL;
}

static inline tern_chip *chip_of(int aic, int aiv)
{
    return chip_within(aic, aiv, 30000 * MS);
}

// Runs the orchestration once, on rings of its own. Keeps the sentence of a run that fails:
// destroying the graph has none.
static inline int run_rings(tern_chip *chip, const tern_ring_options *options,
                            tern_orchestration orchestration, void *arg, bool build_first)
{
    tern_graph *graph;
    TRY(tern_graph_create_rings(options, &graph));
    int status = tern_chip_orchestrate(chip, graph, orchestration, arg,
                                       &(tern_orchestrate_options){build_first});
    if (status == TERN_OK) {
        status = tern_chip_synchronize(chip);
    }
    return tern_graph_destroy(graph) == TERN_OK ? status : TERN_ERR_STATE;
}

static inline tern_task_arg scalar_arg(int64_t value)
{
    return (tern_task_arg){.access = TERN_SCALAR, .scalar = (uint64_t)value};
}

static inline tern_task_arg region_arg(tern_access access, tern_region *region)
{
    return (tern_task_arg){.access = access, .region = region};
}

// A row of elements; NULL: for TERN_OUT.
static inline tern_region row_of(void *memory, uint32_t count, tern_region_dtype dtype)
{
    tern_region region = {0};
    (void)fine(tern_region_make(&region, memory, &count, 1, dtype));
    return region;
}

static inline int submit(tern_graph *graph, const tern_task *task, const tern_task_arg *args,
                         int args_count, tern_task_id *id)
{
    tern_submission submission = {.task = *task, .args = args, .args_count = args_count};
    return tern_graph_submit(graph, &submission, id);
}

// How many random cases: TERN_TEST_CASES, or `otherwise`.
static inline uint64_t cases_wanted(uint64_t otherwise)
{
    const char *given = getenv("TERN_TEST_CASES");
    return given != NULL ? strtoull(given, NULL, 10) : otherwise;
}

// Random cases on chips with few and many cores of each kind, in turn. One that is not right is
// named by its seed, and ends the test.
static inline void
run_on_chips(uint64_t cases, bool (*is_right)(tern_chip *chip, uint64_t seed, void *arg), void *arg)
{
    static const int shapes[][2] = {{0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 3}, {3, 5}, {2, 4}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    tern_chip *chips[SHAPES];
    uint64_t seed = random_seed();
    for (int i = 0; i < SHAPES; i++) {
        chips[i] = chip_of(shapes[i][0], shapes[i][1]);
    }
    for (uint64_t i = 0; i < cases; i++) {
        const int *shape = shapes[i % SHAPES];
        if (!is_right(chips[i % SHAPES], seed + i, arg)) {
            fail_msg("case %llu on %d AIC and %d AIV: TERN_TEST_SEED=%llu", (unsigned long long)i,
                     shape[0], shape[1], (unsigned long long)seed);
        }
    }
    for (int i = 0; i < SHAPES; i++) {
        assert_true(fine(tern_chip_destroy(chips[i])));
    }
}

#endif
