// SPDX-License-Identifier: Apache-2.0
// Starting this program once per rank.

#include "ranks.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "tern/launch.h"
#include "tern/machine.h"

int cli_usual_nranks(void)
{
    tern_machine machine;
    int cpus = tern_machine_look(&machine) == TERN_OK ? machine.cpus_usable : 2;
    return cpus < 2 ? 2 : cpus > TERN_RANKS_MAX ? TERN_RANKS_MAX : cpus;
}

int cli_start_ranks_on(const struct cli_hosts *hosts, int nranks, int argc, char *const *argv)
{
    char self[] = "/proc/self/exe";
    char as_rank[] = "--as-rank";
    char **again = calloc((size_t)argc + 3, sizeof *again);
    if (again == NULL) {
        fprintf(stderr, "tern %s: not enough memory\n", argv[0]);
        return CLI_EXIT_LAUNCHER_FAILED;
    }
    again[0] = self;
    again[1] = argv[0];
    again[2] = as_rank;
    memcpy(&again[3], &argv[1], (size_t)(argc - 1) * sizeof *argv);
    char name[32];
    snprintf(name, sizeof name, "tern %s", argv[0]);
    tern_launch_options options = {.nranks = nranks, .argv = again, .name = name};
    cli_launch_hosts(hosts, &options);
    int status;
    if (tern_launch(&options, &status) < 0) {
        fprintf(stderr, "tern %s: %s\n", argv[0], tern_last_error());
        status = CLI_EXIT_LAUNCHER_FAILED;
    }
    free(again);
    return status;
}

int cli_start_ranks(int nranks, int argc, char *const *argv)
{
    struct cli_hosts here = {0};
    return cli_start_ranks_on(&here, nranks, argc, argv);
}

bool cli_is_rank(void)
{
    return getenv("TERN_HUB_FD") != NULL;
}

bool cli_speaks(void)
{
    const char *rank = getenv("TERN_RANK");
    return !cli_is_rank() || rank == NULL || strcmp(rank, "0") == 0;
}

void cli_bind_rank(void)
{
    const char *rank = getenv("TERN_RANK");
    const char *nranks = getenv("TERN_NRANKS");
    cpu_set_t allowed;
    if (rank == NULL || nranks == NULL || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        strtol(nranks, NULL, 10) > CPU_COUNT(&allowed)) {
        return;
    }
    if (tern_launch_bind(atoi(rank)) < 0) {
        return; // it runs where the kernel wants
    }
}
