// SPDX-License-Identifier: Apache-2.0
// What a launch borrows from its process: the signals it forwards, SIGCHLD, SIGPIPE, and the duty
// to adopt orphans. Everything is given back as it was. Set-up path.
#ifndef TERN_BOOT_LAUNCH_SIGNALS_H
#define TERN_BOOT_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct tern__signals {
    int fd; // a signalfd that never blocks
    int subreaper_before;
    sigset_t mask_before;
    struct sigaction child_before;
    struct sigaction pipe_before;
};

int tern__signals_take(struct tern__signals *signals);
void tern__signals_give_back(struct tern__signals *signals);

// In a forked child, before exec: no handler of the launcher's process, its mask as it was.
void tern__signals_reset_in_child(const struct tern__signals *signals);

// The next signal that has arrived, or 0; and whether it came from the terminal, which sends it to
// each process of its foreground group.
int tern__signals_next(const struct tern__signals *signals, bool *from_terminal);

// True for the signals that end a job.
bool tern__signal_ends_job(int number);

#endif
