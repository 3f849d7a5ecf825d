// SPDX-License-Identifier: Apache-2.0
// Where this command lies, from which its commands find what was installed with it, or built.
#ifndef TERN_CLI_PLACE_H
#define TERN_CLI_PLACE_H

#include <stdbool.h>
#include <stddef.h>

// The folder above that of the command: PREFIX of PREFIX/bin/tern. False: it cannot be said.
bool cli_find_prefix(char *prefix, size_t size);

#endif
