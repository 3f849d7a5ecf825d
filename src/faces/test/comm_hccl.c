// SPDX-License-Identifier: Apache-2.0
// The backend `hccl` of the comm_* face, over tern's face of HCCL as libraries of its own
// (lib/hccl-face): the flow of a worker with kernels and domains, and what is told when the
// libraries, the file, a window or a rank is missing.
#include "support/cmocka.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "support/ranks.h"
#include "tern/status.h"

enum { MIB = 1 << 20 };

// The backend asks the loader for names, and finds what this process has loaded by then.
static int bring_libraries(void)
{
    CHECK(setenv("HCCL_BUFFSIZE", "1", 1) == 0);
    CHECK(dlopen(TERN_BUILD_DIR "/lib/hccl-face/libascendcl.so", RTLD_NOW) != NULL);
    CHECK(dlopen(TERN_BUILD_DIR "/lib/hccl-face/libhccl.so", RTLD_NOW) != NULL);
    return 0;
}

static const CommContext *context_at(uint64_t address)
{
    return (const CommContext *)(uintptr_t)address;
}

// Adds 1 to the own word of every rank, and waits until all have done so `round` times.
static void meet(const CommContext *context, int32_t round)
{
    int32_t *own = (int32_t *)(uintptr_t)context->windowsIn[context->rankId];
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        int32_t *word = tern_context_remote(context, own + context->rankId, peer);
        __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    }
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        while (__atomic_load_n(own + peer, __ATOMIC_ACQUIRE) < round) {
            sched_yield();
        }
    }
}

static int is_zero(uint64_t base, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)(uintptr_t)base;
    CHECK(at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0);
    return 0;
}

// Ranks n-1 down to 0, in windows of their own, twice with one id; then in part of the base
// windows.
static int domains(CommHandle handle, uint32_t rank, uint32_t n)
{
    uint32_t ids[TERN_RANKS_MAX];
    uint64_t address;
    uint64_t base;
    uint32_t own = n - 1 - rank;
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = n - 1 - i;
    }
    for (int turn = 0; turn < 2; turn++) {
        CHECK(comm_alloc_domain_windows(handle, 7, ids, n, own, MIB + 5, &address, &base) == 0);
        const CommContext *context = context_at(address);
        CHECK(context->rankId == own && context->rankNum == n && context->winSize == MIB + 5);
        CHECK(context->windowsIn[own] == base && is_zero(base + 4 * n, MIB) == 0);
        CHECK(comm_alloc_domain_windows(handle, 7, ids, n, own, 9, &address, &base) == -1);
        CHECK(strstr(tern_last_error(), "allocation 7 is alive") != NULL);
        meet(context, 1);
        CHECK(comm_release_domain_windows(handle, 7, n, own) == 0);
    }
    CHECK(comm_derive_context(handle, ids, n, own, 4096, 4096, &address) == 0);
    meet(context_at(address), 1);
    CHECK(comm_alloc_domain_windows(handle, 8, ids, n, own, 100, &address, &base) == 0);
    return 0; // what is left of them goes with the handle
}

static int worker(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t address;
    uint64_t base;
    size_t size;
    int n = ranks->count;
    CHECK(bring_libraries() == 0);
    CommHandle handle = comm_init(rank, n, ranks->path);
    CHECK(handle != NULL);
    CHECK(comm_barrier(handle) == -1 && strstr(tern_last_error(), "no windows yet") != NULL);
    CHECK(comm_alloc_windows(handle, 0, &address) == -1);
    CHECK(comm_alloc_windows(handle, 5000, &address) == 0);
    CHECK(comm_alloc_windows(handle, 5000, &address) == -1);
    CHECK(access(ranks->path, F_OK) != 0);
    CHECK(comm_get_local_window_base(handle, &base) == 0);
    CHECK(comm_get_window_size(handle, &size) == 0 && size == MIB);
    const CommContext *context = context_at(address);
    CHECK(context->rankId == (uint32_t)rank && context->rankNum == (uint32_t)n);
    CHECK(context->windowsIn[rank] == base && is_zero(base + 4096, size - 4096) == 0);
    int32_t *shares = (int32_t *)(uintptr_t)(base + 1024);
    for (int round = 1; round <= 5; round++) {
        for (int peer = 0; peer < n; peer++) {
            int32_t *there = tern_context_remote(context, shares + rank, (uint32_t)peer);
            *there = 100 * round + rank;
        }
        meet(context, 2 * round - 1);
        for (int peer = 0; peer < n; peer++) {
            CHECK(shares[peer] == 100 * round + peer);
        }
        meet(context, 2 * round);
    }
    CHECK(comm_barrier(handle) == 0);
    CHECK(domains(handle, (uint32_t)rank, (uint32_t)n) == 0);
    CHECK(comm_barrier(handle) == 0 && comm_destroy(handle) == 0);
    handle = comm_init(rank, n, ranks->path); // and once more at the same path
    CHECK(handle != NULL && comm_destroy(handle) == 0);
    return 0;
}

static void workers_meet_in_windows_and_domains_of_hccl(void **state)
{
    const int counts[] = {1, 2, 3, 5};
    for (int i = 0; i < 4; i++) {
        assert_true(ranks_run(counts[i], worker, NULL, 60));
    }
}

static int without_libraries(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(comm_init(rank, ranks->count, ranks->path) == NULL);
    CHECK(strstr(tern_last_error(), "but libascendcl.so cannot be loaded") != NULL);
    return 0;
}

static int without_place(int rank, const struct ranks *ranks, void *arg)
{
    struct stat before;
    struct stat after;
    CHECK(bring_libraries() == 0);
    CHECK(comm_init(0, 1, NULL) == NULL && comm_init(1, 1, ranks->path) == NULL);
    CHECK(comm_init(0, 65, ranks->path) == NULL);
    CHECK(comm_init(0, 1, "/nowhere/at/all") == NULL);
    CHECK(strstr(tern_last_error(), "cannot write /nowhere/at/all") != NULL);
    int fd = open(ranks->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(write(fd, "mine", 4) == 4 && fstat(fd, &before) == 0);
    CHECK(comm_init(0, 1, ranks->path) == NULL);
    CHECK(strstr(tern_last_error(), "cannot make") != NULL);
    CHECK(stat(ranks->path, &after) == 0 && after.st_size == 4 && after.st_ino == before.st_ino);
    CHECK(comm_init(1, 2, ranks->path) == NULL);
    CHECK(strstr(tern_last_error(), "has 4 bytes, not the 4108") != NULL);
    CHECK(close(fd) == 0 && unlink(ranks->path) == 0 && setenv("TERN_TIMEOUT", "0.1", 1) == 0);
    CHECK(comm_init(1, 2, ranks->path) == NULL);
    CHECK(strstr(tern_last_error(), "cannot read what rank 0 writes to") != NULL);
    return 0;
}

static int without_room(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t address = 77;
    CHECK(bring_libraries() == 0);
    CommHandle handle = comm_init(rank, ranks->count, ranks->path);
    CHECK(handle != NULL);
    CHECK(comm_alloc_windows(handle, MIB + 1, &address) == -1 && address == 77);
    CHECK(strstr(tern_last_error(), "HCCL_BUFFSIZE is the MiB of a window") != NULL);
    CHECK(comm_alloc_windows(handle, MIB, &address) == 0 && address != 77);
    CHECK(comm_barrier(handle) == 0 && comm_destroy(handle) == 0);
    return 0;
}

static void what_is_missing_is_told(void **state)
{
    assert_true(ranks_run(1, without_libraries, NULL, 20));
    assert_true(ranks_run(1, without_place, NULL, 20));
    assert_true(ranks_run(3, without_room, NULL, 20));
}

static int lose_the_last(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t address;
    char words[40];
    int last = ranks->count - 1;
    CHECK(bring_libraries() == 0);
    CommHandle handle = comm_init(rank, ranks->count, ranks->path);
    CHECK(handle != NULL && comm_alloc_windows(handle, 100, &address) == 0);
    if (rank == last) {
        _exit(0);
    }
    snprintf(words, sizeof words, "rank %d died", last);
    CHECK(comm_barrier(handle) == -1 && strstr(tern_last_error(), words) != NULL);
    tern_status_ignore(comm_destroy(handle));
    return 0;
}

static void dead_rank_is_named(void **state)
{
    assert_true(ranks_run(3, lose_the_last, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_meet_in_windows_and_domains_of_hccl),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(dead_rank_is_named),
    };
    setenv("TERN_COMM_BACKEND", "hccl", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
