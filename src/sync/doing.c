// SPDX-License-Identifier: Apache-2.0
// Words for what ranks do.

#include "sync/doing.h"

#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "sync/circle.h"
#include "sync/record_text.h"

uint64_t tern__group_others(const struct tern__group *group)
{
    uint64_t all = UINT64_MAX >> (64 - group->size);
    return all & ~(UINT64_C(1) << group->rank);
}

// The call that the rank is held up in: the one that has waited, else been open, for the longest
// time.
static void look_at_calls(const struct tern__ctl *ctl, int member, struct tern__doing *doing)
{
    struct tern__recorded calls[TERN__RECORDS];
    int count = tern__records_read(ctl, member, calls);
    bool waits = false;
    for (int i = 0; i < count; i++) { // the latest comes first
        bool waiting = calls[i].state == TERN__RECORD_WAITING;
        bool open = waiting || calls[i].state == TERN__RECORD_ENTERED;
        doing->open += open;
        if (waiting || (open && !waits)) {
            doing->call = calls[i];
            doing->in_call = true;
        }
        waits = waits || waiting;
    }
}

// "all_reduce 17 of 4096 bytes (f32 sum) of communicator 0 for rank 2 at lane 0, op 3"
static void call_text(const struct tern__recorded *call, char *text, size_t size)
{
    char name[112];
    char rank[24] = "";
    char op[40] = "";
    tern__record_text(call, name, sizeof name);
    if (call->stuck_rank >= 0) {
        snprintf(rank, sizeof rank, " for rank %d", call->stuck_rank);
    }
    if (call->stuck_op >= 0) {
        snprintf(op, sizeof op, " at lane %d, op %d", call->stuck_lane, call->stuck_op);
    }
    snprintf(text, size, "%s of communicator %d%s%s", name, call->comm_slot, rank, op);
}

static void read_runs(const struct tern__ctl_rank *slot, char text[TERN__RUNS_TEXT_BYTES])
{
    uint64_t words[TERN__RUNS_TEXT_BYTES / 8];
    for (size_t i = 0; i < TERN__RUNS_TEXT_BYTES / 8; i++) {
        words[i] = atomic_load_explicit(&slot->runs[i], memory_order_relaxed);
    }
    memcpy(text, words, sizeof words);
    text[TERN__RUNS_TEXT_BYTES - 1] = '\0';
}

const char *tern__meeting_name(enum tern__meeting_kind meeting)
{
    static const char *const names[] = {
        [TERN__MEETING_BARRIER] = "tern_comm_barrier",
        [TERN__MEETING_SPLIT] = "tern_comm_split",
        [TERN__MEETING_WINDOW] = "tern_window_create",
        [TERN__MEETING_EXEC] = "tern_exec_create",
        [TERN__MEETING_TRACE] = "tern_trace_end",
        [TERN__MEETING_GROUP] = "tern_comm_create_group",
        [TERN__MEETING_POOL] = "comm_global_domain_import",
    };
    return (unsigned)meeting < TERN__MEETINGS ? names[meeting] : "a call of tern";
}

// Where the rank waits, as it says itself: "in tern_comm_barrier 12". False when it does not wait.
static bool activity_text(const struct tern__ctl_rank *slot, char *text, size_t size)
{
    unsigned long long number =
        (unsigned long long)atomic_load_explicit(&slot->doing_number, memory_order_relaxed);
    switch ((enum tern__activity)tern__peek(&slot->doing)) {
    case TERN__DOING_BARRIER:
        snprintf(text, size, "in %s %llu", tern__meeting_name(TERN__MEETING_BARRIER), number);
        return true;
    case TERN__DOING_MEETING:
        snprintf(text, size, "in %s", tern__meeting_name((enum tern__meeting_kind)number));
        return true;
    case TERN__DOING_SIGNAL:
        snprintf(text, size, "for the signal at byte %llu", number);
        return true;
    case TERN__DOING_GRAPH:
        snprintf(text, size, "in run %llu of a graph", number);
        return true;
    case TERN__DOING_HELD: {
        char held[TERN__RUNS_TEXT_BYTES];
        read_runs(slot, held);
        snprintf(text, size, "in run %llu of a graph, %s", number, held);
        return true;
    }
    case TERN__DOING_PLAN:
        snprintf(text, size, "in run %llu of a plan", number);
        return true;
    case TERN__DOING_CALL:
        snprintf(text, size, "in collective call %llu", number);
        return true;
    case TERN__DOING_MAIL:
        if (number == UINT64_MAX) {
            snprintf(text, size, "for a message from any rank");
        } else {
            snprintf(text, size, "for a message to or from rank %llu", number);
        }
        return true;
    case TERN__DOING_OTHER:
        break;
    }
    return false;
}

// The task whose kernel the rank runs while it waits for no peer.
static bool kernel_text(const struct tern__ctl_rank *slot, char text[TERN__RUNS_TEXT_BYTES])
{
    enum tern__activity activity = (enum tern__activity)tern__peek(&slot->doing);
    read_runs(slot, text);
    return text[0] != '\0' && (activity == TERN__DOING_GRAPH || activity == TERN__DOING_SIGNAL ||
                               activity == TERN__DOING_OTHER);
}

static void say(struct tern__doing *doing, enum tern__life life, enum tern__verb verb,
                const char *text)
{
    doing->life = life;
    doing->verb = verb;
    snprintf(doing->text, sizeof doing->text, "%s", text);
}

// Of a rank whose process is there: whether it is stopped, and where it stands.
static void look_inside(const struct tern__ctl *ctl, int member, struct tern__doing *doing)
{
    bool stopped = doing->process == 'T' || doing->process == 't';
    enum tern__life life = stopped ? TERN__LIFE_STOPPED : TERN__LIFE_RUNS;
    char place[192] = "";
    char text[sizeof doing->text];
    look_at_calls(ctl, member, doing);
    bool waits = activity_text(&ctl->ranks[member], place, sizeof place);
    if (doing->in_call && (!waits || doing->call.state == TERN__RECORD_WAITING)) {
        char call[176];
        call_text(&doing->call, call, sizeof call);
        waits = doing->call.state == TERN__RECORD_WAITING;
        snprintf(place, sizeof place, "%s%s", waits || stopped ? "in " : "begun ", call);
    }
    char kernel[TERN__RUNS_TEXT_BYTES];
    if (!stopped && !doing->in_call && kernel_text(&ctl->ranks[member], kernel)) {
        snprintf(text, sizeof text, "running %s", kernel);
        doing->in_kernel = true;
        say(doing, life, TERN__VERB_IS, text);
    } else if (stopped) {
        snprintf(text, sizeof text, "stopped%s%s",
                 waits      ? ", waiting "
                 : place[0] ? " "
                            : "",
                 place);
        say(doing, life, TERN__VERB_IS, text);
    } else if (waits) {
        uint32_t activity = tern__peek(&ctl->ranks[member].doing);
        doing->for_signals =
            !doing->in_call && (activity == TERN__DOING_HELD || activity == TERN__DOING_SIGNAL);
        say(doing, life, TERN__VERB_WAITS, place);
    } else if (doing->in_call) {
        snprintf(text, sizeof text, "%s, not waiting in tern", place);
        say(doing, life, TERN__VERB_HAS, text);
    } else {
        say(doing, life, TERN__VERB_IS, "not waiting in tern");
    }
}

void tern__doing_look(const struct tern__ctl *ctl, int member, struct tern__doing *doing)
{
    const struct tern__ctl_rank *slot = &ctl->ranks[member];
    uint64_t space = atomic_load_explicit(&slot->pid_space, memory_order_relaxed);
    uint32_t state = tern__observe(&slot->state); // partner: tern__job_enter
    memset(doing, 0, sizeof *doing);
    doing->pid = (int)tern__peek(&slot->pid);
    const struct tern__machine *away = tern__ctl_away(ctl, member);
    char told = (char)tern__peek(&slot->process);
    doing->machine = away != NULL ? away->name : NULL;
    doing->process = away != NULL                               ? (char)(told != 0 ? told : '?')
                     : space != 0 && space == tern__pid_space() ? tern__process_state(doing->pid)
                                                                : '?';
    bool gone = doing->process == 0 || doing->process == 'Z' || doing->process == 'X';
    if (state == TERN__RANK_ABSENT) {
        say(doing, TERN__LIFE_ABSENT, TERN__VERB_HAS, "not come");
    } else if (state == TERN__RANK_LEFT) {
        say(doing, TERN__LIFE_LEFT, TERN__VERB_HAS,
            gone ? "left the job, and the process has ended" : "left the job");
    } else if (state == TERN__RANK_DEAD) {
        char death[160];
        char prefix[24];
        snprintf(prefix, sizeof prefix, "rank %d ", member);
        tern__ctl_death_text(ctl, member, death, sizeof death);
        if (strncmp(death, prefix, strlen(prefix)) == 0) {
            say(doing, TERN__LIFE_DEAD, TERN__VERB_NONE, death + strlen(prefix));
        } else { // its machine is what has ended
            char text[sizeof doing->text];
            snprintf(text, sizeof text, "lost: %s", death);
            say(doing, TERN__LIFE_DEAD, TERN__VERB_IS, text);
        }
    } else if (gone) {
        say(doing, TERN__LIFE_DEAD, TERN__VERB_IS, "gone, and no rank has seen it yet");
    } else {
        look_inside(ctl, member, doing);
    }
}

void tern__doing_text(const struct tern__doing *doing, bool several, char *text, size_t size)
{
    static const char *const verbs[][2] = {
        [TERN__VERB_NONE] = {"", ""},
        [TERN__VERB_IS] = {"is ", "are "},
        [TERN__VERB_WAITS] = {"waits ", "wait "},
        [TERN__VERB_HAS] = {"has ", "have "},
    };
    snprintf(text, size, "%s%s", verbs[doing->verb][several], doing->text);
}

// Tern knows nothing more of it than the state of its process.
static bool is_outside(const struct tern__doing *doing)
{
    return doing->life == TERN__LIFE_RUNS && doing->verb != TERN__VERB_WAITS && !doing->in_kernel;
}

// " (process 417)", " (their processes sleep)".
static void aside_text(const struct tern__doing *doing, bool several, char *text, size_t size)
{
    const char *process = !is_outside(doing)                               ? ""
                          : doing->process == 'R'                          ? "run"
                          : doing->process == 'S' || doing->process == 'D' ? "sleep"
                                                                           : "";
    const char *on = doing->machine != NULL ? " on machine " : "";
    const char *machine = doing->machine != NULL ? doing->machine : "";
    text[0] = '\0';
    if (process[0] != '\0' && several) {
        snprintf(text, size, " (their processes %s)", process);
    } else if (process[0] != '\0') {
        snprintf(text, size, " (its process %d%s%.40s %ss)", doing->pid, on, machine, process);
    } else if (!several && (doing->life == TERN__LIFE_RUNS || doing->life == TERN__LIFE_STOPPED)) {
        snprintf(text, size, " (process %d%s%.40s)", doing->pid, on, machine);
    }
}

static bool is_same(const struct tern__doing *a, const struct tern__doing *b)
{
    return a->life == b->life && a->verb == b->verb && strcmp(a->text, b->text) == 0 &&
           (!is_outside(a) || a->process == b->process);
}

static int guilt_of(const struct tern__doing *doing)
{
    return doing->life != TERN__LIFE_RUNS    ? 3
           : doing->verb == TERN__VERB_IS    ? 2 // not waiting in tern
           : doing->verb == TERN__VERB_WAITS ? 0
                                             : 1;
}

static void look_at_member(const struct tern__group *group, int rank, struct tern__doing *doing)
{
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    tern__doing_look(group->job->ctl, group->members[rank], doing);
    bool here = doing->life == TERN__LIFE_RUNS || doing->life == TERN__LIFE_STOPPED;
    if (here && (left >> rank & 1) != 0) { // partner: tern__group_leave
        say(doing, TERN__LIFE_LEFT, TERN__VERB_HAS, "left the communicator");
    }
}

int tern__doing_ranks(const struct tern__group *group, uint64_t ranks, char *text, size_t size)
{
    int culprit = -1;
    int worst = -1;
    size_t used = 0;
    text[0] = '\0';
    // From the lowest on, each with all that do the same. Looks again at each: nothing is allocated
    // here, and 64 descriptions are too much for the stack of a small thread.
    while (ranks != 0) {
        struct tern__doing first;
        char names[160];
        char words[256];
        char aside[48 + TERN__MACHINE_NAME_BYTES];
        int rank = __builtin_ctzll(ranks);
        uint64_t same = UINT64_C(1) << rank;
        look_at_member(group, rank, &first);
        culprit = guilt_of(&first) > worst ? rank : culprit;
        worst = guilt_of(&first) > worst ? guilt_of(&first) : worst;
        for (uint64_t rest = ranks & ~same; rest != 0; rest &= rest - 1) {
            struct tern__doing other;
            look_at_member(group, __builtin_ctzll(rest), &other);
            same |= is_same(&first, &other) ? rest & -rest : 0;
        }
        tern__ranks_text(group, same, names, sizeof names);
        bool several = (same & (same - 1)) != 0;
        tern__doing_text(&first, several, words, sizeof words);
        aside_text(&first, several, aside, sizeof aside);
        const char *before = used > 0 ? "; " : "";
        if (used + strlen(before) + strlen(names) + strlen(words) + strlen(aside) + 40 > size) {
            tern__ranks_text(group, ranks, names, sizeof names);
            snprintf(text + used, size - used, "%sand %.32s", before, names);
            return culprit;
        }
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s %s%s", before, names, words, aside);
        ranks &= ~same;
    }
    return culprit;
}

// Whether all ranks wait for signals: nothing goes on that could notify.
static bool is_cycle(const struct tern__group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        struct tern__doing doing;
        look_at_member(group, rank, &doing);
        if (doing.life != TERN__LIFE_RUNS || !doing.for_signals) {
            return false;
        }
    }
    return group->size > 1;
}

void tern__doing_job(const struct tern__ctl *ctl, uint64_t ranks, char *text, size_t size)
{
    // Nothing of it is written.
    struct tern__ctl *job_ctl = (struct tern__ctl *)(uintptr_t)ctl;
    struct tern__job job = {.ctl = job_ctl, .nranks = (int)ctl->nranks};
    struct tern__group group = {.job = &job, .shared = &job_ctl->comms[0], .size = job.nranks};
    for (int rank = 0; rank < group.size; rank++) {
        group.members[rank] = rank;
    }
    tern__doing_ranks(&group, ranks, text, size);
}

void tern__doing_others(const struct tern__group *group, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    if (is_cycle(group)) {
        char names[64];
        tern__ranks_text(group, UINT64_MAX >> (64 - group->size), names, sizeof names);
        used = (size_t)snprintf(text, size,
                                "%s wait for each other, as none of them runs a task that could "
                                "notify",
                                names);
    }
    const char *before = used > 0 ? "; " : "";
    size_t circle = tern__circle_text(group, text + used + strlen(before), size - used - 2);
    if (circle > 0) {
        memcpy(text + used, before, strlen(before));
        used += strlen(before) + circle;
    }
    if (group->size > 1) {
        used += (size_t)snprintf(text + used, size - used, "%s", used > 0 ? "; " : "");
        tern__doing_ranks(group, tern__group_others(group), text + used, size - used);
    }
}
