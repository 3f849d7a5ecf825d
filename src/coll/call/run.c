// SPDX-License-Identifier: Apache-2.0
// Calls go through their runs. Calls of a communicator are published in their order, a few runs ahead
// of the oldest that has not ended, and ended in their order. Data path: no allocation, no lock, no
// log, and no system call but to sleep when nothing can go on.

#include "base/error.h"
#include "coll/call/trace.h"

#define FIRST_LOOKS 64 // before the ladder: a line from a rank that runs is there by then

static uint32_t *base_of(struct tern__calls *calls, uint32_t run, uint32_t word)
{
    return &calls->bases[run % TERN__SLOTS * TERN__SIGNALS_PACKED + word];
}

void tern__calls_arrive(struct tern__calls *calls, uint32_t run, uint32_t index)
{
    uint32_t n = (uint32_t)calls->nranks;
    if (n > 2) {
        uint32_t wanted = calls->arrivals[run % TERN__SLOTS][index] + n;
        if (tern__flag_add(tern__area_arrivals(calls->area, run, index), 1) + 1 != wanted) {
            return; // partner: has_met, of whoever waits for the last one
        }
    }
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (rank != calls->rank) {
            tern__bell_ring(tern__window_bell(calls->area, rank));
        }
    }
}

// Whether all ranks have arrived at signal `index - 1` of the run.
static bool has_met(const struct tern__calls *calls, uint32_t run, uint32_t index)
{
    return tern__reached(tern__flag_load(tern__area_arrivals(calls->area, run, index)),
                         calls->arrivals[run % TERN__SLOTS][index] + (uint32_t)calls->nranks);
}

// Publishes the next run of a call.
static void publish(struct tern__calls *calls, struct tern__coll *call)
{
    int64_t begin_ns = tern__trace_start();
    uint32_t run = ++calls->published;
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    head->signature = call->signature;
    tern__call_fill(call, run, head);
    call->published++;
    tern__flag_store(&head->run, run); // partner: is_published
    tern__calls_arrive(calls, run, 0);
    if (begin_ns != 0) {
        tern__trace_publish(call, run, begin_ns);
    }
}

// As far ahead as the slots allow.
static bool publish_ahead(struct tern__calls *calls)
{
    bool moved = false;
    while (calls->publishing != NULL && calls->published - calls->ended < TERN__AHEAD) {
        struct tern__coll *call = calls->publishing;
        if (call->published > 0 && call->pieces == 0) {
            break; // how it goes on is not known yet
        }
        publish(calls, call);
        moved = true;
        if (call->pieces != 0 && call->published == call->pieces) {
            calls->publishing = call->next;
        }
    }
    return moved;
}

static bool is_published(const struct tern__calls *calls, int rank, uint32_t run)
{
    // Also acquires what that rank wrote before.
    return tern__flag_load(&tern__area_head(calls->area, rank, run)->run) == run;
}

// 1 when all ranks have published the run and agree on what it is, 0 when one has not.
static int meet(struct tern__calls *calls, struct tern__coll *call, uint32_t run)
{
    for (; calls->seen < calls->nranks; calls->seen++) {
        if (calls->seen == calls->rank) {
            continue;
        }
        if (!is_published(calls, calls->seen, run)) {
            return 0;
        }
        uint64_t theirs = tern__area_head(calls->area, calls->seen, run)->signature;
        if (theirs != call->signature) {
            return tern__call_mismatch(call, calls->seen, theirs);
        }
    }
    return 1;
}

static bool has_come(struct tern__calls *calls, const struct tern__step *step, uint32_t run)
{
    const _Atomic uint32_t *word =
        (const _Atomic uint32_t *)(const void *)(tern__area_signal(calls->area, calls->rank, run, 0,
                                                                   true)) +
        step->word;
    // partner: the notify of a post
    return tern__reached(tern__flag_load(word), *base_of(calls, run, step->word) + step->count);
}

// Whether a step that waits has got what it waits for.
static bool is_over(struct tern__calls *calls, const struct tern__step *step, uint32_t run)
{
    return step->kind == TERN__STEP_MEET ? has_met(calls, run, step->signal + 1)
                                         : has_come(calls, step, run);
}

static void post(const struct tern__calls *calls, const struct tern__step *step, uint32_t run)
{
    char *word =
        tern__area_signal(calls->area, step->peer, run, 0, true) + sizeof(uint32_t) * step->word;
    calls->area->xport->notify(word, 1, TERN_NOTIFY_ADD);
    tern__bell_ring(tern__window_bell(calls->area, step->peer));
}

// Does what is ready of a lane, up to the second transfer; true when that was anything.
static bool advance_lane(struct tern__coll *call, const struct tern__step **next,
                         const struct tern__step *end, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    const struct tern__step *begin = *next;
    const struct tern__step *step = begin;
    bool transferred = false;
    for (; step != end; step++) {
        int64_t begin_ns = tern__trace_start();
        if (step->kind == TERN__STEP_WAIT || step->kind == TERN__STEP_MEET) {
            if (!is_over(calls, step, run)) {
                break;
            }
        } else if (step->kind == TERN__STEP_POST) {
            post(calls, step, run);
        } else if (step->kind == TERN__STEP_ARRIVE) {
            tern__calls_arrive(calls, run, step->signal + 1);
        } else if (transferred) {
            break;
        } else {
            tern__transfer(&calls->binding, calls->area->xport, step);
            transferred = true;
            continue; // which has its own event
        }
        if (begin_ns != 0) {
            tern__trace_step(call, step, run, begin_ns);
        }
    }
    *next = step;
    return step != begin;
}

// Once round the lanes.
static bool sweep(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    bool moved = false;
    calls->open = 0;
    for (uint32_t i = 0; i < calls->script->lanes_count; i++) {
        const struct tern__step *end = calls->script->lanes[i].end;
        if (calls->next[i] != end) {
            moved = advance_lane(call, &calls->next[i], end, run) || moved;
            calls->open += calls->next[i] != end;
        }
    }
    return moved;
}

static void record_way(const struct tern__coll *call)
{
    const struct tern__program *program =
        call->way == TERN__WAY_WINDOW ? call->window : call->staged;
    tern__record_travels(call->record,
                         call->way == TERN__WAY_WINDOW   ? TERN__BY_WINDOW
                         : call->way == TERN__WAY_STAGED ? TERN__BY_STAGES
                                                         : TERN__BY_SLOT,
                         program->index);
}

// All ranks have published the run: finds out what it does.
static int bind(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (call->way == TERN__WAY_OPEN) {
        TERN_TRY(tern__call_open(call, run));
        record_way(call);
        if (call->pieces == call->published) {
            calls->publishing = call->next;
        }
    }
    TERN_TRY(tern__call_bind(call, run));
    calls->bound = true;
    calls->open = 0;
    if (calls->script != NULL) {
        calls->open = calls->script->lanes_count;
        for (uint32_t i = 0; i < calls->open; i++) {
            calls->next[i] = calls->script->lanes[i].begin;
        }
    }
    return TERN_OK;
}

static void end_call(struct tern__calls *calls, struct tern__coll *call, int status)
{
    calls->oldest = call->next;
    if (calls->oldest == NULL) {
        calls->newest = NULL;
        tern__task_end(&calls->task);
    }
    tern__record_end(call->record, status, 0);
    if (call->traced_ns != 0) {
        tern__trace_call(call);
    }
    tern__call_drop(call);
    call->status = status;
    call->done = true;
}

void tern__calls_count(struct tern__calls *calls, uint32_t run, uint32_t meets)
{
    uint32_t *arrivals = calls->arrivals[run % TERN__SLOTS];
    arrivals[0] += (uint32_t)calls->nranks;
    for (uint32_t signal = 0; signal + 1 < TERN__SLOT_ARRIVALS; signal++) {
        arrivals[signal + 1] += (meets >> signal & 1) != 0 ? (uint32_t)calls->nranks : 0;
    }
}

static void end_run(struct tern__calls *calls, struct tern__coll *call, uint32_t run)
{
    const struct tern__script *script = calls->script;
    tern__call_unload(call);
    for (uint32_t signal = 0; script != NULL && signal < script->posts_count; signal++) {
        *base_of(calls, run, tern__script_word(script, signal)) += script->posts[signal];
    }
    tern__calls_count(calls, run, script != NULL ? script->meets : 0);
    calls->ended++;
    calls->seen = 0;
    calls->bound = false;
    call->ended++;
    if (call->ended == call->pieces) {
        end_call(calls, call, TERN_OK);
    }
}

// The oldest run: 1 when it ended, 0 when it has to wait.
static int advance_run(struct tern__calls *calls, bool *moved)
{
    struct tern__coll *call = calls->oldest;
    uint32_t run = calls->ended + 1;
    if (!calls->bound) {
        int64_t begin_ns = tern__trace_start();
        int met = meet(calls, call, run);
        if (met <= 0) {
            return met;
        }
        if (begin_ns != 0) {
            tern__trace_meet(call, run, begin_ns);
        }
        TERN_TRY(bind(call, run));
        *moved = true;
    }
    while (calls->open > 0) {
        if (!sweep(call, run)) {
            return 0;
        }
        *moved = true;
    }
    end_run(calls, call, run);
    *moved = true;
    return 1;
}

void tern__calls_fail(struct tern__calls *calls, int status)
{
    while (calls->oldest != NULL) {
        end_call(calls, calls->oldest, status);
    }
    calls->publishing = NULL;
}

bool tern__calls_advance(struct tern__calls *calls)
{
    bool moved = false;
    int status = 1;
    while (calls->oldest != NULL && status > 0) {
        moved = publish_ahead(calls) || moved;
        status = advance_run(calls, &moved);
    }
    if (status < 0) {
        tern__calls_fail(calls, tern__call_failed(calls->oldest, status));
        return true;
    }
    calls->task.moves += moved;
    return moved;
}

// Waiting.

static struct tern__calls *calls_of(struct tern__task *task)
{
    return (struct tern__calls *)(void *)((char *)task - offsetof(struct tern__calls, task));
}

static bool advance_task(struct tern__task *task)
{
    return tern__calls_advance(calls_of(task));
}

// Whether the oldest run could go on. What can be published has been, when nothing else is possible.
static bool task_ready(struct tern__task *task)
{
    struct tern__calls *calls = calls_of(task);
    uint32_t run = calls->ended + 1;
    if (!calls->bound) {
        int rank = calls->seen == calls->rank ? calls->seen + 1 : calls->seen;
        return rank >= calls->nranks || is_published(calls, rank, run);
    }
    for (uint32_t i = 0; i < calls->script->lanes_count; i++) {
        const struct tern__step *step = calls->next[i];
        if (step != calls->script->lanes[i].end &&
            ((step->kind != TERN__STEP_WAIT && step->kind != TERN__STEP_MEET) ||
             is_over(calls, step, run))) {
            return true;
        }
    }
    return false;
}

static int task_broken(struct tern__task *task, bool deep)
{
    struct tern__calls *calls = calls_of(task);
    return calls->oldest != NULL ? tern__call_broken(calls->oldest, deep) : TERN_OK;
}

static int task_timed_out(struct tern__task *task)
{
    return tern__call_timed_out(calls_of(task)->oldest);
}

static void task_woken(struct tern__task *task)
{
    struct tern__calls *calls = calls_of(task);
    if (calls->says_so) {
        tern__job_doing(task->job, TERN__DOING_OTHER, 0);
        if (calls->oldest != NULL) {
            tern__record_waits(calls->oldest->record, 0, 0);
        }
        calls->says_so = false;
    }
}

static void task_describe(struct tern__task *task, struct tern__trace_event *event)
{
    tern__trace_calls_rest(calls_of(task), event);
}

void tern__calls_set_up(struct tern__calls *calls)
{
    calls->task = (struct tern__task){
        .advance = advance_task,
        .ready = task_ready,
        .broken = task_broken,
        .timed_out = task_timed_out,
        .woken = task_woken,
        .describe = task_describe,
        .job = calls->comm->group.job,
    };
}

static void enqueue(struct tern__calls *calls, struct tern__coll *call)
{
    if (calls->oldest == NULL) {
        calls->oldest = call;
        tern__task_begin(&calls->task);
    } else {
        calls->newest->next = call;
    }
    calls->newest = call;
}

static struct tern__record *begin_record(const struct tern__coll *call)
{
    struct tern__beginning beginning = {
        .comm_slot = call->calls->comm->group.slot,
        .transport = call->way == TERN__WAY_SLOT ? TERN__BY_SLOT : TERN__BY_UNKNOWN,
        .sequence = call->number,
        .signature = call->signature,
        .bytes = call->bytes,
    };
    return tern__record_begin(call->calls->task.job, beginning);
}

int tern__call_begin(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    if (tern__task_is_running(&calls->task) && !tern__task_is_mine(&calls->task)) {
        tern__call_drop(call);
        return tern__fail(TERN_ERR_STATE,
                          "%s: calls of this communicator that another thread began have not ended",
                          call->name);
    }
    call->next = NULL;
    call->done = false;
    call->status = TERN_OK;
    call->published = 0;
    call->ended = 0;
    call->longest = 0;
    if (calls->handed) { // its run has been published
        calls->handed = false;
        call->published = 1;
        call->number = calls->made;
        call->record = calls->handed_record;
        enqueue(calls, call);
        return TERN_OK;
    }
    call->number = ++calls->made;
    call->record = begin_record(call);
    enqueue(calls, call);
    if (calls->publishing == NULL) {
        calls->publishing = call;
    }
    tern__calls_advance(calls);
    return TERN_OK;
}

int tern__call_wait(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    for (int looks = 0; looks < FIRST_LOOKS && !call->done; looks++) {
        if (task_ready(&calls->task)) {
            tern__calls_advance(calls);
        }
    }
    while (!call->done) {
        bool moved = tern__calls_advance(calls);
        moved = (!call->done && tern__tasks_advance(calls->task.job, &calls->task)) || moved;
        if (call->done || moved) {
            continue;
        }
        int status = tern__task_rest(&calls->task);
        if (status < 0 && calls->oldest != NULL) {
            tern__calls_fail(calls, tern__call_failed(calls->oldest, status));
        }
    }
    return call->status;
}

int tern__call_run(struct tern__coll *call)
{
    call->traced_ns = tern__trace_start();
    call->overlaps = false;
    TERN_TRY(tern__call_pick(call));
    TERN_TRY(tern__call_begin(call));
    return call->done ? call->status : tern__call_wait(call);
}
