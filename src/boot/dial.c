// SPDX-License-Identifier: Apache-2.0
// Addresses of this machine, and connections to those of others.

#include "boot/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/listen.h"

#define ATTEMPTS_MAX 16
#define NEXT_AFTER_NS (250 * TERN_NS_PER_MS)

// Adds the text of an address of the interface, when others may reach it.
static void add_own(char *text, const struct ifaddrs *at, int family)
{
    char word[INET6_ADDRSTRLEN];
    if (!tern__interface_serves(at, family)) {
        return;
    }
    if (family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, at->ifa_addr, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, word, sizeof word);
    } else {
        struct sockaddr_in6 six;
        memcpy(&six, at->ifa_addr, sizeof six);
        if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) {
            return; // it means something only together with an interface of the other machine
        }
        inet_ntop(AF_INET6, &six.sin6_addr, word, sizeof word);
    }
    size_t used = strlen(text);
    if (used + strlen(word) + 2 < TERN__DIAL_TEXT_BYTES) {
        snprintf(text + used, TERN__DIAL_TEXT_BYTES - used, "%s%s", used > 0 ? "," : "", word);
    }
}

void tern__dial_own(char text[TERN__DIAL_TEXT_BYTES])
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *list = NULL;
    text[0] = '\0';
    if (getifaddrs(&list) == 0) {
        for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
            for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next) {
                add_own(text, at, families[i]);
            }
        }
        freeifaddrs(list);
    }
    if (text[0] == '\0') {
        snprintf(text, TERN__DIAL_TEXT_BYTES, "127.0.0.1");
    }
}

// The attempts at connecting.
struct dialing {
    const char *left; // of the addresses
    uint32_t port;
    int count;
    struct pollfd fds[ATTEMPTS_MAX];
    char addresses[ATTEMPTS_MAX][80];
    char why[512]; // what went wrong, of those that failed
};

static void note_failure(struct dialing *dialing, const char *address, const char *why)
{
    size_t used = strlen(dialing->why);
    snprintf(dialing->why + used, sizeof dialing->why - used, "%s%.80s: %.60s",
             used > 0 ? ", " : "", address, why);
}

// Begins to connect to the next address. False when there is none.
static bool begin_next(struct dialing *dialing)
{
    char address[256];
    size_t length = strcspn(dialing->left, ",");
    if (length == 0 || dialing->count == ATTEMPTS_MAX) {
        return false;
    }
    snprintf(address, sizeof address, "%.*s", (int)length, dialing->left);
    dialing->left += length + (dialing->left[length] == ',');
    char port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    snprintf(port, sizeof port, "%u", dialing->port);
    int error = getaddrinfo(address, port, &hints, &found);
    if (error != 0) {
        note_failure(dialing, address, gai_strerror(error));
        return true;
    }
    int fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
    if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)) {
        note_failure(dialing, address, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
    } else {
        snprintf(dialing->addresses[dialing->count], sizeof dialing->addresses[0], "%.79s",
                 address);
        dialing->fds[dialing->count++] = (struct pollfd){.fd = fd, .events = POLLOUT};
    }
    freeaddrinfo(found);
    return true;
}

// The connection that has come about, or -1; drops those that have failed.
static int take_connected(struct dialing *dialing)
{
    for (int i = 0; i < dialing->count; i++) {
        int fd = dialing->fds[i].fd;
        if (fd < 0 || dialing->fds[i].revents == 0) {
            continue;
        }
        int error = tern__dial_error(fd);
        if (error == 0) {
            dialing->fds[i].fd = -1;
            return fd;
        }
        note_failure(dialing, dialing->addresses[i], strerror(error));
        close(fd);
        dialing->fds[i].fd = -1;
    }
    return -1;
}

static bool any_open(const struct dialing *dialing)
{
    for (int i = 0; i < dialing->count; i++) {
        if (dialing->fds[i].fd >= 0) {
            return true;
        }
    }
    return false;
}

int tern__dial(const char *addresses, uint32_t port, int64_t deadline_ns, int *fd)
{
    struct dialing dialing = {.left = addresses, .port = port};
    int connected = -1;
    bool more = begin_next(&dialing);
    int64_t next_ns = tern__now_ns() + NEXT_AFTER_NS;
    while (connected < 0 && (more || any_open(&dialing)) && tern__now_ns() < deadline_ns) {
        if (more && (!any_open(&dialing) || tern__now_ns() >= next_ns)) {
            more = begin_next(&dialing);
            next_ns = tern__now_ns() + NEXT_AFTER_NS;
            continue;
        }
        int64_t until_ns = more && next_ns < deadline_ns ? next_ns : deadline_ns;
        if (poll(dialing.fds, (nfds_t)dialing.count, tern__deadline_ms(until_ns, 60000)) > 0) {
            connected = take_connected(&dialing);
        }
    }
    for (int i = 0; i < dialing.count; i++) {
        if (dialing.fds[i].fd >= 0) {
            close(dialing.fds[i].fd);
        }
    }
    if (connected < 0) {
        return tern__fail(TERN_ERR_PEER, "cannot connect to port %u of %.300s (%s)", port,
                          addresses, dialing.why[0] != '\0' ? dialing.why : "no answer");
    }
    *fd = connected;
    return TERN_OK;
}

int tern__dial_begin(const struct tern__address *address, int *fd)
{
    struct sockaddr_storage to = {0};
    memcpy(&to, address->bytes, address->length);
    int made = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return errno;
    }
    if (connect(made, (struct sockaddr *)&to, address->length) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        int error = errno;
        close(made);
        return error;
    }
    *fd = made;
    return 0;
}

int tern__dial_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

bool tern__dial_address(int fd, bool own, uint32_t port, struct tern__address *address)
{
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof at;
    int failed = own ? getsockname(fd, (struct sockaddr *)&at, &length)
                     : getpeername(fd, (struct sockaddr *)&at, &length);
    if (failed != 0 || (at.ss_family != AF_INET && at.ss_family != AF_INET6)) {
        return false;
    }
    tern__address_set(address, (const struct sockaddr *)&at, port);
    if (address->length == sizeof(struct sockaddr_in)) {
        struct sockaddr_in four;
        memcpy(&four, address->bytes, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 != 127;
    }
    struct sockaddr_in6 six;
    memcpy(&six, address->bytes, sizeof six);
    return !IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}
