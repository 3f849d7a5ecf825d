// SPDX-License-Identifier: Apache-2.0
// The comm_* platform API, over a backend (comm_backend.c).

#include "faces/comm_handle.h"

#include <stdlib.h>

#include "base/error.h"

// -1 with a sentence, unless the handle has windows and no pointer is NULL.
static int check_windows(const char *call, CommHandle h, const void *out)
{
    if (tern__handle_check(call, h, TERN__FACE_COMM) != TERN_OK) {
        return -1;
    }
    if (out == NULL) {
        tern__set_error("%s: no argument may be NULL", call);
        return -1;
    }
    if (h->context == NULL) {
        tern__set_error("%s: there are no windows yet; call comm_alloc_windows first", call);
        return -1;
    }
    return 0;
}

CommHandle comm_init(int rank, int nranks, const char *rootinfo_path)
{
    const struct tern__comm_backend *backend = tern__comm_backend_find();
    if (backend == NULL) {
        return NULL;
    }
    struct CommHandle_ *made = tern__handle_new(TERN__FACE_COMM, sizeof *made);
    if (made == NULL) {
        tern__set_error("comm_init: no memory for a handle");
        return NULL;
    }
    made->backend = backend;
    made->rank = (uint32_t)rank;
    made->size = (uint32_t)nranks;
    if (backend->join(made, rank, nranks, rootinfo_path) != 0) {
        tern__handle_free(made, sizeof *made);
        return NULL;
    }
    return made;
}

int comm_alloc_windows(CommHandle h, size_t win_size, uint64_t *device_ctx_out)
{
    if (tern__handle_check("comm_alloc_windows", h, TERN__FACE_COMM) != TERN_OK) {
        return -1;
    }
    if (device_ctx_out == NULL) {
        tern__set_error("comm_alloc_windows: no argument may be NULL");
        return -1;
    }
    if (h->context != NULL) {
        tern__set_error("comm_alloc_windows: this handle has its windows already");
        return -1;
    }
    if (h->backend->make_windows(h, win_size) != 0) {
        return -1;
    }
    *device_ctx_out = h->address;
    return 0;
}

int comm_get_local_window_base(CommHandle h, uint64_t *base_out)
{
    if (check_windows("comm_get_local_window_base", h, base_out) != 0) {
        return -1;
    }
    *base_out = h->context->windowsIn[h->rank];
    return 0;
}

int comm_get_window_size(CommHandle h, size_t *size_out)
{
    if (check_windows("comm_get_window_size", h, size_out) != 0) {
        return -1;
    }
    *size_out = (size_t)h->context->winSize;
    return 0;
}

int comm_barrier(CommHandle h)
{
    return check_windows("comm_barrier", h, h) == 0 ? h->backend->barrier(h) : -1;
}

int comm_destroy(CommHandle h)
{
    if (!tern__handle_is_inherited(h, TERN__FACE_COMM) && // a child may let go
        tern__handle_check("comm_destroy", h, TERN__FACE_COMM) != TERN_OK) {
        return -1;
    }
    int ended = tern__comm_domains_end(h);
    int left = h->backend->leave(h);
    tern__handle_free(h, sizeof *h);
    return ended == 0 ? left : ended;
}

uint32_t dma_workspace_supported_mask(void)
{
    return 0;
}

uint32_t dma_workspace_channel_count(void)
{
    return 0;
}

int dma_workspace_provision(uint32_t mask, uint64_t *addr_out, int count, void **handle_out)
{
    (void)addr_out;
    (void)count;
    if (mask != 0 || handle_out == NULL) {
        tern__set_error(mask != 0 ? "dma_workspace_provision: mask 0x%x; no engine has a workspace "
                                    "here (dma_workspace_supported_mask is 0), and asynchronous "
                                    "transfers need none"
                                  : "dma_workspace_provision: handle_out must not be NULL",
                        mask);
        return -1;
    }
    *handle_out = NULL;
    return 0;
}

void dma_workspace_release(void *handle)
{
    (void)handle;
}
