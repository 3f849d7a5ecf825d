// SPDX-License-Identifier: Apache-2.0

#include "sync/slice.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORTEST_NS 100000 // the kernel takes no less

void tern__slice_shorten(void)
{
    static _Thread_local bool done;
    if (done) {
        return;
    }
    done = true;
    int before = errno;
    struct tern__sched_attr attr = {0};
    // An older kernel reports no runtime for an ordinary thread, and would ignore one.
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) == 0 && attr.policy == SCHED_OTHER &&
        attr.runtime_ns > SHORTEST_NS) {
        attr.runtime_ns = SHORTEST_NS;
        syscall(SYS_sched_setattr, 0, &attr, 0);
    }
    errno = before;
}
