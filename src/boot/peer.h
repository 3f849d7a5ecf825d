// SPDX-License-Identifier: Apache-2.0
// Whose process is at the other end. All processes of a job belong to one user: whoever else
// listens at a rendezvous path, or wants to join, is refused before anything is handed over. Set-up
// path.
#ifndef TERN_BOOT_PEER_H
#define TERN_BOOT_PEER_H

#include <sys/types.h>

// TERN_OK when `uid` is the (effective) user of this process; else TERN_ERR_REFUSED and a sentence
// that begins with `what` and names both users.
int tern__user_check(uid_t uid, const char *what);

// The same for the process that listens at (after connect), connected to (after accept) or made
// (socketpair) the other end of a Unix socket. does: "listens at …", for the sentence.
int tern__peer_check(int fd, const char *does);

// Its process, 0 when that has no number here.
int tern__peer_pid(int fd);

// TERN_OK when different users have different numbers here. In a user namespace all users without
// a number of their own are shown with one and the same; when this process is shown with that
// number too, nobody can be told from it: TERN_ERR_REFUSED.
int tern__user_is_known(void);

#endif
