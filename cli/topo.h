// SPDX-License-Identifier: Apache-2.0
// The options --topo, --cut and --slow of the commands that take a topology.
#ifndef TERN_CLI_TOPO_H
#define TERN_CLI_TOPO_H

#include <stdbool.h>

#include "options.h"
#include "tern/topo.h"

#define CLI_EDITS_MAX 1024

struct cli_topo {
    const struct cli_command *command; // for its sentences
    const char *word;                  // NULL: none was given
    // In the order given: one may undo or build on another.
    struct cli_edit {
        bool cut; // else slowed
        const char *links;
    } edits[CLI_EDITS_MAX];
    int count;
};

// For --cut and --slow. -1 to go on, else the exit status.
int cli_take_edit(struct cli_topo *topo, const char *option, const char *links);

// What was asked for; NULL when there was no --topo. 0, or 1 after a sentence.
int cli_make_topo(const struct cli_topo *asked, tern_topo **topo);

#endif
