// SPDX-License-Identifier: Apache-2.0
// Where ranks of other machines reach this process. Set-up path.
#ifndef TERN_BOOT_LISTEN_H
#define TERN_BOOT_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sync/machines.h"

// A TCP socket that listens at a port of the kernel's choice, on all addresses of this machine.
int tern__listen(int *fd, uint32_t *port);

// The same at this address; port 0: one of the kernel's choice, which is filled in.
// TERN_ERR_SYSTEM: the address is not this machine's, or the port is taken.
int tern__listen_at(struct tern__address *address, int *fd);

// The address that other machines reach this one at: TERN_NET_ADDRESS, else that of the first
// interface that is up and no loopback, else the loopback's; with the port.
int tern__listen_address(uint32_t port, struct tern__address *address);

// Whether others may reach this machine at the interface, by the family of addresses.
struct ifaddrs;
bool tern__interface_serves(const struct ifaddrs *at, int family);

// That of a socket, with another port; an IPv4 address that is dressed as IPv6 becomes plain.
void tern__address_set(struct tern__address *address, const struct sockaddr *from, uint32_t port);

void tern__address_set_port(struct tern__address *address, uint32_t port);

// Whether it is an address at all: what comes from elsewhere may be anything.
bool tern__address_is_one(const struct tern__address *address);

// From numbers, as in "10.77.0.2" or "::1"; false when it is neither, or cannot be the address by
// which others reach a machine: 0.0.0.0, many machines', one that is valid on one link only.
bool tern__address_read(struct tern__address *address, const char *text, uint32_t port);

// "10.77.0.2:4711". Lives as long as the full expression that it is made in.
struct tern__address_text {
    char text[64];
};
struct tern__address_text tern__address_text(const struct tern__address *address);

#endif
