// SPDX-License-Identifier: Apache-2.0
// Reading files that people name. A pipe or a folder is refused at once: opening a pipe would wait
// for somebody who writes into it.
#ifndef TERN_BASE_FILE_H
#define TERN_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "tern/file.h"

// Opens an ordinary file; `what` names it in sentences ("plan", "topology"). TERN_ERR_SYSTEM: it
// cannot be opened; TERN_ERR_ARG: it is not a file. Both sentences name the path.
int tern__file_open(const char *path, const char *what, FILE **file);

// The whole of an ordinary file of at most bytes_max; *text is the caller's to free, and ends with
// a NUL that *length does not count. Also TERN_ERR_ARG: it is longer; TERN_ERR_MEMORY.
int tern__file_read(const char *path, const char *what, size_t bytes_max, char **text,
                    size_t *length);

#endif
