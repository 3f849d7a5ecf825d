// SPDX-License-Identifier: Apache-2.0
// Which algorithm a collective call runs, and how its bytes travel. A choice is made for a kind and
// a rank count, once per shape, never on the data path. Who decides, in this order: the call
// itself, TERN_ALGO, the tune file (docs/tuning.md), the table built in here. The files below call
// only those that stand before them.
#ifndef TERN_COLL_TUNE_H
#define TERN_COLL_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "coll/algo.h"
#include "tern/plan.h"
#include "tern/tune.h"

#define TERN__ALGO_BYTES 32 // of a name and its end
#define TERN__CHUNK_MIN UINT64_C(1024)
#define TERN__CHUNK_UNIT UINT64_C(64) // pieces are whole cache lines

// Sizes are the plan's B (tern/plan.h): of a rank's whole input or output, whichever is larger.
struct tern__choice {
    char small[TERN__ALGO_BYTES];  // up to small_bytes: the inputs are copied into slots
    uint64_t small_bytes;          // at most TERN__SLOT_BYTES; 0: nothing is small
    char window[TERN__ALGO_BYTES]; // above, when all buffers are in windows: where they lie
    char staged[TERN__ALGO_BYTES]; // above, otherwise: in pieces of
    uint64_t chunk_bytes;          // so many bytes, through slots; or
    uint64_t direct_from;          // shares from so many bytes on are read out of others' memory,
    uint64_t direct_to;            // up to so many; 0: of any size
    bool direct_named;             // by TERN_DIRECT
    bool direct_learned;           // that is a guess: calls find out what is faster (call/learn.c)
    uint64_t far_bytes;            // between machines: pieces of up to so many; 0: as built in
    // What a table says of calls between machines, by their order of sums, and of halves.
    struct tern__far_choice {
        uint64_t small_bytes;
        char large[TERN__ALGO_BYTES]; // above; "": what is built in
        uint64_t piece_bytes;
    } far[2][2];
    bool named;      // by the call or by TERN_ALGO: all three are that one
    bool strict;     // TERN_AGREE: in rooted kinds, too, every rank waits for all
    char source[96]; // who decided, as a part of a sentence
};

// Whether ranks may read each other's ordinary memory in calls of the kind: sums would read what
// was copied once more.
static inline bool tern__choice_reads(tern_plan_kind kind)
{
    return kind != TERN_PLAN_BARRIER && !tern__kind_facts((int)kind)->sums;
}

// tune_built_in.c

// What is built in, for any rank count from 1 on.
void tern__tune_built_in(tern_plan_kind kind, int nranks, struct tern__choice *choice);

// A tune file, read.
struct tern__tune_entry {
    int line;
    tern_tune_row row;
};

struct tern__tune {
    char name[1024]; // of the file, as in sentences; "": there is none
    int count;
    struct tern__tune_entry *entries;
    tern_tune_cost *costs;
    int costs_count;
};

// tune_cost_rows.c

struct tern__tune_reader;

// Reads the rest of a row that begins with "cost", or with "rate", into the costs of a table.
int tern__tune_read_cost(struct tern__tune_reader *r, struct tern__tune *tune);
int tern__tune_read_rate(struct tern__tune_reader *r, struct tern__tune *tune);

// tune_file.c

// Reads the text of a tune file. Errors name file, line and column, and what was expected there.
int tern__tune_parse(const char *text, size_t length, const char *name, struct tern__tune *tune);
int tern__tune_load(const char *path, struct tern__tune *tune);
void tern__tune_free(struct tern__tune *tune);

// The entry that holds for so many ranks on one machine, or (machines > 0) on several; or NULL. Of
// the row the kind, both numbers, the order and halves count.
const struct tern__tune_entry *tern__tune_find_row(const struct tern__tune *tune,
                                                   const tern_tune_row *wanted);
// The same of rank order, and not of halves.
const struct tern__tune_entry *tern__tune_find(const struct tern__tune *tune, tern_plan_kind kind,
                                               int nranks, int machines);

// Where the file is looked for: $TERN_TUNE, then below $XDG_CONFIG_HOME, then ~/.config. False:
// nowhere. *demanded: it is $TERN_TUNE's, and must be usable.
bool tern__tune_place(char *path, size_t size, bool *demanded);

// tune_use.c; what programs ask of costs is in tune_cost.c

// A copy of the costs of this process's table.
int tern__tune_look_cost(int nranks, tern_tune_cost *cost);

// What a table says: that of this process (the tune file, read at the first call, or what
// tern_tune_use gave), else the one built in. TERN_ERR_ARG when $TERN_TUNE names a file that cannot
// be used.
int tern__tune_look_up(tern_plan_kind kind, int nranks, struct tern__choice *choice);

// What a table says of ranks on several machines, put into a choice that was made for one, unless
// an algorithm is named there.
int tern__tune_look_far(tern_plan_kind kind, int nranks, int machines, struct tern__choice *choice);

// tune.c and tune_agree.c

// Fills in *choice. algorithm: what the call names, or NULL. TERN_ERR_ARG, with what there is, for
// a name that the kind does not have, for words in TERN_ALGO and TERN_AGREE that mean nothing, and
// for a file of $TERN_TUNE that cannot be used. Any thread.
int tern__select(tern_plan_kind kind, int nranks, tern_order order, const char *algorithm,
                 struct tern__choice *choice);

// Whether all ranks of a group have made the same choice for a kind, so far: the limits of a table
// do not travel with each call, and ranks that have read different ones would not notice. Once per
// group and kind, with the choice for calls that name no algorithm. TERN_ERR_MISMATCH fails the
// group.
struct tern__group;
int tern__choice_agree(struct tern__group *group, tern_plan_kind kind,
                       const struct tern__choice *choice);

#endif
