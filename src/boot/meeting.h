// SPDX-License-Identifier: Apache-2.0
// A rendezvous path: its folder, the lock on it, and the socket at it. The path is addressed through
// its folder's descriptor, so its length does not matter, and a lock on the folder orders those who
// replace or remove the socket; no other file is made. Set-up path.
//
// The folder may be one that everybody can write to: a symbolic link at the path is not followed,
// and a socket of another user is neither connected to nor removed.
#ifndef TERN_BOOT_MEETING_H
#define TERN_BOOT_MEETING_H

#include <stdint.h>

struct tern__meeting {
    const char *path; // as the caller gave it, for sentences
    const char *name; // its last part
    int folder;
    int64_t deadline_ns;
};

int tern__meeting_open(const char *path, int64_t timeout_ns, struct tern__meeting *meeting);
void tern__meeting_close(struct tern__meeting *meeting);

// Connects, without blocking, to a process of this user that listens at the path. What there is at the
// path when the status is TERN_OK; *fd is a connection for SERVED alone and -1 else. TERN_ERR_REFUSED
// for what is no socket, or another user's.
enum tern__found {
    TERN__FOUND_NOTHING,
    TERN__FOUND_STALE,  // a socket that nobody listens on, or not yet
    TERN__FOUND_BUSY,   // as many wait as can
    TERN__FOUND_SERVED, // connected
};
int tern__meeting_connect(const struct tern__meeting *meeting, enum tern__found *found, int *fd);

// Binds and listens, after removing the socket of a job that has crashed.
int tern__meeting_listen(const struct tern__meeting *meeting, int *listener);

// Removes the socket that this process has bound.
void tern__meeting_remove(const struct tern__meeting *meeting);

// Removes a socket that nobody listens on.
void tern__meeting_remove_stale(const struct tern__meeting *meeting);

#endif
