// SPDX-License-Identifier: Apache-2.0
// Meeting at a path. Rank 0 listens on a Unix socket there and is the hub; the others connect. The
// path is addressed through its folder's descriptor, so its length does not matter, and a lock on
// the folder orders those who replace or remove the socket; no other file is made.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/hub.h"
#include "boot/join.h"

enum { POLLFDS_MAX = 5 * TERN_RANKS_MAX, NAME_MAX_BYTES = 72, RETRY_MAX_MS = 20 };

struct meeting {
    const char *path; // as the caller gave it, for sentences
    const char *name; // its last part
    int folder;
    int64_t deadline_ns;
};

static int open_meeting(const char *path, int64_t timeout_ns, struct meeting *meeting)
{
    const char *slash = strrchr(path, '/');
    meeting->path = path;
    meeting->name = slash != NULL ? slash + 1 : path;
    meeting->deadline_ns = tern__deadline_after(timeout_ns);
    size_t length = strlen(meeting->name);
    if (length == 0 || length > NAME_MAX_BYTES || strcmp(meeting->name, ".") == 0 ||
        strcmp(meeting->name, "..") == 0) {
        return tern__fail(TERN_ERR_ARG,
                          "rendezvous path '%s' must end in a file name of 1 to %d "
                          "bytes",
                          path, NAME_MAX_BYTES);
    }
    char folder[4096];
    size_t folder_length = slash == NULL ? 0 : (size_t)(slash - path);
    if (folder_length >= sizeof folder) {
        return tern__fail(TERN_ERR_ARG, "the rendezvous path is longer than %zu bytes",
                          sizeof folder);
    }
    memcpy(folder, path, folder_length);
    folder[folder_length] = '\0';
    const char *name = slash == NULL ? "." : folder_length == 0 ? "/" : folder;
    meeting->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (meeting->folder < 0) {
        return tern__fail_errno(TERN_ERR_ARG, "folder of the rendezvous path '%s'", path);
    }
    return TERN_OK;
}

static struct sockaddr_un address_of(const struct meeting *meeting)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", meeting->folder,
             meeting->name);
    return address;
}

// Connects without blocking. A descriptor, or -1 with errno.
static int try_connect(const struct meeting *meeting)
{
    struct sockaddr_un address = address_of(meeting);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void nap(int64_t duration_ns)
{
    struct timespec moment = tern__timespec(duration_ns);
    nanosleep(&moment, NULL);
}

static int lock_folder(const struct meeting *meeting)
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

static void unlock_folder(const struct meeting *meeting)
{
    flock(meeting->folder, LOCK_UN);
}

static int refuse_path(const struct meeting *meeting)
{
    return tern__fail(TERN_ERR_REFUSED,
                      "'%s' exists and is not a rendezvous socket; give a path where no file is",
                      meeting->path);
}

// With the lock held: removes the socket of a job that has crashed. An error when something else is
// there.
static int clear_path(const struct meeting *meeting)
{
    struct stat state;
    if (fstatat(meeting->folder, meeting->name, &state, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? TERN_OK : tern__fail_errno(TERN_ERR_SYSTEM, "'%s'", meeting->path);
    }
    if (!S_ISSOCK(state.st_mode)) {
        return refuse_path(meeting);
    }
    int fd = try_connect(meeting);
    if (fd >= 0) {
        struct ucred peer = {0};
        socklen_t length = sizeof peer;
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
        close(fd);
        return tern__fail(TERN_ERR_REFUSED,
                          "the rendezvous path '%s' is in use by another job "
                          "(process %d)",
                          meeting->path, (int)peer.pid);
    }
    if (errno != ECONNREFUSED && errno != ENOENT) {
        return tern__fail_errno(TERN_ERR_REFUSED, "the rendezvous path '%s' is in use",
                                meeting->path);
    }
    if (unlinkat(meeting->folder, meeting->name, 0) != 0 && errno != ENOENT) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "removing the stale socket '%s'", meeting->path);
    }
    return TERN_OK;
}

// Binds and listens. The lock makes looking and binding one step.
static int listen_there(const struct meeting *meeting, int *listener)
{
    struct sockaddr_un address = address_of(meeting);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socket");
    }
    int status = lock_folder(meeting);
    if (status == TERN_OK) {
        status = clear_path(meeting);
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

struct hosting {
    struct tern__hub *hub;
    int listener;
    int own; // rank 0's own end of its connection to the hub
};

static void accept_all(const struct hosting *hosting)
{
    int fd;
    while ((fd = accept4(hosting->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        tern__hub_add(hosting->hub, fd); // who is refused is told, or sees its socket close
    }
}

// Waits for something to happen and handles it.
static void serve(const struct hosting *hosting, int timeout_ms)
{
    struct pollfd fds[POLLFDS_MAX];
    fds[0] = (struct pollfd){.fd = hosting->listener, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = hosting->own, .events = POLLIN};
    int count = 2 + tern__hub_pollfds(hosting->hub, fds + 2, POLLFDS_MAX - 2);
    if (poll(fds, (nfds_t)count, timeout_ms) > 0) {
        if (fds[0].revents != 0) {
            accept_all(hosting);
        }
        for (int i = 2; i < count; i++) {
            tern__hub_handle(hosting->hub, &fds[i]);
        }
    }
}

static void pump_hosting(void *arg, int64_t until_ns)
{
    const struct hosting *hosting = arg;
    int64_t expiry = tern__hub_expire(hosting->hub);
    int64_t until = expiry < until_ns ? expiry : until_ns;
    serve(hosting, tern__deadline_ms(until, 60000));
    tern__hub_expire(hosting->hub);
}

// Removes the socket of this job, once: afterwards the path is anybody's.
struct removal {
    const struct meeting *meeting;
    bool done;
};

static void remove_own(void *arg)
{
    struct removal *removal = arg;
    if (!removal->done) {
        unlinkat(removal->meeting->folder, removal->meeting->name, 0);
        removal->done = true;
    }
}

static int host_meeting(const struct meeting *meeting, const struct tern__place *place,
                        struct tern__job **job)
{
    struct hosting hosting;
    int ends[2];
    enum tern__join_progress progress;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socketpair");
    }
    int status = tern__hub_create(place->nranks, NULL, &hosting.hub);
    if (status != TERN_OK) {
        close(ends[0]);
        close(ends[1]);
        return status;
    }
    struct removal removal = {.meeting = meeting};
    hosting.own = ends[1];
    status = tern__hub_add(hosting.hub, ends[0]);
    if (status == TERN_OK) {
        status = listen_there(meeting, &hosting.listener);
    }
    if (status == TERN_OK) {
        tern__hub_before_end(hosting.hub, remove_own, &removal);
        status = tern__join_through(hosting.own, place, pump_hosting, &hosting, &progress, job);
        remove_own(&removal);
        if (status != TERN_OK) { // who stands at the door learns why
            accept_all(&hosting);
            serve(&hosting, 0);
        }
        close(hosting.listener);
    }
    tern__hub_destroy(hosting.hub);
    close(ends[1]);
    return status;
}

// After rank 0 has died: nothing of the job stays behind. A dying process may have closed its
// connections and still listen for a moment.
static void remove_stale(const struct meeting *meeting)
{
    for (int tries = 0; tries < 200; tries++) {
        int status = lock_folder(meeting);
        if (status == TERN_OK) {
            status = clear_path(meeting); // removes only a socket that nobody listens on
            unlock_folder(meeting);
        }
        if (status != TERN_ERR_REFUSED) {
            return;
        }
        nap(TERN_NS_PER_MS);
    }
}

// Waits until something changes in the folder, or for a moment (listen() after bind() makes no
// event).
static void await_change(int watch, int moment_ms)
{
    struct pollfd fd = {.fd = watch, .events = POLLIN};
    if (watch < 0) {
        nap(moment_ms * TERN_NS_PER_MS);
    } else if (poll(&fd, 1, moment_ms) > 0) {
        char events[4096];
        while (read(watch, events, sizeof events) > 0) {
        }
    }
}

static bool is_no_socket(const struct meeting *meeting)
{
    struct stat state;
    return fstatat(meeting->folder, meeting->name, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISSOCK(state.st_mode);
}

static int attend_meeting(const struct meeting *meeting, struct tern__place *place,
                          struct tern__job **job)
{
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d", meeting->folder);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch >= 0) {
        inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO);
    }
    int status = TERN_ERR_TIMEOUT;
    bool done = false;
    for (int moment_ms = 1; !done;
         moment_ms = moment_ms < RETRY_MAX_MS ? 2 * moment_ms : RETRY_MAX_MS) {
        int fd = try_connect(meeting);
        if (fd >= 0) {
            enum tern__join_progress progress;
            place->timeout_ns = meeting->deadline_ns - tern__now_ns();
            place->timeout_ns = place->timeout_ns > 0 ? place->timeout_ns : 1;
            status = tern__join_through(fd, place, NULL, NULL, &progress, job);
            close(fd);
            if (progress == TERN__JOIN_ACCEPTED && status == TERN_ERR_PEER) {
                remove_stale(meeting);
                status = tern__fail(TERN_ERR_PEER, "rank 0 died before the job was complete");
            }
            // A hub that closed before it took this rank in belonged to a job that is complete.
            done = progress != TERN__JOIN_UNHEARD || status != TERN_ERR_PEER;
        } else if (errno == ECONNREFUSED && is_no_socket(meeting)) {
            status = refuse_path(meeting);
            done = true;
        } else if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN) {
            status = tern__fail_errno(TERN_ERR_REFUSED, "the rendezvous path '%s' cannot be used",
                                      meeting->path);
            done = true;
        }
        if (!done && tern__now_ns() >= meeting->deadline_ns) {
            remove_stale(meeting); // of a rank 0 that died before it had heard of this rank
            status = tern__fail(TERN_ERR_TIMEOUT,
                                "rank 0 did not come to the rendezvous path '%s' "
                                "in time",
                                meeting->path);
            done = true;
        }
        if (!done) {
            await_change(watch, moment_ms);
        }
    }
    if (watch >= 0) {
        close(watch);
    }
    return status;
}

int tern__join_at(int rank, int nranks, const char *path, int64_t timeout_ns,
                  struct tern__job **job)
{
    struct tern__place place = {.rank = rank, .nranks = nranks, .timeout_ns = timeout_ns};
    struct meeting meeting;
    TERN_TRY(open_meeting(path, timeout_ns, &meeting));
    int status =
        rank == 0 ? host_meeting(&meeting, &place, job) : attend_meeting(&meeting, &place, job);
    if (status == TERN_OK) {
        (*job)->timeout_ns = timeout_ns; // not what was left of it
    }
    close(meeting.folder);
    return status;
}
