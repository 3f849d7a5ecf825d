// SPDX-License-Identifier: Apache-2.0
// A processor for a rank.

#include <sched.h>

#include "base/error.h"
#include "tern/launch.h"

int tern_launch_bind(int index)
{
    cpu_set_t allowed;
    if (index < 0) {
        return tern__fail(TERN_ERR_ARG, "tern_launch_bind: index is %d; the lowest is 0", index);
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch_bind: sched_getaffinity");
    }
    int left = index % CPU_COUNT(&allowed);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0) {
        cpu++;
    }
    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    return sched_setaffinity(0, sizeof allowed, &allowed) == 0
               ? TERN_OK
               : tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch_bind: sched_setaffinity");
}
