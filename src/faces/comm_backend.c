// SPDX-License-Identifier: Apache-2.0
// Which backend carries the comm_* platform API.

#include "faces/comm_handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "start/across.h"

static const struct tern__comm_backend *const backends[] = {
    &tern__comm_sim, &tern__comm_tcp, &tern__comm_mpi, &tern__comm_ucx, &tern__comm_hccl,
};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

const struct tern__comm_backend *tern__comm_backend_find(void)
{
    const char *word = getenv("TERN_COMM_BACKEND");
    if (word == NULL || *word == '\0') {
        // Cards are used only where that is asked for.
        return tern__start_is_across() ? &tern__comm_tcp : &tern__comm_sim;
    }
    char words[256] = "";
    for (size_t i = 0; i < BACKENDS; i++) {
        if (strcmp(word, backends[i]->name) == 0) {
            return backends[i];
        }
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s (%s)", i == 0 ? "" : ", ",
                 backends[i]->name, backends[i]->where);
    }
    tern__set_error("comm_init: TERN_COMM_BACKEND is '%.40s'; there is %s", word, words);
    return NULL;
}
