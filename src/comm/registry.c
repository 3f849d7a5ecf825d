// SPDX-License-Identifier: Apache-2.0
// Finding a window by an address in it, or by its number. Readers do not lock: each entry has a
// version that is odd while it changes (a seqlock, Lameter 2005), and what was read counts only if
// the version did not move. Nothing of the window itself is read, so one that is being destroyed is
// no danger.

#include "comm/registry.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "comm/around.h"
#include "comm/window.h"

struct entry {
    _Atomic uint32_t version;
    _Atomic uintptr_t begin; // 0: unused
    _Atomic uintptr_t end;
    _Atomic size_t part_bytes;
    _Atomic(tern_window *) window;
    _Atomic(const struct tern__job *) job;
    _Atomic uint64_t key; // key_of; only together with the job
};

static uint64_t key_of(int comm_slot, uint32_t number)
{
    return (uint64_t)comm_slot << 32 | number;
}

static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[TERN__WINDOWS_MAX];
_Atomic uint32_t tern__registry_changes;
static _Atomic uint32_t used; // entries below this index have been in use

// NULL: it becomes free.
static void change_entry(struct entry *entry, tern_window *window)
{
    uintptr_t begin = 0;
    size_t part_bytes = 0;
    size_t bytes = 0;
    const struct tern__job *job = NULL;
    uint64_t key = 0;
    if (window != NULL) {
        begin = (uintptr_t)window->base;
        part_bytes = window->size_bytes;
        bytes = part_bytes * (size_t)window->nranks;
        job = window->comm->group.job;
        key = key_of(window->comm->group.slot, window->number);
    }
    tern__flag_add(&tern__registry_changes, 1); // partner: tern__registry_around
    tern__flag_add(&entry->version, 1);         // partner: read_entry
    atomic_store(&entry->begin, begin);
    atomic_store(&entry->end, begin + bytes);
    atomic_store(&entry->part_bytes, part_bytes);
    atomic_store(&entry->window, window);
    atomic_store(&entry->job, job);
    atomic_store(&entry->key, key);
    tern__flag_add(&entry->version, 1);         // partner: read_entry
    tern__flag_add(&tern__registry_changes, 1); // partner: tern__registry_around
}

int tern__registry_add(tern_window *window)
{
    pthread_mutex_lock(&writers);
    uint32_t at = 0;
    while (at < TERN__WINDOWS_MAX && atomic_load(&entries[at].begin) != 0) {
        at++;
    }
    if (at < TERN__WINDOWS_MAX) {
        change_entry(&entries[at], window);
        if (at >= tern__peek(&used)) {
            tern__publish(&used, at + 1); // partner: find, tern__registry_base
        }
    }
    pthread_mutex_unlock(&writers);
    return at < TERN__WINDOWS_MAX ? TERN_OK
                                  : tern__fail(TERN_ERR_LIMIT,
                                               "a process cannot have more than %d "
                                               "windows",
                                               TERN__WINDOWS_MAX);
}

void tern__registry_remove(tern_window *window)
{
    pthread_mutex_lock(&writers);
    for (uint32_t at = 0; at < tern__peek(&used); at++) {
        if (atomic_load(&entries[at].window) == window) {
            change_entry(&entries[at], NULL);
        }
    }
    pthread_mutex_unlock(&writers);
}

// The parent's, in the child of a fork.
static struct range {
    const tern_window *window;
    uintptr_t begin, end;
} inherited[TERN__WINDOWS_MAX];
static uint32_t inherited_count;

void tern__registry_forget(void)
{
    pthread_mutex_init(&writers, NULL); // another thread of the parent may have held it
    for (uint32_t at = 0; at < tern__peek(&used) && inherited_count < TERN__WINDOWS_MAX; at++) {
        inherited[inherited_count++] =
            (struct range){atomic_load(&entries[at].window), atomic_load(&entries[at].begin),
                           atomic_load(&entries[at].end)};
    }
    memset((void *)entries, 0, sizeof entries);
    tern__flag_add(&tern__registry_changes, 2);
    tern__poke(&used, 0);
}

void tern__registry_let_go(const tern_window *window)
{
    for (uint32_t i = 0; i < inherited_count; i++) {
        if (inherited[i].window == window) {
            inherited[i] = (struct range){0};
        }
    }
}

bool tern__registry_is_inherited(const void *address)
{
    for (uint32_t i = 0; i < inherited_count; i++) {
        if ((uintptr_t)address >= inherited[i].begin && (uintptr_t)address < inherited[i].end) {
            return true;
        }
    }
    return false;
}

struct found {
    uintptr_t begin, end;
    size_t part_bytes;
    tern_window *window;
    const struct tern__job *job;
    uint64_t key;
};

// One consistent look at an entry.
static struct found read_entry(const struct entry *entry)
{
    for (;;) {
        uint32_t before = tern__flag_load(&entry->version); // partner: change_entry
        struct found found = {.begin = atomic_load(&entry->begin),
                              .end = atomic_load(&entry->end),
                              .part_bytes = atomic_load(&entry->part_bytes),
                              .window = atomic_load(&entry->window),
                              .job = atomic_load(&entry->job),
                              .key = atomic_load(&entry->key)};
        if (before % 2 == 0 && tern__flag_load(&entry->version) == before) {
            return found;
        }
        tern__cpu_relax(); // a writer is between two stores
    }
}

char *tern__registry_base(const struct tern__job *job, int comm_slot, uint32_t number)
{
    uint64_t key = key_of(comm_slot, number);
    uint32_t count = tern__observe(&used); // partner: tern__registry_add
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&entries[i].key) !=
            key) { // of most; an entry that changes is not asked for
            continue;
        }
        struct found found = read_entry(&entries[i]);
        if (found.job == job && found.key == key) {
            return (char *)found.begin;
        }
    }
    return NULL;
}

static bool find(const void *address, struct found *found)
{
    uintptr_t at = (uintptr_t)address;
    uint32_t count = tern__observe(&used); // partner: tern__registry_add
    for (uint32_t i = 0; i < count; i++) {
        // Most are told by one look; an entry that changes is not the one that is asked for.
        if (at < atomic_load(&entries[i].begin) || at >= atomic_load(&entries[i].end)) {
            continue;
        }
        *found = read_entry(&entries[i]);
        if (found->begin != 0 && at >= found->begin && at < found->end) {
            return true;
        }
    }
    return false;
}

bool tern__registry_find(const void *address, tern_window **window)
{
    struct found found;
    bool is_there = find(address, &found);
    *window = is_there ? found.window : NULL;
    return is_there;
}

bool tern__registry_around(const void *address, struct tern__surroundings *around)
{
    uintptr_t at = (uintptr_t)address;
    uint32_t changes = tern__flag_load(&tern__registry_changes); // partner: change_entry
    struct found found;
    if (inherited_count != 0 || changes % 2 != 0) {
        return false;
    }
    *around = (struct tern__surroundings){1, UINTPTR_MAX, NULL, changes};
    if (find(address, &found)) {
        around->begin = found.begin;
        around->end = found.end;
        around->window = found.window;
    } else {
        uint32_t count = tern__observe(&used); // partner: tern__registry_add
        for (uint32_t i = 0; i < count; i++) {
            uintptr_t begin = atomic_load(&entries[i].begin);
            uintptr_t end = atomic_load(&entries[i].end);
            if (begin > at && begin < around->end) {
                around->end = begin;
            } else if (begin <= at && end > around->begin) {
                around->begin = end;
            }
        }
    }
    return tern__flag_load(&tern__registry_changes) == changes; // partner: change_entry
}

int tern_window_find(const void *address, tern_window **window, int *rank, size_t *offset_bytes)
{
    uintptr_t at = (uintptr_t)address;
    struct found found;
    if (!find(address, &found)) {
        return tern__fail(TERN_ERR_ARG, "address %p is in no window of this process", address);
    }
    if ((uint32_t)found.key == TERN__HEAP_NUMBER) {
        return tern__fail(TERN_ERR_ARG, "address %p is memory of tern_alloc, which is no window",
                          address);
    }
    if (window != NULL) {
        *window = found.window;
    }
    if (rank != NULL) {
        *rank = (int)((at - found.begin) / found.part_bytes);
    }
    if (offset_bytes != NULL) {
        *offset_bytes = (at - found.begin) % found.part_bytes;
    }
    return TERN_OK;
}
