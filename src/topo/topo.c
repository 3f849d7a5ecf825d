// SPDX-License-Identifier: Apache-2.0
// Topologies: making, asking, destroying. Set-up path; asking is some arithmetic or an array
// access, and a search among what was changed.

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "topo/topo.h"

static int create(const char *word, int size, tern_topo **topo)
{
    tern_topo *made = tern__handle_new(TERN__TOPO, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a topology");
    }
    made->size = size;
    made->word = strdup(word);
    int status = made->word == NULL
                     ? tern__fail(TERN_ERR_MEMORY, "no memory for a topology of %d ranks", size)
                     : tern__topo_retell(made);
    if (status < 0) {
        tern_topo_destroy(made);
        return status;
    }
    *topo = made;
    return TERN_OK;
}

int tern__topo_new(const char *word, int size, tern_topo **topo)
{
    tern_topo *made = NULL;
    TERN_TRY(create(word, size, &made));
    made->cells = calloc((size_t)size * (size_t)size, sizeof made->cells[0]);
    if (made->cells == NULL) {
        tern_topo_destroy(made);
        return tern__fail(TERN_ERR_MEMORY, "no memory for a topology of %d ranks", size);
    }
    *topo = made;
    return TERN_OK;
}

void tern__topo_add(tern_topo *topo, int from, int to, tern_link link)
{
    *tern__topo_cell(topo, from, to) =
        (struct tern__topo_cell){.GBps = link.bandwidth_GBps, .latency_us = link.latency_us};
    topo->link_count++;
}

static int name_machines(tern_topo *topo)
{
    topo->names = calloc((size_t)topo->shape.hosts, sizeof topo->names[0]);
    if (topo->names == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for %d machines", topo->shape.hosts);
    }
    for (int m = 0; m < topo->shape.hosts; m++) {
        tern__topo_name_machine(topo->names[m], m);
    }
    return TERN_OK;
}

int tern__topo_of_shape(const char *word, const struct tern__topo_shape *shape, tern_topo **topo)
{
    tern_topo *made = NULL;
    int status = create(word, tern__shape_size(shape), &made);
    if (status < 0) {
        free(shape->first);
        return status;
    }
    made->shape = *shape;
    made->link_count = tern__shape_link_count(shape);
    status = shape->machines ? name_machines(made) : TERN_OK;
    if (status < 0) {
        tern_topo_destroy(made);
        return status;
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
    free(topo->shape.first);
    free(topo->names);
    free(topo->cells);
    free(topo->machines);
    free(topo->machine_of);
    free(topo->machine_ranks);
    free(topo->stated);
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

int64_t tern_topo_link_count(const tern_topo *topo)
{
    return tern__handle_lives(topo, TERN__TOPO) ? topo->link_count : 0;
}

const char *tern_topo_text(const tern_topo *topo)
{
    return tern__handle_lives(topo, TERN__TOPO) ? topo->text : "";
}
