// SPDX-License-Identifier: Apache-2.0
// Direct or through slots: which of two ways has been faster for calls of a class, those of a kind
// with shares of about the same length. No table knows that for every machine, nor whether buffers
// are in caches, so it is learned while calls are made: one rank takes their times, decides, and
// says in the line of each call which way that goes, which way the next one will go, and whether
// that is timed.
//
// The first calls go the way that is guessed, by a table or by what was learned of the class
// beside it, the next ones a row of four one way and a row of four the other, in turn, until one
// is clearly faster; afterwards the faster one, and now and then a row, that may be longer, goes
// the other way. (A class whose neighbour is sure to tell the truth begins with that.) Of a row
// only the last ones count: what calls of the other way left behind, in caches and of ranks that
// are late, is over by then. Times are compared by their medians, so a call that was held up does
// not matter. What is preferred is given up for what is faster by a sixteenth. When the other way
// is tried again, what it took before is forgotten: processes are moved, buffers leave caches.
//
// Any two ways: this knows nothing of what they are. Data path.
#ifndef TERN_COLL_CALL_LEARNED_H
#define TERN_COLL_CALL_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TERN__LEARNED_TIMES = 5,  // of each way, the last ones
    TERN__LEARNED_ROW = 4,    // calls in a row that go a way to be compared: at first, and at least
    TERN__LEARNED_ROWS = 4,   // at first, in turn; two when one way is clearly faster
    TERN__LEARNED_AGAIN = 16, // so many rows later the other way is tried again; when it has not
    TERN__LEARNED_MOST = 128, // been faster, after twice as many, up to these
    TERN__LEARNED_SOON = 2,   // rows until what had become slower is tried again
    TERN__LEARNED_EVERY = 8,  // of the calls that go the preferred way one in so many is timed
    TERN__LEARNED_RUNS = 4,   // that a rank may be ahead of the one that decides
    TERN__LEARNED_SIZES = 24, // classes by length; the last one has all that is longer
};

// A way that is none of the two.
enum { TERN__LEARNED_OTHER = 2 };

// How a class begins.
struct tern__learned_plan {
    bool guess;        // the way
    uint32_t begin_at; // after how many calls
    uint32_t first;    // calls of a row at first;
    uint32_t row[2];   // later, by way,
    uint32_t left[2];  // and how many of these do not count
    bool warm;         // neither way is slower in the first calls: two rows may be enough
    bool trusts;       // the guess is what was faster: there are no rows at first
};

struct tern__learned {
    // Of the rank that decides.
    uint32_t times[2][TERN__LEARNED_TIMES]; // by way; any unit
    uint32_t taken[2];                      // how many there have been
    uint32_t calls;                         // that counted
    struct tern__learned_plan plan;
    uint32_t again_at, again; // when the other way is tried, and after how many
    uint32_t other_at;        // the call at which the last time of the other way was taken
    uint32_t same;            // so many calls have gone the way of the last one
    uint8_t last;
    bool row_way;    // of the calls that count: where the last ones have gone, and the next one
    uint32_t in_row; // goes; and how many of them there are in a row before that
    bool preferred;
    bool clear; // one way was clearly faster after two rows
    bool tried; // by a row behind the first ones
    bool anew;  // the other way is being tried again, and has no time of that yet

    // Of every rank.
    bool begun;            // it is known
    bool next, next_timed; // what the next call will do
    uint32_t time;         // of the last call on this rank; 0: it was not timed
    // The last runs that announced one, and the rank that decides: what that says of the next call
    // may not be known yet. 0: it is.
    uint32_t runs[TERN__LEARNED_RUNS];
    int decider;
};

// The way of the next call, which the ranks have been told; and, in l->next and l->next_timed, what
// the one behind it will do. plan: if it is the first one. counts: it will be timed if that was
// said; else nothing is learned of it.
bool tern__learned_decide(struct tern__learned *l, struct tern__learned_plan plan, bool counts);

// Whether both ways have been compared, here or where the guess is from: what is preferred is
// known.
bool tern__learned_is_known(const struct tern__learned *l);

// How a call went (by way; or TERN__LEARNED_OTHER), and how long the one before it took; 0: not
// known.
void tern__learned_take(struct tern__learned *l, uint8_t way, uint32_t time);

#endif
