// SPDX-License-Identifier: Apache-2.0
// What waits for signals: tasks, to start; and blocks, to have ended. No core is held by them. The
// scheduler looks at them when it is rung, and cores while they have nothing else to do.
#ifndef TERN_GRAPH_HOLD_H
#define TERN_GRAPH_HOLD_H

#include <pthread.h>

#include "graph/task.h"

struct tern__holds {
    pthread_mutex_t lock;
    struct tern__hold *first, *last;
    _Atomic uint32_t count;
    _Atomic uint32_t words; // holds of words that nobody rings for
};

// The task's waits. True: nothing waits, since all hold already, or the task is poisoned.
bool tern__hold_start(struct tern_chip *chip, struct tern__task *task);

// A block of the task ends when the untils, which are copied, all hold. *waits: as long as that;
// else they hold already, or the task is poisoned. False: no memory.
bool tern__hold_end(struct tern_chip *chip, struct tern__task *task,
                    const struct tern__until *untils, uint32_t count, bool *waits);

// Takes out of the list, by `next`, what need not wait any more; the caller starts those tasks, and
// ends those blocks and frees their holds. `must`: not only when nobody else is just looking.
struct tern__hold *tern__holds_take(struct tern_chip *chip, bool must);

#endif
