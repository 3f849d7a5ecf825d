// SPDX-License-Identifier: Apache-2.0
// The interpreter: lanes as items of a ready list, of which a random one does a piece of an op. A
// lane that must wait hangs on the rank it waits for. Transfers are done in up to three pieces with
// other lanes between them, so that a plan that reads what is still being written is caught.

#include "interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tern/status.h"
#include "wires.h"

#define ELEMENTS_MAX (UINT64_C(1) << 26)

struct lane {
    int rank, number;
    size_t op;         // the current one
    uint64_t done;     // elements of it
    uint64_t priority; // higher goes first, most of the time
    struct lane *next; // in the list of the rank that it hangs on
};

struct rank {
    int64_t *buffers[3];
    uint32_t *signals;
    int lanes_left;
    bool begun;
    struct lane *for_begin;   // wait until this rank begins
    struct lane *for_signals; // own lanes that wait for a signal
};

struct interp {
    const tern_plan *plan;
    const tern_plan_spec *spec;
    const tern_topo *topo;
    int n, begun;
    uint64_t random;
    uint64_t in_place;    // bit r: rank r is
    uint64_t elements[3]; // of each buffer
    struct rank *ranks;
    struct lane *lanes; // and one for each rank, numbered -1, that begins it
    size_t lanes_count;
    size_t *ready; // indices of lanes
    size_t ready_count;
    int64_t *reference;  // naive output of all ranks
    bool starve;         // follow priorities
    struct wires *wires; // NULL: no machines
    uint64_t slow;       // which streams are slow
    uint64_t calm;       // so many steps, on average, for a message that arrives
    char *why;
    size_t why_size;
    bool failed;
};

#define FAIL(in, ...)                                                                              \
    do {                                                                                           \
        if (!(in)->failed) {                                                                       \
            snprintf((in)->why, (in)->why_size, __VA_ARGS__);                                      \
            (in)->failed = true;                                                                   \
        }                                                                                          \
    } while (0)

static void push_ready(struct interp *in, struct lane *lane)
{
    in->ready[in->ready_count++] = (size_t)(lane - in->lanes);
}

// Whether a rank has a buffer at all: some kinds have one on the root only.
static bool has_buffer(const struct interp *in, int rank, int buffer)
{
    switch (in->spec->kind) {
    case TERN_PLAN_BROADCAST:
    case TERN_PLAN_SCATTER:
        return buffer != TERN_PLAN_IN || rank == in->spec->root;
    case TERN_PLAN_REDUCE_TO_ROOT:
    case TERN_PLAN_GATHER:
        return buffer != TERN_PLAN_OUT || rank == in->spec->root;
    default:
        return true;
    }
}

static const int64_t *input(const struct interp *in, int rank, uint64_t i)
{
    return &in->ranks[rank].buffers[TERN_PLAN_IN][i];
}

// The naive result of a rank: what the kind says of the inputs.
static void fill_expected(const struct interp *in, int rank, int64_t *to, uint64_t count)
{
    tern_plan_kind kind = in->spec->kind;
    uint64_t ins = in->elements[TERN_PLAN_IN];
    uint64_t share = ins / (uint64_t)in->n;
    uint64_t own = (uint64_t)rank * share;
    if (kind == TERN_PLAN_ALL_REDUCE || kind == TERN_PLAN_REDUCE_SCATTER ||
        kind == TERN_PLAN_REDUCE_TO_ROOT) {
        for (int from = 0; from < in->n; from++) {
            const int64_t *data = input(in, from, kind == TERN_PLAN_REDUCE_SCATTER ? own : 0);
            for (uint64_t i = 0; i < count; i++) {
                to[i] = (int64_t)((uint64_t)to[i] + (uint64_t)data[i]);
            }
        }
    } else if (kind == TERN_PLAN_BROADCAST || kind == TERN_PLAN_SCATTER) {
        memcpy(to, input(in, in->spec->root, kind == TERN_PLAN_SCATTER ? own : 0),
               count * sizeof *to);
    } else if (kind != TERN_PLAN_BARRIER) { // a part of each rank
        bool all = kind == TERN_PLAN_ALL_TO_ALL;
        uint64_t part = all ? share : ins;
        for (int from = 0; from < in->n; from++) {
            memcpy(to + (uint64_t)from * part, input(in, from, all ? own : 0), part * sizeof *to);
        }
    }
}

static bool there(const struct interp *in, int from, int to)
{
    return from == to || in->topo == NULL || tern_topo_link(in->topo, from, to, NULL);
}

static bool is_remote(const struct interp *in, int rank, int owner)
{
    return in->wires != NULL &&
           tern_topo_machine_of(in->topo, rank) != tern_topo_machine_of(in->topo, owner);
}

// An op that moves bytes or posts, before its first piece. False after a failure, or when the lane
// has been hung on a rank that has not begun.
static bool may_touch(struct interp *in, struct lane *lane, const tern_plan_range *range,
                      uint64_t length, bool read)
{
    int owner = range->rank;
    int from = read ? owner : lane->rank;
    int to = read ? lane->rank : owner;
    uint64_t bytes = in->elements[range->buffer] * in->spec->unit;
    if (!has_buffer(in, owner, range->buffer)) {
        FAIL(in, "rank %d, lane %d, op %zu: rank %d has no buffer %u", lane->rank, lane->number,
             lane->op, owner, range->buffer);
        return false;
    }
    if (range->offset % in->spec->unit != 0 || range->offset > bytes ||
        length > bytes - range->offset) {
        FAIL(in,
             "rank %d, lane %d, op %zu: bytes %llu+%llu of buffer %u of rank %d, which has %llu",
             lane->rank, lane->number, lane->op, (unsigned long long)range->offset,
             (unsigned long long)length, range->buffer, owner, (unsigned long long)bytes);
        return false;
    }
    if (!there(in, from, to)) {
        FAIL(in, "rank %d, lane %d, op %zu: there is no link %d>%d", lane->rank, lane->number,
             lane->op, from, to);
        return false;
    }
    bool everywhere = range->buffer == TERN_PLAN_IN && (in->spec->slots & TERN_PLAN_IN_SLOTS) != 0;
    if (read && is_remote(in, lane->rank, owner) && !everywhere) {
        FAIL(in, "rank %d, lane %d, op %zu: reads memory of rank %d on another machine", lane->rank,
             lane->number, lane->op, owner);
        return false;
    }
    struct rank *rank = &in->ranks[owner];
    if (!rank->begun) {
        lane->next = rank->for_begin;
        rank->for_begin = lane;
        return false;
    }
    bool stays = (in->spec->slots >> range->buffer & 1) != 0;
    if (rank->lanes_left == 0 && !stays) {
        FAIL(in, "rank %d, lane %d, op %zu: touches rank %d after its lanes ended", lane->rank,
             lane->number, lane->op, owner);
        return false;
    }
    return true;
}

static int64_t *element(const struct interp *in, const tern_plan_range *range, uint64_t index)
{
    return &in->ranks[range->rank].buffers[range->buffer][range->offset / in->spec->unit + index];
}

// Reads a stretch of all sources before it writes any destination.
static void move_elements(struct interp *in, int rank, const tern_plan_op *op, uint64_t from,
                          uint64_t to)
{
    enum { STRETCH = 512 };
    for (uint64_t at = from; at < to; at += STRETCH) {
        uint64_t sums[STRETCH];
        uint64_t count = to - at < STRETCH ? to - at : STRETCH;
        memcpy(sums, element(in, &op->sources[0], at), count * sizeof sums[0]);
        for (int s = 1; s < op->sources_count; s++) {
            const int64_t *source = element(in, &op->sources[s], at);
            for (uint64_t i = 0; i < count; i++) {
                sums[i] += (uint64_t)source[i];
            }
        }
        for (int d = 0; d < op->destinations_count; d++) {
            int64_t *place = element(in, &op->destinations[d], at);
            int owner = op->destinations[d].rank;
            if (is_remote(in, rank, owner)) {
                if (op->kind == TERN_PLAN_REDUCE ||
                    !wires_put(in->wires, rank, owner, place, (const int64_t *)sums, count)) {
                    FAIL(in, "rank %d reduces into memory of rank %d on another machine", rank,
                         owner);
                }
                continue;
            }
            bool add = (op->flags & TERN_PLAN_ATOMIC) != 0;
            for (uint64_t i = 0; i < count; i++) {
                place[i] = (int64_t)(add ? sums[i] + (uint64_t)place[i] : sums[i]);
            }
        }
    }
}

// Does a piece. 1: the op is finished; 0: more to do; -1: hung or failed.
static int step_transfer(struct interp *in, struct lane *lane, const tern_plan_op *op)
{
    uint64_t count = op->length / in->spec->unit;
    if (op->length % in->spec->unit != 0) {
        FAIL(in, "rank %d, lane %d, op %zu: %llu bytes are not whole units", lane->rank,
             lane->number, lane->op, (unsigned long long)op->length);
        return -1;
    }
    // Every piece is checked: a rank may end between two of them.
    for (int i = 0; i < op->sources_count && count > 0; i++) {
        if (!may_touch(in, lane, &op->sources[i], op->length, true)) {
            return -1;
        }
    }
    for (int i = 0; i < op->destinations_count && count > 0; i++) {
        if (!may_touch(in, lane, &op->destinations[i], op->length, false)) {
            return -1;
        }
    }
    uint64_t left = count - lane->done;
    uint64_t piece =
        left > 1 && random_next(&in->random) % 2 == 0 ? 1 + random_next(&in->random) % left : left;
    piece = lane->done == 0 || left == piece ? piece : left; // at most three
    move_elements(in, lane->rank, op, lane->done, lane->done + piece);
    lane->done += piece;
    return lane->done == count;
}

static void wake(struct interp *in, struct lane **list)
{
    struct lane *lane = *list;
    *list = NULL;
    while (lane != NULL) {
        struct lane *next = lane->next;
        push_ready(in, lane);
        lane = next;
    }
}

static void arrive(struct interp *in, int rank, uint32_t signal)
{
    struct rank *peer = &in->ranks[rank];
    peer->signals[signal]++;
    wake(in, &peer->for_signals); // those who wait for more hang themselves up again
}

static int step_post(struct interp *in, struct lane *lane, const tern_plan_op *op)
{
    if (!there(in, lane->rank, op->peer)) {
        FAIL(in, "rank %d, lane %d, op %zu: there is no link %d>%d to post over", lane->rank,
             lane->number, lane->op, lane->rank, op->peer);
        return -1;
    }
    if (!is_remote(in, lane->rank, op->peer)) {
        arrive(in, op->peer, op->signal);
    } else if (!wires_post(in->wires, lane->rank, op->peer, op->signal)) {
        FAIL(in, "no memory for a post");
    }
    return 1;
}

// Something comes over the network.
static void step_wire(struct interp *in)
{
    struct wires_message *message = wires_take(in->wires, random_next(&in->random), in->slow);
    if (message->count == 0) {
        arrive(in, message->to, message->signal);
    } else if (in->ranks[message->to].lanes_left == 0) {
        FAIL(in, "what rank %d has put to rank %d comes after its lanes ended", message->from,
             message->to);
    } else {
        memcpy(message->place, message->data, message->count * sizeof message->data[0]);
    }
    free(message);
}

static int step_wait(struct interp *in, struct lane *lane, const tern_plan_op *op)
{
    struct rank *rank = &in->ranks[lane->rank];
    if (rank->signals[op->signal] >= op->count) {
        return 1;
    }
    lane->next = rank->for_signals;
    rank->for_signals = lane;
    return -1;
}

// One that is left to the ops: copies in slots are there when all ranks have begun.
static bool is_barrier(const struct interp *in)
{
    return in->spec->kind == TERN_PLAN_BARRIER && (in->spec->slots & TERN_PLAN_IN_SLOTS) == 0;
}

static void end_lane(struct interp *in, struct lane *lane)
{
    int left = --in->ranks[lane->rank].lanes_left;
    if (is_barrier(in) && left == 0 && in->begun < in->n) {
        FAIL(in, "rank %d has ended, by its lane %d, before every rank has begun", lane->rank,
             lane->number);
    }
}

static void begin_rank(struct interp *in, int number)
{
    struct rank *rank = &in->ranks[number];
    rank->begun = true;
    in->begun++;
    wake(in, &rank->for_begin);
    for (size_t i = 0; i < in->lanes_count; i++) {
        struct lane *lane = &in->lanes[i];
        if (lane->rank != number || lane->number < 0) {
            continue;
        }
        if (tern_plan_op_count(in->plan, number, lane->number) == 0) {
            end_lane(in, lane);
        } else {
            push_ready(in, lane);
        }
    }
    // A rank without lanes waits for nobody.
    if (tern_plan_lane_count(in->plan, number) == 0 && is_barrier(in) && in->begun < in->n) {
        FAIL(in, "rank %d has no lanes and so ends before every rank has begun", number);
    }
}

static void step_lane(struct interp *in, struct lane *lane)
{
    if (lane->number < 0) {
        begin_rank(in, lane->rank);
        return;
    }
    tern_plan_op op;
    if (tern_plan_get_op(in->plan, lane->rank, lane->number, lane->op, &op) < 0) {
        FAIL(in, "%s", tern_last_error());
        return;
    }
    int done = op.kind == TERN_PLAN_POST   ? step_post(in, lane, &op)
               : op.kind == TERN_PLAN_WAIT ? step_wait(in, lane, &op)
                                           : step_transfer(in, lane, &op);
    if (done < 0) {
        return;
    }
    if (done > 0) {
        lane->op++;
        lane->done = 0;
        if (lane->op == tern_plan_op_count(in->plan, lane->rank, lane->number)) {
            end_lane(in, lane);
            return;
        }
    }
    push_ready(in, lane);
}

// Takes a ready lane: a random one, or of eight random ones the first by priority.
static struct lane *take_ready(struct interp *in)
{
    size_t best = random_next(&in->random) % in->ready_count;
    if (in->starve && random_next(&in->random) % 64 != 0) {
        for (int i = 0; i < 8; i++) {
            size_t other = random_next(&in->random) % in->ready_count;
            best = in->lanes[in->ready[other]].priority > in->lanes[in->ready[best]].priority
                       ? other
                       : best;
        }
    }
    struct lane *lane = &in->lanes[in->ready[best]];
    in->ready[best] = in->ready[--in->ready_count];
    return lane;
}

static void check_end(struct interp *in)
{
    for (size_t i = 0; i < in->lanes_count; i++) {
        const struct lane *lane = &in->lanes[i];
        if (lane->number >= 0 &&
            lane->op < tern_plan_op_count(in->plan, lane->rank, lane->number)) {
            FAIL(in, "deadlock: rank %d, lane %d, op %zu waits for ever", lane->rank, lane->number,
                 lane->op);
            return;
        }
    }
    for (int rank = 0; rank < in->n; rank++) {
        const int64_t *out = in->ranks[rank].buffers[TERN_PLAN_OUT];
        const int64_t *wanted = in->reference + (uint64_t)rank * in->elements[TERN_PLAN_OUT];
        uint64_t count = has_buffer(in, rank, TERN_PLAN_OUT) ? in->elements[TERN_PLAN_OUT] : 0;
        bool right = count == 0 || memcmp(out, wanted, count * sizeof *out) == 0;
        for (uint64_t i = 0; !right && i < count; i++) {
            if (out[i] != wanted[i]) {
                FAIL(in, "rank %d, element %llu of out: %llx instead of %llx", rank,
                     (unsigned long long)i, (unsigned long long)out[i],
                     (unsigned long long)wanted[i]);
                return;
            }
        }
    }
}

static void fill_lanes(struct interp *in)
{
    uint64_t mode = random_next(&in->random) % 3; // even; lanes starve; whole ranks starve
    in->starve = mode > 0;
    struct lane *lane = in->lanes;
    for (int rank = 0; rank < in->n; rank++) {
        uint64_t priority = random_next(&in->random);
        in->ranks[rank].lanes_left = tern_plan_lane_count(in->plan, rank);
        for (int number = -1; number < in->ranks[rank].lanes_left; number++) {
            *lane = (struct lane){.rank = rank,
                                  .number = number,
                                  .priority = mode == 1 ? random_next(&in->random) : priority};
            if (number < 0) {
                push_ready(in, lane);
            }
            lane++;
        }
    }
}

static void fill_reference(struct interp *in)
{
    tern_plan_kind kind = in->spec->kind;
    bool same = kind != TERN_PLAN_REDUCE_SCATTER && kind != TERN_PLAN_ALL_TO_ALL &&
                kind != TERN_PLAN_SCATTER; // on all ranks
    uint64_t count = in->elements[TERN_PLAN_OUT];
    for (int rank = 0; rank < in->n; rank++) {
        int64_t *to = in->reference + (uint64_t)rank * count;
        if (same && rank > 0) {
            memcpy(to, in->reference, count * sizeof *to);
        } else {
            fill_expected(in, rank, to, count);
        }
    }
}

static void share_memory(struct interp *in, int rank)
{
    int64_t **buffers = in->ranks[rank].buffers;
    uint64_t ins = in->elements[TERN_PLAN_IN];
    uint64_t outs = in->elements[TERN_PLAN_OUT];
    if (rank >= 64 || (in->in_place >> rank & 1) == 0 || !has_buffer(in, rank, TERN_PLAN_IN) ||
        !has_buffer(in, rank, TERN_PLAN_OUT)) {
        return;
    }
    if (ins > outs) {
        buffers[TERN_PLAN_OUT] = buffers[TERN_PLAN_IN] + (uint64_t)rank * outs;
    } else {
        buffers[TERN_PLAN_IN] = buffers[TERN_PLAN_OUT] + (ins < outs ? (uint64_t)rank * ins : 0);
    }
}

// A Weyl sequence with its upper bits folded in: no two elements of all buffers are in a relation
// that sums keep, and the compiler makes vectors of it.
static void fill_random(struct interp *in, int64_t *data, uint64_t count)
{
    uint64_t first = random_next(&in->random);
    uint64_t step = random_next(&in->random) | 1;
    for (uint64_t i = 0; i < count; i++) {
        data[i] = (int64_t)(first ^ first >> 29);
        first += step;
    }
}

// Kept for the next run, of which a test has thousands: pages need not come from the kernel again.
static int64_t *memory_for(uint64_t elements)
{
    static int64_t *memory;
    static uint64_t size;
    if (elements > size || memory == NULL) {
        free(memory);
        memory = malloc((elements + 1) * sizeof *memory); // of 0 it may be NULL
        size = memory != NULL ? elements : 0;
    }
    return memory;
}

static bool allocate(struct interp *in, uint64_t all)
{
    in->ranks = calloc((size_t)in->n, sizeof *in->ranks);
    in->lanes = calloc(in->lanes_count + 1, sizeof *in->lanes); // of 0 it may be NULL
    in->ready = calloc(in->lanes_count + 1, sizeof *in->ready);
    uint64_t out = in->elements[TERN_PLAN_OUT] * (uint64_t)in->n;
    int64_t *memory = memory_for(out + all * (uint64_t)in->n);
    if (in->ranks == NULL || in->lanes == NULL || in->ready == NULL || memory == NULL) {
        return false;
    }
    in->reference = memory;
    memset(memory, 0, out * sizeof *memory);
    memory += out;
    for (int rank = 0; rank < in->n; rank++) {
        size_t signals = tern_plan_signal_count(in->plan, rank);
        in->ranks[rank].signals = calloc(signals + 1, sizeof(uint32_t));
        if (in->ranks[rank].signals == NULL) {
            return false;
        }
        for (int buffer = 0; buffer < 3; buffer++) {
            in->ranks[rank].buffers[buffer] = memory;
            fill_random(in, memory, in->elements[buffer]); // also what nobody has written yet
            memory += in->elements[buffer];
        }
        share_memory(in, rank);
    }
    fill_reference(in);
    return true;
}

// Wires, quick or slow, where there are machines.
static bool lay_wires(struct interp *in)
{
    static const uint64_t calms[] = {1, 4, 64};
    if (tern_topo_machine_count(in->topo) == 0) {
        return true;
    }
    in->wires = wires_create(in->n);
    in->slow = random_next(&in->random);
    in->calm = calms[random_next(&in->random) % 3];
    return in->wires != NULL;
}

// Something happens: a lane goes on, or a message comes.
static void step(struct interp *in)
{
    bool comes = wires_busy(in->wires) > 0 &&
                 (in->ready_count == 0 || random_next(&in->random) % in->calm == 0);
    if (comes) {
        step_wire(in);
    } else {
        step_lane(in, take_ready(in));
    }
}

static void release(struct interp *in)
{
    for (int rank = 0; in->ranks != NULL && rank < in->n; rank++) {
        free(in->ranks[rank].signals);
    }
    wires_destroy(in->wires);
    free(in->ranks);
    free(in->lanes);
    free(in->ready);
}

bool interp_run(const tern_plan *plan, const tern_topo *topo, uint64_t seed, char *why, size_t size)
{
    return interp_run_in_place(plan, topo, 0, seed, why, size);
}

bool interp_run_in_place(const tern_plan *plan, const tern_topo *topo, uint64_t ranks,
                         uint64_t seed, char *why, size_t size)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    struct interp in = {.plan = plan,
                        .spec = spec,
                        .topo = topo,
                        .n = spec->nranks,
                        .random = seed,
                        .in_place = ranks,
                        .why = why,
                        .why_size = size};
    uint64_t all = 0;
    for (int buffer = 0; buffer < 3; buffer++) {
        uint64_t bytes = tern_plan_buffer_bytes(plan, (tern_plan_buffer)buffer);
        in.elements[buffer] = bytes / spec->unit;
        all += in.elements[buffer];
    }
    for (int rank = 0; rank < in.n; rank++) {
        in.lanes_count += (size_t)tern_plan_lane_count(plan, rank) + 1;
    }
    if (all > ELEMENTS_MAX / (uint64_t)in.n) {
        FAIL(&in, "the plan has too many elements to be interpreted");
    } else if (!allocate(&in, all) || !lay_wires(&in)) {
        FAIL(&in, "no memory to interpret the plan");
    } else {
        fill_lanes(&in);
        while ((in.ready_count > 0 || wires_busy(in.wires) > 0) && !in.failed) {
            step(&in);
        }
        if (!in.failed) {
            check_end(&in);
        }
    }
    release(&in);
    return !in.failed;
}
