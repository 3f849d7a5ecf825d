// SPDX-License-Identifier: Apache-2.0
// Why a call does not go on, in words. Runs when a call has failed, or sleeps.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "coll/algo.h"
#include "coll/call/call.h"
#include "plan/ir.h"
#include "sync/doing.h"

// "all_reduce of 4096 bytes (f32, sum)": bytes are those of a share where there are shares.
void tern__signature_text(uint64_t signature, char *text, size_t size)
{
    struct tern__signature s = tern__signature_unpack(signature);
    tern_coll_kind kind = (tern_coll_kind)s.kind;
    const tern_kind_facts *facts = tern__kind_facts(s.kind);
    bool counted = facts->plan == (int)s.kind; // the same bytes on all ranks
    char root[24] = "";
    char algorithm[48] = "";
    if (kind == TERN_COLL_BARRIER) {
        snprintf(text, size, "barrier");
        return;
    }
    if (facts->plan >= 0 && facts->root != TERN_KIND_ROOT_NONE) {
        snprintf(root, sizeof root, ", root %d", s.root);
    }
    if (counted && s.algorithm != TERN__ALGORITHM_NONE) {
        const char *name = tern__algo_at((tern_plan_kind)s.kind, s.algorithm);
        snprintf(algorithm, sizeof algorithm, ", %s", name != NULL ? name : "?");
    }
    char bytes[48] = "";
    if (!facts->counts) {
        snprintf(bytes, sizeof bytes, " of %s%llu bytes",
                 s.bytes == TERN__SIGNATURE_BYTES_MAX ? "at least " : "",
                 (unsigned long long)s.bytes);
    }
    snprintf(text, size, "%s%s%s (%s%s%s%s%s%s)", tern_coll_kind_name(kind), bytes,
             counted && tern__kind_has_shares(kind) ? " a share" : "",
             tern_dtype_name((tern_dtype)s.dtype), facts->sums ? ", " : "",
             facts->sums ? tern_reduce_op_name((tern_reduce_op)s.op) : "", root,
             s.order == TERN_ORDER_ANY ? ", any order" : "", algorithm);
}

static const struct tern__program *program_of(const struct tern__coll *call)
{
    return call->way == TERN__WAY_SLOT && call->slot != NULL       ? call->slot
           : call->way == TERN__WAY_DIRECT                         ? call->placed
           : call->way == TERN__WAY_STAGED || call->window == NULL ? call->staged
                                                                   : call->window;
}

static const char *algorithm_of(const struct tern__coll *call)
{
    const struct tern__program *program = program_of(call);
    return program != NULL ? program->algorithm : "none";
}

// Where the plan runs, after the name of its algorithm; nothing before it is known where all
// buffers are.
static const char *way_text(enum tern__way way)
{
    return way == TERN__WAY_SLOT     ? " in slots"
           : way == TERN__WAY_WINDOW ? " in windows"
           : way == TERN__WAY_STAGED ? " in pieces"
           : way == TERN__WAY_DIRECT ? " between processes"
                                     : "";
}

// "call 17 (all_reduce of 4096 bytes, f32, sum, fused in windows)", "call 18 (barrier, direct in
// slots)"
static void name_call(const struct tern__coll *call, char *text, size_t size)
{
    bool reduces = tern__kinds[call->kind].sums;
    char data[96] = "";
    if (call->kind != TERN_COLL_BARRIER) {
        snprintf(data, sizeof data, " of %llu bytes, %s%s%s", (unsigned long long)call->bytes,
                 tern_dtype_name(call->dtype), reduces ? ", " : "",
                 reduces ? tern_reduce_op_name(call->op) : "");
    }
    snprintf(text, size, "call %llu (%s%s, %s%s)", (unsigned long long)call->number,
             tern_coll_kind_name(call->kind), data, algorithm_of(call), way_text(call->way));
}

// The ranks that have not published the run that the oldest call waits for.
static uint64_t missing(const struct tern__calls *calls)
{
    uint32_t run;
    return tern__calls_awaited(calls, &run);
}

// The lane and op that the oldest run waits at; NULL before all ranks have come.
static const struct tern__step *find_step(const struct tern__calls *calls, int *lane)
{
    return calls->bound && missing(calls) == 0 ? tern__lanes_stand(&calls->lanes, lane) : NULL;
}

// "waiting for rank 3 to enter it": the call, or an earlier one that this rank has not waited in.
static void missing_text(const struct tern__coll *call, char *text, size_t size)
{
    const struct tern__calls *calls = call->calls;
    uint32_t run;
    uint64_t ranks = tern__calls_awaited(calls, &run);
    uint64_t number = calls->numbers[run % TERN__LINES];
    char which[32] = "it";
    if (calls->published == calls->ended && number != call->number) {
        snprintf(which, sizeof which, "call %llu", (unsigned long long)number);
    }
    if (ranks == 0) { // they have just come
        snprintf(text, size, "waiting for the others to enter %s", which);
        return;
    }
    snprintf(text, size, "waiting for %s to enter %s",
             tern__rank_name(&calls->comm->group, __builtin_ctzll(ranks)).text, which);
}

// Where a call stands: "run 2 of 5, waiting for rank 3 to enter it".
static void place_text(const struct tern__coll *call, char *text, size_t size)
{
    const struct tern__calls *calls = call->calls;
    int lane;
    const struct tern__step *step = find_step(calls, &lane);
    char run[48] = "";
    if (call != calls->oldest) {
        snprintf(text, size, "waiting for its turn behind call %llu",
                 (unsigned long long)calls->oldest->number);
        return;
    }
    if (call->pieces > 1 && call->ended >= call->announced) {
        snprintf(run, sizeof run, "in piece %llu of %llu, ",
                 (unsigned long long)(call->ended + 1 - call->announced),
                 (unsigned long long)(call->pieces - call->announced));
    }
    if (step != NULL) {
        snprintf(text, size, "%sat lane %d, op %u (%s)", run, lane, step->index,
                 step->kind == TERN__STEP_WAIT   ? "wait for a signal of other ranks"
                 : step->kind == TERN__STEP_MEET ? "wait for all other ranks"
                                                 : "transfer");
    } else {
        char rest[80];
        missing_text(call, rest, sizeof rest);
        snprintf(text, size, "%s%s", run, rest);
    }
}

// Whether a sentence is about this call, of this rank or of another.
static bool is_about(const char *sentence, const struct tern__coll *call)
{
    char name[80];
    snprintf(name, sizeof name, "call %llu (%s%s", (unsigned long long)call->number,
             tern_coll_kind_name(call->kind), call->kind == TERN_COLL_BARRIER ? ", " : " of ");
    return strstr(sentence, name) != NULL;
}

int tern__call_failed(struct tern__coll *call, int status)
{
    char name[192];
    char place[128];
    char detail[TERN_ERROR_BYTES];
    char *text = call->calls->failed_text;
    size_t size = sizeof call->calls->failed_text;
    if (status == TERN_ERR_MISMATCH || status == TERN_ERR_ARG) {
        return status; // says all there is to say
    }
    snprintf(detail, sizeof detail, "%s", tern_last_error());
    if (is_about(detail, call)) {
        snprintf(text, size, "%s: %s", call->name, detail);
        return tern__fail(status, "%s", text);
    }
    name_call(call, name, sizeof name);
    place_text(call, place, sizeof place);
    snprintf(text, size, "%s: %s, %s: %s", call->name, name, place, detail);
    return tern__fail(status, "%s", text);
}

void tern__call_repeat(const struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    tern__turn_take(&calls->comm->turn);
    if (tern__comm_check(calls->comm) == TERN_OK) {
        tern__fail(call->status, "the call has failed");
    } else if (calls->failed_text[0] != '\0') {
        tern__fail(call->status, "%s", calls->failed_text);
    }
    tern__turn_leave(&calls->comm->turn);
}

// Two ranks that differ in nothing but counts that should be alike; TERN_OK when they differ in
// more.
static int compare_counts(struct tern__calls *calls, const int ranks[2], uint32_t run)
{
    struct tern__group *group = &calls->comm->group;
    const struct tern__share *tables[2];
    struct tern__signature s;
    uint64_t rest[2]; // without the digest, and the algorithm, which may follow from the counts
    for (int i = 0; i < 2; i++) {
        s = tern__signature_unpack(tern__area_head(calls->area, ranks[i], run)->signature);
        rest[i] = tern__signature_pack(s.kind, s.dtype, s.op, s.root, s.order, 0, 0);
        tables[i] = (const void *)tern__area_payload(calls->area, ranks[i], run);
    }
    tern_coll_kind kind = (tern_coll_kind)s.kind;
    if (rest[0] != rest[1] || !tern__kind_counts_alike(kind)) {
        return TERN_OK;
    }
    for (int i = 0; i < calls->nranks; i++) {
        const struct tern__share rows[] = {tables[0][i], tables[1][i]};
        bool in = tern__kind_in_all(kind);
        uint64_t first = in ? rows[0].in_bytes : rows[0].out_bytes;
        uint64_t second = in ? rows[1].in_bytes : rows[1].out_bytes;
        if (first != second) {
            return tern__group_fail(group, TERN_ERR_MISMATCH, ranks[1],
                                    "the ranks disagree on call %llu, %s: rank %d has %llu bytes "
                                    "as %s counts, %llu as %s does",
                                    (unsigned long long)calls->numbers[run % TERN__LINES],
                                    tern_coll_kind_name(kind), i, (unsigned long long)first,
                                    tern__rank_name(group, ranks[0]).text,
                                    (unsigned long long)second,
                                    tern__rank_name(group, ranks[1]).text);
        }
    }
    return TERN_OK;
}

int tern__calls_mismatch(struct tern__calls *calls, const struct tern__differs *differs)
{
    int rank = differs->rank;
    uint32_t run = differs->run;
    // Where rank 0 is known to agree with this one, it speaks for both: whoever finds the
    // disagreement then says the same.
    int alike = tern__reached(tern__calls_compared(calls, 0), run) ? 0 : calls->rank;
    int ranks[] = {rank < alike ? rank : alike, rank < alike ? alike : rank};
    char texts[2][144];
    struct tern__group *group = &calls->comm->group;
    TERN_TRY(compare_counts(calls, ranks, run));
    for (int i = 0; i < 2; i++) {
        tern__signature_text(tern__area_head(calls->area, ranks[i], run)->signature, texts[i],
                             sizeof texts[i]);
    }
    return tern__group_fail(group, TERN_ERR_MISMATCH, rank,
                            "the ranks disagree on call %llu: %s makes %s, %s %s",
                            (unsigned long long)calls->numbers[run % TERN__LINES],
                            tern__rank_name(group, ranks[0]).text, texts[0],
                            tern__rank_name(group, ranks[1]).text, texts[1]);
}

int tern__call_counts_differ(struct tern__coll *call, int from, int to, uint64_t sent,
                             uint64_t wanted)
{
    struct tern__group *group = &call->calls->comm->group;
    return tern__group_fail(group, TERN_ERR_MISMATCH, from,
                            "the ranks disagree on call %llu, %s: %s has "
                            "%llu bytes for %s, rank %d wants %llu from rank %d",
                            (unsigned long long)call->number, tern_coll_kind_name(call->kind),
                            tern__rank_name(group, from).text, (unsigned long long)sent,
                            tern__rank_name(group, to).text, to, (unsigned long long)wanted, from);
}

int tern__call_window_gone(struct tern__coll *call, int rank)
{
    struct tern__group *group = &call->calls->comm->group;
    return tern__group_fail(group, TERN_ERR_ARG, group->rank,
                            "call %llu, %s: a buffer of %s is in a window that %s has destroyed",
                            (unsigned long long)call->number, tern_coll_kind_name(call->kind),
                            tern__rank_name(group, rank).text,
                            tern__rank_name(group, group->rank).text);
}

int tern__call_unread(struct tern__coll *call)
{
    char name[192];
    name_call(call, name, sizeof name);
    return tern__reach_fail(&call->calls->comm->group, &call->calls->lanes.unread, name);
}

// A rank that has left without publishing the run.
static int check_left(struct tern__coll *call)
{
    struct tern__group *group = &call->calls->comm->group;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    left &= missing(call->calls); // partner: tern__group_leave, after its last call
    if (left != 0) {
        char name[192];
        name_call(call, name, sizeof name);
        return tern__group_has_left(group, __builtin_ctzll(left), " without entering %s", name);
    }
    return TERN_OK;
}

void tern__call_asleep(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    int lane;
    const struct tern__step *step = find_step(calls, &lane);
    uint64_t ranks = missing(calls);
    tern__job_doing(calls->work.job, TERN__DOING_CALL, call->number);
    tern__record_waits(call->record,
                       step != NULL ? tern__stuck(-1, lane, (int)step->index)
                                    : tern__stuck(ranks != 0 ? __builtin_ctzll(ranks) : 0, 0, -1),
                       tern__now_ns());
}

int tern__call_broken(struct tern__coll *call, bool deep)
{
    TERN_TRY(tern__group_check(&call->calls->comm->group, deep));
    TERN_TRY(check_left(call));
    if (deep) { // whom it waited for may have come since
        tern__calls_send_left(call->calls);
        tern__call_asleep(call);
    }
    return TERN_OK;
}

// The ranks that this one waits for: that have not published the run, or that post the signal and
// have not come to a later point than the op that waits for it.
static uint64_t find_awaited(const struct tern__coll *call)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__group *group = &calls->comm->group;
    int lane;
    const struct tern__step *step = find_step(calls, &lane);
    uint64_t ranks;
    if (step == NULL) {
        return missing(calls);
    }
    ranks = step->kind == TERN__STEP_WAIT ? calls->lanes.script->posters[step->signal] : 0;
    ranks = ranks != 0 ? ranks : tern__group_others(group);
    uint64_t behind = ranks;
    for (uint64_t left = ranks; left != 0 && step->kind == TERN__STEP_MEET; left &= left - 1) {
        struct tern__recorded theirs;
        int rank = __builtin_ctzll(left);
        bool known = tern__record_find(group->job->ctl, group->members[rank], group->slot,
                                       call->number, &theirs);
        bool waits = known && theirs.state == TERN__RECORD_WAITING && theirs.stuck_lane == lane &&
                     theirs.stuck_op >= (int)step->index;
        behind &= waits ? ~(UINT64_C(1) << rank) : UINT64_MAX;
    }
    return behind != 0 ? behind : ranks;
}

int tern__call_timed_out(struct tern__coll *call, int64_t waited_ns)
{
    struct tern__calls *calls = call->calls;
    struct tern__group *group = &calls->comm->group;
    int lane;
    char name[192];
    char place[128];
    char doing[TERN__FAILURE_BYTES - 256];
    int culprit = tern__doing_ranks(group, find_awaited(call), doing, sizeof doing);
    bool inside = find_step(calls, &lane) != NULL;
    name_call(call, name, sizeof name);
    place_text(call, place, sizeof place);
    return tern__group_timed_out(group, waited_ns, culprit, "%s%s%s: %s", name,
                                 inside ? ", " : " and not all ranks came", inside ? place : "",
                                 doing);
}
