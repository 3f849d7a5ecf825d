// SPDX-License-Identifier: Apache-2.0
// Commands that are a job themselves: the process that was started starts this program again, once
// per rank, with the hidden option --as-rank and otherwise the same words.
#ifndef TERN_CLI_RANKS_H
#define TERN_CLI_RANKS_H

#include <stdbool.h>

// As timeout(1) and env(1) say that they failed themselves, not the program.
#define CLI_EXIT_LAUNCHER_FAILED 125

// How many when nobody says: the processors this process may use, at least 2.
int cli_usual_nranks(void);

// argv as the command got it, its options before its other words if getopt has seen them. Returns
// the exit status of the job, CLI_EXIT_LAUNCHER_FAILED after a sentence when it could not be
// started.
int cli_start_ranks(int nranks, int argc, char *const *argv);

// The same where the hosts say, which may be this machine alone.
struct cli_hosts;
int cli_start_ranks_on(const struct cli_hosts *hosts, int nranks, int argc, char *const *argv);

// Whether `tern run`, or cli_start_ranks, has started this process; and whether it is the one of
// the job that speaks about wrong usage: all ranks find the same.
bool cli_is_rank(void);
bool cli_speaks(void);

// For what measures: binds this rank to a processor of its own when there are enough of them, as
// Open MPI does by itself. Otherwise two ranks that sleep now and then may share one while another
// idles.
void cli_bind_rank(void);

#endif
