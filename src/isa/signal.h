// SPDX-License-Identifier: Apache-2.0
// Signals from inside: comparing without checks, for who has checked before and looks often.
#ifndef TERN_ISA_SIGNAL_H
#define TERN_ISA_SIGNAL_H

#include <stdbool.h>

#include "comm/window.h"
#include "sync/far.h"
#include "tern/signal.h"

// Whether `seen <cmp> value`.
static inline bool tern__cmp_holds(int32_t seen, tern_cmp cmp, int32_t value)
{
    switch (cmp) {
    case TERN_CMP_EQ:
        return seen == value;
    case TERN_CMP_NE:
        return seen != value;
    case TERN_CMP_GT:
        return seen > value;
    case TERN_CMP_GE:
        return seen >= value;
    case TERN_CMP_LT:
        return seen < value;
    case TERN_CMP_LE:
        return seen <= value;
    }
    return false;
}

// "==", "!=", …
const char *tern__cmp_text(tern_cmp cmp);

// The word of a checked condition, in the caller's own part.
static inline const _Atomic uint32_t *tern__condition_word(const tern_condition *condition)
{
    const tern_window *window = condition->window;
    return (const _Atomic uint32_t *)(const void *)tern__window_at(window, window->rank,
                                                                   condition->offset_bytes);
}

// The value now. Sequentially consistent: partner of shm_notify, both as acquire (what was written
// before the notify is visible) and in the doorbell's handshake (sync/bell.h).
static inline int32_t tern__condition_seen(const tern_condition *condition)
{
    const int32_t seen = (int32_t)tern__flag_load(tern__condition_word(condition));
#ifdef __SANITIZE_THREAD__
    // A rank of another machine puts something here, tells a neighbour of this rank, and that
    // notifies: the receiving thread has stored it before, but a tool that looks at one process
    // does not see the way over two others.
    struct tern__group *group = &condition->window->comm->group;
    if (tern__far_is(group)) {
        group->job->far->see(group->job);
    }
#endif
    return seen;
}

// Where a signal of a rank's part is in this process. TERN_ERR_ARG, with a sentence that begins
// with `call`, when the window does not live, the rank does not exist or the place is none.
int tern__signal_check(const char *call, tern_window *window, int rank, size_t offset_bytes,
                       char **address);

// TERN_OK, or what is wrong with a condition; `call` begins the sentence.
int tern__condition_check(const char *call, const tern_condition *condition);

// Waits until all conditions hold in one scan, as tern_signal_wait_all, in the name of `call`.
int tern__conditions_wait(const char *call, const tern_condition *conditions, size_t count,
                          int64_t timeout_ns);

#endif
