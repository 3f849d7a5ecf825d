// SPDX-License-Identifier: Apache-2.0
// The subcommands of `tern`. Each gets its own name as argv[0] and returns the exit status: 0, 2 for
// wrong usage after one sentence on standard error, else what its manual page says.
#ifndef TERN_CLI_H
#define TERN_CLI_H

#define CLI_EXIT_USAGE 2

int cli_run(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_perf(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_info(int argc, char **argv);

#endif
