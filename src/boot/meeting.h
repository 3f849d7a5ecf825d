// SPDX-License-Identifier: Apache-2.0
// A rendezvous path: its folder, the lock on it, and what is at it: nothing, a socket, or the
// reason why the ranks of an earlier job have not met. The path is addressed through its folder's
// descriptor, so its length does not matter, and a lock on the folder orders those who replace or
// remove the socket; no other file is made. Set-up path.
//
// The folder may be one that everybody can write to: a symbolic link at the path is not followed,
// and a socket of another user is neither connected to nor removed.
#ifndef TERN_BOOT_MEETING_H
#define TERN_BOOT_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/reason.h"

struct tern__meeting {
    const char *path; // as the caller gave it, for sentences
    const char *name; // its last part
    int folder;
    int64_t timeout_ns;
    int64_t deadline_ns;
};

int tern__meeting_open(const char *path, int64_t timeout_ns, struct tern__meeting *meeting);
void tern__meeting_close(struct tern__meeting *meeting);

// Connects, without blocking, to a process of this user that listens at the path. What there is at
// the path when the status is TERN_OK: *fd is a connection for SERVED alone and -1 else.
// TERN_ERR_REFUSED for anything else, or another user's.
enum tern__found {
    TERN__FOUND_NOTHING,
    TERN__FOUND_STALE,  // a socket that nobody listens on, or not yet
    TERN__FOUND_BUSY,   // as many wait as can
    TERN__FOUND_SERVED, // connected
    TERN__FOUND_REASON, // why the ranks of an earlier job have not met: boot/reason.h
};
struct tern__finding {
    enum tern__found found;
    int fd;
    bool stale; // who left the reason has ended
    char reason[TERN__REASON_BYTES];
};
int tern__meeting_connect(const struct tern__meeting *meeting, struct tern__finding *finding);

// Binds and listens, after removing the socket of a job that has crashed.
int tern__meeting_listen(const struct tern__meeting *meeting, int *listener);

// Removes the socket that this process has bound.
void tern__meeting_remove(const struct tern__meeting *meeting);

// The ranks have not met: leaves the reason for who comes later.
void tern__meeting_leave_reason(const struct tern__meeting *meeting, const char *why);

// Removes a socket that nobody listens on, or a reason of a process that has ended. patience_ms: a
// dying process may have closed its connections and still listen for a moment.
void tern__meeting_remove_stale(const struct tern__meeting *meeting, int patience_ms);

#endif
