// SPDX-License-Identifier: Apache-2.0
// The subcommands of `tern`. Each gets its own name as argv[0] and returns the exit status: 0, 2
// for wrong usage after one sentence on standard error, else what its manual page says. Whether
// standard output could be written is looked at by main.c, for all of them; if not, 0 becomes
// CLI_EXIT_LOST.
#ifndef TERN_CLI_H
#define TERN_CLI_H

#define CLI_EXIT_LOST 1
#define CLI_EXIT_USAGE 2

int cli_run(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_perf(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_kernel_cc(int argc, char **argv);
int cli_example(int argc, char **argv);
int cli_info(int argc, char **argv);

#endif
