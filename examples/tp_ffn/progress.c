// SPDX-License-Identifier: Apache-2.0
// Progress (progress.h).
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "support.h"

#define TERMINAL_FIRST_S 0.5
#define TERMINAL_EVERY_S 0.2
#define LINE_EVERY_S 10.0

struct progress progress_begin(const char *name, double total)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;
    return (struct progress){.name = name,
                             .total = total,
                             .next = seconds_now() + (terminal ? TERMINAL_FIRST_S : LINE_EVERY_S),
                             .terminal = terminal};
}

void progress_add(struct progress *progress, double amount)
{
    if (progress == NULL) {
        return;
    }
    progress->done += amount;
    double now = seconds_now();
    if (now < progress->next) {
        return;
    }
    printf("%s%-20s %8.0f %%%s", progress->terminal ? "\r" : "", progress->name,
           100 * progress->done / progress->total, progress->terminal ? "" : "\n");
    fflush(stdout);
    progress->shown = progress->terminal;
    progress->next = now + (progress->terminal ? TERMINAL_EVERY_S : LINE_EVERY_S);
}

void progress_end(struct progress *progress)
{
    if (progress->shown) {
        printf("\r\033[K"); // back to the left edge, and clear to the right one
        fflush(stdout);
    }
}
