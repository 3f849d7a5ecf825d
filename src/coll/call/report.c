// SPDX-License-Identifier: Apache-2.0
// Why a call does not go on, in words. Runs when a call has failed, or sleeps.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "coll/call/call.h"

// "all_reduce of 4096 bytes (f32, sum)": bytes are those of a share where there are shares.
void tern__signature_text(uint64_t signature, char *text, size_t size)
{
    struct tern__signature s = tern__signature_unpack(signature);
    tern_coll_kind kind = (tern_coll_kind)s.kind;
    const struct tern__kind *row = s.kind <= TERN_COLL_SCATTER ? &tern__kinds[s.kind] : NULL;
    char root[24] = "";
    char algorithm[48] = "";
    bool reduces = (row != NULL && row->reduces) || kind == TERN_COLL_REDUCE_SCATTER_V;
    bool rooted = (row != NULL && (row->in_root || row->out_root)) || kind == TERN_COLL_GATHER_V ||
                  kind == TERN_COLL_SCATTER_V;
    if (kind == TERN_COLL_BARRIER) {
        snprintf(text, size, "barrier");
        return;
    }
    if (rooted) {
        snprintf(root, sizeof root, ", root %d", s.root);
    }
    if (row != NULL && s.algorithm != TERN__ALGORITHM_NONE) {
        const char *name = tern_algo_name((tern_plan_kind)s.kind, s.algorithm);
        snprintf(algorithm, sizeof algorithm, ", %s", name != NULL ? name : "?");
    }
    char bytes[48] = "";
    if (row != NULL || kind == TERN_COLL_SEND || kind == TERN_COLL_RECV) {
        snprintf(bytes, sizeof bytes, " of %s%llu bytes",
                 s.bytes == TERN__SIGNATURE_BYTES_MAX ? "at least " : "",
                 (unsigned long long)s.bytes);
    }
    snprintf(text, size, "%s%s%s (%s%s%s%s%s%s)", tern_coll_kind_name(kind), bytes,
             row != NULL && !row->slices ? " a share" : "", tern_dtype_name((tern_dtype)s.dtype),
             reduces ? ", " : "", reduces ? tern_reduce_op_name((tern_reduce_op)s.op) : "", root,
             s.order == TERN_ORDER_ANY ? ", any order" : "", algorithm);
}

static const char *algorithm_of(const struct tern__coll *call)
{
    const struct tern__program *program =
        call->way == TERN__WAY_SLOT && call->slot != NULL       ? call->slot
        : call->way == TERN__WAY_STAGED || call->window == NULL ? call->staged
                                                                : call->window;
    return program != NULL ? program->algorithm : "none";
}

static const char *way_text(enum tern__way way)
{
    switch (way) {
    case TERN__WAY_SLOT:
        return "slot";
    case TERN__WAY_OPEN:
        return "opening";
    case TERN__WAY_WINDOW:
        return "window";
    case TERN__WAY_STAGED:
        break;
    }
    return "staged";
}

// "call 17 (all_reduce of 4096 bytes, f32, sum, fused in windows)"
static void name_call(const struct tern__coll *call, char *text, size_t size)
{
    bool reduces = tern__kinds[call->plan_kind].reduces;
    snprintf(text, size, "call %llu (%s of %llu bytes, %s%s%s, %s/%s)",
             (unsigned long long)call->number, tern_coll_kind_name(call->kind),
             (unsigned long long)call->bytes, tern_dtype_name(call->dtype), reduces ? ", " : "",
             reduces ? tern_reduce_op_name(call->op) : "", algorithm_of(call), way_text(call->way));
}

// The lane and op that the oldest run waits at; false before all ranks have come.
static bool find_step(const struct tern__calls *calls, const struct tern__step **step, int *lane)
{
    for (uint32_t i = 0; calls->bound && calls->script != NULL && i < calls->script->lanes_count;
         i++) {
        if (calls->next[i] != calls->script->lanes[i].end) {
            *step = calls->next[i];
            *lane = calls->script->lanes[i].lane;
            return true;
        }
    }
    return false;
}

static bool has_published(const struct tern__calls *calls, int rank)
{
    uint32_t run = calls->ended + 1;
    return rank == calls->rank ||
           tern__flag_load(&tern__area_head(calls->area, rank, run)->run) == run;
}

// Where a call stands: "run 2 of 5, waiting for rank 3 to enter it".
static void place_text(const struct tern__coll *call, char *text, size_t size)
{
    const struct tern__calls *calls = call->calls;
    const struct tern__step *step;
    int lane;
    char run[48] = "";
    if (call != calls->oldest) {
        snprintf(text, size, "waiting for its turn behind call %llu",
                 (unsigned long long)calls->oldest->number);
        return;
    }
    if (call->pieces > 1) {
        snprintf(run, sizeof run, "in piece %llu of %llu, ", (unsigned long long)call->ended,
                 (unsigned long long)call->pieces - 1);
    }
    if (find_step(calls, &step, &lane)) {
        snprintf(text, size, "%sat lane %d, op %u (%s)", run, lane, step->index,
                 step->kind == TERN__STEP_WAIT   ? "wait for a signal of other ranks"
                 : step->kind == TERN__STEP_MEET ? "wait for all other ranks"
                                                 : "transfer");
    } else {
        snprintf(text, size, "%swaiting for rank %d to enter it", run, calls->seen);
    }
}

int tern__call_failed(struct tern__coll *call, int status)
{
    char name[192];
    char place[128];
    char detail[512];
    if (status == TERN_ERR_MISMATCH || status == TERN_ERR_ARG) {
        return status; // says all there is to say
    }
    name_call(call, name, sizeof name);
    place_text(call, place, sizeof place);
    snprintf(detail, sizeof detail, "%s", tern_last_error());
    snprintf(call->calls->failed_text, sizeof call->calls->failed_text, "%s: %s, %s: %s",
             call->name, name, place, detail);
    return tern__fail(status, "%s", call->calls->failed_text);
}

int tern__call_mismatch(struct tern__coll *call, int rank, uint64_t theirs)
{
    struct tern__calls *calls = call->calls;
    // Ranks below `rank` agree with this one; so rank 0 speaks for them, or is the other one.
    int second = rank == 0 ? calls->rank : rank;
    char texts[2][144];
    tern__signature_text(rank == 0 ? theirs : call->signature, texts[0], sizeof texts[0]);
    tern__signature_text(rank == 0 ? call->signature : theirs, texts[1], sizeof texts[1]);
    return tern__group_fail(&calls->comm->group, TERN_ERR_MISMATCH, rank,
                            "the ranks disagree on call %llu of the communicator: rank 0 makes %s, "
                            "rank %d %s",
                            (unsigned long long)call->number, texts[0], second, texts[1]);
}

int tern__call_counts_differ(struct tern__coll *call, int from, int to, uint64_t sent,
                             uint64_t wanted)
{
    return tern__group_fail(&call->calls->comm->group, TERN_ERR_MISMATCH, from,
                            "the ranks disagree on call %llu of the communicator, %s: rank %d has "
                            "%llu bytes for rank %d, rank %d wants %llu from rank %d",
                            (unsigned long long)call->number, tern_coll_kind_name(call->kind), from,
                            (unsigned long long)sent, to, to, (unsigned long long)wanted, from);
}

int tern__call_window_gone(struct tern__coll *call, int rank)
{
    struct tern__group *group = &call->calls->comm->group;
    return tern__group_fail(group, TERN_ERR_ARG, group->rank,
                            "call %llu, %s: a buffer of rank %d is in a window that rank %d has "
                            "destroyed",
                            (unsigned long long)call->number, tern_coll_kind_name(call->kind), rank,
                            group->rank);
}

// A rank that has left without publishing the run.
static int check_left(struct tern__coll *call)
{
    struct tern__group *group = &call->calls->comm->group;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (; left != 0; left &= left - 1) { // partner: tern__group_leave, after its last call
        int rank = __builtin_ctzll(left);
        if (!has_published(call->calls, rank)) {
            char name[192];
            name_call(call, name, sizeof name);
            return tern__group_fail(group, TERN_ERR_LEFT, rank,
                                    "rank %d has left the communicator (tern_comm_destroy) without "
                                    "entering %s",
                                    rank, name);
        }
    }
    return TERN_OK;
}

int tern__call_broken(struct tern__coll *call, bool deep)
{
    struct tern__calls *calls = call->calls;
    if (!calls->says_so) {
        const struct tern__step *step;
        int lane;
        bool inside = find_step(calls, &step, &lane);
        tern__job_doing(calls->task.job, TERN__DOING_CALL, call->number);
        tern__record_waits(call->record,
                           inside ? tern__stuck(-1, lane, (int)step->index)
                                  : tern__stuck(calls->seen, 0, -1),
                           tern__now_ns());
        calls->says_so = true;
    }
    TERN_TRY(tern__group_check(&calls->comm->group, deep));
    return check_left(call);
}

// "rank 3" or "ranks 3, 5"; returns the lowest.
static int list_missing(const struct tern__calls *calls, char *text, size_t size)
{
    int lowest = -1;
    size_t used = 0;
    text[0] = '\0';
    for (int rank = 0; rank < calls->nranks; rank++) {
        if (!has_published(calls, rank) && used + 8 < size) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%d", lowest < 0 ? "" : ", ", rank);
            lowest = lowest < 0 ? rank : lowest;
        }
    }
    return lowest;
}

int tern__call_timed_out(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    struct tern__group *group = &calls->comm->group;
    char name[192];
    char place[128];
    char missing[160];
    char doing[128] = "";
    int lowest = list_missing(calls, missing, sizeof missing);
    int64_t timeout_ns = calls->task.job->timeout_ns;
    name_call(call, name, sizeof name);
    place_text(call, place, sizeof place);
    if (lowest < 0) {
        return tern__group_fail(group, TERN_ERR_TIMEOUT, -1, "rank %d waited %.3g s in %s, %s",
                                group->rank, (double)timeout_ns * 1e-9, name, place);
    }
    tern__ctl_activity_text(group->job->ctl, group->members[lowest], doing, sizeof doing);
    return tern__group_fail(group, TERN_ERR_TIMEOUT, lowest,
                            "rank %d waited %.3g s in %s for rank%s %s to enter it; of rank %d: %s",
                            group->rank, (double)timeout_ns * 1e-9, name,
                            strchr(missing, ',') != NULL ? "s" : "", missing, lowest, doing);
}
