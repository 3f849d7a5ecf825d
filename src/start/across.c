// SPDX-License-Identifier: Apache-2.0
// Which jobs have several machines, by the variables that launchers set. Set-up path.

#include "start/across.h"

#include <stdlib.h>

#include "base/options.h"
#include "boot/env.h"

static long number(const char *variable)
{
    long value;
    return tern__parse_integer(getenv(variable), 1, 1 << 24, &value) == 0 ? value : 0;
}

bool tern__start_is_across(void)
{
    // How many processes there are on this machine, and in all: Open MPI, hydra.
    static const char *const counts[][2] = {
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"},
        {"MPI_LOCALNRANKS", "PMI_SIZE"},
    };
    if (getenv(TERN_ENV_HUB_FD) != NULL) {
        return getenv(TERN_ENV_LISTEN) != NULL;
    }
    for (int i = 0; i < 2; i++) {
        long here = number(counts[i][0]);
        if (here > 0 && here < number(counts[i][1])) {
            return true;
        }
    }
    return number("SLURM_STEP_NUM_NODES") > 1;
}
