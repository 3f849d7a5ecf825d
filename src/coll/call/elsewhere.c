// SPDX-License-Identifier: Apache-2.0
// Ranks on other machines. What a rank publishes it also sends to each machine whose ranks want it:
// there it is stored where it would be if that machine were this one, so that everything else is as
// it is on one machine. Of the payload only what ranks there read is sent. Data path: no
// allocation and no lock but that of the connection.

#include "coll/call/place.h"
#include "sync/doing.h"
#include "sync/wait.h"

// A stretch of the payload that is sent with the line, or before it.
struct extent {
    uint64_t begin, end;
};

// A line, of this rank or of others here too, and the counter that it is counted in.
static struct tern__net_area message_of(const struct tern__calls *calls, uint32_t run,
                                        const struct tern__told *told, const struct extent *extent)
{
    const tern_window *area = calls->area;
    const char *part = tern__area_part(area, calls->rank);
    const char *payload =
        tern__area_run_payload(area, calls->rank, run, told->small) + extent->begin;
    return (struct tern__net_area){.slot = (uint32_t)calls->comm->group.slot,
                                   .number = area->number,
                                   .generation = calls->elsewhere->generation,
                                   .rank = calls->rank,
                                   .offset = (uint64_t)(payload - part),
                                   .bytes = extent->end - extent->begin,
                                   .run = run};
}

static void add_line(const struct tern__calls *calls, uint32_t run, struct tern__net_area *message)
{
    const tern_window *area = calls->area;
    const char *line = (const char *)tern__area_head(area, calls->rank, run);
    const char *counter = (const char *)tern__area_arrivals(area, run, 0);
    message->line = (uint32_t)(line - tern__area_part(area, calls->rank));
    message->line_bytes = sizeof(struct tern__head) - sizeof(uint32_t);
    message->counter = (uint32_t)(counter - tern__area_part(area, 0));
    message->counted = calls->arrivals[run % TERN__LINES][0];
    message->then =
        TERN__NET_AREA_LINE | (calls->nranks > 2 ? TERN__NET_AREA_COUNT : TERN__NET_AREA_RING);
}

static void send_extent(const struct tern__calls *calls, int machine, uint32_t run,
                        const struct tern__told *told, const struct extent *extent, bool last)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    struct tern__net_area message = message_of(calls, run, told, extent);
    const char *payload = tern__area_part(calls->area, calls->rank) + message.offset;
    const char *line = (const char *)tern__area_head(calls->area, calls->rank, run);
    if (last) {
        add_line(calls, run, &message);
        message.then |= told->alone ? TERN__NET_AREA_RING : 0u;
    }
    tern__net_area_send(elsewhere->net, elsewhere->machines[machine].to, &message, payload,
                        line + sizeof(uint32_t));
}

// What a rank reads of this one's input.
static struct extent read_by(const struct tern__told *told, int rank)
{
    struct extent extent = {told->begin, told->begin};
    uint64_t bytes = told->bytes;
    if (!tern__kind_has_out(told->kind, rank, told->root)) {
        return extent;
    }
    if (tern__kind_in_all(told->kind)) {
        extent.begin +=
            told->rows != NULL ? told->rows[rank].in_offset : (uint64_t)rank * told->stride;
        bytes = told->rows != NULL ? told->rows[rank].in_bytes : bytes;
    }
    extent.end = extent.begin + bytes;
    return extent;
}

// What the ranks of a machine read: at least one stretch, which may be empty.
static int read_there(const struct tern__told *told, uint64_t ranks,
                      struct extent extents[TERN_RANKS_MAX + 1])
{
    struct extent *extent = extents;
    *extent = (struct extent){0, told->table_bytes};
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        struct extent next = read_by(told, __builtin_ctzll(left));
        if (next.end <= next.begin || (next.begin >= extent->begin && next.end <= extent->end)) {
            continue;
        }
        if (extent->end == extent->begin) {
            *extent = next;
        } else if (next.begin >= extent->begin && next.begin <= tern__round_line(extent->end)) {
            extent->end = next.end;
        } else {
            *++extent = next;
        }
    }
    return (int)(extent - extents) + 1;
}

static void send_own(const struct tern__calls *calls, uint32_t run, const struct tern__told *told)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    struct extent extents[TERN_RANKS_MAX + 1];
    for (int machine = 0; machine < elsewhere->count; machine++) {
        int count = read_there(told, elsewhere->machines[machine].ranks, extents);
        for (int i = 0; i < count; i++) {
            send_extent(calls, machine, run, told, &extents[i], i + 1 == count);
        }
    }
}

// Together.

static uint64_t ranks_here(const struct tern__calls *calls)
{
    return (calls->others | UINT64_C(1) << calls->rank) & ~calls->elsewhere->ranks;
}

// Whether the ranks of this machine send what they publish together: the same on all of them.
static bool goes_together(const struct tern__calls *calls, const struct tern__told *told)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    struct extent extents[TERN_RANKS_MAX + 1];
    uint64_t here = (uint64_t)__builtin_popcountll(ranks_here(calls));
    if (here < 2 || !told->alike || tern__kind_has_root(told->kind)) {
        return false;
    }
    for (int machine = 0; machine < elsewhere->count; machine++) {
        if (read_there(told, elsewhere->machines[machine].ranks, extents) > 1 ||
            (TERN_CACHE_LINE + extents[0].end - extents[0].begin) * here >
                TERN__NET_TOGETHER_BYTES) {
            return false;
        }
    }
    return true;
}

static void send_all(const struct tern__calls *calls, uint32_t run, const struct tern__told *told)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    struct extent extents[TERN_RANKS_MAX + 1];
    for (int machine = 0; machine < elsewhere->count; machine++) {
        (void)read_there(told, elsewhere->machines[machine].ranks, extents);
        struct tern__net_area message = message_of(calls, run, told, &extents[0]);
        add_line(calls, run, &message);
        tern__net_area_send_all(elsewhere->net, elsewhere->machines[machine].to, &message,
                                tern__area_part(calls->area, 0), calls->area->size_bytes,
                                ranks_here(calls));
    }
}

// Whether this rank is the last of its machine to publish the run.
static bool is_last(const struct tern__calls *calls, uint32_t run)
{
    uint32_t *all = &calls->elsewhere->together[run % TERN__LINES];
    *all += (uint32_t)__builtin_popcountll(ranks_here(calls));
    // partner: itself; acquires what the others have published.
    return tern__flag_add(tern__area_together(calls->area, run), 1) + 1 == *all;
}

void tern__calls_tell(const struct tern__calls *calls, uint32_t run, const struct tern__told *told)
{
    struct tern__left *left = &calls->elsewhere->left[run % TERN__LINES];
    bool together = goes_together(calls, told);
    left->run = 0;
    if (together && is_last(calls, run)) {
        send_all(calls, run, told);
    } else if (together && told->waits) {
        *left = (struct tern__left){run, *told};
    } else {
        send_own(calls, run, told);
    }
}

// All ranks have published what this one has settled. So what they have ended, TERN__AHEAD runs
// before, has come to all of them. Of later ones the last here may not have sent the lines, or they
// may come after what this rank says next, that it leaves.
void tern__calls_send_left(const struct tern__calls *calls)
{
    struct tern__elsewhere *elsewhere = calls->elsewhere;
    if (elsewhere == NULL) {
        return;
    }
    for (uint32_t run = calls->settled - TERN__AHEAD; run != calls->published;) {
        struct tern__left *left = &elsewhere->left[++run % TERN__LINES];
        if (left->run == run && run != 0) {
            left->run = 0;
            send_own(calls, run, &left->told);
        }
    }
}

// A piece of what goes to each rank; with counts the pieces may be of different lengths.
static void tell_piece(const struct tern__coll *call, struct tern__told *told)
{
    const struct tern__calls *calls = call->calls;
    uint64_t index = call->published - call->announced;
    uint64_t skip;
    if (!tern__kind_in_all(call->plan_kind)) {
        told->bytes =
            tern__piece_of(call, call->counts ? call->in_bytes : call->share_bytes, index, &skip);
        return;
    }
    told->bytes = tern__piece_of(call, call->share_bytes, index, &skip);
    told->stride = told->bytes;
    if (call->counts) {
        struct tern__share *rows = calls->elsewhere->rows;
        tern__call_shares(call, rows);
        for (int rank = 0; rank < calls->nranks; rank++) {
            rows[rank].in_bytes = tern__piece_of(call, rows[rank].in_bytes, index, &skip);
            rows[rank].in_offset = (uint64_t)rank * call->piece_bytes;
        }
        told->rows = rows;
    }
}

// `published` is that of before this run.
void tern__call_tell(const struct tern__coll *call, uint32_t run)
{
    const struct tern__calls *calls = call->calls;
    struct tern__told told = {.kind = call->kind,
                              .root = call->root,
                              .alone = tern__call_is_alone(call),
                              .small = call->small && call->published == 0,
                              .alike =
                                  !call->counts && (call->way != TERN__WAY_STAGED || call->wide),
                              .waits = !call->overlaps};
    const char *payload = tern__call_payload(call, calls->rank, run);
    const struct tern__head *head = tern__area_head(calls->area, calls->rank, run);
    bool announces = call->way == TERN__WAY_UNKNOWN;
    if (call->way == TERN__WAY_STAGED) {
        if (call->in != NULL && !call->wide) { // else the plan sends what others want
            tell_piece(call, &told);
        }
    } else if (call->counts) { // with a table; when it is announced, offsets count from there
        const struct tern__placement *placement = (const void *)head->data;
        told.table_bytes = tern__round_line(sizeof(struct tern__share) * (uint64_t)calls->nranks);
        told.rows = (const struct tern__share *)(const void *)payload;
        told.begin = announces && tern__kind_in_all(call->kind) ? 0 : told.table_bytes;
        told.bytes = call->in_bytes;
        if (announces ? placement->in_slot == 0 : tern__call_longest_in(call) <= TERN__LINE_BYTES) {
            told.rows = NULL;
            told.bytes = 0;
        }
    } else if (!announces && call->in_bytes > TERN__LINE_BYTES) {
        told.bytes = tern__kind_in_all(call->kind) ? call->share_bytes : call->in_bytes;
        told.stride = call->share_bytes;
    }
    tern__calls_tell(calls, run, &told);
}

// Messages.

void tern__mail_tell(const struct tern__calls *calls, int peer, int owner, const void *line,
                     uint32_t line_bytes, const char *payload, uint64_t bytes)
{
    const struct tern__group *group = &calls->comm->group;
    const char *part = tern__area_part(calls->area, owner);
    struct tern__net_area area = {
        .slot = (uint32_t)group->slot,
        .number = calls->area->number,
        .generation = calls->elsewhere->generation,
        .rank = owner,
        .offset = bytes > 0 ? (uint64_t)(payload - part) : 0,
        .bytes = bytes,
        .line = (uint32_t)((const char *)line - part),
        .line_bytes = line_bytes,
        .run = tern__peek(line),
        .then = TERN__NET_AREA_LINE | TERN__NET_AREA_RING_ONE,
    };
    tern__net_area_send(calls->elsewhere->net, group->members[peer], &area, payload,
                        (const char *)line + sizeof(uint32_t));
}

// The end. Who takes what is published for others here stays until it has all come that is needed
// for the runs that this rank has been in.

static bool has_settled(void *arg)
{
    struct tern__calls *calls = arg;
    struct tern__differs differs;
    return tern__calls_settle(calls, &differs) != TERN_OK || calls->settled == calls->ended;
}

static int settle_broken(void *arg, bool deep)
{
    const struct tern__calls *calls = arg;
    struct tern__group *group = &calls->comm->group;
    uint64_t gone = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (uint64_t left = gone & calls->others; left != 0; left &= left - 1) {
        if (!tern__reached(tern__calls_compared(calls, __builtin_ctzll(left)), calls->ended)) {
            return TERN_ERR_LEFT; // partner: tern__group_leave, after its last run
        }
    }
    if (tern__flag_load(&group->shared->failed) != TERN__WORKING) {
        return TERN_ERR_STATE;
    }
    if (deep) {
        tern__job_look(group->job);
    }
    return tern__ctl_first_dead(group->job->ctl) >= 0 ? TERN_ERR_PEER : TERN_OK;
}

void tern__elsewhere_end(struct tern__calls *calls)
{
    const struct tern__group *group = &calls->comm->group;
    if (calls->elsewhere != NULL && tern__flag_load(&group->shared->failed) == TERN__WORKING) {
        tern__calls_send_left(calls);
    }
    if (calls->elsewhere == NULL || !calls->elsewhere->takes || calls->oldest != NULL ||
        tern__flag_load(&group->shared->failed) != TERN__WORKING) {
        return;
    }
    struct tern__job *job = group->job;
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait wait = {.bell = &job->ctl->ranks[job->rank].bell,
                              .ladder = &ladder,
                              .timeout_ns = job->timeout_ns,
                              .holds = has_settled,
                              .broken = settle_broken,
                              .arg = calls};
    (void)tern__ladder_climb(&wait); // what is wrong is said by whoever waits for it
}
