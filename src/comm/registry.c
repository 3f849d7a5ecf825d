// SPDX-License-Identifier: Apache-2.0
// Finding a window by an address in it. Readers take no lock: an entry's first address is published
// last and taken away first.

#include "comm/registry.h"

#include <pthread.h>

#include "base/error.h"
#include "comm/window.h"

struct entry {
    _Atomic uintptr_t begin; // 0: unused
    _Atomic uintptr_t end;
    _Atomic(tern_window *) window;
};

static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[TERN__WINDOWS_MAX];
static _Atomic uint32_t used; // entries below this index have been in use

int tern__registry_add(tern_window *window)
{
    pthread_mutex_lock(&writers);
    uint32_t at = 0;
    while (at < TERN__WINDOWS_MAX && atomic_load(&entries[at].begin) != 0) {
        at++;
    }
    if (at < TERN__WINDOWS_MAX) {
        uintptr_t begin = (uintptr_t)window->base;
        atomic_store(&entries[at].end, begin + window->size_bytes * (size_t)window->nranks);
        atomic_store(&entries[at].window, window);
        atomic_store(&entries[at].begin, begin); // partner: tern_window_find
        if (at >= tern__peek(&used)) {
            tern__publish(&used, at + 1);
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
            atomic_store(&entries[at].begin, 0);
            atomic_store(&entries[at].window, NULL);
        }
    }
    pthread_mutex_unlock(&writers);
}

int tern_window_find(const void *address, tern_window **window, int *rank, size_t *offset_bytes)
{
    uintptr_t at = (uintptr_t)address;
    uint32_t count = tern__observe(&used); // partner: tern__registry_add
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t begin = atomic_load(&entries[i].begin);
        if (begin == 0 || at < begin || at >= atomic_load(&entries[i].end)) {
            continue;
        }
        tern_window *found = atomic_load(&entries[i].window);
        if (window != NULL) {
            *window = found;
        }
        if (rank != NULL) {
            *rank = (int)((at - begin) / found->size_bytes);
        }
        if (offset_bytes != NULL) {
            *offset_bytes = (at - begin) % found->size_bytes;
        }
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG, "address %p is in no window of this process", address);
}
