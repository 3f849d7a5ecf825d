// SPDX-License-Identifier: Apache-2.0
// The machines of a job in reports: tern info --job.
#ifndef TERN_COLL_JOB_MACHINES_H
#define TERN_COLL_JOB_MACHINES_H

#include <stdint.h>
#include <stdio.h>

#include "sync/job_find.h"

// The name of a rank's machine; "" when the job has one machine.
const char *tern__job_machine(const struct tern__ctl *ctl, int rank);

// As wide as the longest of them, "machine" included.
int tern__job_machine_width(const struct tern__ctl *ctl);

// A line for each machine but this one: how old what is known of it is, or that it is silent.
// Nothing for a job on one machine.
void tern__job_machines_text(FILE *file, const struct tern__ctl *ctl, int64_t now_ns);

// `"machines":[...],`, of a job on several.
void tern__job_machines_json(FILE *file, const struct tern__ctl *ctl, int64_t now_ns);

#endif
