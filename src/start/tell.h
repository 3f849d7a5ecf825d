// SPDX-License-Identifier: Apache-2.0
// What the log says at the start of a job (TERN_LOG=info).
#ifndef TERN_START_TELL_H
#define TERN_START_TELL_H

#include "sync/job.h"

// how: "started by tern run", …
void tern__start_tell(const struct tern__job *job, const char *how);

#endif
