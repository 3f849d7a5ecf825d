// SPDX-License-Identifier: Apache-2.0
// Meeting at a path. Rank 0 listens on a Unix socket there and is the hub; the others connect.

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/hub.h"
#include "boot/join.h"
#include "boot/meeting.h"

enum { POLLFDS_MAX = 5 * TERN_RANKS_MAX, RETRY_MAX_MS = 20 };

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
    const struct tern__meeting *meeting;
    bool done;
};

static void remove_own(void *arg)
{
    struct removal *removal = arg;
    if (!removal->done) {
        tern__meeting_remove(removal->meeting);
        removal->done = true;
    }
}

static int host_meeting(const struct tern__meeting *meeting, const struct tern__place *place,
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
        status = tern__meeting_listen(meeting, &hosting.listener);
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

// Waits until something changes in the folder, or for a moment (listen() after bind() makes no
// event).
static void await_change(int watch, int moment_ms)
{
    struct pollfd fd = {.fd = watch, .events = POLLIN};
    if (watch < 0) {
        poll(NULL, 0, moment_ms);
    } else if (poll(&fd, 1, moment_ms) > 0) {
        char events[4096];
        while (read(watch, events, sizeof events) > 0) {
        }
    }
}

// Says HELLO on a connection. *done: no further attempt makes sense.
static int attend_through(int fd, const struct tern__meeting *meeting, struct tern__place *place,
                          bool *done, struct tern__job **job)
{
    enum tern__join_progress progress;
    place->timeout_ns = meeting->deadline_ns - tern__now_ns();
    place->timeout_ns = place->timeout_ns > 0 ? place->timeout_ns : 1;
    int status = tern__join_through(fd, place, NULL, NULL, &progress, job);
    // A hub that closed before it took this rank in belonged to a job that is complete.
    *done = progress != TERN__JOIN_UNHEARD || status != TERN_ERR_PEER;
    if (progress == TERN__JOIN_ACCEPTED && status == TERN_ERR_PEER) {
        tern__meeting_remove_stale(meeting);
        return tern__fail(TERN_ERR_PEER, "rank 0 died before the job was complete");
    }
    return status;
}

static int attend_meeting(const struct tern__meeting *meeting, struct tern__place *place,
                          struct tern__job **job)
{
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d", meeting->folder);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch >= 0) {
        inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO);
    }
    int status = TERN_OK;
    bool done = false;
    for (int moment_ms = 1; !done;
         moment_ms = moment_ms < RETRY_MAX_MS ? 2 * moment_ms : RETRY_MAX_MS) {
        enum tern__found found;
        int fd;
        status = tern__meeting_connect(meeting, &found, &fd);
        if (status != TERN_OK) {
            break;
        }
        if (found == TERN__FOUND_SERVED) {
            status = attend_through(fd, meeting, place, &done, job);
            close(fd);
        }
        if (!done && tern__now_ns() >= meeting->deadline_ns) {
            // Of a rank 0 that died before it had heard of this rank.
            tern__meeting_remove_stale(meeting);
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
    struct tern__meeting meeting;
    TERN_TRY(tern__meeting_open(path, timeout_ns, &meeting));
    int status =
        rank == 0 ? host_meeting(&meeting, &place, job) : attend_meeting(&meeting, &place, job);
    if (status == TERN_OK) {
        (*job)->timeout_ns = timeout_ns; // not what was left of it
    }
    tern__meeting_close(&meeting);
    return status;
}
