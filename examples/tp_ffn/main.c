// SPDX-License-Identifier: Apache-2.0
// tp_ffn: one tensor-parallel layer of a transformer on the chips of a job, from the command line
// to the verified result. The phases, in the order of this file:
//
//     1  meet: the communicator, the windows with their signals, the ranks' addresses (device)
//     2  start the chip with them; create the graphs (runner)
//     3  submit    4  the chip runs the tasks, ranks put and notify    5  synchronise, verify
//
// Phases 3 to 5 repeat for each round. Only rank 0 prints.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <errno.h>

#include <tern/status.h>
#include <tern/trace.h>

#include "blas.h"
#include "report.h"
#include "run.h"
#include "save.h"

struct program {
    struct options options;
    struct source source;
    struct job job;
    struct device device;
    struct reference reference; // on rank 0
    struct runner runner;
};

static bool is_first(const struct program *program)
{
    return program->job.rank == 0;
}

static void print_phase(const struct program *program, const char *name, double begin)
{
    if (is_first(program)) {
        report_phase(name, seconds_now() - begin);
    }
}

// The deadline of every wait. The other ranks wait while rank 0 computes the reference, so it grows
// with the shapes, as if that went at 1 GFLOP/s. TERN_TIMEOUT in the environment decides instead.
static int64_t deadline_ns(const struct source *source)
{
    const double longest = 86400e9;
    if (getenv("TERN_TIMEOUT") != NULL) {
        return 0;
    }
    double deadline = 60e9 + shape_flops(&source->shape);
    return (int64_t)(deadline < longest ? deadline : longest);
}

// Phase 1, the memory: this rank's part of the layer, and the window.
static int create_device(struct program *program, struct failure *failure)
{
    struct device *device = &program->device;
    size_t nranks = (size_t)program->job.nranks;
    device->rank = (size_t)program->job.rank;
    int status = layer_load(&device->layer, &program->source, device->rank, nranks, failure);
    if (status == 0) {
        device->scratch =
            allocate((size_t)program->options.cores, sizeof *device->scratch, failure);
        status = device->scratch == NULL ? failure->exit_status : 0;
    }
    for (; status == 0 && device->cores < (size_t)program->options.cores; device->cores++) {
        status = scratch_create(&device->scratch[device->cores], &device->layer, failure);
    }
    status = job_agree(&program->job, failure);
    if (status != 0) {
        return status;
    }
    layout_create(&device->layout, &program->source.shape, nranks);
    tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    if (tern_window_create(program->job.comm, device->layout.window_bytes, &options,
                           &device->window) != TERN_OK) {
        device->window = NULL;
        fail_tern(failure, "no window");
    }
    return job_agree(&program->job, failure);
}

static void destroy_device(struct device *device)
{
    tern_window_destroy(device->window);
    for (size_t core = 0; core < device->cores; core++) {
        scratch_free(&device->scratch[core]);
    }
    free(device->scratch);
    layer_free(&device->layer);
}

// Whether the trace can be written, found out before the work. Leaves an empty file.
static int check_trace(const char *path, struct failure *failure)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        return fail(failure, EXIT_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    }
    close(fd);
    return 0;
}

// What only rank 0 does before the rounds.
static void prepare(struct program *program, struct failure *failure)
{
    const struct options *options = &program->options;
    int status = options->trace != NULL ? check_trace(options->trace, failure) : 0;
    if (status == 0 && options->save != NULL) {
        status = save_inputs(&program->source, options->save, failure);
    }
    if (status == 0) {
        double begin = seconds_now();
        struct progress progress =
            progress_begin("reference", reference_flops(&program->source.shape));
        reference_create(&program->reference, &program->source, &progress, failure);
        progress_end(&progress);
        print_phase(program, "reference", begin);
    }
}

static int run_rounds(struct program *program, struct failure *failure)
{
    const struct reference *reference = is_first(program) ? &program->reference : NULL;
    for (int64_t round = 0; round < program->options.rounds; round++) {
        struct deviation deviation = {0};
        double seconds = 0;
        int status = runner_round(&program->runner, reference, &deviation, &seconds, failure);
        if (status != 0) {
            return status;
        }
        if (is_first(program)) {
            report_round(round, seconds, &deviation);
        }
    }
    return 0;
}

// Writes what the rounds left: the trace, and y.
static int write_results(struct program *program, struct failure *failure)
{
    const struct options *options = &program->options;
    const struct device *device = &program->device;
    if (options->trace != NULL && tern_trace_end(program->job.comm, options->trace) != TERN_OK) {
        fail_tern(failure, "no trace");
    }
    if (options->save != NULL && is_first(program) && failure->exit_status == 0) {
        const char *own = tern_window_address(device->window, 0);
        save_y(&device->layout.shape, own + device->layout.data, options->save, failure);
    }
    return job_agree(&program->job, failure);
}

static int run_and_measure(struct program *program, struct failure *failure)
{
    if (program->options.trace != NULL && tern_trace_begin(0) != TERN_OK) {
        return fail_tern(failure, "no trace");
    }
    int status = run_rounds(program, failure);
    if (status == 0) {
        status = write_results(program, failure);
    }
    struct timing timings[VARIANT_COUNT];
    if (status == 0) {
        status = runner_measure(&program->runner, timings, failure);
    }
    if (status == 0 && is_first(program)) {
        report_measured(&program->source.shape, timings,
                        program->job.nranks * (int)(program->options.cores + AIV_CORES));
    }
    return status;
}

// All phases, on ranks that agree on the options.
static int work(struct program *program, struct failure *failure)
{
    struct job *job = &program->job;
    if (is_first(program)) {
        report_begin(&program->source, &program->options, job->nranks);
        blas_report();
    }
    double begin = seconds_now();
    int status = create_device(program, failure);
    if (status != 0) {
        return status;
    }
    print_phase(program, "input and windows", begin);

    if (is_first(program)) {
        prepare(program, failure);
    }
    status = job_agree(job, failure);
    if (status != 0) {
        return status;
    }
    begin = seconds_now();
    runner_create(&program->runner, job, &program->device, failure);
    status = job_agree(job, failure);
    if (status != 0) {
        return status;
    }
    print_phase(program, "chip and graphs", begin);
    return run_and_measure(program, failure);
}

static void check_usage(const struct program *program, struct failure *failure)
{
    const struct options *options = &program->options;
    if (failure->exit_status != 0) {
        return;
    }
    if (options->in != NULL && options->save != NULL &&
        source_same_folder(options->in, options->save)) {
        fail(failure, EXIT_USAGE, "--save would overwrite the input of --in: name another folder");
        return;
    }
    shape_check(&program->source.shape, (size_t)program->job.nranks, failure);
}

static void print_failure(const struct failure *failure)
{
    fflush(stdout);
    fprintf(stderr, "tp_ffn: %s\n", failure->sentence);
}

// A failure of this rank alone, or of the communicator. The others must not wait for this rank, and
// its cores may still be at work, so the process ends here; tern tells the others.
static _Noreturn void end_at_once(const struct program *program, const struct failure *failure)
{
    // When a peer is the cause, rank 0 says so for all.
    if (is_first(program) || tern_comm_health(program->job.comm) == TERN_OK) {
        print_failure(failure);
    }
    _exit(failure->exit_status);
}

static int run_program(struct program *program, struct failure *failure)
{
    check_usage(program, failure);
    int status = job_agree(&program->job, failure);
    if (status == 0) {
        status = work(program, failure);
    }
    if (status != 0 && !program->job.agreed) {
        end_at_once(program, failure);
    }
    if (is_first(program)) {
        if (status != 0) {
            print_failure(failure);
        } else {
            puts("verified");
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    blas_begin(argv); // before anything else: it may start this program anew
    struct program program = {0};
    struct failure failure = {0};
    struct failure join_failure = {0};

    bool opened = false;
    if (options_parse(argc, argv, &program.options, &failure) == 0 && !program.options.help) {
        opened = true;
        source_open(&program.source, &program.options, &failure);
    }
    if (job_begin(&program.job, opened ? deadline_ns(&program.source) : 0, &join_failure) != 0) {
        print_failure(&join_failure);
        return join_failure.exit_status;
    }
    int status = 0;
    if (program.options.help) {
        if (is_first(&program)) {
            options_print_help(stdout);
        }
    } else {
        status = run_program(&program, &failure);
    }
    runner_destroy(&program.runner);
    destroy_device(&program.device);
    reference_free(&program.reference);
    if (opened) {
        source_close(&program.source);
    }
    job_end(&program.job);
    return fflush(stdout) == 0 ? status : EXIT_FAILED;
}
