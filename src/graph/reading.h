// SPDX-License-Identifier: Apache-2.0
// A submission while it is read (submit.c). Data path.
#ifndef TERN_GRAPH_READING_H
#define TERN_GRAPH_READING_H

#include <assert.h>
#include <string.h>

#include "graph/away.h"
#include "graph/chip.h"
#include "graph/region.h"
#include "graph/submit.h"

// By region.
struct tern__finds {
    const tern_task_arg *of[TERN_TASK_ARGS_MAX]; // not in a usual one for those of an owner
    struct tern__map_place places[TERN_SUBMIT_REGIONS_MAX];
};

// Of `task` what describes it; `more` when it is special. Regions are numbered without the scalars
// between them.
struct tern__reading {
    struct tern__rings *rings;
    const tern_submission *given;
    struct tern__task task;
    struct tern__task_more more;
    struct tern__room need;
    bool plain;
    uint32_t regions;
    uint32_t of_owner; // a bit for each region that comes after its owner alone, and has no place
    uint32_t looked;   // a bit for each that was looked up otherwise: it has a place
    uint32_t outputs;  // a bit for each region of TERN_OUT
    size_t name_bytes;
    size_t head_bytes; // of the task's copies, before its regions: values of arguments, and name
    int64_t *args;     // the copies
    tern_region *copies;
    tern_task_id id;
    struct tern__finds found;
};
static_assert(TERN_SUBMIT_REGIONS_MAX <= 32, "a bit for each");
static_assert(2 * TERN_SUBMIT_REGIONS_MAX <= TERN__IDS_LEAST,
              "the rings have room for two tasks before each region");

enum { TERN__OUTPUT_ALIGN = 1024, TERN__ARGS_ALIGN = 64 };

// Any submission: what it comes after is in the ids of the rings, the task's copies are made, and
// there is room for all else. Any failure is the run's, too.
int tern__reading_any(tern_graph *graph, struct tern__reading *reading);

static inline uint64_t tern__round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// More than any heap has: the same, so that sums do not wrap around.
static inline uint64_t tern__output_bytes(const tern_region *region)
{
    const uint64_t most = UINT64_C(1) << 48;
    return region->buffer_bytes < most ? tern__round_up(region->buffer_bytes, TERN__OUTPUT_ALIGN)
                                       : most;
}

// The owner's row is likely in the cache of the core that ran it.
static inline void tern__ask_for_owner(const struct tern__rings *rings, const tern_region *region)
{
    if (region->owner == TERN_REGION_NO_OWNER) {
        return;
    }
    const struct tern__ring *ring = &rings->ring[(region->owner >> 32) % TERN_RINGS];
    tern__own_line(&ring->rows[(uint32_t)region->owner & ring->mask].after);
}

// A kernel on one core that the chip has, and no more: what most tasks are.
static inline bool tern__task_is_plain(const struct tern_chip *chip, const tern_task *task)
{
    return task->kernel != NULL && (task->core == TERN_CORE_AIC || task->core == TERN_CORE_AIV) &&
           (unsigned)task->blocks <= 1 && task->predicate == NULL && task->notices_count == 0 &&
           tern__cores_of(&chip->cores, (int)task->core) > 0;
}

// What lies before the regions of a task's copies: the values of its arguments, and its name.
static inline uint64_t tern__args_head(int args_count, size_t name_bytes)
{
    return tern__round_up((uint64_t)args_count * sizeof(int64_t) + name_bytes, TERN__ARGS_ALIGN);
}

static inline const char *tern__task_name(const tern_task *task)
{
    return task->name != NULL ? task->name : task->kernel_name != NULL ? task->kernel_name : "task";
}

// With the zero at its end; what is too long is cut.
static inline size_t tern__task_name_bytes(const char *name)
{
    return strnlen(name, TERN__TASK_NAME_BYTES - 1) + 1;
}

// A reader that comes after the task that made the buffer and nobody else, when the map does not
// file all.
static inline bool tern__reading_of_owner(const tern_task_arg *arg)
{
    return arg->access == TERN_IN && arg->region->owner != TERN_REGION_NO_OWNER &&
           !arg->region->no_dependences;
}

#endif
