// SPDX-License-Identifier: Apache-2.0
// Which algorithm takes a call to ranks on other machines. Sums that are handed on save bytes:
// a machine sends one for all of its ranks. They are what is asked for where the order of the
// inputs makes no difference to the bits, or where it stays that of the ranks and nothing is
// rounded in between. All else reads every input in one op.

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "coll/algo.h"
#include "coll/call/call.h"

// From here on a broadcast to several machines goes from one to the next.
#define RELAY_BYTES ((uint64_t)512 << 10)

// A crossing takes as long as a link needs for so many bytes: 100 us at 1 Gbit/s.
#define CROSSING_BYTES ((uint64_t)12500)

// Beside a slot, the messages of a plan and who waits for them take so much longer a crossing.
#define PLAN_BYTES ((uint64_t)16000)

// Up to here a crossing is much of what a sum takes between two machines.
#define AT_ONCE_BYTES (8 * CROSSING_BYTES)

static bool is_half(const struct tern__coll *call)
{
    return call->dtype == TERN_F16 || call->dtype == TERN_BF16;
}

static bool is_float(const struct tern__coll *call)
{
    return is_half(call) || call->dtype == TERN_F32 || call->dtype == TERN_F64;
}

// Whether sums that are handed on would be rounded, which is promised to happen once. (A function
// of the caller's works on elements, so it rounds at each step anyway.)
static bool rounds(const struct tern__coll *call)
{
    return is_half(call) && (call->op == TERN_SUM || call->op == TERN_PROD || call->op == TERN_AVG);
}

// Whether every order of the inputs gives the same bits: all of integers but averages, which divide
// a sum of 64 bits; pairs; and the greatest or least float, but that of equal zeros the earlier one
// counts, which is that of the earlier machine where the ranks of each follow one another.
static bool is_exact(const struct tern__coll *call)
{
    switch (call->op) {
    case TERN_SUM:
    case TERN_PROD:
        return !is_float(call);
    case TERN_MAX:
    case TERN_MIN:
        return !is_float(call) || call->calls->elsewhere->in_order;
    case TERN_AND:
    case TERN_OR:
    case TERN_XOR:
    case TERN_MINLOC:
    case TERN_MAXLOC:
        return true;
    case TERN_AVG:
    case TERN_FUNCTION:
        break;
    }
    return false;
}

// Whether it is a sum that may be made in any order.
static bool any_order(const struct tern__coll *call)
{
    return tern__kinds[call->kind].sums && (call->order == TERN_ORDER_ANY || is_exact(call));
}

// An average of f32 or f64 is the sum, divided. Sums of integers are of 64 bits, and those of f16
// and bf16 of f32, so that they do not overflow where the average would not.
bool tern__far_spoils(const struct tern__coll *call, const char *algorithm)
{
    bool wider = call->op == TERN_AVG && call->dtype != TERN_F32 && call->dtype != TERN_F64;
    return wider && !tern__algo_whole(call->plan_kind, algorithm);
}

// Whether an algorithm gives the bits of the order that is asked for.
static bool suits(const struct tern__coll *call, const char *algorithm)
{
    bool in_turn = strcmp(algorithm, "chain") == 0 && call->calls->elsewhere->in_order;
    if (call->counts || algorithm[0] == '\0') {
        return false;
    }
    return !tern__kinds[call->kind].sums ||
           (call->element_bytes <= 8 && (tern__algo_whole(call->plan_kind, algorithm) ||
                                         (!tern__far_spoils(call, algorithm) &&
                                          (any_order(call) || (in_turn && !rounds(call))))));
}

static uint64_t largest_machine(const struct tern__coll *call)
{
    const struct tern__elsewhere *elsewhere = call->calls->elsewhere;
    int most = call->calls->nranks - __builtin_popcountll(elsewhere->ranks);
    for (int machine = 0; machine < elsewhere->count; machine++) {
        int size = __builtin_popcountll(elsewhere->machines[machine].ranks);
        most = size > most ? size : most;
    }
    return (uint64_t)most;
}

// What an AllReduce or a ReduceScatter takes on h machines of at most p ranks: what the busiest
// port carries, in bytes / h, and how many crossings there are one after the other.
struct cost {
    uint64_t parts, crossings;
};

#define SLOTS "" // which bring all inputs everywhere

static struct cost cost_of(const struct tern__coll *call, const char *algorithm)
{
    uint64_t h = (uint64_t)call->calls->elsewhere->count + 1;
    uint64_t p = largest_machine(call);
    bool to_all = call->plan_kind == TERN_PLAN_ALL_REDUCE;
    bool shares = call->plan_kind == TERN_PLAN_REDUCE_SCATTER;
    if (strcmp(algorithm, "chain") == 0) { // on two machines nobody is in the middle
        uint64_t middle = to_all ? 2 * h : h + 1;
        return (struct cost){h > 2 ? middle : h, to_all ? 2 * (h - 1) : h};
    }
    if (strcmp(algorithm, "two") == 0) {
        return (struct cost){(shares ? 1 : 2) * (h - 1), shares ? 1 : 2};
    }
    if (strcmp(algorithm, "two_raw") == 0) {
        return (struct cost){(p + 1) * (h - 1), 2};
    }
    if (strcmp(algorithm, "one_sums") == 0) {
        return (struct cost){h * (h - 1), 1};
    }
    return (struct cost){p * (h - 1) * (shares ? 1 : h), 1};
}

// Up to how many bytes the first algorithm takes no longer than the other, each of whose crossings
// takes as long as so many bytes more.
static uint64_t best_up_to(const struct tern__coll *call, const char *algorithm, const char *other,
                           uint64_t more)
{
    struct cost cost = cost_of(call, algorithm);
    struct cost instead = cost_of(call, other);
    uint64_t crossings = cost.crossings * CROSSING_BYTES;
    uint64_t saved = instead.crossings * (CROSSING_BYTES + more);
    uint64_t h = (uint64_t)call->calls->elsewhere->count + 1;
    return cost.parts <= instead.parts ? UINT64_MAX
           : saved <= crossings        ? 0
                                       : h * (saved - crossings) / (cost.parts - instead.parts);
}

// Whether an AllReduce in rank order sends inputs, with its sums in turn.
static bool sends_inputs(const struct tern__coll *call)
{
    return call->plan_kind == TERN_PLAN_ALL_REDUCE && call->calls->elsewhere->count > 1 &&
           call->bytes <= best_up_to(call, "two_raw", "chain", 0);
}

// Whether two machines send each other the sum of all at once: as many bytes as by owners, and one
// crossing less; each adds up the whole vector instead of a part.
static bool goes_at_once(const struct tern__coll *call)
{
    return call->plan_kind == TERN_PLAN_ALL_REDUCE && call->calls->elsewhere->count == 1 &&
           call->bytes <= AT_ONCE_BYTES && any_order(call) && suits(call, "one_sums");
}

// What a row of a tune file says, which was found out with more bytes than go at once.
static const char *as_said(const struct tern__coll *call, const char *said)
{
    return strcmp(said, "two") == 0 && goes_at_once(call) ? "one_sums" : said;
}

// For large sums; NULL: only the algorithm that reads all inputs does.
static const char *sums(const struct tern__coll *call)
{
    static const char *const by_need[] = {"two", "chain", "two_raw"};
    bool shares =
        call->plan_kind == TERN_PLAN_REDUCE_SCATTER; // has no two_raw: `one` sends as much
    if (!any_order(call) && sends_inputs(call) && suits(call, "two_raw")) {
        return "two_raw";
    }
    if (goes_at_once(call)) {
        return "one_sums";
    }
    for (size_t i = any_order(call) ? 0 : 1; i < (shares ? 2 : 3); i++) {
        if (suits(call, by_need[i])) {
            return by_need[i];
        }
    }
    return NULL;
}

// For what is only moved: from machine to machine, where the root's link would carry it several
// times, and there is enough for the pieces to fill the links of all; NULL: straight.
static const char *moves(const struct tern__coll *call)
{
    bool relays = call->plan_kind == TERN_PLAN_BROADCAST && call->calls->elsewhere->count > 1;
    return relays && call->bytes >= RELAY_BYTES ? "chain" : NULL;
}

void tern__call_go_far(const struct tern__coll *call, const struct tern__choice **choice,
                       struct tern__choice *room)
{
    const char *large = tern__kinds[call->kind].sums ? sums(call) : moves(call);
    *room = **choice;
    *choice = room;
    if (room->named) {
        return;
    }
    struct tern__choice built_in;
    tern__tune_built_in(call->plan_kind, call->calls->nranks, &built_in);
    tern_order order = any_order(call) ? TERN_ORDER_ANY : TERN_ORDER_RANK;
    const struct tern__far_choice *said = &room->far[order][rounds(call)];
    room->small_bytes = said->small_bytes;
    if (suits(call, said->large)) {
        room->far_bytes = said->piece_bytes;
        large = as_said(call, said->large);
    } else if (large != NULL && tern__kinds[call->kind].sums && !tern__kind_has_root(call->kind)) {
        uint64_t most = best_up_to(call, SLOTS, large, PLAN_BYTES);
        room->small_bytes = most < room->small_bytes ? most : room->small_bytes;
    } else {
        large = large != NULL ? large : built_in.small;
    }
    snprintf(room->small, sizeof room->small, "%s", built_in.small);
    snprintf(room->window, sizeof room->window, "%s", large);
    snprintf(room->staged, sizeof room->staged, "%s", large);
}
