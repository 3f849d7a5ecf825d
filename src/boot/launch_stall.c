// SPDX-License-Identifier: Apache-2.0
// A job in which every rank waits, and none goes on: said while it lasts, long before a deadline
// does. A hint, made of what ranks say of themselves; nothing is ended.
//
// Ranks are in the job of the launcher, or have met without it (tern_init_at, the root info of
// HCCL): then their jobs are found among the files that they have open, a process at each look.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/process.h"
#include "boot/branch.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "sync/doing.h"

#define STALL_LOOK_NS TERN_NS_PER_SECOND
// A process of which another thread works uses more than this part of a processor, also where many
// share one; one that waits for a signal, or now and then looks, less. Its time is known in steps.
#define WORKS_PART 100
#define WORKS_LEAST_NS (20 * TERN_NS_PER_MS)

// FNV-1a.
static uint64_t mark_of(uint64_t mark, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        mark = (mark ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return mark;
}

static void forget_jobs_that_are_over(struct tern__jobs *jobs)
{
    for (int i = jobs->count - 1; i >= 0; i--) {
        bool runs = false;
        for (uint32_t rank = 0; rank < jobs->ctl[i]->nranks; rank++) {
            uint32_t state = tern__flag_load(&jobs->ctl[i]->ranks[rank].state);
            runs = runs || state == TERN__RANK_ACTIVE || state == TERN__RANK_ABSENT;
        }
        if (!runs) {
            tern__jobs_close_one(jobs, i);
        }
    }
}

// Looks for jobs that the next of the processes here has open.
static void look_for_jobs(struct tern__launch *job)
{
    struct tern__stall *stall = &job->stall;
    forget_jobs_that_are_over(&stall->jobs);
    for (int i = 0; i < job->procs.nranks; i++) {
        stall->next = (stall->next + 1) % job->procs.nranks;
        if (job->procs.pids[stall->next] > 0) {
            tern_status_ignore(tern__jobs_add(job->procs.pids[stall->next], &stall->jobs));
            return;
        }
    }
}

// On another machine a process has its number and the machine's name.
static uint64_t place_of(const struct tern__doing *doing)
{
    const char *machine = doing->machine;
    return machine == NULL ? 0 : mark_of(1, machine, strlen(machine));
}

// The process of a rank, which may be in several jobs. NULL: there is no room for more.
static struct tern__staller *find_process(struct tern__stall *stall,
                                          const struct tern__doing *doing)
{
    struct tern__staller *free = NULL;
    uint64_t place = place_of(doing);
    for (int i = 0; i < TERN_RANKS_MAX; i++) {
        struct tern__staller *one = &stall->processes[i];
        if (one->pid == doing->pid && one->place == place) {
            return one;
        }
        free =
            free == NULL && one->seen != stall->looks && one->seen + 1 != stall->looks ? one : free;
    }
    if (free != NULL) {
        *free = (struct tern__staller){.pid = doing->pid, .place = place};
    }
    return free;
}

// Whether the process has worked since all have waited.
static bool has_worked(const struct tern__stall *stall, struct tern__staller *one,
                       const struct tern__ctl_rank *slot, int64_t now_ns)
{
    struct tern__process process = {.worked_ns = 0};
    if (one->place != 0) {
        process.worked_ns = tern__peek(&slot->worked_ms) * TERN_NS_PER_MS;
    } else if (!tern__process_look(one->pid, &process)) {
        return false;
    }
    one->worked_ns = process.worked_ns;
    return one->worked_ns - one->before_ns >
           WORKS_LEAST_NS + (now_ns - stall->since_ns) / WORKS_PART;
}

// How often the rank was woken: one that waits for the same again and again goes on.
static uint32_t rings_of(const struct tern__doing *doing, const struct tern__ctl_rank *slot)
{
    return doing->machine != NULL ? tern__peek(&slot->rung) : tern__peek(&slot->bell.rings);
}

// In a run of a graph of which something is to be done by this rank, it does not wait for others.
static bool does_wait(const struct tern__doing *doing, const struct tern__ctl_rank *slot)
{
    return doing->life == TERN__LIFE_RUNS && doing->verb == TERN__VERB_WAITS &&
           tern__peek(&slot->doing) != TERN__DOING_GRAPH;
}

// Looks what the ranks of a job do. Returns those that wait. False in *room: there are too many.
static uint64_t look_at_job(struct tern__stall *stall, const struct tern__ctl *ctl, int64_t now_ns,
                            uint64_t *mark, bool *room)
{
    uint64_t waiting = 0;
    for (int rank = 0; rank < (int)ctl->nranks; rank++) {
        const struct tern__ctl_rank *slot = &ctl->ranks[rank];
        struct tern__doing doing;
        tern__doing_look(ctl, rank, &doing);
        if (doing.life == TERN__LIFE_LEFT || doing.life == TERN__LIFE_DEAD || doing.pid == 0) {
            continue;
        }
        struct tern__staller *one = find_process(stall, &doing);
        *room = *room && one != NULL;
        if (one == NULL) {
            return 0;
        }
        if (one->seen != stall->looks) {
            one->seen = stall->looks;
            one->waits = false;
            one->worked = has_worked(stall, one, slot, now_ns);
        }
        bool waits = does_wait(&doing, slot);
        uint32_t rings = rings_of(&doing, slot);
        one->waits = one->waits || waits;
        waiting |= (uint64_t)waits << rank;
        *mark = mark_of(*mark, doing.text, strlen(doing.text) + 1);
        *mark = mark_of(*mark, &doing.call.sequence, sizeof doing.call.sequence);
        *mark = mark_of(*mark, &rings, sizeof rings);
    }
    return waiting;
}

// Whether every process that was seen waits, and, where they are all that there are, each does.
static bool do_all_wait(const struct tern__stall *stall, int wanted)
{
    int count = 0;
    for (int i = 0; i < TERN_RANKS_MAX; i++) {
        const struct tern__staller *one = &stall->processes[i];
        if (one->seen != stall->looks) {
            continue;
        }
        if (!one->waits || one->worked) {
            return false;
        }
        count += one->place == 0;
    }
    return count > 0 && count >= wanted;
}

static void say(struct tern__launch *job, const struct tern__ctl *const *jobs,
                const uint64_t *waiting, int count, int64_t since_ns)
{
    char text[1200];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used + 200 < sizeof text; i++) {
        if (waiting[i] == 0) {
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                 used > 0 ? "; in another job " : "");
        tern__doing_job(jobs[i], waiting[i], text + used, sizeof text - used);
        used = strlen(text);
    }
    tern__launch_say("all ranks wait, and for %.3g s none of them has gone on: %s\n",
                     (double)since_ns * 1e-9, text);
    job->stall.told = true;
}

// Seen without a system call: most jobs, most of the time.
static bool is_one_elsewhere(const struct tern__ctl *ctl)
{
    for (uint32_t rank = 0; rank < ctl->nranks; rank++) {
        const struct tern__ctl_rank *slot = &ctl->ranks[rank];
        if (tern__flag_load(&slot->state) == TERN__RANK_ACTIVE &&
            tern__peek(&slot->doing) == TERN__DOING_OTHER) {
            return true;
        }
    }
    return false;
}

static void look(struct tern__launch *job, int64_t now_ns)
{
    struct tern__stall *stall = &job->stall;
    const struct tern__ctl *jobs[TERN__JOBS_MAX];
    uint64_t waiting[TERN__JOBS_MAX];
    uint64_t mark = UINT64_C(14695981039346656037);
    bool room = true;
    int count = 0;
    stall->looks++;
    const struct tern__ctl *own = tern__hub_ctl(job->hub);
    if (own != NULL && is_one_elsewhere(own)) {
        stall->mark = 0;
        return;
    }
    if (own != NULL) {
        jobs[count++] = own;
    } else {
        look_for_jobs(job);
        memcpy(jobs, stall->jobs.ctl, sizeof jobs);
        count = stall->jobs.count;
    }
    for (int i = 0; i < count && room; i++) {
        waiting[i] = look_at_job(stall, jobs[i], now_ns, &mark, &room);
    }
    // In the launcher's job are those that have come; of others all processes are.
    bool all = room && do_all_wait(stall, own != NULL ? 0 : job->procs.running);
    if (!all || mark != stall->mark) {
        stall->mark = all ? mark : 0;
        stall->since_ns = now_ns;
        stall->told = false;
        for (int i = 0; i < TERN_RANKS_MAX; i++) {
            stall->processes[i].before_ns = stall->processes[i].worked_ns;
        }
    } else if (!stall->told && now_ns - stall->since_ns >= stall->after_ns) {
        say(job, jobs, waiting, count, now_ns - stall->since_ns);
    }
}

int64_t tern__launch_look_at_stall(struct tern__launch *job, int64_t now_ns)
{
    struct tern__stall *stall = &job->stall;
    bool first = job->branch == NULL || job->branch->assignment->machine == 0;
    if (stall->after_ns == INT64_MAX || job->cause != CAUSE_NONE || job->procs.running == 0 ||
        job->hub == NULL || !first || job->lag != UNSEEN) {
        return INT64_MAX;
    }
    if (now_ns >= stall->look_at_ns) {
        stall->look_at_ns = now_ns + STALL_LOOK_NS;
        look(job, now_ns);
    }
    return stall->look_at_ns;
}

void tern__launch_end_stall(struct tern__launch *job)
{
    tern__jobs_close(&job->stall.jobs);
}
