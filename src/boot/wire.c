// SPDX-License-Identifier: Apache-2.0
// Packets and descriptors over Unix sockets.

#include "boot/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "sync/ctl.h"

struct tern__wire_message tern__wire_message(enum tern__wire_kind kind)
{
    return (struct tern__wire_message){.magic = TERN__WIRE_MAGIC,
                                       .abi = TERN__CTL_ABI,
                                       .kind = (uint32_t)kind};
}

int tern__wire_send(int fd, const struct tern__wire_message *message, const int *fds, int count)
{
    union {
        struct cmsghdr header; // for alignment
        char bytes[CMSG_SPACE(sizeof(int) * TERN__WIRE_FDS_MAX)];
    } control;
    struct iovec piece = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr packet = {.msg_iov = &piece, .msg_iovlen = 1};
    if (count > 0) {
        memset(&control, 0, sizeof control);
        packet.msg_control = control.bytes;
        packet.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * (size_t)count);
    }
    for (;;) {
        ssize_t sent = sendmsg(fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0 || errno != EINTR) {
            return sent == (ssize_t)sizeof *message ? 0 : -1;
        }
    }
}

bool tern__wire_is_full(void)
{
    return errno == ETOOMANYREFS;
}

void tern__wire_stayed_full(int64_t waited_ns)
{
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    tern__set_error("user %u has had too many descriptors under way in Unix sockets for %.3g s: "
                    "process %d may add to them up to its limit of open files, %llu (ulimit -n); "
                    "raise it, or end the processes of this user that do not take what they were "
                    "sent",
                    (unsigned)getuid(), (double)waited_ns * 1e-9, (int)getpid(),
                    (unsigned long long)files.rlim_cur);
}

// Takes the descriptors out of a received packet.
static int take_fds(struct msghdr *packet, int fds[TERN__WIRE_FDS_MAX])
{
    int count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(packet); header != NULL;
         header = CMSG_NXTHDR(packet, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        int found = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int i = 0; i < found && count < TERN__WIRE_FDS_MAX; i++) {
            memcpy(&fds[count++], CMSG_DATA(header) + sizeof(int) * (size_t)i, sizeof(int));
        }
    }
    return count;
}

int tern__wire_receive(int fd, struct tern__wire_message *message, int fds[TERN__WIRE_FDS_MAX],
                       int *count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * TERN__WIRE_FDS_MAX)];
    } control;
    struct iovec piece = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr packet = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t got;
    int resets = 0; // reported before what the other side said last: look once more
    do {
        got = recvmsg(fd, &packet, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
    *count = 0;
    if (got < 0) {
        return errno == ECONNRESET ? 0 : -1;
    }
    *count = take_fds(&packet, fds);
    if (got == 0) {
        return 0;
    }
    bool ours = got == (ssize_t)sizeof *message && message->magic == TERN__WIRE_MAGIC &&
                message->abi == TERN__CTL_ABI && (packet.msg_flags & MSG_TRUNC) == 0;
    bool cut = (packet.msg_flags & MSG_CTRUNC) != 0; // descriptors that this process cannot have
    if (ours && !cut) {
        message->text[TERN__WIRE_TEXT_BYTES - 1] = '\0';
        return 1;
    }
    for (int i = 0; i < *count; i++) {
        close(fds[i]);
    }
    *count = 0;
    errno = ours ? EMFILE : EPROTO;
    return -1;
}
