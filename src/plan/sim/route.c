// SPDX-License-Identifier: Apache-2.0
// Links and what they share. The port of machine m is resource 2m, out, and 2m + 1, in.

#include "plan/sim/route.h"

#include <stdio.h>

int tern__route_resources(const tern_topo *topo)
{
    return 2 * tern_topo_machine_count(topo);
}

double tern__route_resource(const tern_topo *topo, int index, char *name, size_t bytes)
{
    tern_topo_machine machine = {.name = ""};
    tern_topo_get_machine(topo, index / 2, &machine);
    snprintf(name, bytes, "port of %s, %s", machine.name, index % 2 == 0 ? "out" : "in");
    return machine.port_GBps;
}

bool tern__route_find(const tern_topo *topo, int from, int to, struct tern__route *route)
{
    tern_link link;
    if (!tern_topo_link(topo, from, to, &link)) {
        return false;
    }
    *route = (struct tern__route){.latency_us = link.latency_us, .GBps = link.bandwidth_GBps};
    int out = tern_topo_machine_count(topo) > 0 ? tern_topo_machine_of(topo, from) : 0;
    int in = tern_topo_machine_count(topo) > 0 ? tern_topo_machine_of(topo, to) : 0;
    if (out != in) {
        route->uses[0] = 2 * out;
        route->uses[1] = 2 * in + 1;
        route->uses_count = 2;
    }
    return true;
}
