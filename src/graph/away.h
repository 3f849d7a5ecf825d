// SPDX-License-Identifier: Apache-2.0
// Tasks that run elsewhere than on the chip's cores: on other chips, for a node (src/node). They
// are submitted with tern__away_kernel as their kernel. When such a task is ready, it is handed
// over; whoever it was handed to ends it with tern__run_finish, poisoned when it has failed. Rows,
// heaps, order, waits, deadline and failures are those of all tasks.
#ifndef TERN_GRAPH_AWAY_H
#define TERN_GRAPH_AWAY_H

#include "graph/run.h"

struct tern__away {
    // The task is ready. False: nothing starts any more; the caller ends it, poisoned. Any thread.
    bool (*ready)(struct tern__away *away, struct tern__task *task);
    // It is poisoned, and ends without having been handed over.
    void (*drop)(struct tern__away *away, struct tern__task *task);
    // Ends what has come back. `must`: not only when nobody else is just looking. Any thread of the
    // chip; whoever changes what it looks at rings tern__chip_bell.
    void (*look)(struct tern__away *away, bool must);
    // The scheduler has slept, 0.1 s or less. Also after the run has failed.
    void (*tick)(struct tern__away *away);
    // Nothing starts any more, and what has started is waited for no longer: all of it ends now.
    void (*cancel)(struct tern__away *away);
    // What runs and what waits, each with "; " before it; returns the length.
    size_t (*describe)(struct tern__away *away, char *text, size_t size);
    // Whether anything runs.
    bool (*runs)(const struct tern__away *away);
};

// Marks a submission; never called.
void tern__away_kernel(int64_t *args);

#endif
