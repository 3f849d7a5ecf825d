// SPDX-License-Identifier: Apache-2.0
// What a rank does now, in words: for the sentences of waits that did not end in time, and for
// `tern info --job`. It is what the rank says of itself in the control memory, the records of its
// calls (sync/records.h), and the state of its process in /proc. Nothing of it is locked, so it may
// be a moment old. Reads files: for waits that have failed, and reports.
#ifndef TERN_SYNC_DOING_H
#define TERN_SYNC_DOING_H

#include "sync/group.h"
#include "sync/records.h"

enum tern__life {
    TERN__LIFE_ABSENT, // has not come yet
    TERN__LIFE_RUNS,
    TERN__LIFE_STOPPED, // by a signal, or a debugger
    TERN__LIFE_LEFT,
    TERN__LIFE_DEAD,
};

// The first word of what a rank does: one rank "waits", several "wait".
enum tern__verb { TERN__VERB_NONE, TERN__VERB_IS, TERN__VERB_WAITS, TERN__VERB_HAS };

struct tern__doing {
    enum tern__life life;
    enum tern__verb verb;
    char text[224];      // what follows the verb
    int pid;             // as the rank sees it
    const char *machine; // NULL: this one
    // Its state in /proc, on another machine a moment ago; 0: gone; '?': it cannot be seen from
    // here.
    char process;
    bool in_call;               // a call of its has not ended: the one it is held up in
    struct tern__recorded call; // that one
    bool in_kernel;             // a kernel of its runs, and waits for no peer
    bool for_signals;           // it waits for signals, and no task of its runs
    int open;                   // calls of its that have not ended
};

// "tern_comm_barrier", "tern_window_create", …
const char *tern__meeting_name(enum tern__meeting_kind meeting);

// member: a rank of the job.
void tern__doing_look(const struct tern__ctl *ctl, int member, struct tern__doing *doing);

// "waits in tern_comm_barrier 12", "is stopped, waiting in all_reduce 17 of 4096 bytes (f32 sum)",
// "is not waiting in tern": of one rank, or of several that do the same.
void tern__doing_text(const struct tern__doing *doing, bool several, char *text, size_t size);

// Of some ranks of a group (bit r: rank r), those that do the same together: "rank 1 is stopped
// (process 417); ranks 0, 4..6 are not waiting in tern (their processes sleep)". Returns the rank
// to blame: one that is stopped or gone, else not in a call, else not waiting; the lowest of these;
// -1 for no ranks.
int tern__doing_ranks(const struct tern__group *group, uint64_t ranks, char *text, size_t size);

// The same of ranks of a job, as a member of its first communicator would see them.
void tern__doing_job(const struct tern__ctl *ctl, uint64_t ranks, char *text, size_t size);

// What the others do, for who waits for a signal in vain: who could notify is not known. But when
// all ranks wait for signals and none runs a task, they wait for each other: that is said first;
// then the circle in which tasks wait, as far as they have said what they notify (sync/circle.h).
void tern__doing_others(const struct tern__group *group, char *text, size_t size);

// All ranks of the group but this one.
uint64_t tern__group_others(const struct tern__group *group);

#endif
