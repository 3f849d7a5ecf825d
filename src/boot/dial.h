// SPDX-License-Identifier: Apache-2.0
// Reaching a process of another machine that may have several addresses. Set-up path.
#ifndef TERN_BOOT_DIAL_H
#define TERN_BOOT_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sync/machines.h"

#define TERN__DIAL_TEXT_BYTES 1024

// The addresses that this machine may be reached at, the likeliest first, with commas between them:
// of the interfaces that are up; the loopback's only when there is no other.
void tern__dial_own(char text[TERN__DIAL_TEXT_BYTES]);

// Connects to the port at one of the addresses (or names): to each a moment after the one before,
// and the first that answers is taken. TERN_ERR_PEER with a sentence about each.
int tern__dial(const char *addresses, uint32_t port, int64_t deadline_ns, int *fd);

// Begins to connect: *fd is a socket that does not block, and that poll reports as writable when
// that has ended. 0, or errno.
int tern__dial_begin(const struct tern__address *address, int *fd);

// How it has ended: 0, or errno.
int tern__dial_error(int fd);

// Where the other side of a connection is, or this side (`own`), with another port. False when that
// is the loopback, which means something else on each machine.
bool tern__dial_address(int fd, bool own, uint32_t port, struct tern__address *address);

#endif
