// SPDX-License-Identifier: Apache-2.0
// The ranks of a communicator as a topology: who shares memory with whom. What links and ports are
// like is not known, so all are alike. Set-up path.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "comm/comm.h"
#include "tern/algo.h"
#include "topo/topo.h"

#define LINK ((tern_link){1, 1})

// Numbers the machines in the order of their lowest ranks.
static int number_machines(const struct tern__group *group,
                           struct tern__topo_machine list[TERN_RANKS_MAX], int of[TERN_RANKS_MAX])
{
    const struct tern__machines *machines = group->job->machines;
    int number[TERN_RANKS_MAX]; // of a machine of the job among those of the group, from 1
    int count = 0;
    memset(number, 0, sizeof number);
    for (int rank = 0; rank < group->size; rank++) {
        int machine = machines->of[group->members[rank]];
        if (number[machine] == 0) {
            list[count] = (struct tern__topo_machine){.port_GBps = 1, .latency_us = 1};
            snprintf(list[count].name, sizeof list[count].name, "%.31s",
                     machines->list[machine].name);
            number[machine] = ++count;
        }
        of[rank] = number[machine] - 1;
    }
    return count;
}

// "machines:2+2", where ranks follow one another as there; else "machines".
static void name_topo(const int *of, int size, char *word, size_t bytes)
{
    size_t used = (size_t)snprintf(word, bytes, "machines");
    for (int rank = 0, begin = 0; rank < size; rank++) {
        if (rank + 1 < size && of[rank + 1] < of[rank]) {
            snprintf(word, bytes, "machines");
            return;
        }
        if (rank + 1 == size || of[rank + 1] != of[rank]) {
            used += (size_t)snprintf(word + used, bytes - used, "%s%d", begin > 0 ? "+" : ":",
                                     rank + 1 - begin);
            begin = rank + 1;
        }
    }
}

static int make(const struct tern__group *group, tern_topo **topo)
{
    if (group->away == 0) {
        char word[16];
        snprintf(word, sizeof word, "mesh:%d", group->size);
        return tern_topo_create(word, topo);
    }
    struct tern__topo_machine list[TERN_RANKS_MAX];
    int of[TERN_RANKS_MAX];
    int count = number_machines(group, list, of);
    char word[16 + 3 * TERN_RANKS_MAX];
    name_topo(of, group->size, word, sizeof word);
    return tern__topo_of_machines(word, group->size, of, list, count, LINK, topo);
}

static int comm_topo(tern_comm *comm, tern_topo **topo)
{
    TERN_TRY(tern__comm_lives("tern_comm_topo", comm));
    return topo == NULL ? tern__fail(TERN_ERR_ARG, "tern_comm_topo: topo must not be NULL")
                        : make(&comm->group, topo);
}

int tern_comm_topo(tern_comm *comm, tern_topo **topo)
{
    return TERN__CALL_OF_CALLS(comm_topo(comm, topo));
}
