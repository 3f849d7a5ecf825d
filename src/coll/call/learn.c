// SPDX-License-Identifier: Apache-2.0
// Direct or through slots, where no table of this machine says it: what has been faster in calls of
// this communicator (learned.h). Which rank decides: of all, rank 0; where a root takes, the root;
// where a root gives, the rank behind it, since a root that leaves early knows nothing. What that
// rank says in its line holds for all, so they go the same way, whatever each has foreseen. Who has
// foreseen the other way has copied its first piece for nothing, or brings it in a run more.
//
// A call took as long as on the slowest rank: each says in its line how long the one before took.
// With counts a rank need not meet all: then those are asked whose lines are there, of scatter_v
// the root. The own time of the rank that decides is not enough: where it reads, others wait for
// its word that it has, and end after it. Data path: no allocation, no lock, no log, and no system
// call.

#include <string.h>

#include "base/clock.h"
#include "coll/call/place.h"

// Where ranks share processors, shares can be faster direct from so many bytes on.
#define LEARNS_SHARED_FROM (UINT64_C(16) << 10)

// Where slots come first, all of their memory is to have been used before they are timed: pages
// that nobody has touched yet take several times as long.
#define SLOTS_BYTES ((uint64_t)2 * TERN__SLOTS * TERN__SLOT_BYTES)
#define BEGIN_LEAST 4
#define BEGIN_MOST 256

// What reads need until they are as fast as they will be.
#define READ_BYTES ((uint64_t)16 << 20)
#define READS_MOST 16

// Shares of so many bytes and more are in no cache, and either way takes as much longer as they are
// longer. A few calls of the slower way would be most of what many programs make.
#define TRUSTS_FROM (UINT64_C(8) << 20)

// How many calls of a row do not count when a way is tried again. Slots are as fast as they will be
// when all of their memory has been used twice in a row, the first time perhaps for the first time:
// until then, with shares of 16 KiB to 1 MiB, they take two to ten times as long, more than reads.
// Reads need some calls.
static uint32_t left_of(bool way, uint64_t longest)
{
    uint64_t calls = way ? READ_BYTES / longest : 2 * SLOTS_BYTES / longest;
    uint64_t most = way ? READS_MOST : 2 * BEGIN_MOST;
    return TERN__LEARNED_ROW / 2 + (uint32_t)(calls < most ? calls : most);
}

// How a class begins. Who gives to gather_v, or to scatter_v, out of a slot waits for nobody, and
// hears what was said up to TERN__AHEAD calls later.
static struct tern__learned_plan plan_of(const struct tern__coll *call, bool guess, bool known,
                                         bool trusts, uint64_t longest)
{
    bool late = call->counts && tern__kind_has_root(call->kind);
    uint32_t left[] = {left_of(false, longest), left_of(true, longest)};
    uint32_t rest = TERN__LEARNED_ROW / 2 + (late ? TERN__AHEAD : 0);
    uint64_t calls = SLOTS_BYTES / longest; // until the memory of slots has been used
    return (struct tern__learned_plan){
        .guess = guess,
        .begin_at = known                          ? 0
                    : guess || calls < BEGIN_LEAST ? BEGIN_LEAST
                    : calls > BEGIN_MOST           ? BEGIN_MOST
                                                   : (uint32_t)calls,
        .first = TERN__LEARNED_ROW + (late ? TERN__AHEAD : 0),
        .row = {left[0] + rest, left[1] + rest},
        .left = {left[0], left[1]},
        .warm = known || !guess || calls <= BEGIN_LEAST,
        .trusts = trusts,
    };
}

// Of fewer bytes it is not worth while to read one half and take the other out of slots; of more
// the root writes a part to where it belongs (sync/help.h).
#define HALVES_FROM (UINT64_C(4) << 10)
_Static_assert(TERN__HELP_FROM / 2 <= TERN__AHEAD * TERN__SLOT_BYTES, "a half has room");

// Whether reads of others' inputs are all that a plan does.
static bool reads_only(const struct tern__program *program)
{
    return program != NULL && program->pull && program->scratch_bytes == 0;
}

// Whether all else that a plan does is to hand on the sums of slices in scratch, which has room for
// one slice of a rank.
static bool sums_slices(const struct tern__coll *call, const struct tern__program *program)
{
    return program->scaled && program->pull && program->own_scratch &&
           !tern__kind_has_shares(call->plan_kind);
}

const struct tern__program *tern__call_reader(const struct tern__coll *call)
{
    return reads_only(call->window)                           ? call->window
           : call->staged->scaled && reads_only(call->staged) ? call->staged
           : sums_slices(call, call->staged)                  ? call->staged
                                                              : NULL;
}

bool tern__call_can_halve(const struct tern__coll *call, const struct tern__program *direct)
{
    return direct != NULL && direct->scaled && call->staged->scaled && reads_only(call->staged) &&
           call->calls->nranks == 2 && tern__kinds[call->kind].root == TERN_KIND_ROOT_FROM &&
           !tern__kind_has_shares(call->plan_kind) && call->share_bytes >= HALVES_FROM &&
           call->share_bytes < TERN__HELP_FROM;
}

const struct tern__program *tern__call_direct(const struct tern__coll *call, uint64_t longest)
{
    const struct tern__choice *choice =
        &call->calls->selections[call->plan_kind][call->order].choice;
    if (!call->calls->direct || choice->direct_from == 0 || longest < choice->direct_from ||
        (choice->direct_to != 0 && longest > choice->direct_to)) {
        return NULL;
    }
    return tern__call_reader(call);
}

const struct tern__program *tern__call_few(const struct tern__coll *call,
                                           const struct tern__program *direct, bool in_place)
{
    return direct != NULL && call->few != NULL && (call->few->in_place || !in_place) ? call->few
                                                                                     : direct;
}

static int decider_of(const struct tern__coll *call)
{
    enum tern_kind_root root = tern__kinds[call->kind].root;
    return root == TERN_KIND_ROOT_TO     ? call->root
           : root == TERN_KIND_ROOT_FROM ? (call->root + 1) % call->calls->nranks
                                         : 0;
}

static int size_of(uint64_t longest)
{
    int size = 63 - __builtin_clzll(longest / TERN__LEARNS_FROM | 1);
    return size < TERN__LEARNED_SIZES ? size : TERN__LEARNED_SIZES - 1;
}

// The class that tells most of one which is new: that of the other calls of the kind, with or
// without counts, with shares as long; else the ones beside it. NULL: nothing is known of any.
// (Other kinds differ: a gather may be slower one way where a scatter is faster.) *at: its size.
static const struct tern__learned *class_beside(const struct tern__coll *call, int size, int *at)
{
    static const int distances[] = {0, -1, 1, -2, 2};
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        for (int other = distances[i] == 0; other < 2; other++) {
            *at = size + distances[i];
            const struct tern__learned *l =
                *at >= 0 && *at < TERN__LEARNED_SIZES
                    ? &call->calls->learned[call->plan_kind][call->counts != (other != 0)][*at]
                    : NULL;
            if (l != NULL && (l->calls > 0 ? tern__learned_is_known(l) : l->begun)) {
                return l;
            }
        }
    }
    return NULL;
}

// A group without a job stands for one that somebody only asks about.
static bool are_alone(const struct tern__calls *calls)
{
    return calls->work.job == NULL || tern__job_ladder(calls->work.job).alone;
}

bool tern__call_learns(const struct tern__coll *call, uint64_t longest)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__choice *choice = &calls->selections[call->plan_kind][call->order].choice;
    return calls->direct && choice->direct_learned && !choice->named && call->algorithm == NULL &&
           calls->nranks > 1 && longest >= TERN__LEARNS_FROM &&
           (longest >= LEARNS_SHARED_FROM || are_alone(calls)) && tern__call_reader(call) != NULL;
}

static void hear(struct tern__learned *l, uint32_t form)
{
    if ((form & TERN__FORM_LEARNED) != 0) {
        l->begun = true;
        l->next = (form & TERN__FORM_NEXT_READS) != 0;
        l->next_timed = (form & TERN__FORM_NEXT_TIMED) != 0;
    }
}

static bool is_there(const struct tern__calls *calls, int rank, uint32_t run)
{
    // partner: publish in run.c
    return tern__flag_load(&tern__area_head(calls->area, rank, run)->run) == run;
}

// What was said last in the line of a call that this rank has ended before it came. Lines stay at
// least so long (area.h).
static void hear_late(const struct tern__calls *calls, struct tern__learned *l, uint32_t run)
{
    _Static_assert((int)TERN__LEARNED_RUNS == (int)TERN__AHEAD, "as far as ranks may be ahead");
    for (int i = 0; i < TERN__LEARNED_RUNS; i++) {
        uint32_t at = l->runs[i];
        if (at != 0 && run - at <= TERN__AHEAD && is_there(calls, l->decider, at)) {
            hear(l, tern__call_placement(calls, l->decider, at)->form);
            l->runs[i] = 0;
            return;
        }
    }
}

// It is to be heard of this run; known: it has been.
static void note(struct tern__learned *l, uint32_t run, bool known)
{
    memmove(&l->runs[1], &l->runs[0], sizeof l->runs - sizeof l->runs[0]);
    l->runs[0] = run;
    if (known) {
        memset(l->runs, 0, sizeof l->runs);
    }
}

uint32_t tern__call_foresee(struct tern__coll *call, bool guess, uint64_t longest, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    int size = size_of(longest);
    struct tern__learned *l = &call->calls->learned[call->plan_kind][call->counts][size];
    bool decides = decider_of(call) == calls->rank;
    bool is_new = decides ? l->calls == 0 : !l->begun;
    int size_beside = 0;
    const struct tern__learned *beside = is_new ? class_beside(call, size, &size_beside) : NULL;
    bool counts = !call->overlaps && calls->oldest == call;
    uint32_t form = l->time << TERN__FORM_TIME_AT;
    l->time = 0;
    hear_late(calls, l, run);
    bool timed = counts && l->next_timed;
    guess = beside == NULL ? guess : beside->calls == 0 ? beside->next : beside->preferred;
    call->reads = l->begun ? l->next : guess;
    if (decides) {
        bool trusts = beside != NULL && beside->calls > 0 && longest >= TRUSTS_FROM &&
                      size_beside >= size_of(TRUSTS_FROM);
        call->reads =
            tern__learned_decide(l, plan_of(call, guess, beside != NULL, trusts, longest), counts);
        form |=
            (l->next ? TERN__FORM_NEXT_READS : 0u) | (l->next_timed ? TERN__FORM_NEXT_TIMED : 0u);
    }
    form |= TERN__FORM_LEARNED | (call->reads ? TERN__FORM_READS : 0u);
    call->learned = l;
    call->timed_ns = timed ? tern__now_ns() : 0;
    return form;
}

const struct tern__program *tern__call_decided(const struct tern__coll *call, uint64_t longest,
                                               uint32_t run)
{
    uint32_t form = tern__call_placement(call->calls, decider_of(call), run)->form;
    return (form & TERN__FORM_LEARNED) == 0 ? tern__call_direct(call, longest)
           : (form & TERN__FORM_READS) != 0 ? tern__call_reader(call)
                                            : NULL;
}

static uint32_t longest_time(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    uint32_t own = tern__call_placement(calls, calls->rank, run)->form >> TERN__FORM_TIME_AT;
    uint32_t longest = own;
    for (int rank = 0; own != 0 && rank < calls->nranks; rank++) {
        if (is_there(calls, rank, run)) {
            uint32_t time = tern__call_placement(calls, rank, run)->form >> TERN__FORM_TIME_AT;
            longest = time > longest ? time : longest;
        }
    }
    return longest;
}

// Whether each rank has foreseen what has been decided, so that the call took no longer than others
// of its way.
static bool was_foreseen(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    for (int rank = 0; calls->met_all && rank < calls->nranks; rank++) {
        uint32_t form = tern__call_placement(calls, rank, run)->form;
        if ((form & TERN__FORM_LEARNED) != 0 && ((form & TERN__FORM_READS) != 0) != call->reads) {
            return false;
        }
    }
    return true;
}

void tern__call_learn(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    struct tern__learned *l = call->learned;
    int decider = decider_of(call);
    if (l == NULL) {
        return;
    }
    if (decider != calls->rank) {
        note(l, run, calls->met_all);
        l->decider = decider;
        if (calls->met_all) {
            hear(l, tern__call_placement(calls, decider, run)->form);
        }
        return;
    }
    bool other = call->left != 0 || call->way == TERN__WAY_WINDOW || !was_foreseen(call, run);
    tern__learned_take(l,
                       other                           ? TERN__LEARNED_OTHER
                       : call->way == TERN__WAY_DIRECT ? 1
                                                       : 0,
                       longest_time(call, run));
}

void tern__call_time(const struct tern__coll *call)
{
    int64_t units = (tern__now_ns() - call->timed_ns) / TERN__FORM_TIME_NS + 1;
    call->learned->time = units < TERN__FORM_TIME_MOST ? (uint32_t)units : TERN__FORM_TIME_MOST;
}
