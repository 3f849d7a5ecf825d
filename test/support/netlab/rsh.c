// SPDX-License-Identifier: Apache-2.0
// The agent, which stands in for ssh: it hands a command and the own stdin, stdout and stderr to
// the first process of a host, and ends as the command ends. As with ssh, nothing else of the
// caller goes along: neither its environment, nor its folder, nor signals that it gets.
#include "netlab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int reach(const char *folder, const char *host)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", netlab_file(folder, host));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool hand_over(int fd, const char *command)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec text = {.iov_base = (char *)(uintptr_t)command, .iov_len = strlen(command) + 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(&control.head), (int[]){0, 1, 2}, 3 * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

int netlab_rsh(const char *folder, const char *host, const char *command)
{
    int fd = reach(folder, host);
    if (fd < 0) {
        fprintf(stderr, "rsh: there is no host '%s' in %s: %s\n", host, folder, strerror(errno));
        return 255;
    }
    int status = 255;
    ssize_t got = -1;
    if (hand_over(fd, command)) {
        do {
            got = recv(fd, &status, sizeof status, 0);
        } while (got < 0 && errno == EINTR);
    }
    if (got != sizeof status) {
        fprintf(stderr, "rsh: host '%s' is gone\n", host);
        status = 255;
    }
    close(fd);
    return status;
}

int netlab_agent(const char *folder, int argc, char **argv)
{
    static char command[NETLAB_COMMAND];
    int at = 1;
    for (; at < argc && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        if (strcmp(argv[at], "-n") == 0) {
            int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (null >= 0) {
                dup2(null, 0);
            }
        }
        at += strchr("oliFpS", argv[at][1]) != NULL && argv[at][2] == '\0'; // they have a value
    }
    if (argc - at < 2) {
        fprintf(stderr, "usage: rsh [options of ssh] HOST COMMAND...\n");
        return 255;
    }
    size_t used = 0;
    for (int i = at + 1; i < argc; i++) {
        size_t bytes = strlen(argv[i]);
        if (used + bytes + 2 > sizeof command) {
            fprintf(stderr, "rsh: the command has more than %d bytes\n", NETLAB_COMMAND - 2);
            return 255;
        }
        memcpy(command + used, argv[i], bytes);
        used += bytes;
        command[used++] = i + 1 < argc ? ' ' : '\0';
    }
    return netlab_rsh(folder, argv[at], command);
}
