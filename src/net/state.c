// SPDX-License-Identifier: Apache-2.0
// What all files of the network ask of it: whose job it is, who handles what comes; and its end.

#include "net/state.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

char tern__net_nowhere[1];

struct tern__job *tern__net_job(struct tern__net *net)
{
    return net->job;
}

void tern__net_handle(struct tern__net *net, enum tern__net_kind kind,
                      struct tern__net_handler handler)
{
    handler.loose = handler.loose || kind >= TERN__NET_CONTROL;
    net->handlers[kind] = handler;
}

void tern__net_each_beat(struct tern__net *net, void (*beat)(struct tern__net *net))
{
    net->beat = beat;
}

void tern__net_wake(const struct tern__net *net)
{
    uint64_t one = 1;
    (void)!write(net->wake, &one, sizeof one);
}

void tern__net_free(struct tern__net *net)
{
    for (uint32_t i = 0; i < net->windows_count; i++) { // in the child of a fork
        const struct tern__net_window *at = &net->windows[i];
        if (at->retired) {
            munmap(at->base + (size_t)at->rank * at->size_bytes, at->size_bytes);
        }
    }
    tern__net_free_ended(net);
    struct tern__net_link *next;
    for (struct tern__net_link *link = net->links; link != NULL; link = next) {
        next = link->next;
        tern__net_link_free(link);
    }
    if (net->epoll >= 0) {
        close(net->epoll);
    }
    if (net->wake >= 0) {
        close(net->wake);
    }
    free(net->control);
    free(net);
}
