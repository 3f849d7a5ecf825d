// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job know of each other's accesses, in shared memory that is made with the
// first communicator (comm/checking.h). Entries are written by their rank and read by all; who
// reads one that is just being written leaves it out. Rings forget the oldest: then less is
// reported, nothing wrongly.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comm/checking.h"
#include "isa/block.h"
#include "isa/check_share.h"
#include "isa/far.h"

tern_window *tern__share_of(const tern_window *window)
{
    const tern_comm *comm = window->comm;
    while (comm->parent != NULL) {
        comm = comm->parent;
    }
    return comm->checking;
}

int tern__share_rank(const tern_window *window, int rank)
{
    return window->comm->group.members[rank];
}

uint32_t tern__share_key(const tern_window *window)
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

uint32_t tern__share_put_site(struct tern__watch_part *mine, uint32_t site)
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
    tern_window *share = view->window != NULL ? tern__share_of(view->window) : NULL;
    *slot = (struct tern__watch_slot){.access = NULL};
    if (share == NULL) {
        return;
    }
    struct tern__watch_part *mine = tern__watch_part(share, share->rank);
    int owner = tern__share_rank(view->window, view->rank);
    bool loads = kind == TERN__WATCH_LOAD;
    struct tern__watch_ring *ring = loads ? &mine->loads[owner] : &mine->stores[owner];
    pthread_mutex_lock(&lock);
    struct tern__access *access = &ring->accesses[ring->count++ % TERN__WATCH_ACCESSES];
    uint32_t version = tern__peek(&access->version);
    tern__flag_store(&access->version, version + 1); // odd: partner: read_access
    access->window = tern__share_key(view->window);
    access->kind = (uint32_t)kind;
    access->site = tern__share_put_site(mine, site);
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

bool tern__share_read(const struct tern__access *access, struct tern__access *copy)
{
    uint32_t version = tern__flag_load(&access->version);
    if (version == 0 || version % 2 != 0) {
        return false;
    }
    memcpy(copy, access, sizeof *copy);
    return tern__flag_load(&access->version) == version;
}

static const char *const kind_names[] = {"loads", "stores", "adds to", "stores"};

const char *tern__share_site(const tern_window *share, int rank, uint32_t site,
                             char copy[TERN__WATCH_SITE_BYTES])
{
    return tern__watch_read(share, rank, tern__watch_part(share, rank)->sites[site], copy,
                            TERN__WATCH_SITE_BYTES);
}

struct tern__share_ring tern__share_ring(const tern_window *share, int rank, int owner, bool loads)
{
    enum { FIRST = 8 }; // more are seldom used
    static const struct tern__watch_ring none;
    struct tern__watch_part *part = tern__watch_part(share, rank);
    struct tern__share_ring ring = {share, rank, loads ? &part->loads[owner] : &part->stores[owner],
                                    &none};
    size_t first =
        offsetof(struct tern__watch_ring, accesses) + FIRST * sizeof(struct tern__access);
    struct tern__watch_ring *copy = NULL;
    if (tern__window_is_mapped(share, rank)) {
        ring.seen = ring.at;
    } else if ((copy = tern__watch_memory(TERN__WATCH_FETCHED, sizeof *copy)) != NULL) {
        memset(copy, 0, sizeof *copy);
        tern__watch_read(share, rank, ring.at, copy, first);
        if (copy->count > FIRST) {
            tern__watch_read(share, rank, &ring.at->accesses[FIRST], &copy->accesses[FIRST],
                             sizeof *copy - first);
        }
        ring.seen = copy;
    }
    return ring;
}

// Of a copy: it was not being written when the copy was made, if its version is still the same.
static bool is_whole(const struct tern__share_ring *ring, int at, const struct tern__access *access)
{
    _Atomic uint32_t version;
    const _Atomic uint32_t *now =
        tern__watch_read(ring->share, ring->rank, &ring->at->accesses[at].version, &version,
                         sizeof version);
    return ring->seen == ring->at || tern__flag_load(now) == tern__peek(&access->version);
}

static void report_race(const char *what, const struct tern__view *view, uint32_t site,
                        const struct tern__share_ring *ring, const struct tern__access *access)
{
    char text[TERN__WATCH_SITE_BYTES];
    bool pending = tern__peek(&access->epoch) == TERN__EPOCH_PENDING;
    const char *why = access->kind == TERN__WATCH_LOAD ? "it has not told since that it is done"
                      : pending ? "no pipe_barrier, flag or event has ordered that yet"
                                : "no notify that this rank has seen came after a pipe_barrier, "
                                  "flag or event that orders it";
    tern__watch_report(site,
                       "%s touches bytes of rank %d's window %u that rank %d, block %u, %s at %s: "
                       "%s",
                       what, view->rank, view->window->number, ring->rank, access->block,
                       kind_names[access->kind],
                       tern__share_site(ring->share, ring->rank, access->site, text), why);
}

// The next access in the ring, from *at on, to bytes of the view that was not ordered before the
// time `least`; false: there is no more.
static bool next_access(const struct tern__share_ring *ring, int *at, const struct tern__view *view,
                        uint32_t least, struct tern__access *access)
{
    int64_t offset = view->data - tern__window_at(view->window, view->rank, 0);
    while (*at < TERN__WATCH_ACCESSES) {
        int here = (*at)++;
        if (tern__share_read(&ring->seen->accesses[here], access) &&
            access->window == tern__share_key(view->window) &&
            tern__peek(&access->epoch) >= least && overlap(access, view, offset) &&
            is_whole(ring, here, access)) {
            return true;
        }
    }
    return false;
}

// The first access of another rank that conflicts.
static bool find_race(const char *what, const struct tern__view *view, enum tern__watch_kind kind,
                      uint32_t site, const struct tern__share_ring *ring)
{
    const struct tern__clock *mine = &tern__watch_part(ring->share, ring->share->rank)->clock;
    struct tern__access access;
    for (int at = 0;
         next_access(ring, &at, view, tern__flag_load(&mine->known[ring->rank]), &access);) {
        if (kind != TERN__WATCH_ADD || access.kind != TERN__WATCH_ADD) {
            report_race(what, view, site, ring, &access);
            return true;
        }
    }
    return false;
}

void tern__watch_access(const char *what, const struct tern__view *view, enum tern__watch_kind kind,
                        uint32_t site, struct tern__watch_slot *slot)
{
    note(view, kind, site, slot);
    tern_window *share = view->window != NULL ? tern__share_of(view->window) : NULL;
    if (share == NULL) {
        return;
    }
    int owner = tern__share_rank(view->window, view->rank);
    for (int other = 0; other < share->nranks; other++) {
        if (other == share->rank) {
            continue;
        }
        struct tern__share_ring stores = tern__share_ring(share, other, owner, false);
        if (!find_race(what, view, kind, site, &stores) && kind != TERN__WATCH_LOAD) {
            struct tern__share_ring loads = tern__share_ring(share, other, owner, true);
            find_race(what, view, kind, site, &loads);
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

// Of any rank's part.
static bool only_zeros_at(const struct tern__view *view)
{
    struct tern__view here = *view;
    char *memory = NULL;
    bool zeros = (here.far && tern__far_fetch("checking mode", &here, &memory) != TERN_OK) ||
                 only_zeros(&here);
    free(memory);
    return zeros;
}

// Whether any rank has stored there, or may have: what a ring has forgotten.
static bool is_stored(const tern_window *share, const struct tern__view *view)
{
    int owner = tern__share_rank(view->window, view->rank);
    for (int rank = 0; rank < share->nranks; rank++) {
        struct tern__share_ring ring = tern__share_ring(share, rank, owner, false);
        struct tern__access access;
        int at = 0;
        if (tern__flag_load(&ring.seen->accesses[0].version) > 2 ||
            next_access(&ring, &at, view, 0, &access)) {
            return true;
        }
    }
    return false;
}

// A put of another rank to bytes of the view that this rank knows of: reports it.
static bool find_astray(const char *what, const struct tern__view *view, uint32_t site,
                        const tern_window *share)
{
    const struct tern__clock *mine = &tern__watch_part(share, share->rank)->clock;
    int owner = tern__share_rank(view->window, view->rank);
    for (int other = 0; other < share->nranks; other++) {
        struct tern__share_ring ring = tern__share_ring(share, other, owner, false);
        struct tern__access access;
        for (int at = 0; other != share->rank && next_access(&ring, &at, view, 0, &access);) {
            if (access.kind == TERN__WATCH_PUT &&
                tern__peek(&access.epoch) < tern__flag_load(&mine->known[other])) {
                char text[TERN__WATCH_SITE_BYTES];
                tern__watch_report(site,
                                   "%s finds nothing but zeros in this rank's part of window %u, "
                                   "and nobody has stored there; rank %d, block %u, has put to the "
                                   "same place of rank %d's part at %s",
                                   what, view->window->number, other, access.block, view->rank,
                                   tern__share_site(share, other, access.site, text));
                return true;
            }
        }
    }
    return false;
}

void tern__watch_astray(const char *what, const struct tern__view *view, uint32_t site)
{
    tern_window *window = view->window;
    tern_window *share = window != NULL ? tern__share_of(window) : NULL;
    if (share == NULL || view->rank != window->rank || !only_zeros(view) ||
        is_stored(share, view)) {
        return;
    }
    size_t offset = (size_t)(view->data - tern__window_at(window, view->rank, 0));
    for (int rank = 0; rank < window->nranks; rank++) {
        struct tern__view elsewhere = *view;
        elsewhere.rank = rank;
        elsewhere.data = tern__window_at(window, rank, offset);
        elsewhere.far = !tern__window_is_mapped(window, rank);
        // Zeros there as well: a rank that has passed on what it got from here.
        if (rank != window->rank && !only_zeros_at(&elsewhere) &&
            find_astray(what, &elsewhere, site, share)) {
            return;
        }
    }
}
