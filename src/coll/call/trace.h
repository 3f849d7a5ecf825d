// SPDX-License-Identifier: Apache-2.0
// What collective calls and messages leave in a trace. Called only while a trace is recorded:
// begin_ns is of tern__trace_start, and not 0.
#ifndef TERN_COLL_CALL_TRACE_H
#define TERN_COLL_CALL_TRACE_H

#include "base/trace.h"
#include "coll/call/mail.h"

// A call or a message that ends now, from its traced_ns on.
void tern__trace_call(const struct tern__coll *call);
void tern__trace_message(const struct tern__message *message);

// This rank has published a run; and it has seen that all have.
void tern__trace_publish(const struct tern__coll *call, uint32_t run, int64_t begin_ns);
void tern__trace_meet(const struct tern__coll *call, uint32_t run, int64_t begin_ns);

// A step of the oldest call that notifies others, or one that waited and is over.
void tern__trace_step(const struct tern__lanes *lanes, const struct tern__step *step,
                      int64_t begin_ns);

// A piece of a message, into the mailbox or out of it.
void tern__trace_piece(const struct tern__message *message, uint32_t number, uint64_t bytes,
                       int64_t begin_ns);

// What the tasks are about to wait for.
void tern__trace_calls_rest(struct tern__calls *calls, struct tern__trace_event *event);
void tern__trace_message_rest(const struct tern__message *message, struct tern__trace_event *event);

#endif
