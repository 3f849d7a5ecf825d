// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job know of each other's accesses, in shared memory that is made with the
// first communicator. Entries are written by their rank and read by all; who reads one that is just
// being written leaves it out. Rings forget the oldest: then less is reported, nothing wrongly.

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "comm/checking.h"
#include "isa/block.h"
#include "isa/check.h"

// The communicator of the job that knows about checking; NULL: it was made without.
static tern_window *share_of(const tern_window *window)
{
    const tern_comm *comm = window->comm;
    while (comm->parent != NULL) {
        comm = comm->parent;
    }
    return comm->checking;
}

static struct tern__watch_part *part_of(const tern_window *share, int job_rank)
{
    return (struct tern__watch_part *)(void *)tern__window_at(share, job_rank, 0);
}

static int job_rank(const tern_window *window, int rank)
{
    return window->comm->group.members[rank];
}

static uint32_t key_of(const tern_window *window)
{
    return (uint32_t)window->comm->group.slot << 16 | (window->number & 0xffff);
}

// In bytes from its first element: whether a part of dimension `d` on lies in [begin, end).
static bool hits_from(int d, const int64_t shape[5], const int64_t stride[5], const int64_t span[6],
                      int64_t element_bytes, int64_t begin, int64_t end)
{
    if (end <= 0 || begin >= span[d]) {
        return false;
    }
    if (d == 5) {
        return true;
    }
    int64_t step = stride[d] * element_bytes;
    if (step == 0) {
        return hits_from(d + 1, shape, stride, span, element_bytes, begin, end);
    }
    int64_t first = begin - span[d + 1] < 0 ? 0 : (begin - span[d + 1]) / step;
    for (int64_t i = first; i < shape[d] && i * step < end; i++) {
        if (hits_from(d + 1, shape, stride, span, element_bytes, begin - i * step,
                      end - i * step)) {
            return true;
        }
    }
    return false;
}

bool tern__watch_hits(const int64_t shape[5], const int64_t stride[5], int64_t element_bytes,
                      int64_t begin, int64_t end)
{
    int64_t span[6] = {[5] = element_bytes};
    for (int d = 4; d >= 0; d--) {
        span[d] = span[d + 1] + (shape[d] - 1) * stride[d] * element_bytes;
    }
    return hits_from(0, shape, stride, span, element_bytes, begin, end);
}

// Whether they touch the same bytes: row by row of the one.
static bool overlap(const struct tern__access *access, const struct tern__view *view,
                    int64_t view_offset)
{
    int64_t i[4] = {0};
    int64_t size = (int64_t)view->element_bytes;
    int64_t length = ((view->shape[4] - 1) * view->stride[4] + 1) * size;
    do {
        int64_t begin = view_offset - access->offset;
        for (int d = 0; d < 4; d++) {
            begin += i[d] * view->stride[d] * size;
        }
        if (view->stride[4] <= 1) {
            if (tern__watch_hits(access->shape, access->stride, access->element_bytes, begin,
                                 begin + length)) {
                return true;
            }
            continue;
        }
        for (int64_t k = 0; k < view->shape[4]; k++) {
            int64_t at = begin + k * view->stride[4] * size;
            if (tern__watch_hits(access->shape, access->stride, access->element_bytes, at,
                                 at + size)) {
                return true;
            }
        }
    } while (tern__shape_next(view->shape, i));
    return false;
}

static uint32_t put_site(struct tern__watch_part *mine, uint32_t site)
{
    uint32_t at = site % TERN__WATCH_SITES;
    if (mine->sites[at][0] == '\0') {
        snprintf(mine->sites[at], sizeof mine->sites[at], "%s", tern__watch_site_text(site));
    }
    return at;
}

static void note(const struct tern__view *view, enum tern__watch_kind kind, uint32_t site,
                 struct tern__watch_slot *slot)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tern_window *share = view->window != NULL ? share_of(view->window) : NULL;
    *slot = (struct tern__watch_slot){.access = NULL};
    if (share == NULL) {
        return;
    }
    struct tern__watch_part *mine = part_of(share, share->rank);
    int owner = job_rank(view->window, view->rank);
    bool loads = kind == TERN__WATCH_LOAD;
    struct tern__watch_ring *ring = loads ? &mine->loads[owner] : &mine->stores[owner];
    pthread_mutex_lock(&lock);
    struct tern__access *access = &ring->accesses[ring->count++ % TERN__WATCH_ACCESSES];
    uint32_t version = tern__peek(&access->version);
    tern__flag_store(&access->version, version + 1); // odd: partner: read_access
    access->window = key_of(view->window);
    access->kind = (uint32_t)kind;
    access->site = put_site(mine, site);
    access->block = (uint32_t)tern__block_here()->index;
    access->offset = view->data - tern__window_at(view->window, view->rank, 0);
    access->element_bytes = (int64_t)view->element_bytes;
    memcpy(access->shape, view->shape, sizeof access->shape);
    memcpy(access->stride, view->stride, sizeof access->stride);
    tern__poke(&access->epoch, loads ? tern__flag_load(&mine->clock.time) : TERN__EPOCH_PENDING);
    tern__flag_store(&access->version, version + 2);
    pthread_mutex_unlock(&lock);
    *slot = (struct tern__watch_slot){access, &mine->clock, version + 2};
}

void tern__watch_ordered(const struct tern__watch_slot *slot)
{
    // An entry that has gone to another access in the meantime is left alone.
    if (slot->access != NULL && tern__flag_load(&slot->access->version) == slot->version) {
        tern__flag_store(&slot->access->epoch, tern__flag_load(&slot->clock->time));
    }
}

// A copy of an entry that is not being written; false otherwise.
static bool read_access(const struct tern__access *access, struct tern__access *copy)
{
    uint32_t version = tern__flag_load(&access->version);
    if (version == 0 || version % 2 != 0) {
        return false;
    }
    memcpy(copy, access, sizeof *copy);
    return tern__flag_load(&access->version) == version;
}

static const char *const kind_names[] = {"loads", "stores", "adds to", "stores"};

static void report_race(const char *what, const struct tern__view *view, uint32_t site, int other,
                        const struct tern__watch_part *part, const struct tern__access *access)
{
    bool pending = tern__peek(&access->epoch) == TERN__EPOCH_PENDING;
    const char *why = access->kind == TERN__WATCH_LOAD ? "it has not told since that it is done"
                      : pending ? "no pipe_barrier, flag or event has ordered that yet"
                                : "no notify that this rank has seen came after a pipe_barrier, "
                                  "flag or event that orders it";
    tern__watch_report(site,
                       "%s touches bytes of rank %d's window %u that rank %d, block %u, %s at %s: "
                       "%s",
                       what, view->rank, view->window->number, other, access->block,
                       kind_names[access->kind], part->sites[access->site], why);
}

// The next access in the ring, from *at on, to bytes of the view that was not ordered before the
// time `least`; false: there is no more.
static bool next_access(const struct tern__watch_ring *ring, int *at, const struct tern__view *view,
                        uint32_t least, struct tern__access *access)
{
    int64_t offset = view->data - tern__window_at(view->window, view->rank, 0);
    while (*at < TERN__WATCH_ACCESSES) {
        if (read_access(&ring->accesses[(*at)++], access) &&
            access->window == key_of(view->window) && tern__peek(&access->epoch) >= least &&
            overlap(access, view, offset)) {
            return true;
        }
    }
    return false;
}

// The first access in the ring of another rank that conflicts.
static bool find_race(const char *what, const struct tern__view *view, enum tern__watch_kind kind,
                      uint32_t site, int other, const struct tern__watch_part *part,
                      const struct tern__watch_ring *ring, uint32_t known)
{
    struct tern__access access;
    for (int at = 0; next_access(ring, &at, view, known, &access);) {
        if (kind != TERN__WATCH_ADD || access.kind != TERN__WATCH_ADD) {
            report_race(what, view, site, other, part, &access);
            return true;
        }
    }
    return false;
}

void tern__watch_access(const char *what, const struct tern__view *view, enum tern__watch_kind kind,
                        uint32_t site, struct tern__watch_slot *slot)
{
    note(view, kind, site, slot);
    tern_window *share = view->window != NULL ? share_of(view->window) : NULL;
    if (share == NULL) {
        return;
    }
    struct tern__watch_part *mine = part_of(share, share->rank);
    int owner = job_rank(view->window, view->rank);
    for (int other = 0; other < share->nranks; other++) {
        uint32_t known = tern__flag_load(&mine->clock.known[other]);
        const struct tern__watch_part *part = part_of(share, other);
        if (other == share->rank ||
            find_race(what, view, kind, site, other, part, &part->stores[owner], known)) {
            continue;
        }
        if (kind != TERN__WATCH_LOAD) {
            find_race(what, view, kind, site, other, part, &part->loads[owner], known);
        }
    }
}

static bool only_zeros(const struct tern__view *view)
{
    int64_t i[4] = {0};
    do {
        const char *row = tern__view_row(view, i);
        for (int64_t k = 0; k < view->shape[4]; k++) {
            const char *element = row + k * view->stride[4] * (int64_t)view->element_bytes;
            for (size_t byte = 0; byte < view->element_bytes; byte++) {
                if (element[byte] != 0) {
                    return false;
                }
            }
        }
    } while (tern__shape_next(view->shape, i));
    return true;
}

// Whether any rank has stored there, or may have: what a ring has forgotten.
static bool is_stored(const tern_window *share, const struct tern__view *view)
{
    int owner = job_rank(view->window, view->rank);
    for (int rank = 0; rank < share->nranks; rank++) {
        const struct tern__watch_ring *ring = &part_of(share, rank)->stores[owner];
        struct tern__access access;
        int at = 0;
        if (tern__flag_load(&ring->accesses[0].version) > 2 ||
            next_access(ring, &at, view, 0, &access)) {
            return true;
        }
    }
    return false;
}

// A put of another rank to bytes of the view that this rank knows of: reports it.
static bool find_astray(const char *what, const struct tern__view *view, uint32_t site,
                        const tern_window *share)
{
    const struct tern__clock *mine = &part_of(share, share->rank)->clock;
    int owner = job_rank(view->window, view->rank);
    for (int other = 0; other < share->nranks; other++) {
        const struct tern__watch_part *part = part_of(share, other);
        struct tern__access access;
        for (int at = 0;
             other != share->rank && next_access(&part->stores[owner], &at, view, 0, &access);) {
            if (access.kind == TERN__WATCH_PUT &&
                tern__peek(&access.epoch) < tern__flag_load(&mine->known[other])) {
                tern__watch_report(site,
                                   "%s finds nothing but zeros in this rank's part of window %u, "
                                   "and nobody has stored there; rank %d, block %u, has put to the "
                                   "same place of rank %d's part at %s",
                                   what, view->window->number, other, access.block, view->rank,
                                   part->sites[access.site]);
                return true;
            }
        }
    }
    return false;
}

void tern__watch_astray(const char *what, const struct tern__view *view, uint32_t site)
{
    tern_window *window = view->window;
    tern_window *share = window != NULL ? share_of(window) : NULL;
    if (share == NULL || view->rank != window->rank || !only_zeros(view) ||
        is_stored(share, view)) {
        return;
    }
    size_t offset = (size_t)(view->data - tern__window_at(window, view->rank, 0));
    for (int rank = 0; rank < window->nranks; rank++) {
        struct tern__view elsewhere = *view;
        if (rank != window->rank && tern__window_is_mapped(window, rank)) {
            elsewhere.rank = rank;
            elsewhere.data = tern__window_at(window, rank, offset);
            // Zeros there as well: a rank that has passed on what it got from here.
            if (!only_zeros(&elsewhere) && find_astray(what, &elsewhere, site, share)) {
                return;
            }
        }
    }
}

// How far from its place the entry of a word may be. Entries are never given up, so a word that has
// found none finds none later.
enum { SIGNAL_TRIES = 128 };

// The entry of a word of a rank's part, with many words the one of the rest, which carries what any
// of them does: who waits for one is taken to know more than it does. NULL: not in checking mode.
static struct tern__watch_signal *find_signal(const tern_window *window, int rank,
                                              size_t offset_bytes)
{
    tern_window *share = share_of(window);
    if (share == NULL) {
        return NULL;
    }
    struct tern__watch_part *part = part_of(share, job_rank(window, rank));
    uint64_t key = (uint64_t)(key_of(window) + 1) << 32 | (uint32_t)(offset_bytes / 4);
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (int tries = 0; tries < SIGNAL_TRIES; tries++) {
        struct tern__watch_signal *signal =
            &part->signals[(at + (uint64_t)tries) % TERN__WATCH_SIGNALS];
        uint64_t seen = 0;
        if (atomic_compare_exchange_strong(&signal->key, &seen, key) || seen == key) {
            return signal;
        }
    }
    return &part->rest;
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
    const tern_window *share = share_of(window);
    struct tern__watch_part *mine = part_of(share, share->rank);
    uint32_t site = tern__watch_site();
    uint32_t now = tern__flag_add(&mine->clock.time, 1) + 1;
    tern__watch_raise(&mine->clock.known[share->rank], now);
    for (int k = 0; k < share->nranks; k++) {
        tern__watch_raise(&signal->carries[k], tern__flag_load(&mine->clock.known[k]));
    }
    tern__poke(&signal->by, (uint32_t)share->rank << 16 | put_site(mine, site));
    tern__flag_add(&signal->notifies, 1); // after what it carries: partner: tern__watch_seen
}

// What rows that others have stored here say, when the word is one of theirs.
static void take_from_stores(const tern_window *window, size_t offset_bytes,
                             struct tern__watch_part *mine, const tern_window *share)
{
    for (int other = 0; other < share->nranks; other++) {
        const struct tern__watch_ring *ring = &part_of(share, other)->stores[share->rank];
        for (int i = 0; other != share->rank && i < TERN__WATCH_ACCESSES; i++) {
            struct tern__access access;
            if (read_access(&ring->accesses[i], &access) && access.window == key_of(window) &&
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

static void check_stale(const struct tern__watch_signal *signal, const tern_window *window,
                        size_t offset_bytes, tern_cmp cmp, int32_t value, bool at_once)
{
    struct waits *waits = tern__watch_memory(TERN__WATCH_WAITS, sizeof *waits);
    if (waits == NULL) { // no memory: nothing is found
        return;
    }
    uint32_t notifies = tern__flag_load(&signal->notifies);
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
    const tern_window *share = share_of(window);
    struct tern__watch_part *mine = part_of(share, share->rank);
    bool notified = tern__flag_load(&signal->notifies) != 0;
    for (int k = 0; notified && k < share->nranks; k++) {
        tern__watch_raise(&mine->clock.known[k], tern__flag_load(&signal->carries[k]));
    }
    take_from_stores(window, offset_bytes, mine, share);
    if (look != TERN__WATCH_TEST && notified && !is_rest(signal)) {
        check_stale(signal, window, offset_bytes, cmp, value, look == TERN__WATCH_AT_ONCE);
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
    if (signal != NULL && is_rest(signal)) {
        return; // who knows
    }
    if (signal == NULL || tern__flag_load(&signal->notifies) == 0) {
        snprintf(text + used, size - (size_t)used, "; nobody has notified it");
        return;
    }
    uint32_t by = tern__peek(&signal->by);
    const struct tern__watch_part *part = part_of(share_of(window), (int)(by >> 16));
    snprintf(text + used, size - (size_t)used, "; last notified by rank %u at %s", by >> 16,
             part->sites[(by & 0xffff) % TERN__WATCH_SITES]);
}
