// SPDX-License-Identifier: Apache-2.0
// The jobs of a process that somebody asks about.
#ifndef TERN_COLL_JOB_HEAD_H
#define TERN_COLL_JOB_HEAD_H

#include "sync/job_find.h"

// Maps the control memory of every job that the process is in; of the head of a job on several
// machines, that of the first of its branches on this one. TERN_OK only when there is one. Errors:
// those of tern_job_report.
int tern__jobs_open(int pid, struct tern__jobs *jobs);

#endif
