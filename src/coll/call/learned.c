// SPDX-License-Identifier: Apache-2.0
// The decisions of learned.h. Data path: no allocation, no lock, no log, and no system call.

#include "coll/call/learned.h"

// Of two in the middle the lower one, or the upper one.
static uint32_t median(const uint32_t *times, uint32_t count, bool upper)
{
    uint32_t sorted[TERN__LEARNED_TIMES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > times[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = times[i];
    }
    return sorted[upper ? count / 2 : (count - 1) / 2];
}

static uint32_t kept(const struct tern__learned *l, bool way)
{
    return l->taken[way] < TERN__LEARNED_TIMES ? l->taken[way] : TERN__LEARNED_TIMES;
}

// Fewer than this of each way are chance.
#define SAMPLES 2

// After how many calls the other way is tried again: soon if only the first rows have compared
// them.
static uint32_t again(const struct tern__learned *l, bool tried)
{
    return TERN__LEARNED_AGAIN * (tried ? l->plan.row[!l->preferred] : l->plan.first);
}

// Whether all that is kept of the preferred way is newer than the last time of the other one: it
// has become slower, perhaps only while caches fill again.
static bool has_drifted(const struct tern__learned *l)
{
    return l->calls - l->other_at > TERN__LEARNED_TIMES * TERN__LEARNED_EVERY;
}

// Of few times the worse one speaks for what is not preferred.
static void prefer(struct tern__learned *l)
{
    bool other = !l->preferred;
    uint32_t ours = kept(l, l->preferred);
    uint32_t theirs = kept(l, other);
    if (theirs < SAMPLES) {
        return;
    }
    uint64_t time = ours > 0 ? median(l->times[l->preferred], ours, false) : UINT64_MAX / 16;
    if ((uint64_t)median(l->times[other], theirs, true) * 16 < time * 15) {
        bool drifted = l->tried && has_drifted(l);
        l->preferred = other;
        l->other_at = l->calls;
        l->again = drifted ? TERN__LEARNED_SOON * l->plan.row[!other] : again(l, l->tried);
        l->again_at = l->calls + l->again;
    }
}

bool tern__learned_is_known(const struct tern__learned *l)
{
    return (l->calls > 0 && l->plan.trusts) ||
           (kept(l, false) >= SAMPLES && kept(l, true) >= SAMPLES);
}

// Ends the rows when one way is faster by a quarter.
static void compare_early(struct tern__learned *l)
{
    if (!l->plan.warm || !tern__learned_is_known(l)) {
        return;
    }
    uint64_t ours = median(l->times[l->preferred], kept(l, l->preferred), false);
    uint64_t theirs = median(l->times[!l->preferred], kept(l, !l->preferred), false);
    l->clear = ours * 5 < theirs * 4 || theirs * 5 < ours * 4;
}

// What call number l->calls does.
static bool way_of_next(struct tern__learned *l)
{
    if (l->calls < l->plan.begin_at) {
        return l->preferred;
    }
    uint32_t row = (l->calls - l->plan.begin_at) / l->plan.first;
    if (row == 2 && !l->clear) {
        compare_early(l);
    }
    if (row < TERN__LEARNED_ROWS && !l->clear) {
        return l->preferred != (row % 2 != 0);
    }
    prefer(l);
    if (l->calls < l->again_at) {
        return l->preferred;
    }
    l->anew = l->anew || l->calls == l->again_at;
    l->tried = true;
    if (l->calls + 1 == l->again_at + l->plan.row[!l->preferred]) { // the last one of them
        uint32_t least = again(l, true);
        uint32_t most = TERN__LEARNED_MOST / TERN__LEARNED_AGAIN * least;
        l->again = 2 * l->again < least ? least : l->again < most ? 2 * l->again : most;
        l->again_at = l->calls + l->again;
    }
    return !l->preferred;
}

// How many calls of a row are left out. Calls that were not foreseen, or do not count, may have
// gone the other way: at least so many that have not must be behind it.
#define LEFT 2

static uint32_t left_of(const struct tern__learned *l)
{
    uint32_t at_first = l->plan.begin_at + TERN__LEARNED_ROWS * l->plan.first;
    return l->clear || l->calls >= at_first ? l->plan.left[l->next] : LEFT;
}

bool tern__learned_decide(struct tern__learned *l, struct tern__learned_plan plan, bool counts)
{
    if (l->calls == 0) {
        l->plan = plan;
        l->again = again(l, false);
        l->again_at =
            plan.begin_at + (plan.trusts ? 0 : TERN__LEARNED_ROWS * plan.first) + l->again;
        l->clear = plan.trusts;
        l->last = TERN__LEARNED_OTHER;
        l->preferred = plan.guess;
        l->next = l->begun ? l->next : plan.guess;
        l->begun = true;
    }
    bool now = l->next;
    if (!counts) {
        l->next = l->preferred;
        return now;
    }
    bool before = l->calls == 0 ? plan.guess : l->row_way;
    l->calls++;
    l->next = l->row_way = way_of_next(l);
    l->in_row = l->row_way == before ? l->in_row + 1 : 0;
    l->next_timed = l->calls >= l->plan.begin_at && l->in_row >= left_of(l) &&
                    (l->next != l->preferred || kept(l, l->next) < TERN__LEARNED_TIMES ||
                     l->calls % TERN__LEARNED_EVERY == 0);
    return now;
}

void tern__learned_take(struct tern__learned *l, uint8_t way, uint32_t time)
{
    if (time != 0 && l->same > LEFT && l->last < TERN__LEARNED_OTHER) {
        if (l->anew && l->last != l->preferred) { // the machine may be another one by now
            l->taken[l->last] = 0;
            l->anew = false;
        }
        l->times[l->last][l->taken[l->last]++ % TERN__LEARNED_TIMES] = time;
        l->other_at = l->last != l->preferred ? l->calls : l->other_at;
    }
    l->same = way == l->last ? l->same + 1 : 1;
    l->last = way;
}
