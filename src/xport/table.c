// SPDX-License-Identifier: Apache-2.0
// The table of transports.

#include <string.h>

#include "xport/xport.h"

static const struct tern__xport *const transports[] = {
    &tern__xport_shm,
};

const struct tern__xport *tern__xport_find(const char *name)
{
    for (size_t i = 0; i < sizeof transports / sizeof transports[0]; i++) {
        if (strcmp(transports[i]->name, name) == 0) {
            return transports[i];
        }
    }
    return NULL;
}
