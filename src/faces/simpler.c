// SPDX-License-Identifier: Apache-2.0
// The host side of the chip runtime: loads an orchestration and its kernels, stages its arguments,
// and runs it on a chip. Set-up path.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "faces/acl/acl.h"
#include "faces/simpler.h"

#define MARK UINT64_C(0x7e52736d706c7200)

enum { CLUSTER_CORES = 3 };

// A run's failure that is one of tern/graph_code.def.
static int tell_code(int code)
{
    static const struct {
        int code;
        const char *name, *meaning, *hint;
    } codes[] = {
#define TERN_GRAPH_CODE(code, name, meaning, hint) {code, #name, meaning, hint},
#include "tern/graph_code.def"
#undef TERN_GRAPH_CODE
    };
    fprintf(stderr, "%s_error_code=%d\n%s\n", code < 100 ? "orch" : "sched", code,
            tern_last_error());
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == code) {
            fprintf(stderr, "error detail: %s: %s\nerror hint: %s\n", codes[i].name,
                    codes[i].meaning, codes[i].hint);
        }
    }
    return -code;
}

static int check(const char *call, const struct simpler *runtime)
{
    return runtime != NULL && runtime->mark == MARK
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: this handle is not one that init_runtime filled",
                            call);
}

size_t get_runtime_size(void)
{
    return sizeof(struct simpler);
}

int set_device(int device_id)
{
    return aclrtSetDevice(device_id);
}

int enable_runtime_profiling(RuntimeHandle runtime, int enabled)
{
    (void)enabled;
    return tern__simpler_tell("enable_runtime_profiling",
                              check("enable_runtime_profiling", runtime));
}

void record_tensor_pair(RuntimeHandle handle, void *host, void *device, size_t size)
{
    struct simpler *runtime = handle;
    int status = check("record_tensor_pair", runtime);
    tern__simpler_tell("record_tensor_pair", status == TERN_OK
                                                 ? tern__simpler_record(runtime, host, device, size)
                                                 : status);
}

// Programs.

static int load(struct simpler *runtime, const tern_simpler_program *program)
{
    runtime->kernels = calloc(TERN_SIMPLER_FUNC_IDS, sizeof *runtime->kernels);
    if (runtime->kernels == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for kernels");
    }
    for (int i = 0; i < program->kernel_count; i++) {
        int id = program->kernel_ids[i];
        TERN_TRY(tern__simpler_load_kernel(runtime->kernels, id, program->kernels[i],
                                           program->kernel_sizes[i]));
        runtime->runtime.kernel_addrs[id] = (uint64_t)(uintptr_t)runtime->kernels[id].function;
        if (program->kernel_names != NULL && program->kernel_names[i] != NULL) {
            snprintf(runtime->kernels[id].name, sizeof runtime->kernels[id].name, "%s",
                     program->kernel_names[i]);
        }
    }
    TERN_TRY(tern__simpler_load("orchestration", program->orchestration,
                                program->orchestration_size, NULL, &runtime->orchestration));
    runtime->kind = tern__simpler_kind(runtime->orchestration);
    if (runtime->kind == NULL) {
        return TERN_ERR_KERNEL;
    }
    if (program->runtime != NULL && strcmp(program->runtime, runtime->kind->name) != 0) {
        return tern__fail(TERN_ERR_KERNEL, "the orchestration was compiled for %s, not for %s",
                          runtime->kind->name, program->runtime);
    }
    runtime->function_name =
        program->function_name != NULL ? program->function_name : "aicpu_orchestration_entry";
    runtime->config_name =
        program->config_name != NULL ? program->config_name : "aicpu_orchestration_config";
    runtime->entry = dlsym(runtime->orchestration, runtime->function_name);
    runtime->config = dlsym(runtime->orchestration, runtime->config_name);
    return runtime->entry != NULL ? TERN_OK
                                  : tern__fail(TERN_ERR_KERNEL,
                                               "the orchestration has no function "
                                               "%s",
                                               runtime->function_name);
}

// All but the handle's own memory.
static int release(struct simpler *runtime)
{
    int status = runtime->chip != NULL ? tern_chip_destroy(runtime->chip) : TERN_OK;
    if (status == TERN_ERR_TIMEOUT) { // a kernel still runs: what it may use stays
        return status;
    }
    if (runtime->kind != NULL) {
        runtime->kind->destroy(runtime);
    }
    for (size_t i = 0; i < runtime->owned_count; i++) {
        device_free(runtime->owned[i]);
    }
    free(runtime->owned);
    for (int i = 0; runtime->kernels != NULL && i < TERN_SIMPLER_FUNC_IDS; i++) {
        tern__simpler_unload_kernel(runtime->kernels, i);
    }
    if (runtime->orchestration != NULL) {
        dlclose(runtime->orchestration);
    }
    free(runtime->kernels);
    free(runtime->pairs);
    runtime->mark = 0;
    return status;
}

static struct simpler *begin(RuntimeHandle handle)
{
    struct simpler *runtime = handle;
    if (runtime != NULL) {
        memset(runtime, 0, sizeof *runtime);
        runtime->mark = MARK;
        runtime->runtime.tern_state = runtime;
    }
    return runtime;
}

// What is left of a runtime that could not be made is released.
static int finish(struct simpler *runtime, const char *call, int status)
{
    int told = tern__simpler_tell(call, status);
    if (status != TERN_OK && runtime != NULL) {
        release(runtime);
    }
    return told;
}

static int init(const char *call, struct simpler *runtime, const tern_simpler_program *program,
                const ChipStorageTaskArgs *args, const int *directions)
{
    runtime->comm = program->comm;
    int status = load(runtime, program);
    if (status == TERN_OK) {
        status = args != NULL
                     ? tern__simpler_take(runtime, args, directions)
                     : tern__simpler_take_values(runtime, program->values, program->value_types,
                                                 program->value_sizes, program->values_count);
    }
    if (status == TERN_OK) {
        status = tern__simpler_stage(runtime);
    }
    if (status == TERN_OK) {
        status = runtime->kind->build(runtime);
    }
    return finish(runtime, call, status);
}

int tern_simpler_init(RuntimeHandle handle, const tern_simpler_program *program,
                      const ChipStorageTaskArgs *args, const int *directions)
{
    struct simpler *runtime = begin(handle);
    if (runtime == NULL || program == NULL) {
        return tern__simpler_tell("tern_simpler_init",
                                  tern__fail(TERN_ERR_ARG, "no argument may be NULL"));
    }
    return init("tern_simpler_init", runtime, program, args, directions);
}

int init_runtime(RuntimeHandle handle, const uint8_t *orch_so, size_t orch_so_size,
                 const char *orch_func_name, uint64_t *func_args, int func_args_count,
                 int *arg_types, uint64_t *arg_sizes, const int *kernel_func_ids,
                 const uint8_t *const *kernel_binaries, const size_t *kernel_sizes,
                 int kernel_count)
{
    struct simpler *runtime = begin(handle);
    if (runtime == NULL) {
        return tern__simpler_tell("init_runtime",
                                  tern__fail(TERN_ERR_ARG, "the handle must not be NULL"));
    }
    tern_simpler_program program = {.orchestration = orch_so,
                                    .orchestration_size = orch_so_size,
                                    .function_name = orch_func_name,
                                    .kernel_ids = kernel_func_ids,
                                    .kernels = kernel_binaries,
                                    .kernel_sizes = kernel_sizes,
                                    .kernel_count = kernel_count,
                                    .values = func_args,
                                    .value_types = arg_types,
                                    .value_sizes = arg_sizes,
                                    .values_count = func_args_count};
    return init("init_runtime", runtime, &program, NULL, NULL);
}

// A chip of so many clusters, the one of the last launch if it has as many.
static int take_chip(struct simpler *runtime, int clusters)
{
    if (runtime->chip != NULL && runtime->clusters == clusters) {
        return TERN_OK;
    }
    if (clusters < 1 || clusters > TERN_CORES_MAX / CLUSTER_CORES) {
        return tern__fail(TERN_ERR_ARG, "block_dim is %d; there are 1 to %d clusters", clusters,
                          TERN_CORES_MAX / CLUSTER_CORES);
    }
    if (runtime->chip != NULL) {
        TERN_TRY(tern_chip_destroy(runtime->chip));
        runtime->chip = NULL;
    }
    tern_chip_options options = {.aic_count = clusters, .aiv_count = 2 * clusters};
    runtime->clusters = clusters;
    return tern_chip_create(runtime->comm, &options, &runtime->chip);
}

int launch_runtime(RuntimeHandle handle, int aicpu_thread_num, int block_dim, int device_id,
                   const uint8_t *aicpu_binary, size_t aicpu_size, const uint8_t *aicore_binary,
                   size_t aicore_size, int orch_thread_num)
{
    struct simpler *runtime = handle;
    (void)aicpu_thread_num;
    (void)device_id;
    (void)aicpu_binary;
    (void)aicpu_size;
    (void)aicore_binary;
    (void)aicore_size;
    (void)orch_thread_num;
    int status = check("launch_runtime", runtime);
    if (status == TERN_OK) {
        status = take_chip(runtime, block_dim);
    }
    if (status != TERN_OK) {
        return tern__simpler_tell("launch_runtime", status);
    }
    runtime->complete = false;
    runtime->status = TERN_OK;
    status = runtime->kind->queue(runtime);
    if (status != TERN_OK) {
        return tern__simpler_tell("launch_runtime", status);
    }
    status = tern_chip_synchronize(runtime->chip);
    runtime->complete = status == TERN_OK;
    int code = status != TERN_OK ? tern_chip_code(runtime->chip) : 0;
    return code > 0 ? tell_code(code) : tern__simpler_tell("launch_runtime", status);
}

int finalize_runtime(RuntimeHandle handle)
{
    struct simpler *runtime = handle;
    int status = check("finalize_runtime", runtime);
    if (status != TERN_OK) {
        return tern__simpler_tell("finalize_runtime", status);
    }
    for (size_t i = 0; i < runtime->pairs_count && runtime->complete; i++) {
        tern__memcpy(runtime->pairs[i].host, runtime->pairs[i].device, runtime->pairs[i].size);
    }
    return tern__simpler_tell("finalize_runtime", release(runtime));
}
