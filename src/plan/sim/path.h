// SPDX-License-Identifier: Apache-2.0
// Critical paths while they are made. Each lane holds the last step of the path that led to where
// it is; a step holds the one before it, and is freed when nobody holds it. So what is kept is what
// may still become the critical path of the run.
#ifndef TERN_PLAN_SIM_PATH_H
#define TERN_PLAN_SIM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/sim/queue.h"

struct tern__path_step {
    double begin_us, active_us, end_us; // active: when the latency of the slowest flow was over
    uint64_t index;                     // of the op
    uint32_t prev; // TERN__NONE: the beginning. Of a free one: the next free one
    uint32_t holders;
    uint32_t lane, what; // what: the resource that held back the slowest flow; TERN__NONE
    uint32_t kind;       // tern_plan_op_kind
};

struct tern__paths {
    struct tern__path_step *steps;
    uint32_t count, room, free, live;
    bool off; // nothing is kept, or was too much
};

// A new step behind `prev`, whose holder becomes the new step; the caller holds that one.
// TERN__NONE when nothing is kept.
uint32_t tern__path_add(struct tern__paths *paths, uint32_t prev, struct tern__path_step step);

uint32_t tern__path_hold(struct tern__paths *paths, uint32_t step);
void tern__path_drop(struct tern__paths *paths, uint32_t step);
void tern__paths_close(struct tern__paths *paths);

#endif
