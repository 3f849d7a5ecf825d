// SPDX-License-Identifier: Apache-2.0
// Rounds and measurements (run.h).
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include <tern/put.h>
#include <tern/status.h>

#include "element.h"

int runner_create(struct runner *runner, struct job *job, struct device *device,
                  struct failure *failure)
{
    *runner = (struct runner){.job = job, .device = device};
    tern_chip_options options = {.aic_count = (int)device->cores, .aiv_count = AIV_CORES};
    if (tern_chip_create(job->comm, &options, &runner->chip) != TERN_OK) {
        runner->chip = NULL;
        return fail_tern(failure, "the chip cannot be started");
    }
    const struct layout *layout = &device->layout;
    runner->snapshot = allocate(layout->shape.tokens, layout->row_bytes, failure);
    int status = runner->snapshot == NULL ? failure->exit_status : 0;
    for (enum variant v = 0; v < VARIANT_COUNT && status == 0; v++) {
        status = orchestra_create(&runner->orchestras[v], v, device, failure);
    }
    return status;
}

void runner_destroy(struct runner *runner)
{
    tern_chip_destroy(runner->chip);
    for (enum variant v = 0; v < VARIANT_COUNT; v++) {
        orchestra_destroy(&runner->orchestras[v]);
    }
    free(runner->snapshot);
}

// Fills the buffer of this rank with NaN (all bits set, in either dtype), so that nothing of an
// earlier round can pass for this one's. No peer touches them now (kernels.c says why).
static void poison(const struct device *device)
{
    const struct layout *layout = &device->layout;
    char *own = tern_window_address(device->window, (int)device->rank);
    memset(own + layout->data, 0xff, layout->data_bytes);
}

// Says which element of a rank's y differs from rank 0's.
static int report_difference(const struct layout *layout, int rank, size_t skipped,
                             const char *wanted, const char *got, struct failure *failure)
{
    tern_dtype dtype = layout->shape.dtype;
    size_t element_bytes = tern_dtype_size(dtype);
    size_t i = 0;
    while (memcmp(wanted + i * element_bytes, got + i * element_bytes, element_bytes) == 0) {
        i++;
    }
    float wanted_value;
    float got_value;
    elements_unpack(dtype, wanted + i * element_bytes, &wanted_value, 1);
    elements_unpack(dtype, got + i * element_bytes, &got_value, 1);
    size_t index = skipped / element_bytes + i;
    return fail(failure, EXIT_FAILED, "wrong result: y[%zu, %zu] of rank %d is %.9g, expected %.9g",
                index / layout->shape.hidden, index % layout->shape.hidden, rank, (double)got_value,
                (double)wanted_value);
}

static const char *own_y(const struct device *device)
{
    const char *own = tern_window_address(device->window, (int)device->rank);
    return own + device->layout.data;
}

// Compares a rank's y with this rank's own.
static int check_same(const struct device *device, int rank, struct failure *failure)
{
    const struct layout *layout = &device->layout;
    const char *own = own_y(device);
    size_t total = layout->data_bytes;
    char block[32768]; // a multiple of every element
    for (size_t skipped = 0; skipped < total; skipped += sizeof block) {
        size_t size_bytes = total - skipped < sizeof block ? total - skipped : sizeof block;
        if (tern_get(device->window, rank, layout->data + skipped, block, size_bytes) != TERN_OK) {
            return fail_tern(failure, "y cannot be read");
        }
        if (memcmp(own + skipped, block, size_bytes) != 0) {
            return report_difference(layout, rank, skipped, own + skipped, block, failure);
        }
    }
    return 0;
}

// A run that ended before all of its y had arrived is wrong, even if the rest came soon after.
static int check_complete(const struct runner *runner, struct failure *failure)
{
    const struct layout *layout = &runner->device->layout;
    const char *now = own_y(runner->device);
    if (memcmp(runner->snapshot, now, layout->data_bytes) == 0) {
        return 0;
    }
    return report_difference(layout, runner->job->rank, 0, now, runner->snapshot, failure);
}

static int check_all(const struct runner *runner, const struct reference *reference,
                     struct deviation *deviation, struct failure *failure)
{
    const struct device *device = runner->device;
    int status = reference_check(reference, own_y(device), deviation, failure);
    for (int rank = 1; rank < runner->job->nranks && status == 0; rank++) {
        status = check_same(device, rank, failure);
    }
    return status;
}

int runner_round(struct runner *runner, const struct reference *reference,
                 struct deviation *deviation, double *seconds, struct failure *failure)
{
    poison(runner->device);
    int status = job_barrier(runner->job, failure); // only so that the times begin together
    if (status != 0) {
        return status;
    }
    double begin = seconds_now();
    status = orchestra_run(&runner->orchestras[VARIANT_FULL], runner->chip, failure);
    *seconds = seconds_now() - begin;
    if (status == 0) {
        const struct layout *layout = &runner->device->layout;
        memcpy(runner->snapshot, own_y(runner->device), layout->data_bytes);
        status = job_barrier(runner->job, failure); // now y is complete on all ranks
    }
    if (status != 0) {
        return status;
    }
    if (check_complete(runner, failure) == 0 && reference != NULL) {
        check_all(runner, reference, deviation, failure);
    }
    // Ends after rank 0 has read every y, so that nobody overwrites one before.
    return job_agree(runner->job, failure);
}

static int compare_doubles(const void *one, const void *other)
{
    double first = *(const double *)one;
    double second = *(const double *)other;
    return (first > second) - (first < second);
}

static int time_graph(struct runner *runner, enum variant variant, double *seconds,
                      struct failure *failure)
{
    int status = job_barrier(runner->job, failure);
    double begin = seconds_now();
    if (status == 0) {
        status = orchestra_run(&runner->orchestras[variant], runner->chip, failure);
    }
    if (status == 0) {
        status = job_barrier(runner->job, failure); // the slowest rank counts
    }
    *seconds = seconds_now() - begin;
    return status;
}

int runner_measure(struct runner *runner, struct timing timings[VARIANT_COUNT],
                   struct failure *failure)
{
    double times[VARIANT_COUNT][MEASURED_RUNS];
    for (int run = 0; run < MEASURED_RUNS; run++) {
        for (enum variant v = 0; v < VARIANT_COUNT; v++) {
            int status = time_graph(runner, v, &times[v][run], failure);
            if (status != 0) {
                return status;
            }
        }
    }
    for (enum variant v = 0; v < VARIANT_COUNT; v++) {
        qsort(times[v], MEASURED_RUNS, sizeof(double), compare_doubles);
        timings[v] = (struct timing){.median = times[v][MEASURED_RUNS / 2],
                                     .quartiles = {times[v][MEASURED_RUNS / 4],
                                                   times[v][MEASURED_RUNS * 3 / 4]}};
    }
    return 0;
}
