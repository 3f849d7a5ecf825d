// SPDX-License-Identifier: Apache-2.0
// Calls: functions of the host in the order of a stream. One that may begin is *ready*, and in a
// list until somebody begins it: a thread that waits for its stream, which costs nobody a switch,
// or a thread of the device that was *summoned* for it, which is a system call and a switch.
//
// Whether to summon at once is guessed from the stream's last call. If a waiting thread ran it, the
// next is left to such a thread; should none come, the ticker summons at its next tick. While calls
// come, the ticker wakes once a tick, so that who appends one has nobody to wake; then it sleeps.
// With two ranks on two processors, summoning for every call adds 25 us to an AllReduce of 8 B and
// its synchronisation; leaving it to who waits, 0.4.
#ifndef TERN_STREAM_CALL_H
#define TERN_STREAM_CALL_H

#include "stream/device.h"

// All of what follows under the lock of the device.

// The first of the stream is a call that can begin.
void tern__call_ready(struct tern_stream *stream);

// The caller waits for the stream (or for none: NULL). When its first is a ready call and the
// caller `runs` such calls, runs it, without the lock meanwhile: true. Else a ready call is
// summoned for, and the answer is false.
bool tern__call_help(struct tern_stream *stream, bool runs);

// Summons for all that is ready: others wait for it.
void tern__calls_hurry(void);

// The child of a fork has none.
void tern__calls_forget(void);

#endif
