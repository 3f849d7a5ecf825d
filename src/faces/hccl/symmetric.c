// SPDX-License-Identifier: Apache-2.0
// Memory that programs announce to a communicator: symmetric windows, ranges, active and registered
// memory. Nothing has to be done for it, since calls find what a buffer is by its address; so what
// is here checks what the program says, and answers which window an address is in. Set-up path.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/public.h"
#include "faces/acl/memory.h"
#include "faces/acl/virtual.h"
#include "faces/hccl/state.h"

enum kind { WINDOW, RANGE, ACTIVE, REGISTERED };

// Known by its address alone, so a foreign pointer is never followed.
struct announced {
    struct announced *next;
    const struct hccl *comm;
    enum kind kind;
    uintptr_t begin;
    uint64_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of `all`
static struct announced *all;

static bool has(const struct announced *one, uintptr_t begin, uint64_t bytes)
{
    return begin >= one->begin && bytes <= one->bytes && begin - one->begin <= one->bytes - bytes;
}

// The first of the communicator and kind that has all of these bytes. Under the lock.
static struct announced *find(const struct hccl *comm, enum kind kind, uintptr_t begin,
                              uint64_t bytes)
{
    struct announced *at = all;
    while (at != NULL && !(at->comm == comm && at->kind == kind && has(at, begin, bytes))) {
        at = at->next;
    }
    return at;
}

// The one that begins there. Under the lock.
static struct announced **find_begin(const struct hccl *comm, enum kind kind, uintptr_t begin)
{
    struct announced **at = &all;
    while (*at != NULL && !((*at)->comm == comm && (*at)->kind == kind && (*at)->begin == begin)) {
        at = &(*at)->next;
    }
    return at;
}

static bool overlaps(const struct hccl *comm, enum kind kind, uintptr_t begin, uint64_t bytes)
{
    const struct announced *at = all;
    while (at != NULL && !(at->comm == comm && at->kind == kind && begin < at->begin + at->bytes &&
                           at->begin < begin + bytes)) {
        at = at->next;
    }
    return at != NULL;
}

static HcclResult check_bytes(const char *call, const void *begin, uint64_t bytes)
{
    if (begin == NULL) {
        return tern__hccl_no_pointer(call, "the address");
    }
    if (bytes == 0 || bytes > UINTPTR_MAX - (uintptr_t)begin) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "%" PRIu64 " bytes at %p are no memory", bytes,
                                 begin);
    }
    return tern__hccl_result(
        tern__public_end(call, tern__acl_memory_check(call, "the window", begin, bytes)));
}

// Announces a copy of *what; `inside` of a range, if so asked for.
static HcclResult announce(const char *call, const struct announced *what, bool inside,
                           struct announced **result)
{
    struct announced *made = malloc(sizeof *made);
    if (made == NULL) {
        return tern__hccl_refuse(call, HCCL_E_MEMORY, "no memory");
    }
    *made = *what;
    pthread_mutex_lock(&lock);
    bool twice = overlaps(what->comm, what->kind, what->begin, what->bytes);
    bool outside = inside && find(what->comm, RANGE, what->begin, what->bytes) == NULL;
    if (!twice && !outside) {
        made->next = all;
        all = made;
    }
    pthread_mutex_unlock(&lock);
    if (twice || outside) {
        free(made);
        return tern__hccl_refuse(call, HCCL_E_PARA, "%" PRIu64 " bytes at %#" PRIxPTR " %s",
                                 what->bytes, what->begin,
                                 twice ? "overlap what was announced before"
                                       : "are in no range of HcclCommSetMemoryRange");
    }
    if (result != NULL) {
        *result = made;
    }
    return HCCL_SUCCESS;
}

static HcclResult take_back(const char *call, const struct hccl *comm, enum kind kind,
                            const void *begin)
{
    HcclResult result = tern__hccl_lives(call, comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    bool used = false;
    pthread_mutex_lock(&lock);
    struct announced **at = find_begin(comm, kind, (uintptr_t)begin);
    struct announced *gone = *at;
    if (gone != NULL) {
        used = kind == RANGE && overlaps(comm, ACTIVE, gone->begin, gone->bytes);
        *at = used ? gone : gone->next;
    }
    pthread_mutex_unlock(&lock);
    if (gone == NULL) {
        return tern__hccl_refuse(call, HCCL_E_NOT_FOUND, "nothing was announced that begins at %p",
                                 begin);
    }
    if (used) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "the range at %p has memory that is active: "
                                 "HcclCommDeactivateCommMemory",
                                 begin);
    }
    free(gone);
    return HCCL_SUCCESS;
}

void tern__hccl_symmetric_forget(const struct hccl *comm)
{
    pthread_mutex_lock(&lock);
    struct announced **at = &all;
    while (*at != NULL) {
        struct announced *one = *at;
        if (one->comm == comm) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

// Memory that is known by a handle, which goes to *handle, named so.
static HcclResult announce_handle(const char *call, HcclComm comm, const struct announced *what,
                                  const char *name, void **handle)
{
    struct announced *made = NULL;
    HcclResult result = tern__hccl_lives(call, comm);
    if (result == HCCL_SUCCESS && handle == NULL) {
        return tern__hccl_no_pointer(call, name);
    }
    result = result == HCCL_SUCCESS ? check_bytes(call, (void *)what->begin, what->bytes) : result;
    result = result == HCCL_SUCCESS ? announce(call, what, false, &made) : result;
    if (result == HCCL_SUCCESS) {
        *handle = made;
    }
    return result;
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size, HcclCommSymWindow *win,
                                  uint32_t flag)
{
    if (flag > HCCL_WIN_COLL_SYMMETRIC) {
        return tern__hccl_refuse(__func__, HCCL_E_PARA, "flag is %u; it must be 0 or 1", flag);
    }
    const struct announced what = {NULL, comm, WINDOW, (uintptr_t)addr, size};
    return announce_handle(__func__, comm, &what, "win", win);
}

// The link to this one, of any communicator where that is NULL. Under the lock.
static struct announced **find_handle(const struct hccl *comm, enum kind kind, const void *handle)
{
    struct announced **at = &all;
    while (*at != NULL &&
           !(*at == handle && (*at)->kind == kind && (comm == NULL || (*at)->comm == comm))) {
        at = &(*at)->next;
    }
    return at;
}

static bool forget(const struct hccl *comm, enum kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    struct announced **at = find_handle(comm, kind, handle);
    struct announced *gone = *at;
    if (gone != NULL) {
        *at = gone->next;
    }
    pthread_mutex_unlock(&lock);
    free(gone);
    return gone != NULL;
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow win)
{
    const char *call = __func__;
    if (win == NULL) {
        return tern__hccl_no_pointer(call, "win");
    }
    return forget(NULL, WINDOW, win)
               ? HCCL_SUCCESS
               : tern__hccl_refuse(call, HCCL_E_NOT_FOUND,
                                   "%p is no symmetric window, or its communicator was destroyed",
                                   win);
}

HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *win,
                             size_t *offset)
{
    const char *call = __func__;
    HcclResult result = tern__hccl_lives(call, comm);
    if (result == HCCL_SUCCESS && (win == NULL || offset == NULL)) {
        return tern__hccl_no_pointer(call, win == NULL ? "win" : "offset");
    }
    result = result == HCCL_SUCCESS ? check_bytes(call, ptr, size) : result;
    if (result != HCCL_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    struct announced *found = find(comm, WINDOW, (uintptr_t)ptr, size);
    if (found != NULL) {
        *win = found;
        *offset = (uintptr_t)ptr - found->begin;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL
               ? HCCL_SUCCESS
               : tern__hccl_refuse(call, HCCL_E_NOT_FOUND,
                                   "%zu bytes at %p are in no symmetric window", size, ptr);
}

// flags have no value but 0.
static HcclResult announce_plain(const char *call, HcclComm comm, void *begin, size_t bytes,
                                 enum kind kind, uint64_t flags)
{
    HcclResult result = tern__hccl_lives(call, comm);
    result = result == HCCL_SUCCESS ? check_bytes(call, begin, bytes) : result;
    if (result == HCCL_SUCCESS && flags != 0) {
        result =
            tern__hccl_refuse(call, HCCL_E_PARA, "flags are %#" PRIx64 "; they must be 0", flags);
    }
    const struct announced what = {NULL, comm, kind, (uintptr_t)begin, bytes};
    return result == HCCL_SUCCESS ? announce(call, &what, kind == ACTIVE, NULL) : result;
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment,
                                  uint64_t flags)
{
    (void)alignment;
    return announce_plain(__func__, comm, baseVirPtr, size, RANGE, flags);
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr)
{
    return take_back(__func__, comm, RANGE, baseVirPtr);
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
                                      void *handle, uint64_t flags)
{
    const char *call = __func__;
    (void)offset;
    if (handle != NULL) {
        int status = tern__acl_physical_check(call, handle, size);
        if (status != TERN_OK) {
            return tern__hccl_result(tern__public_end(call, status));
        }
    }
    return announce_plain(call, comm, virPtr, size, ACTIVE, flags);
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr)
{
    return take_back(__func__, comm, ACTIVE, virPtr);
}

HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag)
{
    if (flag != 0) {
        return tern__hccl_refuse(__func__, HCCL_E_PARA, "flag is %u; it must be 0", flag);
    }
    const struct announced what = {NULL, comm, REGISTERED, (uintptr_t)addr, size};
    return announce_handle(__func__, comm, &what, "handle", handle);
}

static HcclResult not_registered(const char *call, const void *handle)
{
    return tern__hccl_refuse(call, HCCL_E_NOT_FOUND,
                             "%p is no handle of HcclCommRegister for this communicator", handle);
}

HcclResult HcclCommDeregister(HcclComm comm, void *handle)
{
    HcclResult result = tern__hccl_lives(__func__, comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    return forget(comm, REGISTERED, handle) ? HCCL_SUCCESS : not_registered(__func__, handle);
}

HcclResult HcclCommExchangeMem(HcclComm comm, void *handle, uint32_t *peerRanks,
                               uint32_t peerRankNum)
{
    const char *call = __func__;
    const struct hccl *hccl = comm;
    HcclResult result = tern__hccl_lives(call, comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (peerRanks == NULL) {
        return tern__hccl_no_pointer(call, "peerRanks");
    }
    pthread_mutex_lock(&lock);
    bool known = *find_handle(hccl, REGISTERED, handle) != NULL;
    pthread_mutex_unlock(&lock);
    if (!known) {
        return not_registered(call, handle);
    }
    for (uint32_t i = 0; i < peerRankNum; i++) {
        if (peerRanks[i] >= hccl->size || peerRanks[i] == hccl->rank) {
            return tern__hccl_refuse(call, HCCL_E_PARA,
                                     "peerRanks[%u] is %u; there are ranks 0 to %u, and this is %u",
                                     i, peerRanks[i], hccl->size - 1, hccl->rank);
        }
    }
    return peerRankNum != 0
               ? HCCL_SUCCESS
               : tern__hccl_refuse(call, HCCL_E_PARA, "peerRankNum is 0; it must be 1 or more");
}

static HcclResult of_acl(const char *call, aclError error)
{
    if (error == ACL_SUCCESS) {
        return HCCL_SUCCESS;
    }
    char sentence[TERN_ERROR_BYTES];
    snprintf(sentence, sizeof sentence, "%s", tern_last_error());
    return tern__hccl_refuse(call, error == ACL_ERROR_INVALID_PARAM ? HCCL_E_PARA : HCCL_E_MEMORY,
                             "%s", sentence);
}

HcclResult HcommMemAlloc(void **ptr, size_t size)
{
    return ptr != NULL ? of_acl(__func__, aclrtMalloc(ptr, size, ACL_MEM_MALLOC_HUGE_FIRST))
                       : tern__hccl_no_pointer(__func__, "ptr");
}

HcclResult HcommMemFree(void *ptr)
{
    return ptr != NULL ? of_acl(__func__, aclrtFree(ptr)) : tern__hccl_no_pointer(__func__, "ptr");
}
