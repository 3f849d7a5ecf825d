// SPDX-License-Identifier: Apache-2.0
// Which algorithm a collective call runs, how its bytes travel, and why. The first of these
// decides: the call itself (tern_coll.algorithm), TERN_ALGO, the tune file that `tern tune` has
// written for this machine, the table built in. docs/tuning.md says how each is written down.
#ifndef TERN_TUNE_H
#define TERN_TUNE_H

#include <stddef.h>
#include <stdint.h>

#include "tern/algo.h"
#include "tern/api.h"
#include "tern/coll.h"
#include "tern/plan.h"

TERN_BEGIN_DECLS

typedef struct tern_coll_choice {
    char algorithm[32]; // a name of tern_algo_name; "" for send and recv
    // "line", "slot", "window", "direct", "staged" or "mail"; "staged/direct": staged (with counts,
    // also slot) or direct, whichever has been faster in calls of the communicator
    char way[16];
    char why[160];      // for people: which rule, of what
} tern_coll_choice;

// Whether TERN_ALGO and TERN_AGREE hold only words that there are; TERN_ERR_ARG says which one
// there is not. tern_init and tern_init_at ask this, too. Any thread.
TERN_CALL int tern_tune_check(void);

// What will be selected for this call on nranks ranks, when all buffers are in windows (windows !=
// 0) or not. in and out may be NULL; where they are does not matter, but when they overlap, the
// answer is that for a call in place. V-collectives need their counts. Errors: those that the call
// itself would have for its algorithm and sizes.
TERN_CALL int tern_coll_select(const tern_coll *call, int nranks, int windows,
                               tern_coll_choice *choice);

// The plan that such a call runs, on the ranks of the topology, which must have a link between any
// two. way: "window", when all buffers are in windows; "direct", when inputs are read where they
// lie; "slot", when they are copied into shared memory whole; "staged", when that is done piece by
// piece, and the plan is the first piece's, with its bytes. Those copies are in the plan's scratch.
// TERN_ERR_ARG, with the reason, also when no call like this goes that way.
TERN_CALL int tern_coll_plan(const tern_algo_request *request, const char *way, tern_plan **plan);

// A row of the table: for a kind, from a rank count on. Sizes are the plan's bytes (tern/plan.h):
// of a rank's whole input or output, whichever is larger.
typedef struct tern_tune_row {
    tern_plan_kind kind;
    int nranks;           // holds for this count, and for greater ones up to the next row
    char small[32];       // the algorithm up to small_bytes, in slots of shared memory
    uint64_t small_bytes; // at most TERN_TUNE_SMALL_MAX; 0: nothing is small
    char window[32];      // above, when all buffers are in windows
    char staged[32];      // above, when not all buffers are in windows,
    // in pieces of so many bytes: a multiple of 64, 1024 to TERN_TUNE_CHUNK_MAX; but in kinds
    // without sums, shares from direct_from bytes (0: none; or TERN_TUNE_BUILT_IN) to direct_to (0:
    // of any size) are read out of the memory of the other ranks. A broadcast is one share. Calls
    // of kinds with sums find out which of the two is faster.
    uint64_t chunk_bytes;
    uint64_t direct_from, direct_to;
    // 0: of ranks on one machine. Else of ranks on so many machines, or on more up to the next
    // such row: up to small_bytes through slots, above by the algorithm `staged` (and `window`, the
    // same) in pieces of up to chunk_bytes, at most TERN_TUNE_FAR_MAX; no other field counts. A
    // call that `staged` cannot do, or not to the bit, takes what is built in.
    int machines;
    // Of such rows of kinds with sums. TERN_ORDER_ANY: for calls that allow any order, or whose
    // bits are the same in every order; without such a row they take what is built in. halves 1:
    // for sums, products and averages of f16 and bf16; without one, the row of their order without
    // it holds.
    tern_order order;
    int halves;
} tern_tune_row;

#define TERN_TUNE_BUILT_IN UINT64_MAX // of direct_from: as the built-in table says

#define TERN_TUNE_SMALL_MAX 262144
#define TERN_TUNE_CHUNK_MAX 262144
#define TERN_TUNE_FAR_MAX 2097152

// The row that holds in this process, and the one built in. TERN_ERR_ARG: no such kind or rank
// count.
TERN_CALL int tern_tune_get(tern_plan_kind kind, int nranks, tern_tune_row *row);
TERN_CALL int tern_tune_get_built_in(tern_plan_kind kind, int nranks, tern_tune_row *row);

// Replaces the rows of this process by these (and the file, if there was one), for communicators
// that have not made a call of the kind yet. All ranks give the same rows. Any thread.
TERN_CALL int tern_tune_use(const tern_tune_row *rows, int count);

// The rows of a tune file; *rows is the caller's, to free(). TERN_ERR_ARG names file, line and
// column of what is wrong.
TERN_CALL int tern_tune_load(const char *path, tern_tune_row **rows, int *count);

// The line of a tune file that says the same as the row, without newline; snprintf's result.
TERN_API int tern_tune_print(const tern_tune_row *row, char *line, size_t size);

// What ops cost on a machine with so many ranks, as `tern tune` has measured it: the figures of
// tern_sim_options. Rates are of one processor while all are busy, and count all bytes that are
// read and written; they depend on how much memory all ranks have at hand, in and out of caches.
#define TERN_TUNE_RATES_MAX 16
typedef struct tern_tune_rate {
    uint64_t bytes; // of all ranks
    double copy_GBps;
    double fresh_GBps;     // of a copy out of what another rank has just written, the reading
    double reduce_GBps[4]; // of elements of 1, 2, 4 and 8 bytes
} tern_tune_rate;

typedef struct tern_tune_cost {
    int nranks;     // holds for this count, and for greater ones up to the next
    int processors; // that these ranks shared
    double begin_us, meet_us, op_us, post_us, wake_us;
    int rates_count;
    tern_tune_rate rates[TERN_TUNE_RATES_MAX]; // ascending
} tern_tune_cost;

// What the tune file of this process says; TERN_ERR_STATE with what to run when nothing was
// measured. tern_tune_load_costs: all of a file; *costs is the caller's, to free(). Any thread.
TERN_CALL int tern_tune_get_cost(int nranks, tern_tune_cost *cost);
TERN_CALL int tern_tune_load_costs(const char *path, tern_tune_cost **costs, int *count);

// At so many bytes: of the logarithms a straight line between what was measured, and beyond it the
// last one. `cost` has one rate at least.
TERN_API tern_tune_rate tern_tune_rate_at(const tern_tune_cost *cost, uint64_t bytes);

// The lines of a tune file that say the same, to 1 ns and 1 MB/s, each with a newline; snprintf's
// result.
TERN_API int tern_tune_print_cost(const tern_tune_cost *cost, char *lines, size_t size);
#define TERN_TUNE_COST_BYTES 2048

// The first line of a tune file, and the longest line there may be.
#define TERN_TUNE_HEAD "tern-tune 1"
#define TERN_TUNE_LINE_BYTES 256

// The tune file that this process uses; "" when it uses none. TERN_ERR_ARG when TERN_TUNE names one
// that cannot be used. tern_tune_default_path: where the file of this user would be; TERN_ERR_STATE
// when there is no such place (TERN_TUNE is empty, or there is no home).
TERN_CALL int tern_tune_path(char *path, size_t size);
TERN_CALL int tern_tune_default_path(char *path, size_t size);

TERN_END_DECLS

#endif
