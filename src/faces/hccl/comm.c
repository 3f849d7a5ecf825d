// SPDX-License-Identifier: Apache-2.0
// How programs bring themselves up through HCCL, over tern's communicator. A root info is the path
// at which the ranks meet. Set-up path.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "faces/hccl/state.h"
#include "tern/comm.h"
#include "tern/stream.h"
#include "tern/window.h"

enum { DEFAULT_BUFFER_MIB = 200, BUFFER_MIB_MAX = 1 << 20 };

static const char root_info_mark[] = "tern:";

static struct hccl *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of `all`

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    if (rootInfo == NULL) {
        return tern__hccl_no_pointer("HcclGetRootInfo");
    }
    uint64_t number = 0;
    const char *folder = getenv("TMPDIR");
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        return tern__hccl_result(
            tern__fail_errno(TERN_ERR_SYSTEM, "HcclGetRootInfo: no random number"));
    }
    memset(rootInfo, 0, sizeof *rootInfo);
    snprintf(rootInfo->internal, sizeof rootInfo->internal, "%s%s/tern-hccl-%d-%016" PRIx64,
             root_info_mark, folder != NULL && strlen(folder) < 64 ? folder : "/tmp", (int)getpid(),
             number);
    return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                HcclComm *comm)
{
    const size_t mark = sizeof root_info_mark - 1;
    if (rootInfo == NULL || comm == NULL) {
        return tern__hccl_no_pointer("HcclCommInitRootInfo");
    }
    if (strncmp(rootInfo->internal, root_info_mark, mark) != 0 ||
        memchr(rootInfo->internal, '\0', sizeof rootInfo->internal) == NULL ||
        strchr(rootInfo->internal, '/') == NULL) {
        return tern__hccl_result(tern__fail(TERN_ERR_ARG,
                                            "HcclCommInitRootInfo: this root info was not made by "
                                            "HcclGetRootInfo; all ranks get a copy of the root's"));
    }
    if (nRanks == 0 || nRanks > TERN_RANKS_MAX || rank >= nRanks) {
        return tern__hccl_result(
            tern__fail(TERN_ERR_ARG,
                       "HcclCommInitRootInfo: rank %u of %u; there are 1 to %d ranks, "
                       "from 0 on",
                       rank, nRanks, TERN_RANKS_MAX));
    }
    struct hccl *made = tern__handle_new(TERN__HCCL_COMM, sizeof *made);
    if (made == NULL) {
        return tern__hccl_result(tern__fail(TERN_ERR_MEMORY, "no memory for a communicator"));
    }
    int status = tern_init_at((int)rank, (int)nRanks, rootInfo->internal + mark, NULL, &made->comm);
    if (status != TERN_OK) {
        tern__handle_free(made, sizeof *made);
        return tern__hccl_result(status);
    }
    const char *slash = strrchr(rootInfo->internal, '/');
    snprintf(made->name, sizeof made->name, "%s", slash + 1);
    pthread_mutex_lock(&lock);
    made->next = all;
    all = made;
    pthread_mutex_unlock(&lock);
    *comm = made;
    return HCCL_SUCCESS;
}

HcclResult HcclCommDestroy(HcclComm comm)
{
    struct hccl *hccl = comm;
    int status = tern__hccl_check("HcclCommDestroy", hccl);
    if (status != TERN_OK) {
        return tern__hccl_result(status);
    }
    pthread_mutex_lock(&lock);
    struct hccl **at = &all;
    while (*at != NULL && *at != hccl) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = hccl->next;
    }
    pthread_mutex_unlock(&lock);
    status = tern_window_destroy(hccl->window);
    int left = tern_comm_destroy(hccl->comm);
    tern__handle_free(hccl, sizeof *hccl);
    return tern__hccl_result(status != TERN_OK ? status : left);
}

static HcclResult ask(const char *call, const struct hccl *hccl, uint32_t *answer,
                      int (*question)(const tern_comm *))
{
    if (answer == NULL) {
        return tern__hccl_no_pointer(call);
    }
    int status = tern__hccl_check(call, hccl);
    if (status == TERN_OK) {
        *answer = (uint32_t)question(hccl->comm);
    }
    return tern__hccl_result(status);
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
    const struct hccl *hccl = comm;
    if (commName == NULL) {
        return tern__hccl_no_pointer("HcclGetCommName");
    }
    int status = tern__hccl_check("HcclGetCommName", hccl);
    if (status == TERN_OK && hccl != NULL) {
        memcpy(commName, hccl->name, sizeof hccl->name);
    }
    return tern__hccl_result(status);
}

struct barrier {
    tern_comm *comm;
};

static int run_barrier(void *args)
{
    const struct barrier *barrier = args;
    return tern_comm_barrier(barrier->comm);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    const struct hccl *hccl = comm;
    int status = tern__hccl_check("HcclBarrier", hccl);
    if (status == TERN_OK && stream == NULL) {
        status = tern_comm_barrier(hccl->comm);
    } else if (status == TERN_OK) {
        struct barrier barrier = {hccl->comm};
        status = tern_stream_launch(stream, &(tern_stream_kernel){.kernel = run_barrier,
                                                                  .name = "HcclBarrier",
                                                                  .blocks = 1,
                                                                  .args = &barrier,
                                                                  .args_bytes = sizeof barrier});
    }
    return tern__hccl_result(status);
}

HcclResult HcomGetCommHandleByGroup(const char *group, HcclComm *comm)
{
    if (group == NULL || comm == NULL) {
        return tern__hccl_no_pointer("HcomGetCommHandleByGroup");
    }
    pthread_mutex_lock(&lock);
    struct hccl *found = all;
    while (found != NULL && strcmp(found->name, group) != 0) {
        found = found->next;
    }
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        tern__set_error("HcomGetCommHandleByGroup: this process has no communicator '%.100s'",
                        group);
        return HCCL_E_NOT_FOUND;
    }
    *comm = found;
    return HCCL_SUCCESS;
}

HcclResult HcomGetL0TopoTypeEx(const char *group, uint32_t *topoType, uint32_t isSetDevice)
{
    (void)group;
    (void)isSetDevice;
    if (topoType == NULL) {
        return tern__hccl_no_pointer("HcomGetL0TopoTypeEx");
    }
    *topoType = COMM_TOPO_MESH;
    return HCCL_SUCCESS;
}

static int buffer_option(size_t *bytes)
{
    const char *text = getenv("HCCL_BUFFSIZE");
    long mib = DEFAULT_BUFFER_MIB;
    if (text != NULL && *text != '\0' && tern__parse_integer(text, 1, BUFFER_MIB_MAX, &mib) != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "HCCL_BUFFSIZE is '%.40s'; it must be a number of MiB from 1 on", text);
    }
    *bytes = (size_t)mib << 20;
    return TERN_OK;
}

HcclResult HcclAllocComResourceByTiling(HcclComm comm, void *stream, void *tiling, void **ctx)
{
    struct hccl *hccl = comm;
    (void)stream;
    (void)tiling;
    if (ctx == NULL) {
        return tern__hccl_no_pointer("HcclAllocComResourceByTiling");
    }
    size_t bytes;
    int status = tern__hccl_check("HcclAllocComResourceByTiling", hccl);
    if (status == TERN_OK && hccl->window == NULL) {
        status = buffer_option(&bytes);
        if (status == TERN_OK) {
            status = tern_window_create(hccl->comm, bytes, NULL, &hccl->window);
        }
    }
    if (status != TERN_OK) {
        return tern__hccl_result(status);
    }
    *ctx = (void *)(uintptr_t)tern_window_context(hccl->window);
    return HCCL_SUCCESS;
}
