// SPDX-License-Identifier: Apache-2.0
// Reads a whole file into memory, from a pipe too, up to a limit.

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "topo/topo.h"

// The caller frees *text, also on failure.
static int read_all(FILE *file, const char *path, char **text, size_t *size)
{
    size_t room = 0;
    *size = 0;
    for (;;) {
        if (*size + 1 >= room) {
            room = room > 0 ? 2 * room : 4096;
            char *grown = realloc(*text, room);
            if (grown == NULL) {
                return tern__fail(TERN_ERR_MEMORY, "no memory to read %.300s", path);
            }
            *text = grown;
        }
        size_t got = fread(*text + *size, 1, room - 1 - *size, file);
        *size += got;
        if (ferror(file)) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read the topology %.300s", path);
        }
        if (*size > TERN_TOPO_FILE_BYTES_MAX) {
            return tern__fail(TERN_ERR_ARG, "%.300s is larger than %d MiB: no topology is", path,
                              TERN_TOPO_FILE_BYTES_MAX >> 20);
        }
        if (got == 0) {
            (*text)[*size] = '\0';
            return TERN_OK;
        }
    }
}

int tern__topo_from_file(const char *path, tern_topo **topo)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot open the topology %.300s", path);
    }
    char *text = NULL;
    size_t size = 0;
    int status = read_all(file, path, &text, &size);
    fclose(file);
    if (status == TERN_OK) {
        status = tern__topo_from_json(path, text, size, topo);
    }
    free(text);
    return status;
}
