// SPDX-License-Identifier: Apache-2.0
// Topologies: making, asking, destroying. Set-up path; asking is an array access.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "topo/topo.h"

int tern__topo_new(const char *word, int size, tern_topo **topo)
{
    size_t cells = (size_t)size * (size_t)size;
    tern_topo *made = tern__handle_new(TERN__TOPO, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a topology");
    }
    made->size = size;
    made->word = strdup(word);
    made->cells = calloc(cells, sizeof made->cells[0]);
    int status = made->word == NULL || made->cells == NULL
                     ? tern__fail(TERN_ERR_MEMORY, "no memory for a topology of %d ranks", size)
                     : tern__topo_retell(made);
    if (status < 0) {
        tern_topo_destroy(made);
        return status;
    }
    *topo = made;
    return TERN_OK;
}

void tern__topo_add(tern_topo *topo, int from, int to, tern_link link)
{
    struct tern__topo_cell *cell = tern__topo_cell(topo, from, to);
    cell->GBps = link.bandwidth_GBps;
    cell->latency_us = link.latency_us;
    cell->factor = 1;
    topo->link_count++;
}

static bool neighbours_in_ring(int a, int b, int size)
{
    return (a + 1) % size == b || (b + 1) % size == a;
}

int tern__topo_of_shape(const char *word, const struct tern__topo_shape *shape, tern_topo **topo)
{
    int per_host = shape->ranks_per_host;
    int size = shape->hosts * per_host;
    tern_topo *made = NULL;
    TERN_TRY(tern__topo_new(word, size, &made));
    int remote = size - per_host;
    tern_link between = {.bandwidth_GBps = remote > 0 ? shape->port_GBps / remote : 0,
                         .latency_us = shape->port_latency_us};
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
            if (from == to) {
                continue;
            }
            if (from / per_host != to / per_host) {
                tern__topo_add(made, from, to, between);
            } else if (!shape->ring ||
                       neighbours_in_ring(from % per_host, to % per_host, per_host)) {
                tern__topo_add(made, from, to, shape->inside);
            }
        }
    }
    *topo = made;
    return TERN_OK;
}

static int topo_destroy(tern_topo *topo)
{
    if (topo == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_topo_destroy", topo, TERN__TOPO));
    free(topo->word);
    free(topo->text);
    free(topo->edits);
    free(topo->cells);
    free(topo->machines);
    free(topo->machine_of);
    free(topo->machine_ranks);
    tern__handle_free(topo, sizeof *topo);
    return TERN_OK;
}

int tern_topo_destroy(tern_topo *topo)
{
    return TERN__CALL(topo_destroy(topo));
}

int tern_topo_size(const tern_topo *topo)
{
    return tern__handle_lives(topo, TERN__TOPO) ? topo->size : 0;
}

bool tern_topo_link(const tern_topo *topo, int from, int to, tern_link *link)
{
    if (!tern__handle_lives(topo, TERN__TOPO) || from < 0 || to < 0 || from >= topo->size ||
        to >= topo->size) {
        return false;
    }
    tern_link found = {.bandwidth_GBps = INFINITY, .latency_us = 0};
    if (from != to) {
        const struct tern__topo_cell *cell = tern__topo_seen(topo, from, to);
        if (!(cell->factor > 0)) {
            return false;
        }
        found.bandwidth_GBps = cell->GBps * cell->factor;
        found.latency_us = cell->latency_us;
    }
    if (link != NULL) {
        *link = found;
    }
    return true;
}

int tern_topo_link_count(const tern_topo *topo)
{
    return tern__handle_lives(topo, TERN__TOPO) ? topo->link_count : 0;
}

const char *tern_topo_text(const tern_topo *topo)
{
    return tern__handle_lives(topo, TERN__TOPO) ? topo->text : "";
}
