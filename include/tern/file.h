// SPDX-License-Identifier: Apache-2.0
// Files that appear under their name only when they are complete.
#ifndef TERN_FILE_H
#define TERN_FILE_H

#include <stdio.h>

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

// Writes the text of a file. A negative status gives up.
typedef int tern_file_writer(FILE *file, void *arg);

// Lets `write` fill a new file, which has no name until it is complete, or, where file systems have
// no such files, one beside `path`; then it takes the place of `path`: readers see the old file or
// the new one, never half of one, and a failure leaves the old one as it was. A symbolic link is
// followed. An old file keeps its mode. What is no ordinary file (a terminal, /dev/null) is written
// in place. Errors: TERN_ERR_SYSTEM names the path and the reason; TERN_ERR_MEMORY; what `write`
// returned.
TERN_CALL int tern_file_save(const char *path, tern_file_writer *write, void *arg);

// Whether tern_file_save could begin now: the folder is there and may be written. Changes nothing.
TERN_CALL int tern_file_probe(const char *path);

TERN_END_DECLS

#endif
