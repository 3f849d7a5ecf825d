// SPDX-License-Identifier: Apache-2.0
// What the simulator asks of a topology, in one place: the resources that several links share, and
// of a link its latency, its rate and the resources it uses.
#ifndef TERN_PLAN_SIM_ROUTE_H
#define TERN_PLAN_SIM_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "tern/topo.h"

#define TERN__ROUTE_USES TERN_TOPO_USES_MAX

struct tern__route {
    double latency_us;
    double GBps; // of the link itself
    int uses[TERN__ROUTE_USES];
    int uses_count;
};

// How many resources there are; the name and the rate of one.
int tern__route_resources(const tern_topo *topo);
double tern__route_resource(const tern_topo *topo, int index, char *name, size_t bytes);

// False when there is no such link. `from` and `to` are different ranks of the topology.
bool tern__route_find(const tern_topo *topo, int from, int to, struct tern__route *route);

#endif
