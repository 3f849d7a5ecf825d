// SPDX-License-Identifier: Apache-2.0
// `tern example rank`: one rank of an example folder. It is a program of its own against tern's
// communicator and the host side of the chip runtime (pto_runtime_c_api.h), which the runner starts
// through `tern run`: it places buffers, loads inputs, runs the orchestration and saves outputs.
//
//   rank_options.c  the command line, and what it refuses
//   rank_words.c    element types, "name:dtype:count", values of scalars
//   rank_memory.c   windows, device memory, inputs and outputs
//   rank_program.c  the orchestration with its kernels and arguments, and its rounds
//   rank.c          the order of it all
#ifndef TERN_CLI_EXAMPLE_RANK_H
#define TERN_CLI_EXAMPLE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "simpler/pto_runtime_c_api.h"
#include "tern/comm.h"
#include "tern/graph.h"
#include "tern/window.h"

// Exit statuses, as man/tern-example.1 lists them.
enum {
    RANK_EXIT_WRONG = 1, // the command line: an unknown buffer, token, option, …
    RANK_EXIT_SIZE = 2,  // an input is not as large as its buffer
    RANK_EXIT_MEMORY = 3,
    RANK_EXIT_FILE = 4,   // a file cannot be read or written
    RANK_EXIT_COMM = 5,   // no job, no windows, a barrier that failed
    RANK_EXIT_KERNEL = 6, // the orchestration or a kernel could not be loaded, or failed
};

enum {
    RANK_BUFFERS_MAX = TERN_SIMPLER_ARG_TENSORS + TERN_SIMPLER_ARG_SCALARS,
    RANK_ARGS_MAX = TERN_SIMPLER_ARG_TENSORS + TERN_SIMPLER_ARG_SCALARS,
    RANK_KERNELS_MAX = 1024,
    RANK_NAME_BYTES = 64,
    RANK_PATH_BYTES = 4096,
};

#define RANK_COUNT_MAX (INT64_C(1) << 44) // elements of a buffer: all of a rank fit into a size_t

struct rank_type {
    const char *name; // of a buffer's dtype
    size_t bytes;
    uint64_t canary;  // an element of memory that nobody has written; a NaN where there are any
    int region_dtype; // -1: April's interfaces have no such type
};

enum rank_place {
    RANK_WINDOW, // of the own window, behind the prefix
    RANK_DEVICE, // from device_malloc
    RANK_HOST,   // the orchestration's argument is a tensor of the host's
};

struct rank_buffer {
    char name[RANK_NAME_BYTES];
    const struct rank_type *type;
    uint32_t shape[TERN_REGION_DIMS_MAX];
    uint32_t ndims;
    uint64_t count; // elements
    size_t bytes;
    enum rank_place place;
    bool loads, saves;
    void *memory;
};

// A buffer's address, or a value.
struct rank_argument {
    const char *word;                 // as the command line has it
    const struct rank_buffer *buffer; // NULL: a value
    uint64_t value;
    bool is_tensor, is_context;
};

struct rank_kernel {
    int id;
    const char *file, *name; // name: NULL: by its number
};

struct rank_job {
    long nranks, root, prefix, aicpu_threads, block_dim, orch_threads, rounds;
    const char *artifacts, *data, *orchestration, *function, *config, *runtime;
    bool sizes; // those of all tensors are arguments behind the last of them
    struct rank_buffer buffers[RANK_BUFFERS_MAX];
    struct rank_argument args[RANK_ARGS_MAX];
    struct rank_kernel kernels[RANK_KERNELS_MAX];
    const char *loads[RANK_BUFFERS_MAX], *saves[RANK_BUFFERS_MAX];
    const char *names[RANK_KERNELS_MAX]; // words of --kernel-name
    int buffers_count, args_count, kernels_count, loads_count, saves_count, names_count;

    int rank;
    tern_comm *comm;
    tern_window *window;
    tern_window *ends;          // with a signal: how many runs of ranks have ended
    struct rank_loaded *loaded; // rank_program.c
    RuntimeHandle handle;
};

extern const struct cli_command rank_command;

// -1 to go on, else the exit status after a sentence.
int rank_read_options(int argc, char **argv, struct rank_job *job);

// "name:dtype:count" or "name:dtype:2x3", and for tensors ":in", ":out" or ":inout" behind that.
// -1, or the exit status.
int rank_parse_buffer(const char *option, const char *word, enum rank_place place,
                      struct rank_buffer *buffer);

// "name:type:value": the 64 bits that an orchestration gets for it.
int rank_parse_scalar(const char *option, const char *word, uint64_t *bits);

// "[rank 3] text" on standard output; the second says why the rank fails, and returns its status.
void rank_say(const struct rank_job *job, const char *format, ...) TERN_PRINTF(2, 3);
int rank_fail(const struct rank_job *job, int status, const char *format, ...) TERN_PRINTF(3, 4);

// All that follow: 0, or the exit status after a sentence.

// Removes what an earlier run has saved, makes the window and the buffers.
int rank_place(struct rank_job *job);
void rank_release(struct rank_job *job);

// Before a round: inputs as they are in their files, the rest of the window 0, canaries in memory
// of the device.
int rank_stage(struct rank_job *job, bool first);
// After it, when all ranks have run: whether something was written behind a buffer's end.
int rank_check(const struct rank_job *job);
int rank_save(struct rank_job *job);

// Reads a whole file; to be freed.
int rank_read_file(const struct rank_job *job, const char *path, uint8_t **bytes, size_t *size);

// Runs the orchestration as often as the job says, with barriers before and after each round.
int rank_run(struct rank_job *job);

#endif
