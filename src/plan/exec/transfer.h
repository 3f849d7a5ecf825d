// SPDX-License-Identifier: Apache-2.0
// What the ranges of a plan are in a run, and one transfer between them. Who runs a plan binds it:
// to windows, to slots, to pieces of what a caller has.
#ifndef TERN_PLAN_EXEC_TRANSFER_H
#define TERN_PLAN_EXEC_TRANSFER_H

#include "isa/reduce.h"
#include "isa/reduce_function.h"
#include "plan/exec/script.h"
#include "sync/help.h"
#include "tern/comm.h"
#include "tern/op.h"
#include "xport/distance.h"
#include "xport/quickest.h"
#include "xport/xport.h"

// What an offset of the plan counts.
enum tern__map {
    TERN__MAP_BYTES,
    TERN__MAP_SLICES, // with bounds; for plans of one byte a slice
    TERN__MAP_SHARES, // of equal length; for plans of one byte a share
    TERN__MAP_TABLE,  // of any length, likewise
};

// Where the shares of a pair of ranks are: bytes, from the beginning of in and of out.
struct tern__share {
    uint64_t in_offset, in_bytes;   // what goes to the other rank
    uint64_t out_offset, out_bytes; // what comes from it
};

// Of sources in other processes: what is fetched at a time.
enum {
    TERN__FETCH_BYTES = 256 << 10, // of all together
    TERN__FETCH_MOST = 128 << 10,  // of one
    TERN__FETCH_LEAST = 16 << 10,
};
_Static_assert(TERN__REDUCE_FUNCTION_MAX <= TERN__FETCH_LEAST, "a block holds an element");

// How long results are written: through the caches or past them, whichever is quicker.
enum tern__written { TERN__THROUGH, TERN__PAST, TERN__WRITTEN_WAYS };

// What is known in this process of long steps that are no copies to one place (those are puts:
// xport/copy.h), by the bytes that they read and write.
extern struct tern__quickest tern__spread_known[TERN__QUICKEST_CLASSES];
extern struct tern__quickest tern__reduce_known[TERN__QUICKEST_CLASSES];

// How the transfers of a run write what goes to this rank's out and nowhere else, and how long
// those have taken, all together.
struct tern__outward {
    enum tern__written way;
    int64_t ns;
};

struct tern__binding {
    int rank; // that runs
    enum tern__map in_map, out_map;
    uint64_t in_stride, out_stride; // of shares
    uint64_t share_bytes;
    uint64_t skip_bytes, piece_bytes; // table: the part of each share that this run is about
    const struct tern__share *tables[TERN_RANKS_MAX];
    uint64_t bounds[TERN_RANKS_MAX + 1]; // of slices
    const char *in[TERN_RANKS_MAX];
    char *out[TERN_RANKS_MAX];
    char *scratch[TERN_RANKS_MAX];

    // Bit r: in[r] is an address of rank r's own process. Plans may then copy and reduce from it
    // into buffers of the rank that runs, and do nothing else with it.
    uint64_t far;
    char *room; // of this process: tern__fetch_room bytes for what is reduced from there
    // Bit r: rank r, who is far, helps with copies of its memory of at least so many bytes, in the
    // line help[r].
    uint64_t helped;
    uint64_t help_least;
    struct tern__help *help[TERN_RANKS_MAX];
    // Bit r: rank r is on another machine: copies to it, and posts, are messages, which come in the
    // order of the lanes that send them; nothing else is done with its memory.
    uint64_t elsewhere;
    uint64_t left;                   // bit r: rank r does not wait for posts, and gets none
    const struct tern__group *group; // that these are ranks of; NULL where nothing is ever far

    struct tern__outward *outward; // NULL: through the caches, and not measured

    // NULL: not measured. Else what others have just written is, when it is copied or reduced, and
    // what this rank reduces into its own scratch goes past the caches when they are far.
    struct tern__distance *distance;

    // Of atomic reduces: the locks of rank 0, and how far it is to those of the next rank.
    char *locks;
    size_t locks_stride;
    uint32_t nranks;

    // Of what is reduced.
    size_t element_bytes;
    tern__reduce_fn *reduce; // NULL: the function
    tern_reduce_function *function;
    void *function_arg;
};

// Where a range begins in its buffer, in bytes, and where that is; and the bytes of a step.
uint64_t tern__range_offset(const struct tern__binding *binding, const tern_plan_range *range);
char *tern__range_address(const struct tern__binding *binding, const tern_plan_range *range);
uint64_t tern__step_length(const struct tern__binding *binding, const struct tern__step *step);

// Sources of other processes are fetched in blocks of so many bytes each, which stay in the
// second-level cache until they are reduced; and the bytes for those of all but one of n ranks.
static inline uint64_t tern__fetch_block(int sources)
{
    uint64_t fair = TERN__FETCH_BYTES / (uint64_t)sources / TERN_CACHE_LINE * TERN_CACHE_LINE;
    return fair > TERN__FETCH_MOST    ? TERN__FETCH_MOST
           : fair < TERN__FETCH_LEAST ? TERN__FETCH_LEAST
                                      : fair;
}

static inline uint64_t tern__fetch_room(int nranks)
{
    uint64_t least = (uint64_t)(nranks - 1) * TERN__FETCH_LEAST;
    return least > TERN__FETCH_BYTES ? least : TERN__FETCH_BYTES;
}

// Reduces as isa/reduce.h has it, with what the binding says.
void tern__reduce_elements(const struct tern__binding *binding, char *const *to, int to_count,
                           const char *const *from, int from_count, size_t count);

// A step that is a copy or a reduction, but no atomic one (add.h); false when bytes of another
// process could not be read. It may have to be called again: tern__transfer_waits. Data path: no
// allocation, lock or log, and no system call but for what is far, but the function's.
bool tern__transfer(const struct tern__binding *binding, const struct tern__xport *xport,
                    const struct tern__step *step, struct tern__unread *unread);

// Whether a step that has been begun is not over, because a rank that helps still writes; to be
// called again when that has ended (tern__transfer_is_over).
bool tern__transfer_waits(const struct tern__binding *binding, const struct tern__step *step);
bool tern__transfer_is_over(const struct tern__binding *binding, const struct tern__step *step);

// Before a run: who owns what a step copies may begin at once, if it helps. No other step touches
// what that one writes.
void tern__transfer_open(const struct tern__binding *binding, const struct tern__step *step);

// The same of a copy to one rank, of another machine, with a post to a signal of that rank behind
// it: one message.
void tern__transfer_and_post(const struct tern__binding *binding, const struct tern__step *step,
                             char *signal);

#endif
