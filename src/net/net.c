// SPDX-License-Identifier: Apache-2.0
// Start and end, and the thread that receives.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "net/control.h"
#include "net/state.h"

enum { EVENTS = 64 };

struct tern__job *tern__net_job(struct tern__net *net)
{
    return net->job;
}

void tern__net_handle(struct tern__net *net, enum tern__net_kind kind,
                      struct tern__net_handler handler)
{
    net->handlers[kind] = handler;
}

void tern__net_each_beat(struct tern__net *net, void (*beat)(struct tern__net *net))
{
    net->beat = beat;
}

static void accept_all(struct tern__net *net)
{
    int fd;
    while ((fd = accept4(net->job->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        tern__net_link_new(net, fd, -1, false);
    }
}

static void handle(struct tern__net *net, const struct epoll_event *event)
{
    if (event->data.ptr == net) {
        accept_all(net);
    } else if (event->data.ptr != &net->wake) {
        struct tern__net_link *link = event->data.ptr;
        if ((event->events & EPOLLOUT) != 0) {
            tern__net_send_replies(net, link);
        }
        if (!link->closed && (event->events & ~(uint32_t)EPOLLOUT) != 0) {
            tern__net_receive(net, link);
        }
    }
}

static void *receive_all(void *arg)
{
    struct tern__net *net = arg;
    int64_t beat_ns = tern__now_ns();
    while (tern__flag_load(&net->stop) == 0) {
        struct epoll_event events[EVENTS];
        int64_t left_ns = beat_ns - tern__now_ns();
        int wait_ms = left_ns <= 0 ? 0 : (int)(left_ns / TERN_NS_PER_MS) + 1;
        int count = epoll_wait(net->epoll, events, EVENTS, wait_ms);
        for (int i = 0; i < count; i++) {
            handle(net, &events[i]);
        }
        if (tern__now_ns() >= beat_ns) {
            beat_ns = tern__now_ns() + TERN__NET_BEAT_MS * TERN_NS_PER_MS;
            if (net->beat != NULL) {
                net->beat(net);
            }
        }
    }
    return NULL;
}

static int watch(struct tern__net *net, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &event) == 0
               ? TERN_OK
               : tern__fail_errno(TERN_ERR_SYSTEM, "epoll_ctl");
}

static void free_net(struct tern__net *net)
{
    struct tern__net_link *next;
    for (struct tern__net_link *link = net->links; link != NULL; link = next) {
        next = link->next;
        while (link->first != NULL) {
            struct tern__net_reply *reply = link->first;
            link->first = reply->next;
            free(reply);
        }
        if (!link->closed) {
            close(link->fd);
        }
        free(link->buffer);
        free(link->scratch);
        free(link);
    }
    if (net->epoll >= 0) {
        close(net->epoll);
    }
    if (net->wake >= 0) {
        close(net->wake);
    }
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        pthread_mutex_destroy(&net->peers[rank].lock);
    }
    pthread_mutex_destroy(&net->links_lock);
    pthread_rwlock_destroy(&net->windows_lock);
    free(net);
}

static int begin(struct tern__net *net)
{
    net->epoll = epoll_create1(EPOLL_CLOEXEC);
    net->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->epoll < 0 || net->wake < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "no descriptors for the network");
    }
    TERN_TRY(watch(net, net->wake, &net->wake));
    TERN_TRY(watch(net, net->job->listener, net));
    return tern__thread_start(&net->thread, receive_all, net);
}

int tern__net_start(struct tern__job *job)
{
    struct tern__net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the network of the job");
    }
    net->job = job;
    pthread_mutex_init(&net->links_lock, NULL);
    pthread_rwlock_init(&net->windows_lock, NULL);
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        pthread_mutex_init(&net->peers[rank].lock, NULL);
    }
    tern__net_row_start(net);
    tern__net_control_start(net);
    int status = begin(net);
    if (status != TERN_OK) {
        tern__net_row_stop(net);
        free_net(net);
        return status;
    }
    job->net = net;
    job->far = &tern__net_far;
    // The leaders at once: by these connections each machine sees who dies.
    for (int machine = 0; machine < job->machines->count && status == TERN_OK; machine++) {
        if (machine != job->machines->mine) {
            int leader = job->machines->list[machine].leader;
            pthread_mutex_lock(&net->peers[leader].lock);
            status = tern__net_connect(net, leader);
            pthread_mutex_unlock(&net->peers[leader].lock);
        }
    }
    if (status != TERN_OK) {
        tern__net_stop(job);
    }
    return status;
}

void tern__net_stop(struct tern__job *job)
{
    struct tern__net *net = job->net;
    if (net == NULL) {
        return;
    }
    tern__flag_store(&net->stop, 1);
    uint64_t one = 1;
    (void)!write(net->wake, &one, sizeof one);
    pthread_join(net->thread, NULL);
    struct tern__net_message bye = {.kind = TERN__NET_BYE};
    for (struct tern__net_link *link = net->links; link != NULL; link = link->next) {
        // Those that a sender of a dead peer has left half written are closed all the same.
        if (!link->closed) {
            (void)send(link->fd, &bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
    tern__net_row_stop(net);
    job->net = NULL;
    job->far = NULL;
    free_net(net);
}
