// SPDX-License-Identifier: Apache-2.0
// The socket at a rendezvous path.

#include "boot/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/peer.h"
#include "tern/comm.h"

enum { NAME_MAX_BYTES = 72, FOLDER_MAX_BYTES = 4096 };

int tern__meeting_open(const char *path, int64_t timeout_ns, struct tern__meeting *meeting)
{
    const char *slash = strrchr(path, '/');
    meeting->path = path;
    meeting->name = slash != NULL ? slash + 1 : path;
    meeting->timeout_ns = timeout_ns;
    meeting->deadline_ns = tern__deadline_after(timeout_ns);
    size_t length = strlen(meeting->name);
    if (length == 0 || length > NAME_MAX_BYTES || strcmp(meeting->name, ".") == 0 ||
        strcmp(meeting->name, "..") == 0) {
        return tern__fail(TERN_ERR_ARG,
                          "rendezvous path '%s' must end in a file name of 1 to %d "
                          "bytes",
                          path, NAME_MAX_BYTES);
    }
    char folder[FOLDER_MAX_BYTES];
    size_t folder_length = slash == NULL ? 0 : (size_t)(slash - path);
    if (folder_length >= sizeof folder) {
        return tern__fail(TERN_ERR_ARG, "the rendezvous path is longer than %zu bytes",
                          sizeof folder);
    }
    memcpy(folder, path, folder_length);
    folder[folder_length] = '\0';
    const char *name = slash == NULL ? "." : folder_length == 0 ? "/" : folder;
    TERN_TRY(tern__user_is_known());
    meeting->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (meeting->folder < 0) {
        return tern__fail_errno(TERN_ERR_ARG, "folder of the rendezvous path '%s'", path);
    }
    return TERN_OK;
}

void tern__meeting_close(struct tern__meeting *meeting)
{
    close(meeting->folder);
}

static void nap(int64_t duration_ns)
{
    struct timespec moment = tern__timespec(duration_ns);
    nanosleep(&moment, NULL);
}

static int lock_folder(const struct tern__meeting *meeting)
{
    while (flock(meeting->folder, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "locking the folder of '%s'", meeting->path);
        }
        if (tern__now_ns() >= meeting->deadline_ns) {
            return tern__fail(TERN_ERR_TIMEOUT,
                              "another process keeps the folder of the "
                              "rendezvous path '%s' locked",
                              meeting->path);
        }
        nap(TERN_NS_PER_MS); // held for microseconds, by starting jobs only
    }
    return TERN_OK;
}

static void unlock_folder(const struct tern__meeting *meeting)
{
    flock(meeting->folder, LOCK_UN);
}

// Looks at what an O_PATH descriptor is of; an error when it is neither a socket nor a reason of
// this user.
static int check_file(const struct tern__meeting *meeting, int at, struct tern__finding *finding)
{
    struct stat state;
    char what[256];
    if (fstat(at, &state) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "'%s'", meeting->path);
    }
    snprintf(what, sizeof what, "what is at the rendezvous path '%.180s'", meeting->path);
    TERN_TRY(tern__user_check(state.st_uid, what));
    if (S_ISLNK(state.st_mode) && tern__reason_read(at, finding->reason, &finding->stale)) {
        finding->found = TERN__FOUND_REASON;
        return TERN_OK;
    }
    if (!S_ISSOCK(state.st_mode)) {
        return tern__fail(
            TERN_ERR_REFUSED,
            "'%s' exists and is not a rendezvous socket; give a path where no file is",
            meeting->path);
    }
    return TERN_OK;
}

static int cannot_use(const struct tern__meeting *meeting)
{
    return tern__fail_errno(TERN_ERR_REFUSED, "the rendezvous path '%s' cannot be used",
                            meeting->path);
}

// Connects to the very file that was checked: its name may mean another one by now.
static int connect_checked(const struct tern__meeting *meeting, int at,
                           struct tern__finding *finding)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char does[256];
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", at);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socket");
    }
    int status = TERN_OK;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        snprintf(does, sizeof does, "listens at the rendezvous path '%.180s'", meeting->path);
        status = tern__peer_check(fd, does);
        if (status == TERN_OK) {
            finding->found = TERN__FOUND_SERVED;
            finding->fd = fd;
            return TERN_OK;
        }
    } else if (errno == ECONNREFUSED) {
        finding->found = TERN__FOUND_STALE;
    } else if (errno == EAGAIN) {
        finding->found = TERN__FOUND_BUSY;
    } else if (errno != ENOENT) {
        status = cannot_use(meeting);
    }
    close(fd);
    return status;
}

int tern__meeting_connect(const struct tern__meeting *meeting, struct tern__finding *finding)
{
    finding->found = TERN__FOUND_NOTHING;
    finding->fd = -1;
    int at = openat(meeting->folder, meeting->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0) {
        return errno == ENOENT ? TERN_OK : cannot_use(meeting);
    }
    int status = check_file(meeting, at, finding);
    if (status == TERN_OK && finding->found == TERN__FOUND_NOTHING) {
        status = connect_checked(meeting, at, finding);
    }
    close(at);
    return status;
}

// With the lock held: removes what a job has left that is over. An error when something else is
// there. late: a reason stays while its process lives, for others that come late.
static int clear_path(const struct tern__meeting *meeting, bool late)
{
    struct tern__finding finding;
    TERN_TRY(tern__meeting_connect(meeting, &finding));
    if (finding.found == TERN__FOUND_SERVED) {
        int pid = tern__peer_pid(finding.fd);
        close(finding.fd);
        return tern__fail(TERN_ERR_REFUSED,
                          "the rendezvous path '%s' is in use by another job (process %d), or that "
                          "process is rank 0 of this one, too",
                          meeting->path, pid);
    }
    if (finding.found == TERN__FOUND_BUSY) {
        return tern__fail(TERN_ERR_REFUSED, "the rendezvous path '%s' is in use by another job",
                          meeting->path);
    }
    bool over = finding.found == TERN__FOUND_STALE ||
                (finding.found == TERN__FOUND_REASON && (finding.stale || !late));
    if (over && unlinkat(meeting->folder, meeting->name, 0) != 0 && errno != ENOENT) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "removing what a job left at '%s'", meeting->path);
    }
    return TERN_OK;
}

int tern__meeting_listen(const struct tern__meeting *meeting, int *listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", meeting->folder,
             meeting->name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socket");
    }
    int status = lock_folder(meeting); // makes looking and binding one step
    if (status == TERN_OK) {
        status = clear_path(meeting, false);
        if (status == TERN_OK && (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
                                  listen(fd, 4 * TERN_RANKS_MAX) != 0)) {
            status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot listen at the rendezvous path '%s'",
                                      meeting->path);
        }
        unlock_folder(meeting);
    }
    if (status != TERN_OK) {
        close(fd);
        return status;
    }
    *listener = fd;
    return TERN_OK;
}

void tern__meeting_remove(const struct tern__meeting *meeting)
{
    unlinkat(meeting->folder, meeting->name, 0);
}

void tern__meeting_leave_reason(const struct tern__meeting *meeting, const char *why)
{
    if (lock_folder(meeting) == TERN_OK) { // else nobody learns it
        tern__reason_leave(meeting->folder, meeting->name, why);
        unlock_folder(meeting);
    }
}

void tern__meeting_remove_stale(const struct tern__meeting *meeting, int patience_ms)
{
    for (int tries = 0; tries <= patience_ms; tries++) {
        int status = lock_folder(meeting);
        if (status == TERN_OK) {
            status = clear_path(meeting, true);
            unlock_folder(meeting);
        }
        if (status != TERN_ERR_REFUSED) {
            return;
        }
        nap(TERN_NS_PER_MS);
    }
}
