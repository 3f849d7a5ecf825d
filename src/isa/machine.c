// SPDX-License-Identifier: Apache-2.0
// What the machine gives. In this floor because it knows the kernels. Set-up path.

#include "tern/machine.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "isa/reduce.h"
#include "sync/ctl.h"

static const char *vectors(void)
{
    static const char *const names[] = {
        [TERN__REDUCE_PORTABLE] = "portable",
        [TERN__REDUCE_AVX2] = "avx2",
        [TERN__REDUCE_AVX512] = "avx512",
    };
    for (int level = TERN__REDUCE_LEVELS - 1; level > 0; level--) {
        if (tern__reduce_at((enum tern__reduce_level)level, TERN_F32, TERN_SUM) != NULL) {
            return names[level];
        }
    }
    return names[0];
}

int tern_machine_look(tern_machine *machine)
{
    cpu_set_t mask;
    struct sysinfo system;
    if (machine == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_machine_look: machine must not be NULL");
    }
    int64_t available = tern__memory_available();
    *machine = (tern_machine){
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .cpus_usable = tern__cpus_allowed(),
        .memory_total = -1,
        .memory_available = available == INT64_MAX ? -1 : available,
        .vectors = vectors(),
        .ranks_max = TERN_RANKS_MAX,
        .comms_max = TERN__COMM_SLOTS,
    };
    machine->cpus_affinity =
        sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : machine->cpus;
    if (sysinfo(&system) == 0) {
        machine->memory_total = (int64_t)((uint64_t)system.totalram * system.mem_unit);
    }
    return TERN_OK;
}
