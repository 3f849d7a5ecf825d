// SPDX-License-Identifier: Apache-2.0
// Receiving: a connection's bytes become messages, and those are handed to whoever handles their
// kind. Large payloads are read straight to where they belong. All of it on one thread, which never
// waits for a connection.

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memcpy.h"
#include "net/state.h"
#include "sync/group.h"

void tern__net_close(struct tern__net *net, struct tern__net_link *link)
{
    if (link->closed) {
        return;
    }
    epoll_ctl(net->epoll, EPOLL_CTL_DEL, link->fd, NULL);
    if (!link->outgoing) { // else senders may use the descriptor until the end
        close(link->fd);
        link->closed = true;
        struct tern__net_link **at = &net->links;
        while (*at != link) {
            at = &(*at)->next;
        }
        *at = link->next;
        link->next = net->ended;
        net->ended = link;
        if (link->peer >= 0 && net->peers[link->peer].answers == link) {
            net->peers[link->peer].answers = NULL;
        }
    }
    if (link->peer >= 0 && !link->over) {
        struct tern__net_link *last = net->peers[link->peer].answers;
        if (link->outgoing && last != NULL && !last->closed) {
            tern__net_receive(net, last); // what it has sent before its end, the reason perhaps
        }
        tern__net_lost(net, link->peer);
    }
}

void tern__net_refuse(struct tern__net *net, struct tern__net_link *link, const char *what)
{
    char text[200];
    if (link->peer < 0) { // a stranger
        tern__log(TERN__LOG_WARN, "network: a connection was refused: %s", what);
    } else {
        snprintf(text, sizeof text, "rank %d sent what cannot be taken: %s", link->peer, what);
        tern__ctl_comm_fail(net->job->ctl, 0, TERN_ERR_SYSTEM, link->peer, text);
    }
    link->over = true;
    tern__net_close(net, link);
}

void tern__net_close_spoiled(struct tern__net *net, struct tern__net_link *link)
{
    if (link->spoiled && !link->closed) {
        tern__net_refuse(net, link, "it asked for memory that the program has unmapped");
    }
}

static void greet(struct tern__net *net, struct tern__net_link *link,
                  const struct tern__net_message *hello)
{
    uint64_t token[2];
    memcpy(token, net->job->token, sizeof token);
    char *buffer = NULL;
    if (hello->kind != TERN__NET_HELLO || hello->more != TERN__CTL_MAGIC ||
        hello->value != token[0] || hello->key != token[1]) {
        tern__net_refuse(net, link, "it does not have the job's token");
    } else if (hello->word != TERN__CTL_ABI) {
        tern__net_refuse(net, link, "it runs another version of tern");
    } else if (hello->rank < 0 || hello->rank >= net->job->nranks ||
               tern__job_is_here(net->job, hello->rank)) {
        tern__net_refuse(net, link, "it is of no rank of another machine");
    } else if (net->peers[hello->rank].answers != NULL) {
        tern__net_refuse(net, link, "that rank has connected already");
    } else if ((buffer = malloc(TERN__NET_BUFFER)) == NULL) {
        tern__net_lack(net, "for a connection from another machine");
        tern__net_refuse(net, link, "there is no memory for it");
    } else {
        free(link->buffer);
        link->buffer = buffer;
        link->size = TERN__NET_BUFFER;
        link->begin = link->end = 0; // a stranger's buffer holds no more than this message
        link->peer = hello->rank;
        net->peers[link->peer].answers = link;
    }
}

size_t tern__net_first_bytes(const char *to, uint64_t bytes)
{
    uintptr_t at = (uintptr_t)to;
    return at % sizeof(uint64_t) == 0 && bytes >= sizeof(uint64_t)   ? sizeof(uint64_t)
           : at % sizeof(uint32_t) == 0 && bytes >= sizeof(uint32_t) ? sizeof(uint32_t)
                                                                     : 0;
}

static void store(struct tern__net_link *link, const char *from, uint64_t bytes)
{
    if (link->to == NULL) {
        return;
    }
    uint64_t first = link->got < link->head_bytes ? link->head_bytes - link->got : 0;
    first = first < bytes ? first : bytes;
    memcpy(link->head + link->got % sizeof link->head, from, first);
    tern__memcpy(link->to + link->got + first, from + first, bytes - first);
}

static void store_head(const struct tern__net_link *link)
{
    if (link->to != NULL && link->head_bytes > 0) {
        tern__publish_bytes(link->to, link->head, link->head_bytes); // partner: who polls it
    }
}

static void take(struct tern__net *net, struct tern__net_link *link)
{
    const struct tern__net_message *message = &link->message;
    switch (message->kind) {
    case TERN__NET_BYE:
        link->over = true;
        tern__ctl_mark_left(net->job->ctl, link->peer);
        break;
    case TERN__NET_FLUSH: {
        struct tern__net_message flushed = {.kind = TERN__NET_FLUSHED, .value = message->value};
        tern__flag_add(&net->confirmed, 1); // partner: control_see
        tern__net_reply(net, link, &flushed, NULL);
        break;
    }
    case TERN__NET_FLUSHED:
        tern__net_flushed(net, link->peer, message->value);
        break;
    default:
        store_head(link);
        net->handlers[message->kind].done(net, link->peer, message,
                                          message->bytes > 0 ? link->to : NULL);
    }
    tern__net_show_order(net);
}

static bool find_scratch(struct tern__net_link *link)
{
    if (link->message.bytes > link->scratch_bytes) {
        free(link->scratch);
        link->scratch = malloc(link->message.bytes);
        link->scratch_bytes = link->scratch != NULL ? link->message.bytes : 0;
    }
    link->to = link->scratch;
    return link->scratch != NULL;
}

// A header has come: where its payload goes. False when the connection is of no use any more.
static bool open_message(struct tern__net *net, struct tern__net_link *link)
{
    const struct tern__net_message *message = &link->message;
    bool own = message->kind >= TERN__NET_BYE && message->kind <= TERN__NET_FLUSHED;
    const struct tern__net_handler *handler =
        message->kind < TERN__NET_KINDS ? &net->handlers[message->kind] : NULL;
    if (own ? message->bytes != 0 : (handler == NULL || handler->done == NULL)) {
        tern__net_refuse(net, link, "a message of an unknown kind");
        return false;
    }
    tern__net_show_order(net);
    link->got = 0;
    link->to = NULL;
    link->head_bytes = 0;
    link->in_payload = true;
    if (message->bytes == 0) {
        return true;
    }
    link->to = handler->place != NULL ? handler->place(net, link->peer, message) : NULL;
    if (link->to == tern__net_nowhere) {
        link->to = NULL;
        return true;
    }
    if (link->to == NULL && message->bytes > TERN__NET_SCRATCH) {
        tern__net_refuse(net, link, "a payload larger than any message has");
        return false;
    }
    if (link->to == NULL && !find_scratch(link)) {
        tern__net_lack(net, "for what a rank of another machine sends");
        tern__net_refuse(net, link, "there is no memory for its payload");
        return false;
    }
    if (message->kind == TERN__NET_PUT) {
        link->head_bytes = tern__net_first_bytes(link->to, message->bytes);
    }
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
            } else if (!open_message(net, link)) {
                return false;
            }
            continue;
        }
        uint64_t wanted = link->message.bytes - link->got;
        uint64_t part = wanted < here ? wanted : here;
        store(link, link->buffer + link->begin, part);
        link->begin += part;
        link->got += part;
        if (part < wanted) {
            return true;
        }
        link->in_payload = false;
        take(net, link);
        tern__net_close_spoiled(net, link);
        if (link->closed) {
            return false;
        }
    }
}

// One read: of a long payload to its place, else into the buffer.
static ssize_t read_some(struct tern__net_link *link)
{
    uint64_t wanted = link->in_payload ? link->message.bytes - link->got : 0;
    if (wanted >= TERN__NET_BUFFER / 2 &&
        link->got >= link->head_bytes) { // the buffer is empty then
        bool dropped = link->to == NULL;
        uint64_t room = dropped ? link->size : TERN__NET_TURN;
        ssize_t now = recv(link->fd, dropped ? link->buffer : link->to + link->got,
                           wanted < room ? wanted : room, MSG_DONTWAIT);
        link->got += now > 0 ? (uint64_t)now : 0;
        return now;
    }
    size_t here = link->end - link->begin;
    memmove(link->buffer, link->buffer + link->begin, here);
    link->begin = 0;
    link->end = here;
    ssize_t now = recv(link->fd, link->buffer + here, link->size - here, MSG_DONTWAIT);
    link->end += now > 0 ? (size_t)now : 0;
    return now;
}

// Who sends has no use for a packet that says so at once when something small has come, and the
// processor that would make it is about to handle what came: the kernel then sends one for two, or
// with what goes back. It forgets that after a pause, hence every time.
static void delay_confirmations(const struct tern__net_link *link)
{
    int at_once = 0;
    setsockopt(link->fd, IPPROTO_TCP, TCP_QUICKACK, &at_once, sizeof at_once);
}

void tern__net_receive(struct tern__net *net, struct tern__net_link *link)
{
    delay_confirmations(link);
    for (uint64_t turn = 0; turn < TERN__NET_TURN;) {
        ssize_t now = read_some(link);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0 && errno == EFAULT) { // the memory of a get, which the caller has unmapped
            link->to = NULL;
            continue;
        }
        if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMEM)) {
            return;
        }
        if (now <= 0) {
            tern__net_close(net, link);
            return;
        }
        turn += (uint64_t)now;
        // What others have been told before they sent this, has been done: partner: tern__net_send.
        (void)tern__flag_load(&net->said);
        net->heard |= link->peer >= 0 ? UINT64_C(1) << link->peer : 0;
        if (!parse(net, link)) {
            return;
        }
    }
}
