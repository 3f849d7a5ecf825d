// SPDX-License-Identifier: Apache-2.0
// Which networks this process has, and which windows of each: by address for who sends, by number
// for what comes.

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "net/state.h"
#include "sync/slots.h"

static _Atomic(struct tern__net *) nets[TERN__NETS]; // written under the lock
static pthread_mutex_t nets_lock = PTHREAD_MUTEX_INITIALIZER;

struct tern__net *tern__nets_at(int i)
{
    return atomic_load_explicit(&nets[i], memory_order_acquire);
}

bool tern__nets_hold(void)
{
    return pthread_mutex_trylock(&nets_lock) == 0;
}

void tern__nets_release(void)
{
    pthread_mutex_unlock(&nets_lock);
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

// The rest of a payload goes to where the memory is now.
static void move_payload(struct tern__net_link *link, const char *part, uint64_t bytes, char *own)
{
    if (link->in_payload && link->to >= part && link->to < part + bytes) {
        link->to = own + (link->to - part);
    }
    for (struct tern__net_reply *reply = link->first; reply != NULL; reply = reply->next) {
        if (reply->payload >= part && reply->payload < part + bytes) {
            reply->payload = own + (reply->payload - part);
        }
    }
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
        if (net->windows[i].base == base && !net->windows[i].retired) {
            size_t bytes = net->windows[i].size_bytes * (size_t)net->windows[i].nranks;
            net->windows[i] = net->windows[--net->windows_count];
            tern__net_turn_away(net, base, bytes);
            break;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    pthread_mutex_unlock(&net->work);
}

int tern__net_window_place(struct tern__net *net, uint64_t name, uint32_t *place)
{
    struct tern__ctl_window *windows = net->job->ctl->windows;
    for (uint32_t i = 0; i < TERN__CTL_WINDOWS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&windows[i].name, &none, name)) {
            *place = i;
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_LIMIT, "the ranks of a machine cannot have more than %d windows",
                      TERN__CTL_WINDOWS);
}

void tern__net_window_unplace(struct tern__net *net, uint32_t place)
{
    struct tern__ctl_window *at = &net->job->ctl->windows[place];
    atomic_store(&at->forgot, 0);
    atomic_store(&at->name, 0); // partner: tern__net_window_place
}

// Ranks of the communicator have destroyed it; the last of them all gives the place back.
static void forget(struct tern__net *net, uint32_t place, uint64_t name, uint64_t ranks,
                   uint64_t all)
{
    struct tern__ctl_window *at = &net->job->ctl->windows[place];
    if (atomic_load(&at->name) == name &&
        ((atomic_fetch_or(&at->forgot, ranks) | ranks) & all) == all) {
        tern__net_window_unplace(net, place);
    }
}

static void forget_told(struct tern__net *net, int peer, const struct tern__net_message *message,
                        const char *payload)
{
    (void)peer;
    (void)payload;
    if (message->key < TERN__CTL_WINDOWS && message->rank >= 0 && message->rank < TERN_RANKS_MAX) {
        forget(net, (uint32_t)message->key, message->value, UINT64_C(1) << message->rank,
               message->more);
    }
}

void tern__net_windows_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_FORGET, (struct tern__net_handler){.done = forget_told});
}

static void tell_forget(struct tern__net *net, const struct tern__net_window *window,
                        const uint32_t *places)
{
    const struct tern__machines *machines = net->job->machines;
    uint64_t told = UINT64_C(1) << machines->mine;
    // What this process has sent is stored before anybody hears of this.
    tern_status_ignore(
        tern__net_flush_within(net, true, &net->job->ctl->comms[0].failed, net->job->timeout_ns));
    for (int rank = 0; rank < window->nranks; rank++) {
        int machine = machines->of[window->members[rank]];
        if ((told >> machine & 1) != 0) {
            continue;
        }
        told |= UINT64_C(1) << machine;
        struct tern__net_message message = {.kind = TERN__NET_FORGET,
                                            .key = places[machine],
                                            .value = window->name,
                                            .more = window->all,
                                            .rank = window->rank};
        tern_status_ignore(tern__net_send(net, machines->list[machine].leader, &message, NULL));
    }
    forget(net, window->place, window->name, UINT64_C(1) << window->rank, window->all);
}

void tern__net_window_retire(struct tern__net *net, const char *base, char *own,
                             const uint32_t *places)
{
    struct tern__net_window window = {.nranks = 0};
    pthread_mutex_lock(&net->work);
    pthread_rwlock_wrlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count; i++) {
        struct tern__net_window *at = &net->windows[i];
        if (at->base == base && !at->retired) {
            window = *at;
            const char *part = at->base + (size_t)at->rank * at->size_bytes;
            for (struct tern__net_link *link = net->links; link != NULL && part != own;
                 link = link->next) {
                move_payload(link, part, at->size_bytes, own);
            }
            at->base = own - (size_t)at->rank * at->size_bytes;
            at->retired = true;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    pthread_mutex_unlock(&net->work);
    if (window.nranks > 0) {
        tell_forget(net, &window, places);
    }
}

// Whether the communicator works, of which members here may have let go.
static bool works(const struct tern__net *net, const struct tern__net_window *window)
{
    struct tern__slot slot = {.number = (int32_t)window->slot,
                              .generation = window->slot_generation};
    const struct tern__ctl_comm *comm = tern__slot_lock(net->job, slot, window->nranks);
    if (comm == NULL) { // its slot is that of another one: all members have
        return false;
    }
    bool works = tern__flag_load(&comm->failed) == TERN__WORKING;
    tern__slot_unlock(net->job, slot);
    return works;
}

static bool is_needed(const struct tern__net *net, const struct tern__net_window *window)
{
    const struct tern__ctl_window *at = &net->job->ctl->windows[window->place];
    uint64_t left = window->away & ~atomic_load(&at->forgot);
    return atomic_load(&at->name) == window->name && left != 0 && works(net, window);
}

void tern__net_windows_reap(struct tern__net *net)
{
    pthread_mutex_lock(&net->work);
    pthread_rwlock_wrlock(&net->windows_lock);
    for (uint32_t i = net->windows_count; i-- > 0;) {
        struct tern__net_window *at = &net->windows[i];
        if (at->retired && (!is_needed(net, at) || tern__flag_load(&net->stop) != 0)) {
            char *own = at->base + (size_t)at->rank * at->size_bytes;
            tern__net_turn_away(net, own, at->size_bytes);
            munmap(own, at->size_bytes);
            *at = net->windows[--net->windows_count];
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
        if (!at->retired && address >= at->base &&
            address < at->base + at->size_bytes * (size_t)at->nranks) {
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
            at->generation == message->generation && message->rank == at->rank &&
            message->offset <= at->size_bytes && bytes <= at->size_bytes - message->offset) {
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
