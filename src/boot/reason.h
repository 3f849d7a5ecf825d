// SPDX-License-Identifier: Apache-2.0
// What a rank 0 leaves at its rendezvous path when the ranks have not met: a symbolic link whose
// text says who gave up and why, for ranks that come later. It leads nowhere. It lasts as long as
// the process: gone when that exits; when it was killed, a late rank or the next job removes it. A
// process leaves one at most. Set-up path.
#ifndef TERN_BOOT_REASON_H
#define TERN_BOOT_REASON_H

#include <stdbool.h>
#include <stddef.h>

#define TERN__REASON_BYTES 600

// Leaves it at a name in a folder, if nothing is there.
void tern__reason_leave(int folder, const char *name, const char *why);

// Whether what an O_PATH descriptor is of is such a link; then its text: "process 12 gave up: …".
// *stale: that process has ended.
bool tern__reason_read(int at, char text[TERN__REASON_BYTES], bool *stale);

#endif
