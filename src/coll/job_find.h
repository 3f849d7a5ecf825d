// SPDX-License-Identifier: Apache-2.0
// The control memory of somebody else's job, found through a process that has it open.
#ifndef TERN_COLL_JOB_FIND_H
#define TERN_COLL_JOB_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sync/records.h"

#define TERN__JOBS_MAX 16 // of one process that are looked at

struct tern__jobs {
    int count;
    const struct tern__ctl *ctl[TERN__JOBS_MAX]; // read-only
    ino_t inode[TERN__JOBS_MAX];
};

// Maps the control memory of every job that the process is in; of the head of a job on several
// machines, that of the first of its branches on this one (job_head.c). TERN_OK only when there is
// one. Errors: those of tern_job_report.
int tern__jobs_open(int pid, struct tern__jobs *jobs);
void tern__jobs_close(struct tern__jobs *jobs);

// The same of what the process has open itself; there may be none.
int tern__jobs_of_process(int pid, struct tern__jobs *jobs);

#endif
