// SPDX-License-Identifier: Apache-2.0
// A rank's listening socket, and its address.

#include "boot/listen.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

_Static_assert(sizeof(struct sockaddr_in6) <= TERN__ADDRESS_BYTES, "an address has room");

static int bind_any(int fd, bool six)
{
    if (six) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6};
        int off = 0;
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        return bind(fd, (struct sockaddr *)&any, sizeof any);
    }
    struct sockaddr_in any = {.sin_family = AF_INET};
    return bind(fd, (struct sockaddr *)&any, sizeof any);
}

int tern__listen(int *fd, uint32_t *port)
{
    for (int six = 1; six >= 0; six--) {
        int made = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0) {
            continue;
        }
        struct sockaddr_in6 bound = {0};
        socklen_t length = sizeof bound;
        if (bind_any(made, six != 0) == 0 && listen(made, 2 * TERN_RANKS_MAX) == 0 &&
            getsockname(made, (struct sockaddr *)&bound, &length) == 0) {
            *fd = made;
            *port = ntohs(bound.sin6_port); // where a sockaddr_in has its port, too
            return TERN_OK;
        }
        close(made);
    }
    return tern__fail_errno(TERN_ERR_SYSTEM, "cannot listen for ranks of other machines");
}

int tern__listen_at(struct tern__address *address, int *fd)
{
    struct sockaddr_storage at = {0};
    socklen_t length = address->length;
    int on = 1;
    memcpy(&at, address->bytes, address->length);
    int made = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made >= 0) {
        setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // of a job before
    }
    if (made < 0 || bind(made, (struct sockaddr *)&at, address->length) != 0 ||
        listen(made, 2 * TERN_RANKS_MAX) != 0 ||
        getsockname(made, (struct sockaddr *)&at, &length) != 0) {
        int status = tern__fail_errno(TERN_ERR_SYSTEM, "cannot listen at %s",
                                      tern__address_text(address).text);
        if (made >= 0) {
            close(made);
        }
        return status;
    }
    memcpy(address->bytes, &at, address->length);
    *fd = made;
    return TERN_OK;
}

void tern__address_set(struct tern__address *address, const struct sockaddr *from, uint32_t port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } made = {0};
    address->length = from->sa_family == AF_INET6 ? sizeof made.six : sizeof made.four;
    memcpy(&made, from, address->length);
    if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&made.six.sin6_addr)) {
        struct sockaddr_in four = {.sin_family = AF_INET};
        memcpy(&four.sin_addr, made.six.sin6_addr.s6_addr + 12, sizeof four.sin_addr);
        memset(&made, 0, sizeof made);
        made.four = four;
        address->length = sizeof made.four;
    }
    made.four.sin_port = htons((uint16_t)port);
    memcpy(address->bytes, &made, address->length);
}

void tern__address_set_port(struct tern__address *address, uint32_t port)
{
    struct sockaddr_in four; // the port of a sockaddr_in6 is where this has it
    memcpy(&four, address->bytes, sizeof four);
    four.sin_port = htons((uint16_t)port);
    memcpy(address->bytes, &four, sizeof four);
}

bool tern__address_is_one(const struct tern__address *address)
{
    sa_family_t family;
    memcpy(&family, address->bytes, sizeof family);
    return (family == AF_INET && address->length == sizeof(struct sockaddr_in)) ||
           (family == AF_INET6 && address->length == sizeof(struct sockaddr_in6));
}

bool tern__address_read(struct tern__address *address, const char *text, uint32_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        in_addr_t number = ntohl(four.sin_addr.s_addr);
        if (number == INADDR_ANY || IN_MULTICAST(number) || number == INADDR_BROADCAST) {
            return false;
        }
        tern__address_set(address, (struct sockaddr *)&four, port);
        return true;
    }
    const struct in6_addr *number = &six.sin6_addr;
    if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1 && !IN6_IS_ADDR_UNSPECIFIED(number) &&
        !IN6_IS_ADDR_MULTICAST(number) && !IN6_IS_ADDR_LINKLOCAL(number)) {
        tern__address_set(address, (struct sockaddr *)&six, port);
        return true;
    }
    return false;
}

bool tern__interface_serves(const struct ifaddrs *at, int family)
{
    return at->ifa_addr != NULL && at->ifa_addr->sa_family == family &&
           (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
}

int tern__listen_address(uint32_t port, struct tern__address *address)
{
    const char *option = getenv("TERN_NET_ADDRESS");
    if (option != NULL && option[0] != '\0') {
        return tern__address_read(address, option, port)
                   ? TERN_OK
                   : tern__fail(TERN_ERR_ARG,
                                "TERN_NET_ADDRESS is '%.80s'; it is the IPv4 or IPv6 address that "
                                "other machines reach this one at",
                                option);
    }
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) == 0) {
        for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next) {
            if (tern__interface_serves(at, AF_INET)) {
                tern__address_set(address, at->ifa_addr, port);
                freeifaddrs(list);
                return TERN_OK;
            }
        }
        freeifaddrs(list);
    }
    tern__address_read(address, "127.0.0.1", port);
    return TERN_OK;
}

struct tern__address_text tern__address_text(const struct tern__address *address)
{
    struct tern__address_text text;
    char host[INET6_ADDRSTRLEN] = "?";
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } from = {0};
    memcpy(&from, address->bytes, address->length <= sizeof from ? address->length : 0);
    if (from.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &from.six.sin6_addr, host, sizeof host);
    } else {
        inet_ntop(AF_INET, &from.four.sin_addr, host, sizeof host);
    }
    snprintf(text.text, sizeof text.text, "%s:%u", host, ntohs(from.four.sin_port));
    return text;
}
