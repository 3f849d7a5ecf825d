// SPDX-License-Identifier: Apache-2.0
// Words for the records of sync/records.h.
#ifndef TERN_SYNC_RECORD_TEXT_H
#define TERN_SYNC_RECORD_TEXT_H

#include "sync/records.h"
#include "tern/coll.h"

// The call in words, for a sentence: "all_reduce 17 of 1024 bytes (f32 sum)".
void tern__record_text(const struct tern__recorded *call, char *text, size_t size);

// What a rank of the job is in, for a sentence about its end: "tern_all_reduce (call 17, 1024
// bytes)"; the latest call that has not ended. False when there is none.
bool tern__record_open_text(const struct tern__ctl *ctl, int member, char *text, size_t size);

// "window", "slot", …; "" when not known.
const char *tern__way_name(enum tern__way way);

// "entered", "waiting", "done", "failed".
const char *tern__record_state_name(enum tern__record_state state);

#endif
