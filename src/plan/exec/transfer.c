// SPDX-License-Identifier: Apache-2.0
// One transfer of a plan, on the memory that its ranges are bound to.

#include "plan/exec/transfer.h"

#include <assert.h>
#include <stdalign.h>

#include "base/clock.h"
#include "base/memcpy.h"
#include "base/trace.h"
#include "net/net.h"
#include "xport/copy.h"
#include "xport/expose.h"

struct tern__quickest tern__spread_known[TERN__QUICKEST_CLASSES];
struct tern__quickest tern__reduce_known[TERN__QUICKEST_CLASSES];

// Bytes of a copy to several destinations that stay in the first-level cache between them.
#define SPREAD_BLOCK 8192

// Of sums, on their way to scratch that ranks far away read.
#define EXPOSE_BLOCK UINT64_C(16384)
_Static_assert(TERN__REDUCE_FUNCTION_MAX <= EXPOSE_BLOCK, "a block holds an element");

uint64_t tern__range_offset(const struct tern__binding *binding, const tern_plan_range *range)
{
    bool is_out = range->buffer == TERN_PLAN_OUT;
    switch (is_out ? binding->out_map : binding->in_map) {
    case TERN__MAP_BYTES:
        break;
    case TERN__MAP_SLICES:
        return binding->bounds[range->offset];
    case TERN__MAP_SHARES:
        return range->offset * (is_out                          ? binding->out_stride
                                : range->buffer == TERN_PLAN_IN ? binding->in_stride
                                                                : 0);
    case TERN__MAP_TABLE: {
        const struct tern__share *row = &binding->tables[range->rank][range->offset];
        return (range->buffer == TERN_PLAN_IN ? row->in_offset : row->out_offset) +
               binding->skip_bytes;
    }
    }
    return range->offset;
}

char *tern__range_address(const struct tern__binding *binding, const tern_plan_range *range)
{
    const char *base = range->buffer == TERN_PLAN_IN    ? binding->in[range->rank]
                       : range->buffer == TERN_PLAN_OUT ? binding->out[range->rank]
                                                        : binding->scratch[range->rank];
    return (char *)(uintptr_t)base + tern__range_offset(binding, range);
}

// Of a v-collective: from its first source to its first destination.
static uint64_t share_length(const struct tern__binding *binding, const tern_plan_range *from,
                             const tern_plan_range *to)
{
    const struct tern__share *own = binding->tables[binding->rank];
    uint64_t bytes = to->rank == binding->rank ? own[from->rank].out_bytes : own[to->rank].in_bytes;
    uint64_t rest = bytes > binding->skip_bytes ? bytes - binding->skip_bytes : 0;
    return rest < binding->piece_bytes ? rest : binding->piece_bytes;
}

uint64_t tern__step_length(const struct tern__binding *binding, const struct tern__step *step)
{
    const tern_plan_range *first = &step->operands[0];
    if (binding->out_map == TERN__MAP_TABLE) {
        return share_length(binding, first, &step->operands[step->sources_count]);
    }
    switch (binding->in_map) {
    case TERN__MAP_BYTES:
        return step->length;
    case TERN__MAP_SLICES:
        return binding->bounds[first->offset + step->length] - binding->bounds[first->offset];
    case TERN__MAP_SHARES:
    case TERN__MAP_TABLE:
        break;
    }
    return binding->share_bytes;
}

static inline bool is_far(const struct tern__binding *binding, const tern_plan_range *range)
{
    return range->buffer == TERN_PLAN_IN && (binding->far >> range->rank & 1) != 0;
}

static bool any_far(const struct tern__binding *binding, const struct tern__step *step)
{
    bool far = false;
    for (int s = 0; binding->far != 0 && s < step->sources_count; s++) {
        far = far || is_far(binding, &step->operands[s]);
    }
    return far;
}

// The line of who owns what the step copies, if that rank helps with copies.
static struct tern__help *help_of(const struct tern__binding *binding,
                                  const struct tern__step *step)
{
    if (binding->helped == 0 || step->kind != TERN__STEP_COPY || step->destinations_count != 1) {
        return NULL;
    }
    int owner = step->operands[0].rank;
    return (binding->helped >> owner & 1) != 0 ? binding->help[owner] : NULL;
}

// Another lane's copy may have the line.
static bool takes_help(const struct tern__binding *binding, const struct tern__step *step,
                       const char *to, uint64_t length)
{
    const struct tern__help *help = help_of(binding, step);
    return help != NULL && length >= binding->help_least &&
           (tern__peek(&help->claims) == 0 || tern__help_is_for(help, to));
}

bool tern__transfer_waits(const struct tern__binding *binding, const struct tern__step *step)
{
    const struct tern__help *help = help_of(binding, step);
    return help != NULL && tern__help_waits(help, tern__range_address(binding, &step->operands[1]));
}

bool tern__transfer_is_over(const struct tern__binding *binding, const struct tern__step *step)
{
    return tern__help_is_over(help_of(binding, step));
}

void tern__transfer_open(const struct tern__binding *binding, const struct tern__step *step)
{
    struct tern__help *help = help_of(binding, step);
    if (help == NULL || tern__peek(&help->claims) != 0) {
        return;
    }
    uint64_t length = tern__step_length(binding, step);
    if (length >= binding->help_least) {
        tern__help_open(binding->group, step->operands[0].rank, help,
                        tern__range_address(binding, &step->operands[1]),
                        (uintptr_t)tern__range_address(binding, &step->operands[0]), length);
    }
}

static bool fetch(const struct tern__binding *binding, const struct tern__step *step,
                  uint64_t length, struct tern__unread *unread)
{
    const tern_plan_range *range = &step->operands[0];
    uint64_t from = (uintptr_t)tern__range_address(binding, range);
    for (int d = 0; d < step->destinations_count; d++) {
        char *to = tern__range_address(binding, &step->operands[1 + d]);
        if (takes_help(binding, step, to, length)) {
            return tern__help_read(binding->group, range->rank, to, from, length,
                                   binding->help[range->rank], unread) >= 0;
        }
        if (!tern__reach_read(binding->group, range->rank, to, from, length, unread)) {
            return false;
        }
    }
    return true;
}

// The way to the memory of a range.
static const struct tern__xport *way_to(const struct tern__binding *binding,
                                        const struct tern__xport *xport,
                                        const tern_plan_range *range)
{
    return (binding->elsewhere >> range->rank & 1) == 0 ? xport : &tern__xport_net;
}

// What the first source takes that another rank has just written.
static void measure(const struct tern__binding *binding, const struct tern__step *step,
                    uint64_t length)
{
    for (int s = 0; binding->distance != NULL && s < step->sources_count; s++) {
        const tern_plan_range *range = &step->operands[s];
        if (range->rank != binding->rank && range->buffer == TERN_PLAN_IN) {
            tern__hand_measure(binding->distance, tern__range_address(binding, range), length);
            return;
        }
    }
}

// What the step writes goes to this rank's out and nowhere else, in a run that measures that.
static bool goes_outward(const struct tern__binding *binding, const struct tern__step *step)
{
    return binding->outward != NULL && step->destinations_count == 1 &&
           step->operands[step->sources_count].buffer == TERN_PLAN_OUT;
}

static bool goes_past(const struct tern__binding *binding, const struct tern__step *step)
{
    return goes_outward(binding, step) && binding->outward->way == TERN__PAST;
}

// A transfer in memory: all of a step but the place in its plan.
struct work {
    const struct tern__binding *binding;
    const char *from[TERN_RANKS_MAX];
    char *to[TERN_RANKS_MAX];
    int from_count, to_count;
    uint64_t length;
};

// Through the caches or past them, if all that it reads and writes is long.
static void do_quickest(struct tern__quickest *known, tern__way_fn *fn, const struct work *work)
{
    uint64_t bytes = work->length * (uint64_t)(work->from_count + work->to_count);
    if (bytes < TERN__PAST_FROM) {
        fn(work, TERN__THROUGH);
    } else {
        tern__quickest_run(known, TERN__WRITTEN_WAYS, bytes, fn, work);
    }
}

static void spread_by(const void *arg, int way)
{
    const struct work *work = arg;
    for (uint64_t at = 0; at < work->length; at += SPREAD_BLOCK) {
        uint64_t part = work->length - at < SPREAD_BLOCK ? work->length - at : SPREAD_BLOCK;
        for (int d = 0; d < work->to_count; d++) {
            if (way == TERN__PAST) {
                tern__expose(work->to[d] + at, work->from[0] + at, part);
            } else {
                tern__memcpy(work->to[d] + at, work->from[0] + at, part);
            }
        }
    }
}

// To several ranks: those of this machine together, so that the source is read once.
static void spread(const struct tern__binding *binding, const struct tern__xport *xport,
                   const struct tern__step *step, uint64_t length)
{
    const char *from = tern__range_address(binding, &step->operands[0]);
    struct work work;
    work.binding = binding;
    work.from[0] = from;
    work.from_count = 1;
    work.to_count = 0;
    work.length = length;
    for (int d = 0; d < step->destinations_count; d++) {
        const tern_plan_range *range = &step->operands[1 + d];
        char *to = tern__range_address(binding, range);
        if (way_to(binding, xport, range) != xport) {
            way_to(binding, xport, range)->put(to, from, length);
        } else if (to != from) {
            work.to[work.to_count++] = to;
        }
    }
    do_quickest(tern__spread_known, spread_by, &work);
}

static void copy(const struct tern__binding *binding, const struct tern__xport *xport,
                 const struct tern__step *step, uint64_t length)
{
    measure(binding, step, length);
    if (step->destinations_count > 1) {
        spread(binding, xport, step, length);
        return;
    }
    const char *from = tern__range_address(binding, &step->operands[0]);
    char *to = tern__range_address(binding, &step->operands[1]);
    if (to != from && goes_past(binding, step)) {
        tern__expose(to, from, length);
    } else if (to != from) {
        way_to(binding, xport, &step->operands[1])->put(to, from, length);
    }
}

void tern__reduce_elements(const struct tern__binding *binding, char *const *to, int to_count,
                           const char *const *from, int from_count, size_t count)
{
    if (binding->reduce != NULL) {
        binding->reduce(to, to_count, from, from_count, count, false);
    } else {
        tern__reduce_function(binding->function, binding->function_arg, binding->element_bytes, to,
                              to_count, from, from_count, count);
    }
}

// Into to[scratch] past the caches, into the others as ever.
static void reduce_exposed(const struct tern__binding *binding, char *const *to, int to_count,
                           int scratch, const char *const *from, int from_count, uint64_t length)
{
    alignas(TERN_CACHE_LINE) char block[EXPOSE_BLOCK];
    char *part_to[TERN_RANKS_MAX];
    const char *part_from[TERN_RANKS_MAX];
    uint64_t most = EXPOSE_BLOCK / binding->element_bytes * binding->element_bytes;
    for (uint64_t at = 0; at < length; at += most) {
        uint64_t part = length - at < most ? length - at : most;
        for (int s = 0; s < from_count; s++) {
            part_from[s] = from[s] + at;
        }
        for (int d = 0; d < to_count; d++) {
            part_to[d] = d == scratch ? block : to[d] + at;
        }
        tern__reduce_elements(binding, part_to, to_count, part_from, from_count,
                              part / binding->element_bytes);
        tern__expose(to[scratch] + at, block, part);
    }
}

// The number of the destination that others read from afar; -1: none.
static int find_exposed(const struct tern__binding *binding, const struct tern__step *step)
{
    for (int d = 0; d < step->destinations_count; d++) {
        if (step->operands[step->sources_count + d].buffer == TERN_PLAN_SCRATCH) {
            return tern__goes_past(binding->distance) ? d : -1;
        }
    }
    return -1;
}

// Which source is fetched to where the sum will be, so that one stream less goes through the
// caches: the last one that is far, unless something lies there that is still to be summed. A
// function of the program's own reads its inputs in any order. -1: none.
static int find_straight(const struct tern__binding *binding, const struct tern__step *step,
                         const char *to, uint64_t length)
{
    int straight = -1;
    for (int s = 0; binding->reduce != NULL && s < step->sources_count; s++) {
        const char *from = tern__range_address(binding, &step->operands[s]);
        if (is_far(binding, &step->operands[s])) {
            straight = s;
        } else if (from < to + length && to < from + length) {
            return -1;
        }
    }
    return straight;
}

// By a kernel, past the caches from where the first destination allows that, if elements end there.
static void reduce_past(const struct tern__binding *binding, char *const *to, int to_count,
                        const char *const *from, int from_count, size_t count)
{
    const size_t element = binding->element_bytes;
    const char *part_from[TERN_RANKS_MAX];
    char *part_to[TERN_RANKS_MAX];
    size_t head = -(uintptr_t)to[0] % TERN__REDUCE_PAST_ALIGN / element;
    head = head < count ? head : count;
    binding->reduce(to, to_count, from, from_count, head, false);
    for (int s = 0; s < from_count; s++) {
        part_from[s] = from[s] + head * element;
    }
    for (int d = 0; d < to_count; d++) {
        part_to[d] = to[d] + head * element;
    }
    binding->reduce(part_to, to_count, part_from, from_count, count - head, true);
}

static void reduce_elements(const struct tern__binding *binding, bool past, char *const *to,
                            int to_count, const char *const *from, int from_count, size_t count)
{
    if (past && binding->reduce != NULL) {
        reduce_past(binding, to, to_count, from, from_count, count);
    } else {
        tern__reduce_elements(binding, to, to_count, from, from_count, count);
    }
}

static void reduce_by(const void *arg, int way)
{
    const struct work *work = arg;
    reduce_elements(work->binding, way == TERN__PAST, work->to, work->to_count, work->from,
                    work->from_count, work->length / work->binding->element_bytes);
}

// Of what is far a block at a time is fetched, and reduced out of the cache.
static bool reduce_fetched(const struct tern__binding *binding, const struct tern__step *step,
                           uint64_t length, struct tern__unread *unread)
{
    char *to[TERN_RANKS_MAX];
    const char *part_from[TERN_RANKS_MAX];
    uint64_t from[TERN_RANKS_MAX];
    int fetched = 0;
    for (int d = 0; d < step->destinations_count; d++) {
        to[d] = tern__range_address(binding, &step->operands[step->sources_count + d]);
    }
    for (int s = 0; s < step->sources_count; s++) {
        from[s] = (uintptr_t)tern__range_address(binding, &step->operands[s]);
        fetched += is_far(binding, &step->operands[s]);
    }
    assert(fetched > 0 && step->destinations_count > 0); // any_far
    int straight = find_straight(binding, step, to[0], length);
    uint64_t block = tern__fetch_block(fetched);
    uint64_t most = block / binding->element_bytes * binding->element_bytes;
    for (uint64_t at = 0; at < length; at += most) {
        uint64_t part = length - at < most ? length - at : most;
        char *room = binding->room;
        for (int s = 0; s < step->sources_count; s++) {
            const tern_plan_range *range = &step->operands[s];
            part_from[s] = (const char *)(uintptr_t)(from[s] + at);
            if (is_far(binding, range)) {
                char *fetch_to = s == straight ? to[0] : room;
                if (!tern__reach_copy(binding->group, range->rank, fetch_to, from[s] + at, part,
                                      unread)) {
                    return false;
                }
                part_from[s] = fetch_to;
                room += s == straight ? 0 : block;
            }
        }
        reduce_elements(binding, goes_past(binding, step), to, step->destinations_count, part_from,
                        step->sources_count, part / binding->element_bytes);
        for (int d = 0; d < step->destinations_count; d++) {
            to[d] += part;
        }
    }
    for (int s = 0; s < step->sources_count; s++) {
        const tern_plan_range *range = &step->operands[s];
        if (is_far(binding, range) &&
            !tern__reach_counts(binding->group, range->rank, from[s], unread)) {
            return false;
        }
    }
    return true;
}

static void reduce(const struct tern__binding *binding, const struct tern__step *step,
                   uint64_t length)
{
    struct work work;
    int exposed = -1;
    work.binding = binding;
    work.from_count = step->sources_count;
    work.to_count = step->destinations_count;
    work.length = length;
    measure(binding, step, length);
    for (int s = 0; s < work.from_count; s++) {
        work.from[s] = tern__range_address(binding, &step->operands[s]);
    }
    for (int d = 0; d < work.to_count; d++) {
        work.to[d] = tern__range_address(binding, &step->operands[work.from_count + d]);
    }
    if (binding->distance != NULL && length >= TERN__EXPOSE_FROM) {
        exposed = find_exposed(binding, step);
    }
    if (exposed >= 0) {
        reduce_exposed(binding, work.to, work.to_count, exposed, work.from, work.from_count,
                       length);
    } else if (goes_outward(binding, step)) {
        reduce_by(&work, (int)binding->outward->way);
    } else if (binding->reduce == NULL) { // the function has one way
        reduce_by(&work, TERN__THROUGH);
    } else {
        do_quickest(tern__reduce_known, reduce_by, &work);
    }
}

static bool transfer(const struct tern__binding *binding, const struct tern__xport *xport,
                     const struct tern__step *step, uint64_t length, struct tern__unread *unread)
{
    if (!any_far(binding, step)) {
        if (step->kind == TERN__STEP_COPY) {
            copy(binding, xport, step, length);
        } else {
            reduce(binding, step, length);
        }
        return true;
    }
    return step->kind == TERN__STEP_COPY ? fetch(binding, step, length, unread)
                                         : reduce_fetched(binding, step, length, unread);
}

bool tern__transfer(const struct tern__binding *binding, const struct tern__xport *xport,
                    const struct tern__step *step, struct tern__unread *unread)
{
    int64_t begin_ns = tern__trace_start();
    uint64_t length = tern__step_length(binding, step);
    if (length == 0) {
        return true;
    }
    bool outward = goes_outward(binding, step);
    int64_t outward_ns = outward ? tern__now_ns() : 0;
    bool again = tern__transfer_waits(binding, step);
    if (!transfer(binding, xport, step, length, unread)) {
        return false;
    }
    if (outward) {
        binding->outward->ns += tern__now_ns() - outward_ns;
    }
    if (!again) {
        tern__trace_add(TERN__TRACE_TRANSFER, step->kind == TERN__STEP_COPY ? "copy" : "reduce",
                        begin_ns, length * step->destinations_count);
    }
    return true;
}

void tern__transfer_and_post(const struct tern__binding *binding, const struct tern__step *step,
                             char *signal)
{
    int64_t begin_ns = tern__trace_start();
    uint64_t length = tern__step_length(binding, step);
    if (length == 0) {
        tern__net_post(signal);
        return;
    }
    tern__net_put_post(tern__range_address(binding, &step->operands[1]),
                       tern__range_address(binding, &step->operands[0]), length, signal);
    tern__trace_add(TERN__TRACE_TRANSFER, "copy", begin_ns, length);
}
