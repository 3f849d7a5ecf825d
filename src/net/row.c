// SPDX-License-Identifier: Apache-2.0
// Windows whose parts are on several machines: puts, adds, notifies and gets as messages, and what
// is done when they come. A rank of another machine is named by the address that its part would
// have in this process, so the row fits the table of transports.

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "net/state.h"
#include "sync/group.h"
#include "sync/wait.h"
#include "tern/dtype.h"

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

void tern__net_window_remove(struct tern__net *net, uint32_t slot, uint32_t number)
{
    pthread_rwlock_wrlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count; i++) {
        if (net->windows[i].slot == slot && net->windows[i].number == number) {
            net->windows[i] = net->windows[--net->windows_count];
            break;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
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

// The network that an address of a window leads to. A process has one, or several when it is in
// several jobs: then the window tells.
static _Atomic(struct tern__net *) nets[8]; // written under the lock
static pthread_mutex_t nets_lock = PTHREAD_MUTEX_INITIALIZER;

struct far {
    struct tern__net *net;
    struct tern__net_window window;
    int rank; // of the job
    struct tern__net_message message;
};

static bool find(const char *address, enum tern__net_kind kind, struct far *far)
{
    int rank;
    uint64_t offset;
    for (int i = 0; i < (int)(sizeof nets / sizeof nets[0]); i++) {
        far->net = nets[i];
        if (far->net != NULL &&
            tern__net_window_find(far->net, address, &far->window, &rank, &offset)) {
            far->rank = far->window.members[rank];
            far->message = (struct tern__net_message){.kind = kind,
                                                      .slot = far->window.slot,
                                                      .number = far->window.number,
                                                      .rank = rank,
                                                      .offset = offset};
            return true;
        }
    }
    return false;
}

// What fails here is of a rank that has died: whoever waits, or calls next, is told.
static void send(struct far *far, const void *payload)
{
    tern_status_ignore(tern__net_send(far->net, far->rank, &far->message, payload));
}

static void net_put(char *remote, const char *local, size_t size_bytes)
{
    struct far far;
    if (size_bytes > 0 && find(remote, TERN__NET_PUT, &far)) {
        far.message.bytes = size_bytes;
        send(&far, local);
    }
}

static void net_put_add(char *remote, const char *local, size_t count, tern_dtype dtype)
{
    struct far far;
    if (count > 0 && find(remote, TERN__NET_ADD, &far)) {
        far.message.bytes = count * tern_dtype_size(dtype);
        far.message.word = (uint32_t)dtype;
        send(&far, local);
    }
}

static void net_notify(char *remote, int32_t value, tern_notify_op op)
{
    struct far far;
    if (find(remote, TERN__NET_NOTIFY, &far)) {
        far.message.value = (uint32_t)value;
        far.message.word = (uint32_t)op;
        tern_status_ignore(tern__net_flush(far.net, far.rank));
        send(&far, NULL);
    }
}

static bool has_come(void *arg)
{
    const struct tern__net_get *get = arg;
    return tern__flag_load(&get->state) == 2; // partner: get_done
}

struct get_wait {
    struct tern__net *net;
    struct tern__net_get *get;
    int rank;
};

static bool get_holds(void *arg)
{
    const struct get_wait *wait = arg;
    return has_come(wait->get);
}

static int get_broken(void *arg, bool deep)
{
    const struct get_wait *wait = arg;
    (void)deep;
    uint32_t state = tern__flag_load(&wait->net->job->ctl->ranks[wait->rank].state);
    return state == TERN__RANK_DEAD || state == TERN__RANK_LEFT ? TERN_ERR_PEER : TERN_OK;
}

static struct tern__net_get *take_get(struct tern__net *net)
{
    for (;;) {
        for (int i = 0; i < TERN__NET_GETS; i++) {
            if (tern__flag_swap(&net->gets[i].state, 0, 1)) {
                return &net->gets[i];
            }
        }
        sched_yield();
    }
}

static void net_get(const char *remote, char *local, size_t size_bytes)
{
    struct far far;
    if (size_bytes == 0 || !find(remote, TERN__NET_GET, &far)) {
        return;
    }
    struct tern__net *net = far.net;
    struct tern__net_get *get = take_get(net);
    get->to = local;
    get->bytes = size_bytes;
    far.message.value = size_bytes;
    far.message.key = (uint64_t)(get - net->gets);
    if (tern__net_send(net, far.rank, &far.message, NULL) == TERN_OK) {
        struct get_wait wait = {net, get, far.rank};
        struct tern__ladder ladder = tern__job_ladder(net->job);
        struct tern__wait climb = {.bell = &net->job->ctl->ranks[net->job->rank].bell,
                                   .ladder = &ladder,
                                   .timeout_ns = net->job->timeout_ns,
                                   .holds = get_holds,
                                   .broken = get_broken,
                                   .arg = &wait};
        if (tern__ladder_climb(&climb) == TERN_ERR_TIMEOUT) {
            char text[120];
            snprintf(text, sizeof text, "rank %d did not answer a get within %.3g s", far.rank,
                     (double)net->job->timeout_ns * 1e-9);
            tern__ctl_comm_fail(net->job->ctl, (int)far.window.slot, TERN_ERR_TIMEOUT,
                                far.window.rank, text);
        }
        if (!has_come(get)) {
            return; // its slot stays taken: the bytes may still come, and must not go elsewhere
        }
    }
    tern__flag_store(&get->state, 0);
}

static void net_put_block(char *remote, const char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        net_put(remote + row * block->window_stride_bytes, local + row * block->local_stride_bytes,
                block->row_bytes);
    }
}

static void net_get_block(const char *remote, char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        net_get(remote + row * block->window_stride_bytes, local + row * block->local_stride_bytes,
                block->row_bytes);
    }
}

const struct tern__xport tern__xport_net = {
    .name = "net",
    .is_mapped = false,
    .put = net_put,
    .get = net_get,
    .put_block = net_put_block,
    .get_block = net_get_block,
    .put_add = net_put_add,
    .notify = net_notify,
};

// Coming.

// Where the bytes of a message are here; NULL when they are in no window of this process, which may
// have destroyed it, or stick out.
static char *address_of(struct tern__net *net, const struct tern__net_message *message,
                        uint64_t bytes, struct tern__net_window *window)
{
    char *address = NULL;
    pthread_rwlock_rdlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count; i++) {
        const struct tern__net_window *at = &net->windows[i];
        if (at->slot == message->slot && at->number == message->number && message->rank >= 0 &&
            message->rank < at->nranks && message->offset <= at->size_bytes &&
            bytes <= at->size_bytes - message->offset &&
            tern__job_is_here(net->job, at->members[message->rank])) {
            *window = *at;
            address = at->base + at->size_bytes * (size_t)message->rank + message->offset;
            break;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    return address;
}

static char *put_place(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    struct tern__net_window window;
    (void)peer;
    return address_of(net, message, message->bytes, &window);
}

static void put_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                     const char *payload)
{
    (void)net;
    (void)peer;
    (void)message;
    (void)payload;
}

static void add_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                     const char *payload)
{
    struct tern__net_window window;
    char *to = address_of(net, message, message->bytes, &window);
    size_t element = message->word < 256 ? tern_dtype_size((tern_dtype)message->word) : 0;
    (void)peer;
    if (to != NULL && element != 0) {
        tern__xport_shm.put_add(to, payload, message->bytes / element, (tern_dtype)message->word);
    }
}

static void notify_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                        const char *payload)
{
    struct tern__net_window window;
    char *to = address_of(net, message, sizeof(int32_t), &window);
    (void)peer;
    (void)payload;
    if (to != NULL && message->offset % sizeof(int32_t) == 0) {
        tern__xport_shm.notify(to, (int32_t)(uint32_t)message->value,
                               (tern_notify_op)message->word);
        tern__bell_ring(&net->job->ctl->ranks[window.members[message->rank]].bell);
    }
}

static void get_asked(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    struct tern__net_window window;
    const char *from = address_of(net, message, message->value, &window);
    struct tern__net_message got = {.kind = TERN__NET_GOT,
                                    .key = message->key,
                                    .bytes = from != NULL ? message->value : 0};
    (void)payload;
    tern__net_answer(net, peer, &got, from);
}

static char *get_place(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    (void)peer;
    struct tern__net_get *get = message->key < TERN__NET_GETS ? &net->gets[message->key] : NULL;
    return get != NULL && tern__flag_load(&get->state) == 1 && get->bytes == message->bytes
               ? get->to
               : NULL;
}

static void get_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                     const char *payload)
{
    (void)peer;
    (void)payload;
    if (message->key < TERN__NET_GETS) {
        tern__flag_swap(&net->gets[message->key].state, 1, 2); // partner: has_come
        tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell);
    }
}

// On this machine, in such a job.

static void near_notify(char *remote, int32_t value, tern_notify_op op)
{
    for (int i = 0; i < (int)(sizeof nets / sizeof nets[0]); i++) {
        if (nets[i] != NULL) {
            tern_status_ignore(tern__net_flush(nets[i], -1));
        }
    }
    tern__xport_shm.notify(remote, value, op);
}

struct tern__xport tern__xport_near;

static void make_near(void)
{
    tern__xport_near = tern__xport_shm;
    tern__xport_near.notify = near_notify;
}

void tern__net_row_start(struct tern__net *net)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_near);
    tern__net_handle(net, TERN__NET_PUT, (struct tern__net_handler){put_place, put_done});
    tern__net_handle(net, TERN__NET_ADD, (struct tern__net_handler){NULL, add_done});
    tern__net_handle(net, TERN__NET_NOTIFY, (struct tern__net_handler){NULL, notify_done});
    tern__net_handle(net, TERN__NET_GET, (struct tern__net_handler){NULL, get_asked});
    tern__net_handle(net, TERN__NET_GOT, (struct tern__net_handler){get_place, get_done});
    pthread_mutex_lock(&nets_lock);
    for (int i = 0; i < (int)(sizeof nets / sizeof nets[0]); i++) {
        if (nets[i] == NULL) {
            nets[i] = net;
            break;
        }
    }
    pthread_mutex_unlock(&nets_lock);
}

void tern__net_row_stop(struct tern__net *net)
{
    pthread_mutex_lock(&nets_lock);
    for (int i = 0; i < (int)(sizeof nets / sizeof nets[0]); i++) {
        nets[i] = nets[i] == net ? NULL : nets[i];
    }
    pthread_mutex_unlock(&nets_lock);
}
