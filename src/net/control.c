// SPDX-License-Identifier: Apache-2.0
// Communicators with members on several machines. What a machine's members do is told by the one
// that does it to the leaders of the other machines; these store it in their control memory, and
// ring their members.
//
// Barriers: one message a machine and barrier, by whoever comes last there, with the cells of all
// members there (of a plain barrier there are none). Two barriers in a row may be told by two
// ranks, and come in either order: the second one is then kept. A third cannot, since it needs the
// members here to have come to the second, hence the first to have been told.

#include "net/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/state.h"

enum {
    HELLO_MS = 50,     // between a connection and its first words
    DECLINE_MS = 1000, // how long a rank that cannot join waits for those who will connect to it
};

// A cell on its way. (What is sent has no gaps: they would hold what was on the stack.)
struct sent_cell {
    uint64_t rank; // of the communicator
    uint64_t none[7];
    struct tern__cell cell;
};
_Static_assert(sizeof(struct sent_cell) == 64 + sizeof(struct tern__cell), "no gap");

// The members, as ranks of the job.
static uint64_t members_of(const struct tern__group *group)
{
    uint64_t ranks = 0;
    for (int rank = 0; rank < group->size; rank++) {
        ranks |= UINT64_C(1) << group->members[rank];
    }
    return ranks;
}

static int control_flush(struct tern__job *job, bool leaves, const _Atomic uint32_t *failed,
                         int64_t timeout_ns)
{
    // Of a rank that has died or left: the communicator says so, if it is a member.
    int status = tern__net_flush_within(job->net, leaves, failed, timeout_ns);
    tern__flag_add(&job->net->said, 1); // partner: tern__net_receive
    return status == TERN_ERR_PEER ? TERN_OK : status;
}

static void control_see(struct tern__job *job)
{
    (void)tern__flag_load(&job->net->confirmed); // partner: take in receive.c
    tern__net_show_order(job->net);              // partner: tern__net_answer_own
}

static void control_arrived(const struct tern__group *group, uint64_t number)
{
    const struct tern__cell *cells = group->shared->cells[number & 1];
    struct sent_cell sent[TERN_RANKS_MAX];
    size_t count = 0;
    struct tern__net_message message = tern__net_about(group, TERN__NET_ARRIVED);
    message.value = number;
    message.more = group->away;
    for (int rank = 0; rank < group->size; rank++) {
        if (!tern__job_is_here(group->job, group->members[rank])) {
            continue;
        }
        message.key |= UINT64_C(1) << rank;
        if (tern__group_has_stamped(&cells[rank], number)) {
            sent[count++] = (struct sent_cell){.rank = (uint64_t)rank, .cell = cells[rank]};
        }
    }
    message.bytes = count * sizeof sent[0];
    tern__net_tell(group->job->net, members_of(group), &message, sent);
}

static struct tern__net_message failure_of(const struct tern__group *group)
{
    const struct tern__ctl_comm *shared = group->shared;
    struct tern__net_message message = tern__net_about(group, TERN__NET_FAILED);
    message.value = (uint64_t)(int64_t)shared->failed_status;
    message.rank = shared->failed_rank;
    message.key = (uint64_t)tern__ctl_first_dead(group->job->ctl) + 1;
    message.bytes = sizeof shared->failed_text;
    return message;
}

static void control_failed(const struct tern__group *group)
{
    struct tern__net_message message = failure_of(group);
    tern__net_tell(group->job->net, members_of(group), &message, group->shared->failed_text);
}

// Whether it was a rank of the job, by how it began.
static bool decline_one(int fd, struct msghdr *packet)
{
    struct tern__net_message hello = {.kind = 0};
    struct pollfd said = {.fd = fd, .events = POLLIN};
    poll(&said, 1, HELLO_MS);
    (void)!recv(fd, &hello, sizeof hello, MSG_DONTWAIT); // else closing would take away the rest
    (void)!sendmsg(fd, packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
    return hello.kind == TERN__NET_HELLO;
}

void tern__net_decline(const struct tern__group *group, int listener)
{
    const struct tern__job *job = group->job;
    struct tern__net_message failed = failure_of(group);
    struct tern__net_message bye = {.kind = TERN__NET_BYE};
    struct iovec parts[] = {{&failed, sizeof failed},
                            {group->shared->failed_text, sizeof group->shared->failed_text},
                            {&bye, sizeof bye}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 3};
    struct pollfd more = {.fd = listener, .events = POLLIN};
    bool leads = job->machines->list[job->machines->mine].leader == job->rank;
    int left = leads && job->net == NULL ? group->size - group->here : 0;
    int64_t until_ns = tern__now_ns() + DECLINE_MS * TERN_NS_PER_MS;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            left -= decline_one(fd, &packet);
        } else if (errno != EAGAIN || left <= 0 || tern__now_ns() >= until_ns ||
                   poll(&more, 1, tern__deadline_ms(until_ns, DECLINE_MS)) <= 0) {
            return; // all have been told; or it is late, or there are no descriptors for it
        }
    }
}

static void control_left(const struct tern__group *group)
{
    struct tern__net_message message = tern__net_about(group, TERN__NET_LEFT);
    message.rank = group->rank;
    message.value = group->barriers;
    tern__net_tell(group->job->net, members_of(group), &message, NULL);
}

static void control_selected(const struct tern__group *group, const struct tern__selected *selected)
{
    struct tern__net_message message = tern__net_about(group, TERN__NET_SELECTED);
    message.bytes = sizeof *selected;
    tern__net_tell(group->job->net, members_of(group), &message, selected);
}

const struct tern__far tern__net_far = {
    .flush = control_flush,
    .see = control_see,
    .arrived = control_arrived,
    .failed = control_failed,
    .invited = tern__net_invited,
    .came = tern__net_came,
    .selected = control_selected,
    .left = control_left,
};

static struct tern__slot slot_of(const struct tern__net_message *message)
{
    return (struct tern__slot){.number = (int32_t)message->slot, .generation = message->generation};
}

// Locked, until unlock; NULL when nobody is interested any more.
static struct tern__ctl_comm *lock(struct tern__net *net, const struct tern__net_message *message)
{
    return tern__slot_lock(net->job, slot_of(message), (int)message->word);
}

static void unlock(struct tern__net *net, const struct tern__net_message *message)
{
    tern__slot_unlock(net->job, slot_of(message));
}

static void ring(struct tern__net *net, const struct tern__ctl_comm *comm)
{
    uint64_t here = atomic_load_explicit(&comm->here, memory_order_seq_cst);
    for (; here != 0; here &= here - 1) { // partner: tern__group_place
        tern__bell_ring(&net->job->ctl->ranks[__builtin_ctzll(here)].bell);
    }
}

// The machine's members have come to this barrier. Counts those of all other machines, when all of
// them have: one may be a barrier ahead of another, of which this machine has not heard yet.
static void count(struct tern__ctl_comm *comm, int machine, uint64_t away,
                  const struct tern__net_message *message)
{
    uint64_t bit = UINT64_C(1) << machine;
    uint64_t members = 0;
    uint64_t least = UINT64_MAX;
    comm->machines[machine].members = (uint64_t)__builtin_popcountll(message->key);
    if (message->value == comm->machines[machine].barrier + 1) {
        comm->machines[machine].barrier += (comm->early & bit) != 0 ? 2 : 1;
        comm->early &= ~bit;
    } else if (message->value == comm->machines[machine].barrier + 2) {
        comm->early |= bit;
    }
    for (; away != 0; away &= away - 1) {
        int other = __builtin_ctzll(away);
        members += comm->machines[other].members;
        least = comm->machines[other].barrier < least ? comm->machines[other].barrier : least;
    }
    uint64_t more = (least - comm->barrier_away) * members;
    comm->barrier_away = least;
    atomic_fetch_add_explicit(&comm->arrivals, more, memory_order_seq_cst); // partner: all_arrived
}

static void arrived(struct tern__net *net, int peer, const struct tern__net_message *message,
                    const char *payload)
{
    struct tern__ctl_comm *comm = lock(net, message);
    if (comm == NULL) {
        return;
    }
    // The members here have read what was in this row: they have come to the barrier between, which
    // this one was sent after.
    (void)atomic_load_explicit(&comm->arrivals_here, memory_order_seq_cst);
    for (uint64_t at = 0; at + sizeof(struct sent_cell) <= message->bytes;
         at += sizeof(struct sent_cell)) {
        struct sent_cell sent;
        memcpy(&sent, payload + at, sizeof sent);
        if (sent.rank < TERN_RANKS_MAX) {
            comm->cells[message->value & 1][sent.rank] = sent.cell;
        }
    }
    for (uint64_t ranks = message->key; ranks != 0; ranks &= ranks - 1) {
        atomic_store_explicit(&comm->entered[__builtin_ctzll(ranks)].barrier, message->value,
                              memory_order_relaxed);
    }
    const struct tern__machines *machines = net->job->machines;
    uint64_t away =
        (message->more | UINT64_C(1) << machines->of[peer]) & ~(UINT64_C(1) << machines->mine);
    count(comm, machines->of[peer], away, message);
    ring(net, comm);
    unlock(net, message);
}

static void failed(struct tern__net *net, int peer, const struct tern__net_message *message,
                   const char *payload)
{
    const struct tern__machines *machines = net->job->machines;
    if (message->key > 0 && message->key <= (uint64_t)net->job->nranks &&
        machines->of[message->key - 1] == machines->of[peer]) {
        tern__net_lost(net, (int)message->key - 1); // before others there, who may end now
    }
    if (message->bytes != TERN__FAILURE_BYTES || lock(net, message) == NULL) {
        return;
    }
    char text[TERN__FAILURE_BYTES];
    snprintf(text, sizeof text, "%.*s", TERN__FAILURE_BYTES - 1, payload);
    tern__ctl_comm_fail(net->job->ctl, (int)message->slot, (int)(int64_t)message->value,
                        message->rank, text);
    unlock(net, message);
}

static void left(struct tern__net *net, int peer, const struct tern__net_message *message,
                 const char *payload)
{
    struct tern__ctl_comm *comm =
        message->rank >= 0 && message->rank < TERN_RANKS_MAX ? lock(net, message) : NULL;
    (void)peer;
    (void)payload;
    if (comm == NULL) {
        return;
    }
    // Before it is seen to have left: partner: left_before in sync/group.c
    atomic_store_explicit(&comm->entered[message->rank].barrier, message->value,
                          memory_order_relaxed);
    atomic_fetch_or_explicit(&comm->left, UINT64_C(1) << message->rank, memory_order_seq_cst);
    ring(net, comm);
    tern__slot_leave(net->job, slot_of(message));
    unlock(net, message);
}

static void hear_selected(struct tern__net *net, int peer, const struct tern__net_message *message,
                          const char *payload)
{
    struct tern__selected selected;
    (void)peer;
    if (message->bytes != sizeof selected || lock(net, message) == NULL) {
        return;
    }
    memcpy(&selected, payload, sizeof selected);
    selected.kind_name[sizeof selected.kind_name - 1] = '\0';
    selected.rank_name[sizeof selected.rank_name - 1] = '\0';
    selected.source[sizeof selected.source - 1] = '\0';
    tern__ctl_selected(net->job->ctl, (int)message->slot, &selected);
    unlock(net, message);
}

int tern__net_control_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_ARRIVED, (struct tern__net_handler){.done = arrived});
    tern__net_handle(net, TERN__NET_FAILED, (struct tern__net_handler){.done = failed});
    tern__net_handle(net, TERN__NET_SELECTED, (struct tern__net_handler){.done = hear_selected});
    tern__net_handle(net, TERN__NET_LEFT, (struct tern__net_handler){.done = left});
    tern__net_invite_start(net);
    return tern__net_beat_start(net);
}
