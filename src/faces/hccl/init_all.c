// SPDX-License-Identifier: Apache-2.0
// All ranks of a job in one process: each is joined by a thread of its own, since joining waits for
// the others. The threads end with the call; later, calls are run by the threads of their streams,
// so the program may make them one communicator after the other. Set-up path.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "faces/acl/visible.h"
#include "faces/hccl/root.h"
#include "faces/hccl/state.h"

struct member {
    pthread_t thread;
    const char *path;
    uint32_t count, rank;
    int32_t device;
    HcclComm comm;
    HcclResult result;
    char sentence[TERN_ERROR_BYTES];
};

static void *join_member(void *arg)
{
    struct member *member = arg;
    const struct tern__hccl_settings settings = {.in_one_process = true};
    member->result = aclrtSetDevice(member->device) == ACL_SUCCESS
                         ? tern__hccl_join("HcclCommInitAll", member->count, member->path,
                                           member->rank, &settings, &member->comm)
                         : HCCL_E_PARA;
    if (member->result != HCCL_SUCCESS) {
        snprintf(member->sentence, sizeof member->sentence, "%s", tern_last_error());
    }
    return NULL;
}

static HcclResult check_devices(const char *call, uint32_t count, const int32_t *devices)
{
    if (count == 0 || count > TERN_RANKS_MAX) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "ndev is %u; there are 1 to %d", count,
                                 TERN_RANKS_MAX);
    }
    struct tern__acl_visible visible;
    int status = tern__acl_visible(call, &visible);
    if (status != TERN_OK) {
        return tern__hccl_result(tern__public_end(call, status));
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = 0;
        while (devices[same] != devices[i]) {
            same++;
        }
        if (devices[i] < 0 || devices[i] >= visible.count || same != i) {
            return tern__hccl_refuse(call, HCCL_E_PARA,
                                     "devices[%u] is %d, which %s; there are devices 0 to %d", i,
                                     devices[i], same != i ? "comes twice" : "does not exist",
                                     visible.count - 1);
        }
    }
    return HCCL_SUCCESS;
}

// Those that could be started; signals go to the program's own threads.
static uint32_t start(struct member *members, uint32_t count)
{
    sigset_t all, before;
    uint32_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (started < count &&
           pthread_create(&members[started].thread, NULL, join_member, &members[started]) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

// The first that could not join; all others leave.
static HcclResult finish(const char *call, struct member *members, uint32_t count, HcclComm *comms)
{
    const struct member *failed = NULL;
    for (uint32_t i = 0; i < count && failed == NULL; i++) {
        failed = members[i].result != HCCL_SUCCESS ? &members[i] : NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (failed == NULL) {
            comms[i] = members[i].comm;
        } else if (members[i].result == HCCL_SUCCESS) {
            (void)HcclCommDestroy(members[i].comm);
        }
    }
    return failed == NULL ? HCCL_SUCCESS
                          : tern__hccl_refuse(call, failed->result, "rank %u: %s", failed->rank,
                                              failed->sentence);
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms)
{
    const char *call = __func__;
    HcclRootInfo info;
    if (devices == NULL || comms == NULL) {
        return tern__hccl_no_pointer(call, devices == NULL ? "devices" : "comms");
    }
    HcclResult result = check_devices(call, ndev, devices);
    result = result == HCCL_SUCCESS ? tern__hccl_root_path(call, &info) : result;
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct member *members = calloc(ndev, sizeof *members);
    if (members == NULL) {
        return tern__hccl_refuse(call, HCCL_E_MEMORY, "no memory for %u ranks", ndev);
    }
    for (uint32_t i = 0; i < ndev; i++) {
        members[i].path = strchr(info.internal, '/');
        members[i].count = ndev;
        members[i].rank = i;
        members[i].device = devices[i];
        members[i].result = HCCL_E_INTERNAL;
        snprintf(members[i].sentence, sizeof members[i].sentence, "its thread could not start");
    }
    uint32_t started = start(members, ndev);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(members[i].thread, NULL);
    }
    result = finish(call, members, ndev, comms);
    free(members);
    return result;
}
