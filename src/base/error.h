// SPDX-License-Identifier: Apache-2.0
// How a function of tern fails: it states a sentence and returns a status. Data path: nothing here
// is on it.
#ifndef TERN_BASE_ERROR_H
#define TERN_BASE_ERROR_H

#include "tern/status.h"

#define TERN_ERROR_BYTES 1024

// Remembers the sentence for tern_last_error() of this thread. The arguments may contain the
// previous sentence. The second form ends it with ": " and the text of errno as it was on entry.
void tern__set_error(const char *format, ...) TERN_PRINTF(1, 2);
void tern__set_error_errno(const char *format, ...) TERN_PRINTF(1, 2);

// For what may fail on the way to a success: the sentence as it is, and to have it back.
struct tern__sentence {
    char text[TERN_ERROR_BYTES];
};
struct tern__sentence tern__keep_error(void);
void tern__restore_error(const struct tern__sentence *kept);

static inline int tern__status(int status)
{
    return status;
}

// Sets the sentence; the value is `status`, which the compiler thereby knows.
#define tern__fail(status, ...) (tern__set_error(__VA_ARGS__), tern__status(status))
#define tern__fail_errno(status, ...) (tern__set_error_errno(__VA_ARGS__), tern__status(status))

// Passes on a failure of something that returns a status.
#define TERN_TRY(call)                                                                             \
    do {                                                                                           \
        int tern__try_status = (call);                                                             \
        if (tern__try_status < 0) {                                                                \
            return tern__try_status;                                                               \
        }                                                                                          \
    } while (0)

#endif
