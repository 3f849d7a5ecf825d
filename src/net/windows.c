// SPDX-License-Identifier: Apache-2.0
// Which networks this process has, and which windows of each: by address for who sends, by number
// for what comes.

#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"
#include "net/state.h"

static _Atomic(struct tern__net *) nets[TERN__NETS]; // written under the lock
static pthread_mutex_t nets_lock = PTHREAD_MUTEX_INITIALIZER;

struct tern__net *tern__nets_at(int i)
{
    return atomic_load_explicit(&nets[i], memory_order_acquire);
}

// Forking. The receiving thread is between two messages, so its list of connections can be read.
static void hold(void)
{
    pthread_mutex_lock(&nets_lock);
    for (int i = 0; i < TERN__NETS; i++) {
        if (nets[i] != NULL) {
            pthread_mutex_lock(&nets[i]->work);
        }
    }
}

static void release(void)
{
    for (int i = TERN__NETS - 1; i >= 0; i--) {
        if (nets[i] != NULL) {
            pthread_mutex_unlock(&nets[i]->work);
        }
    }
    pthread_mutex_unlock(&nets_lock);
}

// The child has no part in the network: with its copies of the connections open, nobody would see
// the parent die.
static void in_child(void)
{
    for (int i = 0; i < TERN__NETS; i++) {
        struct tern__net *net = nets[i];
        if (net != NULL) {
            pthread_mutex_unlock(&net->work);
            nets[i] = NULL;
            net->job->net = NULL;
            net->job->far = NULL;
            tern__net_free(net);
        }
    }
    pthread_mutex_unlock(&nets_lock);
}

static void watch_forks(void)
{
    pthread_atfork(hold, release, in_child);
}

int tern__nets_add(struct tern__net *net)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&nets_lock);
    int at = 0;
    while (at < TERN__NETS && nets[at] != NULL) {
        at++;
    }
    if (at < TERN__NETS) {
        nets[at] = net;
    }
    pthread_mutex_unlock(&nets_lock);
    return at < TERN__NETS
               ? TERN_OK
               : tern__fail(TERN_ERR_LIMIT,
                            "a process cannot be in more than %d jobs on several machines",
                            TERN__NETS);
}

void tern__nets_remove(struct tern__net *net)
{
    pthread_mutex_lock(&nets_lock);
    for (int i = 0; i < TERN__NETS; i++) {
        if (nets[i] == net) {
            nets[i] = NULL;
        }
    }
    pthread_mutex_unlock(&nets_lock);
}

int tern__net_window_add(struct tern__net *net, const struct tern__net_window *window)
{
    int status = TERN_OK;
    pthread_rwlock_wrlock(&net->windows_lock);
    if (net->windows_count < TERN__NET_WINDOWS) {
        net->windows[net->windows_count++] = *window;
    } else {
        status = tern__fail(TERN_ERR_LIMIT,
                            "%d windows of this job are alive and there cannot be more on several "
                            "machines",
                            TERN__NET_WINDOWS);
    }
    pthread_rwlock_unlock(&net->windows_lock);
    return status;
}

void tern__net_window_remove(struct tern__net *net, const char *base)
{
    pthread_mutex_lock(&net->work);
    pthread_rwlock_wrlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count; i++) {
        if (net->windows[i].base == base) {
            size_t bytes = net->windows[i].size_bytes * (size_t)net->windows[i].nranks;
            net->windows[i] = net->windows[--net->windows_count];
            tern__net_turn_away(net, base, bytes);
            break;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    pthread_mutex_unlock(&net->work);
}

bool tern__net_window_find(struct tern__net *net, const char *address,
                           struct tern__net_window *window, int *rank, uint64_t *offset)
{
    bool found = false;
    pthread_rwlock_rdlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count && !found; i++) {
        const struct tern__net_window *at = &net->windows[i];
        if (address >= at->base && address < at->base + at->size_bytes * (size_t)at->nranks) {
            *window = *at;
            *rank = (int)((size_t)(address - at->base) / at->size_bytes);
            *offset = (size_t)(address - at->base) % at->size_bytes;
            found = true;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    return found;
}

char *tern__net_place(struct tern__net *net, const struct tern__net_message *message,
                      uint64_t bytes, int *rank)
{
    char *address = NULL;
    pthread_rwlock_rdlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count; i++) {
        const struct tern__net_window *at = &net->windows[i];
        if (at->slot == message->slot && at->number == message->number &&
            at->generation == message->generation && message->rank >= 0 &&
            message->rank < at->nranks && message->offset <= at->size_bytes &&
            bytes <= at->size_bytes - message->offset &&
            tern__job_is_here(net->job, at->members[message->rank])) {
            *rank = at->members[message->rank];
            address = at->base + at->size_bytes * (size_t)message->rank + message->offset;
            break;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    return address;
}

static void turn_away(struct tern__net_link *link, const char *begin, uint64_t bytes)
{
    if (link->in_payload && link->to >= begin && link->to < begin + bytes) {
        link->to = NULL;
    }
}

void tern__net_turn_away(struct tern__net *net, const char *begin, uint64_t bytes)
{
    for (struct tern__net_link *link = net->links; link != NULL; link = link->next) {
        turn_away(link, begin, bytes);
    }
}
