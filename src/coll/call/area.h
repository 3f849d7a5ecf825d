// SPDX-License-Identifier: Apache-2.0
// What the ranks of a communicator write for each other while they make collective calls.
//
// A call is one or more runs; runs are numbered from 1, the same on all ranks. Run k uses the lines
// k mod TERN__LINES and, unless it is *small*, slot k mod TERN__SLOTS. A rank *publishes* a run: it
// puts its input into the slot's payload (or into the line, or the small payload of the run) or
// says where it lies, then stores the run's number, in a line that nobody else writes. It *ends*
// the run when it has seen those ranks publish it that it waits for, and has done its ops. It
// *settles* the run when it has ended it and seen all ranks publish it. It publishes run k only
// after it has ended run k - TERN__AHEAD, and settled k - TERN__AHEAD, or, if k is small,
// k - TERN__SMALL_AHEAD. Hence, with twice as many slots and lines:
//
//   when a rank has settled run k, all ranks have published it, so they have ended run
//   k - TERN__AHEAD, and settled k - TERN__SMALL_AHEAD;
//   when a rank publishes run k, which is not small, it has settled k - TERN__AHEAD, so all have
//   ended k - TERN__SLOTS, and nobody reads the slot's old contents any more;
//   when it publishes any run k, it has settled k - TERN__SMALL_AHEAD, so all have settled
//   k - TERN__LINES, and nobody reads those lines or that small payload any more.
//
// Small are runs through slots whose input is in the line; and others with a short one, of calls
// that ranks leave without waiting for all: the more of these fit, the less often the processor is
// handed over. That follows from the call, so all ranks agree; or, of what a v-collective
// announces, from what this rank has, and its line says so. Then others may have more, and go on in
// the same run with what slots have: only ranks do so that have met all, and hence know that all
// have ended k - TERN__AHEAD. More slots instead would be as good for short inputs, and longer ones
// would leave the caches before they are read.
//
// Whom a rank waits for before its ops: all others, so that a run is settled when it ends; but in a
// call with a root, those whose bytes it takes (TERN_AGREE=early). A root that broadcasts waits for
// nobody, ends the run at once, and settles it later: when it runs out of room, or when it waits
// for all in a later run. A rank that has published run m has published all before it. The line of
// a run stays as it is until all ranks have settled the run: its owner writes there again as run
// k + TERN__LINES, after it has settled k + TERN__SMALL_AHEAD, which a rank publishes after it has
// settled k. So whoever settles a run late still finds all signatures, and compares them with its
// own: before it takes bytes of a rank, all runs of that rank up to this one; and when it waits for
// all, all of all.
//
// So nothing is ever reset or waited for at the end of a run whose ops only read payloads: one
// synchronisation a call. Runs in which ranks touch each other's windows use the plan's own signals
// at the end. Signals of a slot count up from run to run. To a rank that has ended such a run after
// it published, because what it gives is in its slot (givers.c), nothing is posted: it does not
// know that the others count.
//
// When a call has counts for each rank, the payload begins with a table of what goes to each other
// rank and back (struct tern__share); in_offset counts from the payload when in_slot is set. Of two
// ranks, each also writes what line and table say, and a few bytes, into one letter to the other,
// if that waits for it, a moment before the line is published: who finds in it what it expects has
// fetched one line instead of three. Where all ranks have the same counts, their digest is
// compared, and the table is for sentences only; when they are small, nothing is said of buffers,
// and the input is behind the table, or in the line.
//
// Ranks on other machines. Each machine has the whole area; what ranks of others publish is copied
// into it (elsewhere.c): a rank stores in its own part, then sends to each machine with ranks of
// the communicator what these read, to the lowest of them, on one stream: payload, then line. That
// rank's receiving thread stores both in the same order, counts the arrival and rings. So what a
// rank sees published has all come that it reads, and the rules above hold with copies, too:
//
//   a payload of rank r on machine M is stored when r publishes a run k + TERN__SLOTS, and has
//   settled k + TERN__AHEAD: r had got the lines of that run of all ranks of M, which they publish
//   after they have ended run k. That came before r sent, so before anything of it is stored on M:
//   nobody there still reads run k. Where r stores for others, the order is that of its one stream
//   to M. A line and a small payload likewise, of run k + TERN__LINES, when r has settled
//   k + TERN__SMALL_AHEAD, which they publish after they have settled k; and the counter of
//   arrivals: those of k + TERN__LINES are added when all of run k have been.
//
// Where all ranks wait for all, and there is little to send, the ranks of a machine send together:
// who is the last there to publish the run sends what all of them have published, in one message.
// It finds it all as it was, since none of them writes there again before it has published later
// runs itself. A rank that is about to wait for others leaves its line to the last; who goes on
// with something else sends its own at once; and who has waited for a while, or leaves, sends what
// it had left (tern__calls_send_left). So a line may come twice, on two streams: of two that have
// the same number, or a lower one than is there, the second is dropped, and not counted. (r has
// settled k + TERN__SMALL_AHEAD before it publishes k + TERN__LINES: M had its line of run k by
// then.)
// And a line may come before one of an earlier run: a rank has published a run for another one that
// sees the lines of all runs up to there.
//
// A rank that stores for others leaves only when it has settled all runs it was in: those of its
// machine that wait longer find everything. Of mailboxes, the lines and acknowledgements go to the
// other rank itself, and have one reader and one writer as ever. Nothing else is copied: plans that
// touch windows or signals of other ranks run between machines only where they say so, in
// memory of the rank that they reach. Such a plan begins when the ranks of this machine have
// published the run, so nothing waits for a crossing before the bytes do: who publishes run k knows
// that all have ended k - TERN__SLOTS, so scratch, outputs and signals of the slot are free on all
// ranks. It has met the others before the run ends, and `out` is written after that. The ops of
// the call's next run begin likewise, before those of this one have ended (ahead.c): its slot is
// another one, and whoever publishes it knows the same of that.
#ifndef TERN_COLL_CALL_AREA_H
#define TERN_COLL_CALL_AREA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/area.h"
#include "comm/window.h"
#include "plan/exec/transfer.h"

enum { TERN__AHEAD = 4, TERN__SMALL_AHEAD = 32 };
_Static_assert(TERN__SLOTS == 2 * TERN__AHEAD && TERN__LINES == 2 * TERN__SMALL_AHEAD, "see above");

enum {
    TERN__LINE_BYTES = 48,      // of data in a published line
    TERN__LETTER_BYTES = 32,    // of data in a letter
    TERN__MAIL_LINE_BYTES = 40, // of data in a line of a mailbox
};

enum tern__form {
    TERN__FORM_IN_PLACE = 1, // in and out overlap, as the kind allows
    // Shares of in, of out, are no row of equal ones: a list. Not of v-collectives, whose tables
    // say where shares are.
    TERN__FORM_INS = 2,
    TERN__FORM_OUTS = 4,
    // Of a root: what others read of its ordinary memory is the second half. The first one is in
    // the slots of the runs that follow.
    TERN__FORM_HALF = 8,
    // Of calls whose way is learned (learn.c): that it is, and which way the call goes, of the rank
    // that decides, or will go, as others have foreseen it. Of the rank that decides: which way the
    // next one of its class will go, and whether all ranks are to time that one.
    TERN__FORM_LEARNED = 16,
    TERN__FORM_READS = 32,
    TERN__FORM_NEXT_READS = 64,
    TERN__FORM_NEXT_TIMED = 128,
};

// The bits of the form above: how long the last call of the class took on this rank, in units of 32
// ns; 0: it was not timed.
enum { TERN__FORM_TIME_AT = 8, TERN__FORM_TIME_NS = 32, TERN__FORM_TIME_MOST = (1 << 24) - 1 };

// Where a rank's buffers are; windows by tern__placement_key, 0: in none that all ranks have.
struct tern__placement {
    uint64_t in_window, out_window;
    // From the beginning of the mapping; of an input in no window, its address in its own process.
    uint64_t in_offset, out_offset;
    // v-collectives: the input is in the slot's payload, or in the small one (enum below). Others:
    // what others read of the first piece is, from byte (in_slot - 1) * 64 on, or there is nothing
    // that they read. 0: not so.
    uint32_t in_slot;
    uint32_t form;    // bits of enum tern__form, and a time
    uint64_t longest; // bytes of its largest share (v-collectives)
};
_Static_assert(sizeof(struct tern__placement) <= TERN__LINE_BYTES, "fits the line");

enum { TERN__IN_SLOT = 1, TERN__IN_SMALL = 2 };

// In the line of a run of pieces that does not announce its call: where in the payload it is.
struct tern__piece_place {
    uint64_t at;
};

struct tern__head {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t run; // published here last
    uint32_t digest;    // low bits, of the counts that all ranks have alike; else 0
    uint64_t signature; // sync/records.h
    alignas(8) unsigned char data[TERN__LINE_BYTES];
};
_Static_assert(sizeof(struct tern__head) == TERN_CACHE_LINE, "shared layout");

// In the run that announces a v-collective of two ranks, from one to the other. Whoever finds
// anything in it that is not as it should be goes by the line and the table. Other runs leave the
// letter as it is; so that one which is 2^32 runs old is not taken for a new one, there is
// its age.
struct tern__letter {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t run; // that it was written in
    uint32_t age;                                  // tern__letter_age of the call
    uint64_t signature;
    uint32_t in_bytes, out_bytes; // as in the table; UINT32_MAX: or more
    uint32_t in_offset;           // in the payload
    uint32_t in_slot;             // of the placement; also 0 where something is wrong
    alignas(8) unsigned char data[TERN__LETTER_BYTES]; // the input, when it is not longer
};
_Static_assert(sizeof(struct tern__letter) == TERN_CACHE_LINE, "shared layout");

// One line of a mailbox: a message, or a piece of one, is there when `number` has come to it. When
// the bytes are not in the line, a message's first one has the length of all (8 bytes), or says
// where it lies.
struct tern__mail {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t number;
    uint32_t bytes;     // in this piece
    uint64_t signature; // of the message; 0 in pieces that are not its first
    uint64_t tag;
    alignas(8) unsigned char data[TERN__MAIL_LINE_BYTES];
};
_Static_assert(sizeof(struct tern__mail) == TERN_CACHE_LINE, "shared layout");

// In the line of a message that the receiver copies from where it lies.
#define TERN__MAIL_REFERENCE UINT32_MAX // in place of the piece's bytes
struct tern__mail_reference {
    uint64_t window; // tern__placement_key; 0: offset is an address of the sender's
    uint64_t offset;
    uint64_t bytes;
};
_Static_assert(sizeof(struct tern__mail_reference) <= TERN__MAIL_LINE_BYTES, "fits the line");

struct tern__mail_ack {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t taken; // pieces; written by the receiver
};

static inline uint64_t tern__round_line(uint64_t bytes)
{
    return (bytes + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE;
}

static inline char *tern__area_part(const tern_window *area, int rank)
{
    return tern__window_at(area, rank, 0);
}

static inline struct tern__head *tern__area_head(const tern_window *area, int rank, uint32_t run)
{
    char *heads = tern__area_part(area, rank) + TERN__AREA_HEADS;
    return (struct tern__head *)(void *)(heads + run % TERN__LINES * TERN__LINE_PAIR);
}

static inline uint32_t tern__letter_age(uint64_t call_number)
{
    return (uint32_t)(call_number >> 16);
}

static inline struct tern__letter *tern__area_letter(const tern_window *area, int rank,
                                                     uint32_t run)
{
    char *letters = tern__area_part(area, rank) + TERN__AREA_LETTERS;
    return (struct tern__letter *)(void *)(letters + run % TERN__LINES * TERN__LINE_PAIR);
}

static inline struct tern__help *tern__area_help(const tern_window *area, int rank, uint32_t run)
{
    char *lines = tern__area_part(area, rank) + TERN__AREA_HELP;
    return (struct tern__help *)(void *)(lines + run % TERN__SLOTS * TERN__LINE_PAIR);
}

static inline char *tern__area_payload(const tern_window *area, int rank, uint32_t run)
{
    return tern__area_part(area, rank) + tern__area_payloads(area->nranks) +
           (size_t)(run % TERN__SLOTS) * TERN__SLOT_BYTES;
}

static inline char *tern__area_small_payload(const tern_window *area, int rank, uint32_t run)
{
    return tern__area_part(area, rank) + tern__area_small(area->nranks) +
           (size_t)(run % TERN__LINES) * tern__area_small_stride(area->nranks);
}

// The payload of a run through slots.
static inline char *tern__area_run_payload(const tern_window *area, int rank, uint32_t run,
                                           bool small)
{
    return small ? tern__area_small_payload(area, rank, run) : tern__area_payload(area, rank, run);
}

// Counts the arrivals of all ranks at one point of each run that uses it; up only. Who brings it to
// what all wait for rings the bells, so that nobody is woken for less.
static inline _Atomic uint32_t *tern__area_arrivals(const tern_window *area, uint32_t run,
                                                    uint32_t index)
{
    char *line = tern__area_part(area, 0) + TERN__AREA_ARRIVALS +
                 ((size_t)(run % TERN__LINES) * TERN__SLOT_ARRIVALS + index) * TERN_CACHE_LINE;
    return (_Atomic uint32_t *)(void *)line;
}

// Counts the ranks of this machine whose lines of the run may go to others together; up only.
static inline _Atomic uint32_t *tern__area_together(const tern_window *area, uint32_t run)
{
    char *line = tern__area_part(area, 0) + TERN__AREA_TOGETHER +
                 (size_t)(run % TERN__LINES) * TERN_CACHE_LINE;
    return (_Atomic uint32_t *)(void *)line;
}

// The signals of rank 0 in a run: a line each while there are few, packed when the plan has many.
static inline char *tern__area_signals(const tern_window *area, uint32_t run)
{
    return tern__area_part(area, 0) + TERN__AREA_SIGNALS +
           (size_t)(run % TERN__SLOTS) * TERN__SLOT_SIGNALS * TERN_CACHE_LINE;
}

// The one for plans that reach ranks of other machines.
static inline char *tern__area_wide_payload(const tern_window *area, int rank, uint32_t run)
{
    return tern__area_part(area, rank) + tern__area_wide(area->nranks) +
           (size_t)(run % TERN__SLOTS) * TERN__WIDE_BYTES;
}

// What the ranks of this machine think of their distance (xport/distance.h): rank 0's.
static inline _Atomic uint32_t *tern__area_votes(const tern_window *area)
{
    return (_Atomic uint32_t *)(void *)(tern__area_part(area, 0) + TERN__AREA_VOTES);
}

#define TERN__SIGNALS_PACKED (TERN__SLOT_SIGNALS * TERN_CACHE_LINE / 4)

// The mailbox on rank `to` for messages of rank `from`.
static inline struct tern__mail *tern__area_mail(const tern_window *area, int to, int from,
                                                 uint32_t number)
{
    char *box = tern__area_part(area, to) + TERN__AREA_MAIL +
                (size_t)from * TERN__MAIL_LINES * TERN_CACHE_LINE;
    return (struct tern__mail *)(void *)box + number % TERN__MAIL_SLOTS;
}

static inline struct tern__mail_ack *tern__area_mail_ack(const tern_window *area, int to, int from)
{
    char *box = tern__area_part(area, to) + TERN__AREA_MAIL +
                (size_t)from * TERN__MAIL_LINES * TERN_CACHE_LINE;
    return (struct tern__mail_ack *)(void *)(box + TERN__MAIL_SLOTS * TERN_CACHE_LINE);
}

static inline struct tern__help *tern__area_mail_help(const tern_window *area, int to, int from)
{
    return (struct tern__help *)(void *)(tern__area_mail_ack(area, to, from) + 1);
}

static inline char *tern__area_mail_payload(const tern_window *area, int to, int from,
                                            uint32_t number)
{
    uint32_t ring = tern__area_mail_ring(area->nranks);
    return tern__area_part(area, to) + tern__area_mail_payloads(area->nranks) +
           ((size_t)from * ring + number % ring) * TERN__MAIL_BYTES;
}

#endif
