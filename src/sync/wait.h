// SPDX-License-Identifier: Apache-2.0
// Waiting, while what the thread has begun goes on. The order of the files: ladder.h looks and
// sleeps, job.h knows which ladder suits, work.h what has been begun; each includes only those
// before it.
#ifndef TERN_SYNC_WAIT_H
#define TERN_SYNC_WAIT_H

#include "sync/ladder.h"

// Climbs the ladder, and meanwhile moves the work of the thread's queue (sync/work.h) whose job
// rings this bell. Returns as tern__ladder_climb.
int tern__wait(const struct tern__wait *wait);

#endif
