// SPDX-License-Identifier: Apache-2.0
// The parts of `tern info`.
#ifndef TERN_CLI_INFO_H
#define TERN_CLI_INFO_H

// The algorithms of a kind (-1: of all), and which sizes get which on nranks ranks. A status of
// tern.
int cli_info_algos(int kind, int nranks);

// Prints a list of words, one a line. -1: there is no list of this name.
#define CLI_INFO_LISTS "kinds, plan-kinds, algorithms, dtypes, ops, topologies"
int cli_info_words(const char *list);

#endif
