// SPDX-License-Identifier: Apache-2.0
// Sending: connections are made when they are first used, and written to by the thread that has
// something to send. Nobody waits for a rank that has died, nor longer than the job's deadline for
// one that takes nothing.

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/dial.h"
#include "boot/listen.h"
#include "net/carry.h"
#include "net/state.h"

#define LOOK_MS 50 // how often a sender that is held up looks whether the other side lives
#define BYE_MS 1000

// Waits for a descriptor, as long as the job's deadline.
static int await(const struct tern__net *net, int rank, int fd)
{
    int64_t deadline_ns = tern__deadline_after(net->job->timeout_ns);
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (poll(&wait, 1, LOOK_MS) > 0) {
            return TERN_OK;
        }
        if (tern__net_is_gone(net, rank)) {
            return tern__net_say_gone(net, rank);
        }
        if (tern__flag_load(&net->stop) != 0 || tern__now_ns() >= deadline_ns) {
            return tern__fail(TERN_ERR_TIMEOUT, "rank %d at %s has taken nothing for %.3g s", rank,
                              tern__address_text(&net->job->machines->address[rank]).text,
                              (double)net->job->timeout_ns * 1e-9);
        }
    }
}

static int open_socket(struct tern__net *net, int rank, int *fd)
{
    const struct tern__machines *machines = net->job->machines;
    const struct tern__address *address = &machines->address[rank];
    int made = -1;
    int error = tern__dial_begin(address, &made);
    if (error == EMFILE || error == ENFILE) {
        errno = error;
        return tern__fail_errno(TERN_ERR_SYSTEM, "no socket to reach rank %d", rank);
    }
    if (error == 0) {
        int status = await(net, rank, made);
        if (status != TERN_OK) {
            close(made);
            return status;
        }
        error = tern__dial_error(made);
    }
    if (error != 0 && made >= 0) {
        close(made);
    }
    if (error != 0) {
        if (error == ECONNREFUSED || error == ECONNRESET) { // it listened when the job began
            tern__net_await_loss(net, rank);
        }
        return tern__fail(TERN_ERR_PEER, "cannot reach rank %d at %s from machine %s: %s", rank,
                          tern__address_text(address).text, machines->list[machines->mine].name,
                          strerror(error));
    }
    *fd = made;
    return TERN_OK;
}

// The kernel could not read a payload: who gave it is told where it was, as by a load of its own.
static void touch(const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) {
        const volatile char *bytes = parts[i].iov_base;
        for (size_t at = 0; at < parts[i].iov_len; at += 4096) {
            (void)bytes[at];
        }
        (void)bytes[parts[i].iov_len - 1];
    }
}

// Steps over bytes that were sent.
static void advance(struct iovec **parts, int *count, size_t bytes)
{
    while (*count > 0 && bytes >= (*parts)->iov_len) {
        bytes -= (*parts)->iov_len;
        ++*parts;
        --*count;
    }
    if (*count > 0) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + bytes;
        (*parts)->iov_len -= bytes;
    }
}

// All of it; no part is empty. flags: MSG_MORE, when more follows at once.
static int write_all(struct tern__net *net, int rank, struct iovec *parts, int count, int flags)
{
    struct tern__net_peer *peer = &net->peers[rank];
    int status = peer->broken
                     ? tern__fail(TERN_ERR_PEER, "the connection to rank %d has ended", rank)
                     : TERN_OK;
    while (count > 0 && status == TERN_OK) {
        struct msghdr packet = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t now = sendmsg(peer->link->fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
        if (now >= 0) {
            advance(&parts, &count, (size_t)now);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            status = await(net, rank, peer->link->fd);
        } else if (errno == EFAULT) {
            touch(parts, count);
            status = tern__fail_errno(TERN_ERR_ARG, "what is sent to rank %d cannot be read", rank);
        } else if (errno == ENOBUFS || errno == ENOMEM) {
            poll(NULL, 0, 1); // the kernel has no memory for it right now
            status = tern__net_is_gone(net, rank) ? tern__net_say_gone(net, rank) : TERN_OK;
        } else if (errno != EINTR) { // whether it has died or left, the thread that receives sees
            status = tern__net_say_gone(net, rank);
        }
    }
    peer->broken = peer->broken || status != TERN_OK;
    return status;
}

int tern__net_write(struct tern__net *net, int rank, struct tern__net_message *message)
{
    struct iovec part = {message, sizeof *message};
    if (tern__net_is_carried(net, message->kind)) {
        return tern__net_carry(net, rank, message, NULL);
    }
    return write_all(net, rank, &part, 1, 0);
}

int tern__net_connect(struct tern__net *net, int rank)
{
    struct tern__net_peer *peer = &net->peers[rank];
    if (peer->link != NULL) {
        return TERN_OK;
    }
    int fd = -1;
    TERN_TRY(open_socket(net, rank, &fd));
    pthread_mutex_lock(&net->work);
    peer->link = tern__net_link_new(net, fd, rank, true);
    pthread_mutex_unlock(&net->work);
    if (peer->link == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a connection to rank %d", rank);
    }
    struct tern__net_message hello = {.kind = TERN__NET_HELLO,
                                      .rank = net->job->rank,
                                      .word = TERN__CTL_ABI,
                                      .more = TERN__CTL_MAGIC};
    memcpy(&hello.value, net->job->token, sizeof hello.value);
    memcpy(&hello.key, net->job->token + sizeof hello.value, sizeof hello.key);
    return tern__net_write(net, rank, &hello);
}

// A put whose notify follows, a payload whose line does: the kernel makes one packet of both. It
// waits for no more than 200 ms, and for nothing that anybody may rely on: all else that is sent to
// the rank, a flush too, takes along what has waited.
static int flags_of(const struct tern__net_message *message)
{
    bool followed = message->kind == TERN__NET_PUT || message->kind == TERN__NET_AREA;
    return followed && message->word == 0 ? MSG_MORE : 0;
}

// A message of a kind, for flushes. The lock of the peer is held.
static void count_sent(struct tern__net *net, int rank, uint32_t kind, bool awaited)
{
    if (net->handlers[kind].loose) {
        return;
    }
    net->peers[rank].sent++;
    atomic_fetch_or_explicit(&net->unconfirmed, UINT64_C(1) << rank, memory_order_seq_cst);
    if (!awaited) {
        atomic_fetch_or_explicit(&net->unfenced, UINT64_C(1) << rank, memory_order_seq_cst);
    }
}

static int send_one(struct tern__net *net, int rank, const struct tern__net_message *message,
                    const void *payload, bool awaited)
{
    struct tern__net_peer *peer = &net->peers[rank];
    struct tern__net_message header = *message;
    struct iovec parts[] = {{&header, sizeof header}, {(void *)(uintptr_t)payload, message->bytes}};
    if (tern__net_is_gone(net, rank)) {
        return tern__net_say_gone(net, rank);
    }
    tern__flag_add(&net->said, 1); // partner: tern__net_receive
    pthread_mutex_lock(&peer->lock);
    bool carried = tern__net_is_carried(net, message->kind);
    int status = carried ? TERN_OK : tern__net_connect(net, rank);
    if (status == TERN_OK) {
        count_sent(net, rank, message->kind, awaited);
        status = carried
                     ? tern__net_carry(net, rank, message, payload)
                     : write_all(net, rank, parts, message->bytes > 0 ? 2 : 1, flags_of(message));
    }
    pthread_mutex_unlock(&peer->lock);
    return status;
}

int tern__net_send(struct tern__net *net, int rank, const struct tern__net_message *message,
                   const void *payload)
{
    return send_one(net, rank, message, payload, net->handlers[message->kind].awaited);
}

int tern__net_send_awaited(struct tern__net *net, int rank, const struct tern__net_message *message,
                           const void *payload)
{
    return send_one(net, rank, message, payload, true);
}

void tern__net_tell(struct tern__net *net, uint64_t ranks, const struct tern__net_message *message,
                    const void *payload)
{
    const struct tern__machines *machines = net->job->machines;
    char before[TERN_ERROR_BYTES]; // the caller may be about to return with it
    strcpy(before, tern_last_error());
    bool all = true;
    for (int machine = 0; machine < machines->count; machine++) {
        if (machine != machines->mine && (machines->list[machine].ranks & ranks) != 0) {
            int leader = machines->list[machine].leader;
            all = tern__net_send(net, leader, message, payload) == TERN_OK && all;
        }
    }
    if (!all) {
        tern__set_error("%s", before);
    }
}

// A message is not begun where it might not end: the other side would take what follows for its
// rest.
static void say_bye(int fd, int64_t until_ns)
{
    struct tern__net_message bye = {.kind = TERN__NET_BYE};
    const char *at = (const char *)&bye;
    size_t left = sizeof bye;
    while (left > 0) {
        ssize_t now = send(fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now > 0) {
            at += now;
            left -= (size_t)now;
            continue;
        }
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        int64_t left_ms = (until_ns - tern__now_ns()) / TERN_NS_PER_MS;
        if (errno != EAGAIN || left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0) {
            return;
        }
    }
}

// What has come and nobody looks at is read: else closing would tell the other side that it was
// lost, and take away what that has not read.
static void drain(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
}

// One that does not, but was silent, is to see that it is alone, not that this rank has left.
static bool counts_as_dead(const struct tern__net *net, int rank)
{
    return tern__flag_load(&net->job->ctl->ranks[rank].state) == TERN__RANK_DEAD;
}

void tern__net_say_bye(struct tern__net *net)
{
    int64_t until_ns = tern__now_ns() + BYE_MS * TERN_NS_PER_MS;
    for (int rank = 0; rank < net->job->nranks; rank++) {
        struct tern__net_peer *peer = &net->peers[rank];
        pthread_mutex_lock(&peer->lock);
        if (peer->link != NULL && !peer->broken && !counts_as_dead(net, rank)) {
            say_bye(peer->link->fd, until_ns);
            drain(peer->link->fd);
        }
        pthread_mutex_unlock(&peer->lock);
    }
    for (struct tern__net_link *link = net->links; link != NULL; link = link->next) {
        bool between = link->first == NULL || link->first->sent == 0;
        if (link->outgoing) {
            continue;
        }
        // One that has not been heard yet may be of the job, too.
        bool dead = link->peer >= 0 && counts_as_dead(net, link->peer);
        if (!link->closed && between && !dead) {
            say_bye(link->fd, until_ns);
        }
        if (!link->closed) {
            drain(link->fd);
        }
    }
}
