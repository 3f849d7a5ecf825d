// SPDX-License-Identifier: Apache-2.0
// Results, their sentences, and what HcclGetCommAsyncError tells. Error path.

#include <stdarg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "faces/hccl/state.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the failures of communicators

// What this thread's last failing call returned, and its sentence: made by the first failure, since
// every thread of a program has what is thread-local here.
struct remembered {
    HcclResult last;
    char sentence[TERN_ERROR_BYTES];
    char text[TERN_ERROR_BYTES + 64]; // of HcclGetErrorString
};
static pthread_key_t remembered_key;
static pthread_once_t remembered_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    if (pthread_key_create(&remembered_key, free) != 0) {
        abort(); // a process has a thousand keys
    }
}

// NULL: no memory.
static struct remembered *remembered(void)
{
    pthread_once(&remembered_once, make_key);
    struct remembered *mine = pthread_getspecific(remembered_key);
    if (mine == NULL) {
        mine = calloc(1, sizeof *mine);
        if (mine != NULL && pthread_setspecific(remembered_key, mine) != 0) {
            free(mine);
            mine = NULL;
        }
    }
    return mine;
}

static HcclResult remember(HcclResult result)
{
    struct remembered *mine = remembered();
    if (mine != NULL) {
        mine->last = result;
        snprintf(mine->sentence, sizeof mine->sentence, "%s", tern_last_error());
    }
    return result;
}

static const char *const names[] = {
    [HCCL_SUCCESS] = "HCCL_SUCCESS: no error",
    [HCCL_E_PARA] = "HCCL_E_PARA: a parameter is wrong",
    [HCCL_E_PTR] = "HCCL_E_PTR: a pointer is NULL",
    [HCCL_E_MEMORY] = "HCCL_E_MEMORY: no memory",
    [HCCL_E_INTERNAL] = "HCCL_E_INTERNAL: an error inside",
    [HCCL_E_NOT_SUPPORT] = "HCCL_E_NOT_SUPPORT: not supported",
    [HCCL_E_NOT_FOUND] = "HCCL_E_NOT_FOUND: not found",
    [HCCL_E_UNAVAIL] = "HCCL_E_UNAVAIL: not available",
    [HCCL_E_SYSCALL] = "HCCL_E_SYSCALL: a system call failed",
    [HCCL_E_TIMEOUT] = "HCCL_E_TIMEOUT: the deadline passed",
    [HCCL_E_OPEN_FILE_FAILURE] = "HCCL_E_OPEN_FILE_FAILURE: a file cannot be opened",
    [HCCL_E_TCP_CONNECT] = "HCCL_E_TCP_CONNECT: the ranks cannot meet",
    [HCCL_E_ROCE_CONNECT] = "HCCL_E_ROCE_CONNECT: RoCE, no connection",
    [HCCL_E_TCP_TRANSFER] = "HCCL_E_TCP_TRANSFER: TCP, no transfer",
    [HCCL_E_ROCE_TRANSFER] = "HCCL_E_ROCE_TRANSFER: RoCE, no transfer",
    [HCCL_E_RUNTIME] = "HCCL_E_RUNTIME: a kernel or the runtime failed",
    [HCCL_E_DRV] = "HCCL_E_DRV: the driver failed",
    [HCCL_E_PROFILING] = "HCCL_E_PROFILING: profiling failed",
    [HCCL_E_CCE] = "HCCL_E_CCE: the compiler failed",
    [HCCL_E_NETWORK] = "HCCL_E_NETWORK: the network failed",
    [HCCL_E_AGAIN] = "HCCL_E_AGAIN: try again",
    [HCCL_E_REMOTE] = "HCCL_E_REMOTE: another rank died or left",
    [HCCL_E_SUSPENDING] = "HCCL_E_SUSPENDING: the communicator is suspended",
    [HCCL_E_OPRETRY_FAIL] = "HCCL_E_OPRETRY_FAIL: a repeated call failed",
    [HCCL_E_OOM] = "HCCL_E_OOM: out of memory",
};

static HcclResult result_of(int status)
{
    switch (status) {
    case TERN_OK:
        return HCCL_SUCCESS;
    case TERN_ERR_ARG:
    case TERN_ERR_MISMATCH:
        return HCCL_E_PARA;
    case TERN_ERR_MEMORY:
        return HCCL_E_MEMORY;
    case TERN_ERR_SYSTEM:
        return HCCL_E_SYSCALL;
    case TERN_ERR_TIMEOUT:
        return HCCL_E_TIMEOUT;
    case TERN_ERR_PEER:
    case TERN_ERR_LEFT:
        return HCCL_E_REMOTE;
    case TERN_ERR_LIMIT:
    case TERN_ERR_STATE:
        return HCCL_E_UNAVAIL;
    case TERN_ERR_REFUSED:
        return HCCL_E_TCP_CONNECT;
    case TERN_ERR_KERNEL:
        return HCCL_E_RUNTIME;
    default:
        return HCCL_E_INTERNAL;
    }
}

// What a result that no status of tern stands for is told as.
static int status_of(HcclResult result)
{
    bool state = result == HCCL_E_SUSPENDING || result == HCCL_E_UNAVAIL || result == HCCL_E_AGAIN;
    return result == HCCL_E_NOT_SUPPORT ? TERN_ERR_LIMIT : state ? TERN_ERR_STATE : TERN_ERR_ARG;
}

HcclResult tern__hccl_result(int status)
{
    return status < 0 ? remember(result_of(status)) : HCCL_SUCCESS;
}

HcclResult tern__hccl_refuse(const char *call, HcclResult result, const char *format, ...)
{
    char text[TERN_ERROR_BYTES / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tern__set_error("%s: %s", call, text);
    tern__public_failed(call, status_of(result));
    return remember(result);
}

HcclResult tern__hccl_no_pointer(const char *call, const char *name)
{
    return tern__hccl_refuse(call, HCCL_E_PTR, "%s is NULL", name);
}

int tern__hccl_check(const char *call, const struct hccl *comm)
{
    return tern__handle_check(call, comm, TERN__HCCL_COMM);
}

HcclResult tern__hccl_lives(const char *call, const struct hccl *comm)
{
    return comm == NULL ? tern__hccl_no_pointer(call, "comm")
                        : tern__hccl_result(tern__public_end(call, tern__hccl_check(call, comm)));
}

void tern__hccl_failed(struct hccl *comm, int status)
{
    pthread_mutex_lock(&lock);
    if (comm->failed == HCCL_SUCCESS) {
        comm->failed = result_of(status);
        snprintf(comm->sentence, sizeof comm->sentence, "%s", tern_last_error());
    }
    pthread_mutex_unlock(&lock);
}

HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError)
{
    const char *call = "HcclGetCommAsyncError";
    struct hccl *hccl = comm;
    HcclResult lives = tern__hccl_lives(call, hccl);
    if (lives != HCCL_SUCCESS || asyncError == NULL) {
        return lives != HCCL_SUCCESS ? lives : tern__hccl_no_pointer(call, "asyncError");
    }
    pthread_mutex_lock(&lock);
    *asyncError = hccl->failed;
    if (hccl->failed != HCCL_SUCCESS) {
        tern__set_error("%s", hccl->sentence);
        remember(hccl->failed);
    }
    pthread_mutex_unlock(&lock);
    if (*asyncError == HCCL_SUCCESS) {
        *asyncError = tern__hccl_result(tern_comm_health(hccl->comm));
    }
    return HCCL_SUCCESS;
}

const char *HcclGetErrorString(HcclResult code)
{
    struct remembered *mine = remembered();
    const unsigned number = (unsigned)code;
    const char *name = code == HCCL_E_IN_STATUS ? "HCCL_E_IN_STATUS: not in this state" : NULL;
    if (number < sizeof names / sizeof names[0]) {
        name = names[number];
    }
    if (mine == NULL || (name != NULL && (code == HCCL_SUCCESS || code != mine->last))) {
        return name != NULL ? name : "no result of HCCL";
    }
    if (name == NULL) {
        snprintf(mine->text, sizeof mine->text, "%d is no result of HCCL", (int)code);
    } else {
        snprintf(mine->text, sizeof mine->text, "%s: %s", name, mine->sentence);
    }
    return mine->text;
}
