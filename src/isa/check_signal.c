// SPDX-License-Identifier: Apache-2.0
// What notifies carry in checking mode, and what a rank knows when it has seen one. The entry of a
// word is in the part of the rank whose word it is; when that is on another machine, in the part of
// the leader of this one, and the rank that waits fetches it.

#include <stdio.h>

#include "isa/block.h"
#include "isa/check_share.h"
#include "sync/machines.h"

// How far from its place the entry of a word may be. Entries are never given up, so a word that has
// found none finds none later.
enum { SIGNAL_TRIES = 128 };

// Of a word of a rank's part.
static uint64_t key_of_word(const tern_window *window, int rank, size_t offset_bytes)
{
    return (uint64_t)tern__share_rank(window, rank) << 58 |
           (uint64_t)(tern__share_key(window) + 1) << 32 | (uint32_t)(offset_bytes / 4);
}

static size_t place_of(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (TERN__WATCH_SIGNALS - 1);
}

// The entry of a word, with many words the one of the rest, which carries what any of them does:
// who waits for one is taken to know more than it does. It is in the rank's part, or in that of the
// leader of this machine. NULL: not in checking mode.
static struct tern__watch_signal *find_signal(const tern_window *window, int rank,
                                              size_t offset_bytes)
{
    const tern_window *share = tern__share_of(window);
    if (share == NULL) {
        return NULL;
    }
    bool here = tern__window_is_mapped(window, rank);
    const struct tern__machines *machines = share->comm->group.job->machines;
    struct tern__watch_part *part =
        tern__watch_part(share, here ? tern__share_rank(window, rank)
                                     : machines->list[machines->mine].leader);
    uint64_t key = key_of_word(window, rank, offset_bytes);
    for (size_t tries = 0; tries < (here ? SIGNAL_TRIES : TERN__WATCH_AWAY_TRIES); tries++) {
        size_t at = place_of(key) + tries;
        struct tern__watch_signal *signal =
            here ? &part->signals[at % TERN__WATCH_SIGNALS] : &part->away[at];
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&signal->key, &seen, key) || seen == key) {
            return signal;
        }
    }
    return here ? &part->rest : &part->away_rest;
}

static bool is_rest(const struct tern__watch_signal *signal)
{
    return atomic_load(&signal->key) == 0;
}

void tern__watch_notify(const tern_window *window, int rank, size_t offset_bytes)
{
    struct tern__watch_signal *signal = find_signal(window, rank, offset_bytes);
    if (signal == NULL) {
        return;
    }
    const tern_window *share = tern__share_of(window);
    struct tern__watch_part *mine = tern__watch_part(share, share->rank);
    uint32_t site = tern__watch_site();
    uint32_t now = tern__flag_add(&mine->clock.time, 1) + 1;
    tern__watch_raise(&mine->clock.known[share->rank], now);
    for (int k = 0; k < share->nranks; k++) {
        tern__watch_raise(&signal->carries[k], tern__flag_load(&mine->clock.known[k]));
    }
    tern__poke(&signal->by, (uint32_t)share->rank << 16 | tern__share_put_site(mine, site));
    tern__flag_add(&signal->notifies, 1); // after what it carries: partner: tern__watch_seen
}

// What is known of the notifies of a word of this rank's part.
struct told {
    uint32_t notifies;
    uint32_t by;      // of one of the machines that notified
    uint32_t sources; // such machines
    bool vague;       // other words may be among it
    uint32_t carries[TERN_RANKS_MAX];
};

static void add_told(struct told *told, const struct tern__watch_signal *signal)
{
    uint32_t notifies = tern__flag_load(&signal->notifies); // partner: tern__watch_notify
    told->vague = told->vague || is_rest(signal);
    if (notifies == 0) {
        return;
    }
    told->notifies += notifies;
    told->by = tern__peek(&signal->by);
    told->sources++;
    for (int k = 0; k < TERN_RANKS_MAX; k++) {
        uint32_t carried = tern__flag_load(&signal->carries[k]);
        told->carries[k] = carried > told->carries[k] ? carried : told->carries[k];
    }
}

// What the ranks of another machine have notified.
static void add_away(struct told *told, const tern_window *share, int leader, uint64_t key)
{
    struct tern__watch_signal copies[TERN__WATCH_AWAY_TRIES];
    const struct tern__watch_part *part = tern__watch_part(share, leader);
    tern__watch_read(share, leader, &part->away[place_of(key)], copies, sizeof copies);
    for (int i = 0; i < TERN__WATCH_AWAY_TRIES; i++) {
        if (atomic_load(&copies[i].key) == key) {
            add_told(told, &copies[i]);
        }
        if (atomic_load(&copies[i].key) == key || atomic_load(&copies[i].key) == 0) {
            return;
        }
    }
    tern__watch_read(share, leader, &part->away_rest, copies, sizeof copies[0]);
    add_told(told, &copies[0]);
}

static void find_told(const tern_window *window, size_t offset_bytes,
                      const struct tern__watch_signal *signal, struct told *told)
{
    const tern_window *share = tern__share_of(window);
    const struct tern__machines *machines = share->comm->group.job->machines;
    *told = (struct told){.notifies = 0};
    add_told(told, signal);
    for (int m = 0; machines != NULL && m < machines->count; m++) {
        if (m != machines->mine) {
            add_away(told, share, machines->list[m].leader,
                     key_of_word(window, window->rank, offset_bytes));
        }
    }
}

// What rows that others have stored here say, when the word is one of theirs.
static void take_from_stores(const tern_window *window, size_t offset_bytes,
                             struct tern__watch_part *mine, const tern_window *share)
{
    for (int other = 0; other < share->nranks; other++) {
        struct tern__share_ring ring = tern__share_ring(share, other, share->rank, false);
        for (int i = 0; other != share->rank && i < TERN__WATCH_ACCESSES; i++) {
            struct tern__access access;
            if (tern__share_read(&ring.seen->accesses[i], &access) &&
                access.window == tern__share_key(window) &&
                tern__peek(&access.epoch) != TERN__EPOCH_PENDING &&
                tern__watch_hits(access.shape, access.stride, access.element_bytes,
                                 (int64_t)offset_bytes - access.offset,
                                 (int64_t)offset_bytes + 4 - access.offset)) {
                tern__watch_raise(&mine->clock.known[other], tern__peek(&access.epoch) + 1);
            }
        }
    }
}

// The waits of a block that ended well, to tell that a value is used twice.
enum { WAITS = 64 };
struct waits {
    struct {
        const struct tern__watch_signal *signal;
        tern_cmp cmp;
        int32_t value;
        uint32_t notifies, site;
    } list[WAITS];
    unsigned count;
};

static void check_stale(const struct tern__watch_signal *signal, uint32_t notifies,
                        const tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value,
                        bool at_once)
{
    struct waits *waits = tern__watch_memory(TERN__WATCH_WAITS, sizeof *waits);
    if (waits == NULL) { // no memory: nothing is found
        return;
    }
    uint32_t site = tern__watch_site();
    unsigned at = 0;
    while (at < WAITS && (waits->list[at].signal != signal || waits->list[at].cmp != cmp ||
                          waits->list[at].value != value)) {
        at++;
    }
    if (at_once && at < WAITS && waits->list[at].notifies == notifies) {
        tern__watch_report(
            site,
            "TWAIT for the signal at byte %zu of window %u ends at once, by what the "
            "wait at %s has already seen: nobody has notified since (count up, or "
            "set it back)",
            offset_bytes, window->number, tern__watch_site_text(waits->list[at].site));
    }
    at = at < WAITS ? at : waits->count++ % WAITS;
    waits->list[at].signal = signal;
    waits->list[at].cmp = cmp;
    waits->list[at].value = value;
    waits->list[at].notifies = notifies;
    waits->list[at].site = site;
}

void tern__watch_seen(const tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value,
                      enum tern__watch_look look)
{
    struct tern__watch_signal *signal = find_signal(window, window->rank, offset_bytes);
    if (signal == NULL) {
        return;
    }
    const tern_window *share = tern__share_of(window);
    struct tern__watch_part *mine = tern__watch_part(share, share->rank);
    struct told told;
    find_told(window, offset_bytes, signal, &told);
    for (int k = 0; k < share->nranks; k++) {
        tern__watch_raise(&mine->clock.known[k], told.carries[k]);
    }
    take_from_stores(window, offset_bytes, mine, share);
    if (look != TERN__WATCH_TEST && told.notifies != 0 && !told.vague) {
        check_stale(signal, told.notifies, window, offset_bytes, cmp, value,
                    look == TERN__WATCH_AT_ONCE);
    }
}

void tern__watch_describe(const tern_window *window, size_t offset_bytes, char *text, size_t size)
{
    const struct tern__block *block = tern__block_here();
    const struct tern__watch_signal *signal = find_signal(window, window->rank, offset_bytes);
    int used =
        snprintf(text, size, "; block %d%s%s%s, at %s", block->index,
                 block->kernel != NULL ? " of kernel '" : "",
                 block->kernel != NULL ? block->kernel : "", block->kernel != NULL ? "'" : "",
                 tern__watch_site_text(tern__watch_site()));
    if (used < 0 || (size_t)used >= size) {
        return;
    }
    struct told told = {.notifies = 0};
    if (signal != NULL) {
        find_told(window, offset_bytes, signal, &told);
    }
    if (told.vague) {
        return; // who knows
    }
    if (told.notifies == 0) {
        snprintf(text + used, size - (size_t)used, "; nobody has notified it");
        return;
    }
    char site[TERN__WATCH_SITE_BYTES];
    int by = (int)(told.by >> 16);
    snprintf(text + used, size - (size_t)used, "; %s by rank %d at %s%s",
             told.sources > 1 ? "notified" : "last notified", by,
             tern__share_site(tern__share_of(window), by, (told.by & 0xffff) % TERN__WATCH_SITES,
                              site),
             told.sources > 1 ? ", and by others" : "");
}
