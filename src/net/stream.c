// SPDX-License-Identifier: Apache-2.0
// Sending: connections are made when they are first used, and written to by the thread that has
// something to send. Nobody waits for a rank that has died.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/listen.h"
#include "net/state.h"
#include "sync/wait.h"

#define LOOK_MS 50 // how often a sender that is held up looks whether the other side lives

static bool is_gone(const struct tern__net *net, int rank)
{
    uint32_t state = tern__flag_load(&net->job->ctl->ranks[rank].state);
    return state == TERN__RANK_DEAD || state == TERN__RANK_LEFT;
}

static int say_gone(const struct tern__net *net, int rank)
{
    char text[160];
    tern__ctl_death_text(net->job->ctl, rank, text, sizeof text);
    return tern__fail(TERN_ERR_PEER, "%s", text);
}

void tern__net_lost(struct tern__net *net, int rank)
{
    if (tern__flag_load(&net->stop) == 0 && !is_gone(net, rank)) {
        tern__ctl_mark_dead(net->job->ctl, rank);
    }
}

struct tern__net_link *tern__net_link_new(struct tern__net *net, int fd, int peer, bool outgoing)
{
    struct tern__net_link *link = calloc(1, sizeof *link);
    char *buffer = malloc(TERN__NET_BUFFER);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    int one = 1;
    if (link == NULL || buffer == NULL) {
        goto failed;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *link = (struct tern__net_link){.fd = fd, .peer = peer, .outgoing = outgoing, .buffer = buffer};
    pthread_mutex_lock(&net->links_lock);
    link->next = net->links;
    net->links = link;
    pthread_mutex_unlock(&net->links_lock);
    // What it is, is set before its events can come.
    if (epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        link->closed = true;
        close(fd);
        return NULL;
    }
    return link;
failed:
    free(link);
    free(buffer);
    close(fd);
    return NULL;
}

// Waits for a descriptor; TERN_ERR_PEER when the rank has died meanwhile.
static int await(const struct tern__net *net, int rank, int fd, short events, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = events};
        if (poll(&wait, 1, LOOK_MS) > 0) {
            return TERN_OK;
        }
        if (is_gone(net, rank)) {
            return say_gone(net, rank);
        }
        if (tern__flag_load(&net->stop) != 0 || tern__now_ns() >= deadline_ns) {
            return tern__fail(TERN_ERR_TIMEOUT, "rank %d at %s takes nothing", rank,
                              tern__address_text(&net->job->machines->address[rank]).text);
        }
    }
}

static int open_socket(const struct tern__net *net, int rank, int *fd)
{
    const struct tern__address *address = &net->job->machines->address[rank];
    union {
        struct sockaddr any;
        struct sockaddr_in6 six;
    } to = {0};
    memcpy(&to, address->bytes, address->length);
    int made = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "no socket to reach rank %d", rank);
    }
    int error = connect(made, &to.any, address->length) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        int status = await(net, rank, made, POLLOUT, tern__deadline_after(net->job->timeout_ns));
        socklen_t length = sizeof error;
        if (status != TERN_OK) {
            close(made);
            return status;
        }
        getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error != 0) {
        close(made);
        return tern__fail(TERN_ERR_PEER, "cannot reach rank %d at %s from machine %s: %s", rank,
                          tern__address_text(address).text,
                          net->job->machines->list[net->job->machines->mine].name, strerror(error));
    }
    *fd = made;
    return TERN_OK;
}

// All of it. The lock of the peer is held.
static int write_all(struct tern__net *net, int rank, const struct tern__net_message *message,
                     const void *payload)
{
    int fd = net->peers[rank].link->fd;
    uint64_t sent = 0;
    uint64_t total = sizeof *message + message->bytes;
    while (sent < total) {
        struct iovec parts[2];
        struct msghdr packet = {.msg_iov = parts};
        if (sent < sizeof *message) {
            parts[packet.msg_iovlen++] =
                (struct iovec){(char *)(uintptr_t)message + sent, sizeof *message - sent};
        }
        uint64_t skip = sent < sizeof *message ? 0 : sent - sizeof *message;
        if (message->bytes > skip) {
            parts[packet.msg_iovlen++] =
                (struct iovec){(char *)(uintptr_t)payload + skip, message->bytes - skip};
        }
        ssize_t now = sendmsg(fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now >= 0) {
            sent += (uint64_t)now;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            TERN_TRY(await(net, rank, fd, POLLOUT, INT64_MAX));
        } else if (errno != EINTR) { // whether it has died or left, the thread that receives sees
            return say_gone(net, rank);
        }
    }
    return TERN_OK;
}

int tern__net_connect(struct tern__net *net, int rank)
{
    struct tern__net_peer *peer = &net->peers[rank];
    if (peer->link != NULL) {
        return TERN_OK;
    }
    int fd = -1;
    TERN_TRY(open_socket(net, rank, &fd));
    peer->link = tern__net_link_new(net, fd, rank, true);
    if (peer->link == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a connection to rank %d", rank);
    }
    struct tern__net_message hello = {.kind = TERN__NET_HELLO,
                                      .rank = net->job->rank,
                                      .word = TERN__CTL_ABI,
                                      .more = TERN__CTL_MAGIC};
    memcpy(&hello.value, net->job->token, sizeof hello.value);
    memcpy(&hello.key, net->job->token + sizeof hello.value, sizeof hello.key);
    return write_all(net, rank, &hello, NULL);
}

int tern__net_send(struct tern__net *net, int rank, const struct tern__net_message *message,
                   const void *payload)
{
    struct tern__net_peer *peer = &net->peers[rank];
    if (is_gone(net, rank)) {
        return say_gone(net, rank);
    }
    pthread_mutex_lock(&peer->lock);
    int status = tern__net_connect(net, rank);
    if (status == TERN_OK) {
        if (message->kind < TERN__NET_CONTROL) {
            tern__flag_store(&peer->dirty, 1);
            tern__flag_store(&net->dirty, 1);
        }
        status = write_all(net, rank, message, payload);
    }
    pthread_mutex_unlock(&peer->lock);
    return status;
}

void tern__net_tell(struct tern__net *net, uint64_t ranks, const struct tern__net_message *message,
                    const void *payload)
{
    const struct tern__machines *machines = net->job->machines;
    for (int machine = 0; machine < machines->count; machine++) {
        if (machine != machines->mine && (machines->list[machine].ranks & ranks) != 0) {
            tern_status_ignore(
                tern__net_send(net, machines->list[machine].leader, message, payload));
        }
    }
}

struct flush_wait {
    struct tern__net *net;
    int rank;
    uint64_t number;
};

static bool is_flushed(void *arg)
{
    const struct flush_wait *wait = arg;
    return atomic_load_explicit(&wait->net->peers[wait->rank].flushed, memory_order_seq_cst) >=
           wait->number; // partner: the thread that receives FLUSHED
}

static int flush_broken(void *arg, bool deep)
{
    const struct flush_wait *wait = arg;
    (void)deep;
    return is_gone(wait->net, wait->rank) ? say_gone(wait->net, wait->rank) : TERN_OK;
}

static int await_flush(struct tern__net *net, int rank, uint64_t number)
{
    struct flush_wait wait = {net, rank, number};
    struct tern__ladder ladder = tern__job_ladder(net->job);
    struct tern__wait climb = {.bell = &net->job->ctl->ranks[net->job->rank].bell,
                               .ladder = &ladder,
                               .timeout_ns = net->job->timeout_ns,
                               .holds = is_flushed,
                               .broken = flush_broken,
                               .arg = &wait};
    int status = tern__ladder_climb(&climb);
    return status == TERN_ERR_TIMEOUT
               ? tern__fail(status, "rank %d at %s did not confirm what it was sent within %.3g s",
                            rank, tern__address_text(&net->job->machines->address[rank]).text,
                            (double)net->job->timeout_ns * 1e-9)
               : status;
}

// Asks a peer that something was sent to. 0: there is nothing to wait for.
static uint64_t ask_flush(struct tern__net *net, int rank)
{
    struct tern__net_peer *peer = &net->peers[rank];
    uint64_t number = 0;
    pthread_mutex_lock(&peer->lock);
    if (tern__flag_load(&peer->dirty) != 0 && !is_gone(net, rank)) {
        struct tern__net_message flush = {.kind = TERN__NET_FLUSH, .value = peer->flushes + 1};
        tern__flag_store(&peer->dirty, 0);
        if (write_all(net, rank, &flush, NULL) == TERN_OK) {
            number = ++peer->flushes;
        }
    }
    // Another thread may have asked, and not have been answered yet.
    number = number != 0 ? number : peer->flushes;
    pthread_mutex_unlock(&peer->lock);
    return number;
}

int tern__net_flush(struct tern__net *net, int except)
{
    if (tern__flag_load(&net->dirty) == 0) {
        return TERN_OK;
    }
    uint64_t numbers[TERN_RANKS_MAX] = {0};
    int status = TERN_OK;
    if (except < 0) {
        tern__flag_store(&net->dirty, 0); // who sends meanwhile sets it again
    }
    for (int rank = 0; rank < net->job->nranks; rank++) {
        if (rank != except && net->peers[rank].link != NULL) {
            numbers[rank] = ask_flush(net, rank);
        }
    }
    for (int rank = 0; rank < net->job->nranks; rank++) {
        int now = numbers[rank] != 0 ? await_flush(net, rank, numbers[rank]) : TERN_OK;
        status = status == TERN_OK ? now : status;
    }
    return status;
}
