// SPDX-License-Identifier: Apache-2.0
// Virtual memory of ACL: addresses that are reserved, memory without an address, and the one mapped
// at the other. Addresses are a mapping without access; memory is a file without a name, which is
// gone when neither its handle nor a mapping is left. Set-up path.

#include "faces/acl/virtual.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/order.h"
#include "faces/acl/state.h"

#define GRANULE ((size_t)2 << 20)

// Linked by what they are known by: an address, or a handle, which is that of the struct. A foreign
// pointer is so never followed.
struct piece {
    struct piece *next;
    uintptr_t begin;
    size_t bytes;
    int fd; // of memory
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that follows
static struct piece *reserved, *mapped, *memory;
static _Atomic uint32_t ranges; // that are reserved: most programs have none

static bool has(const struct piece *piece, uintptr_t begin, size_t bytes)
{
    return begin >= piece->begin && bytes <= piece->bytes &&
           begin - piece->begin <= piece->bytes - bytes;
}

static bool touches(const struct piece *piece, uintptr_t begin, size_t bytes)
{
    return begin < piece->begin + piece->bytes && piece->begin < begin + bytes;
}

// The link to the one that begins there. Under the lock, as what follows.
static struct piece **find(struct piece **list, uintptr_t begin)
{
    while (*list != NULL && (*list)->begin != begin) {
        list = &(*list)->next;
    }
    return list;
}

static const struct piece *find_around(const struct piece *at, uintptr_t begin, size_t bytes)
{
    while (at != NULL && !has(at, begin, bytes)) {
        at = at->next;
    }
    return at;
}

static const struct piece *find_touching(const struct piece *at, uintptr_t begin, size_t bytes)
{
    while (at != NULL && !touches(at, begin, bytes)) {
        at = at->next;
    }
    return at;
}

static void put(struct piece **list, struct piece *piece)
{
    piece->next = *list;
    *list = piece;
}

static void take(struct piece **at)
{
    struct piece *gone = *at;
    *at = gone->next;
    free(gone);
}

static aclError check_size(const char *call, size_t size)
{
    if (size == 0 || size % GRANULE != 0 || size > SIZE_MAX / 4) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                          "%s: %zu bytes; it must be a multiple of %zu, as "
                                          "aclrtMemGetAllocationGranularity says",
                                          call, size, GRANULE));
    }
    return ACL_SUCCESS;
}

static aclError no_memory(const char *call, size_t size)
{
    tern__set_error("%s: no memory for %zu bytes: %s", call, size, strerror(errno));
    return tern__acl_fail(ACL_ERROR_RT_MEMORY_ALLOCATION);
}

static aclError check_kind(const char *call, const aclrtPhysicalMemProp *prop)
{
    if (prop == NULL) {
        return tern__acl_no_pointer(call, "prop");
    }
    if (prop->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
        prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED ||
        (unsigned)prop->location.type > ACL_MEM_LOCATION_TYPE_DEVICE) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG,
                       "%s: handleType %d, allocationType %d, location.type %d; they must be "
                       "ACL_MEM_HANDLE_TYPE_NONE (0), ACL_MEM_ALLOCATION_TYPE_PINNED (0), and "
                       "that of the host (0) or a device (1)",
                       call, (int)prop->handleType, (int)prop->allocationType,
                       (int)prop->location.type));
    }
    return prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE
               ? tern__acl_check_device(call, (int32_t)prop->location.id)
               : ACL_SUCCESS;
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                          aclrtMemGranularityOptions option, size_t *granularity)
{
    const char *call = "aclrtMemGetAllocationGranularity";
    aclError error = check_kind(call, prop);
    if (error == ACL_SUCCESS && granularity == NULL) {
        return tern__acl_no_pointer(call, "granularity");
    }
    if (error == ACL_SUCCESS && (unsigned)option > ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG, "%s: option is %d; there are 0 and 1", call, (int)option));
    }
    if (error == ACL_SUCCESS) {
        *granularity = GRANULE;
    }
    return error;
}

// Addresses from a multiple of the granule on; NULL: there are none.
static void *reserve(size_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = mmap(NULL, size + GRANULE, PROT_NONE, flags, -1, 0);
    if (all == MAP_FAILED) {
        return NULL;
    }
    size_t before = (GRANULE - (uintptr_t)all % GRANULE) % GRANULE;
    if (before > 0) {
        munmap(all, before);
    }
    munmap(all + before + size, GRANULE - before);
    return all + before;
}

aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr,
                                uint64_t flags)
{
    const char *call = "aclrtReserveMemAddress";
    (void)flags;
    if (virPtr == NULL) {
        return tern__acl_no_pointer(call, "virPtr");
    }
    aclError error = check_size(call, size);
    if (error == ACL_SUCCESS && (alignment != 0 || expectPtr != NULL)) {
        error = tern__acl_error(tern__fail(TERN_ERR_ARG,
                                           "%s: alignment is %zu and expectPtr %p; they must be 0 "
                                           "and NULL",
                                           call, alignment, expectPtr));
    }
    if (error != ACL_SUCCESS) {
        return error;
    }
    struct piece *made = malloc(sizeof *made);
    void *begin = made != NULL ? reserve(size) : NULL;
    if (begin == NULL) {
        free(made);
        return no_memory(call, size);
    }
    *made = (struct piece){.begin = (uintptr_t)begin, .bytes = size, .fd = -1};
    pthread_mutex_lock(&lock);
    put(&reserved, made);
    tern__poke(&ranges, tern__peek(&ranges) + 1);
    pthread_mutex_unlock(&lock);
    *virPtr = begin;
    return ACL_SUCCESS;
}

aclError aclrtReleaseMemAddress(void *virPtr)
{
    const char *call = "aclrtReleaseMemAddress";
    pthread_mutex_lock(&lock);
    struct piece **at = find(&reserved, (uintptr_t)virPtr);
    bool known = *at != NULL;
    bool used = known && find_touching(mapped, (*at)->begin, (*at)->bytes) != NULL;
    if (known && !used) {
        munmap(virPtr, (*at)->bytes);
        take(at);
        tern__poke(&ranges, tern__peek(&ranges) - 1);
    }
    pthread_mutex_unlock(&lock);
    if (!known || used) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG, "%s: %s %p", call,
                       known ? "aclrtUnmapMem comes first for what is mapped behind"
                             : "no addresses of aclrtReserveMemAddress begin at",
                       virPtr));
    }
    return ACL_SUCCESS;
}

// What is allocated and not used yet.
static uint64_t promised(void)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (const struct piece *at = memory; at != NULL; at = at->next) {
        struct stat seen;
        uint64_t used = fstat(at->fd, &seen) == 0 ? (uint64_t)seen.st_blocks * 512 : 0;
        bytes += used < at->bytes ? at->bytes - used : 0;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                             const aclrtPhysicalMemProp *prop, uint64_t flags)
{
    const char *call = "aclrtMallocPhysical";
    if (handle == NULL) {
        return tern__acl_no_pointer(call, "handle");
    }
    aclError error = check_kind(call, prop);
    error = error == ACL_SUCCESS ? check_size(call, size) : error;
    if (error == ACL_SUCCESS && flags != 0) {
        error = tern__acl_error(
            tern__fail(TERN_ERR_ARG, "%s: flags are %#" PRIx64 "; they must be 0", call, flags));
    }
    if (error != ACL_SUCCESS) {
        return error;
    }
    // Else the system would promise it, and end the process when it is used.
    bool there = (uint64_t)tern__memory_available() >= size + promised();
    errno = ENOMEM;
    struct piece *made = there ? malloc(sizeof *made) : NULL;
    int fd = made != NULL ? memfd_create("tern-acl", MFD_CLOEXEC) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        error = no_memory(call, size);
        if (fd >= 0) {
            close(fd);
        }
        free(made);
        return error;
    }
    *made = (struct piece){.begin = (uintptr_t)made, .bytes = size, .fd = fd};
    pthread_mutex_lock(&lock);
    put(&memory, made);
    pthread_mutex_unlock(&lock);
    *handle = made;
    return ACL_SUCCESS;
}

static aclError no_handle(const char *call, const void *handle)
{
    return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                      "%s: %p is no handle of aclrtMallocPhysical, or was freed",
                                      call, handle));
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle)
{
    pthread_mutex_lock(&lock);
    struct piece **at = find(&memory, (uintptr_t)handle);
    bool known = *at != NULL;
    if (known) {
        close((*at)->fd); // mappings keep the memory
        take(at);
    }
    pthread_mutex_unlock(&lock);
    return known ? ACL_SUCCESS : no_handle("aclrtFreePhysical", handle);
}

int tern__acl_physical_check(const char *call, const void *handle, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const struct piece *found = *find(&memory, (uintptr_t)handle);
    size_t there = found != NULL ? found->bytes : 0;
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %p is no handle of aclrtMallocPhysical, or was freed",
                          call, handle);
    }
    return bytes <= there ? TERN_OK
                          : tern__fail(TERN_ERR_ARG, "%s: %zu bytes of memory that has %zu", call,
                                       bytes, there);
}

bool tern__acl_is_mapped(const void *address)
{
    pthread_mutex_lock(&lock);
    bool is = find_around(mapped, (uintptr_t)address, 1) != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

int tern__acl_mapped_check(const char *call, const char *what, const void *address, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)address;
    uintptr_t at = begin;
    if (tern__peek(&ranges) == 0) {
        return TERN_OK;
    }
    pthread_mutex_lock(&lock);
    if (find_around(reserved, begin, 1) != NULL) {
        const struct piece *piece;
        while (at - begin < bytes && (piece = find_around(mapped, at, 1)) != NULL) {
            at = piece->begin + piece->bytes;
        }
    } else {
        at = begin + bytes;
    }
    pthread_mutex_unlock(&lock);
    return at - begin >= bytes
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: %s is %zu bytes at %p, and nothing is mapped %zu behind it", call,
                            what, bytes, address, (size_t)(at - begin));
}

// Under the lock; NULL: it can be.
static const char *why_not_map(uintptr_t begin, size_t size)
{
    if (find_around(reserved, begin, size) == NULL) {
        return "are not within addresses of aclrtReserveMemAddress";
    }
    return find_touching(mapped, begin, size) != NULL ? "have memory already: aclrtUnmapMem" : NULL;
}

aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags)
{
    const char *call = "aclrtMapMem";
    const uintptr_t begin = (uintptr_t)virPtr;
    aclError error = check_size(call, size);
    if (error == ACL_SUCCESS && (offset != 0 || flags != 0 || begin % GRANULE != 0)) {
        error = tern__acl_error(tern__fail(TERN_ERR_ARG,
                                           "%s: at %p, offset %zu, flags %#" PRIx64
                                           "; it must be at a multiple of %zu, and both 0",
                                           call, virPtr, offset, flags, GRANULE));
    }
    if (error == ACL_SUCCESS) {
        error = tern__acl_error(tern__acl_physical_check(call, handle, size));
    }
    if (error != ACL_SUCCESS) {
        return error;
    }
    struct piece *made = malloc(sizeof *made);
    if (made == NULL) {
        return no_memory(call, size);
    }
    *made = (struct piece){.begin = begin, .bytes = size, .fd = -1};
    pthread_mutex_lock(&lock);
    const struct piece *from = *find(&memory, (uintptr_t)handle);
    const char *why = from != NULL ? why_not_map(begin, size) : "are of memory that was freed";
    bool there = why == NULL && mmap(virPtr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                     from->fd, 0) != MAP_FAILED;
    if (there) {
        put(&mapped, made);
    }
    pthread_mutex_unlock(&lock);
    if (!there) {
        error = why == NULL ? no_memory(call, size)
                            : tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: %zu bytes at %p %s",
                                                         call, size, virPtr, why));
        free(made);
    }
    return error;
}

aclError aclrtUnmapMem(void *virPtr)
{
    const char *call = "aclrtUnmapMem";
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    aclError error = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    struct piece **at = find(&mapped, (uintptr_t)virPtr);
    bool known = *at != NULL;
    if (known && mmap(virPtr, (*at)->bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
        error = no_memory(call, (*at)->bytes);
    } else if (known) {
        take(at);
    }
    pthread_mutex_unlock(&lock);
    return known ? error
                 : tern__acl_error(tern__fail(TERN_ERR_ARG,
                                              "%s: no memory of aclrtMapMem begins at %p", call,
                                              virPtr));
}
