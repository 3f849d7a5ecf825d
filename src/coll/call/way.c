// SPDX-License-Identifier: Apache-2.0
// Which way a large call goes, by what all ranks have published in the run that announces where
// their buffers are, hence the same on all of them.

#include "base/error.h"
#include "coll/call/place.h"

static int compare_pair(struct tern__coll *call, int from, int to, uint32_t run)
{
    uint64_t sent = tern__call_table(call->calls, from, run)[to].in_bytes;
    uint64_t wanted = tern__call_table(call->calls, to, run)[from].out_bytes;
    return sent == wanted ? TERN_OK : tern__call_counts_differ(call, from, to, sent, wanted);
}

// Every pair must agree on what goes from one to the other; all ranks look at all pairs that have
// anything to move.
static int compare_shares(struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    for (int from = 0; from < calls->nranks; from++) {
        bool gives = tern__kind_has_in(call->kind, from, call->root);
        for (int to = 0; gives && to < calls->nranks; to++) {
            if (tern__kind_has_out(call->kind, to, call->root)) {
                TERN_TRY(compare_pair(call, from, to, run));
            }
        }
        const struct tern__placement *placement = tern__call_placement(calls, from, run);
        call->longest = placement->longest > call->longest ? placement->longest : call->longest;
    }
    return TERN_OK;
}

// What a rank that has not waited for all can compare: with the root, if that has come.
static int compare_with_root(struct tern__coll *call, uint32_t run)
{
    int self = call->calls->rank;
    return call->kind == TERN_COLL_SCATTER_V  ? compare_pair(call, call->root, self, run)
           : tern__call_gates(call, run) != 0 ? compare_pair(call, self, call->root, run)
                                              : TERN_OK;
}

static bool all_in_slots(const struct tern__calls *calls, uint32_t run)
{
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (tern__call_placement(calls, rank, run)->in_slot == 0) {
            return false;
        }
    }
    return true;
}

// Only the rank itself knows where the shares of a list are, and of an output alone.
static bool suits_lists(const struct tern__program *program, int rank, uint32_t form)
{
    bool alone = program->scaled && (program->out_shared >> rank & 1) == 0;
    return (form & TERN__FORM_INS) == 0 && ((form & TERN__FORM_OUTS) == 0 || alone);
}

// Whether a plan can run on the buffers where they are: what others touch is in windows, or far and
// only read; and where a rank is in place, the plan is right so. The ranks need not be alike in
// this; all see what each has published.
static bool suits(const struct tern__coll *call, const struct tern__program *program, uint32_t run,
                  bool far)
{
    for (int rank = 0; program != NULL && rank < call->calls->nranks; rank++) {
        const struct tern__placement *placement = tern__call_placement(call->calls, rank, run);
        bool whole = call->counts && placement->in_slot != 0;
        if (((program->in_shared >> rank & 1) != 0 && placement->in_window == 0 && !whole &&
             !far) ||
            ((program->out_shared >> rank & 1) != 0 && placement->out_window == 0) ||
            ((placement->form & TERN__FORM_IN_PLACE) != 0 && !program->in_place) ||
            !suits_lists(program, rank, placement->form)) {
            return false;
        }
    }
    return program != NULL;
}

static bool any_in_place(const struct tern__calls *calls, uint32_t run)
{
    bool found = false;
    for (int rank = 0; rank < calls->nranks; rank++) {
        found = found || (tern__call_placement(calls, rank, run)->form & TERN__FORM_IN_PLACE) != 0;
    }
    return found;
}

// The root of two gives the first half in pieces.
static void halve(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (call->root != calls->rank) {
        tern__distance_measure(&calls->distance, tern__area_payload(calls->area, call->root, run));
    }
    if ((tern__call_placement(calls, call->root, run)->form & TERN__FORM_HALF) != 0) {
        uint64_t half = call->share_bytes / 2;
        uint64_t count = (half + TERN__SLOT_BYTES - 1) / TERN__SLOT_BYTES;
        call->piece_bytes = tern__round_line((half + count - 1) / count);
        call->piece_room = call->piece_bytes;
        call->announced = 1;
        call->pieces = 1 + count;
    }
}

int tern__call_find_way(struct tern__coll *call, uint32_t run)
{
    call->pieces = 1;
    call->left = 0;
    if (call->counts) {
        bool met_all = call->calls->met_all; // else all that anybody takes is in slots
        TERN_TRY(met_all ? compare_shares(call, run) : compare_with_root(call, run));
        if (!met_all || all_in_slots(call->calls, run)) {
            call->way = TERN__WAY_SLOT;
            tern__call_learn(call, run);
            return TERN_OK;
        }
        call->left = tern__call_left(call, run);
    }
    uint64_t length = call->counts ? call->longest : call->share_bytes;
    // Where ranks have left there is no other run, in which pieces could come.
    const struct tern__program *direct =
        call->left != 0 ? call->staged
                        : tern__call_few(call, tern__call_decided(call, length, run),
                                         call->few != NULL && any_in_place(call->calls, run));
    if (suits(call, call->window, run, false)) {
        call->way = TERN__WAY_WINDOW;
        call->placed = call->window;
    } else if (suits(call, direct, run, true)) {
        call->way = TERN__WAY_DIRECT;
        call->placed = direct;
        if (tern__sums_direct(call)) {
            uint64_t piece = tern__direct_piece(call);
            call->announced = 0;
            call->pieces = length > piece ? (length + piece - 1) / piece : 1;
        } else if (tern__call_can_halve(call, direct)) {
            halve(call, run);
        }
    } else {
        call->way = TERN__WAY_STAGED;
        call->announced = all_in_slots(call->calls, run) ? 0 : 1;
        call->pieces = call->announced + (length + call->piece_bytes - 1) / call->piece_bytes;
        call->pieces = call->pieces > 0 ? call->pieces : 1;
    }
    tern__call_learn(call, run);
    return TERN_OK;
}
