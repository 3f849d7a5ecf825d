// SPDX-License-Identifier: Apache-2.0
// Start and end, and the thread that receives.

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "net/carry.h"
#include "net/control.h"
#include "net/state.h"
#include "sync/ladder.h"

enum { EVENTS = 64, HOLD_YIELDS = 20 };
#define LOSING_NS TERN_NS_PER_MS // how often others are asked who may know more

static void watch(const struct tern__net *net, int fd, void *what, uint32_t events, int change)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    epoll_ctl(net->epoll, change, fd, &event);
}

// So that nobody who does not belong here takes all descriptors: of those that have not said who
// they are there is a limited number, and the oldest goes.
static void limit_strangers(struct tern__net *net)
{
    int64_t until_ns = tern__now_ns() - TERN__NET_STRANGER_MS * TERN_NS_PER_MS;
    struct tern__net_link *next;
    int count = 0;
    for (struct tern__net_link *link = net->links; link != NULL; link = next) {
        next = link->next; // the list begins with the last that came
        count += link->peer < 0;
        if (link->peer < 0 && (count > TERN__NET_STRANGERS || link->since_ns < until_ns)) {
            tern__net_refuse(net, link, "it has not said who it is");
        }
    }
}

static void accept_all(struct tern__net *net)
{
    int fd;
    while ((fd = accept4(net->job->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (tern__net_link_new(net, fd, -1, false) == NULL) {
            tern__net_lack(net, "for a connection from another machine");
        }
        limit_strangers(net);
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        watch(net, net->job->listener, net, 0, EPOLL_CTL_MOD); // it would say so again at once
        net->deaf = true;
    }
}

// With net->work.
static void handle(struct tern__net *net, const struct epoll_event *event)
{
    if (event->data.ptr == net) {
        accept_all(net);
    } else if (event->data.ptr == &net->wake) {
        uint64_t times;
        (void)!read(net->wake, &times, sizeof times);
    } else {
        struct tern__net_link *link = event->data.ptr;
        if ((event->events & EPOLLOUT) != 0 && !link->closed) {
            tern__net_send_replies(net, link);
            tern__net_close_spoiled(net, link);
        }
        if ((event->events & ~(uint32_t)EPOLLOUT) != 0 && !link->closed) {
            tern__net_receive(net, link);
        }
    }
}

// A thread that waits takes what has come, unless the receiving thread is just doing that. What has
// ended is freed by that thread alone, and not while this one looks at it.
static void poll_one(struct tern__net *net)
{
    struct epoll_event events[EVENTS];
    if (pthread_mutex_trylock(&net->work) != 0) {
        return;
    }
    tern__net_carry_take(net);
    int count = epoll_wait(net->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr != &net->wake) { // that is for the receiving thread
            handle(net, &events[i]);
        }
    }
    pthread_mutex_unlock(&net->work);
}

static void poll_all(void)
{
    if (!tern__nets_hold()) {
        return;
    }
    for (int i = 0; i < TERN__NETS; i++) {
        struct tern__net *net = tern__nets_at(i);
        if (net != NULL) {
            poll_one(net);
        }
    }
    tern__nets_release();
}

static void beat(struct tern__net *net)
{
    tern__net_carry_beat(net);
    pthread_mutex_lock(&net->work);
    limit_strangers(net);
    if (net->deaf) {
        net->deaf = false;
        watch(net, net->job->listener, net, EPOLLIN, EPOLL_CTL_MOD);
    }
    if (net->beat != NULL) {
        net->beat(net);
    }
    pthread_mutex_unlock(&net->work);
    tern__net_windows_reap(net);
}

// Linux before 5.11 counts milliseconds.
static int await_events(const struct tern__net *net, struct epoll_event *events, int64_t most_ns)
{
    struct timespec wait = {most_ns / TERN_NS_PER_SECOND, most_ns % TERN_NS_PER_SECOND};
    int count = epoll_pwait2(net->epoll, events, EVENTS, &wait, NULL);
    if (count < 0 && errno == ENOSYS) {
        int most_ms = (int)((most_ns + TERN_NS_PER_MS - 1) / TERN_NS_PER_MS);
        count = epoll_wait(net->epoll, events, EVENTS, most_ms);
    }
    return count;
}

// The lock, without going to sleep for a thread that only polls: it has it for microseconds, and
// would have to wake this one.
static void hold(struct tern__net *net)
{
    for (int i = 0; i < HOLD_YIELDS; i++) {
        if (pthread_mutex_trylock(&net->work) == 0) {
            return;
        }
        sched_yield();
    }
    pthread_mutex_lock(&net->work);
}

static void *receive_all(void *arg)
{
    struct tern__net *net = arg;
    int64_t beat_ns = tern__now_ns();
    bool losing = false;
    while (tern__flag_load(&net->stop) == 0) {
        struct epoll_event events[EVENTS];
        int64_t left_ns = beat_ns - tern__now_ns();
        left_ns = losing && left_ns > LOSING_NS ? LOSING_NS : left_ns;
        left_ns = tern__net_carry_on(net, left_ns > 0 ? left_ns : 0);
        int count = await_events(net, events, left_ns);
        for (int i = 0; i < count; i++) {
            hold(net);
            handle(net, &events[i]);
            pthread_mutex_unlock(&net->work);
        }
        if (tern__now_ns() >= beat_ns) {
            beat_ns = tern__now_ns() + TERN__NET_BEAT_MS * TERN_NS_PER_MS;
            beat(net);
        }
        pthread_mutex_lock(&net->work); // partner: poll_one
        tern__net_free_ended(net);
        losing = tern__net_losing(net);
        pthread_mutex_unlock(&net->work);
    }
    return NULL;
}

static int open_all(struct tern__net *net)
{
    int listener = net->job->listener;
    net->epoll = epoll_create1(EPOLL_CLOEXEC);
    net->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->epoll < 0 || net->wake < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "no descriptors for the network");
    }
    int flags = fcntl(listener, F_GETFL);
    if (flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "the socket that other machines connect to");
    }
    watch(net, net->wake, &net->wake, EPOLLIN, EPOLL_CTL_ADD);
    watch(net, listener, net, EPOLLIN, EPOLL_CTL_ADD);
    return TERN_OK;
}

static int begin(struct tern__net *net)
{
    TERN_TRY(open_all(net));
    TERN_TRY(tern__nets_add(net));
    int status = tern__thread_start(&net->thread, receive_all, net);
    if (status != TERN_OK) {
        tern__nets_remove(net);
    }
    return status;
}

// The leaders at once: by these connections each machine sees who dies.
int tern__net_reach(struct tern__job *job)
{
    struct tern__net *net = job->net;
    const struct tern__machines *machines = job->machines;
    int status = TERN_OK;
    for (int machine = 0; machine < machines->count && status == TERN_OK; machine++) {
        int leader = machines->list[machine].leader;
        if (machine != machines->mine) {
            pthread_mutex_lock(&net->peers[leader].lock);
            status = tern__net_connect(net, leader);
            pthread_mutex_unlock(&net->peers[leader].lock);
        }
    }
    return status;
}

int tern__net_open(struct tern__job *job)
{
    struct tern__net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the network of the job");
    }
    net->job = job;
    net->epoll = net->wake = -1;
    pthread_mutex_init(&net->work, NULL);
    pthread_rwlock_init(&net->windows_lock, NULL);
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        pthread_mutex_init(&net->peers[rank].lock, NULL);
    }
    tern__net_row_start(net);
    tern__net_area_start(net);
    job->net = net;
    job->far = &tern__net_far;
    tern__ladder_go_far(poll_all);
    int status = tern__net_control_start(net);
    status = status == TERN_OK ? begin(net) : status;
    if (status != TERN_OK) {
        job->net = NULL;
        job->far = NULL;
        tern__net_free(net);
    }
    return status;
}

int tern__net_start(struct tern__job *job)
{
    TERN_TRY(tern__net_open(job));
    int status = tern__net_reach(job);
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
    tern__net_wake(net);
    pthread_join(net->thread, NULL);
    tern__nets_remove(net);
    tern__net_carry_stop(net);
    tern__net_say_bye(net);
    tern__net_windows_reap(net);
    job->net = NULL;
    job->far = NULL;
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        pthread_mutex_destroy(&net->peers[rank].lock);
    }
    pthread_mutex_destroy(&net->work);
    pthread_rwlock_destroy(&net->windows_lock);
    tern__net_free(net);
}
