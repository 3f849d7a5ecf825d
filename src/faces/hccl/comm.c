// SPDX-License-Identifier: Apache-2.0
// Communicators of HCCL, over those of tern: how they are made, found and destroyed. Set-up path.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "comm/comm.h"
#include "faces/acl/memory.h"
#include "faces/hccl/device.h"
#include "faces/hccl/environment.h"
#include "faces/hccl/form.h"
#include "faces/hccl/order.h"
#include "start/root.h"
#include "stream/more.h"
#include "tern/comm.h"
#include "tern/stream.h"
#include "tern/window.h"

static struct hccl *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of `all`

const char *tern__hccl_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && *folder == '/' && strlen(folder) < 64 ? folder : "/tmp";
}

uint64_t tern__hccl_key(const char *path)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (; *path != '\0'; path++) {
        key = (key ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    }
    return key;
}

static struct hccl *find(const char *name)
{
    struct hccl *found = all;
    while (found != NULL && strcmp(found->name, name) != 0) {
        found = found->next;
    }
    return found;
}

bool tern__hccl_has_part(uint64_t key, const struct hccl *of)
{
    pthread_mutex_lock(&lock);
    const struct hccl *found = all;
    while (found != NULL && !(found->key == key && found->part_of == of->rank + 1)) {
        found = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

HcclResult tern__hccl_find(const char *call, const char *name, struct hccl **comm)
{
    pthread_mutex_lock(&lock);
    struct hccl *found = find(name);
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        return tern__hccl_refuse(call, HCCL_E_NOT_FOUND,
                                 "this process has no communicator '%.100s'", name);
    }
    *comm = found;
    return HCCL_SUCCESS;
}

static void strike_off(const struct hccl *hccl)
{
    pthread_mutex_lock(&lock);
    struct hccl **at = &all;
    while (*at != NULL && *at != hccl) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = hccl->next;
    }
    pthread_mutex_unlock(&lock);
}

// TERN_ERR_STATE: something else was made on it, and it stays.
static int unmake(struct hccl *hccl)
{
    tern__hccl_server_stop(hccl);
    int status = tern_window_destroy(hccl->window);
    hccl->window = NULL;
    int left = tern__acl_memory_leave(hccl->comm);
    if (left == TERN_ERR_STATE) {
        return left;
    }
    tern__hccl_symmetric_forget(hccl);
    strike_off(hccl);
    int forgotten = tern_event_destroy(hccl->ended);
    status = status != TERN_OK ? status : left != TERN_OK ? left : forgotten;
    free(hccl->form);
    pthread_mutex_destroy(&hccl->order);
    tern__handle_free(hccl, sizeof *hccl);
    return status;
}

// Takes its place in the list, under its name; false: the name is taken. Where ranks of one
// communicator are threads of one process, the names of all but the first end in their ranks.
static bool enlist(struct hccl *made)
{
    pthread_mutex_lock(&lock);
    const struct hccl *other = find(made->name);
    if (other != NULL && other->key == made->key && other->rank != made->rank) {
        char name[COMM_NAME_MAX_LENGTH];
        snprintf(name, sizeof name, "%.100s-%u", made->name, made->rank);
        memcpy(made->name, name, sizeof name);
    }
    bool free_name = find(made->name) == NULL;
    if (free_name) {
        made->next = all;
        all = made;
    }
    pthread_mutex_unlock(&lock);
    return free_name;
}

static bool name_is_taken(const char *name)
{
    pthread_mutex_lock(&lock);
    bool taken = find(name) != NULL;
    pthread_mutex_unlock(&lock);
    return taken;
}

static void name_it(struct hccl *made, const char *path, const struct tern__hccl_settings *settings)
{
    const char *slash = strrchr(path, '/');
    const char *last = slash != NULL ? slash + 1 : path;
    if (settings != NULL && settings->name[0] != '\0') {
        snprintf(made->name, sizeof made->name, "%s", settings->name);
    } else if (made->in_one_process) {
        snprintf(made->name, sizeof made->name, "%.100s-%u", last, made->rank);
    } else {
        snprintf(made->name, sizeof made->name, "%s", last);
    }
}

static HcclResult refuse_name(const char *call, const char *name)
{
    return tern__hccl_refuse(call, HCCL_E_PARA,
                             "this process has a communicator '%s' already; names are unique",
                             name);
}

bool tern__hccl_is_across(const struct hccl *comm)
{
    return comm->comm->group.job->machines != NULL;
}

static int meet(const struct hccl *made, const char *path,
                const struct tern__hccl_settings *settings, const struct tern__deadlines *deadlines,
                tern_comm **comm)
{
    int rank = (int)made->rank;
    int size = (int)made->size;
    if (settings != NULL && settings->root != NULL) {
        return tern__init_root(settings->root, rank, size, deadlines, comm);
    }
    if (settings == NULL || settings->of == NULL) {
        return tern__init_path(path, rank, size, deadlines, comm);
    }
    int ranks[TERN_RANKS_MAX];
    for (int i = 0; i < size; i++) {
        ranks[i] = (int)settings->ranks[i];
    }
    TERN_TRY(tern__hccl_enter(settings->of));
    int status = tern_comm_create_group(settings->of->comm, ranks, size, made->key, comm);
    tern__hccl_leave(settings->of);
    return status;
}

HcclResult tern__hccl_join_as(const char *call, uint64_t key, uint32_t size, const char *path,
                              uint32_t rank, const struct tern__hccl_settings *settings,
                              HcclComm *comm)
{
    if (size == 0 || size > TERN_RANKS_MAX || rank >= size) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "rank %u of %u; there are 1 to %d ranks, from 0 on", rank, size,
                                 TERN_RANKS_MAX);
    }
    if (settings != NULL && settings->name[0] != '\0' && name_is_taken(settings->name)) {
        return refuse_name(call, settings->name);
    }
    struct tern__deadlines deadlines;
    HcclResult known = tern__hccl_environment(call, &deadlines);
    if (known != HCCL_SUCCESS) {
        return known;
    }
    struct hccl *made = tern__handle_new(TERN__HCCL_COMM, sizeof *made);
    if (made == NULL) {
        tern__set_error("%s: no memory for a communicator", call);
        return tern__hccl_result(TERN_ERR_MEMORY);
    }
    made->key = key;
    made->part_of = settings != NULL ? settings->part_of : 0;
    made->in_one_process = settings != NULL && settings->in_one_process;
    made->rank = rank;
    made->size = size;
    made->buffer_bytes = settings != NULL ? settings->buffer_bytes : 0;
    made->form = tern__hccl_form_new(rank, size);
    pthread_mutex_init(&made->order, NULL);
    name_it(made, path, settings);
    if (settings != NULL && settings->timeout_ns != 0) {
        deadlines.waits_ns = settings->timeout_ns;
    }
    int status = made->form != NULL ? tern_event_create(&made->ended) : TERN_ERR_MEMORY;
    if (status == TERN_OK) { // a call that fails fails the communicator
        status = tern__event_only_orders(made->ended);
    }
    if (status == TERN_OK) {
        status = meet(made, path, settings, &deadlines, &made->comm);
    }
    if (status != TERN_OK) {
        HcclResult result = tern__hccl_result(status);
        unmake(made);
        return result;
    }
    if (settings == NULL || settings->of == NULL) { // else the whole has it
        (void)tern__acl_memory_join(made->comm);    // without it, memory of the device is ordinary
    }
    if (!enlist(made)) {
        HcclResult result = refuse_name(call, made->name);
        unmake(made);
        return result;
    }
    *comm = made;
    return HCCL_SUCCESS;
}

HcclResult tern__hccl_join(const char *call, uint32_t size, const char *path, uint32_t rank,
                           const struct tern__hccl_settings *settings, HcclComm *comm)
{
    return tern__hccl_join_as(call, tern__hccl_key(path), size, path, rank, settings, comm);
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    struct hccl *hccl = comm;
    HcclResult lives = tern__hccl_lives("HcclCommDestroy", hccl);
    if (lives != HCCL_SUCCESS) {
        return lives;
    }
    if (tern__hccl_gathers(hccl)) {
        return tern__hccl_refuse("HcclCommDestroy", HCCL_E_AGAIN,
                                 "calls on it are kept until this thread calls HcclGroupEnd; it "
                                 "can be destroyed after that");
    }
    int waited = tern__hccl_enter(hccl);
    if (waited != TERN_OK) { // its calls use it
        return tern__hccl_result(waited);
    }
    tern__hccl_leave(hccl);
    waited = tern__hccl_server_close(hccl);
    return tern__hccl_result(waited == TERN_OK ? unmake(hccl) : waited);
}

static HcclResult ask(const char *call, const struct hccl *hccl, uint32_t *answer,
                      int (*question)(const tern_comm *))
{
    if (answer == NULL) {
        return tern__hccl_no_pointer(call, "where the answer goes");
    }
    HcclResult result = tern__hccl_lives(call, hccl);
    if (result == HCCL_SUCCESS) {
        *answer = (uint32_t)question(hccl->comm);
    }
    return result;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize)
{
    return ask("HcclGetRankSize", comm, rankSize, tern_comm_size);
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
    return ask("HcclGetRankId", comm, rank, tern_comm_rank);
}

HcclResult HcclGetCommName(HcclComm comm, char *commName)
{
    const char *call = "HcclGetCommName";
    const struct hccl *hccl = comm;
    if (commName == NULL) {
        return tern__hccl_no_pointer(call, "commName");
    }
    HcclResult result = tern__hccl_lives(call, hccl);
    if (result == HCCL_SUCCESS) {
        memcpy(commName, hccl->name, sizeof hccl->name);
    }
    return result;
}

static HcclResult get_by_name(const char *call, const char *name, HcclComm *comm)
{
    if (name == NULL || comm == NULL) {
        return tern__hccl_no_pointer(call, name == NULL ? "name" : "comm");
    }
    struct hccl *found = NULL;
    HcclResult result = tern__hccl_find(call, name, &found);
    if (result == HCCL_SUCCESS) {
        *comm = found;
    }
    return result;
}

HcclResult HcomGetCommHandleByGroup(const char *group, HcclComm *comm)
{
    return get_by_name("HcomGetCommHandleByGroup", group, comm);
}

HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm)
{
    return get_by_name("HcclCommGetHandleWithName", commName, comm);
}

HcclResult HcomGetL0TopoTypeEx(const char *group, uint32_t *topoType, uint32_t isSetDevice)
{
    (void)group;
    (void)isSetDevice;
    if (topoType == NULL) {
        return tern__hccl_no_pointer("HcomGetL0TopoTypeEx", "topoType");
    }
    *topoType = COMM_TOPO_MESH;
    return HCCL_SUCCESS;
}

HcclResult HcclAllocComResourceByTiling(HcclComm comm, void *stream, void *tiling, void **ctx)
{
    const char *call = "HcclAllocComResourceByTiling";
    struct hccl *hccl = comm;
    (void)stream;
    (void)tiling;
    if (ctx == NULL) {
        return tern__hccl_no_pointer(call, "ctx");
    }
    HcclResult lives = tern__hccl_lives(call, hccl);
    if (lives != HCCL_SUCCESS) {
        return lives;
    }
    uint64_t bytes = hccl->buffer_bytes;
    int status = tern__hccl_enter(hccl);
    if (status == TERN_OK) {
        if (hccl->window == NULL) {
            status = bytes != 0 ? TERN_OK : tern__ccl_option(&bytes);
        }
        if (hccl->window == NULL && status == TERN_OK) {
            status = tern_window_create(hccl->comm, bytes, NULL, &hccl->window);
        }
        if (hccl->server == NULL && status == TERN_OK) {
            status = tern__hccl_server_start(hccl);
        }
        tern__hccl_leave(hccl);
    }
    if (status == TERN_ERR_MEMORY) { // of the device
        return tern__hccl_refuse(call, HCCL_E_OOM, "%s", tern_last_error());
    }
    if (status != TERN_OK) {
        return tern__hccl_result(status);
    }
    *ctx = (void *)(uintptr_t)tern_window_context(hccl->window);
    return HCCL_SUCCESS;
}
