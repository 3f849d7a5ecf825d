// SPDX-License-Identifier: Apache-2.0
// Receiving: a connection's bytes become messages, and those are handed to whoever handles their
// kind. Large payloads are read straight to where they belong. All of it on one thread, which never
// waits for a socket that cannot take what is to be sent.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "net/state.h"
#include "sync/group.h"

// Of one connection in a row, then others have their turn.
#define TURN_BYTES (1 << 20)

void tern__net_close(struct tern__net *net, struct tern__net_link *link)
{
    epoll_ctl(net->epoll, EPOLL_CTL_DEL, link->fd, NULL);
    if (!link->outgoing) { // else senders may use the descriptor until the end
        close(link->fd);
        link->closed = true;
    }
    if (link->peer >= 0 && !link->over) {
        tern__net_lost(net, link->peer);
    }
}

// What cannot be of this job and build: the communicator of all fails, since bytes were lost.
static void refuse(struct tern__net *net, struct tern__net_link *link, const char *what)
{
    char text[200];
    if (link->peer < 0) { // a stranger
        tern__log(TERN__LOG_WARN, "network: a connection was refused: %s", what);
    } else {
        snprintf(text, sizeof text, "rank %d sent what is no message of this job: %s", link->peer,
                 what);
        tern__ctl_comm_fail(net->job->ctl, 0, TERN_ERR_SYSTEM, link->peer, text);
    }
    link->over = true;
    tern__net_close(net, link);
}

static void greet(struct tern__net *net, struct tern__net_link *link,
                  const struct tern__net_message *hello)
{
    uint64_t token[2];
    memcpy(token, net->job->token, sizeof token);
    if (hello->kind != TERN__NET_HELLO || hello->more != TERN__CTL_MAGIC ||
        hello->value != token[0] || hello->key != token[1]) {
        refuse(net, link, "it does not have the job's token");
    } else if (hello->word != TERN__CTL_ABI) {
        refuse(net, link, "it runs another version of tern");
    } else if (hello->rank < 0 || hello->rank >= net->job->nranks ||
               tern__job_is_here(net->job, hello->rank)) {
        refuse(net, link, "it is of no rank of another machine");
    } else {
        link->peer = hello->rank;
    }
}

void tern__net_send_replies(struct tern__net *net, struct tern__net_link *link)
{
    while (link->first != NULL) {
        struct tern__net_reply *reply = link->first;
        const struct tern__net_message *message = &reply->message;
        struct iovec parts[2];
        struct msghdr packet = {.msg_iov = parts};
        uint64_t head = sizeof *message;
        uint64_t skip = reply->sent > head ? reply->sent - head : 0;
        if (reply->sent < head) {
            parts[packet.msg_iovlen++] =
                (struct iovec){(char *)(uintptr_t)message + reply->sent, head - reply->sent};
        }
        if (message->bytes > skip) {
            parts[packet.msg_iovlen++] =
                (struct iovec){(char *)(uintptr_t)reply->payload + skip, message->bytes - skip};
        }
        ssize_t now = sendmsg(link->fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0) {
            break; // EAGAIN; or what receiving will see, too
        }
        reply->sent += (uint64_t)now;
        if (reply->sent == head + message->bytes) {
            link->first = reply->next;
            free(reply);
        }
    }
    struct epoll_event event = {.events = link->first != NULL ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = link};
    epoll_ctl(net->epoll, EPOLL_CTL_MOD, link->fd, &event);
}

static void reply(struct tern__net *net, struct tern__net_link *link,
                  const struct tern__net_message *message, const char *payload)
{
    struct tern__net_reply *made = calloc(1, sizeof *made);
    if (made == NULL) {
        tern__ctl_comm_fail(net->job->ctl, 0, TERN_ERR_MEMORY, net->job->rank,
                            "no memory to answer a rank of another machine");
        return;
    }
    made->message = *message;
    made->payload = payload;
    if (link->first == NULL) {
        link->first = made;
    } else {
        link->last->next = made;
    }
    link->last = made;
    tern__net_send_replies(net, link);
}

void tern__net_answer(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    for (struct tern__net_link *link = net->links; link != NULL; link = link->next) {
        if (link->peer == peer && !link->outgoing && !link->closed) {
            reply(net, link, message, payload);
            return;
        }
    }
}

static void take(struct tern__net *net, struct tern__net_link *link)
{
    const struct tern__net_message *message = &link->message;
    struct tern__net_peer *peer = &net->peers[link->peer];
    switch (message->kind) {
    case TERN__NET_BYE:
        link->over = true;
        tern__ctl_mark_left(net->job->ctl, link->peer);
        break;
    case TERN__NET_FLUSH: {
        struct tern__net_message flushed = {.kind = TERN__NET_FLUSHED, .value = message->value};
        reply(net, link, &flushed, NULL);
        break;
    }
    case TERN__NET_FLUSHED:
        atomic_store_explicit(&peer->flushed, message->value, memory_order_seq_cst);
        tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell); // partner: is_flushed
        break;
    default:
        net->handlers[message->kind].done(net, link->peer, message, link->to);
    }
}

// A header has come: where its payload goes. False when the connection is of no use any more.
static bool open_message(struct tern__net *net, struct tern__net_link *link)
{
    const struct tern__net_message *message = &link->message;
    const struct tern__net_handler *handler =
        message->kind < TERN__NET_KINDS ? &net->handlers[message->kind] : NULL;
    bool own = message->kind >= TERN__NET_BYE && message->kind <= TERN__NET_FLUSHED;
    if (!own && (handler == NULL || handler->done == NULL)) {
        refuse(net, link, "a message of an unknown kind");
        return false;
    }
    link->got = 0;
    link->to = NULL;
    if (message->bytes > 0 && handler != NULL && handler->place != NULL) {
        link->to = handler->place(net, link->peer, message);
    }
    if (message->bytes > 0 && link->to == NULL) {
        if (message->bytes > link->scratch_bytes) {
            free(link->scratch);
            link->scratch = malloc(message->bytes);
            link->scratch_bytes = link->scratch != NULL ? message->bytes : 0;
        }
        if (link->scratch == NULL) {
            refuse(net, link, "a payload larger than the memory");
            return false;
        }
        link->to = link->scratch;
    }
    link->in_payload = true;
    return true;
}

// Goes through what is in the buffer. False when the connection is of no use any more.
static bool parse(struct tern__net *net, struct tern__net_link *link)
{
    for (;;) {
        size_t here = link->end - link->begin;
        if (!link->in_payload) {
            if (here < sizeof link->message) {
                return true;
            }
            memcpy(&link->message, link->buffer + link->begin, sizeof link->message);
            link->begin += sizeof link->message;
            if (link->peer < 0) {
                greet(net, link, &link->message);
                if (link->peer < 0) {
                    return false;
                }
                continue;
            }
            if (!open_message(net, link)) {
                return false;
            }
            continue;
        }
        uint64_t wanted = link->message.bytes - link->got;
        uint64_t part = wanted < here ? wanted : here;
        if (part > 0) {
            memcpy(link->to + link->got, link->buffer + link->begin, part);
        }
        link->begin += part;
        link->got += part;
        if (part < wanted) {
            return true;
        }
        link->in_payload = false;
        take(net, link);
    }
}

void tern__net_receive(struct tern__net *net, struct tern__net_link *link)
{
    for (uint64_t turn = 0; turn < TURN_BYTES;) {
        ssize_t now;
        uint64_t wanted = link->in_payload ? link->message.bytes - link->got : 0;
        bool straight = wanted >= TERN__NET_BUFFER / 2; // the buffer is empty then
        if (straight) {
            uint64_t most = wanted < TURN_BYTES ? wanted : TURN_BYTES;
            now = recv(link->fd, link->to + link->got, most, MSG_DONTWAIT);
            link->got += now > 0 ? (uint64_t)now : 0;
        } else {
            size_t here = link->end - link->begin;
            memmove(link->buffer, link->buffer + link->begin, here);
            link->begin = 0;
            link->end = here;
            now = recv(link->fd, link->buffer + here, TERN__NET_BUFFER - here, MSG_DONTWAIT);
            link->end += now > 0 ? (size_t)now : 0;
        }
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (now <= 0) {
            tern__net_close(net, link);
            return;
        }
        turn += (uint64_t)now;
        if (!parse(net, link)) {
            return;
        }
    }
}
