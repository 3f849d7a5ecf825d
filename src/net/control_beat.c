// SPDX-License-Identifier: Apache-2.0
// Heartbeats of leaders. Each sends to each other leader, 10 times a second, what the ranks of its
// machine do, as far as that has changed: for the sentences of waits that fail on other machines.
// Whatever comes from a machine's leader shows that the machine is there; a machine of which
// nothing comes for TERN_NET_TIMEOUT has ended, and so has one that has confirmed nothing of what
// was sent to it for so long: where a cable is cut in one direction, that is known while the other
// one still brings something. Beats are answers on the connections by which leaders reach each
// other, so that the thread that receives never waits; where an answer is still being sent, it
// shows life itself.

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/process.h"
#include "net/control.h"
#include "net/state.h"
#include "sync/records.h"

enum {
    LATEST = 4, // calls of a rank that are told, and of those that have not ended:
    OPEN = 4,
    DEAF_MS = 2 * TERN__NET_BEAT_MS, // longer than what is on its way waits to be confirmed
};

// What a rank does.
struct sent_rank {
    int32_t rank; // of the job
    uint32_t state, ended, wait_status;
    uint32_t pid, process;
    uint32_t doing, count;
    uint32_t worked_ms, rung;
    uint64_t doing_number;
    uint64_t runs[TERN__RUNS_BYTES / 8];
    struct tern__recorded calls[LATEST + OPEN];
};

struct tern__net_control {
    int64_t last_ns; // of the last beat; 0: there was none
    struct {
        bool seen; // something has come from its leader
        int64_t silent_ns;
        uint64_t confirmed; // bytes that its kernel has
        int64_t deaf_ns;    // for which it has confirmed no more, and there were more
    } machines[TERN_RANKS_MAX];
    int turn;                                // whose process was looked at last
    struct sent_rank before[TERN_RANKS_MAX]; // that was sent to all
    struct sent_rank now[TERN_RANKS_MAX];
};

// Whoever goes on there later is to know why it is alone, before it sees that others have ended.
static void end_machine(struct tern__net *net, int machine)
{
    struct tern__job *job = net->job;
    struct tern__net_message message = {.kind = TERN__NET_SILENT,
                                        .value = (uint64_t)job->net_timeout_ns};
    uint64_t ranks = job->machines->list[machine].ranks;
    for (; ranks != 0; ranks &= ranks - 1) {
        tern__net_answer(net, __builtin_ctzll(ranks), &message, NULL);
    }
    tern__ctl_mark_silent(job->ctl, machine, machine, job->net_timeout_ns);
}

// For how long nothing has got there: what is on its way now may be as old as the last beat. What
// waits in the memory of a process that stands still has got there. A leader that has ended
// meanwhile, since it heard nothing, confirms nothing any more.
static void listen_for_acks(struct tern__net *net, int machine, int64_t step_ns)
{
    struct tern__net_control *control = net->control;
    const struct tern__net_link *link =
        net->peers[net->job->machines->list[machine].leader].answers;
    bool ended = link == NULL || link->closed;
    if (ended && control->machines[machine].deaf_ns > DEAF_MS * TERN_NS_PER_MS) {
        control->machines[machine].deaf_ns += step_ns;
        return;
    }
    struct tcp_info info;
    socklen_t size = sizeof info;
    bool waits = !ended && getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                 size >= offsetof(struct tcp_info, tcpi_bytes_received) && info.tcpi_unacked > 0;
    bool same = waits && info.tcpi_bytes_acked == control->machines[machine].confirmed;
    control->machines[machine].deaf_ns =
        same ? control->machines[machine].deaf_ns + step_ns : (waits ? step_ns : 0);
    control->machines[machine].confirmed = waits ? info.tcpi_bytes_acked : 0;
}

// Ends machines that have been silent for too long. Time counts in which this thread has run, too:
// after a stop of its own, what has come meanwhile is read first.
static void listen_to(struct tern__net *net, int64_t step_ns)
{
    struct tern__job *job = net->job;
    struct tern__net_control *control = net->control;
    for (int machine = 0; machine < job->machines->count; machine++) {
        int leader = job->machines->list[machine].leader;
        bool lives = tern__flag_load(&job->ctl->ranks[leader].state) == TERN__RANK_ACTIVE;
        if (machine == job->machines->mine || !lives) {
            continue;
        }
        if ((net->heard >> leader & 1) != 0) {
            control->machines[machine].seen = true;
            control->machines[machine].silent_ns = 0;
        } else if (control->machines[machine].seen) {
            control->machines[machine].silent_ns += step_ns;
        }
        listen_for_acks(net, machine, step_ns);
        if (control->machines[machine].silent_ns >= job->net_timeout_ns ||
            control->machines[machine].deaf_ns >= job->net_timeout_ns) {
            end_machine(net, machine);
        }
    }
}

static int choose_calls(const struct tern__ctl *ctl, int rank, struct tern__recorded *chosen)
{
    struct tern__recorded calls[TERN__RECORDS];
    int count = tern__records_read(ctl, rank, calls);
    int kept = 0;
    int open = 0;
    for (int i = 0; i < count; i++) {
        bool is_open =
            calls[i].state == TERN__RECORD_WAITING || calls[i].state == TERN__RECORD_ENTERED;
        if (i < LATEST || (is_open && open < OPEN)) {
            chosen[kept++] = calls[i];
            open += i >= LATEST;
        }
    }
    return kept;
}

static void look_at(const struct tern__ctl *ctl, int rank, struct sent_rank *sent)
{
    const struct tern__ctl_rank *slot = &ctl->ranks[rank];
    memset(sent, 0, sizeof *sent);
    sent->rank = rank;
    sent->state = tern__flag_load(&slot->state);
    sent->ended = tern__observe(&slot->ended); // partner: tern__hub_rank_ended
    sent->wait_status = tern__peek(&slot->wait_status);
    sent->pid = tern__peek(&slot->pid);
    sent->process = tern__peek(&slot->process);
    sent->worked_ms = tern__peek(&slot->worked_ms);
    sent->rung = tern__peek(&slot->bell.rings);
    sent->doing = tern__peek(&slot->doing);
    sent->doing_number = atomic_load_explicit(&slot->doing_number, memory_order_relaxed);
    for (size_t i = 0; i < TERN__RUNS_BYTES / 8; i++) {
        sent->runs[i] = atomic_load_explicit(&slot->runs[i], memory_order_relaxed);
    }
    sent->count = (uint32_t)choose_calls(ctl, rank, sent->calls);
}

// One process after the other, since it takes microseconds.
static void look_at_a_process(struct tern__net *net)
{
    struct tern__job *job = net->job;
    struct tern__net_control *control = net->control;
    do {
        control->turn = (control->turn + 1) % job->nranks;
    } while (!tern__job_is_here(job, control->turn));
    struct tern__ctl_rank *slot = &job->ctl->ranks[control->turn];
    // Its number means here what it means there.
    if (control->turn == job->rank || job->pidfd[control->turn] >= 0) {
        struct tern__process process = {.state = '\0'};
        tern__process_look((int)tern__peek(&slot->pid), &process);
        tern__poke(&slot->process, (uint32_t)process.state);
        tern__poke(&slot->worked_ms, (uint32_t)(process.worked_ns / TERN_NS_PER_MS));
    }
}

// Sends it, with the time that it is here; false when it could not be now.
static bool send_to(struct tern__net *net, int leader, const struct sent_rank *ranks, size_t count)
{
    struct tern__net_link *link = net->peers[leader].answers;
    struct tern__net_message message = {.kind = TERN__NET_BEAT,
                                        .value = (uint64_t)tern__now_ns(),
                                        .bytes = count * sizeof *ranks};
    char *copy = NULL;
    if (link == NULL || link->closed || link->first != NULL) {
        return false;
    }
    if (count > 0) {
        copy = malloc(message.bytes);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, ranks, message.bytes);
    }
    tern__net_answer_own(net, leader, &message, copy);
    return true;
}

static void tell_all(struct tern__net *net)
{
    struct tern__job *job = net->job;
    struct tern__net_control *control = net->control;
    size_t count = 0;
    bool all = true;
    int first = tern__ctl_first_dead(job->ctl); // before those who ended because of that
    for (int i = 0; i < job->nranks; i++) {
        int rank = (i + (first > 0 ? first : 0)) % job->nranks;
        struct sent_rank *now = &control->now[count];
        if (!tern__job_is_here(job, rank)) {
            continue;
        }
        look_at(job->ctl, rank, now);
        if (memcmp(now, &control->before[rank], sizeof *now) != 0) { // NOLINT: holes are zeros
            control->before[rank] = *now;
            count++;
        }
    }
    for (int machine = 0; machine < job->machines->count; machine++) {
        int leader = job->machines->list[machine].leader;
        if (machine != job->machines->mine &&
            tern__flag_load(&job->ctl->ranks[leader].state) == TERN__RANK_ACTIVE) {
            all = send_to(net, leader, control->now, count) && all;
        }
    }
    if (!all) { // the next beat says it again
        memset(control->before, 0, sizeof control->before);
    }
}

static void beat(struct tern__net *net)
{
    struct tern__job *job = net->job;
    struct tern__net_control *control = net->control;
    int64_t now_ns = tern__now_ns();
    int64_t most_ns = 2 * TERN__NET_BEAT_MS * TERN_NS_PER_MS;
    int64_t step_ns = control->last_ns != 0 ? now_ns - control->last_ns : 0;
    control->last_ns = now_ns;
    if (job->machines->list[job->machines->mine].leader != job->rank) {
        return;
    }
    tern__flag_add(&job->ctl->beats, 1); // partner: leader_is_silent in sync/far.c
    listen_to(net, step_ns < most_ns ? step_ns : most_ns);
    net->heard = 0;
    tern__job_look(job);
    look_at_a_process(net);
    tell_all(net);
}

static void store_rank(struct tern__job *job, const struct sent_rank *sent, int64_t shift_ns)
{
    struct tern__ctl_rank *slot = &job->ctl->ranks[sent->rank];
    tern__poke(&slot->pid, sent->pid);
    tern__poke(&slot->process, sent->process);
    tern__poke(&slot->worked_ms, sent->worked_ms);
    tern__poke(&slot->rung, sent->rung);
    tern__poke(&slot->wait_status, sent->wait_status);
    tern__publish(&slot->ended, sent->ended); // partner: tern__ctl_death_text
    atomic_store_explicit(&slot->doing_number, sent->doing_number, memory_order_relaxed);
    tern__poke(&slot->doing, sent->doing);
    for (size_t i = 0; i < TERN__RUNS_BYTES / 8; i++) {
        atomic_store_explicit(&slot->runs[i], sent->runs[i], memory_order_relaxed);
    }
    if (sent->count <= LATEST + OPEN) {
        tern__records_store(job->ctl, sent->rank, sent->calls, (int)sent->count, shift_ns);
    }
    if (sent->state == TERN__RANK_DEAD) { // that it has left, it says itself
        tern__ctl_mark_dead(job->ctl, sent->rank);
    }
}

static void told(struct tern__net *net, int peer, const struct tern__net_message *message,
                 const char *payload)
{
    struct tern__job *job = net->job;
    // The beat was on its way for a moment, so what is shifted seems to be that much later.
    int64_t now_ns = tern__now_ns();
    int64_t shift_ns = now_ns - (int64_t)message->value;
    atomic_store_explicit(&job->ctl->heard_ns[job->machines->of[peer]], now_ns,
                          memory_order_relaxed);
    for (uint64_t at = 0; at + sizeof(struct sent_rank) <= message->bytes;
         at += sizeof(struct sent_rank)) {
        struct sent_rank sent;
        memcpy(&sent, payload + at, sizeof sent);
        if (sent.rank >= 0 && sent.rank < job->nranks &&
            job->machines->of[sent.rank] == job->machines->of[peer]) {
            store_rank(job, &sent, shift_ns);
        }
    }
}

// This machine has been silent for another one, which goes on without it: it was stopped.
static void was_silent(struct tern__net *net, int peer, const struct tern__net_message *message,
                       const char *payload)
{
    const struct tern__machines *machines = net->job->machines;
    (void)payload;
    tern__ctl_mark_silent(net->job->ctl, machines->mine, machines->of[peer],
                          (int64_t)message->value);
}

int tern__net_beat_start(struct tern__net *net)
{
    TERN_TRY(tern__net_timeout_option(&net->job->net_timeout_ns));
    net->control = calloc(1, sizeof *net->control);
    if (net->control == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for what other machines do");
    }
    tern__net_handle(net, TERN__NET_BEAT, (struct tern__net_handler){.done = told});
    tern__net_handle(net, TERN__NET_SILENT, (struct tern__net_handler){.done = was_silent});
    tern__net_each_beat(net, beat);
    return TERN_OK;
}
