// SPDX-License-Identifier: Apache-2.0
// Barrier over machines: the ranks of a machine tell its first one, the first ones tell each other,
// and each tells those of its machine. One crossing, h-1 messages out of a machine.

#include "coll/machines.h"

// Of a first rank: what its own machine, and what the others tell it.
enum { ARRIVED = 1, MET };

void tern__emit_machines_barrier(struct tern__emit *e)
{
    struct tern__spread machines;
    tern__machines_begin(&machines, e);
    int h = machines.count;
    for (int rank = 0; rank < e->nranks; rank++) {
        int m = machines.machine[rank];
        int first = tern__machine_rank(&machines, m, 0);
        struct tern__at at = {.rank = rank};
        if (rank != first) {
            tern__emit_post(e, at, first, ARRIVED);
            continue;
        }
        tern__emit_wait(e, at, ARRIVED, tern__machine_size(&machines, m) - 1);
        at.round = 1;
        for (int step = 1; step < h; step++) {
            tern__emit_post(e, at, tern__machine_rank(&machines, (m + step) % h, 0), MET);
        }
        tern__emit_wait(e, at, MET, h - 1);
        at.round = 2;
        tern__machines_done(&machines, at);
    }
    tern__machines_finish(&machines);
}
