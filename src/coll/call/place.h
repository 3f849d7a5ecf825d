// SPDX-License-Identifier: Apache-2.0
// What publishing and binding share: which bytes of a buffer a run is about.
#ifndef TERN_COLL_CALL_PLACE_H
#define TERN_COLL_CALL_PLACE_H

#include "coll/call/call.h"

// What a rank says about its buffers in the run that announces a call, once it has published it.
static inline const struct tern__placement *tern__call_placement(const struct tern__calls *calls,
                                                                 int rank, uint32_t run)
{
    const struct tern__head *head = tern__area_head(calls->area, rank, run);
    return (const struct tern__placement *)(const void *)head->data;
}

// Where it says more, in a call with counts; and what it has for each rank, which is there first.
static inline const char *tern__call_announced(const struct tern__calls *calls, int rank,
                                               uint32_t run)
{
    bool small = tern__call_placement(calls, rank, run)->in_slot == TERN__IN_SMALL;
    return tern__area_run_payload(calls->area, rank, run, small);
}

static inline const struct tern__share *tern__call_table(const struct tern__calls *calls, int rank,
                                                         uint32_t run)
{
    return (const struct tern__share *)(const void *)tern__call_announced(calls, rank, run);
}

// Where in its payload a rank has put its piece of a run, once it has published it.
static inline uint64_t tern__call_piece_at(const struct tern__coll *call, int rank, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    if (calls->elsewhere != NULL) {
        return 0;
    }
    if (call->ended == 0 && call->announced == 0) { // the run that has announced the call
        return (tern__call_placement(calls, rank, run)->in_slot - 1) * TERN_CACHE_LINE;
    }
    const struct tern__head *head = tern__area_head(calls->area, rank, run);
    return ((const struct tern__piece_place *)(const void *)head->data)->at;
}

// Direct, of a plan with scratch: so many bytes in a run. Inputs and outputs stay where they are;
// each rank's sums, of one slice, are in its slot, which has room for what rounding adds to it.
#define TERN__DIRECT_SLICE (TERN__SLOT_BYTES / 2)
_Static_assert(TERN__REDUCE_FUNCTION_MAX <= TERN__DIRECT_SLICE, "slices are whole elements");

static inline uint64_t tern__direct_piece(const struct tern__coll *call)
{
    uint64_t most = (uint64_t)call->calls->nranks * TERN__DIRECT_SLICE;
    uint64_t pieces = (call->share_bytes + most - 1) / most;
    return pieces > 1 ? tern__round_line((call->share_bytes + pieces - 1) / pieces) : most;
}

// Whether a call is one of those.
static inline bool tern__sums_direct(const struct tern__coll *call)
{
    return call->way == TERN__WAY_DIRECT && call->placed->scratch_bytes > 0;
}

#define TERN__NO_BYTES UINT64_MAX // for in_window, out_window: nothing to be found

// The bytes of each share (of everything, where there are none) that run `index` of the pieces is
// about, and where they begin.
static inline uint64_t tern__piece_of(const struct tern__coll *call, uint64_t length,
                                      uint64_t index, uint64_t *skip)
{
    *skip = index * call->piece_bytes;
    uint64_t rest = length > *skip ? length - *skip : 0;
    return rest < call->piece_bytes ? rest : call->piece_bytes;
}

// Whether this rank's ops read its input where it is, so that only what others read goes into the
// slot. Not in place: then an op may overwrite what another one has yet to read. Where the input
// has a share for each rank, pieces of them are not as far from each other as in slots, so one of
// them must be all that is read.
static inline bool tern__reads_own_input(const struct tern__coll *call)
{
    return call->staged->scaled && !call->copied && !call->in_place && call->in != NULL &&
           (!tern__kind_in_all(call->plan_kind) || call->staged->own_share);
}

#endif
