// SPDX-License-Identifier: Apache-2.0
// The least time that any plan of a kind and size can take on a topology, by counting what must
// cross which links, with the reason in words.
#ifndef TERN_PLAN_BOUND_H
#define TERN_PLAN_BOUND_H

#include "tern/summary.h"

struct tern__bound {
    double us;
    char text[160];
};

// topo NULL: every link, 1 GB/s.
int tern__bound_find(const tern_plan_spec *spec, const tern_topo *topo, struct tern__bound *bound);

#endif
