// SPDX-License-Identifier: Apache-2.0
// The table of kinds (tern/kind.def) for all floors: what follows from its columns.
#ifndef TERN_BASE_KIND_H
#define TERN_BASE_KIND_H

#include <stdbool.h>

#include "tern/kind.h"

// By number; the row after the last stands for numbers that are no kind.
extern const tern_kind_facts tern__kinds[TERN_COLL_KINDS + 1];

// For numbers that may be anything, as those in shared memory.
static inline const tern_kind_facts *tern__kind_facts(int kind)
{
    return &tern__kinds[(unsigned)kind < TERN_COLL_KINDS ? kind : TERN_COLL_KINDS];
}

// Whether the input, the output, one of them holds a share of every rank.
static inline bool tern__kind_in_all(tern_coll_kind kind)
{
    return tern__kinds[kind].in == TERN_KIND_ALL;
}

static inline bool tern__kind_out_all(tern_coll_kind kind)
{
    return tern__kinds[kind].out == TERN_KIND_ALL;
}

static inline bool tern__kind_has_shares(tern_coll_kind kind)
{
    return tern__kind_in_all(kind) || tern__kind_out_all(kind);
}

static inline bool tern__kind_has_root(tern_coll_kind kind)
{
    return tern__kinds[kind].root != TERN_KIND_ROOT_NONE;
}

// A (v) form in which all ranks have the same counts.
static inline bool tern__kind_counts_alike(tern_coll_kind kind)
{
    return tern__kinds[kind].counts && !tern__kind_has_root(kind) &&
           tern__kind_in_all(kind) != tern__kind_out_all(kind);
}

// send and recv
static inline bool tern__kind_is_message(tern_coll_kind kind)
{
    return (unsigned)kind < TERN_COLL_KINDS && tern__kinds[kind].plan < 0;
}

// Whether a rank has an input, and an output: of some kinds only the root has one.
static inline bool tern__kind_has_in(tern_coll_kind kind, int rank, int root)
{
    return tern__kinds[kind].root != TERN_KIND_ROOT_FROM || rank == root;
}

static inline bool tern__kind_has_out(tern_coll_kind kind, int rank, int root)
{
    return tern__kinds[kind].root != TERN_KIND_ROOT_TO || rank == root;
}

#endif
