// SPDX-License-Identifier: Apache-2.0
// What simpler_tensors.c and simpler_build.c have in common.

#include "faces/simpler_submit.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

enum { CHUNK = 256, ALIGNMENT = 64 };

static int option(const char *name, long least, uint64_t *value)
{
    long number = 0;
    const char *text = getenv(name);
    if (text == NULL || *text == '\0') {
        return TERN_OK;
    }
    if (tern__parse_integer(text, least, INT64_MAX, &number) != 0) {
        return tern__fail(TERN_ERR_ARG, "%s is '%.40s'; it must be a number from %ld on", name,
                          text, least);
    }
    *value = (uint64_t)number;
    return TERN_OK;
}

int tern__simpler_rings(tern_graph **graph)
{
    uint64_t window = 0;
    uint64_t heap = 0;
    uint64_t edges = 0;
    TERN_TRY(option("PTO2_RING_TASK_WINDOW", 4, &window));
    TERN_TRY(option("PTO2_RING_HEAP", 1024, &heap));
    TERN_TRY(option("PTO2_RING_DEP_POOL", 4, &edges));
    tern_ring_options options = {.window = {(uint32_t)window},
                                 .heap = {heap},
                                 .edges = {(uint32_t)edges}};
    return tern_graph_create_rings(window + heap + edges > 0 ? &options : NULL, graph);
}

static int add_chunk(struct simpler_outputs *outputs)
{
    tern_region **chunks =
        realloc(outputs->chunks, (outputs->chunks_count + 1) * sizeof(tern_region *));
    if (chunks == NULL) {
        return -1;
    }
    outputs->chunks = chunks;
    chunks[outputs->chunks_count] = aligned_alloc(ALIGNMENT, CHUNK * sizeof(tern_region));
    if (chunks[outputs->chunks_count] == NULL) {
        return -1;
    }
    outputs->chunks_count++;
    return 0;
}

tern_region *tern__simpler_output(struct simpler_outputs *outputs)
{
    if (outputs->used == outputs->chunks_count * CHUNK && add_chunk(outputs) != 0) {
        tern__set_error("no memory for an output's tensor");
        return NULL;
    }
    size_t at = outputs->used++;
    return &outputs->chunks[at / CHUNK][at % CHUNK];
}

void tern__simpler_outputs_begin(struct simpler_outputs *outputs)
{
    if (outputs->depth < TERN_SCOPES_MAX) { // deeper ones are refused
        outputs->marks[outputs->depth] = outputs->used;
    }
    outputs->depth++;
}

void tern__simpler_outputs_end(struct simpler_outputs *outputs)
{
    if (outputs->depth > 0 && --outputs->depth < TERN_SCOPES_MAX) {
        outputs->used = outputs->marks[outputs->depth];
    }
}

void tern__simpler_outputs_free(struct simpler_outputs *outputs)
{
    for (size_t i = 0; i < outputs->chunks_count; i++) {
        free(outputs->chunks[i]);
    }
    free(outputs->chunks);
    *outputs = (struct simpler_outputs){0};
}

void tern__simpler_refuse(struct simpler_submitter *submitter)
{
    if (!tern_graph_is_fatal(submitter->graph)) {
        char sentence[TERN_ERROR_BYTES];
        strncpy(sentence, tern_last_error(), sizeof sentence - 1);
        sentence[sizeof sentence - 1] = '\0';
        tern_status_ignore(tern_graph_give_up(submitter->graph, 5, "%s", sentence));
    }
}

int tern__simpler_task(const struct simpler *runtime, const MixedKernels *kernels,
                       const PTO2LaunchSpec *spec, tern_task *task)
{
    const int ids[3] = {kernels->aic_kernel_id, kernels->aiv0_kernel_id, kernels->aiv1_kernel_id};
    int count = 0;
    int last = 0;
    for (int i = 0; i < 3; i++) {
        if (ids[i] < 0) {
            continue;
        }
        const struct simpler_kernel *kernel = tern__simpler_kernel(runtime->kernels, ids[i]);
        if (kernel == NULL) {
            return tern__fail(TERN_ERR_KERNEL, "no kernel has the id %d", ids[i]);
        }
        task->mix[i] = kernel->function;
        task->name = count == 0 ? kernel->name : task->name;
        last = i;
        count++;
    }
    if (count == 0) {
        return tern__fail(TERN_ERR_ARG, "a task has no kernel");
    }
    task->core = count > 1 ? TERN_CORE_MIX : last == 0 ? TERN_CORE_AIC : TERN_CORE_AIV;
    if (count == 1) {
        task->kernel = task->mix[last];
        task->mix[last] = NULL;
    }
    if (spec != NULL) {
        task->blocks = spec->block_num_;
        task->sync_start = spec->require_sync_start_;
    }
    return TERN_OK;
}

int tern__simpler_check_tensor(const tern_region *tensor, int number)
{
    return tensor != NULL && tensor->ndims >= 1 && tensor->ndims <= TERN_REGION_DIMS_MAX
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "argument %d is no tensor: it has no dimensions or too many, is a view "
                            "that sticks out, or a reshape of what is not contiguous",
                            number);
}

int tern__simpler_output_of(struct simpler_outputs *outputs, const tern_simpler_create_info *info,
                            tern_task_arg *arg)
{
    arg->region = tern__simpler_output(outputs);
    if (arg->region == NULL) {
        return TERN_ERR_MEMORY;
    }
    TERN_TRY(tern_region_make(arg->region, NULL, info->shapes, (int)info->ndims,
                              (tern_region_dtype)info->dtype));
    arg->access = TERN_OUT;
    arg->region->version = info->version;
    arg->region->no_dependences = info->manual_dep;
    arg->filled = info->has_initial_value != 0;
    arg->fill = info->initial_value;
    return TERN_OK;
}

TaskOutputTensors tern__simpler_no_outputs(void)
{
    static const tern_region none = {.owner = TERN_REGION_NO_OWNER};
    TaskOutputTensors answer;
    answer.id_ = TERN_TASK_ID_NONE;
    answer.count_ = 0;
    answer.tensors_[0] = (const Tensor *)(const void *)&none;
    return answer;
}

int tern__simpler_check_count(const struct simpler *runtime, PTO2OrchestrationConfig config,
                              int count)
{
    return config.expected_arg_count == count
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s wants %d arguments; the host gave %d",
                            runtime->config_name, config.expected_arg_count, count);
}
