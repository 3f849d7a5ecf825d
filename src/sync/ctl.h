// SPDX-License-Identifier: Apache-2.0
// The control memory of a job: one sealed memfd that all of its ranks (and the launcher) map. It
// holds every rank's doorbell and state of life, and what each communicator shares. All of it is
// zero at the start and only grows in meaning; no pointer is in it. Sparse: pages nobody touches
// take no memory.
#ifndef TERN_SYNC_CTL_H
#define TERN_SYNC_CTL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>

#include "base/order.h"
#include "sync/machines.h"
#include "tern/comm.h"

#define TERN__CTL_MAGIC 0x6e726574u // "tern"
// One more when ranks find anything else here, or in a communicator's area.
#define TERN__CTL_ABI 23u
#define TERN__COMM_SLOTS 256
#define TERN__CTL_WINDOWS 1024 // of jobs on several machines
#define TERN__CPU_WORDS 16     // processors 0..1023
#define TERN__FAILURE_BYTES 736
#define TERN__SELECTED 16 // kinds of collectives that there may be
#define TERN__RECORDS 64  // calls of a rank that are remembered; a power of two

// A doorbell: sleepers wait (futex) for `rings` to change; who changes something a sleeper may wait
// for rings only if somebody sleeps. Protocol in sync/bell.h.
struct tern__bell {
    _Atomic uint32_t rings;
    _Atomic uint32_t sleepers;
};

enum tern__rank_state {
    TERN__RANK_ABSENT,
    TERN__RANK_ACTIVE,
    TERN__RANK_LEFT,
    TERN__RANK_DEAD,
};

// What a rank says it is doing while it waits; for the reports of others, so a hint only.
enum tern__activity {
    TERN__DOING_OTHER, // not waiting in a call of tern
    TERN__DOING_BARRIER,
    TERN__DOING_MEETING, // doing_number: enum tern__meeting_kind of sync/group.h
    TERN__DOING_SIGNAL,
    TERN__DOING_GRAPH,
    TERN__DOING_PLAN,
    TERN__DOING_CALL,
    TERN__DOING_MAIL,
    TERN__DOING_HELD, // in a graph of which nothing runs: only signals bring it further
};

// What is known of the end of a rank's process.
enum tern__rank_end {
    TERN__END_UNKNOWN,
    TERN__END_STATUS, // wait_status is valid: the launcher has written it
    TERN__END_DUMPS,  // a peer has seen the kernel write its core
    TERN__END_GONE,   // its machine is gone
    TERN__END_SILENT, // its machine has been silent for as many milliseconds as wait_status says
};

#define TERN__RUNS_BYTES 512
#define TERN__RUNS_TEXT_BYTES 64 // of them
#define TERN__HELD_AREAS 8

struct tern__ctl_rank {
    // Read by everyone who notifies this rank; written only when one of its threads goes to sleep.
    alignas(TERN_CACHE_LINE) struct tern__bell bell;
    _Atomic uint32_t cpu; // that it ran on when it looked last, + 1 (sync/balance.h)

    // Held while this rank takes part; others look at it, and never take it (sync/alive.h).
    alignas(TERN_CACHE_LINE) pthread_mutex_t life;

    alignas(TERN_CACHE_LINE) _Atomic uint32_t state; // enum tern__rank_state
    _Atomic uint32_t pid;
    _Atomic uint32_t ended;       // enum tern__rank_end
    _Atomic uint32_t wait_status; // of waitpid
    _Atomic uint32_t threads;     // that may run at once: 1, and those of its chips
    _Atomic uint32_t doing;       // enum tern__activity
    _Atomic uint64_t doing_number;
    _Atomic uint64_t pid_space;             // inode of the pid namespace that `pid` is a number of
    _Atomic uint64_t cpus[TERN__CPU_WORDS]; // affinity mask
    _Atomic uint64_t reads; // bit r: it may read the memory of rank r (sync/reach.h)
    // Of a rank of another machine, as the leader there has seen it last: the state of its process,
    // the processor time that this has used, and how often the rank's bell had rung.
    _Atomic uint32_t process;
    _Atomic uint32_t worked_ms;
    _Atomic uint32_t rung;
    // While a run of a graph takes long. First, as text: the task whose kernel its chip runs, or,
    // of TERN__DOING_HELD, the task that waits and for what; else "". Then, of TERN__DOING_HELD:
    // which tasks wait for what, and what would be notified after them (sync/circle.h).
    _Atomic uint64_t runs[TERN__RUNS_BYTES / 8];

    // Until when, by the clock, the kernel holds pages of this rank's process for others: of areas
    // of addresses, a word for each that have the same number modulo these (sync/reach.c).
    alignas(TERN_CACHE_LINE) _Atomic uint64_t held_until[TERN__HELD_AREAS];
};

// A line of a rank that all ranks of a communicator read.
#define TERN__CELL_BYTES 56
struct tern__cell {
    alignas(TERN_CACHE_LINE) unsigned char bytes[TERN__CELL_BYTES];
    uint64_t stamp; // what it was written for: tern__group_exchange
};

// A collective call of a rank, written by it in passing and read by whoever wants to know where it
// is: protocol in sync/records.h.
struct tern__record {
    // 2 x the number of the rank's call, from 1; odd while the fields below change.
    alignas(TERN_CACHE_LINE) _Atomic uint64_t number;
    _Atomic uint64_t sequence;  // of the communicator's calls
    _Atomic uint64_t signature; // struct tern__signature, packed
    _Atomic uint64_t bytes;
    _Atomic int64_t begin_ns, end_ns; // CLOCK_MONOTONIC; 0: not known
    _Atomic uint32_t place;           // state, way, communicator
    _Atomic uint32_t stuck_at;        // what it waits for; 0: nothing
    _Atomic int32_t status;           // of a call that failed
    _Atomic uint32_t algorithm;       // index + 1 of what runs; 0: that of the signature
};

struct tern__ctl_records {
    // The number of the last call; behind while several threads make calls.
    alignas(TERN_CACHE_LINE) _Atomic uint64_t last;
    struct tern__record ring[TERN__RECORDS];
};

// Where a rank says who takes part in what it begins: protocol in sync/invite.c.
struct tern__ctl_invite {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t number; // odd: open
    _Atomic uint32_t busy;                            // a thread of the rank uses it
    _Atomic uint32_t slot_of_group;                   // of the communicator whose ranks these are
    _Atomic uint32_t slot, generation;                // what is handed over
    _Atomic uint32_t count;
    _Atomic uint64_t tag;
    _Atomic uint64_t ranks[TERN_RANKS_MAX / 8]; // a byte each
    _Atomic uint32_t come[TERN_RANKS_MAX];      // by rank of the job: the number it came to last
};

enum tern__failed { TERN__WORKING, TERN__FAILING, TERN__FAILED };

// What a communicator shares. All of it is zero when its slot has been made ready.
struct tern__ctl_comm {
    alignas(TERN_CACHE_LINE) _Atomic uint64_t arrivals; // of all its barriers; only counts up
    // Where it has members on other machines: those of the ones here, and which they are (bit r:
    // rank r of the job).
    _Atomic uint64_t arrivals_here;
    _Atomic uint64_t here;

    alignas(TERN_CACHE_LINE) _Atomic uint32_t failed; // enum tern__failed
    int32_t failed_status;
    int32_t failed_rank;      // the culprit, or -1
    _Atomic uint32_t holders; // ranks that have not destroyed it
    _Atomic uint64_t left;    // bit r: rank r of it has destroyed it
    char failed_text[TERN__FAILURE_BYTES];

    // By kind of collective: a digest of what the ranks select, and who said so first. See
    // coll/tune.h.
    _Atomic uint64_t selected[TERN__SELECTED];

    // The number of the barrier each rank has entered last, on a line of its own.
    struct {
        alignas(TERN_CACHE_LINE) _Atomic uint64_t barrier;
    } entered[TERN_RANKS_MAX];

    struct tern__cell cells[2][TERN_RANKS_MAX]; // see tern__group_exchange

    // Of the leader's thread that receives. By machine: how many members it has, and the barrier
    // that they have come to; whether word of the one after the next is here (bit m); and the
    // barrier that all of other machines have come to, as counted in `arrivals`.
    struct {
        uint64_t members, barrier;
    } machines[TERN_RANKS_MAX];
    uint64_t early;
    uint64_t barrier_away;
};

// A window of ranks on several machines, in each machine's memory: its memory is needed until ranks
// of other machines have destroyed it, too.
struct tern__ctl_window {
    _Atomic uint64_t name;   // what tells it from others that had this place; 0: free
    _Atomic uint64_t forgot; // bit r: rank r of its communicator has destroyed it
};

// One a machine, with places for all ranks of the job. What is said of ranks of other machines
// is what their leader has told last (src/net/control*.c): of `ranks` their state and end, what
// they do and their process, of `records` the latest calls, of `invites` what they invite ranks
// here to, and of `comms` what members say to each other. Bells, processors, threads,
// load_version and heap_bytes are of the ranks here: it is they who share processors and memory.
// Of `reads`, ranks of other machines have none. first_dead and failure are as this machine has
// seen them.
struct tern__ctl {
    uint32_t magic;
    uint32_t abi;
    uint32_t nranks;
    _Atomic uint32_t first_dead_plus_one;
    _Atomic uint32_t load_version;                  // changes with any rank's `threads` or `cpus`
    _Atomic uint32_t slots[TERN__COMM_SLOTS];       // 1: taken; slot 0 is the first communicator
    _Atomic uint32_t generations[TERN__COMM_SLOTS]; // of what is in them: sync/slots.h
    _Atomic uint32_t slot_locks[TERN__COMM_SLOTS];  // who holds it: rank of the job + 1
    struct tern__machines machines;                 // written before anybody sees it
    // By machine: how long it had been silent when that counted as its end; 0: it has not been.
    _Atomic uint32_t silent_ms[TERN_RANKS_MAX];
    // By machine: when the leader here has heard last what its ranks do; 0: not yet.
    _Atomic int64_t heard_ns[TERN_RANKS_MAX];
    _Atomic uint32_t beats; // counted by the leader's thread that receives; 0: it has not begun
    _Atomic uint64_t heap_bytes; // that all ranks' tern_alloc holds (comm/heap.h)
    struct tern__ctl_rank ranks[TERN_RANKS_MAX];
    struct tern__ctl_comm comms[TERN__COMM_SLOTS];
    struct tern__ctl_records records[TERN_RANKS_MAX];
    struct tern__ctl_invite invites[TERN_RANKS_MAX];
    struct tern__ctl_window windows[TERN__CTL_WINDOWS];

    // The first communicator that failed; kept when that is destroyed, for the launcher.
    _Atomic uint32_t failure; // enum tern__failed
    int32_t failure_slot;
    char failure_text[TERN__FAILURE_BYTES];
};

_Static_assert(sizeof(struct tern__bell) == 8, "shared layout");
_Static_assert(sizeof(struct tern__ctl_rank) == 14 * TERN_CACHE_LINE, "shared layout");
_Static_assert(sizeof(struct tern__cell) == TERN_CACHE_LINE, "shared layout");
_Static_assert(sizeof(struct tern__record) == TERN_CACHE_LINE, "shared layout");
_Static_assert(sizeof(struct tern__ctl_comm) % TERN_CACHE_LINE == 0, "shared layout");

#endif
