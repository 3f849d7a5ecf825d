// SPDX-License-Identifier: Apache-2.0
// A runtime of include/faces/simpler from inside: what simpler.c loads and runs, and the kinds of
// orchestrations among which it selects by their mark.
#ifndef TERN_FACES_SIMPLER_H
#define TERN_FACES_SIMPLER_H

#include "faces/simpler/pto_runtime_c_api.h"
#include "faces/simpler/tern/calls.h"
#include "faces/simpler/tern/tasks.h"
#include "tern/graph.h"

enum {
    TERN__SIMPLER_NAME = 36,
    TERN__SIMPLER_RAW = TERN_SIMPLER_ARG_TENSORS + TERN_SIMPLER_ARG_SCALARS,
};

struct simpler_kernel {
    tern_kernel function; // NULL: no kernel has this id
    void *library;
    int file; // descriptor of the object, by which checking mode finds lines; 0: closed
    char name[TERN__SIMPLER_NAME];
};

// Copied to the host when the runtime is finalized.
struct simpler_pair {
    void *host;
    const void *device;
    size_t size;
};

struct simpler;

// What a header of the face is to libtern.
struct simpler_kind {
    const char *name; // of its folder, and for kernel-cc's --runtime
    const char *mark; // the symbol that the header leaves
    bool april;       // or later: the arguments are ChipStorageTaskArgs
    bool on_host;     // and those of the host: they are not copied to the device
    int (*build)(struct simpler *runtime);    // once, when all is loaded
    int (*queue)(struct simpler *runtime);    // a run
    void (*destroy)(struct simpler *runtime); // what build and queue made
};

// The memory that a RuntimeHandle points to.
struct simpler {
    uint64_t mark;
    struct tern_simpler_runtime runtime; // for the orchestrations of explicit graphs
    OrchestrationRuntime april;
    const struct simpler_kind *kind;
    void *orchestration;
    const char *function_name, *config_name; // where init has found `entry` and `config`
    void *entry, *config;                    // functions; config may be NULL
    struct simpler_kernel *kernels;          // TERN_SIMPLER_FUNC_IDS
    ChipStorageTaskArgs args;
    int directions[TERN_SIMPLER_ARG_TENSORS]; // of its tensors
    uint64_t raw[TERN__SIMPLER_RAW];          // the same, one after the other
    int raw_count;
    int raw_of[TERN_SIMPLER_ARG_TENSORS]; // where in `raw` a tensor's address is
    void **owned;                         // memory of the device, freed with the runtime
    size_t owned_count, owned_room;
    struct simpler_pair *pairs;
    size_t pairs_count, pairs_room;
    tern_graph *graph;
    tern_comm *comm;
    tern_chip *chip;
    int clusters;  // of the chip
    int status;    // what a call of the orchestration first failed with
    bool complete; // the last run
    void *builder; // the kind's own
};

// simpler_kinds.c: the kind that the object is marked as; NULL with a sentence: none, or several.
const struct simpler_kind *tern__simpler_kind(void *orchestration);

// simpler_load.c. Bytes of a shared object, `what` in sentences. *file, if not NULL: the descriptor
// that they stay in, in checking mode, else 0.
int tern__simpler_load(const char *what, const void *bytes, size_t size, int *file, void **library);

// Loads a kernel under an id, instead of the one that has it.
int tern__simpler_load_kernel(struct simpler_kernel *kernels, int id, const void *bytes,
                              size_t size);
void tern__simpler_unload_kernel(struct simpler_kernel *kernels, int id);

// NULL: no kernel has the id.
static inline const struct simpler_kernel *
tern__simpler_kernel(const struct simpler_kernel *kernels, int id)
{
    return id >= 0 && id < TERN_SIMPLER_FUNC_IDS && kernels[id].function != NULL ? &kernels[id]
                                                                                 : NULL;
}

// simpler_memory.c. Says what failed; returns the status as the host gets it.
int tern__simpler_tell(const char *call, int status);

// What the orchestration has asked for failed; the first such status counts.
void tern__simpler_note(struct simpler *runtime, int status);

// Memory of the device that is freed with the runtime, unless before. NULL with a sentence.
void *tern__simpler_malloc(struct simpler *runtime, size_t size);
void tern__simpler_free(struct simpler *runtime, void *memory);

int tern__simpler_record(struct simpler *runtime, void *host, const void *device, size_t size);

// simpler_args.c. Takes the arguments: values with their types and sizes in bytes (both may be
// NULL), or tensors and scalars. Then, unless the kind is on the host, memory of the device for
// tensors.
int tern__simpler_take_values(struct simpler *runtime, const uint64_t *values, const int *types,
                              const uint64_t *sizes, int count);
int tern__simpler_take(struct simpler *runtime, const ChipStorageTaskArgs *args,
                       const int *directions);
int tern__simpler_stage(struct simpler *runtime);

// What tables of functions have in common: simpler_log.c.
void tern__simpler_log_error(const char *func, const char *format, ...) TERN_PRINTF(2, 3);
void tern__simpler_log_warn(const char *func, const char *format, ...) TERN_PRINTF(2, 3);
void tern__simpler_log_info(const char *func, const char *format, ...) TERN_PRINTF(2, 3);
void tern__simpler_log_debug(const char *func, const char *format, ...) TERN_PRINTF(2, 3);
void tern__simpler_log_always(const char *func, const char *format, ...) TERN_PRINTF(2, 3);

// The kinds: simpler_graph.c, simpler_build.c, simpler_tensors.c.
extern const struct simpler_kind tern__simpler_host, tern__simpler_april_host, tern__simpler_chip;
extern const struct simpler_kind tern__simpler_april_build;
extern const struct simpler_kind tern__simpler_tensors, tern__simpler_april_tensors;
extern const struct simpler_kind tern__simpler_august_tensors;

#endif
