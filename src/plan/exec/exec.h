// SPDX-License-Identifier: Apache-2.0
// The executor from inside: a script and its lanes, bound to windows once for all runs. What a run
// needs to know of other ranks lies in the executor's own window, in each rank's part:
//
//     line 0        the run the rank has begun last, and where it is stuck (for reports)
//     told          which run each rank of another machine has begun last
//     signals       a line each, or packed when there are very many; posted by anybody
//     locks         a line each; of atomic reduces (add.h)
//     scratch       the plan's
//
// Two rules make runs follow each other without a barrier. No op touches a rank's memory, and no
// post its signals, before that rank has begun the run: so what a fast rank does in its next run
// never counts in a slow rank's present one. And signals count up over all runs (lanes.h).
//
// Nobody reads line 0 of a rank of another machine: that rank tells, with a post a run, the ranks
// there that it has to do with. Copies and posts to another machine are messages, in the order of
// the lane that sends them, which is all that a plan relies on that reaches no memory there.
#ifndef TERN_PLAN_EXEC_EXEC_H
#define TERN_PLAN_EXEC_EXEC_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/exec/lanes.h"
#include "sync/work.h"
#include "tern/exec.h"

// What a rank shows to the others.
struct tern__exec_head {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t begun; // number of the run it has begun last, from 1
    _Atomic uint32_t stuck;                          // 1 while it sleeps at the op below; a hint
    _Atomic uint32_t stuck_lane;
    _Atomic uint32_t stuck_op;
};
_Static_assert(sizeof(struct tern__exec_head) == TERN_CACHE_LINE, "shared layout");

// Behind it: words that only whoever they are about adds to.
struct tern__exec_told {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t begun[TERN_RANKS_MAX];
};

#define TERN__EXEC_LINES_MAX 16384 // signals of a rank that get a line each

struct tern_exec {
    struct tern__handle handle;

    // Of the run.
    struct tern__lanes lanes; // its run: how many have begun
    tern__done done;        // none has begun, or the last one has ended; one that failed never does
    struct tern__work work; // while it has not ended
    int64_t traced_ns;      // when the run began, if a trace is recorded; else 0
    bool overlaps;          // it is begun here and ended there

    // Of the plan.
    struct tern__script script;
    struct tern__binding binding;
    uint32_t watchers_count;
    struct tern__bell *watchers[TERN_RANKS_MAX]; // of ranks that wait for this one to begin
    uint64_t
        tells; // bit r: rank r of another machine hears when this one begins, and tells it, too
    struct tern__exec_head *own;
    tern_comm *comm;
    tern_window *window;
    const tern_plan *plan;

    // Set-up only.
    tern_exec_options options;
    size_t in_offsets[TERN_RANKS_MAX];
    size_t out_offsets[TERN_RANKS_MAX];
    size_t locks_offset, scratch_offset;
    uint64_t runs_ended;
    uint64_t read_bytes[TERN_RANKS_MAX]; // of a run, from each rank
    uint64_t written_bytes[TERN_RANKS_MAX];
};

static inline struct tern__exec_head *tern__exec_head(const struct tern_exec *exec, int rank)
{
    return (struct tern__exec_head *)(void *)tern__window_at(exec->window, rank, 0);
}

// Where the signals begin.
#define TERN__EXEC_SIGNALS (sizeof(struct tern__exec_head) + sizeof(struct tern__exec_told))

static inline struct tern__exec_told *tern__exec_told(const struct tern_exec *exec, int rank)
{
    return (struct tern__exec_told *)(void *)tern__window_at(exec->window, rank,
                                                             sizeof(struct tern__exec_head));
}

// digest.c: a hash of everything that the plan's text says.
uint64_t tern__exec_digest(const tern_plan *plan);

// check.c: that the options fit the plan and that every operand of every rank is inside its buffer.
int tern__exec_check(const struct tern_exec *exec);

// compile.c: this rank's script, bound to the windows. The executor's own exists.
int tern__exec_compile(struct tern_exec *exec);
void tern__exec_free(struct tern_exec *exec);

// trace.c: a post, or a wait that is over; and a run that ends now.
void tern__exec_trace_step(const struct tern__lanes *lanes, const struct tern__step *step,
                           int64_t begin_ns);
void tern__exec_trace_run(const struct tern_exec *exec);

// report.c: fails the communicator for the lane that has waited too long.
int tern__exec_timed_out(struct tern_exec *exec, int64_t waited_ns);
// TERN_ERR_LEFT, and a failed communicator, when a rank has left that has not begun the run.
int tern__exec_check_left(struct tern_exec *exec);

// Whether this rank hears when a rank begins a run.
static inline bool tern__exec_hears(const struct tern_exec *exec, int rank)
{
    return ((exec->tells | ~exec->binding.elsewhere) >> rank & 1) != 0;
}

// run.c: forgets a run that cannot go on; false when it is another thread's.
bool tern__exec_abandon(struct tern_exec *exec);

#endif
