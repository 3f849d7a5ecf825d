// SPDX-License-Identifier: Apache-2.0
// What the head of a job on several machines and the launcher of each, a branch, say to one another
// over their link (boot/link.h). Between processes of one build; the link looks at that.
#ifndef TERN_BOOT_WORDS_H
#define TERN_BOOT_WORDS_H

#include <stdint.h>

#include "boot/hub.h"

enum tern__word {
    TERN__WORD_LIFE, // a sign of life
    // From a branch.
    TERN__WORD_JOIN,    // struct tern__word_join: the first
    TERN__WORD_PRESENT, // struct tern__hub_present of gathering `value`
    TERN__WORD_ENDED,   // rank, value: its wait status, number: enum tern__word_end; what it was in
    TERN__WORD_FAIL,    // value: exit status; a sentence: the job cannot go on here
    TERN__WORD_FAILURE, // of a communicator: its sentence
    TERN__WORD_ASK_CLOCK, // question `value`: what does the clock of the head say?
    // A trace, when the ranks have ended:
    TERN__WORD_CLOCKS, // struct tern__clock_line: from the clock here to that of the head, which
                       // events are in already
    TERN__WORD_TRACK,  // rank; the head of a track
    TERN__WORD_EVENTS, // rank; events of its track that was told last
    TERN__WORD_TRACED, // rank; value: its threads without a track; number: events that a track
                       // holds. That was all of it
    TERN__WORD_OVER,   // nothing of the job is left here: the last
    // From the head.
    TERN__WORD_GO,         // struct tern__machines: all have come to gathering `value`
    TERN__WORD_GIVE_UP,    // value: status; a sentence: gathering `number` has failed
    TERN__WORD_END,        // value, rank: milliseconds until SIGTERM and SIGKILL
    TERN__WORD_SIGNAL,     // value: a signal that the head got
    TERN__WORD_RANK_ENDED, // rank, value: its wait status, number: enum tern__word_end
    TERN__WORD_CLOCK,      // number: what the clock says, for question `value`
    TERN__WORD_GONE, // number: bit r: rank r is gone with its machine; value: milliseconds that
                     // this has been silent, or 0
};

// What a branch gives its ranks that can still learn, from one another or from the head, why they
// end.
enum { TERN__SILENT_TERM_MS = 300, TERN__SILENT_KILL_MS = 500 };

// Bits of `number`; above them 1 + the rank that the others blamed, or 0.
enum tern__word_end {
    TERN__WORD_FELL = 1,     // failed on its own
    TERN__WORD_DESERTED = 2, // without leaving the job
    TERN__WORD_SUSPECT = 256,
};

struct tern__word_join {
    uint8_t token[16];
    int32_t machine;
    char address[80]; // where other machines reach its ranks, or "": where the connection is from
};

#endif
