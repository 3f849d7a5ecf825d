// SPDX-License-Identifier: Apache-2.0
// A trace of a communicator whose members are on several machines: how far their clocks are apart,
// and the events of ranks whose memory cannot be read from here. Set-up path.
#ifndef TERN_COMM_TRACE_MACHINES_H
#define TERN_COMM_TRACE_MACHINES_H

#include "base/trace_write.h"
#include "comm/window.h"

struct tern__trace_clocks {
    struct tern__trace_machines machines; // count 0: all members are on one machine
    struct tern__trace_machine list[TERN_RANKS_MAX];
    uint8_t of[TERN_RANKS_MAX]; // by rank of the communicator: its machine in the list
};

// Collective. The clocks of all machines against that of rank 0's, as they are now.
int tern__trace_clocks_measure(struct tern__group *group, struct tern__trace_clocks *clocks);

// On rank 0: `count` units of a rank of another machine, from the begin of its part, to be freed;
// their times moved to the clock here. What is there is taken for tracks as `count` says.
int tern__trace_fetch(tern_window *window, int rank, size_t count,
                      const struct tern__trace_clocks *clocks, struct tern__trace_event **units);

#endif
