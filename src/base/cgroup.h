// SPDX-License-Identifier: Apache-2.0
// What the machine and the control groups above this process allow: memory and processor time.
// Reads /proc and both versions of cgroupfs. Set-up path.
#ifndef TERN_BASE_CGROUP_H
#define TERN_BASE_CGROUP_H

#include <stdint.h>

// Bytes that can still be used now: what /proc/meminfo calls available, lowered by every memory
// limit above this process (page cache that can be dropped counts as free). INT64_MAX when nothing
// can be read.
int64_t tern__memory_available(void);

// Processors this process may use at once: the affinity mask, lowered by a cgroup's quota (rounded
// up). At least 1.
int tern__cpus_allowed(void);

#endif
