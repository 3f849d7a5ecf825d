// SPDX-License-Identifier: Apache-2.0
// The comm_* face from C, as a user of the platform API has it: nothing but its header. The whole
// flow of a worker, the rules of -1, and kernels that meet through addresses and atomics alone.
#include "support/cmocka.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "support/look.h"
#include "support/ranks.h"

enum { PREFIX = 256, COUNT = 256 };

static int32_t *signal_at(const CommContext *context, uint32_t peer, uint32_t slot)
{
    return (int32_t *)(uintptr_t)(context->windowsIn[peer] + 4 * slot);
}

// Adds one to the own slot of every rank, then waits until all own slots have reached `round`.
static void kernel_barrier(const CommContext *context, int32_t round)
{
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        __atomic_fetch_add(signal_at(context, peer, context->rankId), 1, __ATOMIC_RELEASE);
    }
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        while (__atomic_load_n(signal_at(context, context->rankId, peer), __ATOMIC_ACQUIRE) <
               round) {
            sched_yield();
        }
    }
}

// All-reduce in one phase: reads everybody's input through windowsIn and adds in rank order.
static void kernel_all_reduce(const CommContext *context, float *input, float *output)
{
    for (int i = 0; i < COUNT; i++) {
        output[i] = 0;
        for (uint32_t peer = 0; peer < context->rankNum; peer++) {
            const float *remote = (const float *)(uintptr_t)(context->windowsIn[peer] +
                                                             ((uint64_t)(uintptr_t)input -
                                                              context->windowsIn[context->rankId]));
            output[i] += remote[i];
        }
    }
}

static int worker(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t address = 0;
    uint64_t base = 0;
    size_t size = 0;
    size_t wanted = PREFIX + COUNT * sizeof(float);
    float output[COUNT];
    int n = ranks->count;
    CommHandle handle = comm_init(rank, n, ranks->path);
    CHECK(handle != NULL);
    CHECK(comm_alloc_windows(handle, wanted, &address) == 0);
    CHECK(comm_get_local_window_base(handle, &base) == 0);
    CHECK(comm_get_window_size(handle, &size) == 0);
    CHECK(size >= wanted);
    const CommContext *context = (const CommContext *)(uintptr_t)address;
    CHECK(context->rankId == (uint32_t)rank && context->rankNum == (uint32_t)n);
    CHECK(context->winSize == size && context->windowsIn[rank] == base);
    CHECK(context->workSpace == 0 && context->workSpaceSize == 0);
    CHECK(memcmp(context->windowsIn, context->windowsOut, sizeof context->windowsIn) == 0);
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)base;
    CHECK(bytes[PREFIX] == 0 && memcmp(bytes + PREFIX, bytes + PREFIX + 1, size - PREFIX - 1) == 0);
    float *input = (float *)(uintptr_t)(base + PREFIX);
    for (int i = 0; i < COUNT; i++) {
        input[i] = (float)(i + 100 * rank);
    }
    CHECK(comm_barrier(handle) == 0);
    for (int round = 1; round <= 20; round++) {
        kernel_barrier(context, 2 * round - 1);
        kernel_all_reduce(context, input, output);
        kernel_barrier(context, 2 * round);
        for (int i = 0; i < COUNT; i++) {
            CHECK(output[i] == (float)(round * (n * i + 50 * n * (n - 1))));
            input[i] += (float)(i + 100 * rank);
        }
    }
    CHECK(comm_barrier(handle) == 0);
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void workers_meet_in_kernels_and_all_reduce(void **state)
{
    assert_true(ranks_run(4, worker, NULL, 60));
    for (int i = 0; i < 6; i++) {
        assert_true(ranks_run(ranks_counts[i], worker, NULL, 60));
    }
}

static int minus_one(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t word = 77;
    size_t size = 77;
    int n = ranks->count;
    CHECK(comm_init(-1, n, ranks->path) == NULL && comm_init(n, n, ranks->path) == NULL);
    CHECK(comm_init(0, 0, ranks->path) == NULL && comm_init(0, 65, ranks->path) == NULL);
    CHECK(comm_init(rank, n, NULL) == NULL && comm_init(rank, n, "") == NULL);
    CHECK(comm_init(rank, n, NULL) == NULL &&
          strstr(tern_last_error(), "comm_init: rootinfo_path must not be NULL") != NULL);
    CommHandle handle = comm_init(rank, n, ranks->path);
    CHECK(handle != NULL);
    CHECK(comm_barrier(handle) == -1); // before windows
    CHECK(comm_get_local_window_base(handle, &word) == -1 && word == 77);
    CHECK(comm_get_window_size(handle, &size) == -1 && size == 77);
    CHECK(comm_alloc_windows(handle, 0, &word) == -1 && word == 77);
    CHECK(comm_alloc_windows(handle, (size_t)1 << 62, &word) == -1 && word == 77);
    CHECK(strstr(tern_last_error(), "bytes are available") != NULL);
    CHECK(comm_alloc_windows(handle, 4096, NULL) == -1);
    CHECK(comm_alloc_windows(handle, 4096, &word) == 0 && word != 77);
    CHECK(comm_alloc_windows(handle, 4096, &word) == -1); // once per handle
    CHECK(comm_get_local_window_base(handle, NULL) == -1);
    CHECK(comm_get_window_size(handle, NULL) == -1);
    CHECK(comm_barrier(handle) == 0); // none of this has broken it
    CHECK(comm_destroy(handle) == 0);
    CHECK(comm_alloc_windows(NULL, 4096, &word) == -1);
    CHECK(comm_get_local_window_base(NULL, &word) == -1);
    CHECK(comm_get_window_size(NULL, &size) == -1);
    CHECK(comm_barrier(NULL) == -1);
    CHECK(comm_destroy(NULL) == -1);
    return 0;
}

static void wrong_use_is_minus_one_and_breaks_nothing(void **state)
{
    for (int i = 0; i < 6; i++) {
        assert_true(ranks_run(ranks_counts[i], minus_one, NULL, 20));
    }
}

// As after a crash in a kernel: nobody hangs, the reason names the rank, destroy still works.
static int lose_the_last(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t address;
    char words[40];
    int last = ranks->count - 1;
    CommHandle handle = comm_init(rank, ranks->count, ranks->path);
    CHECK(handle != NULL && comm_alloc_windows(handle, 100, &address) == 0);
    if (rank == last) {
        _exit(0);
    }
    snprintf(words, sizeof words, "rank %d died", last);
    CHECK(comm_barrier(handle) == -1 && strstr(tern_last_error(), words) != NULL);
    CHECK(comm_barrier(handle) == -1 && strstr(tern_last_error(), words) != NULL);
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void dead_rank_is_minus_one_and_named(void **state)
{
    for (int i = 1; i < 6; i++) {
        assert_true(ranks_run(ranks_counts[i], lose_the_last, NULL, 20));
    }
}

static int again(int rank, const struct ranks *ranks, void *arg)
{
    int fds = look_fds();
    for (int i = 0; i < 30; i++) {
        uint64_t address;
        CommHandle handle = comm_init(rank, ranks->count, ranks->path);
        CHECK(handle != NULL && comm_alloc_windows(handle, 100, &address) == 0);
        CHECK(comm_destroy(handle) == 0);
    }
    CHECK(look_fds() == fds && look_maps() == 0);
    return 0;
}

static void handles_in_a_row_at_one_path_leak_nothing(void **state)
{
    assert_true(ranks_run(4, again, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_meet_in_kernels_and_all_reduce),
        cmocka_unit_test(wrong_use_is_minus_one_and_breaks_nothing),
        cmocka_unit_test(dead_rank_is_minus_one_and_named),
        cmocka_unit_test(handles_in_a_row_at_one_path_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
