// SPDX-License-Identifier: Apache-2.0
// Goes through the transfers in their order and keeps, of each stretch of memory, who has touched
// it since it was last overwritten: whoever comes next must know that those with whom he conflicts
// have ended. Clocks say what a transfer knows already, of how many transfers of each lane.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/shared.h"
#include "plan/sync.h"

#define CLOCK_BYTES_MAX ((uint64_t)256 << 20)
#define VISITS_MAX ((uint64_t)1 << 26)

// Reads do not conflict with one another, nor do atomic adds.
enum access_kind { READS, ADDS, WRITES };

// Of each rank: its buffers, and what is both in `in` and in `out` when it is in place.
enum { SHARED = TERN_PLAN_SCRATCH + 1, SPACES };

struct access {
    uint32_t space; // of all ranks
    uint64_t begin, end;
    enum access_kind kind;
};

struct entry {
    uint32_t node;
    uint32_t next; // + 1
    enum access_kind kind;
};

// From here to the next one, where that is of the same space.
struct sync_stretch {
    uint64_t begin;
    uint32_t space;
    uint32_t entries; // + 1
    uint32_t hub;     // + 1; the node that hears of all that have written here
};

struct heard {
    uint64_t when;
    uint32_t node;
};

struct need {
    struct tern__sync *sync;
    struct sync_stretch *stretches; // by space and begin
    size_t stretches_count, stretches_room;
    struct entry *entries;
    size_t entries_count, entries_room;
    uint32_t entries_free; // + 1
    uint32_t **clocks;     // per node
    size_t clocks_room;
    uint64_t clock_bytes, visits;
    uint32_t *last;    // per chain: its last node, + 1
    uint32_t *touched; // per rank and chain: the last node of the chain there, + 1
    uint32_t *hubs;    // per rank: the last one, + 1
    struct heard *heard;
    size_t heard_count, heard_room;
};

static int no_memory(void)
{
    return tern__fail(TERN_ERR_MEMORY, "no memory to make the posts and waits of a plan anew");
}

// What an operand does to memory: one access, or two where in place counts.
typedef int access_visitor(struct need *need, uint32_t node, const struct access *access);

static int visit_shared(struct need *need, uint32_t node, int operand, access_visitor *visit)
{
    const tern_plan *plan = need->sync->plan;
    const struct tern__op *op = need->sync->nodes[node].op;
    const tern_plan_range *ranges = tern__op_operands(plan, op);
    const tern_plan_range *range = &ranges[operand];
    bool source = operand < op->sources_count;
    struct tern__shared part = tern__shared_part(plan, range, op->length);
    bool as_out = range->buffer == TERN_PLAN_OUT;
    if (part.begin == part.end ||
        (as_out && (source || tern__copies_onto_itself(plan, op, &ranges[0], range)))) {
        return TERN_OK;
    }
    struct access access = {.space = range->rank * (uint32_t)SPACES + SHARED,
                            .begin = part.begin,
                            .end = part.end,
                            .kind = as_out ? ADDS : READS};
    return visit(need, node, &access);
}

static int visit_accesses(struct need *need, uint32_t node, access_visitor *visit)
{
    const tern_plan *plan = need->sync->plan;
    const struct tern__op *op = need->sync->nodes[node].op;
    const tern_plan_range *ranges = tern__op_operands(plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        struct access access = {.space = ranges[i].rank * (uint32_t)SPACES + ranges[i].buffer,
                                .begin = ranges[i].offset,
                                .end = ranges[i].offset + op->length,
                                .kind = i < op->sources_count                 ? READS
                                        : (op->flags & TERN_PLAN_ATOMIC) != 0 ? ADDS
                                                                              : WRITES};
        TERN_TRY(visit(need, node, &access));
        TERN_TRY(need->sync->in_place ? visit_shared(need, node, i, visit) : TERN_OK);
    }
    return TERN_OK;
}

// Stretches.

static int note_bounds(struct need *need, uint32_t node, const struct access *access)
{
    (void)node;
    TERN_TRY(tern__plan_reserve((void **)&need->stretches, &need->stretches_room,
                                need->stretches_count + 2, sizeof *need->stretches));
    struct sync_stretch bound = {.begin = access->begin, .space = access->space};
    need->stretches[need->stretches_count++] = bound;
    bound.begin = access->end;
    need->stretches[need->stretches_count++] = bound;
    return TERN_OK;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct sync_stretch *x = a;
    const struct sync_stretch *y = b;
    return x->space != y->space ? (x->space > y->space) - (x->space < y->space)
                                : (x->begin > y->begin) - (x->begin < y->begin);
}

static int find_stretches(struct need *need)
{
    size_t kept = 0;
    for (uint32_t node = 0; node < need->sync->nodes_count; node++) {
        TERN_TRY(visit_accesses(need, node, note_bounds));
    }
    if (need->stretches_count == 0) {
        return TERN_OK;
    }
    qsort(need->stretches, need->stretches_count, sizeof *need->stretches, compare_stretches);
    for (size_t i = 1; i < need->stretches_count; i++) {
        if (compare_stretches(&need->stretches[kept], &need->stretches[i]) != 0) {
            need->stretches[++kept] = need->stretches[i];
        }
    }
    need->stretches_count = kept + 1;
    return TERN_OK;
}

typedef int stretch_visitor(struct need *need, uint32_t node, enum access_kind kind,
                            struct sync_stretch *stretch);

static int visit_stretches(struct need *need, uint32_t node, const struct access *access,
                           stretch_visitor *visit)
{
    struct sync_stretch key = {.begin = access->begin, .space = access->space};
    struct sync_stretch *stretch = bsearch(&key, need->stretches, need->stretches_count,
                                           sizeof *need->stretches, compare_stretches);
    for (; stretch->begin < access->end; stretch++) {
        if (++need->visits > VISITS_MAX) {
            return tern__fail(TERN_ERR_LIMIT,
                              "the plan '%s' touches too many stretches of memory to make its "
                              "posts and waits anew",
                              need->sync->plan->algorithm);
        }
        TERN_TRY(visit(need, node, access->kind, stretch));
    }
    return TERN_OK;
}

// Clocks.

static int new_clock(struct need *need, uint32_t node, const uint32_t *from)
{
    size_t bytes = need->sync->chains * sizeof **need->clocks;
    size_t room = need->clocks_room;
    need->clock_bytes += bytes;
    if (need->clock_bytes > CLOCK_BYTES_MAX) {
        return tern__fail(TERN_ERR_LIMIT,
                          "the plan '%s' has too many transfers in too many lanes to make its "
                          "posts and waits anew",
                          need->sync->plan->algorithm);
    }
    TERN_TRY(tern__plan_reserve((void **)&need->clocks, &need->clocks_room, (size_t)node + 1,
                                sizeof(void *)));
    memset((void *)(need->clocks + room), 0, (need->clocks_room - room) * sizeof(void *));
    need->clocks[node] = calloc(1, bytes + 1);
    if (need->clocks[node] == NULL) {
        return no_memory();
    }
    if (from != NULL) {
        memcpy(need->clocks[node], from, bytes);
    }
    return TERN_OK;
}

static void join(const struct need *need, uint32_t *clock, const uint32_t *other)
{
    for (uint32_t chain = 0; chain < need->sync->chains; chain++) {
        clock[chain] = other[chain] > clock[chain] ? other[chain] : clock[chain];
    }
}

static bool knows(const struct need *need, const uint32_t *clock, uint32_t node)
{
    const struct tern__sync_node *known = &need->sync->nodes[node];
    bool all = true;
    if (known->op != NULL) {
        return clock[known->chain] >= known->index;
    }
    for (uint32_t chain = 0; all && chain < need->sync->chains; chain++) {
        all = clock[chain] >= need->clocks[node][chain];
    }
    return all;
}

// Hearing.

static int hear(struct need *need, uint32_t node)
{
    TERN_TRY(tern__plan_reserve((void **)&need->heard, &need->heard_room, need->heard_count + 1,
                                sizeof *need->heard));
    need->heard[need->heard_count++] =
        (struct heard){.when = need->sync->nodes[node].when, .node = node};
    return TERN_OK;
}

static int compare_heard(const void *a, const void *b)
{
    const struct heard *x = a;
    const struct heard *y = b;
    return x->when != y->when ? (x->when < y->when) - (x->when > y->when)
                              : (x->node < y->node) - (x->node > y->node);
}

// An edge from all that was heard since `begin` and is not known, the latest first, as it knows of
// most others; then nothing is heard since.
static int connect(struct need *need, uint32_t to, size_t begin)
{
    uint32_t *clock = need->clocks[to];
    if (need->heard_count > begin) {
        qsort(need->heard + begin, need->heard_count - begin, sizeof *need->heard, compare_heard);
    }
    for (size_t i = begin; i < need->heard_count; i++) {
        uint32_t from = need->heard[i].node;
        if (!knows(need, clock, from)) {
            TERN_TRY(tern__sync_edge_add(need->sync, from, to));
            join(need, clock, need->clocks[from]);
        }
    }
    need->heard_count = begin;
    return TERN_OK;
}

// The node at the rank of the memory that hears of all that was heard since `begin`: the last one
// there, if it knows just that.
static int find_hub(struct need *need, struct sync_stretch *stretch, size_t begin, uint32_t *hub)
{
    struct tern__sync *sync = need->sync;
    uint32_t *last = &need->hubs[stretch->space / SPACES];
    struct tern__sync_node node = {.rank = (int)(stretch->space / SPACES),
                                   .lane = TERN__SYNC_RELAY};
    *hub = (uint32_t)sync->nodes_count;
    TERN_TRY(new_clock(need, *hub, NULL));
    uint32_t *clock = need->clocks[*hub];
    for (size_t i = begin; i < need->heard_count; i++) {
        const struct tern__sync_node *from = &sync->nodes[need->heard[i].node];
        uint64_t when = from->when + TERN__SYNC_HUB;
        node.round = when > node.when ? from->round : node.round;
        node.when = when > node.when ? when : node.when;
        join(need, clock, need->clocks[need->heard[i].node]);
    }
    if (*last != 0 && memcmp(clock, need->clocks[*last - 1], sync->chains * sizeof *clock) == 0) {
        free(clock);
        need->clocks[*hub] = NULL;
        need->heard_count = begin;
        *hub = *last - 1;
    } else {
        memset(clock, 0, sync->chains * sizeof *clock);
        TERN_TRY(tern__sync_node_add(sync, &node));
        TERN_TRY(connect(need, *hub, begin));
        *last = *hub + 1;
    }
    stretch->hub = *hub + 1;
    return TERN_OK;
}

// A node hears of those with whom it conflicts, or of the hub of several of whom it knows nothing.
static int hear_stretch(struct need *need, uint32_t node, enum access_kind kind,
                        struct sync_stretch *stretch)
{
    size_t begin = need->heard_count;
    size_t new = 0;
    if (stretch->space % SPACES == SHARED && kind == READS) {
        return TERN_OK; // after a write as `out`: then the plan is not right in place
    }
    for (uint32_t at = stretch->entries; at != 0; at = need->entries[at - 1].next) {
        const struct entry *entry = &need->entries[at - 1];
        if (kind == WRITES || entry->kind != kind) {
            new += !knows(need, need->clocks[node], entry->node);
            TERN_TRY(hear(need, entry->node));
        }
    }
    if (kind != READS || new < 2) {
        return TERN_OK;
    }
    uint32_t hub = stretch->hub - 1;
    need->heard_count = stretch->hub != 0 ? begin : need->heard_count;
    TERN_TRY(stretch->hub == 0 ? find_hub(need, stretch, begin, &hub) : TERN_OK);
    return hear(need, hub);
}

static int hear_access(struct need *need, uint32_t node, const struct access *access)
{
    return visit_stretches(need, node, access, hear_stretch);
}

// Entering.

// Forgets those that who knows of the node need not be told of.
static void forget(struct need *need, uint32_t node, enum access_kind kind, uint32_t *link)
{
    const struct tern__sync_node *nodes = need->sync->nodes;
    while (*link != 0) {
        struct entry *entry = &need->entries[*link - 1];
        bool same = entry->kind == kind && nodes[entry->node].chain == nodes[node].chain;
        if (kind == WRITES || same) {
            uint32_t next = entry->next;
            entry->next = need->entries_free;
            need->entries_free = *link;
            *link = next;
        } else {
            link = &entry->next;
        }
    }
}

static int enter_stretch(struct need *need, uint32_t node, enum access_kind kind,
                         struct sync_stretch *stretch)
{
    forget(need, node, kind, &stretch->entries);
    stretch->hub = kind == READS ? stretch->hub : 0;
    uint32_t at = need->entries_free;
    if (at != 0) {
        need->entries_free = need->entries[at - 1].next;
    } else {
        TERN_TRY(tern__plan_reserve((void **)&need->entries, &need->entries_room,
                                    need->entries_count + 1, sizeof *need->entries));
        at = (uint32_t)++need->entries_count;
    }
    need->entries[at - 1] = (struct entry){.node = node, .next = stretch->entries, .kind = kind};
    stretch->entries = at;
    return TERN_OK;
}

static int enter_access(struct need *need, uint32_t node, const struct access *access)
{
    return visit_stretches(need, node, access, enter_stretch);
}

// What lies in slots outlasts its rank.
static void touch(struct need *need, uint32_t number)
{
    const tern_plan *plan = need->sync->plan;
    const struct tern__sync_node *node = &need->sync->nodes[number];
    const tern_plan_range *ranges = tern__op_operands(plan, node->op);
    for (int i = 0; i < node->op->sources_count + node->op->destinations_count; i++) {
        if (ranges[i].rank != node->rank && !tern__plan_in_slots(plan, ranges[i].buffer)) {
            need->touched[(size_t)ranges[i].rank * need->sync->chains + node->chain] = number + 1;
        }
    }
}

static int go_through(struct need *need)
{
    size_t transfers = need->sync->nodes_count;
    for (uint32_t node = 0; node < transfers; node++) {
        uint32_t chain = need->sync->nodes[node].chain;
        uint32_t last = need->last[chain];
        TERN_TRY(new_clock(need, node,
                           last != 0 && need->clocks != NULL ? need->clocks[last - 1] : NULL));
        TERN_TRY(visit_accesses(need, node, hear_access));
        TERN_TRY(connect(need, node, 0));
        need->clocks[node][chain] = need->sync->nodes[node].index;
        need->last[chain] = node + 1;
        TERN_TRY(visit_accesses(need, node, enter_access));
        touch(need, node);
    }
    return TERN_OK;
}

// A rank ends when its lanes have; then all who touch its memory must have done so.
static int end_rank(struct need *need, int rank)
{
    struct tern__sync *sync = need->sync;
    uint32_t end = (uint32_t)sync->nodes_count;
    struct tern__sync_node node = {.rank = rank,
                                   .lane = TERN__SYNC_END,
                                   .when = UINT64_MAX,
                                   .round = (uint16_t)(sync->plan->rounds - 1)};
    TERN_TRY(new_clock(need, end, NULL));
    TERN_TRY(tern__sync_node_add(sync, &node));
    if (need->hubs[rank] != 0) {
        join(need, need->clocks[end], need->clocks[need->hubs[rank] - 1]);
    }
    for (uint32_t chain = 0; chain < sync->chains; chain++) {
        uint32_t last = need->last[chain];
        if (last != 0 && sync->nodes[last - 1].rank == rank) {
            join(need, need->clocks[end], need->clocks[last - 1]);
        }
    }
    for (uint32_t chain = 0; chain < sync->chains; chain++) {
        uint32_t touch = need->touched[(size_t)rank * sync->chains + chain];
        TERN_TRY(touch != 0 ? hear(need, touch - 1) : TERN_OK);
    }
    return connect(need, end, 0);
}

static int find_needs(struct need *need)
{
    size_t ranks = (size_t)need->sync->plan->spec.nranks;
    size_t chains = (size_t)need->sync->chains + 1;
    need->last = calloc(chains, sizeof *need->last);
    need->touched = calloc(ranks * chains, sizeof *need->touched);
    need->hubs = calloc(ranks, sizeof *need->hubs);
    if (need->last == NULL || need->touched == NULL || need->hubs == NULL) {
        return no_memory();
    }
    TERN_TRY(find_stretches(need));
    TERN_TRY(go_through(need));
    for (int rank = 0; rank < need->sync->plan->spec.nranks; rank++) {
        TERN_TRY(end_rank(need, rank));
    }
    return TERN_OK;
}

int tern__sync_need(struct tern__sync *sync)
{
    struct need need = {.sync = sync};
    int status = find_needs(&need);
    for (size_t i = 0; i < need.clocks_room; i++) {
        free(need.clocks[i]);
    }
    free((void *)need.clocks);
    free(need.stretches);
    free(need.entries);
    free(need.last);
    free(need.touched);
    free(need.hubs);
    free(need.heard);
    return status;
}
