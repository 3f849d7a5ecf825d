// SPDX-License-Identifier: Apache-2.0
// The hub: one gathering at a time, each with an all-or-nothing end.

#include "boot/hub_state.h"

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
#include "sync/doing.h"
#include "sync/job.h"
#include "sync/record_text.h"

int tern__hub_create(int nranks, const uint8_t token[16], struct tern__hub **hub)
{
    struct tern__hub *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the hub of %d ranks", nranks);
    }
    made->nranks = nranks;
    made->here = nranks < 64 ? (UINT64_C(1) << nranks) - 1 : UINT64_MAX;
    made->launched = token != NULL;
    made->ctl_fd = -1;
    if (token != NULL) {
        memcpy(made->token, token, sizeof made->token);
    } else if (tern__token_random(made->token) != TERN_OK) {
        free(made);
        return TERN_ERR_SYSTEM;
    }
    memcpy(made->job_token, made->token, sizeof made->job_token);
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        made->members[rank].inbox = -1;
        made->members[rank].connection = -1;
    }
    *hub = made;
    return TERN_OK;
}

void tern__hub_destroy(struct tern__hub *hub)
{
    if (hub == NULL) {
        return;
    }
    for (int rank = 0; rank < hub->nranks; rank++) {
        tern__hub_forget_member(&hub->members[rank]);
    }
    for (int i = 0; i < hub->connections_count; i++) {
        if (hub->connections[i].fd >= 0) {
            close(hub->connections[i].fd);
        }
    }
    tern__hub_forget_ctl(hub);
    free(hub);
}

void tern__hub_place(struct tern__hub *hub, const struct tern__machines *machines)
{
    hub->machines = *machines;
    hub->here = machines->list[machines->mine].ranks;
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
        tern__hub_refuse(fd, TERN_ERR_REFUSED, tern_last_error());
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
    hub->connections[slot] = (struct tern__connection){.fd = fd, .rank = -1};
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

static void close_connection(struct tern__connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
    connection->rank = -1;
}

static void list_missing(const struct tern__hub *hub, char *text, size_t size)
{
    int count = 0;
    char ranks[256] = "";
    for (int rank = 0; rank < hub->nranks; rank++) {
        if ((hub->here >> rank & 1) != 0 && !hub->members[rank].here) {
            size_t used = strlen(ranks);
            snprintf(ranks + used, sizeof ranks - used, "%s%d", count++ == 0 ? "" : ", ", rank);
        }
    }
    snprintf(text, size, "%s %s", count == 1 ? "rank" : "ranks", ranks);
}

// Why a HELLO with these descriptors cannot be accepted, in `text`; false when it can.
static bool unacceptable(const struct tern__hub *hub, const struct tern__wire_message *hello,
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
    } else if ((hub->here >> hello->rank & 1) == 0) {
        snprintf(text, size, "process %d says it is rank %d, which is on another machine",
                 hello->pid, hello->rank);
    } else if (hub->members[hello->rank].here) {
        snprintf(text, size, "process %d says it is rank %d, but process %d is", hello->pid,
                 hello->rank, hub->members[hello->rank].pid);
    } else {
        return false;
    }
    return true;
}

void tern__hub_describe_end(int rank, int wait_status, char *text, size_t size)
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
    for (int rank = 0; rank < hub->nranks && !hub->spread; rank++) {
        if (hub->members[rank].ended && !hub->members[rank].here) {
            char text[160];
            tern__hub_describe_end(rank, hub->members[rank].wait_status, text, sizeof text);
            tern__hub_fail_gathering(hub, TERN_ERR_PEER, text);
            return;
        }
    }
}

uint64_t tern__hub_here(const struct tern__hub *hub)
{
    uint64_t here = 0;
    for (int rank = 0; rank < hub->nranks; rank++) {
        here |= hub->members[rank].here ? UINT64_C(1) << rank : 0;
    }
    return here;
}

static void accept_hello(struct tern__hub *hub, int slot, const struct tern__wire_message *hello,
                         int inbox)
{
    struct tern__member *member = &hub->members[hello->rank];
    hub->complete = false;
    hub->connections[slot].rank = hello->rank;
    member->here = true;
    member->connection = slot;
    member->inbox = inbox;
    member->pid = hello->pid;
    member->port = hello->port;
    member->pid_space = hello->pid_space;
    member->timeout_ns = hello->timeout_ns;
    member->deadline_ns = tern__deadline_after(hello->timeout_ns);
    struct tern__wire_message accepted = tern__wire_message(TERN__WIRE_ACCEPTED);
    tern__wire_send(hub->connections[slot].fd, &accepted, NULL, 0);
    if (hub->spread) {
        hub->changed(hub->changed_arg);
    } else if (tern__hub_here(hub) == hub->here) {
        tern__hub_finish_gathering(hub);
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
    if (gathered && !hub->spread && tern__now_ns() >= hub->members[rank].deadline_ns) {
        tern__hub_expire(hub); // it has given up, which this process had no time to see
        return;
    }
    if (gathered) {
        tern__hub_forget_member(&hub->members[rank]);
        if (hub->spread) {
            hub->changed(hub->changed_arg);
        }
    }
    close_connection(&hub->connections[slot]);
    if (gathered && !hub->launched) { // a launcher soon says more: tern__hub_rank_ended
        char text[128];
        snprintf(text, sizeof text, "rank %d died before the job was complete", rank);
        tern__hub_fail_gathering(hub, TERN_ERR_PEER, text);
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
    struct tern__wire_message hello;
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
        tern__hub_refuse(fd->fd, limit ? TERN_ERR_SYSTEM : TERN_ERR_REFUSED,
                         limit ? "the job's hub has reached its limit of open files (ulimit -n)"
                               : "the job's hub runs another version of tern");
        connection_closed(hub, slot);
        return;
    }
    if (unacceptable(hub, &hello, fds, count, hub->refusal, sizeof hub->refusal)) {
        for (int i = 0; i < count; i++) {
            close(fds[i]);
        }
        tern__hub_refuse(fd->fd, TERN_ERR_REFUSED, hub->refusal);
        if (!hub->launched) { // the launcher's connections serve the rank's next program too
            close_connection(&hub->connections[slot]);
        }
        return;
    }
    if (hub->over_status != TERN_OK) {
        close(fds[0]);
        tern__hub_refuse(fd->fd, hub->over_status, hub->over_text);
        close_connection(&hub->connections[slot]);
        return;
    }
    accept_hello(hub, slot, &hello, fds[0]);
}

int64_t tern__hub_expire(struct tern__hub *hub)
{
    if (hub->welcomes) {
        return tern__hub_welcome_more(hub);
    }
    int first = tern__hub_most_urgent(hub);
    if (first < 0 || hub->spread) {
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
    tern__hub_fail_gathering(hub, TERN_ERR_TIMEOUT, text);
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
    struct tern__member *member = &hub->members[rank];
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
    bool gathering = tern__hub_here(hub) != 0;
    if (member->here) {
        tern__hub_forget_member(member);
        if (hub->spread) {
            hub->changed(hub->changed_arg);
        }
    }
    if (gathering) {
        check_ended(hub);
    }
    return died;
}

int tern__hub_blamed(const struct tern__hub *hub)
{
    if (hub->ctl == NULL) {
        return -1;
    }
    int dead = tern__ctl_first_dead(hub->ctl);
    const struct tern__ctl_comm *first = &hub->ctl->comms[0];
    bool told = dead < 0 && tern__flag_load(&first->failed) == TERN__FAILED &&
                first->failed_status == TERN_ERR_PEER; // partner: begin_failure in sync/fail.c
    return !told || first->failed_rank >= hub->nranks ? dead : first->failed_rank;
}

bool tern__hub_rank_is_in(const struct tern__hub *hub, int rank, char *text, size_t size)
{
    return hub->ctl != NULL && tern__record_open_text(hub->ctl, rank, text, size);
}

const char *tern__hub_failure(struct tern__hub *hub)
{
    tern__hub_note_failure(hub);
    return hub->failure;
}

void tern__hub_doing(const struct tern__hub *hub, uint64_t ranks, char *text, size_t size)
{
    text[0] = '\0';
    if (hub->ctl == NULL) {
        return;
    }
    tern__doing_job(hub->ctl, ranks, text, size);
}

const struct tern__ctl *tern__hub_ctl(const struct tern__hub *hub)
{
    return hub->ctl;
}

int tern__hub_rank_process(const struct tern__hub *hub, int rank)
{
    return hub->members[rank].pid;
}
