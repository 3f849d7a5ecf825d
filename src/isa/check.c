// SPDX-License-Identifier: Apache-2.0
// What checking mode keeps of a block: the stores that nothing has ordered yet, and the flags that
// would. All of the thread alone.

#include "isa/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "isa/block.h"
#include "tern/signal.h"

enum { PENDING = 128, PIPES = 11, EVENTS = 8 };

struct pending {
    struct tern__view to, from;
    char *copy; // what `from` is, or NULL: a tile in the block's memory
    tern_atomic atomic;
    uint64_t number;
    struct tern__watch_slot slot;
};

struct core {
    struct pending pending[PENDING];
    int count;
    uint64_t number;                      // of stores so far
    uint64_t flags[PIPES][PIPES][EVENTS]; // the last store before it was set
    uint64_t random;
};

// NULL: nothing yet.
static struct core *core_kept(void)
{
    return tern__watch_memory(TERN__WATCH_CORE, 0);
}

static struct core *core_made(void)
{
    return tern__watch_memory(TERN__WATCH_CORE, sizeof(struct core));
}

static int read_seed(long *seed)
{
    const char *text = getenv("TERN_ISA_SEED");
    *seed = 1;
    return text == NULL || *text == '\0' || tern__parse_integer(text, 0, INT32_MAX, seed) == 0
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "TERN_ISA_SEED is '%.40s'; it must be a number from 0 on",
                            text);
}

int tern__watch_options(void)
{
    long seed;
    return read_seed(&seed);
}

// splitmix64 of TERN_ISA_SEED (1) and the block.
static uint64_t random_next(struct core *core)
{
    if (core->random == 0) {
        long seed;
        (void)read_seed(&seed);
        core->random = (uint64_t)seed * 2 + 1 + ((uint64_t)tern__block_here()->index << 32);
    }
    uint64_t z = core->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void bounds_of(const struct tern__view *view, const char **begin, const char **end)
{
    int64_t elements = 1;
    for (int d = 0; d < 5; d++) {
        elements += (view->shape[d] - 1) * view->stride[d];
    }
    *begin = view->data;
    *end = view->data + elements * (int64_t)view->element_bytes;
}

static bool bounds_meet(const struct tern__view *one, const struct tern__view *other)
{
    const char *begin[2];
    const char *end[2];
    bounds_of(one, &begin[0], &end[0]);
    bounds_of(other, &begin[1], &end[1]);
    return begin[0] < end[1] && begin[1] < end[0];
}

static void happen(struct core *core, int at)
{
    struct pending *store = &core->pending[at];
    tern__view_copy(&store->to, &store->from, store->atomic);
    tern__watch_ordered(&store->slot);
    tern__owe_ring(store->to.window, store->to.rank);
    free(store->copy);
    core->count--;
    memmove(store, store + 1, (size_t)(core->count - at) * sizeof *store);
}

// Those up to this number, in any order that leaves alike places alike.
static void order_until(uint64_t number)
{
    struct core *core = core_kept();
    while (core != NULL) {
        int some = 0;
        while (some < core->count && core->pending[some].number <= number) {
            some++;
        }
        if (some == 0) {
            return;
        }
        int at = (int)(random_next(core) % (unsigned)some);
        for (int i = 0; i < at; i++) {
            if (bounds_meet(&core->pending[i].to, &core->pending[at].to)) {
                at = i; // before it; and nothing before that one meets it, or it is next
                i = -1;
            }
        }
        happen(core, at);
    }
}

void tern__watch_order(void)
{
    order_until(UINT64_MAX);
}

void tern_pipe_barrier(tern_pipe pipe)
{
    if (tern__checking() &&
        (pipe == TERN_PIPE_ALL || pipe == TERN_PIPE_MTE3 || pipe == TERN_PIPE_FIX)) {
        tern__watch_order();
    }
    tern_fence();
}

void tern_flag_set(tern_pipe from, tern_pipe to, int event)
{
    if (tern__checking() && (unsigned)from < PIPES && (unsigned)to < PIPES &&
        (unsigned)event < EVENTS) {
        struct core *core = core_kept();
        if (core != NULL) { // else there is nothing that it could order
            core->flags[from][to][event] = core->number;
        }
    }
}

void tern_flag_wait(tern_pipe from, tern_pipe to, int event)
{
    if (tern__checking() && (unsigned)from < PIPES && (unsigned)to < PIPES &&
        (unsigned)event < EVENTS && (from == TERN_PIPE_MTE3 || from == TERN_PIPE_FIX)) {
        const struct core *core = core_kept();
        order_until(core != NULL ? core->flags[from][to][event] : 0);
    }
}

// Bytes that the instruction loads, of which stores of this block are kept back.
static bool own_pending(const struct tern__view *view)
{
    const struct core *core = core_kept();
    for (int i = 0; core != NULL && i < core->count; i++) {
        if (bounds_meet(&core->pending[i].to, view)) {
            return true;
        }
    }
    return false;
}

void tern__watch_load(const char *what, const struct tern__view *view, bool own_waits)
{
    if (!tern__watch_in_kernel()) {
        return;
    }
    uint32_t site = tern__watch_site();
    if (own_pending(view)) {
        if (!own_waits) {
            tern__watch_report(site,
                               "%s loads what this block stores, and no pipe_barrier or flag from "
                               "MTE3 to MTE2 is between them",
                               what);
        }
        tern__watch_order();
    }
    struct tern__watch_slot slot;
    tern__watch_access(what, view, TERN__WATCH_LOAD, site, &slot);
    tern__watch_astray(what, view, site);
}

// The elements of a view, one after the other.
static int copy_of(const struct tern__view *from, struct tern__view *copy, char **memory)
{
    size_t count = (size_t)tern__shape_rows(from->shape) * (size_t)from->shape[4];
    *copy = *from;
    *memory = malloc(count * from->element_bytes);
    if (*memory == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "checking mode has no memory for %zu elements", count);
    }
    copy->data = *memory;
    copy->window = NULL;
    copy->far = false;
    copy->stride[4] = 1;
    for (int d = 3; d >= 0; d--) {
        copy->stride[d] = copy->stride[d + 1] * from->shape[d + 1];
    }
    tern__view_copy(copy, from, TERN_ATOMIC_NONE);
    return TERN_OK;
}

void tern__watch_direction(bool puts, const struct tern__view *here)
{
    if (tern__watch_in_kernel() && here->window != NULL && here->rank != here->window->rank) {
        tern__watch_report(tern__watch_site(),
                           puts ? "TPUT reads rank %d's part of window %u: its source must be this "
                                  "rank's, and TGET is the other way about"
                                : "TGET writes rank %d's part of window %u: its destination must "
                                  "be this rank's, and TPUT is the other way about",
                           here->rank, here->window->number);
    }
}

int tern__watch_store(const char *what, const struct tern__view *to, const struct tern__view *from,
                      enum tern__watch_kind kind, bool from_tile)
{
    tern_atomic atomic = kind == TERN__WATCH_ADD ? TERN_ATOMIC_ADD : TERN_ATOMIC_NONE;
    if (!tern__watch_in_kernel()) {
        tern__view_copy(to, from, atomic);
        return TERN_OK;
    }
    struct core *core = core_made();
    if (core == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for checking mode");
    }
    uint32_t site = tern__watch_site();
    if (core->count == PENDING) {
        order_until(core->pending[0].number);
    }
    struct pending store = {.to = *to, .from = *from, .atomic = atomic};
    if (!from_tile || !tern__block_has(from->data)) {
        TERN_TRY(copy_of(from, &store.from, &store.copy));
    }
    memcpy(store.to.shape, from->shape, sizeof store.to.shape);
    store.number = ++core->number;
    tern__watch_access(what, &store.to, kind, site, &store.slot);
    core->pending[core->count++] = store;
    return TERN_OK;
}

void tern__watch_waits(void)
{
    if (tern__watch_in_kernel()) {
        tern__watch_order();
        tern_fence();
    }
}

bool tern__watch_frees(const char *begin, const char *end)
{
    const struct core *core = core_kept();
    for (int i = 0; core != NULL && i < core->count; i++) {
        const char *b;
        const char *e;
        bounds_of(&core->pending[i].from, &b, &e);
        if (core->pending[i].copy == NULL && b < end && begin < e) {
            order_until(core->pending[i].number);
            return true;
        }
    }
    return false;
}

int tern__watch_end(int status)
{
    tern__watch_order();
    return tern__watch_forget(status);
}
