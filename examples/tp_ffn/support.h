// SPDX-License-Identifier: Apache-2.0
// What every file of this example uses: a failure that travels to rank 0 before it is printed, the
// exit statuses, memory, and a clock.
#ifndef TP_FFN_SUPPORT_H
#define TP_FFN_SUPPORT_H

#include <stddef.h>

// Exit statuses: the work failed or the result is wrong; the command line was wrong.
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

// Why something did not work. exit_status 0 means that nothing failed.
struct failure {
    int exit_status;
    char sentence[480];
};

// Fills in a failure and returns its exit status, so that a caller can say `return fail(...)`.
int fail(struct failure *failure, int exit_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// A failure of a call of tern: what was tried, and tern's own sentence.
int fail_tern(struct failure *failure, const char *what);

// Memory for count elements, aligned to cache lines, to be given to free(). NULL after fail().
void *allocate(size_t count, size_t element_bytes, struct failure *failure);

double seconds_now(void);

#endif
