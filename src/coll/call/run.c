// SPDX-License-Identifier: Apache-2.0
// Calls go through their runs. Calls of a communicator are published in their order, a few runs
// ahead of the oldest that has not ended, and ended in their order. Data path: no allocation, no
// lock, no log, and no system call but to sleep when nothing can go on.

#include "base/clock.h"
#include "base/error.h"
#include "coll/call/trace.h"
#include "sync/balance.h"
#include "sync/far.h"

// How many ranks are on this machine.
static uint32_t count_here(const struct tern__calls *calls)
{
    const uint64_t elsewhere = calls->elsewhere != NULL ? calls->elsewhere->ranks : 0;
    return (uint32_t)(calls->nranks - __builtin_popcountll(elsewhere));
}

// Who sleeps before the ops of a plan that reaches other machines waits for the ranks here alone.
static void arrive_here(const struct tern__calls *calls, uint32_t run)
{
    _Atomic uint32_t *counter = tern__area_arrivals(calls->area, run, 1); // partner: itself
    uint32_t all = calls->arrivals[run % TERN__LINES][1] + count_here(calls);
    if (tern__flag_add(counter, 1) + 1 == all) {
        tern__ring_others(calls->area);
    }
}

// Publishes the next run of a call.
static void publish(struct tern__calls *calls, struct tern__coll *call)
{
    int64_t begin_ns = tern__trace_start();
    uint32_t run = ++calls->published;
    struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    head->signature = call->signature;
    head->digest = (uint32_t)call->digest;
    tern__call_fill(call, run, head);
    tern__flag_store(&head->run, run); // partner: is_published in meet.c
    if (calls->elsewhere != NULL) {
        tern__call_tell(call, run);
    }
    call->published++;
    calls->numbers[run % TERN__LINES] = call->number;
    tern__calls_arrive(calls, run, tern__call_is_alone(call));
    if (call->wide) {
        arrive_here(calls, run);
    }
    if (begin_ns != 0) {
        tern__trace_publish(call, run, begin_ns);
    }
}

// Whether there is a slot for one more run; TERN_ERR_MISMATCH when it turns out that the ranks
// disagreed in an earlier one.
static int has_room(struct tern__calls *calls)
{
    struct tern__differs differs;
    bool small = calls->publishing->small && calls->publishing->published == 0;
    if (!tern__calls_has_room(calls, small) && tern__calls_settle(calls, &differs) != TERN_OK) {
        return tern__calls_mismatch(calls, &differs);
    }
    return tern__calls_has_room(calls, small);
}

// Pieces that reach other machines are long: one is copied into its slot while the bytes of the one
// before are under way.
static bool is_early(const struct tern__calls *calls, const struct tern__coll *call)
{
    uint32_t ahead = calls->published - calls->ended;
    return call->wide && ahead >= (calls->bound ? 2 : 1);
}

// As far ahead as the slots allow.
static int publish_ahead(struct tern__calls *calls, bool *moved)
{
    int room = 1;
    while (calls->publishing != NULL && (room = has_room(calls)) > 0) {
        struct tern__coll *call = calls->publishing;
        if (call->published > 0 && call->pieces == 0) {
            break; // how it goes on is not known yet
        }
        if (is_early(calls, call)) {
            break;
        }
        publish(calls, call);
        *moved = true;
        if (call->pieces != 0 && call->published == call->pieces) {
            calls->publishing = call->next;
        }
    }
    return room < 0 ? room : TERN_OK;
}

static void record_way(const struct tern__coll *call)
{
    const struct tern__program *program =
        call->way == TERN__WAY_WINDOW || call->way == TERN__WAY_DIRECT ? call->placed
                                                                       : call->staged;
    tern__record_travels(call->record, call->way, program->index);
}

// All ranks have published the run: finds out what it does.
static int bind(struct tern__coll *call, uint32_t run)
{
    struct tern__calls *calls = call->calls;
    if (call->way == TERN__WAY_UNKNOWN) {
        TERN_TRY(tern__call_find_way(call, run));
        record_way(call);
        if (call->pieces == call->published) {
            calls->publishing = call->next;
        }
    }
    TERN_TRY(tern__call_bind(call, run));
    if (call->ended == 0) {
        tern__call_outward_begin(call);
    }
    calls->bound = true;
    tern__calls_begin_lanes(calls, &calls->lanes, run);
    return TERN_OK;
}

// Which call is the oldest from now on.
static void set_oldest(struct tern__calls *calls, struct tern__coll *call)
{
    calls->oldest = call;
    calls->work.awaits = calls->elsewhere == NULL || call == NULL ? TERN__AWAITS_ANY
                         : call->wide                             ? TERN__AWAITS_PIECES
                                                                  : TERN__AWAITS_CROSSING;
}

// The lines that the next call will write first were last read by others: they are asked for now,
// so that it finds them here. (quick.h stores into them; what is stored would be waited for here.)
static void own_ahead(const struct tern__calls *calls, bool counts, bool small)
{
    uint32_t run = calls->published + 1;
    if (calls->elsewhere != NULL) {
        return;
    }
    tern__own_line(tern__area_head(calls->area, calls->rank, run));
    if (counts) {
        tern__own_line(tern__area_run_payload(calls->area, calls->rank, run, small));
        tern__own_line(tern__area_letter(calls->area, calls->rank, run));
    }
}

static void end_call(struct tern__calls *calls, struct tern__coll *call, int status)
{
    set_oldest(calls, call->next);
    if (calls->oldest == NULL) {
        calls->newest = NULL;
        tern__work_end(&calls->work);
    }
    tern__record_end(call->record, status, 0);
    tern__balance(calls->work.job, (uint32_t)call->number);
    tern__call_outward_end(call, status);
    if (call->timed_ns != 0 && status == TERN_OK) {
        tern__call_time(call);
    }
    if (call->traced_ns != 0) {
        tern__trace_call(call);
    }
    if (tern__call_is_fence(call)) {
        calls->work.job->far->see(calls->work.job);
    }
    tern__call_drop(call);
    call->status = status;
    call->ended_by = tern__thread_number();
    bool counts = call->counts;
    bool small = call->small;
    tern__work_done(&calls->work, &call->done); // the call may be gone after this
    if (calls->oldest == NULL) {
        own_ahead(calls, counts, small);
    }
}

static void end_run(struct tern__calls *calls, struct tern__coll *call, uint32_t run)
{
    const struct tern__script *script = calls->lanes.script;
    tern__call_unload(call);
    tern__lanes_end(&calls->lanes);
    tern__calls_count(calls, run, script != NULL ? script->meets : 0);
    calls->arrivals[run % TERN__LINES][1] += call->wide ? count_here(calls) : 0;
    calls->ended++;
    calls->settled = calls->met_all ? calls->ended : calls->settled;
    calls->bound = false;
    tern__ahead_move_up(calls);
    if (++call->ended == call->pieces) {
        end_call(calls, call, TERN_OK);
    }
}

// 1 when all whom the oldest run waits for have come, 0 when one has not; an error, with its
// sentence, when one makes another call.
static int meet(struct tern__calls *calls, struct tern__coll *call)
{
    struct tern__differs differs;
    int met = tern__calls_meet(calls, call, &differs);
    return met < 0 ? tern__calls_mismatch(calls, &differs) : met;
}

// While this rank waits until another one has taken its bytes.
static bool give_help(const struct tern__calls *calls)
{
    return calls->gives != NULL &&
           tern__help_give(&calls->comm->group, calls->gives_to, calls->gives);
}

// Does what can be done of the ops of the oldest run, and of the one behind: 1 when that was
// anything.
static int sweep(struct tern__calls *calls)
{
    struct tern__differs differs;
    bool swept = tern__lanes_sweep(&calls->lanes);
    if (calls->lanes.failed) {
        return tern__call_unread(calls->oldest);
    }
    swept = swept || give_help(calls);
    int ahead = tern__ahead_advance(calls, &differs);
    return ahead < 0 ? tern__calls_mismatch(calls, &differs) : swept || ahead > 0;
}

// The oldest run: 1 when it ended, 0 when it has to wait.
static int advance_run(struct tern__calls *calls, bool *moved)
{
    struct tern__coll *call = calls->oldest;
    uint32_t run = calls->ended + 1;
    if (calls->published == calls->ended) { // there is no slot for it yet
        return 0;
    }
    if (!calls->bound) {
        int64_t begin_ns = tern__trace_start();
        int met = meet(calls, call);
        if (met <= 0) {
            return met;
        }
        if (begin_ns != 0) {
            tern__trace_meet(call, run, begin_ns);
        }
        TERN_TRY(bind(call, run));
        *moved = true;
    }
    while (calls->lanes.open_count > 0 || call->wide) {
        int swept = sweep(calls);
        bool over = calls->lanes.open_count == 0;
        if (swept < 0) {
            return swept;
        }
        if (swept == 0 || over) { // perhaps nothing for ever, if the others make another call
            int met = call->wide ? meet(calls, call) : over;
            if (met < 0) {
                return met;
            }
            if (over && met > 0) {
                break;
            }
        }
        if (swept == 0) {
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
    uint64_t helped = calls->bound ? calls->binding.helped : 0;
    int64_t until_ns = helped != 0 ? tern__now_ns() + TERN__HELP_LEAVE_NS : 0;
    for (; helped != 0; helped &= helped - 1) {
        int rank = __builtin_ctzll(helped);
        tern__help_leave(&calls->comm->group, rank, calls->binding.help[rank], until_ns);
    }
    calls->binding.helped = 0;
    while (calls->oldest != NULL) {
        end_call(calls, calls->oldest, status);
    }
    calls->publishing = NULL;
    tern__ahead_end(calls);
}

bool tern__calls_advance(struct tern__calls *calls)
{
    bool moved = false;
    int status = 1;
    while (calls->oldest != NULL && status > 0) {
        status = publish_ahead(calls, &moved);
        status = status < 0 ? status : advance_run(calls, &moved);
        if (status == 0 && calls->elsewhere != NULL) {
            bool published = false; // what was too early before
            status = publish_ahead(calls, &published);
            status = status < 0 ? status : published;
        }
    }
    if (status < 0) {
        tern__calls_fail(calls, tern__call_failed(calls->oldest, status));
        return true;
    }
    calls->work.moves += moved;
    return moved;
}

// Waiting.

static struct tern__calls *calls_of(struct tern__work *work)
{
    return (struct tern__calls *)(void *)((char *)work - offsetof(struct tern__calls, work));
}

static bool advance_work(struct tern__work *work)
{
    return tern__calls_advance(calls_of(work));
}

// Whether the oldest run could go on. What can be published has been, when nothing else is
// possible.
static bool work_ready(struct tern__work *work)
{
    struct tern__calls *calls = calls_of(work);
    bool compares = !calls->bound || (calls->oldest != NULL && calls->oldest->wide);
    return (calls->bound && (tern__lanes_ready(&calls->lanes) ||
                             (calls->gives != NULL && tern__help_is_wanted(calls->gives)))) ||
           tern__ahead_ready(calls) || (compares && tern__calls_ready(calls));
}

static void work_asleep(struct tern__work *work)
{
    if (calls_of(work)->oldest != NULL) {
        tern__call_asleep(calls_of(work)->oldest);
    }
}

static int work_broken(struct tern__work *work, bool deep)
{
    struct tern__calls *calls = calls_of(work);
    return calls->oldest != NULL ? tern__call_broken(calls->oldest, deep) : TERN_OK;
}

static int work_timed_out(struct tern__work *work, int64_t waited_ns)
{
    return tern__call_timed_out(calls_of(work)->oldest, waited_ns);
}

static void work_awake(struct tern__work *work)
{
    struct tern__calls *calls = calls_of(work);
    if (calls->oldest != NULL) {
        tern__record_waits(calls->oldest->record, 0, 0);
    }
}

static void work_describe(struct tern__work *work, struct tern__trace_event *event)
{
    tern__trace_calls_rest(calls_of(work), event);
}

static const struct tern__work_ops calls_ops = {
    .advance = advance_work,
    .ready = work_ready,
    .asleep = work_asleep,
    .broken = work_broken,
    .timed_out = work_timed_out,
    .awake = work_awake,
    .describe = work_describe,
};

void tern__calls_set_up(struct tern__calls *calls)
{
    calls->lanes.trace = tern__trace_step;
    if (calls->ahead != NULL) {
        calls->ahead->lanes.trace = tern__trace_step;
    }
    calls->work.ops = &calls_ops;
    calls->work.job = calls->comm->group.job;
    calls->work.turn = &calls->comm->turn;
}

static void enqueue(struct tern__calls *calls, struct tern__coll *call)
{
    if (calls->oldest == NULL) {
        set_oldest(calls, call);
        tern__work_begin(&calls->work);
    } else {
        calls->newest->next = call;
    }
    calls->newest = call;
}

static struct tern__record *begin_record(const struct tern__coll *call)
{
    struct tern__beginning beginning = {
        .comm_slot = call->calls->comm->group.slot,
        .way = call->way,
        .sequence = call->number,
        .signature = call->signature,
        .bytes = call->bytes,
    };
    return tern__record_begin(call->calls->work.job, beginning);
}

int tern__call_begin(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    int fenced = tern__call_is_fence(call) ? tern__far_flush(&calls->comm->group, call->timeout_ns)
                                           : TERN_OK;
    if (fenced != TERN_OK) {
        tern__call_drop(call);
        return fenced;
    }
    call->next = NULL;
    tern__poke(&call->done, 0);
    call->status = TERN_OK;
    call->published = 0;
    call->ended = 0;
    call->longest = 0;
    if (!calls->handed) {
        call->timed_ns = 0; // nothing of it is published
    }
    if (calls->handed) { // its run has been published
        calls->handed = false;
        call->published = 1;
        call->number = calls->made;
        calls->numbers[calls->published % TERN__LINES] = call->number;
        calls->publishing = call->pieces == 0 ? call : NULL;
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
    struct tern__awaited awaited = {.work = &calls->work,
                                    .done = &call->done,
                                    .what = call,
                                    .timeout_ns = call->timeout_ns};
    while (tern__observe(&call->done) == 0) {
        int status = tern__work_wait(&awaited);
        if (status < 0) {
            tern__turn_take(&calls->comm->turn);
            if (tern__observe(&call->done) == 0) {
                tern__calls_fail(calls, tern__call_failed(calls->oldest, status));
            }
            tern__turn_leave(&calls->comm->turn);
        }
    }
    if (call->status < 0 && call->ended_by != tern__thread_number()) {
        tern__call_repeat(call);
    }
    return call->status;
}
