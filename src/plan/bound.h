// SPDX-License-Identifier: Apache-2.0
// The least time that any plan of a kind and size can take on a topology, by counting what must
// cross which links, with the reason in words.
#ifndef TERN_PLAN_BOUND_H
#define TERN_PLAN_BOUND_H

#include <stdbool.h>

#include "tern/summary.h"

struct tern__bound {
    double us;
    char text[160];
};

// topo NULL: every link, 1 GB/s.
int tern__bound_find(const tern_plan_spec *spec, const tern_topo *topo, struct tern__bound *bound);

// Bytes that must leave a set of `count` ranks, with the root of the kind in it or without.
double tern__bound_leaves(const tern_plan_spec *spec, int count, bool has_root);

// The same bound for the ports of machines; raises `bound` where that is better.
void tern__bound_ports(const tern_plan_spec *spec, const tern_topo *topo,
                       struct tern__bound *bound);

#endif
