// SPDX-License-Identifier: Apache-2.0
// A list of tasks by their ids, which grows: those that a task comes after.
#ifndef TERN_GRAPH_IDS_H
#define TERN_GRAPH_IDS_H

#include <stdint.h>

#include "base/error.h"
#include "tern/submit.h"

// Zero-initialised is empty; free(ids.ids).
struct tern__ids {
    tern_task_id *ids;
    uint32_t count, room;
    uint32_t apart; // of those before, an id is not the same
};

#define TERN__IDS_LEAST 64u

// Makes room for more, TERN__IDS_LEAST at first. TERN_ERR_MEMORY.
int tern__ids_grow(struct tern__ids *ids);

// TERN_ERR_MEMORY. The same twice in a row, from `apart` on, is once.
static inline int tern__ids_add(struct tern__ids *ids, tern_task_id id)
{
    if (ids->count > ids->apart && ids->ids[ids->count - 1] == id) {
        return TERN_OK;
    }
    if (__builtin_expect(ids->count == ids->room, 0)) {
        TERN_TRY(tern__ids_grow(ids));
    }
    ids->ids[ids->count++] = id;
    return TERN_OK;
}

#endif
