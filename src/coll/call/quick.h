// SPDX-License-Identifier: Apache-2.0
// What the short paths share (quick.c, quick_shares.c): looks at the lines of those that come at
// once, and the end of a run.
#ifndef TERN_COLL_CALL_QUICK_H
#define TERN_COLL_CALL_QUICK_H

#include "coll/call/call.h"
#include "sync/balance.h"
#include "xport/expose.h"

// Less than the stores that a processor keeps until it has their lines; and what is asked for
// behind them by hints, which nothing waits for.
#define TERN__OWN_AHEAD_BYTES 4096
#define TERN__HINT_AHEAD_BYTES 8192

// Looks before the load of the machine is asked for: a line from a rank that runs is there by then.
#define TERN__FIRST_LOOKS 32

// And then, for each spin of the ladder. Where each rank has a processor, about 1 us: the root of a
// scatter_v writes for longer than the others, and handing over costs as much again.
enum { TERN__LOOKS_ALONE = 8, TERN__LOOKS_CROWDED = 2 };

// Whether there is room for a run: who has not waited in its last calls waits a little for the
// slowest.
static inline bool tern__quick_has_room(struct tern__calls *calls, bool small)
{
    uint32_t looks = 2 * tern__job_ladder(calls->work.job).spins;
    struct tern__differs differs;
    do {
        if (tern__calls_settle(calls, &differs) != TERN_OK) {
            return false;
        }
    } while (!tern__calls_has_room(calls, small) && looks-- > 0);
    return tern__calls_has_room(calls, small);
}

struct tern__looks {
    uint32_t left;
    bool more;
};

// Whether a run is published within the looks that are left.
static inline bool tern__quick_comes(const struct tern__calls *calls,
                                     const _Atomic uint32_t *published, uint32_t run,
                                     struct tern__looks *looks)
{
    while (tern__flag_load(published) != run) { // partner: publish; and tern__letter_write
        if (looks->left-- == 0) {
            if (!looks->more) {
                return false;
            }
            struct tern__ladder ladder = tern__job_ladder(calls->work.job);
            looks->left = (ladder.alone ? TERN__LOOKS_ALONE : TERN__LOOKS_CROWDED) * ladder.spins;
            looks->more = false;
        }
    }
    return true;
}

// Whether the ranks that this one waits for come within a few looks, and with the same call.
static inline bool tern__quick_has_met(struct tern__calls *calls, uint64_t gates,
                                       uint64_t signature, uint32_t digest, uint32_t run)
{
    struct tern__looks looks = {TERN__FIRST_LOOKS, true};
    for (uint64_t left = gates; left != 0; left &= left - 1) {
        const struct tern__head *head = tern__area_head(calls->area, __builtin_ctzll(left), run);
        if (!tern__quick_comes(calls, &head->run, run, &looks)) {
            return false;
        }
        if (head->signature != signature || head->digest != digest) {
            return false;
        }
    }
    // The calls before this one, where it has not waited for the same ranks.
    return (gates == calls->others && calls->settled == run - 1) ||
           tern__calls_agree(calls, gates, run);
}

// A line that others have read is called back by a store, which nobody waits for. A hint that one
// will come (tern__own_line) is often not heeded then.
static inline void tern__call_back(void *line)
{
    *(volatile char *)line = 0;
}

// The lines of the run that comes next were last read by others; they are called back now, so that
// the next call finds them here: if it may be published (area.h), nobody needs what is in them. Of
// the payload those from byte `begin` to `end`.
static inline void tern__quick_own_ahead(const struct tern__calls *calls, bool small, uint32_t run,
                                         uint64_t begin, uint64_t end)
{
    if (!tern__calls_has_room(calls, small)) {
        return;
    }
    char *payload = tern__area_run_payload(calls->area, calls->rank, run, small);
    if (end - begin >= TERN__EXPOSE_FROM && tern__goes_past(&calls->distance)) {
        end = begin; // it will be written past the caches
    }
    uint64_t at = begin / TERN_CACHE_LINE * TERN_CACHE_LINE;
    uint64_t stored = end < at + TERN__OWN_AHEAD_BYTES ? end : at + TERN__OWN_AHEAD_BYTES;
    uint64_t most = stored + TERN__HINT_AHEAD_BYTES;
    tern__call_back(&tern__area_head(calls->area, calls->rank, run)->digest);
    for (; at < stored; at += TERN_CACHE_LINE) {
        tern__call_back(payload + at);
    }
    for (; at < end && at < most; at += TERN_CACHE_LINE) {
        tern__own_line(payload + at);
    }
}

// The run has ended; it is settled when it has waited for all.
static inline void tern__quick_end(struct tern__calls *calls, uint64_t gates, uint32_t run)
{
    calls->ended = run;
    if (gates == calls->others) {
        calls->settled = run;
        if (run % TERN__COMPARED_ANEW == 0) {
            tern__calls_compared_all(calls);
        }
    } else {
        calls->numbers[run % TERN__LINES] = calls->made;
    }
    tern__calls_count(calls, run, 0);
    tern__balance(calls->work.job, (uint32_t)calls->made);
}

#endif
