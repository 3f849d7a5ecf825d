// SPDX-License-Identifier: Apache-2.0
// The run behind the oldest one. Of a call whose plan reaches other machines it begins before the
// oldest has ended, so that the links do not run dry while the last bytes of a piece cross them,
// are summed and cross back. It has a slot of its own, so what holds of a run that begins holds of
// this one (area.h); they end in their order. Data path: no allocation, lock, log or system call.

#include "coll/call/call.h"

static uint64_t others_here(const struct tern__calls *calls)
{
    return calls->others & ~calls->elsewhere->ranks;
}

// Whether there is one that may begin.
static bool is_followed(const struct tern__calls *calls)
{
    const struct tern__coll *call = calls->oldest;
    return calls->ahead != NULL && calls->bound && call->wide && call->ended + 1 < call->pieces &&
           calls->published - calls->ended > 1;
}

int tern__ahead_advance(struct tern__calls *calls, struct tern__differs *differs)
{
    struct tern__ahead *ahead = calls->ahead;
    uint32_t run = calls->ended + 2;
    if (!is_followed(calls)) {
        return 0;
    }
    if (!ahead->bound) {
        int met = tern__calls_meet_ranks(calls, others_here(calls), run, differs);
        if (met <= 0) {
            return met;
        }
        tern__call_bind_ahead(calls->oldest, run);
        tern__calls_begin_lanes(calls, &ahead->lanes, run);
        ahead->bound = true;
    }
    return tern__lanes_sweep(&ahead->lanes);
}

bool tern__ahead_ready(const struct tern__calls *calls)
{
    return is_followed(calls) &&
           (calls->ahead->bound
                ? tern__lanes_ready(&calls->ahead->lanes)
                : tern__calls_have_come(calls, others_here(calls), calls->ended + 2));
}

void tern__ahead_move_up(struct tern__calls *calls)
{
    struct tern__ahead *ahead = calls->ahead;
    if (ahead == NULL || !ahead->bound) {
        return;
    }
    struct tern__lanes ended = calls->lanes;
    calls->lanes = ahead->lanes;
    calls->lanes.binding = &calls->binding;
    calls->binding = ahead->binding;
    ahead->lanes = ended;
    ahead->lanes.binding = &ahead->binding;
    ahead->bound = false;
    calls->bound = true;
}

void tern__ahead_end(struct tern__calls *calls)
{
    if (calls->ahead != NULL) {
        calls->ahead->bound = false;
    }
}
