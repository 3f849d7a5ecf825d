// SPDX-License-Identifier: Apache-2.0
// The table of requests. Places are reused in the order in which they were freed, and never given
// back.

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "coll/call/request.h"

enum {
    BLOCK = 64,
    BLOCKS = TERN__REQUESTS_MAX / BLOCK,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows, but reading a block
static struct tern__request *_Atomic blocks[BLOCKS];
static uint32_t blocks_count;
static struct tern__request *free_first, *free_last;

// The child of a fork finds the table whole and free.
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

void tern__request_give_back(struct tern__request *request)
{
    tern__comm_loses(request->comm, TERN__CHILD_REQUEST);
    pthread_mutex_lock(&lock);
    tern__flag_add(&request->uses, 1); // partner: tern__request_find
    request->state = TERN__REQUEST_FREE;
    request->next_free = NULL;
    if (free_last != NULL) {
        free_last->next_free = request;
    } else {
        free_first = request;
    }
    free_last = request;
    pthread_mutex_unlock(&lock);
}

// With the lock held: one more block of free requests.
static bool grow(void)
{
    struct tern__request *block =
        blocks_count < BLOCKS ? aligned_alloc(64, BLOCK * sizeof *block / 64 * 64 + 64) : NULL;
    if (block == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        block[i].uses = 0;
        block[i].state = TERN__REQUEST_FREE;
        block[i].index = blocks_count * BLOCK + i;
        block[i].next_free = i + 1 < BLOCK ? &block[i + 1] : NULL;
    }
    free_first = block;
    free_last = &block[BLOCK - 1];
    atomic_store_explicit(&blocks[blocks_count++], block,
                          memory_order_release); // partner: tern__request_find
    return true;
}

int tern__request_take(const char *name, tern_comm *comm, struct tern__request **taken)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    struct tern__request *request = free_first != NULL || grow() ? free_first : NULL;
    if (request != NULL) {
        free_first = request->next_free;
        free_last = free_first != NULL ? free_last : NULL;
        tern__flag_add(&request->uses, 1);
    }
    bool full = blocks_count == BLOCKS;
    pthread_mutex_unlock(&lock);
    if (request == NULL && !full) {
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory for requests", name);
    }
    if (request == NULL) {
        return tern__fail(TERN_ERR_LIMIT, "%s: a process cannot have more than %d requests", name,
                          TERN__REQUESTS_MAX);
    }
    request->comm = comm;
    tern__comm_gains(comm, TERN__CHILD_REQUEST);
    *taken = request;
    return TERN_OK;
}

tern_request tern__request_number(const struct tern__request *request)
{
    return (uint64_t)tern__peek(&request->uses) << 32 | (request->index + 1);
}

struct tern__request *tern__request_find(const char *name, tern_request number)
{
    uint32_t index = (uint32_t)number - 1;
    uint32_t uses = (uint32_t)(number >> 32);
    struct tern__request *block =
        number != 0 && index / BLOCK < BLOCKS
            ? atomic_load_explicit(&blocks[index / BLOCK], memory_order_acquire) // partner: grow
            : NULL;
    struct tern__request *request = block != NULL ? &block[index % BLOCK] : NULL;
    if (request == NULL || tern__flag_load(&request->uses) != uses || uses % 2 == 0) {
        tern__fail(TERN_ERR_ARG, "%s: %llu is no request, or one that has ended", name,
                   (unsigned long long)number);
        return NULL;
    }
    return request;
}
