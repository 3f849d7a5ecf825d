// SPDX-License-Identifier: Apache-2.0
// The hub: one gathering at a time, each with an all-or-nothing end.

#include "boot/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "boot/env.h"
#include "boot/peer.h"
#include "boot/wire.h"
#include "mem/memfd.h"
#include "sync/group.h"
#include "sync/job.h"
#include "sync/record_text.h"

#define CONNECTIONS_MAX (4 * TERN_RANKS_MAX)
#define FULL_RETRY_NS (2 * TERN_NS_PER_MS)

struct connection {
    int fd;
    int rank; // of its last HELLO, or -1
};

struct member {
    bool here;     // its HELLO is part of the present gathering
    bool answered; // with WELCOME, while others still wait for theirs
    bool ended;    // the launcher has seen its process end
    int connection;
    int inbox; // write end
    int pid;
    uint64_t pid_space;
    int64_t deadline_ns;
    int64_t timeout_ns;
    int wait_status;
};

struct tern__hub {
    int nranks;
    bool launched; // connections came from the launcher; HELLOs carry the token
    uint8_t token[16];
    struct tern__ctl *ctl; // of the last complete gathering, or NULL
    int ctl_fd;            // of it, or -1: by it tern_job_report finds the job of a launcher
    bool complete;
    bool welcomes;   // all have come, and some wait for their WELCOME
    int over_status; // of the gathering that failed, at a path; TERN_OK before
    char over_text[TERN__WIRE_TEXT_BYTES];
    int connections_count;
    struct connection connections[CONNECTIONS_MAX];
    struct member members[TERN_RANKS_MAX];
    char refusal[TERN__WIRE_TEXT_BYTES];    // the last one in this gathering
    char failure[TERN__FAILURE_BYTES + 48]; // the first of a communicator; "" for none
    void (*before_end)(void *arg);          // see tern__hub_before_end
    void *before_end_arg;
};

int tern__hub_create(int nranks, const uint8_t token[16], struct tern__hub **hub)
{
    struct tern__hub *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the hub of %d ranks", nranks);
    }
    made->nranks = nranks;
    made->launched = token != NULL;
    made->ctl_fd = -1;
    if (token != NULL) {
        memcpy(made->token, token, sizeof made->token);
    } else if (tern__token_random(made->token) != TERN_OK) {
        free(made);
        return TERN_ERR_SYSTEM;
    }
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        made->members[rank].inbox = -1;
        made->members[rank].connection = -1;
    }
    *hub = made;
    return TERN_OK;
}

static void forget_member(struct member *member)
{
    if (member->inbox >= 0) {
        close(member->inbox);
    }
    member->inbox = -1;
    member->connection = -1;
    member->here = false;
    member->answered = false;
}

// Remembers the first failure of a communicator, which may be of an earlier gathering.
static void note_failure(struct tern__hub *hub)
{
    const struct tern__ctl *ctl = hub->ctl;
    if (ctl != NULL && hub->failure[0] == '\0' &&
        tern__flag_load(&ctl->failure) == TERN__FAILED) { // partner: begin_failure in sync/group.c
        snprintf(hub->failure, sizeof hub->failure, "communicator %d has failed: %.*s",
                 ctl->failure_slot, TERN__FAILURE_BYTES - 1, ctl->failure_text);
    }
}

static void forget_ctl(struct tern__hub *hub)
{
    note_failure(hub);
    tern__memfd_unmap(hub->ctl, sizeof *hub->ctl);
    if (hub->ctl_fd >= 0) {
        close(hub->ctl_fd);
    }
    hub->ctl = NULL;
    hub->ctl_fd = -1;
}

void tern__hub_destroy(struct tern__hub *hub)
{
    if (hub == NULL) {
        return;
    }
    for (int rank = 0; rank < hub->nranks; rank++) {
        forget_member(&hub->members[rank]);
    }
    for (int i = 0; i < hub->connections_count; i++) {
        if (hub->connections[i].fd >= 0) {
            close(hub->connections[i].fd);
        }
    }
    forget_ctl(hub);
    free(hub);
}

static void refuse(int fd, int status, const char *text)
{
    struct tern__message answer = tern__wire_message(TERN__WIRE_REFUSED);
    answer.status = status;
    snprintf(answer.text, sizeof answer.text, "%s", text);
    tern__wire_send(fd, &answer, NULL, 0); // a peer that is gone needs no answer
}

void tern__hub_before_end(struct tern__hub *hub, void (*before_end)(void *arg), void *arg)
{
    hub->before_end = before_end;
    hub->before_end_arg = arg;
}

int tern__hub_add(struct tern__hub *hub, int fd)
{
    if (tern__peer_check(fd, "wants to join the job") != TERN_OK) {
        tern__log(TERN__LOG_WARN, "hub: %s", tern_last_error());
        refuse(fd, TERN_ERR_REFUSED, tern_last_error());
        close(fd);
        return TERN_ERR_REFUSED;
    }
    int slot = 0;
    while (slot < hub->connections_count && hub->connections[slot].fd >= 0) {
        slot++;
    }
    if (slot == CONNECTIONS_MAX) {
        close(fd);
        return tern__fail(TERN_ERR_LIMIT, "more than %d processes try to join the job",
                          CONNECTIONS_MAX);
    }
    hub->connections_count += slot == hub->connections_count;
    hub->connections[slot] = (struct connection){.fd = fd, .rank = -1};
    return TERN_OK;
}

int tern__hub_pollfds(const struct tern__hub *hub, struct pollfd *fds, int capacity)
{
    int count = 0;
    for (int i = 0; i < hub->connections_count && count < capacity; i++) {
        if (hub->connections[i].fd >= 0) {
            fds[count++] = (struct pollfd){.fd = hub->connections[i].fd, .events = POLLIN};
        }
    }
    return count;
}

static void close_connection(struct connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
    connection->rank = -1;
}

static void announce_end(struct tern__hub *hub)
{
    if (hub->before_end != NULL) {
        hub->before_end(hub->before_end_arg);
    }
}

// Ends the gathering for everybody in it.
static void fail_gathering(struct tern__hub *hub, int status, const char *text)
{
    tern__log(TERN__LOG_INFO, "hub: %s", text);
    announce_end(hub);
    for (int rank = 0; rank < hub->nranks; rank++) {
        struct member *member = &hub->members[rank];
        if (member->here && !member->answered) {
            refuse(hub->connections[member->connection].fd, status, text);
        }
        if (member->here) {
            forget_member(member);
        }
    }
    hub->refusal[0] = '\0';
    if (!hub->launched) { // this process gives up: who belongs to the job and comes late learns why
        hub->over_status = status;
        snprintf(hub->over_text, sizeof hub->over_text, "%s", text);
    }
}

static void list_missing(const struct tern__hub *hub, char *text, size_t size)
{
    int count = 0;
    char ranks[256] = "";
    for (int rank = 0; rank < hub->nranks; rank++) {
        if (!hub->members[rank].here) {
            size_t used = strlen(ranks);
            snprintf(ranks + used, sizeof ranks - used, "%s%d", count++ == 0 ? "" : ", ", rank);
        }
    }
    snprintf(text, size, "%s %s", count == 1 ? "rank" : "ranks", ranks);
}

// Makes the control memory of a full gathering. Every rank counts as alive from here on, so that a
// death before it has looked at its answer is noticed too.
static int make_ctl(struct tern__hub *hub, int *fd)
{
    size_t size = tern__round_up(sizeof(struct tern__ctl), tern__page_bytes());
    TERN_TRY(tern__memfd_create("tern-control", size, false, fd));
    void *base;
    int status = tern__memfd_map(*fd, size, &base);
    if (status != TERN_OK) {
        close(*fd);
        return status;
    }
    forget_ctl(hub);
    struct tern__ctl *ctl = base;
    hub->ctl = ctl;
    hub->ctl_fd = *fd;
    ctl->magic = TERN__CTL_MAGIC;
    ctl->abi = TERN__CTL_ABI;
    ctl->nranks = (uint32_t)hub->nranks;
    tern__poke(&ctl->slots[0], 1);
    tern__poke(&ctl->comms[0].holders, (uint32_t)hub->nranks);
    for (int rank = 0; rank < hub->nranks; rank++) {
        tern__poke(&ctl->ranks[rank].pid, (uint32_t)hub->members[rank].pid);
        atomic_store_explicit(&ctl->ranks[rank].pid_space, hub->members[rank].pid_space,
                              memory_order_relaxed);
        tern__publish(&ctl->ranks[rank].state, TERN__RANK_ACTIVE);
    }
    return TERN_OK;
}

// The member of the gathering whose deadline comes first, or -1.
static int most_urgent(const struct tern__hub *hub)
{
    int first = -1;
    for (int rank = 0; rank < hub->nranks; rank++) {
        const struct member *member = &hub->members[rank];
        if (member->here && !member->answered &&
            (first < 0 || member->deadline_ns < hub->members[first].deadline_ns)) {
            first = rank;
        }
    }
    return first;
}

// Too many descriptors were in flight until a deadline: the ranks that have been welcomed learn it from
// the communicator, the others from their answer.
static void fail_welcome(struct tern__hub *hub, int rank)
{
    tern__wire_stayed_full(hub->members[rank].timeout_ns);
    hub->welcomes = false;
    tern__ctl_comm_fail(hub->ctl, 0, TERN_ERR_SYSTEM, -1, tern_last_error());
    fail_gathering(hub, TERN_ERR_SYSTEM, tern_last_error());
}

// Answers those that have no answer yet, as far as the limit of descriptors in flight allows. Returns when
// to go on, or INT64_MAX.
static int64_t welcome_more(struct tern__hub *hub)
{
    int fds[TERN__WIRE_FDS_MAX] = {hub->ctl_fd};
    for (int rank = 0; rank < hub->nranks; rank++) {
        fds[rank + 1] = hub->members[rank].inbox;
    }
    for (int rank = 0; rank < hub->nranks; rank++) {
        struct member *member = &hub->members[rank];
        struct tern__message answer = tern__wire_message(TERN__WIRE_WELCOME);
        answer.rank = rank;
        answer.nranks = hub->nranks;
        memcpy(answer.token, hub->token, sizeof answer.token);
        int fd = hub->connections[member->connection].fd;
        if (!member->answered && tern__wire_send(fd, &answer, fds, hub->nranks + 1) != 0) {
            if (tern__wire_is_full()) {
                int urgent = most_urgent(hub);
                int64_t now_ns = tern__now_ns();
                if (now_ns < hub->members[urgent].deadline_ns) {
                    return now_ns + FULL_RETRY_NS;
                }
                fail_welcome(hub, urgent);
                return INT64_MAX;
            }
            tern__ctl_mark_dead(hub->ctl, rank);
        }
        member->answered = true;
    }
    for (int rank = 0; rank < hub->nranks; rank++) {
        forget_member(&hub->members[rank]);
    }
    hub->welcomes = false;
    hub->complete = true;
    hub->refusal[0] = '\0';
    return INT64_MAX;
}

static void finish_gathering(struct tern__hub *hub)
{
    int fd;
    if (make_ctl(hub, &fd) != TERN_OK) {
        fail_gathering(hub, TERN_ERR_MEMORY, tern_last_error());
        return;
    }
    announce_end(hub);
    hub->welcomes = true;
    welcome_more(hub);
}

// Why a HELLO with these descriptors cannot be accepted, in `text`; false when it can.
static bool unacceptable(const struct tern__hub *hub, const struct tern__message *hello,
                         const int *fds, int count, char *text, size_t size)
{
    if (hello->kind != TERN__WIRE_HELLO || count != 1) {
        snprintf(text, size, "the job's hub got a message that is no HELLO");
    } else if (tern__peer_check(fds[0], "made the inbox of a rank") != TERN_OK) {
        // A launcher's socket says who made it, which is the launcher; an inbox who the rank is.
        snprintf(text, size, "%s", tern_last_error());
    } else if (hub->launched && memcmp(hello->token, hub->token, sizeof hub->token) != 0) {
        snprintf(text, size, "process %d has the token of another job", hello->pid);
    } else if (hello->nranks != hub->nranks) {
        snprintf(text, size, "process %d (rank %d) says that there are %d ranks, the job has %d",
                 hello->pid, hello->rank, hello->nranks, hub->nranks);
    } else if (hello->rank < 0 || hello->rank >= hub->nranks) {
        snprintf(text, size, "process %d says it is rank %d; ranks are 0..%d", hello->pid,
                 hello->rank, hub->nranks - 1);
    } else if (hub->members[hello->rank].here) {
        snprintf(text, size, "process %d says it is rank %d, but process %d is", hello->pid,
                 hello->rank, hub->members[hello->rank].pid);
    } else {
        return false;
    }
    return true;
}

static void describe_end(int rank, int wait_status, char *text, size_t size)
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(text, size, "rank %d was killed by signal %d (%s) before it joined the job", rank,
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    } else {
        snprintf(text, size, "rank %d ended with status %d before it joined the job", rank,
                 WEXITSTATUS(wait_status));
    }
}

// Fails the gathering if it waits for a rank whose process has ended.
static void check_ended(struct tern__hub *hub)
{
    for (int rank = 0; rank < hub->nranks; rank++) {
        if (hub->members[rank].ended && !hub->members[rank].here) {
            char text[160];
            describe_end(rank, hub->members[rank].wait_status, text, sizeof text);
            fail_gathering(hub, TERN_ERR_PEER, text);
            return;
        }
    }
}

static void accept_hello(struct tern__hub *hub, int slot, const struct tern__message *hello,
                         int inbox)
{
    struct member *member = &hub->members[hello->rank];
    hub->complete = false;
    hub->connections[slot].rank = hello->rank;
    member->here = true;
    member->connection = slot;
    member->inbox = inbox;
    member->pid = hello->pid;
    member->pid_space = hello->pid_space;
    member->timeout_ns = hello->timeout_ns;
    member->deadline_ns = tern__deadline_after(hello->timeout_ns);
    struct tern__message accepted = tern__wire_message(TERN__WIRE_ACCEPTED);
    tern__wire_send(hub->connections[slot].fd, &accepted, NULL, 0);
    int here = 0;
    for (int rank = 0; rank < hub->nranks; rank++) {
        here += hub->members[rank].here;
    }
    if (here == hub->nranks) {
        finish_gathering(hub);
    } else {
        check_ended(hub);
    }
}

static void connection_closed(struct tern__hub *hub, int slot)
{
    int rank = hub->connections[slot].rank;
    bool gathered = rank >= 0 && hub->members[rank].here && hub->members[rank].connection == slot;
    if (gathered && hub->welcomes) { // it is part of the job already
        if (!hub->members[rank].answered) {
            tern__ctl_mark_dead(hub->ctl, rank);
            hub->members[rank].answered = true;
        }
        gathered = false;
    }
    if (gathered) {
        forget_member(&hub->members[rank]);
    }
    close_connection(&hub->connections[slot]);
    if (gathered && !hub->launched) { // a launcher soon says more: tern__hub_rank_ended
        char text[128];
        snprintf(text, sizeof text, "rank %d died before the job was complete", rank);
        fail_gathering(hub, TERN_ERR_PEER, text);
    }
}

void tern__hub_handle(struct tern__hub *hub, const struct pollfd *fd)
{
    int slot = 0;
    while (slot < hub->connections_count && hub->connections[slot].fd != fd->fd) {
        slot++;
    }
    if (slot == hub->connections_count || fd->fd < 0 || fd->revents == 0) {
        return;
    }
    int rank = hub->connections[slot].rank;
    if ((hub->complete || (hub->welcomes && rank < 0)) &&
        !hub->launched) { // who comes now is for the next job at the path
        close_connection(&hub->connections[slot]);
        return;
    }
    struct tern__message hello;
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    int got = tern__wire_receive(fd->fd, &hello, fds, &count);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got == 0) {
        connection_closed(hub, slot);
        return;
    }
    if (got < 0) {
        bool limit = errno == EMFILE;
        refuse(fd->fd, limit ? TERN_ERR_SYSTEM : TERN_ERR_REFUSED,
               limit ? "the job's hub has reached its limit of open files (ulimit -n)"
                     : "the job's hub runs another version of tern");
        connection_closed(hub, slot);
        return;
    }
    if (unacceptable(hub, &hello, fds, count, hub->refusal, sizeof hub->refusal)) {
        for (int i = 0; i < count; i++) {
            close(fds[i]);
        }
        refuse(fd->fd, TERN_ERR_REFUSED, hub->refusal);
        if (!hub->launched) { // the launcher's connections serve the rank's next program too
            close_connection(&hub->connections[slot]);
        }
        return;
    }
    if (hub->over_status != TERN_OK) {
        close(fds[0]);
        refuse(fd->fd, hub->over_status, hub->over_text);
        close_connection(&hub->connections[slot]);
        return;
    }
    accept_hello(hub, slot, &hello, fds[0]);
}

int64_t tern__hub_expire(struct tern__hub *hub)
{
    if (hub->welcomes) {
        return welcome_more(hub);
    }
    int first = most_urgent(hub);
    if (first < 0) {
        return INT64_MAX;
    }
    if (tern__now_ns() < hub->members[first].deadline_ns) {
        return hub->members[first].deadline_ns;
    }
    char missing[300];
    char text[TERN__WIRE_TEXT_BYTES];
    list_missing(hub, missing, sizeof missing);
    bool refused = hub->refusal[0] != '\0';
    snprintf(text, sizeof text, "%s did not come within %.3g s%s%.150s%s", missing,
             (double)hub->members[first].timeout_ns * 1e-9, refused ? " (refused: " : "",
             hub->refusal, refused ? ")" : "");
    fail_gathering(hub, TERN_ERR_TIMEOUT, text);
    return INT64_MAX;
}

bool tern__hub_complete(const struct tern__hub *hub)
{
    return hub->complete;
}

bool tern__hub_welcomes(const struct tern__hub *hub)
{
    return hub->welcomes;
}

bool tern__hub_rank_ended(struct tern__hub *hub, int rank, int wait_status)
{
    struct member *member = &hub->members[rank];
    member->ended = true;
    member->wait_status = wait_status;
    bool died = false;
    if (hub->ctl != NULL) {
        struct tern__ctl_rank *slot = &hub->ctl->ranks[rank];
        tern__poke(&slot->wait_status, (uint32_t)wait_status);
        tern__publish(&slot->ended, TERN__END_STATUS); // partner: tern__ctl_death_text
        tern__ctl_mark_dead(hub->ctl, rank);
        died = tern__flag_load(&slot->state) == TERN__RANK_DEAD;
    }
    if (hub->welcomes) { // the control memory says it to all
        member->answered = true;
        return died;
    }
    bool gathering = member->here;
    for (int other = 0; other < hub->nranks; other++) {
        gathering = gathering || hub->members[other].here;
    }
    if (member->here) {
        forget_member(member);
    }
    if (gathering) {
        check_ended(hub);
    }
    return died;
}

int tern__hub_first_dead(const struct tern__hub *hub)
{
    return hub->ctl != NULL ? tern__ctl_first_dead(hub->ctl) : -1;
}

bool tern__hub_rank_is_in(const struct tern__hub *hub, int rank, char *text, size_t size)
{
    return hub->ctl != NULL && tern__record_open_text(hub->ctl, rank, text, size);
}

const char *tern__hub_failure(struct tern__hub *hub)
{
    note_failure(hub);
    return hub->failure;
}

int tern__hub_rank_process(const struct tern__hub *hub, int rank)
{
    return hub->members[rank].pid;
}
