// SPDX-License-Identifier: Apache-2.0
// The variables by which programs of PyTorch, and of others that took them over, find their place:
// RANK, WORLD_SIZE, LOCAL_RANK, and MASTER_ADDR, MASTER_PORT, where rank 0 may serve a store. What
// the user has set stays, but for what an outer `tern run` has set for the process that launches.
#ifndef TERN_BOOT_LAUNCH_OTHERS_H
#define TERN_BOOT_LAUNCH_OTHERS_H

#include <stdbool.h>

#define TERN__OTHERS 5
#define TERN__OTHERS_BYTES 32

struct tern__others {
    bool used[TERN__OTHERS];
    char text[TERN__OTHERS][TERN__OTHERS_BYTES]; // "RANK=3"
};

// Finds out which are set here, and a port that is free: until *port_fd is closed, which stays as
// it is when there is none, the kernel gives it to nobody who asks for any port, and a server that
// sets SO_REUSEADDR, as they do, may listen there. On several machines nothing is known about the
// ports of the first, so there MASTER_ADDR and MASTER_PORT are left to the user.
void tern__others_choose(struct tern__others *others, int nranks, bool one_machine, int *port_fd);

// Those that differ between the ranks; `local` counts from 0 on each machine.
void tern__others_set(struct tern__others *others, int rank, int local);

// Whether this entry of an environment is replaced by one of them.
bool tern__others_replace(const struct tern__others *others, const char *variable);

#endif
