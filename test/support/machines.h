// SPDX-License-Identifier: Apache-2.0
// "Machines" for tests: ranks of one box that share no memory, and talk over its network.
#ifndef TERN_TEST_MACHINES_H
#define TERN_TEST_MACHINES_H

#include "support/ranks.h"
#include "tern/window.h"

// Where each rank is: a letter a rank, "aabb" is 2 machines of 2 ranks.
extern const char *const machines_layouts[8];

// For bodies of ranks: joins the job of all of them on these machines; its deadlines are 60 s, or
// those of TERN_TIMEOUT.
int machines_join(int rank, const struct ranks *ranks, const char *layout, tern_comm **comm);

// By a test that has killed ranks: removes the files of a start that did not end.
void machines_clean(const struct ranks *ranks);

// Where a rank's part of a window is or, on another machine, would be.
static inline void *machines_address(const tern_window *window, int rank)
{
    return (void *)(uintptr_t)tern_window_context(window)->windowsIn[rank];
}

// As ranks_run_comm on these machines, and with each of machines_layouts, until one is not right.
bool machines_run_comm(const char *layout, comm_body body, void *arg, double deadline_s);
bool machines_run_all(comm_body body, void *arg, double deadline_s);

#endif
