// SPDX-License-Identifier: Apache-2.0
// Links and what they share, from the topology's own calls.

#include "plan/sim/route.h"

#include <stdio.h>

int tern__route_resources(const tern_topo *topo)
{
    return tern_topo_resource_count(topo);
}

double tern__route_resource(const tern_topo *topo, int index, char *name, size_t bytes)
{
    tern_topo_resource resource = {.name = ""};
    tern_topo_get_resource(topo, index, &resource);
    snprintf(name, bytes, "%s", resource.name);
    return resource.GBps;
}

bool tern__route_find(const tern_topo *topo, int from, int to, struct tern__route *route)
{
    tern_link link;
    if (!tern_topo_link(topo, from, to, &link)) {
        return false;
    }
    *route = (struct tern__route){.latency_us = link.latency_us, .GBps = link.bandwidth_GBps};
    route->uses_count = tern_topo_uses(topo, from, to, route->uses);
    return true;
}
