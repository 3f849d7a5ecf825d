// SPDX-License-Identifier: Apache-2.0
// Users of processes, by SO_PEERCRED: what the kernel noted at listen, connect or socketpair.

#include "boot/peer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

int tern__user_check(uid_t uid, const char *what)
{
    if (uid == geteuid()) {
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_REFUSED,
                      "%s belongs to user %u, process %d to user %u; all processes of a job must "
                      "belong to one user",
                      what, (unsigned)uid, (int)getpid(), (unsigned)geteuid());
}

int tern__peer_check(int fd, const char *does)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    char what[256];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return tern__fail_errno(TERN_ERR_REFUSED,
                                "the process that %s is not at the other end of a Unix socket",
                                does);
    }
    if (peer.pid > 0) {
        snprintf(what, sizeof what, "process %d, which %s,", (int)peer.pid, does);
    } else { // it has no number in this pid namespace
        snprintf(what, sizeof what, "the process that %s", does);
    }
    return tern__user_check(peer.uid, what);
}

int tern__peer_pid(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (int)peer.pid : 0;
}

// A number from a file of /proc/sys; `otherwise` when it cannot be read.
static unsigned long read_number(const char *path, unsigned long otherwise)
{
    unsigned long number;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return otherwise;
    }
    bool got = fscanf(file, "%lu", &number) == 1;
    fclose(file);
    return got ? number : otherwise;
}

// Whether every user has a number here, as in the first user namespace.
static bool all_users_have_numbers(void)
{
    unsigned long long inside;
    unsigned long long outside;
    unsigned long long count;
    FILE *file = fopen("/proc/self/uid_map", "re");
    if (file == NULL) {
        return true; // a kernel without user namespaces
    }
    bool all = fscanf(file, "%llu %llu %llu", &inside, &outside, &count) == 3 && inside == 0 &&
               count >= UINT32_MAX;
    fclose(file);
    return all;
}

int tern__user_is_known(void)
{
    uid_t own = geteuid();
    if (own != (uid_t)read_number("/proc/sys/kernel/overflowuid", 65534) ||
        all_users_have_numbers()) {
        return TERN_OK;
    }
    return tern__fail(
        TERN_ERR_REFUSED,
        "process %d is user %u of a user namespace, the number of all users that have "
        "none there, so other users cannot be told from it; give it a number of its "
        "own (unshare --map-root-user), or start the job with tern run",
        (int)getpid(), (unsigned)own);
}
