// SPDX-License-Identifier: Apache-2.0
// The jobs of this process when it forks. A child is no rank, but it inherits the descriptors of
// one: as long as it had a rank's inbox open, peers that cannot watch the rank's process would not
// see that die. So the child closes them at once, whatever it does then. Set-up path.
//
// vfork, posix_spawn and system start another program, which closes them (close-on-exec).
#ifndef TERN_BOOT_FORK_H
#define TERN_BOOT_FORK_H

#include "sync/job.h"

// From now on children of this process close the job's descriptors; and no more.
void tern__fork_watch(struct tern__job *job);
void tern__fork_forget(struct tern__job *job);

// Closes them, those that are there.
void tern__job_close(struct tern__job *job);

#endif
