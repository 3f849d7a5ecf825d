// SPDX-License-Identifier: Apache-2.0
// The help of `tern perf`.
#ifndef TERN_CLI_PERF_HELP_H
#define TERN_CLI_PERF_HELP_H

extern const char perf_help_head[], perf_help_foot[]; // around the options
void perf_print_kinds(void);                          // after the head

#endif
