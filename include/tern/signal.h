// SPDX-License-Identifier: Apache-2.0
// Signals: 32-bit signed words in windows, 4-byte aligned. Anybody notifies; the owner waits. What
// a rank wrote (plain stores, tern_put) before it notified is visible to a rank that saw the new
// value in wait or test. Let signals only count up: a signal that is reset between uses loses an
// early notify.
//
// The meaning is that of TNOTIFY, TWAIT and TTEST of the PTO communication ISA, with a deadline and
// with the death of a peer as an error instead of a hang.
#ifndef TERN_SIGNAL_H
#define TERN_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/window.h"

TERN_BEGIN_DECLS

typedef enum tern_notify_op {
    TERN_NOTIFY_ADD = 0, // signal += value, atomically; wraps around like two's complement
    TERN_NOTIFY_SET = 1, // signal = value
} tern_notify_op;

// signal <cmp> value, as signed numbers.
typedef enum tern_cmp {
    TERN_CMP_EQ = 0,
    TERN_CMP_NE = 1,
    TERN_CMP_GT = 2,
    TERN_CMP_GE = 3,
    TERN_CMP_LT = 4,
    TERN_CMP_LE = 5,
} tern_cmp;

// Changes the signal at offset_bytes in the window of `rank` (which may be the caller's own), and
// wakes its owner if it sleeps. Any thread. Returns at once.
TERN_CALL int tern_signal_notify(tern_window *window, int rank, size_t offset_bytes, int32_t value,
                                 tern_notify_op op);

// Returns when the signal at offset_bytes in the caller's own window satisfies the comparison.
// Any thread, several at a time. Costs no processor time after a short spin.
//
// timeout_ns: TERN_TIMEOUT_DEFAULT for the communicator's deadline, which fails the communicator
// when it passes; a deadline of the call's own (>= 0) only ends this call. Both are
// TERN_ERR_TIMEOUT and say the value seen and the value wanted, and, after 0.1 s or more, what each
// other rank does. TERN_ERR_PEER names a dead rank. A rank that has left (tern_comm_destroy) is no
// error here: others may still notify.
TERN_CALL int tern_signal_wait(tern_window *window, size_t offset_bytes, tern_cmp cmp,
                               int32_t value, int64_t timeout_ns);

// Does not block: 1 when the comparison holds, 0 when it does not, negative on error.
TERN_CALL int tern_signal_test(tern_window *window, size_t offset_bytes, tern_cmp cmp,
                               int32_t value);

// The value as it is now, read with acquire order.
TERN_CALL int tern_signal_read(tern_window *window, size_t offset_bytes, int32_t *value);

// One comparison on one signal of the caller's own window.
typedef struct tern_condition {
    tern_window *window;
    size_t offset_bytes;
    tern_cmp cmp;
    int32_t value;
} tern_condition;

// Waits until all conditions hold at the same scan, or until any one holds (*which: its index, the
// lowest). All windows belong to one job. count >= 1. Otherwise like tern_signal_wait.
TERN_CALL int tern_signal_wait_all(const tern_condition *conditions, size_t count,
                                   int64_t timeout_ns);
TERN_CALL int tern_signal_wait_any(const tern_condition *conditions, size_t count,
                                   int64_t timeout_ns, size_t *which);

TERN_END_DECLS

#endif
