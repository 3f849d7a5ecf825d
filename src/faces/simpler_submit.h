// SPDX-License-Identifier: Apache-2.0
// What the orchestrations that submit tasks with tensors have in common: what their PTO2Runtime
// points to, kernels by id, and the tensors of outputs, which live as long as the scope they are
// from.
#ifndef TERN_FACES_SIMPLER_SUBMIT_H
#define TERN_FACES_SIMPLER_SUBMIT_H

#include "faces/simpler.h"
#include "tern/submit.h"

// A stack of regions that do not move; begin and end are those of a scope.
struct simpler_outputs {
    tern_region **chunks;
    size_t chunks_count, used;
    size_t marks[TERN_SCOPES_MAX];
    int depth;
};

struct simpler_submitter {
    const void *ops; // seen by the orchestration, with
    PTO2ScopeMode pending_scope_mode;
    struct simpler *runtime;
    tern_graph *graph;
    struct simpler_outputs outputs;
};

static inline struct simpler_submitter *tern__simpler_submitter(PTO2Runtime *rt)
{
    return (struct simpler_submitter *)(void *)rt;
}

// A graph with rings: of PTO2_RING_TASK_WINDOW, PTO2_RING_HEAP and PTO2_RING_DEP_POOL where one of
// them is set.
int tern__simpler_rings(tern_graph **graph);

// NULL: there is no memory.
tern_region *tern__simpler_output(struct simpler_outputs *outputs);
void tern__simpler_outputs_begin(struct simpler_outputs *outputs);
void tern__simpler_outputs_end(struct simpler_outputs *outputs);
void tern__simpler_outputs_free(struct simpler_outputs *outputs);

// The run fails with INVALID_ARGS, if it has not failed yet, for what tern_last_error() says.
void tern__simpler_refuse(struct simpler_submitter *submitter);

// Kernels and kind of core of a task; a failure has a sentence.
int tern__simpler_task(const struct simpler *runtime, const MixedKernels *kernels,
                       const PTO2LaunchSpec *spec, tern_task *task);

// Whether `tensor`, the argument of this number, is one: what is not has no dimensions.
int tern__simpler_check_tensor(const tern_region *tensor, int number);

// What is left undefined in an output that is to be allocated.
int tern__simpler_output_of(struct simpler_outputs *outputs, const tern_simpler_create_info *info,
                            tern_task_arg *arg);

// An answer without outputs.
TaskOutputTensors tern__simpler_no_outputs(void);

// Whether the host's arguments are as many as the orchestration's config function says.
int tern__simpler_check_count(const struct simpler *runtime, PTO2OrchestrationConfig config,
                              int count);

#endif
