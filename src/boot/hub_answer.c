// SPDX-License-Identifier: Apache-2.0
// How a gathering ends: with WELCOME for all, one after the other, or with a sentence for all.

#include "boot/hub_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "mem/memfd.h"
#include "sync/group.h"

#define FULL_RETRY_NS (2 * TERN_NS_PER_MS)

void tern__hub_forget_member(struct tern__member *member)
{
    if (member->inbox >= 0) {
        close(member->inbox);
    }
    member->inbox = -1;
    member->connection = -1;
    member->here = false;
    member->answered = false;
}

void tern__hub_note_failure(struct tern__hub *hub)
{
    const struct tern__ctl *ctl = hub->ctl;
    if (ctl != NULL && hub->failure[0] == '\0' &&
        tern__flag_load(&ctl->failure) == TERN__FAILED) { // partner: begin_failure in sync/fail.c
        snprintf(hub->failure, sizeof hub->failure, "communicator %d has failed: %.*s",
                 ctl->failure_slot, TERN__FAILURE_BYTES - 1, ctl->failure_text);
    }
}

void tern__hub_forget_ctl(struct tern__hub *hub)
{
    tern__hub_note_failure(hub);
    tern__memfd_unmap(hub->ctl, sizeof *hub->ctl);
    if (hub->ctl_fd >= 0) {
        close(hub->ctl_fd);
    }
    hub->ctl = NULL;
    hub->ctl_fd = -1;
}

void tern__hub_refuse(int fd, int status, const char *text)
{
    struct tern__wire_message answer = tern__wire_message(TERN__WIRE_REFUSED);
    answer.status = status;
    snprintf(answer.text, sizeof answer.text, "%s", text);
    tern__wire_send(fd, &answer, NULL, 0); // a peer that is gone needs no answer
}

static void announce_end(struct tern__hub *hub)
{
    if (hub->before_end != NULL) {
        hub->before_end(hub->before_end_arg);
    }
}

void tern__hub_fail_gathering(struct tern__hub *hub, int status, const char *text)
{
    tern__log(TERN__LOG_INFO, "hub: %s", text);
    announce_end(hub);
    for (int rank = 0; rank < hub->nranks; rank++) {
        struct tern__member *member = &hub->members[rank];
        if (member->here && !member->answered) {
            tern__hub_refuse(hub->connections[member->connection].fd, status, text);
        }
        if (member->here) {
            tern__hub_forget_member(member);
        }
    }
    hub->refusal[0] = '\0';
    if (!hub->launched) { // this process gives up: who belongs to the job and comes late learns why
        hub->over_status = status;
        snprintf(hub->over_text, sizeof hub->over_text, "%s", text);
    }
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
    tern__hub_forget_ctl(hub);
    struct tern__ctl *ctl = base;
    hub->ctl = ctl;
    hub->ctl_fd = *fd;
    tern__ctl_begin(ctl, hub->nranks, hub->here);
    ctl->machines = hub->machines;
    for (int rank = 0; rank < hub->nranks; rank++) {
        tern__ctl_count_alive(ctl, rank, hub->members[rank].pid, hub->members[rank].pid_space);
    }
    return TERN_OK;
}

int tern__hub_most_urgent(const struct tern__hub *hub)
{
    int first = -1;
    for (int rank = 0; rank < hub->nranks; rank++) {
        const struct tern__member *member = &hub->members[rank];
        if (member->here && !member->answered &&
            (first < 0 || member->deadline_ns < hub->members[first].deadline_ns)) {
            first = rank;
        }
    }
    return first;
}

// Too many descriptors were in flight until a deadline: the ranks that have been welcomed learn it
// from the communicator, the others from their answer.
static void fail_welcome(struct tern__hub *hub, int rank)
{
    tern__wire_stayed_full(hub->members[rank].timeout_ns);
    hub->welcomes = false;
    tern__ctl_comm_fail(hub->ctl, 0, TERN_ERR_SYSTEM, -1, tern_last_error());
    tern__hub_fail_gathering(hub, TERN_ERR_SYSTEM, tern_last_error());
}

int64_t tern__hub_welcome_more(struct tern__hub *hub)
{
    int fds[TERN__WIRE_FDS_MAX] = {hub->ctl_fd};
    int count = 1;
    for (uint64_t left = hub->here; left != 0; left &= left - 1) {
        fds[count++] = hub->members[__builtin_ctzll(left)].inbox;
    }
    for (uint64_t left = hub->here; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        struct tern__member *member = &hub->members[rank];
        struct tern__wire_message answer = tern__wire_message(TERN__WIRE_WELCOME);
        answer.rank = rank;
        answer.nranks = hub->nranks;
        answer.here = hub->here;
        memcpy(answer.token, hub->job_token, sizeof answer.token);
        int fd = hub->connections[member->connection].fd;
        if (!member->answered && tern__wire_send(fd, &answer, fds, count) != 0) {
            if (tern__wire_is_full()) {
                int urgent = tern__hub_most_urgent(hub);
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
        tern__hub_forget_member(&hub->members[rank]);
    }
    hub->welcomes = false;
    hub->complete = true;
    hub->refusal[0] = '\0';
    return INT64_MAX;
}

void tern__hub_finish_gathering(struct tern__hub *hub)
{
    int fd;
    if (make_ctl(hub, &fd) != TERN_OK) {
        tern__hub_fail_gathering(hub, TERN_ERR_MEMORY, tern_last_error());
        return;
    }
    announce_end(hub);
    hub->welcomes = true;
    tern__hub_welcome_more(hub);
}
