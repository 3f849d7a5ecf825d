// SPDX-License-Identifier: Apache-2.0
// What rank 0 prints (report.h). The last line, "verified", is main's.
#include "report.h"

#include <math.h>
#include <stdio.h>

#include <tern/machine.h>

void report_begin(const struct source *source, const struct options *options, int nranks)
{
    const struct shape *shape = &source->shape;
    printf("%d rank%s, %zu tokens in %zu chunk%s, hidden %zu, intermediate %zu, %s, ", nranks,
           nranks == 1 ? "" : "s", shape->tokens, shape->chunks, shape->chunks == 1 ? "" : "s",
           shape->hidden, shape->intermediate, tern_dtype_name(shape->dtype));
    if (options->in != NULL) {
        printf("input from %s\n", options->in);
    } else {
        printf("seed %lld\n", (long long)options->seed);
    }
    fflush(stdout);
}

void report_phase(const char *name, double seconds)
{
    printf("%-20s %10.3f ms\n", name, seconds * 1e3);
    fflush(stdout);
}

void report_round(int64_t round, double seconds, const struct deviation *deviation)
{
    printf("round %-14lld %10.3f ms   largest error %.3g, %.3f of its tolerance\n",
           (long long)round, seconds * 1e3, deviation->error, deviation->of_tolerance);
    fflush(stdout);
}

void report_overlap(const struct timing timings[VARIANT_COUNT], int cores, int processors,
                    char *line, size_t size)
{
    const struct timing *layer = &timings[VARIANT_FULL];
    double compute = timings[VARIANT_COMPUTE].median;
    double communication = timings[VARIANT_COMMUNICATION].median;
    double shorter = fmin(compute, communication);
    double variation = layer->quartiles[1] - layer->quartiles[0];
    if (cores > processors) {
        snprintf(line, size, "no overlap efficiency: %d processors for the %d cores of the chips",
                 processors, cores);
    } else if (variation > shorter) {
        snprintf(
            line, size,
            "no overlap efficiency: the layer varies by %.3f ms, and only %.3f ms can be hidden",
            variation * 1e3, shorter * 1e3);
    } else {
        snprintf(line, size,
                 "overlap efficiency %.2f (1: the shorter part is hidden entirely, 0: not at all)",
                 1 - (layer->median - fmax(compute, communication)) / shorter);
    }
}

static int processors_usable(void)
{
    tern_machine machine;
    return tern_machine_look(&machine) == TERN_OK ? machine.cpus_usable : 1;
}

void report_measured(const struct shape *shape, const struct timing timings[VARIANT_COUNT],
                     int cores)
{
    static const char *const names[VARIANT_COUNT] = {"layer", "computation alone",
                                                     "communication alone"};
    printf("medians and quartiles of %d runs:\n", MEASURED_RUNS);
    for (enum variant v = 0; v < VARIANT_COUNT; v++) {
        const struct timing *timing = &timings[v];
        printf("  %-19s %9.3f ms (%.3f to %.3f)", names[v], timing->median * 1e3,
               timing->quartiles[0] * 1e3, timing->quartiles[1] * 1e3);
        if (v != VARIANT_COMMUNICATION) {
            printf("   %.1f GFLOP/s\n", shape_flops(shape) / timing->median * 1e-9);
        } else {
            printf("   %.0f %% of the layer\n",
                   100 * timing->median / timings[VARIANT_FULL].median);
        }
    }
    char line[160];
    report_overlap(timings, cores, processors_usable(), line, sizeof line);
    puts(line);
    fflush(stdout);
}
