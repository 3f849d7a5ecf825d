// SPDX-License-Identifier: Apache-2.0
// Tasks that wait for each other in a circle across ranks. A rank of which only signals bring a run
// further (TERN__DOING_HELD) shows links in the control memory: a task that waits for a signal, and
// a task behind it that has said which signal it notifies. Who misses a deadline looks for links
// that end where they began.
#ifndef TERN_SYNC_CIRCLE_H
#define TERN_SYNC_CIRCLE_H

#include "sync/group.h"

#define TERN__LINK_TASK_BYTES 18 // of a name
#define TERN__LINK_ALL 255       // instead of a rank: each of the communicator

struct tern__wait_link {
    uint64_t waits_at, notifies_at; // bytes of
    uint32_t waits_window, notifies_window;
    uint8_t waits_slot, notifies_slot; // the windows' communicators
    uint8_t rank;                      // of the job: whose signal is notified
    uint8_t same;                      // the task that waits is the one that notifies
    char waits[TERN__LINK_TASK_BYTES];
    char notifies[TERN__LINK_TASK_BYTES];
};
_Static_assert(sizeof(struct tern__wait_link) == 64, "shared layout");

#define TERN__LINKS                                                                                \
    ((int)((TERN__RUNS_BYTES - TERN__RUNS_TEXT_BYTES) / sizeof(struct tern__wait_link)))

// The links of this rank, up to TERN__LINKS; those that it has shown before are gone.
void tern__links_show(struct tern__job *job, const struct tern__wait_link *links, int count);

// "task 'a' of rank 0 waits for byte 0 of window 0, which task 'c' of rank 1 notifies; 'c' comes
// after 'b', which waits for byte 8 of window 0, which task 'a' of rank 0 notifies". If there is
// such a circle: the one that this rank's tasks are in or wait for, else any. Returns the length, 0
// for none.
size_t tern__circle_text(const struct tern__group *group, char *text, size_t size);

#endif
