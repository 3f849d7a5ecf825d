// SPDX-License-Identifier: Apache-2.0
// What ACL asks of streams and events beyond tern/stream.h. Any thread. Set-up path.
#ifndef TERN_STREAM_MORE_H
#define TERN_STREAM_MORE_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/stream.h"

// Whether what follows a failure in the stream is run: as it is made, it is not, until
// tern_stream_sync has told the failure. Either way that tells the first one.
int tern__stream_go_on(tern_stream *stream, bool goes_on);

// What the stream has failed with, or had when the event happened: TERN_OK or an error with its
// sentence, which tern_stream_sync and tern_event_sync still tell.
int tern__stream_failure(tern_stream *stream);
int tern__event_failure(const char *call, tern_event *event);

// From its next record on the event says only when: failures before it are nothing to who waits.
int tern__event_only_orders(tern_event *event);

// 1 when a stream has not yet passed a tern_stream_wait_event for this event, whichever of its
// records that was for; else 0; negative on error. O(what is appended to all streams).
int tern__event_is_waited_for(tern_event *event);

// How long a stream may wait for an event before waits of TERN_TIMEOUT_DEFAULT for the stream say
// so, instead of their own deadline. TERN_TIMEOUT_NEVER; 0: their own, as at first.
void tern__stream_limit_events(int64_t limit_ns);
int64_t tern__stream_event_limit(void);

#endif
