// SPDX-License-Identifier: Apache-2.0
// Memory that is announced: which window an address is in, and what is refused.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "hccl/hccl.h"
#include "support/ranks.h"

#define SAYS(words) CHECK(strstr(tern_last_error(), words) != NULL)

static int windows(HcclComm comm, HcclComm other, HcclCommSymWindow *left)
{
    static char memory[4096];
    HcclCommSymWindow first, second, low, found = NULL;
    size_t offset = 0;
    CHECK(HcclCommSymWinRegister(comm, memory, 1024, &first, 0) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinRegister(comm, memory + 3072, 1024, &second, 0) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinRegister(comm, memory + 2048, 1024, &low, 0) == HCCL_SUCCESS); // adjacent
    CHECK(HcclCommSymWinRegister(comm, memory + 1024, 1024, &second, 0) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinRegister(comm, memory + 1023, 2, &found, 0) == HCCL_E_PARA);
    SAYS("overlap what was announced before");
    CHECK(HcclCommSymWinGet(comm, memory + 1030, 100, &found, &offset) == HCCL_SUCCESS);
    CHECK(found == second && offset == 6);
    CHECK(HcclCommSymWinGet(comm, memory, 1024, &found, &offset) == HCCL_SUCCESS);
    CHECK(found == first && offset == 0);
    CHECK(HcclCommSymWinGet(comm, memory, 1025, &found, &offset) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommSymWinGet(other, memory, 1, &found, &offset) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommSymWinRegister(comm, NULL, 8, &found, 0) == HCCL_E_PTR);
    CHECK(HcclCommSymWinRegister(comm, memory, 0, &found, 0) == HCCL_E_PARA);
    CHECK(HcclCommSymWinRegister(comm, memory, UINT64_MAX, &found, 0) == HCCL_E_PARA);
    CHECK(HcclCommSymWinRegister(NULL, memory, 8, &found, 0) == HCCL_E_PTR);
    CHECK(HcclCommSymWinDeregister(first) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinDeregister(first) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommSymWinDeregister(memory) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommSymWinDeregister(NULL) == HCCL_E_PTR);
    CHECK(HcclCommSymWinGet(comm, memory, 8, &found, &offset) == HCCL_E_NOT_FOUND);
    *left = second; // goes with its communicator
    return 0;
}

static int ranges(HcclComm comm)
{
    char *block = NULL;
    CHECK(aclrtMalloc((void **)&block, 8192, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(HcclCommSetMemoryRange(comm, block, 8193, 0, 0) == HCCL_E_PARA);
    SAYS("beyond the end of its block of 8192");
    CHECK(HcclCommSetMemoryRange(comm, block, 4096, 0, 1) == HCCL_E_PARA);
    CHECK(HcclCommSetMemoryRange(comm, block, 4096, 0, 0) == HCCL_SUCCESS);
    CHECK(HcclCommActivateCommMemory(comm, block + 4000, 200, 0, NULL, 0) == HCCL_E_PARA);
    SAYS("are in no range of HcclCommSetMemoryRange");
    CHECK(HcclCommActivateCommMemory(comm, block + 1000, 200, 0, NULL, 0) == HCCL_SUCCESS);
    CHECK(HcclCommUnsetMemoryRange(comm, block) == HCCL_E_PARA);
    SAYS("has memory that is active");
    CHECK(HcclCommDeactivateCommMemory(comm, block) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommDeactivateCommMemory(comm, block + 1000) == HCCL_SUCCESS);
    CHECK(HcclCommUnsetMemoryRange(comm, block) == HCCL_SUCCESS);
    CHECK(HcclCommUnsetMemoryRange(comm, block) == HCCL_E_NOT_FOUND);
    CHECK(aclrtFree(block) == ACL_SUCCESS);
    return 0;
}

static int registered(HcclComm comm, HcclComm other)
{
    uint32_t peers[2] = {1, 0};
    char *memory = NULL;
    void *first = NULL, *second = NULL;
    CHECK(HcommMemAlloc(NULL, 8) == HCCL_E_PTR && HcommMemFree(NULL) == HCCL_E_PTR);
    CHECK(HcommMemAlloc((void **)&memory, 0) == HCCL_E_PARA);
    CHECK(HcommMemAlloc((void **)&memory, SIZE_MAX - 7) == HCCL_E_MEMORY);
    SAYS("no memory for ");
    CHECK(HcommMemAlloc((void **)&memory, 4096) == HCCL_SUCCESS);
    CHECK(HcommMemFree(memory + 1) == HCCL_E_PARA);
    SAYS("no block begins at");
    CHECK(HcclCommRegister(comm, memory, 1024, &first, 1) == HCCL_E_PARA);
    SAYS("flag is 1; it must be 0");
    CHECK(HcclCommRegister(comm, memory, 5000, &first, 0) == HCCL_E_PARA);
    CHECK(HcclCommRegister(comm, memory, 1024, NULL, 0) == HCCL_E_PTR);
    CHECK(HcclCommRegister(comm, memory, 1024, &first, 0) == HCCL_SUCCESS);
    CHECK(HcclCommRegister(comm, memory + 1000, 1024, &second, 0) == HCCL_E_PARA);
    CHECK(HcclCommRegister(other, memory, 4096, &second, 0) == HCCL_SUCCESS);
    CHECK(HcclCommExchangeMem(comm, first, peers, 1) == HCCL_SUCCESS);
    CHECK(HcclCommExchangeMem(comm, first, peers, 2) == HCCL_E_PARA);
    SAYS("peerRanks[1] is 0; there are ranks 0 to 1, and this is 0");
    CHECK(HcclCommExchangeMem(comm, first, peers, 0) == HCCL_E_PARA);
    CHECK(HcclCommExchangeMem(comm, first, NULL, 1) == HCCL_E_PTR);
    CHECK(HcclCommExchangeMem(comm, second, peers, 1) == HCCL_E_NOT_FOUND);
    SAYS("is no handle of HcclCommRegister for this communicator");
    CHECK(HcclCommSymWinDeregister(first) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommDeregister(other, first) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommDeregister(comm, first) == HCCL_SUCCESS);
    CHECK(HcclCommDeregister(comm, first) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommSymWinRegister(comm, memory, 8, &first, HCCL_WIN_COLL_SYMMETRIC + 1) ==
          HCCL_E_PARA);
    SAYS("flag is 2; it must be 0 or 1");
    CHECK(HcclCommSymWinRegister(comm, memory, 8, &first, HCCL_WIN_COLL_SYMMETRIC) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinDeregister(first) == HCCL_SUCCESS);
    CHECK(HcommMemFree(memory) == HCCL_SUCCESS);
    return 0;
}

enum { GRANULE = 2 << 20 };

// As a program does that maps memory for its communicators.
static int mapped(HcclComm comms[2])
{
    const aclrtPhysicalMemProp prop = {.location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    const size_t count = GRANULE / sizeof(float);
    void *base = NULL;
    aclrtDrvMemHandle handles[2];
    aclrtStream streams[2];
    float *data[2];
    CHECK(aclrtReserveMemAddress(&base, 2 * GRANULE, 0, NULL, 1) == ACL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        data[i] = (float *)base + (size_t)i * count;
        CHECK(aclrtCreateStream(&streams[i]) == ACL_SUCCESS);
        CHECK(HcclCommSetMemoryRange(comms[i], base, 2 * GRANULE, 0, 0) == HCCL_SUCCESS);
        CHECK(aclrtMallocPhysical(&handles[i], GRANULE, &prop, 0) == ACL_SUCCESS);
        CHECK(aclrtMapMem(data[i], GRANULE, 0, handles[i], 0) == ACL_SUCCESS);
        CHECK(HcclCommActivateCommMemory(comms[i], data[i], 2 * GRANULE, 0, handles[i], 0) ==
              HCCL_E_PARA);
        SAYS("4194304 bytes of memory that has 2097152");
        CHECK(HcclCommActivateCommMemory(comms[i], data[i], GRANULE, 0, &base, 0) == HCCL_E_PARA);
        SAYS("is no handle of aclrtMallocPhysical");
        CHECK(HcclCommActivateCommMemory(comms[i], data[i], GRANULE, 0, handles[i], 0) ==
              HCCL_SUCCESS);
        for (size_t at = 0; at < count; at++) {
            data[i][at] = (float)(i + 1) * (float)(at % 1000);
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK(HcclAllReduce(data[i], data[i], count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[i],
                            streams[i]) == HCCL_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(aclrtSynchronizeStream(streams[i]) == ACL_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at < count; at++) {
            CHECK(data[i][at] == 3 * (float)(at % 1000));
        }
        CHECK(HcclCommDeactivateCommMemory(comms[i], data[i]) == HCCL_SUCCESS);
        CHECK(aclrtUnmapMem(data[i]) == ACL_SUCCESS &&
              aclrtFreePhysical(handles[i]) == ACL_SUCCESS);
        CHECK(HcclCommUnsetMemoryRange(comms[i], base) == HCCL_SUCCESS);
        CHECK(aclrtDestroyStream(streams[i]) == ACL_SUCCESS);
    }
    CHECK(aclrtReleaseMemAddress(base) == ACL_SUCCESS);
    return 0;
}

static int announce(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comms[2];
    int32_t devices[2] = {0, 1};
    CHECK(HcclCommInitAll(2, devices, comms) == HCCL_SUCCESS);
    HcclCommSymWindow left;
    CHECK(windows(comms[0], comms[1], &left) == 0);
    CHECK(ranges(comms[1]) == 0);
    CHECK(mapped(comms) == 0);
    CHECK(registered(comms[0], comms[1]) == 0);
    CHECK(HcclCommDestroy(comms[0]) == HCCL_SUCCESS && HcclCommDestroy(comms[1]) == HCCL_SUCCESS);
    CHECK(HcclCommSymWinDeregister(left) == HCCL_E_NOT_FOUND);
    CHECK(HcclCommUnsetMemoryRange(comms[0], &comms) != HCCL_SUCCESS);
    return 0;
}

static void what_is_announced_is_found_and_checked(void **state)
{
    assert_true(ranks_run(1, announce, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_announced_is_found_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
