// SPDX-License-Identifier: Apache-2.0
// The parts of `tern info`.
#ifndef TERN_CLI_INFO_H
#define TERN_CLI_INFO_H

// The algorithms of a kind (-1: of all), and which sizes get which on nranks ranks. A status of tern.
int cli_info_algos(int kind, int nranks);

#endif
