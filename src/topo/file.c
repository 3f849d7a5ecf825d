// SPDX-License-Identifier: Apache-2.0
// A topology from a file.

#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "topo/topo.h"

int tern__topo_from_file(const char *path, tern_topo **topo)
{
    char *text;
    size_t size;
    TERN_TRY(tern__file_read(path, "topology", TERN_TOPO_FILE_BYTES_MAX, &text, &size));
    int status = tern__topo_from_json(path, text, size, topo);
    free(text);
    return status;
}
