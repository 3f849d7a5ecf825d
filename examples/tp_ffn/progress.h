// SPDX-License-Identifier: Apache-2.0
// How far a long computation is, on standard output: a line that is rewritten on a terminal,
// elsewhere a line every ten seconds. A computation that is over within half a second prints
// nothing.
#ifndef TP_FFN_PROGRESS_H
#define TP_FFN_PROGRESS_H

#include <stdbool.h>

struct progress {
    const char *name;
    double total, done; // of anything, usually floating point operations
    double next;        // seconds_now() when to print again
    bool terminal;
    bool shown; // there is a line on the terminal
};

struct progress progress_begin(const char *name, double total);

// So much more is done. NULL is allowed: nobody wants to know.
void progress_add(struct progress *progress, double amount);

// Takes the line off the terminal.
void progress_end(struct progress *progress);

#endif
