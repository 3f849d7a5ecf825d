// SPDX-License-Identifier: Apache-2.0
// Root infos. One is the path at which the ranks meet on the machine that it was made on; where the
// program runs on several, it is a place of the network, too, and all meet there. Set-up path.

#include "faces/hccl/root.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "faces/hccl/state.h"
#include "start/across.h"
#include "start/root.h"

static const char mark[] = "tern:";

// At the end of a root info.
struct origin {
    uint32_t across; // the ranks meet at the place
    struct tern__root root;
    char boot_id[TERN__BOOT_ID_BYTES]; // "": not known
    char name[64];
};

static int find_origin(struct origin *origin)
{
    memset(origin, 0, sizeof *origin);
    if (gethostname(origin->name, sizeof origin->name - 1) != 0) {
        snprintf(origin->name, sizeof origin->name, "unnamed");
    }
    return tern__boot_id(origin->boot_id);
}

// Ranks elsewhere would not find the path, or find another one there.
static HcclResult check_origin(const char *call, const struct origin *made)
{
    struct origin here;
    if (find_origin(&here) != TERN_OK) {
        return tern__hccl_refuse(call, HCCL_E_SYSCALL, "%s", tern_last_error());
    }
    if (made->boot_id[0] == '\0' || here.boot_id[0] == '\0' ||
        memcmp(made->boot_id, here.boot_id, sizeof made->boot_id) == 0) {
        return HCCL_SUCCESS;
    }
    return tern__hccl_refuse(
        call, HCCL_E_NOT_SUPPORT,
        "this root info was made on machine '%.*s' for ranks there, and this is '%s': for ranks on "
        "several machines, HcclGetRootInfo is called by one of them with HCCL_IF_IP set to an "
        "address of its machine, or under tern run --hosts, mpirun or srun",
        (int)sizeof made->name - 1, made->name, here.name);
}

HcclResult tern__hccl_root_path(const char *call, HcclRootInfo *info)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        return tern__hccl_refuse(call, HCCL_E_SYSCALL, "no random number");
    }
    memset(info, 0, sizeof *info);
    snprintf(info->internal, sizeof info->internal, "%s%s/tern-hccl-%d-%016" PRIx64, mark,
             tern__hccl_folder(), (int)getpid(), number);
    return HCCL_SUCCESS;
}

// Where HCCL_IF_IP is set, or what started this process says that there are several machines.
static HcclResult find_place(const char *call, struct origin *origin)
{
    const char *address = getenv("HCCL_IF_IP");
    bool named = address != NULL && address[0] != '\0';
    if (!named && !tern__start_is_across()) {
        return HCCL_SUCCESS;
    }
    int status = tern__root_make(named ? address : NULL, &origin->root);
    if (status != TERN_OK) {
        return tern__hccl_refuse(call, status == TERN_ERR_ARG ? HCCL_E_PARA : HCCL_E_NETWORK,
                                 "%s%s", named ? "HCCL_IF_IP: " : "", tern_last_error());
    }
    origin->across = 1;
    return HCCL_SUCCESS;
}

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    const char *call = "HcclGetRootInfo";
    struct origin origin;
    if (rootInfo == NULL) {
        return tern__hccl_no_pointer(call, "rootInfo");
    }
    HcclResult result = tern__hccl_root_path(call, rootInfo);
    if (result == HCCL_SUCCESS && find_origin(&origin) != TERN_OK) {
        result = tern__hccl_refuse(call, HCCL_E_SYSCALL, "%s", tern_last_error());
    }
    result = result == HCCL_SUCCESS ? find_place(call, &origin) : result;
    if (result == HCCL_SUCCESS) {
        memcpy(rootInfo->internal + sizeof rootInfo->internal - sizeof origin, &origin,
               sizeof origin);
    }
    return result;
}

static HcclResult join(const char *call, uint32_t size, const HcclRootInfo *info, uint32_t rank,
                       const struct tern__hccl_settings *settings, HcclComm *comm)
{
    struct tern__hccl_settings with = *settings;
    struct origin origin;
    if (info == NULL || comm == NULL) {
        return tern__hccl_no_pointer(call, info == NULL ? "rootInfo" : "comm");
    }
    if (strncmp(info->internal, mark, sizeof mark - 1) != 0 ||
        memchr(info->internal, '\0', sizeof info->internal) == NULL ||
        strchr(info->internal, '/') == NULL) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "this root info was not made by HcclGetRootInfo; all ranks get a "
                                 "copy of the root's");
    }
    memcpy(&origin, info->internal + sizeof info->internal - sizeof origin, sizeof origin);
    if (origin.across != 0) {
        origin.root.host = -1;
        with.root = &origin.root;
    } else {
        HcclResult here = check_origin(call, &origin);
        if (here != HCCL_SUCCESS) {
            return here;
        }
    }
    return tern__hccl_join(call, size, info->internal + sizeof mark - 1, rank, &with, comm);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                HcclComm *comm)
{
    struct tern__hccl_settings settings = {.buffer_bytes = 0};
    return join("HcclCommInitRootInfo", nRanks, rootInfo, rank, &settings, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm)
{
    const char *call = "HcclCommInitRootInfoConfig";
    struct tern__hccl_settings settings;
    if (config == NULL) {
        return tern__hccl_no_pointer(call, "config");
    }
    HcclResult result = tern__hccl_settings(call, config, &settings);
    return result != HCCL_SUCCESS ? result : join(call, nRanks, rootInfo, rank, &settings, comm);
}
