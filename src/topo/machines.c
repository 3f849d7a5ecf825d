// SPDX-License-Identifier: Apache-2.0
// The machines of a topology: which ranks share memory, and the ports between them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "topo/topo.h"

static void list_ranks(tern_topo *topo, const int *of)
{
    int listed = 0;
    for (int m = 0; m < topo->machine_count; m++) {
        topo->machines[m].first = listed;
        for (int rank = 0; rank < topo->size; rank++) {
            if (of[rank] == m) {
                topo->machine_ranks[listed++] = rank;
            }
        }
        topo->machines[m].count = listed - topo->machines[m].first;
    }
}

static void link_machines(tern_topo *topo, const int *of)
{
    for (int from = 0; from < topo->size; from++) {
        for (int to = 0; to < topo->size; to++) {
            tern_link stated;
            if (of[from] == of[to] || tern__topo_made(topo, from, to, &stated)) {
                continue;
            }
            const struct tern__topo_machine *one = &topo->machines[of[from]];
            const struct tern__topo_machine *other = &topo->machines[of[to]];
            tern__topo_add(topo, from, to,
                           (tern_link){
                               .bandwidth_GBps = one->port_GBps < other->port_GBps
                                                     ? one->port_GBps
                                                     : other->port_GBps,
                               .latency_us = one->latency_us > other->latency_us
                                                 ? one->latency_us
                                                 : other->latency_us,
                           });
        }
    }
}

int tern__topo_set_machines(tern_topo *topo, const struct tern__topo_machine *machines, int count,
                            const int *of)
{
    size_t ranks = (size_t)topo->size;
    topo->machines = calloc((size_t)count, sizeof *machines);
    topo->machine_of = calloc(ranks, sizeof *of);
    topo->machine_ranks = calloc(ranks, sizeof *of);
    if (topo->machines == NULL || topo->machine_of == NULL || topo->machine_ranks == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for %d machines", count);
    }
    memcpy(topo->machines, machines, (size_t)count * sizeof *machines);
    memcpy(topo->machine_of, of, ranks * sizeof *of);
    topo->machine_count = count;
    list_ranks(topo, of);
    link_machines(topo, of);
    return TERN_OK;
}

int tern__topo_of_machines(const char *word, int size, const int *of,
                           const struct tern__topo_machine *machines, int count, tern_link inside,
                           tern_topo **topo)
{
    tern_topo *made = NULL;
    TERN_TRY(tern__topo_new(word, size, &made));
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
            if (from != to && of[from] == of[to]) {
                tern__topo_add(made, from, to, inside);
            }
        }
    }
    int status = tern__topo_set_machines(made, machines, count, of);
    if (status < 0) {
        tern_topo_destroy(made);
        return status;
    }
    *topo = made;
    return TERN_OK;
}
