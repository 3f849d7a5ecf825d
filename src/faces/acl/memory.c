// SPDX-License-Identifier: Apache-2.0
// Memory of the device and of the host, and which blocks there are. Set-up path.

#include "faces/acl/memory.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/public.h"
#include "faces/acl/state.h"
#include "faces/acl/virtual.h"
#include "tern/memory.h"

enum { ALIGNMENT = 512, ASK_FROM = 1 << 20 };

// A job of this process whose memory is given out.
struct job {
    tern_comm *comm;
    int32_t device;
    size_t blocks;
    bool left; // the program has destroyed the communicator
    struct job *next;
};

struct block {
    uintptr_t begin;
    size_t bytes;
    void *memory;    // as it was allocated
    struct job *job; // NULL: ordinary memory
    bool of_device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that follows
static struct job *jobs;                                 // in the order they were joined
static void *blocks;                                     // a tree of struct block

// Blocks that overlap are equal: so an address is looked up as a block of one byte.
static int compare(const void *one, const void *two)
{
    const struct block *a = one;
    const struct block *b = two;
    if (a->begin + a->bytes <= b->begin) {
        return -1;
    }
    return b->begin + b->bytes <= a->begin ? 1 : 0;
}

// The block that the address is in, as it is now.
static bool block_of(const void *address, struct block *block)
{
    const struct block wanted = {.begin = (uintptr_t)address, .bytes = 1};
    pthread_mutex_lock(&lock);
    struct block **found = tfind(&wanted, &blocks, compare);
    if (found != NULL) {
        *block = **found;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

bool tern__acl_memory_of(const void *address, uintptr_t *begin, size_t *bytes)
{
    struct block block;
    if (!block_of(address, &block)) {
        return false;
    }
    *begin = block.begin;
    *bytes = block.bytes;
    return true;
}

bool tern__acl_memory_is_known(const void *address, bool *of_device)
{
    struct block block;
    if (!block_of(address, &block)) {
        return false;
    }
    *of_device = block.of_device;
    return true;
}

int tern__acl_memory_check(const char *call, const char *what, const void *address, size_t bytes)
{
    uintptr_t begin;
    size_t length;
    if (bytes == 0 || !tern__acl_memory_of(address, &begin, &length)) {
        return TERN_OK;
    }
    size_t room = length - ((uintptr_t)address - begin);
    if (bytes > room) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s is %zu bytes at %p, %zu beyond the end of its block of %zu", call,
                          what, bytes, address, bytes - room, length);
    }
    return TERN_OK;
}

int tern__acl_memory_check_use(const char *call, const char *what, const void *address,
                               size_t bytes)
{
    TERN_TRY(tern__acl_memory_check(call, what, address, bytes));
    return tern__acl_mapped_check(call, what, address, bytes);
}

// Under the lock.
static void remove_job(struct job *job)
{
    struct job **at = &jobs;
    while (*at != job) {
        at = &(*at)->next;
    }
    *at = job->next;
}

// Destroys what the program has left and nothing needs any more. Without the lock.
static int end_job(struct job *job)
{
    int status = tern_comm_destroy(job->comm);
    pthread_mutex_lock(&lock);
    bool refused = status == TERN_ERR_STATE; // it is still there
    if (!refused) {
        remove_job(job);
    }
    pthread_mutex_unlock(&lock);
    if (!refused) {
        free(job);
    }
    return status;
}

// What the process still has at its end goes before tern would call the rank dead.
static struct job *job_to_end;
static struct block *block_to_free;

static void find_block(const void *node, VISIT visit, int depth)
{
    struct block *block = *(struct block *const *)node;
    (void)depth;
    if ((visit == leaf || visit == postorder) && block->job == job_to_end) {
        block_to_free = block;
    }
}

static void end_all(void)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        struct job *job = jobs;
        while (job != NULL && !job->left) {
            job = job->next;
        }
        if (job == NULL) {
            pthread_mutex_unlock(&lock);
            return;
        }
        job_to_end = job;
        do {
            block_to_free = NULL;
            twalk(blocks, find_block);
            if (block_to_free != NULL) {
                tdelete(block_to_free, &blocks, compare);
                (void)tern_free(block_to_free->memory);
                free(block_to_free);
            }
        } while (block_to_free != NULL);
        remove_job(job);
        pthread_mutex_unlock(&lock);
        (void)tern_comm_destroy(job->comm);
        free(job);
    }
}

static void watch_exit(void)
{
    (void)atexit(end_all);
}

bool tern__acl_memory_join(tern_comm *comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return false;
    }
    pthread_once(&once, watch_exit);
    *job = (struct job){.comm = comm, .device = tern__acl_device()};
    pthread_mutex_lock(&lock);
    struct job **at = &jobs;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = job;
    pthread_mutex_unlock(&lock);
    return true;
}

int tern__acl_memory_leave(tern_comm *comm)
{
    pthread_mutex_lock(&lock);
    struct job *job = jobs;
    while (job != NULL && (job->comm != comm || job->left)) {
        job = job->next;
    }
    bool later = job != NULL && job->blocks > 0;
    if (job != NULL) {
        job->left = true;
    }
    pthread_mutex_unlock(&lock);
    if (later) {
        return TERN_OK;
    }
    int status = job != NULL ? end_job(job) : tern_comm_destroy(comm);
    if (job != NULL && status == TERN_ERR_STATE) {
        pthread_mutex_lock(&lock);
        job->left = false;
        pthread_mutex_unlock(&lock);
    }
    return status;
}

// The job whose memory the calling thread is given, with one block more; NULL: ordinary memory.
static struct job *take_job(void)
{
    const int32_t device = tern__acl_device();
    struct job *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct job *job = jobs; job != NULL; job = job->next) {
        bool better = found == NULL || (job->device == device && found->device != device);
        found = !job->left && better ? job : found;
    }
    if (found != NULL) {
        found->blocks++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int let_job_go(struct job *job)
{
    pthread_mutex_lock(&lock);
    bool last = --job->blocks == 0 && job->left;
    pthread_mutex_unlock(&lock);
    return last ? end_job(job) : TERN_OK;
}

static size_t round_up(size_t value)
{
    return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Whether the machine has so much now; asked for large blocks only. Else the system would promise
// it, and end the process when it is used.
static bool machine_has(size_t bytes)
{
    return bytes < ASK_FROM || (uint64_t)tern__memory_available() >= bytes;
}

// Fills the block in. What tern_alloc refuses is no error of a call, since there is other memory.
static bool allocate(struct block *block, size_t room)
{
    void *memory = NULL;
    tern__public_enter();
    if (block->job != NULL && tern_alloc(block->job->comm, room + ALIGNMENT, &memory) != TERN_OK) {
        tern__log(TERN__LOG_DEBUG, "aclrtMalloc: ordinary memory: %s", tern_last_error());
        (void)let_job_go(block->job);
        block->job = NULL;
    }
    tern__public_leave();
    if (block->job == NULL) {
        memory = machine_has(room) ? aligned_alloc(ALIGNMENT, room) : NULL;
    }
    block->memory = memory;
    block->begin = round_up((uintptr_t)memory);
    return memory != NULL;
}

static void release(struct block *block)
{
    if (block->job == NULL) {
        free(block->memory);
        return;
    }
    if (tern_free(block->memory) != TERN_OK || let_job_go(block->job) != TERN_OK) {
        tern__log(TERN__LOG_WARN, "aclrtFree: %s", tern_last_error());
    }
}

static aclError give(const char *call, void **memory, size_t size, bool of_device)
{
    const aclError none = of_device ? ACL_ERROR_RT_MEMORY_ALLOCATION : ACL_ERROR_BAD_ALLOC;
    if (memory == NULL || size == 0) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: %zu bytes to %p; expected 1 or more",
                                          call, size, (void *)memory));
    }
    struct block *block = calloc(1, sizeof *block);
    if (block == NULL || size > SIZE_MAX / 2) {
        free(block);
        tern__set_error("%s: no memory for %zu bytes", call, size);
        return tern__acl_fail(none);
    }
    *block =
        (struct block){.bytes = size, .job = of_device ? take_job() : NULL, .of_device = of_device};
    bool given = allocate(block, round_up(size));
    if (given) {
        pthread_mutex_lock(&lock);
        given = tsearch(block, &blocks, compare) != NULL;
        pthread_mutex_unlock(&lock);
        if (!given) {
            release(block);
        }
    }
    if (!given) {
        free(block);
        tern__set_error("%s: no memory for %zu bytes", call, size);
        return tern__acl_fail(none);
    }
    *memory = (void *)block->begin;
    return ACL_SUCCESS;
}

static aclError take_back(const char *call, void *memory)
{
    const struct block wanted = {.begin = (uintptr_t)memory, .bytes = 1};
    if (memory == NULL) {
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    struct block **found = tfind(&wanted, &blocks, compare);
    struct block *block = found != NULL && (*found)->begin == wanted.begin ? *found : NULL;
    if (block != NULL) {
        tdelete(block, &blocks, compare);
    }
    pthread_mutex_unlock(&lock);
    if (block == NULL) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG,
                       "%s: no block begins at %p: it was not given by aclrtMalloc or %s", call,
                       memory, "aclrtMallocHost, or was freed already"));
    }
    release(block);
    free(block);
    return ACL_SUCCESS;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    return give("aclrtMalloc", devPtr, size, true);
}

aclError aclrtFree(void *devPtr)
{
    return take_back("aclrtFree", devPtr);
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    return give("aclrtMallocHost", hostPtr, size, false);
}

aclError aclrtFreeHost(void *hostPtr)
{
    return take_back("aclrtFreeHost", hostPtr);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    return give("aclrtMallocAlign32", devPtr, size, true);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    return give("aclrtMallocCached", devPtr, size, true);
}
