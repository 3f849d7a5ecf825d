// SPDX-License-Identifier: Apache-2.0
// The host side of the chip runtime: orchestration and kernels come as bytes of shared objects, are
// loaded into this process and run on a chip of tern's (tern/graph.h). Memory of the device is
// ordinary memory.
//
//     void *runtime = malloc(get_runtime_size());
//     init_runtime(runtime, orchestration, size, "build", args, n, types, sizes, ids, kernels, …);
//     launch_runtime(runtime, 3, 24, 0, NULL, 0, NULL, 0, 1);
//     finalize_runtime(runtime); // copies the outputs back
//
// Which of the runtimes it is, the orchestration's object knows: the header that it was compiled
// with has left a mark there.
//
// Functions return 0, or a negative number: of a run that failed -code by tern/graph_code.def, else
// TERN_SIMPLER_FAILED + a status of tern/status.h. Then the sentence is in tern_last_error() and on
// standard error. A runtime is used by one thread at a time.
#ifndef TERN_FACES_SIMPLER_PTO_RUNTIME_C_API_H
#define TERN_FACES_SIMPLER_PTO_RUNTIME_C_API_H

#include "simpler/tern/types.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

#define TERN_SIMPLER_FAILED (-1000)

typedef void *RuntimeHandle; // get_runtime_size() bytes of the caller's, aligned to 8

// What an argument is; pointers are to memory of the host, with their sizes in bytes.
enum {
    TERN_SIMPLER_ARG_SCALAR = 0,
    TERN_SIMPLER_ARG_INPUT_PTR = 1,
    TERN_SIMPLER_ARG_OUTPUT_PTR = 2,
    TERN_SIMPLER_ARG_INOUT_PTR = 3,
};

TERN_API size_t get_runtime_size(void);

// Loads all. host_build_graph: the orchestration runs here, with the arguments as they are. Of the
// other runtimes it runs at the launch; its pointers are copied in here, and what is an output is
// copied back by finalize_runtime. arg_types NULL: all are scalars. An orchestration of April has
// each pointer as a tensor of bytes; tern_simpler_init can say more.
TERN_API int init_runtime(RuntimeHandle runtime, const uint8_t *orch_so, size_t orch_so_size,
                          const char *orch_func_name, uint64_t *func_args, int func_args_count,
                          int *arg_types, uint64_t *arg_sizes, const int *kernel_func_ids,
                          const uint8_t *const *kernel_binaries, const size_t *kernel_sizes,
                          int kernel_count);

// Runs it on a chip of block_dim clusters (1 AIC and 2 AIV each) and waits for its end. May be
// called again. How many threads schedule, tern knows; the binaries, which are those of a chip's
// own processors, are not looked at.
TERN_API int launch_runtime(RuntimeHandle runtime, int aicpu_thread_num, int block_dim,
                            int device_id, const uint8_t *aicpu_binary, size_t aicpu_size,
                            const uint8_t *aicore_binary, size_t aicore_size, int orch_thread_num);

// Copies the outputs of a run that has not failed, and frees all but the handle's own memory.
TERN_API int finalize_runtime(RuntimeHandle runtime);

TERN_API void *device_malloc(size_t size);
TERN_API void device_free(void *memory);
TERN_API int copy_to_device(void *device, const void *host, size_t size);
TERN_API int copy_from_device(void *host, const void *device, size_t size);
TERN_API int set_device(int device_id);
TERN_API void record_tensor_pair(RuntimeHandle runtime, void *host, void *device, size_t size);

// TERN_TRACE makes a timeline here; this does nothing.
TERN_API int enable_runtime_profiling(RuntimeHandle runtime, int enabled);

// tern's own.

typedef struct tern_simpler_program {
    const void *orchestration;
    size_t orchestration_size;
    const char *function_name; // NULL: aicpu_orchestration_entry
    const char *config_name;   // NULL: aicpu_orchestration_config
    const int *kernel_ids;     // kernel_count of each
    const uint8_t *const *kernels;
    const size_t *kernel_sizes;
    int kernel_count;
    tern_comm *comm;     // of the chips whose kernels wait for each other; NULL: none
    const char *runtime; // --runtime of kernel-cc that the orchestration must be of; NULL: any
    const char *const *kernel_names; // of tasks in traces and sentences, up to 35 letters, copied;
                                     // NULL, of all or of one: "kernel 3"
    const uint64_t *values;          // the arguments as init_runtime takes them
    const int *value_types;
    const uint64_t *value_sizes;
    int values_count;
} tern_simpler_program;

// init_runtime with the arguments of April, or those of March that the program names when `args` is
// NULL. directions: of each tensor TERN_SIMPLER_ARG_INPUT_PTR, …; NULL: all are copied in and back.
TERN_API int tern_simpler_init(RuntimeHandle runtime, const tern_simpler_program *program,
                               const ChipStorageTaskArgs *args, const int *directions);

TERN_END_DECLS

#endif
