// SPDX-License-Identifier: Apache-2.0
// Where handles come from and go to, and the sentences for those that do not live. Set-up path; the
// check itself is in the header.

#include "base/handle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

// Under AddressSanitizer what rests is poisoned behind its first member, as freed memory is.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TERN__POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TERN__POISONS 1
#endif
#ifdef TERN__POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ERA_STEP 0x100u
#define ERAS 0x100u
#define ERA_MASK 0xffff0000u
#define DESTROYED 0xd0520000u

_Atomic uint32_t tern__handle_era = TERN__HANDLE_ERA_FIRST;

static const struct {
    const char *argument; // as the headers call it
    const char *noun;     // with its article
} names[] = {
    [TERN__PLAN] = {"plan", "a plan"},
    [TERN__TOPO] = {"topo", "a topology"},
    [TERN__CHECK] = {"check", "a check"},
    [TERN__PROGRAM] = {"program", "a program"},
    [TERN__SIM] = {"sim", "a simulation"},
    [TERN__GRAPH] = {"graph", "a graph"},
    [TERN__COMM] = {"comm", "a communicator"},
    [TERN__WINDOW] = {"window", "a window"},
    [TERN__CHIP] = {"chip", "a chip"},
    [TERN__EXEC] = {"exec", "an executor"},
    [TERN__STREAM] = {"stream", "a stream"},
    [TERN__EVENT] = {"event", "an event"},
    [TERN__SESSION] = {"session", "a session"},
    [TERN__FACE_COMM] = {"h", "a CommHandle"},
    [TERN__HCCL_COMM] = {"comm", "an HcclComm"},
    [TERN__NODE] = {"node", "a node"},
    [TERN__DOMAIN] = {"domain", "a domain"},
    [TERN__WAITER] = {"waiter", "a waiter"},
    [TERN__ACL_CONTEXT] = {"context", "an aclrtContext"},
    [TERN__ACL_PROFILE] = {"config of a profile", "an aclprofConfig"},
};
_Static_assert(sizeof names / sizeof names[0] == TERN__HANDLE_KINDS, "a name for each kind");

// Guards what follows.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct resting {
    struct tern__handle *oldest, *newest;
    int count;
} resting[TERN__HANDLE_KINDS];

// Which process and rank an era was that of, known when a child begins the next one.
static struct {
    int pid;
    int rank;
} makers[ERAS];

static unsigned index_of(uint32_t word)
{
    return word / ERA_STEP % ERAS;
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    unsigned era = index_of(tern__peek(&tern__handle_era));
    makers[era].pid = (int)getpid();
    makers[era].rank = tern__log_rank();
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    uint32_t era = tern__peek(&tern__handle_era);
    tern__poke(&tern__handle_era, (era & ERA_MASK) | ((era + ERA_STEP) & ~ERA_MASK));
    pthread_mutex_unlock(&lock);
    tern__log_set_rank(-1); // a child is none
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void *tern__handle_new(enum tern__handle_kind kind, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct resting *queue = &resting[kind];
    struct tern__handle *handle = NULL;
    pthread_mutex_lock(&lock);
    if (queue->count >= TERN__HANDLES_RESTING) {
        handle = queue->oldest;
        queue->oldest = handle->next;
        queue->count--;
    }
    pthread_mutex_unlock(&lock);
    if (handle != NULL) {
        ASAN_UNPOISON_MEMORY_REGION(handle, size);
        memset(handle + 1, 0, size - sizeof *handle);
        handle->next = NULL;
    } else {
        handle = calloc(1, size);
    }
    if (handle != NULL) {
        tern__poke(&handle->word, tern__handle_word(kind));
    }
    return handle;
}

void tern__handle_free(void *memory, size_t size)
{
    struct tern__handle *handle = memory;
    if (handle == NULL) {
        return;
    }
    uint32_t kind = tern__peek(&handle->word) & 0xff;
    struct resting *queue = &resting[kind];
    tern__poke(&handle->word, DESTROYED + kind);
    ASAN_POISON_MEMORY_REGION(handle + 1, size - sizeof *handle);
    handle->next = NULL;
    pthread_mutex_lock(&lock);
    if (queue->count++ == 0) {
        queue->oldest = handle;
    } else {
        queue->newest->next = handle;
    }
    queue->newest = handle;
    pthread_mutex_unlock(&lock);
}

static const char *without_article(const char *noun)
{
    return strchr(noun, ' ') + 1;
}

bool tern__handle_is_inherited(const void *handle, enum tern__handle_kind kind)
{
    if (handle == NULL || tern__handle_lives(handle, kind)) {
        return false;
    }
    uint32_t word = tern__peek(&((const struct tern__handle *)handle)->word);
    return (word & ERA_MASK) == TERN__HANDLE_ERA_FIRST && (word & 0xff) == (uint32_t)kind;
}

// A part in a job, from before a fork.
static int refuse_child(const char *call, uint32_t word, const char *noun)
{
    unsigned era = index_of(word);
    char rank[24] = "";
    if (makers[era].rank >= 0) {
        snprintf(rank, sizeof rank, "rank %d, ", makers[era].rank);
    }
    return tern__fail(TERN_ERR_STATE,
                      "%s: process %d is a fork of %sprocess %d, which made this %s; only that "
                      "process may use it",
                      call, (int)getpid(), rank, makers[era].pid, noun);
}

int tern__handle_refuse(const char *call, const void *handle, enum tern__handle_kind kind)
{
    const char *argument = names[kind].argument;
    const char *noun = without_article(names[kind].noun);
    if (handle == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call, argument);
    }
    uint32_t word = tern__peek(&((const struct tern__handle *)handle)->word);
    uint32_t is = word & 0xff;
    bool destroyed = word == DESTROYED + is;
    bool made_by_tern = destroyed || (word & ERA_MASK) == TERN__HANDLE_ERA_FIRST;
    if (!made_by_tern || is >= TERN__HANDLE_KINDS) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s points to something that is no %s of tern, or was overwritten",
                          call, argument, noun);
    }
    if (is != (uint32_t)kind) {
        return tern__fail(TERN_ERR_ARG, "%s: %s is %s%s, not %s", call, argument, names[is].noun,
                          destroyed ? " that has been destroyed" : "", names[kind].noun);
    }
    if (destroyed) {
        return tern__fail(TERN_ERR_ARG, "%s: this %s has been destroyed", call, noun);
    }
    return refuse_child(call, word, noun);
}
