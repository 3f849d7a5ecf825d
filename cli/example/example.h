// SPDX-License-Identifier: Apache-2.0
// The parts of `tern example`.
#ifndef TERN_CLI_EXAMPLE_H
#define TERN_CLI_EXAMPLE_H

// One rank of an example folder (rank.h); its own exit statuses.
int cli_example_rank(int argc, char **argv);

#endif
