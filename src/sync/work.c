// SPDX-License-Identifier: Apache-2.0
// What has been begun: the queues of threads, and the list of what no thread keeps. Data path: no
// allocation, no lock but turns.

#include "sync/work.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"

static _Thread_local struct {
    struct tern__queue own;
    struct tern__queue *used; // NULL: its own
} thread;

// What runs, has a turn and no keeper. An item comes and goes in its own turn and this one; who
// looks for one to move has this one, and only tries theirs.
static struct {
    struct tern__turn turn;
    struct tern__queue queue;
    uint64_t order;
    _Atomic uint32_t count;
} list;

static inline struct tern__queue *current(void)
{
    return thread.used != NULL ? thread.used : &thread.own;
}

struct tern__queue *tern__queue_use(struct tern__queue *queue)
{
    struct tern__queue *before = thread.used;
    thread.used = queue;
    return before;
}

static struct tern__bell *bell_of(const struct tern__job *job)
{
    return &job->ctl->ranks[job->rank].bell;
}

static void append(struct tern__work *work, struct tern__queue *queue)
{
    work->queue = queue;
    work->next = NULL;
    work->previous = queue->newest;
    *(queue->newest != NULL ? &queue->newest->next : &queue->oldest) = work;
    queue->newest = work;
}

static void take_out(struct tern__work *work)
{
    struct tern__queue *queue = work->queue;
    *(work->previous != NULL ? &work->previous->next : &queue->oldest) = work->next;
    *(work->next != NULL ? &work->next->previous : &queue->newest) = work->previous;
    work->next = NULL;
    work->previous = NULL;
    work->queue = NULL;
}

static void enlist(struct tern__work *work)
{
    tern__turn_take(&list.turn);
    work->order = ++list.order;
    append(work, &list.queue);
    tern__flag_add(&list.count, 1);
    tern__turn_leave(&list.turn);
}

static void delist(struct tern__work *work)
{
    if (work->queue != NULL) {
        tern__turn_take(&list.turn);
        take_out(work);
        tern__flag_add(&list.count, UINT32_MAX);
        tern__turn_leave(&list.turn);
    }
}

void tern__work_begin(struct tern__work *work)
{
    work->idle.tests = 0;
    work->idle.since_ns = 0;
    if (work->turn == NULL) {
        append(work, current());
        return;
    }
    work->runs = true;
    if (atomic_load_explicit(&work->keeper, memory_order_relaxed) == 0) {
        enlist(work);
    }
}

void tern__work_end(struct tern__work *work)
{
    if (work->turn != NULL) {
        work->runs = false;
        delist(work);
    } else if (work->queue != NULL) {
        take_out(work);
    }
}

void tern__work_done(const struct tern__work *work, tern__done *done)
{
    struct tern__bell *bell = bell_of(work->job); // what is done may be gone
    tern__flag_store(done, 1);
    tern__bell_ring(bell); // partner: `over` of those that wait
}

void tern__work_forget(void)
{
    thread.used = NULL;
    thread.own = (struct tern__queue){0};
    list.queue = (struct tern__queue){0};
    tern__poke(&list.count, 0);
    tern__poke(&list.turn.taken, 0); // another thread of the parent may have had it
    tern__poke(&list.turn.bell.sleepers, 0);
}

bool tern__work_is_running(const struct tern__work *work)
{
    return work->turn != NULL ? work->runs : work->queue != NULL;
}

bool tern__work_is_mine(const struct tern__work *work)
{
    return work->queue == current();
}

bool tern__work_keep(struct tern__work *work)
{
    if (work->turn == NULL || atomic_load_explicit(&work->keeper, memory_order_relaxed) != 0) {
        return false;
    }
    atomic_store_explicit(&work->keeper, tern__thread_number(), memory_order_relaxed);
    delist(work);
    return true;
}

void tern__work_unkeep(struct tern__work *work)
{
    struct tern__bell *bell = bell_of(work->job);
    tern__turn_take(work->turn);
    atomic_store_explicit(&work->keeper, 0, memory_order_seq_cst); // partner: tern__work_calls
    bool runs = work->runs;
    if (runs) {
        enlist(work);
    }
    tern__turn_leave(work->turn);
    if (runs) {
        tern__bell_ring(bell);
    }
}

bool tern__work_calls(struct tern__work *work, bool kept)
{
    if (!kept) {
        return atomic_load_explicit(&work->keeper, memory_order_seq_cst) == 0;
    }
    if (!tern__turn_try(work->turn)) {
        return true; // somebody may be moving it: what is left to do is seen afterwards
    }
    bool ready = work->runs && work->ops->ready(work);
    tern__turn_leave(work->turn);
    return ready;
}

// The next item of the list whose bell this is (NULL: any), in its turn, behind number *last.
static struct tern__work *next_in_list(const struct tern__bell *bell, uint64_t *last)
{
    struct tern__work *found = NULL;
    if (tern__peek(&list.count) == 0) {
        return NULL;
    }
    tern__turn_take(&list.turn);
    for (struct tern__work *work = list.queue.oldest; work != NULL; work = work->next) {
        if (work->order > *last && (bell == NULL || bell_of(work->job) == bell) &&
            tern__turn_try(work->turn)) {
            *last = work->order;
            found = work;
            break;
        }
    }
    tern__turn_leave(&list.turn);
    return found;
}

static bool advance_list(const struct tern__bell *bell)
{
    bool moved = false;
    uint64_t last = 0;
    for (struct tern__work *work; (work = next_in_list(bell, &last)) != NULL;) {
        struct tern__turn *turn = work->turn; // what ends may be gone when its turn is over
        moved = work->ops->advance(work) || moved;
        tern__turn_leave(turn);
    }
    return moved;
}

static bool list_is_ready(const struct tern__bell *bell)
{
    bool ready = false;
    uint64_t last = 0;
    for (struct tern__work *work; !ready && (work = next_in_list(bell, &last)) != NULL;) {
        struct tern__turn *turn = work->turn;
        ready = work->ops->ready(work);
        tern__turn_leave(turn);
    }
    return ready;
}

bool tern__work_advance(const struct tern__job *job, const struct tern__work *except)
{
    bool moved = false;
    for (struct tern__work *work = current()->oldest; work != NULL;) {
        struct tern__work *next = work->next; // what ends leaves the queue
        if (work != except && work->job == job) {
            moved = work->ops->advance(work) || moved;
        }
        work = next;
    }
    if (tern__peek(&list.count) != 0) {
        moved = advance_list(bell_of(job)) || moved;
    }
    return moved;
}

bool tern__work_exists(void)
{
    return current()->oldest != NULL || tern__peek(&list.count) != 0;
}

bool tern__work_ready_on(const struct tern__bell *bell)
{
    for (struct tern__work *work = current()->oldest; work != NULL; work = work->next) {
        if (bell_of(work->job) == bell && work->ops->ready(work)) {
            return true;
        }
    }
    return list_is_ready(bell);
}

void tern__work_advance_on(const struct tern__bell *bell)
{
    for (const struct tern__work *work = current()->oldest; work != NULL; work = work->next) {
        if (bell_of(work->job) == bell) { // and with it the others of its job
            while (tern__work_advance(work->job, NULL)) {
            }
            return;
        }
    }
    while (advance_list(bell)) {
    }
}

void tern__work_advance_all(void)
{
    for (const struct tern__work *work = current()->oldest; work != NULL;) {
        work = tern__work_advance(work->job, NULL) ? current()->oldest : work->next;
    }
    while (advance_list(NULL)) {
    }
}

static void await(struct tern__work *work, const void *what)
{
    if (work->ops->await != NULL) {
        work->ops->await(work, what);
    }
}

int tern__work_broken(struct tern__work *work, const void *what, bool deep)
{
    await(work, what);
    if (!work->sleeps && work->ops->asleep != NULL) {
        work->ops->asleep(work);
    }
    work->sleeps = true;
    int status = work->ops->broken(work, deep);
    await(work, NULL);
    return status;
}

int tern__work_timed_out(struct tern__work *work, const void *what, int64_t waited_ns)
{
    await(work, what);
    int status = work->ops->timed_out(work, waited_ns);
    await(work, NULL);
    return status;
}

void tern__work_wake(struct tern__work *work, const void *what)
{
    if (work->sleeps && work->ops->awake != NULL) {
        tern__job_doing(work->job, TERN__DOING_OTHER, 0);
        await(work, what);
        work->ops->awake(work);
        await(work, NULL);
    }
    work->sleeps = false;
}

struct resting {
    const struct tern__rest *rest;
    const struct tern__bell *bell;
};

static bool can_go_on(void *arg)
{
    const struct resting *resting = arg;
    return resting->rest->over(resting->rest->arg) || tern__work_ready_on(resting->bell);
}

static int is_broken(void *arg, bool deep)
{
    const struct resting *resting = arg;
    return resting->rest->broken(resting->rest->arg, deep);
}

int tern__work_rest(const struct tern__rest *rest)
{
    struct tern__ladder ladder = tern__job_ladder(rest->job);
    ladder.awaits = rest->awaits;
    struct resting resting = {rest, bell_of(rest->job)};
    struct tern__wait climb = {
        .bell = bell_of(rest->job),
        .ladder = &ladder,
        .timeout_ns = rest->timeout_ns,
        .holds = can_go_on,
        .broken = is_broken,
        .arg = &resting,
    };
    struct tern__trace_event event;
    int64_t begin_ns = tern__trace_start();
    if (begin_ns != 0) {
        event = (struct tern__trace_event){.begin_ns = begin_ns, .kind = TERN__TRACE_WAIT};
        tern__trace_name(&event, "wait");
        if (rest->describe != NULL) {
            rest->describe(rest->arg, &event);
        }
    }
    int status = tern__ladder_climb(&climb);
    if (status == TERN_ERR_TIMEOUT) {
        status = TERN_OK;
        if (!can_go_on(&resting)) {
            status = rest->timed_out(rest->arg);
        }
    }
    if (rest->awake != NULL) {
        rest->awake(rest->arg);
    }
    if (begin_ns != 0) {
        tern__trace_put(&event);
    }
    return status;
}

void tern__work_drive(struct tern__work *work, const tern__done *done)
{
    while (tern__observe(done) == 0 && tern__work_advance(work->job, NULL)) {
    }
}

int64_t tern__work_idle_since(struct tern__work *work, int64_t now_ns)
{
    if (work->idle.moves != work->moves || work->idle.since_ns == 0) {
        work->idle.moves = work->moves;
        work->idle.tests = 0;
        work->idle.since_ns = now_ns;
        work->idle.look_ns = now_ns + TERN__LOOK_NS;
    }
    return work->idle.since_ns;
}

int tern__work_tested(struct tern__work *work, const void *what, int64_t timeout_ns)
{
    if (work->idle.moves != work->moves) {
        work->idle.moves = work->moves;
        work->idle.tests = 0;
        work->idle.since_ns = 0;
    }
    if (++work->idle.tests % TERN__TESTS_PER_CLOCK != 0) {
        return TERN_OK;
    }
    int64_t now_ns = tern__now_ns();
    bool late = now_ns - tern__work_idle_since(work, now_ns) >= timeout_ns;
    if (!late && now_ns < work->idle.look_ns) {
        return TERN_OK;
    }
    work->idle.look_ns = now_ns + TERN__LOOK_NS;
    int status = tern__work_broken(work, what, true);
    status = status == TERN_OK && late && !work->ops->ready(work)
                 ? tern__work_timed_out(work, what, timeout_ns)
                 : status;
    tern__work_wake(work, what);
    return status;
}
