// SPDX-License-Identifier: Apache-2.0
// An exchange through PMIx, the process management interface of Open MPI's mpirun and of others
// (srun --mpi=pmix). Its library is loaded when a launcher that speaks it has started this process,
// and only then. What is declared here of it is its stable interface of version 2 and later.

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "boot/exchange.h"

enum { NAME_BYTES = 256, SCOPE_GLOBAL = 3, TYPE_UINT32 = 14, TYPE_BYTES = 27 };
#define RANK_ANY (UINT32_MAX - 1)

struct process {
    char space[NAME_BYTES];
    uint32_t rank;
};

struct value {
    uint16_t type;
    union {
        uint32_t number;
        struct {
            char *bytes;
            size_t size;
        } object;
    } data;
};

struct pmix {
    void *library;
    struct process me;
    int (*init)(struct process *process, void *info, size_t count);
    int (*put)(uint8_t scope, const char *key, struct value *value);
    int (*commit)(void);
    int (*fence)(const struct process *processes, size_t count, const void *info, size_t infos);
    int (*get)(const struct process *process, const char *key, const void *info, size_t count,
               struct value **value);
    int (*finalize)(const void *info, size_t count);
    const char *(*error)(int status);
};

static int refused(const struct pmix *pmix, const char *call, int status)
{
    return tern__fail(TERN_ERR_PEER, "%s failed: %s", call, pmix->error(status));
}

// A dlsym that is a function.
#define FIND(slot, name) (*(void **)&pmix->slot = dlsym(pmix->library, name)) != NULL

static bool find_calls(struct pmix *pmix)
{
    return FIND(init, "PMIx_Init") && FIND(put, "PMIx_Put") && FIND(commit, "PMIx_Commit") &&
           FIND(fence, "PMIx_Fence") && FIND(get, "PMIx_Get") && FIND(finalize, "PMIx_Finalize") &&
           FIND(error, "PMIx_Error_string");
}

static int gather(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                  int64_t deadline_ns)
{
    const struct pmix *pmix = exchange->state;
    struct value card = {.type = TYPE_BYTES, .data.object = {(char *)(uintptr_t)mine, bytes}};
    char key[32];
    snprintf(key, sizeof key, "tern.card.%u", exchange->number);
    (void)deadline_ns; // the launcher ends a job whose processes do not come
    int status = pmix->put(SCOPE_GLOBAL, key, &card);
    status = status == 0 ? pmix->commit() : status;
    status = status == 0 ? pmix->fence(NULL, 0, NULL, 0) : status;
    if (status != 0) {
        return refused(pmix, "PMIx_Fence", status);
    }
    for (int rank = 0; rank < exchange->nranks; rank++) {
        struct process other = pmix->me;
        struct value *value = NULL;
        other.rank = (uint32_t)rank;
        status = pmix->get(&other, key, NULL, 0, &value);
        if (status != 0 || value == NULL) {
            return refused(pmix, "PMIx_Get", status);
        }
        bool fits = value->type == TYPE_BYTES && value->data.object.size == bytes;
        if (fits) {
            memcpy((char *)all + (size_t)rank * bytes, value->data.object.bytes, bytes);
        }
        if (value->type == TYPE_BYTES) {
            free(value->data.object.bytes);
        }
        free(value);
        if (!fits) {
            return tern__fail(TERN_ERR_REFUSED, "rank %d runs another version of tern", rank);
        }
    }
    return TERN_OK;
}

static void end(struct tern__exchange *exchange)
{
    exchange->state = NULL;
}

// Of this process: Open MPI cannot begin when PMIx has been ended before, so that stays open, and
// is ended with the process, whose end would else be told as a failure. It counts its users.
static struct pmix own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int begun;
static uint32_t count;
static char why[256]; // it could not begin

static void end_own(void)
{
    own.finalize(NULL, 0);
}

static int begin(struct pmix *pmix)
{
    pmix->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (pmix->library == NULL || !find_calls(pmix)) {
        return tern__fail(TERN_ERR_SYSTEM,
                          "mpirun has started this process, and its place is known through PMIx: "
                          "libpmix.so.2 is needed (%s)",
                          pmix->library == NULL ? dlerror() : "this one lacks calls");
    }
    int status = pmix->init(&pmix->me, NULL, 0);
    if (status != 0) {
        return refused(pmix, "PMIx_Init", status);
    }
    struct process any = pmix->me;
    struct value *value = NULL;
    any.rank = RANK_ANY;
    status = pmix->get(&any, "pmix.job.size", NULL, 0, &value);
    if (status != 0 || value == NULL || value->type != TYPE_UINT32) {
        pmix->finalize(NULL, 0);
        free(value);
        return refused(pmix, "PMIx_Get of the number of processes", status);
    }
    count = value->data.number;
    free(value);
    atexit(end_own);
    return TERN_OK;
}

static void begin_own(void)
{
    begun = begin(&own);
    snprintf(why, sizeof why, "%s", begun != TERN_OK ? tern_last_error() : "");
}

int tern__exchange_pmix(struct tern__exchange *exchange)
{
    if (getenv("PMIX_NAMESPACE") == NULL || getenv("PMIX_RANK") == NULL) {
        return 0;
    }
    pthread_once(&once, begin_own);
    if (begun != TERN_OK) {
        return tern__fail(begun, "%s", why);
    }
    if (count > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "mpirun has started %u processes; a job has up to %d",
                          count, TERN_RANKS_MAX);
    }
    *exchange = (struct tern__exchange){.name = "started by mpirun (PMIx)",
                                        .rank = (int)own.me.rank,
                                        .nranks = (int)count,
                                        .state = &own,
                                        .gather = gather,
                                        .end = end};
    return 1;
}
