// SPDX-License-Identifier: Apache-2.0
// A launch with nothing in it yet, of a launcher or of a head.

#include <fcntl.h>

#include "base/clock.h"
#include "boot/launch_job.h"

struct tern__launch tern__launch_new(const tern_launch_options *options)
{
    return (struct tern__launch){
        .options = options,
        .procs = {.guard_fd = -1, .exec_fd = -1, .port_fd = -1},
        .timeout_at_ns =
            options->timeout_ns > 0 ? tern__deadline_after(options->timeout_ns) : INT64_MAX,
        .term_at_ns = INT64_MAX,
        .kill_at_ns = INT64_MAX,
        .culprit = -1,
        .suspect = -1,
    };
}

int tern__launch_open_standard(int opened[3])
{
    int count = 0;
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) == fd) {
            opened[count++] = fd;
        }
    }
    return count;
}
