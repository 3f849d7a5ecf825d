// SPDX-License-Identifier: Apache-2.0
// Answers, on the connection that was asked by. They wait in a list until the connection takes
// them: the receiving thread never waits.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/carry.h"
#include "net/state.h"
#include "sync/group.h"

// Bytes that the connection has taken; -1 when it takes none now, with errno.
static ssize_t send_some(const struct tern__net_link *link, const struct tern__net_reply *reply)
{
    const struct tern__net_message *message = &reply->message;
    struct iovec parts[2];
    struct msghdr packet = {.msg_iov = parts};
    uint64_t head = sizeof *message;
    uint64_t skip = reply->sent > head ? reply->sent - head : 0;
    uint64_t rest = message->bytes - skip;
    if (reply->sent < head) {
        parts[packet.msg_iovlen++] =
            (struct iovec){(char *)(uintptr_t)message + reply->sent, head - reply->sent};
    }
    if (rest > 0) {
        parts[packet.msg_iovlen++] = (struct iovec){(char *)(uintptr_t)reply->payload + skip,
                                                    rest < TERN__NET_TURN ? rest : TERN__NET_TURN};
    }
    return sendmsg(link->fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void want_out(struct tern__net *net, struct tern__net_link *link)
{
    bool wants = link->first != NULL;
    if (wants != link->wants_out && !link->closed) {
        struct epoll_event event = {.events = wants ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                    .data.ptr = link};
        epoll_ctl(net->epoll, EPOLL_CTL_MOD, link->fd, &event);
        link->wants_out = wants;
    }
}

void tern__net_send_replies(struct tern__net *net, struct tern__net_link *link)
{
    uint64_t turn = 0;
    while (link->first != NULL && turn < TERN__NET_TURN && !link->closed) {
        struct tern__net_reply *reply = link->first;
        ssize_t now = send_some(link, reply);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0 && errno == EFAULT) {
            link->spoiled = true;
            return;
        }
        if (now < 0) {
            break; // it takes no more, or has ended: receiving sees that
        }
        turn += (uint64_t)now;
        reply->sent += (uint64_t)now;
        if (reply->sent == sizeof reply->message + reply->message.bytes) {
            link->first = reply->next;
            free(reply->own);
            free(reply);
        }
    }
    want_out(net, link);
}

static void reply(struct tern__net *net, struct tern__net_link *link,
                  const struct tern__net_message *message, const char *payload, char *own)
{
    struct tern__net_reply *made = calloc(1, sizeof *made);
    if (made == NULL) {
        free(own);
        tern__net_lack(net, "to answer a rank of another machine");
        return;
    }
    *made = (struct tern__net_reply){.message = *message, .payload = payload, .own = own};
    if (link->first == NULL) {
        link->first = made;
    } else {
        link->last->next = made;
    }
    link->last = made;
    if (made == link->first) {
        tern__net_send_replies(net, link);
    }
}

void tern__net_reply(struct tern__net *net, struct tern__net_link *link,
                     const struct tern__net_message *message, const char *payload)
{
    reply(net, link, message, payload, NULL);
}

// The way back to who asked: NULL when that has gone.
static struct tern__net_link *way_back(const struct tern__net *net, int peer)
{
    struct tern__net_link *link = net->peers[peer].answers;
    return link != NULL && !link->closed ? link : NULL;
}

void tern__net_answer(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
#ifdef __SANITIZE_THREAD__
    // Who gets it may tell this process so before the call that reads it has returned.
    char *copy = message->bytes > 0 ? malloc(message->bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, payload, message->bytes);
        tern__net_answer_own(net, peer, message, copy);
        return;
    }
#endif
    struct tern__net_link *link = way_back(net, peer);
    if (tern__net_is_carried(net, message->kind)) {
        tern__net_carry_answer(net, peer, message, payload, NULL);
    } else if (link != NULL) {
        tern__net_reply(net, link, message, payload);
    }
}

void tern__net_answer_own(struct tern__net *net, int peer, const struct tern__net_message *message,
                          char *payload)
{
    struct tern__net_link *link = way_back(net, peer);
    tern__net_show_order(net); // partner: control_see
    if (tern__net_is_carried(net, message->kind)) {
        tern__net_carry_answer(net, peer, message, payload, payload);
    } else if (link != NULL) {
        reply(net, link, message, payload, payload);
    } else {
        free(payload);
    }
}
