// SPDX-License-Identifier: Apache-2.0
// The options --executor, --executor-name and --ccl-bytes of the commands that record executors.
#ifndef TERN_CLI_EXECUTOR_H
#define TERN_CLI_EXECUTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct cli_executor {
    const char *file; // a source or a shared object; NULL: none was given
    const char *name; // NULL: the only one it registers
    uint64_t ccl_bytes;
    bool has_ccl_bytes;
    bool fuse;         // what calls run: the plan of less work (tern_check_quicken)
    char library[128]; // what was compiled, or ""
    char folder[64];   // of it
};

// For --ccl-bytes. -1 to go on, else the exit status.
int cli_take_ccl(const struct cli_command *command, struct cli_executor *executor,
                 const char *option, const char *text);

// The path of the shared object; a source is compiled first. NULL after a sentence.
const char *cli_executor_build(const struct cli_command *command, struct cli_executor *executor);

// Removes what was compiled.
void cli_executor_remove(struct cli_executor *executor);

#endif
