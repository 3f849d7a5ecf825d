// SPDX-License-Identifier: Apache-2.0
// The control memory of somebody else's job, found through a process that has it open.
#ifndef TERN_SYNC_JOB_FIND_H
#define TERN_SYNC_JOB_FIND_H

#include <sys/types.h>

#include "sync/ctl.h"

#define TERN__JOBS_MAX 16 // that are looked at

struct tern__jobs {
    int count;
    const struct tern__ctl *ctl[TERN__JOBS_MAX]; // read-only
    ino_t inode[TERN__JOBS_MAX];
};

// Maps the control memory of every job that the process has open itself; there may be none. Errors:
// those of tern_job_report; then none is mapped.
int tern__jobs_of_process(int pid, struct tern__jobs *jobs);

// The same, beside those that are there already, which stay in any case.
int tern__jobs_add(int pid, struct tern__jobs *jobs);

void tern__jobs_close(struct tern__jobs *jobs);
void tern__jobs_close_one(struct tern__jobs *jobs, int at);

#endif
