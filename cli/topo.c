// SPDX-License-Identifier: Apache-2.0
// From options to a topology.

#include "topo.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "tern/status.h"

int cli_take_edit(struct cli_topo *topo, const char *option, const char *links)
{
    if (topo->count == CLI_EDITS_MAX) {
        return cli_refuse(topo->command, "%s: more than %d links are changed", option,
                          CLI_EDITS_MAX);
    }
    topo->edits[topo->count++] = (struct cli_edit){strcmp(option, "--cut") == 0, links};
    return -1;
}

int cli_make_topo(const struct cli_topo *asked, tern_topo **topo)
{
    *topo = NULL;
    if (asked->word == NULL) {
        return 0;
    }
    int status = tern_topo_create(asked->word, topo);
    const char *meant = status != TERN_OK ? cli_suggest_topology(asked->word) : "";
    for (int i = 0; status == TERN_OK && i < asked->count; i++) {
        const struct cli_edit *edit = &asked->edits[i];
        status = edit->cut ? tern_topo_cut(*topo, edit->links) : tern_topo_slow(*topo, edit->links);
    }
    if (status != TERN_OK) {
        fprintf(stderr, "tern %s: %s%s\n", asked->command->name, tern_last_error(), meant);
    }
    return status == TERN_OK ? 0 : 1;
}
