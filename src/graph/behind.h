// SPDX-License-Identifier: Apache-2.0
// What is behind tasks that wait for signals: the tasks that come after them and have said what
// they notify (tern_task.notices). For reports of runs that do not end (sync/circle.h).
#ifndef TERN_GRAPH_BEHIND_H
#define TERN_GRAPH_BEHIND_H

#include "graph/chip.h"
#include "sync/circle.h"

// What was found last, and when: it is looked for again when tasks have ended or others wait.
struct tern__behind {
    bool shown;
    uint64_t ended;
    uint32_t holds;
};

// Shows the job the links of this chip when only signals bring its run further (`held`), else that
// there are none. `ended`: how many tasks have. Allocates; the scheduler calls it while it waits.
void tern__behind_show(struct tern_chip *chip, struct tern__behind *behind, bool held,
                       uint64_t ended);

#endif
