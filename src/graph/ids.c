// SPDX-License-Identifier: Apache-2.0
#include "graph/ids.h"

#include <stdlib.h>

int tern__ids_grow(struct tern__ids *ids)
{
    uint32_t room = ids->room != 0 ? 2 * ids->room : TERN__IDS_LEAST;
    tern_task_id *grown = realloc(ids->ids, room * sizeof *grown);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the %u tasks that one comes after",
                          ids->count + 1);
    }
    ids->ids = grown;
    ids->room = room;
    return TERN_OK;
}
