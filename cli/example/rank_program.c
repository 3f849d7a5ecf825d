// SPDX-License-Identifier: Apache-2.0
// What a rank runs: an orchestration, its kernels and its arguments, round after round. Every round
// is a whole run, from staging to the outputs, so that signals which are used once work again.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "example/rank.h"
#include "tern/signal.h"

struct rank_loaded {
    uint8_t *orchestration;
    size_t orchestration_size;
    uint8_t *kernels[RANK_KERNELS_MAX];
    size_t sizes[RANK_KERNELS_MAX];
    int ids[RANK_KERNELS_MAX];
    const char *names[RANK_KERNELS_MAX];
    uint64_t values[RANK_ARGS_MAX], value_sizes[RANK_ARGS_MAX];
    int types[RANK_ARGS_MAX], count;
    ChipStorageTaskArgs april;
    int directions[TERN_SIMPLER_ARG_TENSORS];
};

static int read_object(const struct rank_job *job, const char *file, uint8_t **bytes, size_t *size)
{
    char path[RANK_PATH_BYTES];
    snprintf(path, sizeof path, "%s%s%s", file[0] != '/' ? job->artifacts : "",
             file[0] != '/' ? "/" : "", file);
    return rank_read_file(job, path, bytes, size);
}

static int read_objects(const struct rank_job *job, struct rank_loaded *loaded)
{
    int status =
        read_object(job, job->orchestration, &loaded->orchestration, &loaded->orchestration_size);
    for (int i = 0; i < job->kernels_count && status == 0; i++) {
        loaded->ids[i] = job->kernels[i].id;
        loaded->names[i] = job->kernels[i].name;
        status = read_object(job, job->kernels[i].file, &loaded->kernels[i], &loaded->sizes[i]);
    }
    return status;
}

static void free_objects(struct rank_loaded *loaded)
{
    free(loaded->orchestration);
    for (int i = 0; i < RANK_KERNELS_MAX; i++) {
        free(loaded->kernels[i]);
    }
    free(loaded);
}

// Arguments.

// Outputs are copied to the device as well, with their canaries.
static int direction_of(const struct rank_buffer *buffer)
{
    return buffer->saves ? TERN_SIMPLER_ARG_INOUT_PTR : TERN_SIMPLER_ARG_INPUT_PTR;
}

static void add_value(struct rank_loaded *loaded, uint64_t value, int type, uint64_t size)
{
    loaded->values[loaded->count] = value;
    loaded->types[loaded->count] = type;
    loaded->value_sizes[loaded->count++] = size;
}

static uint64_t value_of(const struct rank_job *job, const struct rank_argument *argument)
{
    return argument->buffer != NULL ? (uint64_t)(uintptr_t)argument->buffer->memory
           : argument->is_context   ? (uint64_t)(uintptr_t)tern_window_context(job->window)
                                    : argument->value;
}

// In the order of the command line, or tensors, their sizes and scalars.
static void make_values(const struct rank_job *job, struct rank_loaded *loaded)
{
    for (int pass = 0; pass < (job->sizes ? 3 : 1); pass++) {
        for (int i = 0; i < job->args_count; i++) {
            const struct rank_argument *argument = &job->args[i];
            if (pass == 1 && argument->is_tensor) {
                add_value(loaded, argument->buffer->bytes, TERN_SIMPLER_ARG_SCALAR, 0);
            } else if (pass != 1 && (!job->sizes || argument->is_tensor == (pass == 0))) {
                add_value(loaded, value_of(job, argument),
                          argument->is_tensor ? direction_of(argument->buffer)
                                              : TERN_SIMPLER_ARG_SCALAR,
                          argument->is_tensor ? argument->buffer->bytes : 0);
            }
        }
    }
}

// The same for the interfaces of April, which have tensors apart from scalars.
static int make_april(const struct rank_job *job, struct rank_loaded *loaded)
{
    ChipStorageTaskArgs *args = &loaded->april;
    int next = 0; // among the arguments of the command line
    for (int i = 0; i < loaded->count; i++) {
        if (loaded->types[i] == TERN_SIMPLER_ARG_SCALAR) {
            args->scalars_[args->scalar_count_++] = loaded->values[i];
            continue;
        }
        while (!job->args[next].is_tensor) {
            next++;
        }
        const struct rank_buffer *buffer = job->args[next++].buffer;
        if (buffer->type->region_dtype < 0) {
            return rank_fail(job, RANK_EXIT_WRONG, "tensor '%s': the runtimes of April have no %s",
                             buffer->name, buffer->type->name);
        }
        ContinuousTensor tensor = {.data = loaded->values[i],
                                   .ndims = buffer->ndims,
                                   .dtype = (DataType)buffer->type->region_dtype};
        memcpy(tensor.shapes, buffer->shape, sizeof tensor.shapes);
        loaded->directions[args->tensor_count_] = loaded->types[i];
        args->tensors_[args->tensor_count_++] = tensor;
    }
    return 0;
}

// Rounds.

static int fail_run(const struct rank_job *job, const char *call, int status)
{
    int cause = status - TERN_SIMPLER_FAILED;
    return rank_fail(job,
                     cause == TERN_ERR_PEER || cause == TERN_ERR_LEFT ? RANK_EXIT_COMM
                                                                      : RANK_EXIT_KERNEL,
                     "%s failed (%d): %s", call, status, tern_last_error());
}

static int run_once(const struct rank_job *job)
{
    const struct rank_loaded *loaded = job->loaded;
    RuntimeHandle runtime = job->handle;
    bool april = strchr(job->runtime, '/') != NULL; // or later
    tern_simpler_program program = {.orchestration = loaded->orchestration,
                                    .orchestration_size = loaded->orchestration_size,
                                    .function_name = job->function,
                                    .config_name = job->config,
                                    .kernel_ids = loaded->ids,
                                    .kernels = (const uint8_t *const *)loaded->kernels,
                                    .kernel_sizes = loaded->sizes,
                                    .kernel_count = job->kernels_count,
                                    .comm = job->comm,
                                    .runtime = job->runtime,
                                    .kernel_names = loaded->names,
                                    .values = loaded->values,
                                    .value_types = loaded->types,
                                    .value_sizes = loaded->value_sizes,
                                    .values_count = loaded->count};
    rank_say(job, "Launching kernel: %d args, %d kernels", loaded->count, job->kernels_count);
    int status =
        tern_simpler_init(runtime, &program, april ? &loaded->april : NULL, loaded->directions);
    if (status != 0) {
        return fail_run(job, "init_runtime", status);
    }
    status = launch_runtime(runtime, (int)job->aicpu_threads, (int)job->block_dim, job->rank, NULL,
                            0, NULL, 0, (int)job->orch_threads);
    if (status != 0) {
        return fail_run(job, "launch_runtime", status);
    }
    status = finalize_runtime(runtime);
    if (status != 0) {
        return fail_run(job, "finalize_runtime", status);
    }
    rank_say(job, "Kernel execution complete");
    return 0;
}

static int barrier(const struct rank_job *job)
{
    return tern_comm_barrier(job->comm) == TERN_OK
               ? 0
               : rank_fail(job, RANK_EXIT_COMM, "%s", tern_last_error());
}

// How long a rank waits for the runs of others: longer than a run or a kernel's wait may take
// there, whose sentences know more than that a rank has not come.
static int64_t patience_ns(void)
{
    const char *text = getenv("TERN_TIMEOUT"); // tern_init has refused what is none
    if (text != NULL && strcmp(text, "never") == 0) {
        return TERN_TIMEOUT_NEVER;
    }
    double seconds = text != NULL && text[0] != '\0' ? strtod(text, NULL) : 60;
    return (int64_t)((seconds < 1e8 ? seconds * 1.05 + 1 : 1e8) * 1e9);
}

// Each rank adds 1 to a signal of every rank, which may wrap around. Nobody adds for
// the next round before all have passed the barrier.
static int await_runs(const struct rank_job *job, long round)
{
    int status = TERN_OK;
    for (long rank = 0; rank < job->nranks && status == TERN_OK; rank++) {
        status = tern_signal_notify(job->ends, (int)rank, 0, 1, TERN_NOTIFY_ADD);
    }
    if (status == TERN_OK) {
        status = tern_signal_wait(job->ends, 0, TERN_CMP_EQ,
                                  (int32_t)(uint32_t)(job->nranks * (round + 1)), patience_ns());
    }
    return status == TERN_OK
               ? barrier(job)
               : rank_fail(job, RANK_EXIT_COMM, "not all ranks have run: %s", tern_last_error());
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// Nobody stages while a peer may still read, and nobody runs before all have staged.
static int run_round(struct rank_job *job, long round)
{
    int status = rank_stage(job, round == 0);
    status = status != 0 ? status : barrier(job);
    double begin = now_ms();
    status = status != 0 ? status : run_once(job);
    double end = now_ms();
    status = status != 0 ? status : await_runs(job, round);
    status = status != 0 ? status : rank_check(job);
    if (status == 0 && job->rounds > 1) {
        rank_say(job, "Round took %.3f ms", end - begin);
    }
    return status;
}

int rank_run(struct rank_job *job)
{
    job->loaded = calloc(1, sizeof *job->loaded);
    job->handle = malloc(get_runtime_size());
    if (job->loaded == NULL || job->handle == NULL) {
        return rank_fail(job, RANK_EXIT_MEMORY, "no memory");
    }
    int status = read_objects(job, job->loaded);
    if (status == 0) {
        make_values(job, job->loaded);
        status = make_april(job, job->loaded);
    }
    for (long i = 0; i < job->rounds && status == 0; i++) {
        status = run_round(job, i);
    }
    if (status == 0) { // else a kernel may still run
        free_objects(job->loaded);
        free(job->handle);
    }
    return status;
}
