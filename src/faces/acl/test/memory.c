// SPDX-License-Identifier: Apache-2.0
// Memory of ACL: what blocks there are, that they are the job's while there is a communicator, and
// that they may outlive it.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/registry.h"
#include "faces/acl/memory.h"
#include "hccl/hccl.h"
#include "support/ranks.h"

#include "comm/window.h"

static bool is_block(const void *address, const void *begin, size_t bytes)
{
    uintptr_t at = 0;
    size_t length = 0;
    return tern__acl_memory_of(address, &at, &length) && at == (uintptr_t)begin && length == bytes;
}

static void blocks_are_known_to_their_last_byte(void **state)
{
    char *blocks[100];
    uintptr_t begin;
    size_t bytes;
    for (size_t i = 0; i < 100; i++) {
        void *memory = NULL;
        assert_int_equal(i % 2 == 0 ? aclrtMalloc(&memory, i + 1, ACL_MEM_MALLOC_HUGE_FIRST)
                                    : aclrtMallocHost(&memory, i + 1),
                         ACL_SUCCESS);
        assert_int_equal((uintptr_t)memory % 512, 0);
        blocks[i] = memory;
    }
    for (size_t i = 0; i < 100; i++) {
        assert_true(is_block(blocks[i], blocks[i], i + 1));
        assert_true(is_block(blocks[i] + i, blocks[i], i + 1));
        assert_false(is_block(blocks[i] + i + 1, blocks[i], i + 1));
        assert_false(is_block(blocks[i] - 1, blocks[i], i + 1));
    }
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(i % 2 == 0 ? aclrtFree(blocks[i]) : aclrtFreeHost(blocks[i]), ACL_SUCCESS);
        assert_false(tern__acl_memory_of(blocks[i], &begin, &bytes));
    }
}

static void what_was_not_given_is_refused(void **state)
{
    char *memory = NULL;
    int other = 0;
    assert_int_equal(aclrtMalloc((void **)&memory, 1000, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    assert_int_equal(aclrtFree(memory + 1), ACL_ERROR_INVALID_PARAM);
    assert_non_null(strstr(aclGetRecentErrMsg(), "no block begins at"));
    assert_int_equal(aclrtFree(&other), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtFree(memory), ACL_SUCCESS);
    assert_int_equal(aclrtFree(memory), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtFree(NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMalloc(NULL, 8, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtMalloc((void **)&memory, 0, ACL_MEM_MALLOC_NORMAL_ONLY),
                     ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtMalloc((void **)&memory, SIZE_MAX - 7, ACL_MEM_MALLOC_NORMAL_ONLY),
                     ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(aclrtMallocHost((void **)&memory, SIZE_MAX - 7), ACL_ERROR_BAD_ALLOC);

    size_t free_bytes, total;
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
    assert_int_equal(aclrtMalloc((void **)&memory, total + total / 8, ACL_MEM_MALLOC_HUGE_FIRST),
                     ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_non_null(strstr(aclGetRecentErrMsg(), "aclrtMalloc: no memory for "));
}

static aclrtMemLocation where(const void *address)
{
    aclrtPtrAttributes attributes = {.location = {.id = 99}};
    assert_int_equal(aclrtPointerGetAttributes(address, &attributes), ACL_SUCCESS);
    assert_int_equal(attributes.pageSize, sysconf(_SC_PAGESIZE));
    return attributes.location;
}

static void an_address_says_whose_it_is(void **state)
{
    char *device, *host;
    aclrtPtrAttributes attributes;
    assert_int_equal(aclrtSetDevice(3), ACL_SUCCESS);
    assert_int_equal(aclrtMalloc((void **)&device, 100, ACL_MEM_MALLOC_HUGE1G_ONLY), ACL_SUCCESS);
    assert_int_equal(aclrtMallocHost((void **)&host, 100), ACL_SUCCESS);
    assert_int_equal(where(device + 99).type, ACL_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(where(device).id, 3);
    assert_int_equal(where(host).type, ACL_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(where(&device).type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    assert_int_equal(aclrtFree(device), ACL_SUCCESS);
    assert_int_equal(where(device).type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    assert_int_equal(aclrtFreeHost(host), ACL_SUCCESS);
    assert_int_equal(aclrtPointerGetAttributes(NULL, &attributes), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtPointerGetAttributes(&device, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetDevice(0), ACL_SUCCESS);
}

static void *allocate_and_look(void *arg)
{
    for (int round = 0; round < 300; round++) {
        void *memory = NULL;
        size_t bytes = 1 + (size_t)round * 37;
        if (aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS ||
            !is_block((char *)memory + bytes - 1, memory, bytes) ||
            aclrtFree(memory) != ACL_SUCCESS) {
            return "a block was lost";
        }
    }
    return NULL;
}

static void threads_allocate_at_once(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_look, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *what = NULL;
        assert_int_equal(pthread_join(threads[i], &what), 0);
        assert_null(what);
    }
}

static HcclResult join(int rank, const struct ranks *ranks, HcclComm *comm)
{
    HcclRootInfo info = {{0}};
    snprintf(info.internal, sizeof info.internal, "tern:%s", ranks->path);
    return HcclCommInitRootInfo((uint32_t)ranks->count, &info, (uint32_t)rank, comm);
}

static int allocate_too_much(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm;
    void *memory = NULL;
    size_t free_bytes, total;
    CHECK(setenv("TERN_ERRORS", "fatal", 1) == 0);
    CHECK(join(rank, ranks, &comm) == HCCL_SUCCESS);
    CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total) == ACL_SUCCESS);
    CHECK(aclrtMalloc(&memory, total + total / 8, ACL_MEM_MALLOC_HUGE_FIRST) ==
          ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(aclrtFree(memory) == ACL_SUCCESS && HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void too_much_memory_is_refused_in_a_job_too(void **state)
{
    assert_true(ranks_run(2, allocate_too_much, NULL, 60));
}

// How a program ends, in all its orders.
enum end { FREE_FIRST, FREE_LAST, FREE_NEVER, END_COUNT };

static bool is_of_job(const void *memory)
{
    tern_window *window;
    return tern__registry_find(memory, &window) && window->heap;
}

static int memory_and_communicator(int rank, const struct ranks *ranks, void *arg)
{
    const enum end end = *(const enum end *)arg;
    void *before = NULL;
    float *after = NULL;
    void *spare = NULL;
    HcclComm comm;
    CHECK(aclrtMalloc(&before, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(join(rank, ranks, &comm) == HCCL_SUCCESS);
    CHECK(aclrtMalloc((void **)&after, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(aclrtMalloc(&spare, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(!is_of_job(before) && is_of_job(after) && is_of_job((char *)after + (1 << 20) - 1));
    memset(after, 7, 1 << 20);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    if (end == FREE_FIRST) {
        CHECK(aclrtFree(after) == ACL_SUCCESS && aclrtFree(spare) == ACL_SUCCESS);
    }
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    CHECK(HcclBarrier(comm, NULL) != HCCL_SUCCESS);
    if (end != FREE_FIRST) {
        CHECK(((char *)after)[(1 << 20) - 1] == 7);
    }
    if (end == FREE_LAST) {
        CHECK(aclrtFree(spare) == ACL_SUCCESS && aclrtFree(after) == ACL_SUCCESS);
    }
    if (end != FREE_NEVER) { // all is gone, so the process is in no job
        void *alone = NULL;
        CHECK(!is_of_job(after));
        CHECK(aclrtMalloc(&alone, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
        CHECK(!is_of_job(alone) && aclrtFree(alone) == ACL_SUCCESS);
    }
    CHECK(aclrtFree(before) == ACL_SUCCESS);
    return 0;
}

static void memory_may_outlive_its_communicator(void **state)
{
    for (enum end end = FREE_FIRST; end < END_COUNT; end++) {
        for (int i = 0; i < 4; i++) {
            assert_true(ranks_run(ranks_counts[i], memory_and_communicator, &end, 60));
        }
    }
}

static int join_twice(int rank, const struct ranks *ranks, void *arg)
{
    for (int round = 0; round < 3; round++) {
        HcclComm comm;
        void *memory = NULL;
        CHECK(join(rank, ranks, &comm) == HCCL_SUCCESS);
        CHECK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
        CHECK(is_of_job(memory));
        CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
        if (round == 1) {
            CHECK(aclrtFree(memory) == ACL_SUCCESS);
        }
    }
    return 0;
}

static void a_process_may_join_again_with_blocks_left(void **state)
{
    assert_true(ranks_run(3, join_twice, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_known_to_their_last_byte),
        cmocka_unit_test(what_was_not_given_is_refused),
        cmocka_unit_test(an_address_says_whose_it_is),
        cmocka_unit_test(threads_allocate_at_once),
        cmocka_unit_test(too_much_memory_is_refused_in_a_job_too),
        cmocka_unit_test(memory_may_outlive_its_communicator),
        cmocka_unit_test(a_process_may_join_again_with_blocks_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
