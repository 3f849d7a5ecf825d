// SPDX-License-Identifier: Apache-2.0
// Words over TCP, and signs of life.

#include "boot/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "sync/ctl.h"

#define LINK_MAGIC 0x6b6e696cu
#define SIGNS_OF_LIFE 10 // in the time that the other side may be silent

int tern__link_open(struct tern__link *link, int fd, int64_t silence_ns)
{
    int on = 1;
    *link = (struct tern__link){.fd = fd,
                                .silence_ns = silence_ns,
                                .heard_ns = tern__now_ns(),
                                .input = malloc(TERN__LINK_BUFFER_BYTES),
                                .output = malloc(TERN__LINK_BUFFER_BYTES)};
    if (link->input == NULL || link->output == NULL) {
        tern__link_close(link);
        return tern__fail(TERN_ERR_MEMORY, "no memory for the connection of two launchers");
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return TERN_OK;
}

void tern__link_close(struct tern__link *link)
{
    if (link->fd >= 0) {
        close(link->fd);
    }
    free(link->input);
    free(link->output);
    *link = (struct tern__link){.fd = -1, .state = link->state};
    link->state = link->state == TERN__LINK_OPEN ? TERN__LINK_CLOSED : link->state;
}

static void write_out(struct tern__link *link)
{
    while (link->out > 0 && link->state == TERN__LINK_OPEN) {
        ssize_t sent = send(link->fd, link->output, link->out, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            link->out -= (uint32_t)sent;
            memmove(link->output, link->output + sent, link->out);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            link->out = 0; // what was received before the end is still to be heard
            return;
        }
    }
}

void tern__link_say(struct tern__link *link, const struct tern__link_word *word,
                    const void *payload)
{
    if (link->fd < 0 || link->state != TERN__LINK_OPEN) {
        return;
    }
    struct tern__link_word full = *word;
    full.magic = LINK_MAGIC;
    full.abi = TERN__CTL_ABI;
    if (full.bytes > TERN__LINK_PAYLOAD_MAX ||
        link->out + sizeof full + full.bytes > TERN__LINK_BUFFER_BYTES) {
        link->state = TERN__LINK_CLOSED;
        return;
    }
    memcpy(link->output + link->out, &full, sizeof full);
    link->out += (uint32_t)sizeof full;
    if (full.bytes > 0) {
        memcpy(link->output + link->out, payload, full.bytes);
        link->out += full.bytes;
    }
    link->said_ns = tern__now_ns();
    write_out(link);
}

struct pollfd tern__link_pollfd(const struct tern__link *link)
{
    bool open = link->fd >= 0 && link->state == TERN__LINK_OPEN;
    return (struct pollfd){.fd = open ? link->fd : -1,
                           .events = (short)(link->out > 0 ? POLLIN | POLLOUT : POLLIN)};
}

static void read_in(struct tern__link *link)
{
    if (link->taken > 0) {
        link->in -= link->taken;
        memmove(link->input, link->input + link->taken, link->in);
        link->taken = 0;
    }
    while (link->in < TERN__LINK_BUFFER_BYTES) {
        ssize_t got = recv(link->fd, link->input + link->in, TERN__LINK_BUFFER_BYTES - link->in,
                           MSG_DONTWAIT);
        if (got > 0) {
            link->in += (uint32_t)got;
            link->heard_ns = tern__now_ns();
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else if (got == 0 || errno != EINTR) {
            link->state = TERN__LINK_CLOSED;
            return;
        }
    }
}

int64_t tern__link_turn(struct tern__link *link)
{
    if (link->fd < 0 || link->state != TERN__LINK_OPEN) {
        return INT64_MAX;
    }
    read_in(link);
    int64_t now_ns = tern__now_ns();
    int64_t every_ns = link->silence_ns / SIGNS_OF_LIFE;
    if (link->state == TERN__LINK_OPEN && now_ns - link->said_ns >= every_ns) {
        tern__link_say(link, &(struct tern__link_word){0}, NULL);
    }
    write_out(link);
    if (link->state == TERN__LINK_OPEN && now_ns - link->heard_ns >= link->silence_ns) {
        link->state = TERN__LINK_SILENT;
    }
    if (link->state != TERN__LINK_OPEN) {
        return now_ns;
    }
    int64_t say_ns = link->said_ns + every_ns;
    int64_t end_ns = link->heard_ns + link->silence_ns;
    return say_ns < end_ns ? say_ns : end_ns;
}

bool tern__link_hear(struct tern__link *link, struct tern__link_word *word, const void **payload)
{
    while (link->in - link->taken >= sizeof *word) {
        const char *at = link->input + link->taken;
        memcpy(word, at, sizeof *word);
        if (word->magic != LINK_MAGIC || word->abi != TERN__CTL_ABI ||
            word->bytes > TERN__LINK_PAYLOAD_MAX) {
            link->state = TERN__LINK_FOREIGN;
            link->taken = link->in;
            return false;
        }
        if (link->in - link->taken < sizeof *word + word->bytes) {
            return false;
        }
        link->taken += (uint32_t)sizeof *word + word->bytes;
        *payload = at + sizeof *word;
        if (word->kind != 0) {
            return true;
        }
    }
    return false;
}
