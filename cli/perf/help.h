// SPDX-License-Identifier: Apache-2.0
// The help of `tern perf`.
#ifndef TERN_CLI_PERF_HELP_H
#define TERN_CLI_PERF_HELP_H

// Prints it, once per job; returns the exit status 0.
int perf_print_help(void);

#endif
