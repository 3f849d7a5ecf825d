// SPDX-License-Identifier: Apache-2.0
// The kinds that `tern perf` measures, as a table: which elements each rank's buffers hold. The table
// is also compiled into the program that measures an MPI (cli/perf/mpi.c), so that both move the
// same bytes; it therefore includes nothing of tern.
//
// `total` is the elements of the larger of a rank's two buffers. Where ranks have shares of it, they
// are equal, and in the (v) kinds proportional to 1, 2, …, n, rounded down one after the other; in
// all_to_all_v rank r has for rank q share (r + q) mod n, so that everybody sends and gets `total`.
#ifndef TERN_CLI_PERF_SHAPE_H
#define TERN_CLI_PERF_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PERF_RANKS_MAX 64

// What a buffer holds: nothing, the rank's share of the total, or all of it.
enum perf_extent { PERF_NONE, PERF_SHARE, PERF_WHOLE };

enum perf_flags {
    PERF_REDUCES = 1,   // has an operation
    PERF_DIVIDED = 2,   // the total consists of shares
    PERF_UNEVEN = 4,    // of different sizes: the (v) kinds
    PERF_IN_ROOT = 8,   // only the root has an input
    PERF_OUT_ROOT = 16, // only the root has an output
    PERF_IN_PLACE = 32, // can be done in place
};

// name, word, in, out, flags. In the order in which `all` runs them.
#define PERF_SHAPES(X)                                                                             \
    X(ALL_REDUCE, "all_reduce", WHOLE, WHOLE, PERF_REDUCES | PERF_IN_PLACE)                        \
    X(REDUCE_SCATTER, "reduce_scatter", WHOLE, SHARE, PERF_REDUCES | PERF_DIVIDED | PERF_IN_PLACE) \
    X(ALL_GATHER, "all_gather", SHARE, WHOLE, PERF_DIVIDED | PERF_IN_PLACE)                        \
    X(BROADCAST, "broadcast", WHOLE, WHOLE, PERF_IN_ROOT | PERF_IN_PLACE)                          \
    X(REDUCE, "reduce", WHOLE, WHOLE, PERF_REDUCES | PERF_OUT_ROOT | PERF_IN_PLACE)                \
    X(GATHER, "gather", SHARE, WHOLE, PERF_DIVIDED | PERF_OUT_ROOT | PERF_IN_PLACE)                \
    X(SCATTER, "scatter", WHOLE, SHARE, PERF_DIVIDED | PERF_IN_ROOT | PERF_IN_PLACE)               \
    X(ALL_TO_ALL, "all_to_all", WHOLE, WHOLE, PERF_DIVIDED | PERF_IN_PLACE)                        \
    X(REDUCE_SCATTER_V, "reduce_scatter_v", WHOLE, SHARE,                                          \
      PERF_REDUCES | PERF_DIVIDED | PERF_UNEVEN)                                                   \
    X(ALL_GATHER_V, "all_gather_v", SHARE, WHOLE, PERF_DIVIDED | PERF_UNEVEN)                      \
    X(GATHER_V, "gather_v", SHARE, WHOLE, PERF_DIVIDED | PERF_UNEVEN | PERF_OUT_ROOT)              \
    X(SCATTER_V, "scatter_v", WHOLE, SHARE, PERF_DIVIDED | PERF_UNEVEN | PERF_IN_ROOT)             \
    X(ALL_TO_ALL_V, "all_to_all_v", WHOLE, WHOLE, PERF_DIVIDED | PERF_UNEVEN)                      \
    X(SEND_RECV, "send_recv", WHOLE, WHOLE, 0)                                                     \
    X(BARRIER, "barrier", NONE, NONE, 0)

enum perf_kind {
#define PERF_ENUM(name, word, in, out, flags) PERF_##name,
    PERF_SHAPES(PERF_ENUM)
#undef PERF_ENUM
        PERF_KINDS
};

struct perf_shape {
    const char *word;
    enum perf_extent in, out;
    unsigned flags; // enum perf_flags
};

static const struct perf_shape perf_shapes[PERF_KINDS] = {
#define PERF_ROW(name, word, in, out, flags) {word, PERF_##in, PERF_##out, flags},
    PERF_SHAPES(PERF_ROW)
#undef PERF_ROW
};

static inline bool perf_has(enum perf_kind kind, enum perf_flags flag)
{
    return (perf_shapes[kind].flags & (unsigned)flag) != 0;
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
    return absent ? 0 : perf_extent_elements(kind, perf_shapes[kind].in, total, n, rank);
}

static inline uint64_t perf_out(enum perf_kind kind, uint64_t total, int n, int rank, int root)
{
    bool absent = perf_has(kind, PERF_OUT_ROOT) && rank != root;
    return absent ? 0 : perf_extent_elements(kind, perf_shapes[kind].out, total, n, rank);
}

#endif
