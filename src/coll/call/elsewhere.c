// SPDX-License-Identifier: Apache-2.0
// Ranks on other machines. What a rank publishes it also sends to each machine whose ranks want it:
// there it is stored where it would be if that machine were this one, so that everything else is as
// it is on one machine. Of the payload only what ranks there read is sent. Data path: no
// allocation and no lock but that of the connection.

#include "coll/call/place.h"
#include "sync/doing.h"
#include "sync/wait.h"

// Up to so many bytes of all ranks of a machine go in one packet: the last one to come has to send
// them all, and more would keep its link busy while the others could have used it before.
#define TOGETHER_BYTES 1024

// A stretch of the payload that is sent with the line, or before it.
struct extent {
    uint64_t begin, end;
};

// What a rank of this machine has published in a run, or, with told NULL, a part of its payload.
static struct tern__net_line line_of(const struct tern__calls *calls, int rank, uint32_t run,
                                     const struct extent *extent, const struct tern__told *told)
{
    const tern_window *area = calls->area;
    const char *part = tern__area_part(area, rank);
    const char *payload = tern__area_payload(area, rank, run) + extent->begin;
    const char *line = (const char *)tern__area_head(area, rank, run);
    struct tern__net_line sent = {.area = {.slot = (uint32_t)calls->comm->group.slot,
                                           .number = area->number,
                                           .generation = calls->elsewhere->generation,
                                           .rank = rank,
                                           .offset = (uint64_t)(payload - part),
                                           .bytes = extent->end - extent->begin,
                                           .line = (uint32_t)(line - part),
                                           .run = run},
                                  .payload = payload,
                                  .line = line + sizeof(uint32_t)};
    if (told != NULL) {
        const char *counter = (const char *)tern__area_arrivals(area, run, 0);
        sent.area.line_bytes = sizeof(struct tern__head) - sizeof(uint32_t);
        sent.area.counter = (uint32_t)(counter - tern__area_part(area, 0));
        sent.area.counted = calls->arrivals[run % TERN__SLOTS][0];
        sent.area.then = TERN__NET_AREA_LINE |
                         (calls->nranks > 2 ? TERN__NET_AREA_COUNT : TERN__NET_AREA_RING) |
                         (told->alone ? TERN__NET_AREA_RING : 0u);
    }
    return sent;
}

static void send_extent(const struct tern__calls *calls, int machine, uint32_t run,
                        const struct extent *extent, const struct tern__told *told)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    struct tern__net_line sent = line_of(calls, calls->rank, run, extent, told);
    tern__net_area_send(elsewhere->net, elsewhere->machines[machine].to, &sent.area, sent.payload,
                        sent.line);
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

// Whether others wait for all ranks of this machine anyway, so that little is in time when the last
// one has come: one packet takes the processors less time than one of each rank. (What a rank has
// sent before may come later, by its own stream: has_come in meet.c.)
static bool goes_together(const struct tern__calls *calls, const struct tern__told *told)
{
    bool alike = !tern__kinds[told->kind].counts && // all ranks decide the same
                 (told->bytes == 0 || !tern__kind_in_all(told->kind));
    return calls->elsewhere->here != 0 && alike && !tern__kind_has_root(told->kind) &&
           told->bytes * (uint64_t)(1 + __builtin_popcountll(calls->elsewhere->here)) <=
               TOGETHER_BYTES;
}

// Of these ranks what nobody has sent yet.
static void send_kept(const struct tern__calls *calls, uint32_t run, uint64_t ranks)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    const struct tern__told *told = &elsewhere->kept[run % TERN__SLOTS];
    struct extent extent = {told->begin, told->begin + told->bytes};
    struct tern__net_line lines[TERN_RANKS_MAX];
    int count = 0;
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        _Atomic uint32_t *sent = &tern__area_kept(calls->area, rank, run)->sent;
        uint32_t before = tern__flag_load(sent); // partner: itself
        if (before != run && tern__flag_swap(sent, before, run)) {
            lines[count++] = line_of(calls, rank, run, &extent, told);
        }
    }
    for (int machine = 0; machine < elsewhere->count && count > 0; machine++) {
        tern__net_area_send_all(elsewhere->net, elsewhere->machines[machine].to, lines, count);
    }
}

// The last one of this machine finds that all have come. (Two may: each takes what the other does
// not.)
static void keep(const struct tern__calls *calls, uint32_t run, const struct tern__told *told)
{
    struct tern__elsewhere *elsewhere = calls->elsewhere;
    elsewhere->kept[run % TERN__SLOTS] = *told;
    // partner: the look below, of those who come later; releases head and payload.
    tern__flag_store(&tern__area_kept(calls->area, calls->rank, run)->come, run);
    for (uint64_t left = elsewhere->here; left != 0; left &= left - 1) {
        const struct tern__kept *other = tern__area_kept(calls->area, __builtin_ctzll(left), run);
        if (tern__flag_load(&other->come) != run) {
            return;
        }
    }
    send_kept(calls, run, elsewhere->here | UINT64_C(1) << calls->rank);
}

void tern__calls_tell_kept(const struct tern__calls *calls)
{
    for (uint32_t run = calls->ended; calls->elsewhere != NULL && run != calls->published;) {
        run++;
        if (tern__flag_load(&tern__area_kept(calls->area, calls->rank, run)->come) == run) {
            send_kept(calls, run, UINT64_C(1) << calls->rank);
        }
    }
}

void tern__calls_tell(const struct tern__calls *calls, uint32_t run, const struct tern__told *told)
{
    const struct tern__elsewhere *elsewhere = calls->elsewhere;
    if (goes_together(calls, told)) {
        keep(calls, run, told);
        return;
    }
    for (int machine = 0; machine < elsewhere->count; machine++) {
        struct extent extent = {0, told->table_bytes};
        for (uint64_t left = elsewhere->machines[machine].ranks; left != 0; left &= left - 1) {
            struct extent next = read_by(told, __builtin_ctzll(left));
            if (next.end <= next.begin || (next.begin >= extent.begin && next.end <= extent.end)) {
                continue;
            }
            if (extent.end == extent.begin) {
                extent = next;
            } else if (next.begin >= extent.begin && next.begin <= tern__round_line(extent.end)) {
                extent.end = next.end;
            } else {
                send_extent(calls, machine, run, &extent, NULL);
                extent = next;
            }
        }
        send_extent(calls, machine, run, &extent, told);
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
                              .alone = tern__call_is_alone(call)};
    const char *payload = tern__area_payload(calls->area, calls->rank, run);
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
