// SPDX-License-Identifier: Apache-2.0
// Where ranks of other machines reach this process. Set-up path.
#ifndef TERN_BOOT_LISTEN_H
#define TERN_BOOT_LISTEN_H

#include <stdint.h>

#include "sync/machines.h"

// A TCP socket that listens at a port of the kernel's choice, on all addresses of this machine.
int tern__listen(int *fd, uint32_t *port);

// The address that other machines reach this one at: TERN_NET_ADDRESS, else that of the first
// interface that is up and no loopback, else the loopback's; with the port.
int tern__listen_address(uint32_t port, struct tern__address *address);

// "10.77.0.2:4711". Lives as long as the full expression that it is made in.
struct tern__address_text {
    char text[64];
};
struct tern__address_text tern__address_text(const struct tern__address *address);

#endif
