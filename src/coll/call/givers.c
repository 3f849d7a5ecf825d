// SPDX-License-Identifier: Apache-2.0
// gather_v of three ranks or more. A rank that gives little to the root leaves when its share is in
// its slot, and does not know whether the others do. So the call must end in that run, whatever
// they give: the root takes what lies in no slot from where it lies, which all ranks know to be
// possible (calls->direct), and those who give it wait until it has been taken. Who has left does
// no more of the plan: what it would copy, and post, is done by the root, and nothing is posted to
// it. Data path: no allocation, no lock, no log, and no system call.

#include "coll/call/place.h"

// Much would be read by the root alone, where all might push it.
#define LEAVES_MOST (UINT64_C(8) << 10)

static bool lets_leave(const struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    return call->kind == TERN_COLL_GATHER_V && call->early && calls->direct && calls->nranks > 2 &&
           call->staged->pull && call->staged->scratch_bytes == 0;
}

bool tern__call_has_left(const struct tern__coll *call, int rank, uint32_t run)
{
    const struct tern__placement *placement = tern__call_placement(call->calls, rank, run);
    return rank != call->root && placement->in_slot != 0 && placement->longest <= LEAVES_MOST &&
           lets_leave(call);
}

uint64_t tern__call_left(const struct tern__coll *call, uint32_t run)
{
    uint64_t left = 0;
    for (int rank = 0; lets_leave(call) && rank < call->calls->nranks; rank++) {
        left |= tern__call_has_left(call, rank, run) ? UINT64_C(1) << rank : 0;
    }
    return left;
}

bool tern__call_all_leave(const struct tern__coll *call)
{
    bool leave = lets_leave(call);
    for (int rank = 0; leave && rank < call->calls->nranks; rank++) {
        leave = rank == call->root || call->out_counts[rank] * call->element_bytes <= LEAVES_MOST;
    }
    return leave;
}

// In a plan in which nobody but the root reads inputs, the others post to it alone, all alike.
static void post_for(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__script *script = &call->placed->whole;
    uint32_t others = (uint32_t)calls->nranks - 1;
    uint32_t left = (uint32_t)__builtin_popcountll(call->left);
    char *words =
        tern__area_signals(calls->area, run) + (size_t)calls->rank * calls->area->size_bytes;
    for (uint32_t signal = 0; signal < script->posts_count; signal++) {
        char *word = words + (size_t)tern__script_word(script, signal) * sizeof(uint32_t);
        uint32_t posts = script->posts[signal] / others * left;
        calls->area->xport->notify(word, (int32_t)posts, TERN_NOTIFY_ADD);
    }
}

void tern__call_stand_in(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__binding *binding = &calls->binding;
    const struct tern__share *own = binding->tables[calls->rank];
    if (call->placed->pull || calls->rank != call->root) { // a root that reads does so anyway
        return;
    }
    for (uint64_t left = call->left; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        const struct tern__share *row = &binding->tables[rank][calls->rank];
        if (row->in_bytes > 0) {
            calls->area->xport->put(call->out + own[rank].out_offset,
                                    binding->in[rank] + row->in_offset, row->in_bytes);
        }
    }
    post_for(call, run);
}
