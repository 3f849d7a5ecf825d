// SPDX-License-Identifier: Apache-2.0
// AllReduce by exchange, flat or hierarchical: ranks in groups of G, H groups. The rank at place i
// of a group sums part i of its group's inputs, exchanges that part with the ranks at place i of
// the other groups, and puts the result to its group. With G = 1 only the exchange is left.
//
// Around a ring (Patarasu and Yuan 2009) part i has H slices. In step s a rank sends what it knows
// of the sum of slice m - s to the next one, m being its place on the ring: 2(H - 1) steps. By
// halving and doubling (Thakur, Rabenseifner and Gropp 2005) in step k it sends the half that its
// partner at distance H/2, H/4, ... keeps, with all that has come for that half: no sum is stored.

#include "plan/sim/generate.h"

// A rank's place, and the bytes [begin, end) of its part.
struct seat {
    const tern_program *program;
    int groups, size;  // H and G
    int member, group; // i, and which group
    uint64_t begin, end;
};

// What an op is made of.
struct making {
    tern_plan_range *room;
    tern_plan_op *op;
};

static struct seat seat_of(const tern_program *program, int rank)
{
    int size = program->group;
    struct seat place = {.program = program,
                         .groups = program->spec.nranks / size,
                         .size = size,
                         .member = rank % size,
                         .group = rank / size};
    place.begin = tern__generate_begin(program, (uint64_t)place.member, (uint64_t)size);
    place.end = tern__generate_begin(program, (uint64_t)place.member + 1, (uint64_t)size);
    return place;
}

// Where slice `index` of a rank's part begins, among all bytes.
static uint64_t slice(const struct seat *place, int index)
{
    uint64_t unit = place->program->spec.unit;
    uint64_t units = (place->end - place->begin) / unit;
    uint64_t parts = (uint64_t)place->groups;
    uint64_t at = (uint64_t)index;
    return place->begin + (units / parts * at + units % parts * at / parts) * unit;
}

static int rank_at(const struct seat *place, int group)
{
    return group * place->size + place->member;
}

// Bytes of a part and of a slice, at most.
static uint64_t part_most(const tern_program *program)
{
    uint64_t units = program->spec.bytes / program->spec.unit;
    uint64_t size = (uint64_t)program->group;
    return (units + size - 1) / size * program->spec.unit;
}

static uint64_t slice_most(const struct seat *place)
{
    uint64_t units = part_most(place->program) / place->program->spec.unit;
    uint64_t parts = (uint64_t)place->groups;
    return (units + parts - 1) / parts * place->program->spec.unit;
}

static void begin_op(struct making *making, uint64_t length)
{
    *making->op = (tern_plan_op){.length = length, .sources = making->room};
}

static void add_range(struct making *making, int rank, tern_plan_buffer buffer, uint64_t offset)
{
    making->room[making->op->sources_count + making->op->destinations_count] =
        (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
}

static void add_source(struct making *making, int rank, tern_plan_buffer buffer, uint64_t offset)
{
    add_range(making, rank, buffer, offset);
    making->op->sources_count++;
    making->op->kind = making->op->sources_count > 1 ? TERN_PLAN_REDUCE : TERN_PLAN_COPY;
}

// After all sources.
static void add_destination(struct making *making, int rank, tern_plan_buffer buffer,
                            uint64_t offset)
{
    making->op->destinations = making->room + making->op->sources_count;
    add_range(making, rank, buffer, offset);
    making->op->destinations_count++;
}

static void make_post(tern_plan_op *op, int peer, uint32_t signal)
{
    *op = (tern_plan_op){.kind = TERN_PLAN_POST, .peer = peer, .signal = signal};
}

static void make_wait(tern_plan_op *op, uint32_t signal, uint32_t count)
{
    *op = (tern_plan_op){.kind = TERN_PLAN_WAIT, .signal = signal, .count = count};
}

// What the rank itself brings into the exchange: its input, or the sum of its group, which lies at
// the beginning of its scratch.
static void add_own(struct making *making, const struct seat *place, uint64_t at)
{
    int rank = rank_at(place, place->group);
    if (place->size == 1) {
        add_source(making, rank, TERN_PLAN_IN, at);
    } else {
        add_source(making, rank, TERN_PLAN_SCRATCH, at - place->begin);
    }
}

static uint64_t scratch_base(const struct seat *place)
{
    return place->size > 1 ? part_most(place->program) : 0;
}

// Whether a lane begins with the sum inside the group; without other groups that is the result.
static bool has_sum(const struct seat *place)
{
    return place->size > 1 || place->groups == 1;
}

// Part `member` of all inputs.
static void make_sum(struct making *making, const struct seat *place)
{
    int rank = rank_at(place, place->group);
    begin_op(making, place->end - place->begin);
    for (int i = 0; i < place->size; i++) {
        add_source(making, place->group * place->size + i, TERN_PLAN_IN, place->begin);
    }
    if (place->groups == 1) {
        add_destination(making, rank, TERN_PLAN_OUT, place->begin);
    } else {
        add_destination(making, rank, TERN_PLAN_SCRATCH, 0);
    }
}

// The rest of a lane behind the exchange: the result to the group, which says that it has come.
static bool spread(struct making *making, const struct seat *place, uint64_t pc, uint32_t signal)
{
    int rank = rank_at(place, place->group);
    int first = rank - place->member;
    uint64_t others = (uint64_t)place->size - 1;
    if (others == 0 || pc > others + 1) {
        return false;
    }
    if (pc == 0) {
        begin_op(making, place->end - place->begin);
        add_source(making, rank, TERN_PLAN_OUT, place->begin);
        for (int i = 0; i < place->size; i++) {
            if (i != place->member) {
                add_destination(making, first + i, TERN_PLAN_OUT, place->begin);
            }
        }
    } else if (pc <= others) {
        int other = (int)pc - 1;
        make_post(making->op, first + other + (other >= place->member), signal);
    } else {
        make_wait(making->op, signal, (uint32_t)others);
    }
    return true;
}

// The ring. The transfer of step s, from 0 to 2(H - 1) - 1.
static void ring_transfer(struct making *making, const struct seat *place, int step)
{
    int n = place->groups;
    int rank = rank_at(place, place->group);
    int next = rank_at(place, (place->group + 1) % n);
    int which = (place->group + 2 * n - step) % n;
    uint64_t at = slice(place, which);
    uint64_t stored = scratch_base(place) + (at - place->begin);
    begin_op(making, slice(place, which + 1) - at);
    if (step >= n) { // on the way round with the result
        add_source(making, rank, TERN_PLAN_OUT, at);
        add_destination(making, next, TERN_PLAN_OUT, at);
        return;
    }
    if (step > 0) {
        add_source(making, rank, TERN_PLAN_SCRATCH, stored);
    }
    add_own(making, place, at);
    if (step < n - 1) {
        add_destination(making, next, TERN_PLAN_SCRATCH, stored);
    } else { // the sum is complete
        add_destination(making, rank, TERN_PLAN_OUT, at);
        add_destination(making, next, TERN_PLAN_OUT, at);
    }
}

// transfer, post, wait; and so on.
static bool ring_next(const tern_program *program, int rank, int lane, uint64_t pc,
                      tern_plan_range *room, tern_plan_op *op)
{
    (void)lane;
    struct seat place = seat_of(program, rank);
    struct making making = {room, op};
    uint64_t steps = 2 * ((uint64_t)place.groups - 1);
    if (has_sum(&place) && pc == 0) {
        make_sum(&making, &place);
        return true;
    }
    pc -= has_sum(&place);
    if (pc >= 3 * steps) {
        return spread(&making, &place, pc - 3 * steps, 1);
    }
    if (pc % 3 == 0) {
        ring_transfer(&making, &place, (int)(pc / 3));
    } else if (pc % 3 == 1) {
        make_post(op, rank_at(&place, (place.group + 1) % place.groups), 0);
    } else {
        make_wait(op, 0, (uint32_t)(pc / 3) + 1);
    }
    op->round = (int)(pc / 3 < TERN_PLAN_ROUNDS_MAX ? pc / 3 : TERN_PLAN_ROUNDS_MAX);
    return true;
}

// Halving and doubling. The slices that a rank is left with before step k: [first, first + count).
static void kept(const struct seat *place, int step, int *first, int *count)
{
    *count = place->groups >> step;
    *first = place->group / *count * *count;
}

// Where what came in step k for slice `at` lies, of the slices that are kept then.
static uint64_t came(const struct seat *place, int step, uint64_t at)
{
    int first;
    int count;
    kept(place, step + 1, &first, &count);
    uint64_t before = (uint64_t)(place->groups - (place->groups >> step));
    return scratch_base(place) + before * slice_most(place) + (at - slice(place, first));
}

static void add_all_that_came(struct making *making, const struct seat *place, int step,
                              uint64_t at)
{
    add_own(making, place, at);
    for (int k = 0; k < step; k++) {
        add_source(making, rank_at(place, place->group), TERN_PLAN_SCRATCH, came(place, k, at));
    }
}

static int partner(const struct seat *place, int step)
{
    return rank_at(place, place->group ^ (place->groups >> (step + 1)));
}

static void halve(struct making *making, const struct seat *place, int step)
{
    struct seat other = *place;
    int first;
    int count;
    other.group = place->group ^ (place->groups >> (step + 1));
    kept(&other, step + 1, &first, &count);
    uint64_t at = slice(place, first);
    begin_op(making, slice(place, first + count) - at);
    add_all_that_came(making, place, step, at);
    add_destination(making, partner(place, step), TERN_PLAN_SCRATCH, came(&other, step, at));
}

// `step` is that of the halving which it answers. The last halving's answer makes the sum.
static void double_up(struct making *making, const struct seat *place, int step, bool is_sum)
{
    int first;
    int count;
    int rank = rank_at(place, place->group);
    kept(place, step + 1, &first, &count);
    uint64_t at = slice(place, first);
    begin_op(making, slice(place, first + count) - at);
    if (is_sum) {
        add_all_that_came(making, place, step + 1, at);
        add_destination(making, rank, TERN_PLAN_OUT, at);
    } else {
        add_source(making, rank, TERN_PLAN_OUT, at);
    }
    add_destination(making, partner(place, step), TERN_PLAN_OUT, at);
}

static bool halving_next(const tern_program *program, int rank, int lane, uint64_t pc,
                         tern_plan_range *room, tern_plan_op *op)
{
    (void)lane;
    struct seat place = seat_of(program, rank);
    struct making making = {room, op};
    int rounds = tern__generate_rounds(place.groups);
    if (has_sum(&place) && pc == 0) {
        make_sum(&making, &place);
        return true;
    }
    pc -= has_sum(&place);
    if (pc >= 6 * (uint64_t)rounds) {
        return spread(&making, &place, pc - 6 * (uint64_t)rounds, (uint32_t)rounds);
    }
    int step = (int)(pc / 3);
    bool back = step >= rounds;
    int which = back ? 2 * rounds - 1 - step : step;
    if (pc % 3 == 1) {
        make_post(op, partner(&place, which), (uint32_t)which);
    } else if (pc % 3 == 2) {
        make_wait(op, (uint32_t)which, back ? 2 : 1);
    } else if (back) {
        double_up(&making, &place, which, which == rounds - 1);
    } else {
        halve(&making, &place, which);
    }
    op->round = step;
    return true;
}

static int one_lane(const tern_program *program, int rank)
{
    (void)program;
    (void)rank;
    return 1;
}

static uint32_t ring_signals(const tern_program *program, int rank)
{
    (void)program;
    (void)rank;
    return 2;
}

static uint32_t halving_signals(const tern_program *program, int rank)
{
    (void)rank;
    return (uint32_t)tern__generate_rounds(program->spec.nranks / program->group) + 1;
}

const struct tern__program_sort tern__generate_ring = {one_lane, ring_signals, ring_next};
const struct tern__program_sort tern__generate_halving = {one_lane, halving_signals, halving_next};
