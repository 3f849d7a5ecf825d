// SPDX-License-Identifier: Apache-2.0
// Transfers beside the thread that begins them, by a copy engine: a thread of this process. A
// session is a sequence of them, as those of TPUT_ASYNC and TGET_ASYNC of the PTO communication
// ISA: waiting for one waits for all that its session began before. A session is used by one thread
// at a time; sessions are shared out among a few engines and know nothing of each other.
#ifndef TERN_ASYNC_H
#define TERN_ASYNC_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_ASYNC_MAX 64 // transfers of a session that are under way

typedef struct tern_session tern_session;

// A session that nothing has begun in.
TERN_CALL int tern_session_create(tern_session **session);

// Ends what is under way first. NULL is allowed.
TERN_API int tern_session_destroy(tern_session *session);

// Begins to = from, of size_bytes bytes: put from here to anywhere, get the other way about; what
// is in a window lies in one rank's part of it, as for tern_tensor_put, with its errors. *event is
// the transfer's number, from 1 on. `from` must not change and `to` not be used before it is waited
// for; but who waits for what `to` holds is woken when the transfer has ended. When TERN_ASYNC_MAX
// are under way the calling thread takes part in the copying.
TERN_CALL int tern_async_put(tern_session *session, void *to, const void *from, size_t size_bytes,
                             uint64_t *event);
TERN_CALL int tern_async_get(tern_session *session, void *to, const void *from, size_t size_bytes,
                             uint64_t *event);

// Returns when the transfer of this number, and all that were begun before it, have ended; what was
// stored is visible to whoever sees a notify of the calling thread that comes later. Takes part in
// the copying. Test does not wait: 1 when they have, else 0; negative on error. TERN_ERR_ARG for a
// number that was not given.
TERN_CALL int tern_session_wait(tern_session *session, uint64_t event);
TERN_CALL int tern_session_test(tern_session *session, uint64_t event);

TERN_END_DECLS

#endif
