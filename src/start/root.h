// SPDX-License-Identifier: Apache-2.0
// Joining at a place that one of the ranks has made, on one machine or several.
#ifndef TERN_START_ROOT_H
#define TERN_START_ROOT_H

#include "boot/exchange.h"

// A place at this address of this machine, as a text without a port; NULL: the one that ranks of
// other machines reach this one at. This process is to join at it.
int tern__root_make(const char *address, struct tern__root *root);

// The place at this address of rank 0's machine, which will listen there. All agree on it.
int tern__root_agreed(const char *address, uint32_t port, const uint8_t token[16],
                      struct tern__root *root);

// As tern_init_at, at a place (boot/exchange.h) instead of a path.
int tern__init_root(const struct tern__root *root, int rank, int nranks,
                    const tern_options *options, tern_comm **comm);

#endif
