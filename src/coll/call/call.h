// SPDX-License-Identifier: Apache-2.0
// Collective calls from inside. A communicator has one `struct tern__calls`: the calls of this rank
// that have not ended, first come first served, and the runs they consist of (area.h). A call is
// made of what the caller said (args.c), gets its plans (select.c), its memory (place.c) and then
// goes through its runs (run.c); report.c words what went wrong. Calls between the files go one
// way:
//
//     any.c, request.c, calls.c      enter from outside, and look the state up once
//     state.c                        makes and frees what a communicator keeps
//     quick.c, quick_shares.c        the short paths
//     mail.c, pieces.c, take.c       messages
//     match.c                        which recv a message goes to
//     run.c                          runs
//     ahead.c                        the run behind the oldest
//     publish.c, way.c, place.c      memory
//     learn.c, learned.c             direct or through slots
//     outward.c                      results through the caches or past them
//     trace.c, report.c              what they leave in a trace, and sentences
//     elsewhere.c                    what is said to other machines
//     select.c, shape.c, program.c     plans
//     meet.c                         whom a run waits for, and whether they agree
//     givers.c                       who has left a call that goes on
//     args.c, lists.c, shares.c      arguments
//
// question.c asks select.c and args.c about a call that nobody makes, for selected.c and as_run.c.
#ifndef TERN_COLL_CALL_CALL_H
#define TERN_COLL_CALL_CALL_H

#include "base/error.h"
#include "base/kind.h"
#include "coll/call/area.h"
#include "coll/call/learned.h"
#include "coll/call/program.h"
#include "coll/tune.h"
#include "sync/records.h"
#include "plan/exec/lanes.h"
#include "sync/work.h"
#include "tern/coll.h"
#include "xport/quickest.h"

// What one rank asks for, checked.
struct tern__coll {
    struct tern__calls *calls;
    const char *name; // of the public function, for sentences
    tern_coll_kind kind;
    tern_plan_kind plan_kind;
    tern_dtype dtype;
    tern_reduce_op op;
    tern_order order;
    int root;
    const char *algorithm;
    int64_t timeout_ns;
    tern_reduce_function *function;
    void *function_arg;
    tern__reduce_fn *reduce; // NULL: the function
    size_t element_bytes;
    size_t count;
    const char *in; // NULL where this rank has none
    char *out;
    uint64_t share_bytes;         // of one share, or, without shares, of all
    uint64_t bytes;               // of the plan: share_bytes, n times where there are shares
    uint64_t in_bytes, out_bytes; // that this rank has
    bool counts;                  // a v-collective
    bool early;                   // ranks that need not wait for others do not
    bool small;                   // its run is (area.h), or what it announces with
    bool in_place;
    const size_t *in_counts, *in_offsets, *out_counts, *out_offsets;
    // Lists of the shares, or NULL; then in, out are the lowest address of one. Bytes from there to
    // the end of the last one.
    const void *const *ins;
    void *const *outs;
    uint64_t in_reach, out_reach;
    char *flat; // outs: what a plan that knows no shares writes to; else NULL
    uint64_t signature;
    uint64_t digest; // of counts that all ranks have alike; else 0

    // Its plans: what goes through a slot in one run, in windows, and in pieces.
    struct tern__program *slot, *window, *staged, *tail;
    struct tern__program *few;          // sums of few bytes: each rank reads all it needs; or NULL
    const struct tern__program *placed; // of these, what runs on the buffers where they are
    uint64_t piece_bytes;               // of a share, or of all where there are slices
    uint64_t piece_room;                // what a run of pieces has of its slot
    uint64_t slot_limit;                // v-collectives: inputs up to this go into the slot at once
    bool copied;                        // staged: out goes through the slot, too
    bool wide;    // staged: the plan reaches other machines, in the wide payloads
    bool divides; // of an average: the plan sums, and what comes out of it is divided

    // Where it stands.
    // slot: whole inputs, one run. Unknown: the first run tells where the buffers are; then window
    // or direct: the plan runs on them, in that same run; or staged: piece by piece in slots.
    // Direct calls with more runs have their first half in these, as staged ones.
    enum tern__way way;
    uint64_t number;    // of the communicator's calls, from 1
    uint64_t pieces;    // runs it has; 0: not known yet
    uint64_t announced; // 1: the first of them is no piece, and says where buffers are; 0: each is
    uint64_t published, ended; // of its runs
    uint64_t longest;          // staged v-collectives: bytes of the largest share of any rank
    uint64_t left; // bit r: rank r has left, and its part of the plan is done without it
    struct tern__learned *learned; // its class; NULL: nothing is learned of it
    bool reads;                    // as far as this rank can foresee it goes direct
    int64_t timed_ns;              // when it began, if it is timed; else 0
    struct tern__record *record;
    int64_t traced_ns;       // when it began, if a trace is recorded; else 0
    bool overlaps;           // it is begun here and ended there
    struct tern__coll *next; // in the queue
    int status;              // when done
    uintptr_t ended_by;      // the thread that has found so
    tern__done done;
};

// Where the share of a rank is in `in`, in `out`, of a call without counts.
static inline uint64_t tern__call_in_at(const struct tern__coll *call, int rank)
{
    return call->ins != NULL ? (uintptr_t)call->ins[rank] - (uintptr_t)call->in
                             : (uint64_t)rank * call->share_bytes;
}

static inline uint64_t tern__call_out_at(const struct tern__coll *call, int rank)
{
    return call->outs != NULL ? (uintptr_t)call->outs[rank] - (uintptr_t)call->out
                              : (uint64_t)rank * call->share_bytes;
}

// What a call is but for its count: exact, so words that are no dtype or op have none.
#define TERN__NO_KEY UINT64_MAX
static inline uint64_t tern__key(tern_coll_kind kind, tern_dtype dtype, tern_reduce_op op, int root)
{
    return ((unsigned)dtype | (unsigned)op) < 256
               ? (uint64_t)kind | (uint64_t)dtype << 8 | (uint64_t)op << 16 |
                     (uint64_t)(uint32_t)root << 32
               : TERN__NO_KEY;
}

// What is selected for a kind and an order of sums, and the plans that were made of it, the one
// used last first.
struct tern__selection {
    bool agreed; // the choice is there, and that of all ranks
    struct tern__choice choice;
    struct tern__program *programs;
};

// What was found out about a call when one like it was made before, in rank order, with no
// algorithm named: by key and count; small ones where all have the same counts by their digest,
// other v-collectives by key alone, since their plans do not depend on the counts.
enum { TERN__SHAPES = 64 };

// The last v-collective of a shape that took the short path: what one that differs from it in its
// buffers alone need not find out again. Of two ranks; of more, scatter_v and gather_v in small
// runs.
struct tern__again {
    bool known;
    size_t count;
    bool in_counted, in_placed, out_counted, out_placed; // which lists there are
    uint64_t bytes, in_bytes, out_bytes;
    uint64_t gates;         // bit r: it waits for rank r
    bool awaited;           // of two: the other one waits for this rank, and reads its letter
    bool small;             // its run is
    bool alone;             // tern__calls_arrive
    bool keeps;             // tern__call_keeps_input
    uint64_t payload_bytes; // table and input
    // As it is published, for this `out`, while tern__registry_changes is this.
    struct tern__placement placement;
    const void *out;
    uint32_t changes;
    // In the same block, of each rank: the lists; where its share is in `in`; the table, as it is
    // published.
    size_t *in_counts, *in_offsets, *out_counts, *out_offsets;
    uint64_t *from;
    struct tern__share *rows;
};

struct tern__shape {
    uint64_t key;
    size_t count;
    uint64_t signature;
    struct tern__program *slot;                  // of a small one; or
    struct tern__program *window, *staged, *few; // of a large one; few: or NULL
    uint64_t piece_bytes, piece_room, slot_limit;
    bool copied;

    // Of a small one.
    bool quick;     // it can be done on the short path
    bool early;     // as in struct tern__coll
    bool small;     // likewise
    bool alone;     // others wait for this rank alone
    uint64_t gates; // bit r: it waits for rank r
    bool in_line;   // inputs are in the published lines
    uint64_t share_bytes, stride, bytes, in_bytes, out_bytes;
    size_t elements;
    tern__reduce_fn *reduce;
    struct tern__share *rows; // of a small one with counts: a table, and
    size_t *counts;           // the counts that it is of; else NULL

    struct tern__again *again; // of a v-collective with counts of its own; or NULL
};

// What a rank has put into its slot in a run, for those who read it.
struct tern__told {
    tern_coll_kind kind;
    int root;
    uint64_t table_bytes; // for all, at the beginning of the payload
    // The input behind it: so many bytes for each reader, the same or so far from each other; or
    // where these say.
    uint64_t begin, bytes, stride;
    const struct tern__share *rows;
    bool alone; // tern__calls_arrive
    bool small; // the run is
    bool alike; // what each rank tells is as long, and for the same readers
    bool waits; // this rank is about to wait for the others
};

// The ranks of a communicator on other machines; for each of those, the one that takes what is
// published for all.
struct tern__elsewhere {
    struct tern__net *net;
    uint32_t generation; // of the area
    uint64_t ranks;      // bit r: rank r is on another machine
    bool in_order;       // each machine has consecutive ranks
    tern_topo *topo;
    bool takes; // this rank takes what is published for others here
    int count;
    struct {
        int to; // rank of the job
        uint64_t ranks;
    } machines[TERN_RANKS_MAX];
    struct tern__share rows[TERN_RANKS_MAX]; // of the piece that is published
    // What this rank has left to the last of its machine to send, by slot (area.h); and what the
    // counter of the slot comes to when all are there.
    struct tern__left {
        uint32_t run; // 0: nothing
        struct tern__told told;
    } left[TERN__LINES];
    uint32_t together[TERN__LINES];
};

// The run behind the oldest one (ahead.c).
struct tern__ahead {
    bool bound; // its ops have begun
    struct tern__lanes lanes;
    struct tern__binding binding;
};

struct tern__calls {
    struct tern__work work; // while any call has not ended
    tern_comm *comm;
    tern_window *area;
    int rank, nranks;
    struct tern__elsewhere *elsewhere; // NULL: all ranks are on this machine
    bool direct;                       // all ranks may read each other's ordinary memory
    struct tern__distance distance;    // of the others, as pieces of calls find it
    uint64_t made;                     // calls
    uint32_t published, ended;         // runs
    // Runs that this rank has ended and seen all ranks publish, and in which they agree; and for
    // each rank, the last run that was compared with it, where that is later.
    uint32_t settled;
    uint32_t compared[TERN_RANKS_MAX];
    uint64_t numbers[TERN__LINES]; // of the calls whose runs are not settled, by slot
    uint64_t others;               // bit r: rank r is another one

    struct tern__coll *oldest, *newest; // not ended
    struct tern__coll *publishing;      // the first whose runs are not all published

    // Of the run that has not ended and is the oldest.
    bool met_all; // it has waited for all others
    bool bound;
    struct tern__help *gives; // NULL, or the line in which this rank helps (place.c)
    int gives_to;             // with whose copy
    struct tern__lanes lanes;
    struct tern__binding binding;
    struct tern__ahead *ahead;                           // NULL: all ranks are on this machine
    struct tern__share shares[TERN_RANKS_MAX];           // of pieces: this rank's table
    uint32_t arrivals[TERN__LINES][TERN__SLOT_ARRIVALS]; // in runs that have ended
    uint32_t *bases; // posts to this rank's signals in runs that have ended, by slot and word

    char failed_text[TERN_ERROR_BYTES]; // why, and where its oldest call stood

    // What was found out before: of a kind and an order of sums; of calls.
    struct tern__selection selections[TERN_PLAN_KINDS][2];
    struct tern__shape shapes[TERN__SHAPES];
    // Of kinds without and with counts, by the length of the longest share.
    struct tern__learned learned[TERN_PLAN_KINDS][2][TERN__LEARNED_SIZES];
    // What is known of results that are longer than the caches, by kind; and of the oldest call,
    // how it writes its own (outward.c).
    struct tern__quickest outward[TERN_PLAN_KINDS][TERN__QUICKEST_CLASSES];
    struct tern__outward writes;
    tern_topo *topo;
    bool handed; // by quick.c: the run that was published last is of the call that begins next
    struct tern__record *handed_record;
    uint64_t direct_option;          // what TERN_DIRECT says (base/options.h)
    struct tern__endpoint *endpoint; // mail.c: send and recv; NULL before the first
};

// All that follows is done in the turn of the communicator, but what waits: that takes it itself.

// state.c: the calls of a communicator, which must live; made when they are first asked for. Who
// enters from outside looks them up, and hands them down.
int tern__calls_of(const char *name, tern_comm *comm, struct tern__calls **calls);

// args.c: why no call can be made any more; how long its waits may take; checks what the caller
// says and writes it down. Nothing is allocated.
int tern__call_check_comm(const char *name, struct tern__calls *calls);
int tern__call_check_timeout(const char *name, const struct tern__calls *calls,
                             const tern_coll *from, int64_t *timeout_ns);
int tern__call_check(const char *name, struct tern__calls *calls, const tern_coll *from,
                     struct tern__coll *call);
// lists.c: the same of buffers that are lists.
int tern__call_check_lists(struct tern__coll *call, const tern_coll *from);

// far.c: ranks of other machines are met in slots, by the algorithm of the kind that only reads
// inputs; or, for much, by one that reaches them. *choice: for them; it may be put into *room.
void tern__call_go_far(const struct tern__coll *call, const struct tern__choice **choice,
                       struct tern__choice *room);
// Whether an algorithm between machines would give the call other values, as it hands sums on.
bool tern__far_spoils(const struct tern__coll *call, const char *algorithm);

// select.c: finds the plans; and lets go of them.
int tern__call_select(struct tern__coll *call);
void tern__call_drop(struct tern__coll *call);
void tern__selections_free(struct tern__calls *calls);

// shape.c: finds a call of the same shape, and takes its plans; remembers one that was selected.
bool tern__call_find_shape(struct tern__coll *call);
void tern__call_remember_small(const struct tern__coll *call);
void tern__call_remember_large(const struct tern__coll *call);
// A v-collective with counts of its own that has just ended, on the short path, in this run.
void tern__call_remember_again(const struct tern__coll *call, uint64_t gates, uint32_t run);
void tern__shapes_free(struct tern__calls *calls);

// Counts that all ranks have alike are part of what they compare.
void tern__call_sign_counts(struct tern__coll *call, bool small);

// The place of a shape.
static inline struct tern__shape *tern__shape_of(struct tern__calls *calls, uint64_t key,
                                                 size_t count)
{
    size_t hash = count ^ count >> 5 ^ (size_t)key << 2;
    return &calls->shapes[hash % TERN__SHAPES];
}

// quick.c: a whole call, true when it has been made. With counts that all ranks have alike, packed;
// else with a count and NULL. The second takes the turn, and keeps it for the longer path where
// that has to go on with the call.
bool tern__call_quick_in_turn(struct tern__calls *calls, uint64_t key, const void *in, void *out,
                              size_t count, const size_t *counts);
bool tern__call_quick(tern_comm *comm, uint64_t key, const void *in, void *out, size_t count,
                      const size_t *counts);

// quick_shares.c: the same for a v-collective with counts of its own that was checked and selected.
bool tern__call_quick_shares(struct tern__coll *call);
// And one that is as the last of its shape was. As tern__call_quick: it takes the turn, and may
// keep it.
bool tern__call_quick_again(tern_comm *comm, const tern_coll *asked);

// publish.c: what a rank puts into its line and payload when it publishes the call's next run.
// place.c: what the plan's ranges are, once all have.
void tern__call_fill(struct tern__coll *call, uint32_t run, struct tern__head *head);
// The payload of such a run when the call's way is through slots; this rank's, when it announces.
static inline char *tern__call_payload(const struct tern__coll *call, int rank, uint32_t run)
{
    return tern__area_run_payload(call->calls->area, rank, run, call->small);
}
// Of two ranks: the letter of a run whose table is in the payload that in_slot says, and the input,
// too, if there is one.
void tern__letter_write(const struct tern__calls *calls, uint64_t signature, uint64_t number,
                        uint32_t in_slot, uint32_t run);
// The input that another rank's letter announces.
static inline const char *tern__letter_input(const struct tern__calls *calls,
                                             const struct tern__letter *letter, uint32_t run)
{
    return letter->in_bytes <= TERN__LETTER_BYTES
               ? (const char *)letter->data
               : tern__area_run_payload(calls->area, 1 - calls->rank, run,
                                        letter->in_slot == TERN__IN_SMALL) +
                     letter->in_offset;
}
int tern__call_bind(struct tern__coll *call, uint32_t run);
void tern__call_bind_ahead(struct tern__coll *call, uint32_t run); // behind one that is bound
void tern__calls_begin_lanes(struct tern__calls *calls, struct tern__lanes *lanes, uint32_t run);
void tern__call_bind_letter(struct tern__coll *call, uint32_t run); // of two ranks: it has come
void tern__call_unload(struct tern__coll *call); // out of the slot, to the caller

// elsewhere.c: says what was published in a run, of a call or else; what it has left to others to
// say; and, before this rank leaves, waits until nobody here needs any more what it takes for
// others.
void tern__call_tell(const struct tern__coll *call, uint32_t run);
void tern__calls_tell(const struct tern__calls *calls, uint32_t run, const struct tern__told *told);
void tern__calls_send_left(const struct tern__calls *calls);
void tern__elsewhere_end(struct tern__calls *calls);
// Of a mailbox in the part of `owner`: a line whose number is stored, with what is in it and a
// payload, to a rank on another machine.
void tern__mail_tell(const struct tern__calls *calls, int peer, int owner, const void *line,
                     uint32_t line_bytes, const char *payload, uint64_t bytes);

// Which window, as all ranks number it, and where in it; 0 when the bytes are in none that all
// ranks have.
uint64_t tern__call_place(const struct tern__calls *calls, const char *address, uint64_t bytes,
                          uint64_t *offset);

// Announced: all ranks have published where their buffers are. Decides the way, the same on all.
int tern__call_find_way(struct tern__coll *call, uint32_t run);

// shares.c: a digest of counts that all ranks have alike, its lowest bit set when they are small;
// the largest input of a rank; where an input that is packed has its shares.
uint64_t tern__counts_digest(const size_t *counts, int nranks, bool small);
uint64_t tern__call_longest_in(const struct tern__coll *call);
void tern__call_pack(const struct tern__coll *call, struct tern__share *rows);

// Of the v-collectives, what goes from this rank to another and back; to all.
void tern__call_share(const struct tern__coll *call, int rank, struct tern__share *row);
void tern__call_shares(const struct tern__coll *call, struct tern__share *rows);
// The longest of them, as far as this rank knows them.
uint64_t tern__call_longest_share(const struct tern__coll *call);

// The same of a call without counts, for its lists.
void tern__call_list_shares(const struct tern__coll *call, struct tern__share *rows);

// A plan that takes inputs out of the ordinary memory of other processes; or NULL. And the same, or
// NULL when slots are quicker for shares of so many bytes, the largest in any rank's input: whether
// inputs stay where they are.
const struct tern__program *tern__call_reader(const struct tern__coll *call);
const struct tern__program *tern__call_direct(const struct tern__coll *call, uint64_t longest);
// Which of the two plans for sums, if that is one and a rank is in place or none is.
const struct tern__program *tern__call_few(const struct tern__coll *call,
                                           const struct tern__program *direct, bool in_place);

// Shares from so many bytes on can be faster direct where each rank has a processor.
#define TERN__LEARNS_FROM (UINT64_C(8) << 10)

// outward.c: how a call that has just been bound for the first time writes its results; and when it
// has ended.
void tern__call_outward_begin(struct tern__coll *call);
void tern__call_outward_end(struct tern__coll *call, int status);

// learn.c: whether it is learned which of the two is quicker; the longest share as this rank knows
// it. Before the run that announces a call is published: what it will do, as far as this rank can
// foresee, and says of it. When all whom this rank waits for have published that: the plan, or NULL
// for slots; and, when the way is known, what is learned of it. And when the call ends.
bool tern__call_learns(const struct tern__coll *call, uint64_t longest);
uint32_t tern__call_foresee(struct tern__coll *call, bool guess, uint64_t longest, uint32_t run);
const struct tern__program *tern__call_decided(const struct tern__coll *call, uint64_t longest,
                                               uint32_t run);
void tern__call_learn(const struct tern__coll *call, uint32_t run);
void tern__call_time(const struct tern__coll *call);

// Whether, if that plan is taken, half of what it reads can go through slots meanwhile: the root of
// two ranks, which gives all it has to the other one, has nothing else to do. The root decides
// whether it does so, and says it (TERN__FORM_HALF).
bool tern__call_can_halve(const struct tern__coll *call, const struct tern__program *direct);

// Whether this rank puts its input into the slot when it announces the call: always when that is
// small, and up to what a slot holds when others could not read it where it is. But the root of
// gather_v keeps its input, which nobody else reads, and says that it is in the slot. And whether,
// by the root's counts, the inputs of all others are small.
bool tern__call_fits_slot(const struct tern__coll *call, bool stays);
bool tern__call_keeps_input(const struct tern__coll *call);
bool tern__call_takes_slots(const struct tern__coll *call, uint32_t run);
// What the input takes of the slot, behind the table; and whether both are so short, and always go
// there, that the run which announces the call is small.
uint64_t tern__call_packed_bytes(const struct tern__coll *call);
bool tern__call_is_short(const struct tern__coll *call);

// givers.c: whether a rank, which has published the run, leaves without waiting for anybody; all
// that do. Whether the root's counts say that all others do. And the root does in the run what it
// has to do for them besides its part of the plan, which has been bound.
bool tern__call_has_left(const struct tern__coll *call, int rank, uint32_t run);
uint64_t tern__call_left(const struct tern__coll *call, uint32_t run);
bool tern__call_all_leave(const struct tern__coll *call);
void tern__call_stand_in(const struct tern__coll *call, uint32_t run);

// run.c: begin takes a call whose plans are selected, and does what can be done without waiting.
// Outside of the turn: wait until it is done.
int tern__call_begin(struct tern__coll *call);
int tern__call_wait(struct tern__coll *call);
bool tern__calls_advance(struct tern__calls *calls);
// This rank has come to the beginning of the run (alone: and others wait for nobody else); and the
// run has ended, in which all met at these signals.
static inline void tern__calls_arrive(const struct tern__calls *calls, uint32_t run, bool alone)
{
    tern__arrive(calls->area, tern__area_arrivals(calls->area, run, 0),
                 calls->arrivals[run % TERN__LINES][0]);
    if (alone && calls->nranks > 2) { // who sleeps cannot wait for the last to arrive
        tern__ring_others(calls->area);
    }
}
static inline void tern__calls_count(struct tern__calls *calls, uint32_t run, uint32_t meets)
{
    uint32_t *arrivals = calls->arrivals[run % TERN__LINES];
    arrivals[0] += (uint32_t)calls->nranks;
    for (uint32_t signal = 0; signal + 1 < TERN__SLOT_ARRIVALS; signal++) {
        arrivals[signal + 1] += (meets >> signal & 1) != 0 ? (uint32_t)calls->nranks : 0;
    }
}
// meet.c

// A rank whose call is another one, and the run in which it is.
struct tern__differs {
    int rank;
    uint32_t run;
};

// 1 when the oldest run has met all ranks that it waits for, and they agree; 0 when one has not
// come; TERN_ERR_MISMATCH, without a sentence, when one differs.
int tern__calls_meet(struct tern__calls *calls, struct tern__coll *call,
                     struct tern__differs *differs);
// The same of a run, and of ranks that are given.
int tern__calls_meet_ranks(struct tern__calls *calls, uint64_t ranks, uint32_t run,
                           struct tern__differs *differs);
// Whether these ranks have published a run.
bool tern__calls_have_come(const struct tern__calls *calls, uint64_t ranks, uint32_t run);

// Which ranks a call waits for in a run before its ops; which the oldest call waits for now, and in
// which run; and whether they have come.
uint64_t tern__call_gates(const struct tern__coll *call, uint32_t run);
bool tern__call_is_alone(const struct tern__coll *call); // others may wait for this rank alone

// Whether what this rank has sent to other machines must be there before it comes: also where all
// ranks of the communicator are on this one, since they may tell others.
static inline bool tern__call_is_fence(const struct tern__coll *call)
{
    const struct tern__job *job = call->calls->comm->group.job; // NULL: only asked for (question.h)
    return call->kind == TERN_COLL_BARRIER && job != NULL && job->far != NULL;
}

uint64_t tern__calls_awaited(const struct tern__calls *calls, uint32_t *run);
bool tern__calls_ready(const struct tern__calls *calls);

// Compares this rank's runs with those of ranks that have published `run`: all that were not
// compared before. And all runs that all ranks have published by now: TERN_ERR_MISMATCH, without a
// sentence, when one differs. And the last run of a rank that was compared.
bool tern__calls_agree(struct tern__calls *calls, uint64_t ranks, uint32_t run);
int tern__calls_settle(struct tern__calls *calls, struct tern__differs *differs);
uint32_t tern__calls_compared(const struct tern__calls *calls, int rank);
// All are compared that are settled. Who is on the short path for long does not say so of each run:
// it says so now and then, before a number that is so old looks like one that is to come.
#define TERN__COMPARED_ANEW (UINT32_C(1) << 30)
void tern__calls_compared_all(struct tern__calls *calls);

static inline bool tern__calls_has_room(const struct tern__calls *calls, bool small)
{
    uint32_t most = small ? TERN__SMALL_AHEAD : TERN__AHEAD;
    return calls->published - calls->settled < most &&
           calls->published - calls->ended < TERN__AHEAD;
}

// Ends all calls with a status: the communicator has failed.
void tern__calls_fail(struct tern__calls *calls, int status);

void tern__calls_set_up(struct tern__calls *calls); // what its work can do

// ahead.c: does what can be done of the run behind the oldest: 1 when that was anything, 0, or an
// error as of tern__calls_meet; whether that would be anything; it has become the oldest, and which
// is bound if it has begun; there is none any more.
int tern__ahead_advance(struct tern__calls *calls, struct tern__differs *differs);
bool tern__ahead_ready(const struct tern__calls *calls);
void tern__ahead_move_up(struct tern__calls *calls);
void tern__ahead_end(struct tern__calls *calls);

// report.c: words, and fails the communicator.
int tern__calls_mismatch(struct tern__calls *calls, const struct tern__differs *differs);
int tern__call_counts_differ(struct tern__coll *call, int from, int to, uint64_t sent,
                             uint64_t wanted);
int tern__call_window_gone(struct tern__coll *call, int rank);
int tern__call_unread(struct tern__coll *call); // its lanes have failed
void tern__call_asleep(struct tern__coll *call);
int tern__call_broken(struct tern__coll *call, bool deep);
int tern__call_timed_out(struct tern__coll *call, int64_t waited_ns);
int tern__call_failed(struct tern__coll *call, int status); // adds where it stood
void tern__call_repeat(const struct tern__coll *call);      // outside: for another thread than that
void tern__signature_text(uint64_t signature, char *text, size_t size);

#endif
