// SPDX-License-Identifier: Apache-2.0
// Communicators of some ranks of another. Its ranks meet at a place of their own, whose name all of
// them can work out alone: from where the ranks of the first one met, the id, and the list. So
// nobody else takes part, and a rank that has another list waits at another place: after the
// deadline it is told who did not come. On several machines there is no such place: the first
// communicator makes them, and has to outlive them.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faces/hccl/order.h"

static HcclResult check_list(const char *call, const struct hccl *comm, uint32_t count,
                             const uint32_t *ranks, uint32_t own)
{
    uint64_t seen = 0;
    _Static_assert(TERN_RANKS_MAX <= 64, "a bit for each rank");
    if (ranks == NULL || count == 0 || count > comm->size) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "rankNum is %u; it must be 1..%u, or 0 and rankIds NULL in a rank "
                                 "that takes no part",
                                 count, comm->size);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i] >= comm->size || (seen >> ranks[i] & 1) != 0) {
            return tern__hccl_refuse(call, HCCL_E_PARA,
                                     "rankIds[%u] is %u, which %s; the communicator has %u ranks",
                                     i, ranks[i],
                                     ranks[i] >= comm->size ? "does not exist" : "comes twice",
                                     comm->size);
        }
        seen |= UINT64_C(1) << ranks[i];
    }
    if (own >= count || ranks[own] != comm->rank) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "subCommRankId is %u, but rankIds does not have this rank, %u, "
                                 "there",
                                 own, comm->rank);
    }
    return HCCL_SUCCESS;
}

static uint64_t key_of_list(const uint32_t *ranks, uint32_t count)
{
    char text[TERN_RANKS_MAX * 11 + 1] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%u,", ranks[i]);
    }
    return tern__hccl_key(text);
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
                                   uint64_t subCommId, uint32_t subCommRankId,
                                   HcclCommConfig *config, HcclComm *subComm)
{
    const char *call = __func__;
    struct tern__hccl_settings settings = {.buffer_bytes = 0};
    if (comm == NULL || subComm == NULL) {
        return tern__hccl_no_pointer(call, comm == NULL ? "comm" : "subComm");
    }
    struct hccl *hccl = *comm;
    HcclResult result = tern__hccl_ready(call, hccl);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (rankIds == NULL && rankNum == 0) {
        *subComm = NULL;
        return HCCL_SUCCESS;
    }
    result = check_list(call, hccl, rankNum, rankIds, subCommRankId);
    if (result == HCCL_SUCCESS && config != NULL) {
        result = tern__hccl_settings(call, config, &settings);
    }
    if (result != HCCL_SUCCESS) {
        return result;
    }
    char place[64], path[160];
    const char *folder = tern__hccl_folder();
    snprintf(place, sizeof place, "tern-hccl-%016" PRIx64 "-%" PRIx64, hccl->key, subCommId);
    const uint64_t key = tern__hccl_key(place);
    if (tern__hccl_has_part(key, hccl)) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "a communicator of '%s' with subCommId %" PRIu64 " lives here; "
                                 "each has an id of its own",
                                 hccl->name, subCommId);
    }
    snprintf(path, sizeof path, "%s/%s-%016" PRIx64, folder, place, key_of_list(rankIds, rankNum));
    if (tern__hccl_is_across(hccl)) {
        settings.of = hccl;
        settings.ranks = rankIds;
    }
    settings.part_of = hccl->rank + 1;
    settings.in_one_process = hccl->in_one_process;
    return tern__hccl_join_as(call, key, rankNum, path, subCommRankId, &settings, subComm);
}
