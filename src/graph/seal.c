// SPDX-License-Identifier: Apache-2.0
// Sealing: from what was said while a graph was built on the host to what its runs need. Each edge
// is kept once. Tasks that come after the same tasks, four or more, get a join: a task of no
// kernel that comes after those and before these, so that k tasks after f others cost k + f edges
// and not k times f. Then the graph is run without its kernels: it has a cycle, or there is an
// order.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"

enum { JOIN_LEAST = 4 };

// While it is sealed.
struct sealing {
    const struct tern__table *table;
    struct tern__order *order;
    uint32_t *seen; // of each task: for which it was last seen, a stamp
    uint32_t stamp;
    uint64_t *sets;   // of each task: what its predecessors hash to
    uint32_t *by_set; // the first task of each set, by hash; index + 1
    uint32_t mask;
    struct tern__task **twin; // of each task: the first with the same set; NULL: it is alone
    uint32_t *join;           // of each such first: the number of its join; 0: not yet
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

// Keeps each task before another once, and hashes which they are.
static void read_before(struct sealing *sealing)
{
    for (uint32_t i = 0; i < sealing->table->count; i++) {
        struct tern__task *task = tern__table_at(sealing->table, i);
        uint64_t set = 0;
        uint32_t kept = 0;
        sealing->stamp++;
        for (uint32_t k = 0; k < task->before_count; k++) {
            const uint32_t number = task->numbers[k];
            if (sealing->seen[number] != sealing->stamp) {
                sealing->seen[number] = sealing->stamp;
                set += mix(number + UINT64_C(0x9e3779b97f4a7c15));
                task->numbers[kept++] = number;
            }
        }
        task->before_count = kept;
        sealing->sets[i] = set;
    }
}

static bool same_before(struct sealing *sealing, const struct tern__task *one,
                        const struct tern__task *other)
{
    const uint32_t count = one->before_count;
    if (count != other->before_count) {
        return false;
    }
    if (memcmp(one->numbers, other->numbers, count * sizeof *one->numbers) == 0) {
        return true;
    }
    sealing->stamp++;
    for (uint32_t i = 0; i < count; i++) {
        sealing->seen[one->numbers[i]] = sealing->stamp;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sealing->seen[other->numbers[i]] != sealing->stamp) {
            return false;
        }
    }
    return true;
}

static void find_twins(struct sealing *sealing)
{
    const struct tern__table *table = sealing->table;
    for (uint32_t i = 0; i < table->count; i++) {
        struct tern__task *task = tern__table_at(table, i);
        if (task->before_count < JOIN_LEAST) {
            continue;
        }
        uint32_t at = (uint32_t)mix(sealing->sets[i]) & sealing->mask;
        for (; sealing->by_set[at] != 0; at = (at + 1) & sealing->mask) {
            struct tern__task *other = tern__table_at(table, sealing->by_set[at] - 1);
            if (sealing->sets[other->number] == sealing->sets[i] &&
                same_before(sealing, other, task)) {
                sealing->order->joins_count += sealing->twin[other->number] == NULL;
                sealing->twin[i] = sealing->twin[other->number] = other;
                break;
            }
        }
        if (sealing->twin[i] == NULL) {
            sealing->by_set[at] = i + 1;
        }
    }
}

// Says each edge of the runs, by the number of the later task. First they are counted, then put.
typedef void (*edge_visitor)(struct sealing *sealing, uint32_t from, uint32_t to);

static void visit_before(struct sealing *sealing, const struct tern__task *task, uint32_t to,
                         edge_visitor visit)
{
    for (uint32_t i = 0; i < task->before_count; i++) {
        visit(sealing, task->numbers[i], to);
    }
}

static void visit_edges(struct sealing *sealing, edge_visitor visit)
{
    uint32_t count = sealing->table->count;
    uint32_t joins = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct tern__task *task = tern__table_at(sealing->table, i);
        const struct tern__task *first = sealing->twin[i];
        if (first == NULL) {
            visit_before(sealing, task, i, visit);
            continue;
        }
        if (first == task) {
            sealing->join[i] = count + joins++;
            visit_before(sealing, task, sealing->join[i], visit);
        }
        visit(sealing, sealing->join[first->number], i);
    }
}

static void count_edge(struct sealing *sealing, uint32_t from, uint32_t to)
{
    sealing->order->first[from + 1]++;
    sealing->order->fanin[to]++;
}

// first[from] moves on; it is moved back afterwards.
static void put_edge(struct sealing *sealing, uint32_t from, uint32_t to)
{
    sealing->order->to[sealing->order->first[from]++] = to;
}

static int make_order(struct sealing *sealing)
{
    struct tern__order *order = sealing->order;
    order->tasks_count = sealing->table->count;
    size_t count = (size_t)order->tasks_count + order->joins_count;
    order->first = calloc(count + 2, sizeof *order->first);
    order->fanin = calloc(count + 1, sizeof *order->fanin);
    order->pending = calloc(count + 1, sizeof *order->pending);
    order->roots = malloc((count + 1) * sizeof *order->roots);
    order->plain = malloc(count + 1);
    order->joins =
        aligned_alloc(TERN_CACHE_LINE, (order->joins_count + (size_t)1) * sizeof *order->joins);
    if (order->first == NULL || order->fanin == NULL || order->pending == NULL ||
        order->roots == NULL || order->plain == NULL || order->joins == NULL) {
        return TERN_ERR_MEMORY;
    }
    visit_edges(sealing, count_edge);
    for (size_t i = 0; i < count; i++) {
        order->first[i + 1] += order->first[i];
    }
    order->to = malloc((order->first[count] + (size_t)1) * sizeof *order->to);
    if (order->to == NULL) {
        return TERN_ERR_MEMORY;
    }
    visit_edges(sealing, put_edge);
    for (size_t i = count; i > 0; i--) {
        order->first[i] = order->first[i - 1];
    }
    order->first[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct tern__task *task =
            i < order->tasks_count ? tern__table_at(sealing->table, i) : NULL;
        order->plain[i] = task != NULL && task->special == 0 ? task->core : TERN__ORDER_SPECIAL;
    }
    for (uint32_t i = 0; i < order->joins_count; i++) {
        order->joins[i] = (struct tern__task){.name = "join",
                                              .blocks = 1,
                                              .core = TERN_CORE_NONE,
                                              .special = TERN__TASK_EMPTY | TERN__TASK_JOIN,
                                              .number = order->tasks_count + i};
    }
    return TERN_OK;
}

// A task before this one that could not be run either. Every task left over has one.
static const struct tern__task *step_back(const struct tern__table *table,
                                          const struct tern__order *order,
                                          const struct tern__task *task)
{
    const uint32_t *number = task->numbers;
    while (tern__peek(&order->pending[*number]) == 0) {
        number++;
    }
    return tern__table_at(table, *number);
}

// Names the tasks of one cycle: who walks backwards from a task left over, as many steps as there
// are tasks, is in one.
static int report_cycle(const struct tern__table *table, const struct tern__order *order)
{
    uint32_t left = 0;
    while (tern__peek(&order->pending[left]) == 0) {
        left++;
    }
    const struct tern__task *start = tern__table_at(table, left);
    for (uint32_t i = 0; i < table->count; i++) {
        start = step_back(table, order, start);
    }
    char text[512];
    const struct tern__task *at = start;
    size_t unnamed = 0;
    size_t used = (size_t)snprintf(text, sizeof text, "'%s'", start->name);
    do {
        at = step_back(table, order, at);
        if (used + TERN__TASK_NAME_BYTES + 40 < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, " after '%s'", at->name);
        } else {
            unnamed++;
        }
    } while (at != start);
    if (unnamed > 0) {
        snprintf(text + used, sizeof text - used, " and %zu more", unnamed);
    }
    return tern__fail(TERN_ERR_CYCLE, "the graph has a cycle: %s", text);
}

static void reset_pending(struct tern__order *order)
{
    for (uint32_t i = 0; i < order->tasks_count + order->joins_count; i++) {
        tern__poke(&order->pending[i], order->fanin[i]);
    }
}

// Runs the graph without its kernels: `pending` of the tasks that could not be run stays above 0.
// Returns whether all could be. The tasks that come after none are put first.
static bool try_run(struct tern__order *order)
{
    uint32_t all = order->tasks_count + order->joins_count;
    uint32_t count = 0;
    reset_pending(order);
    for (uint32_t i = 0; i < all; i++) {
        if (order->fanin[i] == 0) {
            order->roots[count++] = i;
        }
    }
    order->roots_count = count;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t from = order->roots[at];
        for (uint32_t k = order->first[from]; k < order->first[from + 1]; k++) {
            uint32_t to = order->to[k];
            uint32_t left = tern__peek(&order->pending[to]) - 1;
            tern__poke(&order->pending[to], left);
            if (left == 0) {
                order->roots[count++] = to;
            }
        }
    }
    return count == all;
}

static int seal(tern_graph *graph, struct sealing *sealing)
{
    read_before(sealing);
    find_twins(sealing);
    int status = make_order(sealing);
    if (status != TERN_OK) {
        return tern__fail(status, "no memory for a graph of %u tasks", graph->table.count);
    }
    if (!try_run(&graph->order)) {
        return report_cycle(&graph->table, &graph->order);
    }
    reset_pending(&graph->order);
    graph->sealed = true;
    return TERN_OK;
}

void tern__order_free(struct tern__order *order)
{
    free(order->first);
    free(order->to);
    free(order->fanin);
    free(order->pending);
    free(order->roots);
    free(order->plain);
    free(order->joins);
    *order = (struct tern__order){0};
}

int tern__graph_seal(tern_graph *graph)
{
    if (graph->sealed) {
        return TERN_OK;
    }
    tern__order_free(&graph->order);
    size_t count = graph->table.count;
    struct sealing sealing = {.table = &graph->table, .order = &graph->order, .mask = 63};
    while (sealing.mask < 2 * count) {
        sealing.mask = 2 * sealing.mask + 1;
    }
    sealing.seen = calloc(count + 1, sizeof *sealing.seen);
    sealing.sets = calloc(count + 1, sizeof *sealing.sets);
    sealing.by_set = calloc((size_t)sealing.mask + 1, sizeof *sealing.by_set);
    sealing.twin = calloc(count + 1, sizeof(struct tern__task *));
    sealing.join = calloc(count + 1, sizeof *sealing.join);
    int status = sealing.seen != NULL && sealing.sets != NULL && sealing.by_set != NULL &&
                         sealing.twin != NULL && sealing.join != NULL
                     ? seal(graph, &sealing)
                     : tern__fail(TERN_ERR_MEMORY, "no memory for a graph of %zu tasks", count);
    free(sealing.seen);
    free(sealing.sets);
    free(sealing.by_set);
    free(sealing.twin);
    free(sealing.join);
    return status;
}
