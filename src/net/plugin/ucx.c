// SPDX-License-Identifier: Apache-2.0
// An engine over UCX: RDMA where the machines have it, TCP where they have not. Its worker has a
// descriptor to sleep on. The library's calls are made under one lock, since senders make progress,
// too.

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <ucp/api/ucp.h>

typedef ucs_status_ptr_t operation;
struct link {
    pthread_mutex_t lock;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h *ends;
    int rank, nranks;
    int descriptor;
    void (*wake)(void *net);
    void *net;
};

#include "two_sided.inc"

// From whom, and its tag.
static ucp_tag_t tag_of(int rank, int tag)
{
    return (ucp_tag_t)(unsigned)rank << 32 | (unsigned)tag;
}

static int begun(operation *request)
{
    if (UCS_PTR_IS_ERR(*request)) {
        *request = NULL;
        return -1;
    }
    return 0;
}

static int post_send(struct link *link, int rank, int tag, const void *from, size_t bytes,
                     operation *request)
{
    const ucp_request_param_t none = {0};
    pthread_mutex_lock(&link->lock);
    *request = ucp_tag_send_nbx(link->ends[rank], from, bytes, tag_of(link->rank, tag), &none);
    pthread_mutex_unlock(&link->lock);
    return begun(request);
}

static int post_receive(struct link *link, int rank, int tag, void *to, size_t bytes,
                        operation *request)
{
    const ucp_request_param_t pending = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    pthread_mutex_lock(&link->lock);
    *request = ucp_tag_recv_nbx(link->worker, to, bytes, tag_of(rank, tag), UINT64_MAX, &pending);
    pthread_mutex_unlock(&link->lock);
    return begun(request);
}

static int test(struct link *link, operation *request)
{
    if (*request == NULL) {
        return 1; // at once
    }
    pthread_mutex_lock(&link->lock);
    bool moved = ucp_worker_progress(link->worker) != 0;
    ucs_status_t status = ucp_request_check_status(*request);
    if (status != UCS_INPROGRESS) {
        ucp_request_free(*request);
        *request = NULL;
    }
    pthread_mutex_unlock(&link->lock);
    if (moved) {
        link->wake(link->net); // what came may be for the driving thread
    }
    return status == UCS_INPROGRESS ? 0 : status == UCS_OK ? 1 : -1;
}

static void cancel(struct link *link, operation *request)
{
    pthread_mutex_lock(&link->lock);
    if (*request != NULL) {
        ucp_request_cancel(link->worker, *request);
        while (ucp_request_check_status(*request) == UCS_INPROGRESS) {
            ucp_worker_progress(link->worker);
        }
        ucp_request_free(*request);
        *request = NULL;
    }
    pthread_mutex_unlock(&link->lock);
}

static int fail(char *why, size_t why_bytes, const char *call, ucs_status_t status)
{
    snprintf(why, why_bytes, "%s failed: %s", call, ucs_status_string(status));
    return -1;
}

static int open_worker(struct link *link, char *why, size_t why_bytes)
{
    const ucp_params_t wants = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP};
    const ucp_worker_params_t works = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                       .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = ucp_init(&wants, NULL, &link->context);
    if (status != UCS_OK) {
        return fail(why, why_bytes, "ucp_init", status);
    }
    status = ucp_worker_create(link->context, &works, &link->worker);
    if (status != UCS_OK) {
        return fail(why, why_bytes, "ucp_worker_create", status);
    }
    status = ucp_worker_get_efd(link->worker, &link->descriptor);
    return status == UCS_OK ? 0 : fail(why, why_bytes, "ucp_worker_get_efd", status);
}

static int start(const struct tern__net_host *host, void *card, void **state, char *why,
                 size_t why_bytes)
{
    struct engine *engine = new_engine(host);
    if (engine == NULL) {
        snprintf(why, why_bytes, "no memory for the engine ucx");
        return -1;
    }
    struct link *link = &engine->link;
    pthread_mutex_init(&link->lock, NULL);
    link->rank = host->rank;
    link->nranks = host->nranks;
    link->wake = host->wake;
    link->net = host->net;
    link->ends = calloc((size_t)host->nranks, sizeof(ucp_ep_h));
    ucp_address_t *address = NULL;
    size_t length = 0;
    if (link->ends == NULL || open_worker(link, why, why_bytes) != 0) {
        free(link->ends);
        free_engine(engine);
        return -1;
    }
    ucs_status_t status = ucp_worker_get_address(link->worker, &address, &length);
    if (status != UCS_OK || length > TERN__NET_CARD_BYTES) {
        snprintf(why, why_bytes, "the address of UCX's worker has %zu bytes; %d fit", length,
                 TERN__NET_CARD_BYTES);
        free(link->ends);
        free_engine(engine);
        return -1;
    }
    memcpy(card, address, length);
    ucp_worker_release_address(link->worker, address);
    *state = engine;
    return 0;
}

static void end_broke(void *arg, ucp_ep_h end, ucs_status_t status)
{
    (void)arg;
    (void)end;
    (void)status; // its requests end with an error, and the network sees deaths by itself
}

static int connect_all(void *state, const char *cards, char *why, size_t why_bytes)
{
    struct engine *engine = state;
    struct link *link = &engine->link;
    for (uint64_t left = engine->host.elsewhere; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        const ucp_ep_params_t to = {
            .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER,
            .address =
                (const ucp_address_t *)(const void *)(cards + (size_t)rank * TERN__NET_CARD_BYTES),
            .err_mode = UCP_ERR_HANDLING_MODE_PEER,
            .err_handler = {.cb = end_broke}};
        ucs_status_t status = ucp_ep_create(link->worker, &to, &link->ends[rank]);
        if (status != UCS_OK) {
            return fail(why, why_bytes, "ucp_ep_create", status);
        }
    }
    listen_to_all(engine);
    return 0;
}

static bool progress(void *state)
{
    struct engine *engine = state;
    pthread_mutex_lock(&engine->link.lock);
    bool moved = ucp_worker_progress(engine->link.worker) != 0;
    pthread_mutex_unlock(&engine->link.lock);
    return take_all(engine) || moved;
}

static int descriptor(void *state)
{
    const struct engine *engine = state;
    return engine->link.descriptor;
}

static bool arm(void *state)
{
    struct engine *engine = state;
    pthread_mutex_lock(&engine->link.lock);
    bool armed = ucp_worker_arm(engine->link.worker) == UCS_OK;
    pthread_mutex_unlock(&engine->link.lock);
    return armed;
}

static void close_ends(struct link *link)
{
    for (int rank = 0; rank < link->nranks; rank++) {
        if (link->ends[rank] != NULL) {
            const ucp_request_param_t at_once = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
            operation closing = ucp_ep_close_nbx(link->ends[rank], &at_once);
            while (UCS_PTR_IS_PTR(closing) && ucp_request_check_status(closing) == UCS_INPROGRESS) {
                ucp_worker_progress(link->worker);
            }
            if (UCS_PTR_IS_PTR(closing)) {
                ucp_request_free(closing);
            }
        }
    }
}

static void stop(void *state, bool well)
{
    struct engine *engine = state;
    struct link *link = &engine->link;
    if (well) {
        drain_all(engine);
        cancel_all(engine);
        close_ends(link);
        ucp_worker_destroy(link->worker);
        ucp_cleanup(link->context);
        pthread_mutex_destroy(&link->lock);
    }
    free(link->ends);
    free_engine(engine);
}

const struct tern__net_engine tern_net_engine = {
    .abi = TERN__NET_ENGINE_ABI,
    .name = "ucx",
    .start = start,
    .connect = connect_all,
    .send = send_message,
    .has_room = has_room,
    .answer = answer_message,
    .progress = progress,
    .descriptor = descriptor,
    .arm = arm,
    .stop = stop,
};
