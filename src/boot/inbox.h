// SPDX-License-Identifier: Apache-2.0
// Descriptors from rank to rank of a job. Set-up path.
#ifndef TERN_BOOT_INBOX_H
#define TERN_BOOT_INBOX_H

#include <stdint.h>

#include "sync/job.h"

// Puts a descriptor into a rank's inbox, under a tag that both sides have agreed on. Waits only
// while this user has too many descriptors in flight, until the job's deadline.
int tern__inbox_send(struct tern__job *job, int rank, uint64_t tag, int fd);

// Takes the descriptor with this tag, which must have been sent before (a barrier lies between).
int tern__inbox_take(struct tern__job *job, uint64_t tag, int *fd);

// Closes what was sent and never asked for.
void tern__inbox_discard(struct tern__job *job);

#endif
