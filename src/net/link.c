// SPDX-License-Identifier: Apache-2.0
// Connections: made, known to the receiving thread, freed.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/state.h"

void tern__net_link_free(struct tern__net_link *link)
{
    if (link == NULL) {
        return;
    }
    while (link->first != NULL) {
        struct tern__net_reply *reply = link->first;
        link->first = reply->next;
        free(reply->own);
        free(reply);
    }
    if (!link->closed) {
        close(link->fd);
    }
    free(link->buffer);
    free(link->scratch);
    free(link);
}

void tern__net_free_ended(struct tern__net *net)
{
    while (net->ended != NULL) {
        struct tern__net_link *link = net->ended;
        net->ended = link->next;
        tern__net_link_free(link);
    }
}

struct tern__net_link *tern__net_link_new(struct tern__net *net, int fd, int peer, bool outgoing)
{
    struct tern__net_link *link = calloc(1, sizeof *link);
    // A stranger has room to say who it is, and for nothing else.
    size_t size = outgoing ? TERN__NET_BUFFER : sizeof(struct tern__net_message);
    char *buffer = malloc(size);
    if (link == NULL || buffer == NULL) {
        free(link);
        free(buffer);
        close(fd);
        return NULL;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *link = (struct tern__net_link){.fd = fd,
                                    .peer = peer,
                                    .outgoing = outgoing,
                                    .since_ns = tern__now_ns(),
                                    .buffer = buffer,
                                    .size = size};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        tern__net_link_free(link);
        return NULL;
    }
    link->next = net->links;
    net->links = link;
    return link;
}
