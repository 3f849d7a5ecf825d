// SPDX-License-Identifier: Apache-2.0
// The resources of a topology: what several links share, and which links use which. Set-up path.

#include <stdio.h>
#include <string.h>

#include "topo/topo.h"

int tern_topo_resource_count(const tern_topo *topo)
{
    if (!tern__handle_lives(topo, TERN__TOPO)) {
        return 0;
    }
    return topo->cells == NULL ? tern__shape_resource_count(&topo->shape)
                               : 2 * topo->machine_count + topo->stated_count;
}

// Of a machine that is stated, or of a shape.
static void tell_port(const tern_topo *topo, int index, tern_topo_resource *resource)
{
    tern_topo_machine machine;
    if (tern_topo_get_machine(topo, index / 2, &machine)) {
        snprintf(resource->name, sizeof resource->name, "%s.%s", machine.name,
                 index % 2 == 0 ? "out" : "in");
    }
}

bool tern_topo_get_resource(const tern_topo *topo, int index, tern_topo_resource *resource)
{
    if (index < 0 || index >= tern_topo_resource_count(topo)) {
        return false;
    }
    if (resource == NULL) {
        return true;
    }
    if (topo->cells == NULL) {
        if (!tern__shape_resource(&topo->shape, index, resource)) {
            tell_port(topo, index, resource);
        }
    } else if (index >= 2 * topo->machine_count) {
        *resource = topo->stated[index - 2 * topo->machine_count];
    } else {
        resource->GBps = topo->machines[index / 2].port_GBps;
        tell_port(topo, index, resource);
    }
    resource->GBps *= tern__topo_factor(topo, TERN__TOPO_RESOURCE, index);
    return true;
}

int tern__topo_resource_index(const tern_topo *topo, const char *name)
{
    tern_topo_resource resource;
    for (int i = 0; tern_topo_get_resource(topo, i, &resource); i++) {
        if (strcmp(resource.name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static int uses_as_made(const tern_topo *topo, int from, int to, int uses[TERN_TOPO_USES_MAX])
{
    if (topo->cells == NULL) {
        return tern__shape_uses(&topo->shape, from, to, uses);
    }
    int one = tern_topo_machine_of(topo, from);
    int other = tern_topo_machine_of(topo, to);
    int count = one == other ? 0 : tern__topo_add_uses(uses, 0, 2 * one, 2 * other + 1);
    const uint16_t *stated = tern__topo_cell(topo, from, to)->uses;
    for (int i = 0; i < TERN_TOPO_USES_MAX && stated[i] > 0; i++) {
        uses[count++] = 2 * topo->machine_count + stated[i] - 1;
    }
    return count;
}

int tern_topo_uses(const tern_topo *topo, int from, int to, int uses[TERN_TOPO_USES_MAX])
{
    int found[TERN_TOPO_USES_MAX];
    if (from == to || !tern_topo_link(topo, from, to, NULL)) {
        return 0;
    }
    int count = uses_as_made(topo, from, to, found);
    if (uses != NULL) {
        memcpy(uses, found, (size_t)count * sizeof *uses);
    }
    return count;
}
