// SPDX-License-Identifier: Apache-2.0
// Meeting in runs: which ranks this one waits for, and whether what they have published is what it
// has published itself. Data path: no allocation, no lock, no log, and no system call.

#include "base/error.h"
#include "coll/call/place.h"

static bool is_published(const struct tern__calls *calls, int rank, uint32_t run)
{
    // partner: publish, here and in quick.c; also acquires what that rank wrote before.
    return tern__flag_load(&tern__area_head(calls->area, rank, run)->run) == run;
}

uint32_t tern__calls_compared(const struct tern__calls *calls, int rank)
{
    return tern__reached(calls->compared[rank], calls->settled) ? calls->compared[rank]
                                                                : calls->settled;
}

void tern__calls_compared_all(struct tern__calls *calls)
{
    for (int rank = 0; rank < calls->nranks; rank++) {
        calls->compared[rank] = tern__calls_compared(calls, rank);
    }
}

// Whether a rank has published all runs up to this one, as far as they were not compared. Between
// machines lines may come in another order (area.h).
static bool has_come(const struct tern__calls *calls, int rank, uint32_t run)
{
    uint32_t compared = tern__calls_compared(calls, rank);
    for (uint32_t at = run; !tern__reached(compared, at); at--) {
        if (!is_published(calls, rank, at)) {
            return false;
        }
    }
    return true;
}

// Compares the runs of a rank up to `run`, which have come: 0, or the first that differs.
static uint32_t compare(struct tern__calls *calls, int rank, uint32_t run)
{
    for (uint32_t at = tern__calls_compared(calls, rank); at != run;) {
        at++;
        const struct tern__head *theirs = tern__area_head(calls->area, rank, at);
        const struct tern__head *own = tern__area_head(calls->area, calls->rank, at);
        if (theirs->signature != own->signature || theirs->digest != own->digest) {
            return at;
        }
    }
    calls->compared[rank] = run;
    return 0;
}

bool tern__calls_have_come(const struct tern__calls *calls, uint64_t ranks, uint32_t run)
{
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        if (!has_come(calls, __builtin_ctzll(left), run)) {
            return false;
        }
    }
    return true;
}

bool tern__calls_agree(struct tern__calls *calls, uint64_t ranks, uint32_t run)
{
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        if (!has_come(calls, rank, run) || compare(calls, rank, run) != 0) {
            return false;
        }
    }
    return true;
}

int tern__calls_settle(struct tern__calls *calls, struct tern__differs *differs)
{
    uint32_t least = calls->ended;
    for (uint64_t left = calls->others; left != 0; left &= left - 1) {
        int other = __builtin_ctzll(left);
        uint32_t at = tern__calls_compared(calls, other);
        while (!tern__reached(at, calls->ended) && is_published(calls, other, at + 1)) {
            *differs = (struct tern__differs){other, compare(calls, other, ++at)};
            if (differs->run != 0) {
                return TERN_ERR_MISMATCH;
            }
        }
        least = tern__reached(at, least) ? least : at;
    }
    calls->settled = least;
    return TERN_OK;
}

// Whether the oldest call cannot publish its next run yet.
static bool is_held(const struct tern__calls *calls)
{
    return calls->published == calls->ended;
}

// The root that has all input, or knows how much it is, if others have to know.
bool tern__call_is_alone(const struct tern__coll *call)
{
    return call->early && call->root == call->calls->rank &&
           (tern__kinds[call->kind].root == TERN_KIND_ROOT_FROM ||
            (call->kind == TERN_COLL_GATHER_V && !tern__call_all_leave(call)));
}

// The root of scatter_v alone has an input, so its line says whether all inputs are in slots.
static uint64_t gates_of_scatter(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    uint64_t root = UINT64_C(1) << call->root & calls->others; // none: it is this rank
    if (root != 0 && !is_published(calls, call->root, run)) {
        return root;
    }
    return tern__call_placement(calls, call->root, run)->in_slot != 0 ? root : calls->others;
}

// Who gives to gather_v, from a slot, leaves at once if the call ends so whatever the others give
// (givers.c), or when it knows that all others give from slots. Of two ranks the other one is the
// root. Of more the root's counts say so; if they are wrong, whoever differs from them finds it.
static uint64_t gates_of_gather(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    uint64_t root = UINT64_C(1) << call->root & calls->others; // none: it is this rank
    if (root == 0 || tern__call_placement(calls, calls->rank, run)->in_slot == 0) {
        return calls->others;
    }
    if (calls->nranks == 2 || tern__call_has_left(call, calls->rank, run)) {
        return 0;
    }
    bool waits = is_published(calls, call->root, run) && !tern__call_takes_slots(call, run);
    return waits ? calls->others : root;
}

// Of a v-collective whose run announces it.
static uint64_t gates_of_shares(const struct tern__coll *call, uint32_t run)
{
    return call->kind == TERN_COLL_SCATTER_V  ? gates_of_scatter(call, run)
           : call->kind == TERN_COLL_GATHER_V ? gates_of_gather(call, run)
                                              : call->calls->others;
}

// Of a run that is a piece.
static uint64_t gates_of_piece(const struct tern__coll *call)
{
    return call->copied || call->tail != call->staged ? call->calls->others : call->staged->gates;
}

uint64_t tern__call_gates(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    if (!call->early) {
        return calls->others;
    }
    switch (call->way) {
    case TERN__WAY_SLOT:
        return call->slot != NULL ? call->slot->gates : calls->others;
    case TERN__WAY_UNKNOWN:
        return gates_of_shares(call, run);
    case TERN__WAY_STAGED:
        return gates_of_piece(call);
    case TERN__WAY_DIRECT:
        return call->ended == 0 ? calls->others : gates_of_piece(call);
    default:
        return calls->others;
    }
}

// Of these those that the oldest run waits for now. A plan that reaches other machines begins when
// the ranks here have come (area.h), and the run ends when all have.
static uint64_t gates_now(const struct tern__calls *calls, const struct tern__coll *call,
                          uint32_t run)
{
    uint64_t gates = tern__call_gates(call, run);
    return call->wide && !calls->bound ? gates & ~calls->elsewhere->ranks : gates;
}

uint64_t tern__calls_awaited(const struct tern__calls *calls, uint32_t *run)
{
    bool held = is_held(calls);
    *run = held ? calls->settled + 1 : calls->ended + 1;
    bool met = calls->bound && !calls->oldest->wide;
    uint64_t gates = held ? calls->others : met ? 0 : tern__call_gates(calls->oldest, *run);
    uint64_t ranks = 0;
    for (uint64_t left = gates; left != 0; left &= left - 1) {
        ranks |= has_come(calls, __builtin_ctzll(left), *run) ? 0 : left & -left;
    }
    return ranks;
}

int tern__calls_meet_ranks(struct tern__calls *calls, uint64_t ranks, uint32_t run,
                           struct tern__differs *differs)
{
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        if (tern__reached(tern__calls_compared(calls, rank), run)) {
            continue;
        }
        if (!has_come(calls, rank, run)) {
            return 0;
        }
        if (calls->oldest != NULL && calls->oldest->counts) { // its table is looked at next
            __builtin_prefetch(tern__call_announced(calls, rank, run));
        }
        *differs = (struct tern__differs){rank, compare(calls, rank, run)};
        if (differs->run != 0) {
            return TERN_ERR_MISMATCH;
        }
    }
    return 1;
}

int tern__calls_meet(struct tern__calls *calls, struct tern__coll *call,
                     struct tern__differs *differs)
{
    uint32_t run = calls->ended + 1;
    uint64_t gates;
    do { // what one rank has published may say who else is waited for
        gates = gates_now(calls, call, run);
        int met = tern__calls_meet_ranks(calls, gates, run, differs);
        if (met <= 0) {
            return met;
        }
    } while (gates != gates_now(calls, call, run));
    calls->met_all = gates == calls->others;
    return 1;
}

bool tern__calls_ready(const struct tern__calls *calls)
{
    bool held = is_held(calls);
    uint32_t run = held ? calls->settled + 1 : calls->ended + 1;
    uint64_t gates = held ? calls->others : gates_now(calls, calls->oldest, run);
    for (uint64_t left = gates; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        if (!tern__reached(tern__calls_compared(calls, rank), run)) {
            if (!has_come(calls, rank, run)) {
                return false;
            }
            if (!held) { // it can be compared
                return true;
            }
        }
    }
    return !calls->bound || calls->lanes.open_count == 0; // else the ops wait for something else
}
