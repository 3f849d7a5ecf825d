// SPDX-License-Identifier: Apache-2.0
// Machines for plans: who is where, what has been handed out, columns and pieces.

#include "coll/machines.h"

#include <string.h>

// Pieces are small enough that a column has several, and large enough that a message each is cheap.
// What is sent is divided by 16, and less finely where the pieces would be so small that messages
// cost more than it is worth to have both directions busy: by 4, into pieces of at least 8 KiB. A
// port that many messages pass at once is busy anyway: they have at least 16 KiB.
#define PIECE_BYTES_MIN (8 << 10)
#define PART_BYTES_MIN (16 << 10)
#define PIECE_BYTES_WANTED (32 << 10)
#define PIECE_BYTES_MAX (256 << 10)
#define PIECES_MAX 64

bool tern__machines_find(const tern_topo *topo, struct tern__spread *machines)
{
    int n = tern_topo_size(topo);
    memset(machines, 0, sizeof *machines);
    bool listed[TERN_TOPO_RANKS_MAX] = {false};
    for (int rank = 0; rank < n; rank++) {
        int m = tern_topo_machine_of(topo, rank);
        if (m < 0 || listed[m]) {
            continue;
        }
        listed[m] = true;
        int begin = machines->first[machines->count];
        int at = 0;
        for (int member; (member = tern_topo_machine_rank(topo, m, at)) >= 0; at++) {
            machines->ranks[begin + at] = member;
            machines->machine[member] = machines->count;
            machines->index[member] = at;
        }
        machines->first[++machines->count] = begin + at;
        machines->largest = at > machines->largest ? at : machines->largest;
    }
    return machines->count > 1;
}

static int at_most(int columns, uint64_t most)
{
    return most < (uint64_t)columns ? (most > 1 ? (int)most : 1) : columns;
}

void tern__machines_begin(struct tern__spread *machines, struct tern__emit *e)
{
    tern__machines_find(e->topo, machines);
    machines->e = e;
    machines->columns = at_most(machines->largest, e->bytes / PIECE_BYTES_MIN);
    machines->least = e->kind == TERN_PLAN_REDUCE_SCATTER ? PART_BYTES_MIN : PIECE_BYTES_MIN;
}

void tern__machines_send_parts(struct tern__spread *machines, int inputs)
{
    uint64_t sent = machines->e->bytes / (uint64_t)machines->count * (uint64_t)inputs;
    machines->columns = at_most(machines->columns, sent / PART_BYTES_MIN);
    machines->least = inputs > 1 ? PIECE_BYTES_MIN : PART_BYTES_MIN;
}

int tern__machines_lane(struct tern__spread *machines, int rank)
{
    return machines->lanes[rank]++;
}

uint32_t tern__machines_signals(struct tern__spread *machines, int rank, int count)
{
    uint32_t first = machines->signals[rank] + 1;
    machines->signals[rank] += (uint32_t)count;
    return first;
}

uint64_t tern__machines_scratch(struct tern__spread *machines, int rank, uint64_t bytes)
{
    uint64_t line = TERN_CACHE_LINE;
    uint64_t begin = machines->scratch[rank];
    machines->scratch[rank] += (bytes + line - 1) / line * line;
    return begin;
}

void tern__machines_done(struct tern__spread *machines, struct tern__at at)
{
    int m = machines->machine[at.rank];
    int size = tern__machine_size(machines, m);
    for (int step = 1; step < size; step++) {
        int other = tern__machine_rank(machines, m, machines->index[at.rank] + step);
        tern__emit_post(machines->e, at, other, 0);
        machines->told[other]++;
    }
}

void tern__machines_finish(struct tern__spread *machines)
{
    uint64_t scratch = 0;
    for (int rank = 0; rank < machines->e->nranks; rank++) {
        tern__emit_wait(machines->e, (struct tern__at){.rank = rank}, 0, machines->told[rank]);
        scratch = machines->scratch[rank] > scratch ? machines->scratch[rank] : scratch;
    }
    tern__emit_scratch(machines->e, scratch);
}

struct tern__pieces tern__pieces_of(const struct tern__spread *machines, uint64_t begin,
                                    uint64_t length)
{
    uint64_t size = length / 16;
    if (size < PIECE_BYTES_WANTED) {
        size = length / 4 < PIECE_BYTES_WANTED ? length / 4 : PIECE_BYTES_WANTED;
    }
    size = size < machines->least ? machines->least : size;
    size = size > PIECE_BYTES_MAX ? PIECE_BYTES_MAX : size;
    uint64_t count = (length + size - 1) / size;
    count = count > PIECES_MAX ? PIECES_MAX : count > 0 ? count : 1;
    return tern__pieces_in(machines, begin, length, (int)count);
}

struct tern__pieces tern__pieces_in(const struct tern__spread *machines, uint64_t begin,
                                    uint64_t length, int count)
{
    return (struct tern__pieces){.begin = begin,
                                 .slices =
                                     tern__slices_of(length, (uint64_t)count, machines->e->unit),
                                 .count = count};
}

uint64_t tern__piece_longest(const struct tern__pieces *pieces)
{
    // The last one also has what is left of a cache line.
    uint64_t first = tern__piece_length(pieces, 0);
    uint64_t last = tern__piece_length(pieces, pieces->count - 1);
    return first > last ? first : last;
}

bool tern__column_next(const struct tern__spread *machines, int *next, struct tern__column *column)
{
    const struct tern__emit *e = machines->e;
    bool shares = e->kind == TERN_PLAN_REDUCE_SCATTER;
    int columns = shares ? e->nranks : machines->columns;
    do {
        int c = (*next)++;
        if (c >= columns) {
            return false;
        }
        uint64_t share = e->bytes / (uint64_t)e->nranks;
        uint64_t begin = shares ? share * (uint64_t)c : tern__slice(e, columns, c);
        *column = (struct tern__column){
            .begin = begin,
            .length = shares ? share : tern__slice_length(e, columns, c, c + 1),
            .number = shares ? machines->index[c] : c,
            .target = shares                                ? c
                      : e->kind == TERN_PLAN_REDUCE_TO_ROOT ? e->root
                                                            : -1,
            .shift = shares ? begin : 0,
        };
    } while (column->length == 0);
    return true;
}

int tern__column_agent(const struct tern__spread *machines, const struct tern__column *column,
                       int m)
{
    return tern__machine_rank(machines, m, column->number);
}

int tern__machine_inputs(struct tern__spread *machines, int m, uint64_t offset)
{
    int size = tern__machine_size(machines, m);
    for (int i = 0; i < size; i++) {
        tern__emit_from(machines->e, tern__machine_rank(machines, m, i), TERN_PLAN_IN, offset);
    }
    return size;
}

int tern__column_outputs(struct tern__spread *machines, const struct tern__column *column, int m,
                         uint64_t offset, int before)
{
    int count = 0;
    int size = tern__machine_size(machines, m);
    for (int i = 0; i < size; i++) {
        // Each begins with its own.
        int rank = tern__machine_rank(machines, m, column->number + i);
        if (rank != before && (column->target < 0 || column->target == rank)) {
            tern__emit_to(machines->e, rank, TERN_PLAN_OUT, offset - column->shift);
            count++;
        }
    }
    return count;
}
