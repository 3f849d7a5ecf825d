// SPDX-License-Identifier: Apache-2.0
// What this process may use of the machine, and the limits of this build: what `tern info` prints.
#ifndef TERN_MACHINE_H
#define TERN_MACHINE_H

#include <stdint.h>

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

typedef struct tern_machine {
    int cpus;                 // processors of the machine that are switched on
    int cpus_affinity;        // of those, the ones this process may run on
    int cpus_usable;          // at once: the same, lowered by the quota of a control group
    int64_t memory_total;     // bytes; -1: not known
    int64_t memory_available; // bytes that can be used now, control groups included; -1: not known
    const char *vectors;      // the kernels that reduce: "avx512", "avx2" or "portable"
    int ranks_max;            // of a communicator
    int comms_max;            // communicators of a job that live at a time
} tern_machine;

// Looks. Any thread. TERN_ERR_ARG for NULL.
TERN_CALL int tern_machine_look(tern_machine *machine);

// The version of the library that runs, "MAJOR.MINOR.PATCH"; the macros TERN_VERSION_MAJOR, …
// (tern/api.h) are that of the headers. Any thread.
TERN_API const char *tern_version(void);

TERN_END_DECLS

#endif
