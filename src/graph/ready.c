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
    // Zeros of calloc, which are what the slots begin with: a large queue costs only the pages of
    // which somebody uses a slot. Written here, 131072 tasks of each kind took 15 ms.
    char *memory = calloc(1, bytes + TERN_CACHE_LINE);
    if (memory == NULL) {
        return NULL;
    }
    uintptr_t past = (uintptr_t)memory % TERN_CACHE_LINE;
    struct tern__ready *made =
        (struct tern__ready *)(void *)(memory + (past > 0 ? TERN_CACHE_LINE - past : 0));
    made->memory = memory;
    made->older = older;
    made->mask = room - 1;
    return made;
}

void tern__ready_free(struct tern__ready *ready)
{
    while (ready != NULL) {
        struct tern__ready *older = ready->older;
        free(ready->memory);
        ready = older;
    }
}
