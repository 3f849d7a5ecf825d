// SPDX-License-Identifier: Apache-2.0
#include "graph/ready.h"

#include <stdlib.h>

struct tern__ready *tern__ready_make(uint64_t tasks, struct tern__ready *older)
{
    uint64_t room = 64;
    while (room < tasks) {
        room *= 2;
    }
    size_t bytes = sizeof(struct tern__ready) + room * sizeof(struct tern__ready_slot);
    bytes = (bytes + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE;
    struct tern__ready *made = aligned_alloc(TERN_CACHE_LINE, bytes);
    if (made == NULL) {
        return NULL;
    }
    made->older = older;
    made->mask = room - 1;
    atomic_init(&made->tail, 0);
    atomic_init(&made->head, 0);
    for (uint64_t i = 0; i < room; i++) {
        atomic_init(&made->slots[i].place, 0);
        atomic_init(&made->slots[i].task, NULL);
    }
    return made;
}

void tern__ready_free(struct tern__ready *ready)
{
    while (ready != NULL) {
        struct tern__ready *older = ready->older;
        free(ready);
        ready = older;
    }
}
