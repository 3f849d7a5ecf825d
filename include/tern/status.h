// SPDX-License-Identifier: Apache-2.0
// Status codes. Every function of tern that can fail returns an int: TERN_OK (0), or a negative
// number of this table; what it could not do, where and why is in tern_last_error(). Outputs are
// written only on success.
//
// An error that a program does not look at is still seen: with TERN_LOG=error (the default under
// `tern run`) each refused call and each failed communicator is one line on standard error, and
// with TERN_ERRORS=fatal the process then ends with exit status 125 (docs/debugging.md).
//
// A handle (communicator, window, chip, graph, plan, topology, check, executor) that is NULL, has
// been destroyed or is of another kind is TERN_ERR_ARG in every call; a call that returns no status
// returns 0 or NULL. A destroyed handle is known as such until 64 more of its kind have been
// destroyed; its memory then serves a new one.
#ifndef TERN_STATUS_H
#define TERN_STATUS_H

#include "tern/api.h"

TERN_BEGIN_DECLS

enum tern_status {
#define TERN_STATUS(name, number, text) TERN_##name = (number),
#include "tern/status.def"
#undef TERN_STATUS
};

// The name of a status ("TERN_ERR_PEER") and its text ("a rank died"). For any other
// number both strings say that it is not a status. Any thread; the strings are constant.
TERN_API const char *tern_status_name(int status);
TERN_API const char *tern_status_text(int status);

// The sentence that belongs to the last failed call of this thread: what was wrong, where, and what
// would be right. Never NULL; empty before the first failure. Valid until this thread's next failed
// call.
TERN_API const char *tern_last_error(void);

// For a call whose status does not matter, so that the compiler does not warn: a cast to void is
// not enough for gcc.
static inline void tern_status_ignore(int status)
{
    (void)status;
}

TERN_END_DECLS

#endif
