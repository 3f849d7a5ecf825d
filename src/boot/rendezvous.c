// SPDX-License-Identifier: Apache-2.0
// Meeting at a path. Rank 0 listens on a Unix socket there and is the hub; the others connect.

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/hub.h"
#include "boot/join.h"
#include "boot/meeting.h"
#include "sync/reach.h"

enum { POLLFDS_MAX = 6 * TERN_RANKS_MAX, RETRY_MAX_MS = 20, STALE_PATIENCE_MS = 200 };

struct hosting {
    struct tern__hub *hub;
    int listener;
    int own;              // rank 0's own end of its connection to the hub
    const int *processes; // NULL: not known
    int nranks;
};

static int has_ended(const char *name)
{
    return tern__fail(TERN_ERR_PEER, "%s ended before the job was complete", name);
}

static bool is_over(int process)
{
    struct pollfd fd = {.fd = process, .events = POLLIN};
    return process == TERN__JOIN_GONE || (process >= 0 && poll(&fd, 1, 0) > 0);
}

static void accept_all(const struct hosting *hosting)
{
    int fd;
    while ((fd = accept4(hosting->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        tern__hub_add(hosting->hub, fd); // who is refused is told, or sees its socket close
    }
}

// While they gather: gives up when one of the others has ended. Returns how many descriptors tell
// that.
static int look_after_others(const struct hosting *hosting, struct pollfd *fds)
{
    bool gathers = !tern__hub_complete(hosting->hub) && !tern__hub_welcomes(hosting->hub);
    int count = 0;
    for (int rank = 0; hosting->processes != NULL && gathers && rank < hosting->nranks; rank++) {
        if (is_over(hosting->processes[rank])) {
            char name[24];
            snprintf(name, sizeof name, "rank %d", rank);
            int status = has_ended(name);
            tern__hub_give_up(hosting->hub, status, tern_last_error());
            return 0;
        }
        fds[count++] = (struct pollfd){.fd = hosting->processes[rank], .events = POLLIN};
    }
    return count;
}

// Waits for something to happen and handles it.
static void serve(const struct hosting *hosting, int timeout_ms)
{
    struct pollfd fds[POLLFDS_MAX];
    fds[0] = (struct pollfd){.fd = hosting->listener, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = hosting->own, .events = POLLIN};
    int count = 2 + tern__hub_pollfds(hosting->hub, fds + 2, POLLFDS_MAX - 2);
    count += look_after_others(hosting, fds + count);
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
                        const struct tern__machines *machines, const int *processes,
                        struct tern__job **job)
{
    struct hosting hosting = {.processes = processes, .nranks = place->nranks};
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
    if (machines != NULL) {
        tern__hub_place(hosting.hub, machines);
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
        while (tern__hub_welcomes(hosting.hub)) { // the others too
            pump_hosting(&hosting, INT64_MAX);
        }
        remove_own(&removal);
        if (status != TERN_OK) { // who stands at the door learns why, and who comes later
            char why[TERN__REASON_BYTES];
            snprintf(why, sizeof why, "%.500s", tern_last_error());
            accept_all(&hosting);
            serve(&hosting, 0);
            tern__meeting_leave_reason(meeting, why);
            status = tern__fail(status, "%s", why);
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

// What a rank has seen at the path while it waited, for the sentence at its deadline.
struct attendance {
    const struct tern__meeting *meeting;
    struct tern__place *place;
    int host;
    const int *processes; // as in tern__join_machine; NULL: not known, and the host may come again
    struct tern__finding last;
    bool unheard;                    // a hub closed before it took this rank in
    char reason[TERN__REASON_BYTES]; // the last one seen, or ""
};

// Says HELLO on a connection. *done: no further attempt makes sense.
static int attend_through(struct attendance *attendance, bool *done, struct tern__job **job)
{
    const struct tern__meeting *meeting = attendance->meeting;
    struct tern__place *place = attendance->place;
    enum tern__join_progress progress;
    place->timeout_ns = meeting->deadline_ns - tern__now_ns();
    place->timeout_ns = place->timeout_ns > 0 ? place->timeout_ns : 1;
    int status = tern__join_through(attendance->last.fd, place, NULL, NULL, &progress, job);
    // A hub that closed before it took this rank in belonged to a job that is complete.
    attendance->unheard = progress == TERN__JOIN_UNHEARD && status == TERN_ERR_PEER;
    *done = !attendance->unheard;
    if (progress == TERN__JOIN_ACCEPTED && status == TERN_ERR_PEER) {
        tern__meeting_remove_stale(meeting, STALE_PATIENCE_MS);
        return tern__fail(TERN_ERR_PEER, "%s died before the job was complete", place->host);
    }
    return status;
}

// At the deadline: what is known, and no more.
static int attended_in_vain(const struct attendance *attendance)
{
    const char *path = attendance->meeting->path;
    const char *host = attendance->place->host;
    int rank = attendance->place->rank;
    double waited_s = (double)attendance->meeting->timeout_ns * 1e-9;
    if (attendance->reason[0] != '\0') {
        return tern__fail(TERN_ERR_TIMEOUT,
                          "%s came to the rendezvous path '%s' and its %s; it did not come "
                          "again in the %.3g s that rank %d waited",
                          host, path, attendance->reason, waited_s, rank);
    }
    if (attendance->last.found == TERN__FOUND_BUSY) {
        return tern__fail(TERN_ERR_TIMEOUT,
                          "%s listens at the rendezvous path '%s', but in the %.3g s that rank "
                          "%d waited it took in none of the many that want to join",
                          host, path, waited_s, rank);
    }
    return tern__fail(TERN_ERR_TIMEOUT,
                      "%s did not come to the rendezvous path '%s' in the %.3g s that rank %d "
                      "waited; %s",
                      host, path, waited_s, rank,
                      attendance->unheard
                          ? "what listened there meanwhile ended, or went on without this rank"
                          : "if it came earlier, it has given up and is gone");
}

// The host has, and who made it give up may have, too.
static int others_have_ended(const struct attendance *attendance)
{
    char names[16 * TERN_RANKS_MAX];
    size_t used = 0;
    for (int rank = 0; rank < attendance->place->nranks; rank++) {
        if (is_over(attendance->processes[rank])) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%srank %d",
                                     used > 0 ? ", " : "", rank);
        }
    }
    return has_ended(names);
}

// Tries until the deadline. watch: an inotify descriptor of the folder, or -1.
static int attend_until_deadline(struct attendance *attendance, int watch, struct tern__job **job)
{
    const struct tern__meeting *meeting = attendance->meeting;
    struct tern__finding *last = &attendance->last;
    for (int moment_ms = 1;; moment_ms = moment_ms < RETRY_MAX_MS ? 2 * moment_ms : RETRY_MAX_MS) {
        bool over =
            attendance->processes != NULL &&
            is_over(attendance->processes[attendance->host]); // what it has left is there then
        TERN_TRY(tern__meeting_connect(meeting, last));
        if (last->found == TERN__FOUND_SERVED) {
            bool done;
            int status = attend_through(attendance, &done, job);
            close(last->fd);
            if (done) {
                return status;
            }
        } else if (last->found == TERN__FOUND_REASON) {
            memcpy(attendance->reason, last->reason, sizeof attendance->reason);
        }
        if (last->found == TERN__FOUND_REASON && attendance->processes != NULL) {
            return tern__fail(TERN_ERR_PEER, "%s came, and its %s", attendance->place->host,
                              attendance->reason);
        }
        if (over) {
            tern__meeting_remove_stale(meeting, 0);
            return others_have_ended(attendance);
        }
        if (tern__now_ns() >= meeting->deadline_ns) {
            // Of a rank 0 that died before it had heard of this rank.
            tern__meeting_remove_stale(meeting, 0);
            return attended_in_vain(attendance);
        }
        int left_ms = tern__deadline_ms(meeting->deadline_ns, moment_ms);
        await_change(watch, left_ms);
    }
}

static int attend_meeting(const struct tern__meeting *meeting, struct tern__place *place,
                          const int *processes, int host, struct tern__job **job)
{
    struct attendance attendance = {.meeting = meeting,
                                    .place = place,
                                    .host = host,
                                    .processes = processes};
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/self/fd/%d", meeting->folder);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch >= 0) {
        inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO);
    }
    int status = attend_until_deadline(&attendance, watch, job);
    if (watch >= 0) {
        close(watch);
    }
    return status;
}

// host: the rank that the others meet.
static int join_meeting(struct tern__place *place, const char *path,
                        const struct tern__machines *machines, const int *processes, int host,
                        struct tern__job **job)
{
    struct tern__meeting meeting;
    int64_t timeout_ns = place->timeout_ns;
    TERN_TRY(tern__meeting_open(path, timeout_ns, &meeting));
    tern__reach_allow(0);
    int status = place->rank == host ? host_meeting(&meeting, place, machines, processes, job)
                                     : attend_meeting(&meeting, place, processes, host, job);
    if (status == TERN_OK) {
        (*job)->timeout_ns = timeout_ns; // not what was left of it
    }
    tern__meeting_close(&meeting);
    return status;
}

int tern__join_at(int rank, int nranks, const char *path, int64_t timeout_ns,
                  struct tern__job **job)
{
    struct tern__place place = {.rank = rank,
                                .nranks = nranks,
                                .timeout_ns = timeout_ns,
                                .whole_ns = timeout_ns,
                                .host = "rank 0"};
    return join_meeting(&place, path, NULL, NULL, 0, job);
}

int tern__join_machine(struct tern__place *place, const char *path,
                       const struct tern__machines *machines, const int *processes,
                       struct tern__job **job)
{
    char host[24];
    int leader = machines->list[machines->mine].leader;
    snprintf(host, sizeof host, "rank %d", leader);
    place->whole_ns = place->timeout_ns;
    place->host = host;
    return join_meeting(place, path, machines, processes, leader, job);
}
