// SPDX-License-Identifier: Apache-2.0
// What the log says at the start of a job: version, ranks, machine. Set-up path.

#include "start/tell.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "tern/machine.h"

#define GIB (1024.0 * 1024 * 1024)

static void memory_text(const tern_machine *machine, char *text, size_t size)
{
    if (machine->memory_available < 0 || machine->memory_total < 0) {
        snprintf(text, size, "memory not known");
        return;
    }
    snprintf(text, size, "%.1f of %.1f GiB of memory can be used",
             (double)machine->memory_available / GIB, (double)machine->memory_total / GIB);
}

void tern__start_tell(const struct tern__job *job, const char *how)
{
    enum tern__log_level level = tern__log_common();
    struct utsname host;
    tern_machine machine;
    char memory[96];
    if (!tern__log_enabled(level) || uname(&host) != 0 || tern_machine_look(&machine) != TERN_OK) {
        return;
    }
    memory_text(&machine, memory, sizeof memory);
    char patience[32] = "for ever";
    if (job->timeout_ns != TERN_TIMEOUT_NEVER) {
        snprintf(patience, sizeof patience, "%.3g s", (double)job->timeout_ns * 1e-9);
    }
    tern__log(level, "tern %d.%d.%d, %d rank%s, %s; a wait may take %s", TERN_VERSION_MAJOR,
              TERN_VERSION_MINOR, TERN_VERSION_PATCH, job->nranks, job->nranks == 1 ? "" : "s", how,
              patience);
    tern__log(level,
              "machine %s, %s %s: %d of %d processors may be used (%d at once), %s; "
              "reductions use %s",
              host.nodename, host.sysname, host.release, machine.cpus_affinity, machine.cpus,
              machine.cpus_usable, memory, machine.vectors);
}
