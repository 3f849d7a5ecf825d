// SPDX-License-Identifier: Apache-2.0
// The resources of a topology: what several links share, and which links use which. Set-up path.

#include <stdio.h>

#include "topo/topo.h"

int tern_topo_resource_count(const tern_topo *topo)
{
    return 2 * tern_topo_machine_count(topo);
}

bool tern_topo_get_resource(const tern_topo *topo, int index, tern_topo_resource *resource)
{
    if (index < 0 || index >= tern_topo_resource_count(topo)) {
        return false;
    }
    if (resource != NULL) {
        tern_topo_machine machine;
        tern_topo_get_machine(topo, index / 2, &machine);
        resource->GBps = machine.port_GBps;
        snprintf(resource->name, sizeof resource->name, "%s.%s", machine.name,
                 index % 2 == 0 ? "out" : "in");
    }
    return true;
}

int tern_topo_uses(const tern_topo *topo, int from, int to, int uses[TERN_TOPO_USES_MAX])
{
    int one = tern_topo_machine_of(topo, from);
    int other = tern_topo_machine_of(topo, to);
    if (one == other || !tern_topo_link(topo, from, to, NULL)) {
        return 0;
    }
    if (uses != NULL) {
        uses[one < other ? 0 : 1] = 2 * one;
        uses[one < other ? 1 : 0] = 2 * other + 1;
    }
    return 2;
}
