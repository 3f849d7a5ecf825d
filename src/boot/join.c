// SPDX-License-Identifier: Apache-2.0
// The rank's side of the start: HELLO, answer, and the job made from it. The launcher's socket is
// found in the environment; a process that nothing launched is its own hub.

#include "boot/join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/trace.h"
#include "base/process.h"
#include "boot/env.h"
#include "boot/fork.h"
#include "boot/hub.h"
#include "boot/inbox.h"
#include "boot/listen.h"
#include "boot/peer.h"
#include "boot/wire.h"
#include "mem/memfd.h"
#include "sync/alive.h"
#include "sync/reach.h"

// A hub answers at its own deadline, which is ours or earlier, with the names of the missing. When
// our deadline has passed it is given this much more to be scheduled, or half the timeout if that
// is less; nothing if it is stopped.
#define HUB_GRACE_NS (500 * TERN_NS_PER_MS)

// How long to leave others to take descriptors that are in flight, before the next attempt.
#define FULL_RETRY_NS (2 * TERN_NS_PER_MS)

static void watch_processes(struct tern__job *job)
{
    uint64_t own_space = tern__pid_space();
    for (int rank = 0; rank < job->nranks; rank++) {
        struct tern__ctl_rank *peer = &job->ctl->ranks[rank];
        uint64_t space = atomic_load_explicit(&peer->pid_space, memory_order_relaxed);
        job->pidfd[rank] = -1;
        if (rank == job->rank || own_space == 0 || space != own_space ||
            !tern__job_is_here(job, rank)) {
            continue; // elsewhere the number would mean another process
        }
        job->pidfd[rank] = (int)syscall(SYS_pidfd_open, (pid_t)tern__peek(&peer->pid), 0);
        if (job->pidfd[rank] < 0 && errno == ESRCH &&
            tern__flag_load(&peer->state) == TERN__RANK_ACTIVE) {
            tern__job_ended(job, rank);
        }
    }
}

// The peers' inboxes: what this rank writes to them goes to processes of its own user only.
static int check_inboxes(const int *inboxes, uint64_t ranks)
{
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        char does[48];
        snprintf(does, sizeof does, "made the inbox of rank %d", __builtin_ctzll(left));
        TERN_TRY(tern__peer_check(*inboxes++, does));
    }
    return TERN_OK;
}

static int make_job(const struct tern__place *place, const struct tern__wire_message *welcome,
                    const int *fds, int inbox, struct tern__job **job)
{
    struct tern__job *made = calloc(1, sizeof *made);
    void *base = NULL;
    int status = made == NULL ? tern__fail(TERN_ERR_MEMORY, "no memory for the job")
                              : check_inboxes(fds + 1, welcome->here);
    if (status == TERN_OK) {
        status = tern__memfd_map(fds[0], sizeof *made->ctl, &base);
    }
    if (status != TERN_OK) {
        free(made);
        for (int i = 0; i <= __builtin_popcountll(welcome->here); i++) {
            close(fds[i]);
        }
        close(inbox);
        return status;
    }
    made->ctl = base;
    made->ctl_fd = fds[0];
    made->rank = place->rank;
    made->nranks = place->nranks;
    made->timeout_ns = place->timeout_ns;
    made->launched = place->launched;
    memcpy(made->token, welcome->token, sizeof made->token);
    made->inbox = inbox;
    made->here = welcome->here;
    made->machines = made->ctl->machines.count > 1 ? &made->ctl->machines : NULL;
    made->listener = place->listener > 0 ? place->listener : -1;
    for (int rank = 0, next = 1; rank < place->nranks; rank++) {
        made->outbox[rank] = tern__job_is_here(made, rank) ? fds[next++] : -1;
    }
    pthread_mutex_init(&made->inbox_lock, NULL);
    watch_processes(made);
    tern__reach_probe(made);
    tern__job_enter(made);
    tern__fork_watch(made);
    *job = made;
    return TERN_OK;
}

void tern__job_let_go(struct tern__job *job)
{
    pthread_mutex_destroy(&job->inbox_lock);
    tern__life_end(job);
    free(job);
}

void tern__job_leave(struct tern__job *job)
{
    tern__fork_forget(job);
    tern__ctl_mark_left(job->ctl, job->rank);
    tern__inbox_discard(job);
    tern__job_close(job);
    tern__job_let_go(job);
}

// What a rank talks to its hub with.
struct talk {
    int fd;
    const struct tern__place *place;
    int64_t deadline_ns;
    void (*pump)(void *arg, int64_t until_ns);
    void *arg;
};

static void await_event(const struct talk *talk, int64_t until_ns)
{
    if (talk->pump != NULL) {
        talk->pump(talk->arg, until_ns);
    } else {
        struct pollfd wait = {.fd = talk->fd, .events = POLLIN};
        poll(&wait, 1, tern__deadline_ms(until_ns, 60000));
    }
}

// Hands the sending end of the inbox over.
static int say_hello(const struct talk *talk, const struct tern__wire_message *hello, int inbox)
{
    int64_t begin_ns = tern__now_ns();
    bool full = false; // was, in an earlier attempt: that is why the hub has heard nothing
    while (tern__wire_send(talk->fd, hello, &inbox, 1) != 0) {
        int64_t now_ns = tern__now_ns();
        if (!tern__wire_is_full() && !full) {
            return tern__fail_errno(TERN_ERR_PEER, "the hub of the job does not listen any more");
        }
        if (!tern__wire_is_full() || now_ns >= talk->deadline_ns) {
            tern__wire_stayed_full(now_ns - begin_ns);
            return TERN_ERR_SYSTEM;
        }
        full = true;
        await_event(talk, now_ns + FULL_RETRY_NS);
    }
    return TERN_OK;
}

static int send_hello(const struct talk *talk, int *inbox)
{
    const struct tern__place *place = talk->place;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socketpair");
    }
    struct tern__wire_message hello = tern__wire_message(TERN__WIRE_HELLO);
    hello.rank = place->rank;
    hello.nranks = place->nranks;
    hello.pid = (int32_t)getpid();
    hello.pid_space = tern__pid_space();
    hello.timeout_ns = place->timeout_ns;
    hello.port = place->port;
    memcpy(hello.token, place->token, sizeof hello.token);
    int status = say_hello(talk, &hello, ends[1]);
    close(ends[1]);
    if (status != TERN_OK) {
        close(ends[0]);
        return status;
    }
    *inbox = ends[0];
    return TERN_OK;
}

static bool is_stopped(int pid)
{
    char state = pid > 0 ? tern__process_state(pid) : 0;
    return state == 'T' || state == 't';
}

// The hub has said nothing until the deadline.
static int not_answered(const struct talk *talk, bool accepted)
{
    int pid = tern__peer_pid(talk->fd);
    const struct tern__place *place = talk->place;
    int64_t waited_ns = place->whole_ns != 0 ? place->whole_ns : place->timeout_ns;
    return tern__fail(TERN_ERR_TIMEOUT, "%s (process %d) %s, but gave no answer within %.3g s%s",
                      place->host, pid, accepted ? "took this rank in" : "is there and was asked",
                      (double)waited_ns * 1e-9,
                      is_stopped(pid) ? "; it is stopped, by a signal or a debugger" : "");
}

// Until when to wait, when the deadline has passed.
static int64_t grace_end(const struct talk *talk)
{
    int64_t grace_ns = talk->place->timeout_ns / 2;
    grace_ns = grace_ns < HUB_GRACE_NS ? grace_ns : HUB_GRACE_NS;
    return talk->deadline_ns > INT64_MAX - grace_ns ? INT64_MAX : talk->deadline_ns + grace_ns;
}

// Sleeps until there may be an answer. False when it is too late for one.
static bool await_more(const struct talk *talk)
{
    int64_t now_ns = tern__now_ns();
    int64_t until_ns = talk->deadline_ns;
    if (now_ns >= until_ns) {
        until_ns = grace_end(talk);
        if (now_ns >= until_ns || is_stopped(tern__peer_pid(talk->fd))) {
            return false;
        }
    }
    await_event(talk, until_ns);
    return true;
}

// Waits for WELCOME. TERN_ERR_PEER when the hub goes away.
static int await_answer(const struct talk *talk, enum tern__join_progress *progress,
                        struct tern__wire_message *answer, int *fds)
{
    for (;;) {
        int count;
        int got = tern__wire_receive(talk->fd, answer, fds, &count);
        if (got == 1) {
            *progress =
                answer->kind == TERN__WIRE_ACCEPTED ? TERN__JOIN_ACCEPTED : TERN__JOIN_ANSWERED;
        }
        if (got == 1 && answer->kind == TERN__WIRE_WELCOME) {
            return TERN_OK;
        }
        if (got == 1 && answer->kind == TERN__WIRE_REFUSED) {
            int status = answer->status < 0 ? answer->status : TERN_ERR_REFUSED;
            return tern__fail(status, "%s", answer->text);
        }
        if (got == 1) {
            continue;
        }
        if (got == 0) {
            return tern__fail(TERN_ERR_PEER, "the hub of the job went away during the start");
        }
        if (errno == EMFILE) {
            return tern__fail(TERN_ERR_SYSTEM,
                              "this process cannot have the %d descriptors of a job of %d ranks; "
                              "raise the limit of open files (ulimit -n)",
                              answer->nranks + 1, answer->nranks);
        }
        if (errno != EAGAIN) {
            return tern__fail_errno(TERN_ERR_REFUSED, "the job's hub runs another version of tern");
        }
        if (!await_more(talk)) {
            return not_answered(talk, *progress == TERN__JOIN_ACCEPTED);
        }
    }
}

int tern__join_through(int fd, const struct tern__place *place,
                       void (*pump)(void *arg, int64_t until_ns), void *arg,
                       enum tern__join_progress *progress, struct tern__job **job)
{
    struct tern__wire_message answer;
    int fds[TERN__WIRE_FDS_MAX];
    int inbox = -1;
    *progress = TERN__JOIN_UNHEARD;
    struct talk talk = {.fd = fd,
                        .place = place,
                        .deadline_ns = tern__deadline_after(place->timeout_ns),
                        .pump = pump,
                        .arg = arg};
    TERN_TRY(send_hello(&talk, &inbox));
    int status = await_answer(&talk, progress, &answer, fds);
    if (status != TERN_OK) {
        close(inbox);
        return status;
    }
    return make_job(place, &answer, fds, inbox, job);
}

// One of them is enough: half a place is a damaged one, and no reason to run alone.
bool tern__join_is_launched(void)
{
    return getenv(TERN_ENV_RANK) != NULL || getenv(TERN_ENV_NRANKS) != NULL ||
           getenv(TERN_ENV_HUB_FD) != NULL || getenv(TERN_ENV_TOKEN) != NULL;
}

static int read_environment(struct tern__place *place, int *fd)
{
    long rank;
    long nranks;
    long hub;
    if (tern__parse_integer(getenv(TERN_ENV_NRANKS), 1, TERN_RANKS_MAX, &nranks) != 0 ||
        tern__parse_integer(getenv(TERN_ENV_RANK), 0, nranks - 1, &rank) != 0 ||
        tern__parse_integer(getenv(TERN_ENV_HUB_FD), 0, INT32_MAX, &hub) != 0 ||
        tern__token_read(getenv(TERN_ENV_TOKEN), place->token) != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "%s, %s, %s and %s do not describe a place in a job; tern run sets "
                          "all of them (unset them for a job of one rank)",
                          TERN_ENV_RANK, TERN_ENV_NRANKS, TERN_ENV_HUB_FD, TERN_ENV_TOKEN);
    }
    int flags = fcntl((int)hub, F_GETFD);
    if (flags < 0) {
        return tern__fail(TERN_ERR_ARG,
                          "descriptor %ld of %s is closed: the program, or a script "
                          "around it, closed what tern run opened, or a rank that had joined "
                          "started this program (unset %s, %s, %s and %s for a job of its own)",
                          hub, TERN_ENV_HUB_FD, TERN_ENV_RANK, TERN_ENV_NRANKS, TERN_ENV_HUB_FD,
                          TERN_ENV_TOKEN);
    }
    fcntl((int)hub, F_SETFD, flags | FD_CLOEXEC); // children of this program are no ranks
    place->rank = (int)rank;
    place->nranks = (int)nranks;
    *fd = (int)hub;
    return TERN_OK;
}

int tern__join_launched(int64_t timeout_ns, struct tern__job **job)
{
    struct tern__place place = {.timeout_ns = timeout_ns, .launched = true, .host = "the launcher"};
    int fd;
    TERN_TRY(read_environment(&place, &fd));
    // A script may stand between the launcher and this process: then the launcher's own death
    // signal reaches only the script.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    TERN_TRY(tern__peer_check(fd, "is the launcher of this job"));
    tern__trace_join();
    tern__reach_allow(tern__peer_pid(fd));
    if (getenv(TERN_ENV_LISTEN) != NULL) {
        TERN_TRY(tern__listen(&place.listener, &place.port));
    }
    enum tern__join_progress progress;
    int status = tern__join_through(fd, &place, NULL, NULL, &progress, job);
    if (status != TERN_OK && place.listener > 0) {
        close(place.listener);
    }
    return status;
}

static void pump_hub(void *arg, int64_t until_ns)
{
    struct tern__hub *hub = arg;
    int64_t expiry_ns = tern__hub_expire(hub);
    struct pollfd fds[1];
    int count = tern__hub_pollfds(hub, fds, 1);
    until_ns = expiry_ns < until_ns ? expiry_ns : until_ns;
    if (poll(fds, (nfds_t)count, tern__deadline_ms(until_ns, 60000)) == 1) {
        tern__hub_handle(hub, &fds[0]);
    }
}

int tern__join_alone(int64_t timeout_ns, struct tern__job **job)
{
    struct tern__place place = {.rank = 0,
                                .nranks = 1,
                                .timeout_ns = timeout_ns,
                                .host = "this process"};
    struct tern__hub *hub;
    int ends[2];
    enum tern__join_progress progress;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "socketpair");
    }
    int status = tern__hub_create(1, NULL, &hub);
    if (status != TERN_OK) {
        close(ends[0]);
        close(ends[1]);
        return status;
    }
    status = tern__hub_add(hub, ends[0]);
    if (status == TERN_OK) {
        status = tern__join_through(ends[1], &place, pump_hub, hub, &progress, job);
    }
    tern__hub_destroy(hub);
    close(ends[1]);
    return status;
}
