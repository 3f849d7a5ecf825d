// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job know of each other in checking mode, as check_share.c (accesses) and
// check_signal.c (notifies) find it.
#ifndef TERN_ISA_CHECK_SHARE_H
#define TERN_ISA_CHECK_SHARE_H

#include "comm/checking.h"
#include "isa/check.h"

// The memory of the window's job; NULL: that was made without checking mode.
tern_window *tern__share_of(const tern_window *window);

// The rank's number in the job, and a number of the window in it.
int tern__share_rank(const tern_window *window, int rank);
uint32_t tern__share_key(const tern_window *window);

// The site's number in this rank's part; and the text of one in any rank's.
uint32_t tern__share_put_site(struct tern__watch_part *mine, uint32_t site);
const char *tern__share_site(const tern_window *share, int rank, uint32_t site,
                             char copy[TERN__WATCH_SITE_BYTES]);

// Accesses of one rank to another one's part. Of a rank on another machine `seen` is a copy, of one
// ring at a time.
struct tern__share_ring {
    const tern_window *share;
    int rank;
    const struct tern__watch_ring *at; // in that rank's part
    const struct tern__watch_ring *seen;
};
struct tern__share_ring tern__share_ring(const tern_window *share, int rank, int owner, bool loads);

// A copy of an entry that is not being written; false otherwise.
bool tern__share_read(const struct tern__access *access, struct tern__access *copy);

#endif
