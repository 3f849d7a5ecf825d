// SPDX-License-Identifier: Apache-2.0
// The kinds of collectives and the facts about each, from one table (tern/kind.def). Calls
// (tern/coll.h), plans (tern/plan.h), records and commands read it: a fact stands nowhere else.
#ifndef TERN_KIND_H
#define TERN_KIND_H

#include <stdbool.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

#define TERN_COLL_KINDS 16 // how many there are; their numbers have no gaps
#define TERN_PLAN_KINDS 9  // those that plans can have: the first ones

typedef enum tern_coll_kind {
#define TERN_KIND(name, word, number, ...) TERN_COLL_##name = (number),
#include "tern/kind.def"
#undef TERN_KIND
    // The kinds that plans have. TERN_PLAN_REDUCE is an op of a plan, so that kind has a longer
    // name.
    TERN_PLAN_ALL_REDUCE = TERN_COLL_ALL_REDUCE,
    TERN_PLAN_REDUCE_SCATTER = TERN_COLL_REDUCE_SCATTER,
    TERN_PLAN_ALL_GATHER = TERN_COLL_ALL_GATHER,
    TERN_PLAN_BROADCAST = TERN_COLL_BROADCAST,
    TERN_PLAN_ALL_TO_ALL = TERN_COLL_ALL_TO_ALL,
    TERN_PLAN_BARRIER = TERN_COLL_BARRIER,
    TERN_PLAN_REDUCE_TO_ROOT = TERN_COLL_REDUCE,
    TERN_PLAN_GATHER = TERN_COLL_GATHER,
    TERN_PLAN_SCATTER = TERN_COLL_SCATTER,
} tern_coll_kind;

typedef tern_coll_kind tern_plan_kind; // one that a plan can have

// What a buffer holds: nothing, one share, or a share of every rank. Kinds without shares (neither
// buffer is ALL) have ONE for all their elements.
typedef enum tern_kind_extent {
    TERN_KIND_NONE,
    TERN_KIND_ONE,
    TERN_KIND_ALL,
} tern_kind_extent;

// Which rank is special: none, or one that alone has an input (FROM) or an output (TO). Of send and
// recv it is the other rank.
typedef enum tern_kind_root {
    TERN_KIND_ROOT_NONE,
    TERN_KIND_ROOT_FROM,
    TERN_KIND_ROOT_TO,
} tern_kind_root;

typedef struct tern_kind_facts {
    const char *word; // "all_reduce"
    int plan; // the tern_plan_kind of its plans, of a (v) form that of the form without; -1: none
    tern_kind_extent in, out; // of the ranks that have the buffer
    tern_kind_root root;
    bool sums;   // it has an op
    bool counts; // a (v) form: shares differ in length
    // c: what busbw of `tern perf` is to algbw with n ranks, c * (n - 1) / n; 0: as much.
    int crossings;
} tern_kind_facts;

// The facts of a kind; NULL when the number is none.
TERN_API const tern_kind_facts *tern_coll_kind_facts(tern_coll_kind kind);

// The word of a kind ("all_reduce"), and the kind of a word (TERN_ERR_ARG lists the words).
TERN_API const char *tern_coll_kind_name(tern_coll_kind kind);
TERN_CALL int tern_coll_kind_parse(const char *word, tern_coll_kind *kind);

// Likewise for the kinds that a plan can have.
TERN_API const char *tern_plan_kind_name(tern_plan_kind kind);
TERN_CALL int tern_plan_kind_parse(const char *word, tern_plan_kind *kind);

TERN_END_DECLS

#endif
