// SPDX-License-Identifier: Apache-2.0
// The backend of the comm_* platform API on HCCL: bootstrap, barriers and windows are those of
// HCCL, everything else is done by kernels. libhccl.so and libascendcl.so are loaded when the
// first handle is made; the program has set its device before. Set-up path.
//
//   join      rank 0 writes HcclGetRootInfo to rootinfo_path, the others read it;
//             HcclCommInitRootInfo; rank 0 removes the file
//   windows   HcclAllocComResourceByTiling: the context, which is read once; the own window is
//             zeroed, then all meet
//   domain    HcclCreateSubCommConfig with buffers of its size, then the same
//
// Tried with tern's own face of HCCL (cmake/hccl_face.cmake), not on hardware: what tiling a card
// wants, and whether its context is the one of a mesh, is known there only.

#include "faces/comm_handle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "hccl/hccl_comm.h"

#define POLL_NS 5000000 // between two looks for the file of rank 0
#define MIB ((size_t)1 << 20)

#define ACL_FUNCTIONS(X)                                                                           \
    X(aclInit)                                                                                     \
    X(aclGetRecentErrMsg)                                                                          \
    X(aclrtCreateStream)                                                                           \
    X(aclrtDestroyStream)                                                                          \
    X(aclrtSynchronizeStream)                                                                      \
    X(aclrtMalloc)                                                                                 \
    X(aclrtFree)                                                                                   \
    X(aclrtMemcpy)                                                                                 \
    X(aclrtMemset)

#define HCCL_FUNCTIONS(X)                                                                          \
    X(HcclGetRootInfo)                                                                             \
    X(HcclCommInitRootInfo)                                                                        \
    X(HcclCreateSubCommConfig)                                                                     \
    X(HcclCommDestroy)                                                                             \
    X(HcclGetCommName)                                                                             \
    X(HcclGetErrorString)                                                                          \
    X(HcclBarrier)                                                                                 \
    X(HcomGetL0TopoTypeEx)                                                                         \
    X(HcclAllocComResourceByTiling)

#define MEMBER(name) __typeof__(name) *name;
static struct {
    ACL_FUNCTIONS(MEMBER)
    HCCL_FUNCTIONS(MEMBER)
    bool loaded;
} api;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of `api`

struct tern__comm_hccl {
    HcclComm comm;
    aclrtStream stream;
    tern_context context; // of the base windows
    pid_t process;        // in the child of a fork() nothing of it can be used
};

struct row {
    const char *name;
    void *function; // of `api`
};
#define ROW(name) {#name, &api.name},
static const struct row acl_rows[] = {ACL_FUNCTIONS(ROW)};
static const struct row hccl_rows[] = {HCCL_FUNCTIONS(ROW)};

// The library stays, also when something is missing: what it has started cannot be told.
static bool load_rows(const char *path, const struct row *rows, size_t count)
{
    static const char why[] = "comm_init: TERN_COMM_BACKEND is 'hccl', but";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        tern__set_error("%s %s cannot be loaded: %s", why, path, dlerror());
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, rows[i].name);
        if (found == NULL) {
            tern__set_error("%s %s has no %s", why, path, rows[i].name);
            return false;
        }
        memcpy(rows[i].function, &found, sizeof found);
    }
    return true;
}

static bool load(void)
{
    pthread_mutex_lock(&lock);
    if (!api.loaded) {
        api.loaded = load_rows("libascendcl.so", acl_rows, sizeof acl_rows / sizeof acl_rows[0]) &&
                     load_rows("libhccl.so", hccl_rows, sizeof hccl_rows / sizeof hccl_rows[0]);
    }
    bool loaded = api.loaded;
    pthread_mutex_unlock(&lock);
    return loaded;
}

// -1 with a sentence, unless the call has succeeded.
static int hccl_done(const char *call, HcclResult result)
{
    if (result == HCCL_SUCCESS) {
        return 0;
    }
    tern__set_error("%s is %d: %.300s", call, (int)result, api.HcclGetErrorString(result));
    return -1;
}

static int acl_done(const char *call, aclError result)
{
    if (result == ACL_SUCCESS) {
        return 0;
    }
    const char *why = api.aclGetRecentErrMsg();
    tern__set_error("%s is %d: %.300s", call, result, why != NULL ? why : "no reason is given");
    return -1;
}

static int file_fails(const char *what, const char *path)
{
    tern__set_error_errno("comm_init: cannot %s %.100s", what, path);
    return -1;
}

// Nobody sees a part of it, and a file that is there already is not touched: it may be another
// job's.
static int write_root_info(const char *path, const HcclRootInfo *info)
{
    char made[256];
    if ((size_t)snprintf(made, sizeof made, "%s.%d", path, (int)getpid()) >= sizeof made) {
        errno = ENAMETOOLONG;
        return file_fails("write", path);
    }
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return file_fails("write", made);
    }
    bool good = write(fd, info, sizeof *info) == (ssize_t)sizeof *info;
    good = close(fd) == 0 && good && link(made, path) == 0;
    int why = errno;
    unlink(made);
    errno = why;
    return good ? 0 : file_fails("make", path);
}

static int read_root_info(const char *path, HcclRootInfo *info)
{
    int64_t timeout_ns;
    if (tern__timeout_option(0, &timeout_ns) != TERN_OK) {
        return -1;
    }
    int64_t deadline_ns = tern__deadline_after(timeout_ns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == ENOENT && tern__now_ns() < deadline_ns) {
        struct timespec pause = tern__timespec(POLL_NS);
        nanosleep(&pause, NULL);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        return file_fails("read what rank 0 writes to", path);
    }
    ssize_t got = read(fd, info, sizeof *info);
    close(fd);
    if (got != (ssize_t)sizeof *info) {
        tern__set_error("comm_init: %.100s has %zd bytes, not the %zu of a root info", path, got,
                        sizeof *info);
        return -1;
    }
    return 0;
}

static int meet(struct tern__comm_hccl *hccl, int rank, int nranks, const char *path)
{
    HcclRootInfo info;
    int status;
    if (rank == 0) {
        status = hccl_done("HcclGetRootInfo", api.HcclGetRootInfo(&info));
        status = status == 0 ? write_root_info(path, &info) : status;
    } else {
        status = read_root_info(path, &info);
    }
    if (status != 0) {
        return status;
    }
    status =
        hccl_done("HcclCommInitRootInfo",
                  api.HcclCommInitRootInfo((uint32_t)nranks, &info, (uint32_t)rank, &hccl->comm));
    if (rank == 0) {
        unlink(path);
    }
    return status;
}

static int leave(CommHandle h)
{
    struct tern__comm_hccl *hccl = h->hccl;
    int status = 0;
    if (hccl->process == getpid()) {
        if (hccl->comm != NULL) {
            status = hccl_done("HcclCommDestroy", api.HcclCommDestroy(hccl->comm));
        }
        if (hccl->stream != NULL) {
            int left = acl_done("aclrtDestroyStream", api.aclrtDestroyStream(hccl->stream));
            status = status != 0 ? status : left;
        }
    }
    free(hccl);
    return status;
}

static int join(CommHandle h, int rank, int nranks, const char *path)
{
    if (path == NULL || nranks < 1 || nranks > TERN_RANKS_MAX || rank < 0 || rank >= nranks) {
        tern__set_error("comm_init: rank %d of %d at %s; expected 1 to %d ranks, one of them, and "
                        "a path",
                        rank, nranks, path != NULL ? path : "NULL", TERN_RANKS_MAX);
        return -1;
    }
    if (!load()) {
        return -1;
    }
    aclError begun = api.aclInit(NULL);
    if (begun != ACL_ERROR_REPEAT_INITIALIZE && acl_done("aclInit", begun) != 0) {
        return -1;
    }
    h->hccl = calloc(1, sizeof *h->hccl);
    if (h->hccl == NULL) {
        tern__set_error("comm_init: no memory for a handle");
        return -1;
    }
    h->hccl->process = getpid();
    if (acl_done("aclrtCreateStream", api.aclrtCreateStream(&h->hccl->stream)) != 0 ||
        meet(h->hccl, rank, nranks, path) != 0) {
        (void)leave(h);
        return -1;
    }
    return 0;
}

static int barrier_of(HcclComm comm, aclrtStream stream)
{
    int status = hccl_done("HcclBarrier", api.HcclBarrier(comm, stream));
    return status != 0 ? status
                       : acl_done("aclrtSynchronizeStream", api.aclrtSynchronizeStream(stream));
}

static int barrier(CommHandle h)
{
    return barrier_of(h->hccl->comm, h->hccl->stream);
}

// The windows of a communicator: *context is a copy of what kernels see at *address.
static int windows_of(CommHandle h, HcclComm comm, size_t window_size, tern_context *context,
                      void **address)
{
    char name[COMM_NAME_MAX_LENGTH] = "";
    uint32_t topology = 0;
    if (hccl_done("HcclGetCommName", api.HcclGetCommName(comm, name)) != 0 ||
        hccl_done("HcomGetL0TopoTypeEx", api.HcomGetL0TopoTypeEx(name, &topology, 1)) != 0) {
        return -1;
    }
    if (topology != COMM_TOPO_MESH) {
        tern__set_error("HcomGetL0TopoTypeEx says %u; only the context of a mesh (%d) is known",
                        topology, COMM_TOPO_MESH);
        return -1;
    }
    aclrtStream stream = h->hccl->stream;
    if (hccl_done("HcclAllocComResourceByTiling",
                  api.HcclAllocComResourceByTiling(comm, stream, NULL, address)) != 0 ||
        acl_done("aclrtMemcpy", api.aclrtMemcpy(context, sizeof *context, *address, sizeof *context,
                                                ACL_MEMCPY_DEVICE_TO_HOST)) != 0) {
        return -1;
    }
    if (context->rankNum > TERN_CONTEXT_RANKS || context->rankId >= context->rankNum ||
        context->winSize < window_size) {
        tern__set_error("HCCL's windows have %llu bytes on rank %u of %u; %zu bytes are asked for: "
                        "HCCL_BUFFSIZE is the MiB of a window",
                        (unsigned long long)context->winSize, context->rankId, context->rankNum,
                        window_size);
        return -1;
    }
    void *own = (void *)(uintptr_t)context->windowsIn[context->rankId];
    size_t bytes = (size_t)context->winSize;
    int zeroed = acl_done("aclrtMemset", api.aclrtMemset(own, bytes, 0, bytes));
    return zeroed != 0 ? zeroed : barrier_of(comm, stream);
}

static int make_windows(CommHandle h, size_t window_size)
{
    void *address = NULL;
    if (window_size == 0) {
        tern__set_error("comm_alloc_windows: win_size is 0; a window has at least 1 byte");
        return -1;
    }
    if (windows_of(h, h->hccl->comm, window_size, &h->hccl->context, &address) != 0) {
        return -1;
    }
    h->context = &h->hccl->context;
    h->address = (uint64_t)(uintptr_t)address;
    return 0;
}

static int publish(CommHandle h, struct tern__comm_domain *domain, uint64_t *address)
{
    (void)h;
    size_t bytes = sizeof domain->context;
    if (acl_done("aclrtMalloc",
                 api.aclrtMalloc(&domain->device, bytes, ACL_MEM_MALLOC_HUGE_FIRST)) != 0 ||
        acl_done("aclrtMemcpy", api.aclrtMemcpy(domain->device, bytes, &domain->context, bytes,
                                                ACL_MEMCPY_HOST_TO_DEVICE)) != 0) {
        return -1;
    }
    *address = (uint64_t)(uintptr_t)domain->device;
    return 0;
}

static int make_domain(CommHandle h, struct tern__comm_domain *domain, const uint32_t *rank_ids,
                       size_t window_size)
{
    uint32_t ranks[TERN_RANKS_MAX];
    size_t mib = window_size / MIB + (window_size % MIB != 0);
    HcclCommConfig config;
    tern_context context;
    void *address;
    if (mib >= HCCL_COMM_CONFIG_NOT_SET) {
        tern__set_error("comm_alloc_domain_windows: %zu bytes; HCCL has no such window",
                        window_size);
        return -1;
    }
    memcpy(ranks, rank_ids, domain->rank_count * sizeof *ranks);
    HcclCommConfigInit(&config);
    config.hcclBufferSize = (uint32_t)mib;
    if (hccl_done("HcclCreateSubCommConfig",
                  api.HcclCreateSubCommConfig(&h->hccl->comm, (uint32_t)domain->rank_count, ranks,
                                              domain->allocation_id, domain->domain_rank, &config,
                                              &domain->hccl)) != 0 ||
        windows_of(h, domain->hccl, window_size, &context, &address) != 0) {
        return -1;
    }
    for (size_t i = 0; i < domain->rank_count; i++) {
        tern__comm_place(domain, i, context.windowsIn[i]);
    }
    return 0;
}

static int domain_barrier(CommHandle h, struct tern__comm_domain *domain)
{
    return barrier_of(domain->hccl, h->hccl->stream);
}

static int end_domain(CommHandle h, struct tern__comm_domain *domain)
{
    int status = 0;
    if (h->hccl->process != getpid()) {
        return status;
    }
    if (domain->device != NULL) {
        status = acl_done("aclrtFree", api.aclrtFree(domain->device));
    }
    if (domain->hccl != NULL) {
        int left = hccl_done("HcclCommDestroy", api.HcclCommDestroy(domain->hccl));
        status = status != 0 ? status : left;
    }
    return status;
}

const struct tern__comm_backend tern__comm_hccl = {
    .name = "hccl",
    .where = "cards, by libhccl.so and libascendcl.so",
    .join = join,
    .make_windows = make_windows,
    .barrier = barrier,
    .publish = publish,
    .make_domain = make_domain,
    .domain_barrier = domain_barrier,
    .end_domain = end_domain,
    .leave = leave,
};
