// SPDX-License-Identifier: Apache-2.0
// The kinds that `tern perf` measures: which elements each rank's buffers hold, from the table of
// kinds. This is also compiled into the program that measures an MPI (cli/perf/mpi.c), so that both
// move the same bytes; it therefore includes nothing of tern but that table.
//
// `total` is the elements of the larger of a rank's two buffers. Where ranks have shares of it,
// they are equal, and in the (v) kinds proportional to 1, 2, …, n, rounded down one after the
// other; in all_to_all_v rank r has for rank q share (r + q) mod n, so that everybody sends and
// gets `total`.
#ifndef TERN_CLI_PERF_SHAPE_H
#define TERN_CLI_PERF_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PERF_RANKS_MAX 64

// What a buffer holds: nothing, the rank's share of the total, or all of it.
enum perf_extent { PERF_NOTHING, PERF_SHARE, PERF_WHOLE };

enum perf_fact {
    PERF_REDUCES,  // has an operation
    PERF_DIVIDED,  // the total consists of shares
    PERF_UNEVEN,   // of different sizes: the (v) kinds
    PERF_IN_ROOT,  // only the root has an input
    PERF_OUT_ROOT, // only the root has an output
    PERF_IN_PLACE, // can be done in place
};

// In the order in which `all` runs them.
#define TERN_KIND_OF_MESSAGE(...)
enum perf_kind {
#define TERN_KIND(name, ...) PERF_##name,
#include "tern/kind.def"
#undef TERN_KIND
    PERF_SEND_RECV, // to the next rank and from the previous one
    PERF_KINDS
};

// Columns of the table.
enum perf_held { PERF_HOLDS_NONE, PERF_HOLDS_ONE, PERF_HOLDS_ALL };
enum perf_root { PERF_ROOT_NONE, PERF_ROOT_FROM, PERF_ROOT_TO };

struct perf_shape {
    const char *word;
    int number; // in tern/coll.h
    enum perf_held in, out;
    enum perf_root root;
    bool sums, counts;
    int crossings;
};

#define TERN_KIND_OF_MESSAGE(...)
static const struct perf_shape perf_shapes[PERF_KINDS] = {
#define TERN_KIND(name, word, number, plan, in, out, root, sums, counts, crossings)                \
    {word, number, PERF_HOLDS_##in, PERF_HOLDS_##out, PERF_ROOT_##root, sums, counts, crossings},
#include "tern/kind.def"
#undef TERN_KIND
    {"send_recv", -1, PERF_HOLDS_ONE, PERF_HOLDS_ONE, PERF_ROOT_NONE, false, false, 0},
};

static inline bool perf_has(enum perf_kind kind, enum perf_fact fact)
{
    const struct perf_shape *shape = &perf_shapes[kind];
    bool has[] = {
        [PERF_REDUCES] = shape->sums,
        [PERF_DIVIDED] = shape->in == PERF_HOLDS_ALL || shape->out == PERF_HOLDS_ALL,
        [PERF_UNEVEN] = shape->counts,
        [PERF_IN_ROOT] = shape->root == PERF_ROOT_FROM,
        [PERF_OUT_ROOT] = shape->root == PERF_ROOT_TO,
        [PERF_IN_PLACE] = kind != PERF_SEND_RECV && shape->in != PERF_HOLDS_NONE && !shape->counts,
    };
    return has[fact];
}

static inline enum perf_extent perf_extent_of(enum perf_kind kind, enum perf_held held)
{
    return held == PERF_HOLDS_NONE                                  ? PERF_NOTHING
           : held == PERF_HOLDS_ONE && perf_has(kind, PERF_DIVIDED) ? PERF_SHARE
                                                                    : PERF_WHOLE;
}

static inline enum perf_extent perf_in_extent(enum perf_kind kind)
{
    return perf_extent_of(kind, perf_shapes[kind].in);
}

static inline enum perf_extent perf_out_extent(enum perf_kind kind)
{
    return perf_extent_of(kind, perf_shapes[kind].out);
}

// The kind of a word; PERF_KINDS when there is none.
static inline enum perf_kind perf_kind_of(const char *word)
{
    int kind = 0;
    while (kind < PERF_KINDS && strcmp(perf_shapes[kind].word, word) != 0) {
        kind++;
    }
    return (enum perf_kind)kind;
}

// Where share `index` of n begins, in elements; perf_share_begin(…, n, n) is the total.
static inline uint64_t perf_share_begin(enum perf_kind kind, uint64_t total, int n, int index)
{
    uint64_t parts = (uint64_t)n;
    uint64_t before = (uint64_t)index;
    if (perf_has(kind, PERF_UNEVEN)) {
        parts = parts * (parts + 1) / 2;
        before = before * (before + 1) / 2;
    }
    return total / parts * before + total % parts * before / parts;
}

static inline uint64_t perf_share(enum perf_kind kind, uint64_t total, int n, int index)
{
    return perf_share_begin(kind, total, n, index + 1) - perf_share_begin(kind, total, n, index);
}

// Elements that rank `from` has for rank `to` in the two all_to_all kinds.
static inline uint64_t perf_block(enum perf_kind kind, uint64_t total, int n, int from, int to)
{
    return perf_share(kind, total, n, perf_has(kind, PERF_UNEVEN) ? (from + to) % n : to);
}

static inline uint64_t perf_extent_elements(enum perf_kind kind, enum perf_extent extent,
                                            uint64_t total, int n, int rank)
{
    return extent == PERF_WHOLE   ? total
           : extent == PERF_SHARE ? perf_share(kind, total, n, rank)
                                  : 0;
}

// Elements of a rank's input, and of its output.
static inline uint64_t perf_in(enum perf_kind kind, uint64_t total, int n, int rank, int root)
{
    bool absent = perf_has(kind, PERF_IN_ROOT) && rank != root;
    return absent ? 0 : perf_extent_elements(kind, perf_in_extent(kind), total, n, rank);
}

static inline uint64_t perf_out(enum perf_kind kind, uint64_t total, int n, int rank, int root)
{
    bool absent = perf_has(kind, PERF_OUT_ROOT) && rank != root;
    return absent ? 0 : perf_extent_elements(kind, perf_out_extent(kind), total, n, rank);
}

#endif
