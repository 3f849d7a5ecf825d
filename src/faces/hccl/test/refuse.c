// SPDX-License-Identifier: Apache-2.0
// What calls of HCCL refuse at once, with result and sentence: arguments, configs, names, states.
// Results that only a run can have are in failures.c.
#include "faces/hccl/test/kit.h"

#include <sys/resource.h>
#include <sys/wait.h>

static const HcclDataType f32 = HCCL_DATA_TYPE_FP32;
static const HcclReduceOp add = HCCL_REDUCE_SUM;

// The result and a sentence that has the words, which HcclGetErrorString tells as well.
static bool refused(HcclResult result, HcclResult wanted, const char *words)
{
    if (result == wanted && look_says(words) &&
        strstr(HcclGetErrorString(result), tern_last_error()) != NULL) {
        return true;
    }
    fprintf(stderr, "result %d, not %d with '%s': %s\n", (int)result, (int)wanted, words,
            tern_last_error());
    return false;
}

static int refuse_arguments(HcclComm comm, void *arg)
{
    float a[16], b[16];
    aclrtStream s;
    CHECK(aclrtCreateStream(&s) == 0);
    CHECK(refused(HcclAllReduce(a, b, 1, f32, add, NULL, s), HCCL_E_PTR,
                  "HcclAllReduce: comm is NULL"));
    CHECK(refused(HcclAllReduce(a, b, 1, f32, add, a, s), HCCL_E_PARA, "HcclAllReduce: "));
    CHECK(refused(HcclAllReduce(NULL, b, 1, f32, add, comm, s), HCCL_E_PTR, "sendBuf is NULL"));
    CHECK(refused(HcclAllReduce(a, NULL, 1, f32, add, comm, s), HCCL_E_PTR, "recvBuf is NULL"));
    CHECK(refused(HcclAllReduce(a, a + 1, 4, f32, add, comm, s), HCCL_E_PARA, "overlap"));
    CHECK(refused(HcclAllReduce(a, b, UINT64_MAX / 4, f32, add, comm, s), HCCL_E_PARA, "bytes"));
    CHECK(refused(HcclAllReduce(a, b, 1, f32, HCCL_REDUCE_RESERVED, comm, s), HCCL_E_PARA, "255"));
    CHECK(refused(HcclAllReduce(a, b, 1, HCCL_DATA_TYPE_INT128, add, comm, s), HCCL_E_NOT_SUPPORT,
                  "INT128"));
    CHECK(refused(HcclBroadcast(a, 1, (HcclDataType)13, 0, comm, s), HCCL_E_NOT_SUPPORT,
                  "data type 13"));
    const uint64_t one = 1, none = 0;
    CHECK(refused(HcclReduceScatterV(a, &one, &none, b, 1, HCCL_DATA_TYPE_HIF8, add, comm, s),
                  HCCL_E_NOT_SUPPORT,
                  "HcclReduceScatterV: data type 14 is moved, and not reduced"));
    CHECK(refused(HcclReduce(a, b, 1, HCCL_DATA_TYPE_FP8E8M0, add, 0, comm, s), HCCL_E_NOT_SUPPORT,
                  "data type 17 is moved, and not reduced"));
    CHECK(refused(HcclBroadcast(a, 1, (HcclDataType)18, 0, comm, s), HCCL_E_NOT_SUPPORT,
                  "data type 18"));
    CHECK(refused(HcclAllGather(a, b, 1, (HcclDataType)-1, comm, s), HCCL_E_NOT_SUPPORT, "-1"));
    CHECK(refused(HcclBroadcast(a, 1, f32, 1, comm, s), HCCL_E_PARA, "root is 1"));
    CHECK(refused(HcclScatter(a, b, 1, f32, UINT32_MAX, comm, s), HCCL_E_PARA, "root"));
    CHECK(refused(HcclReduce(a, NULL, 1, f32, add, 0, comm, s), HCCL_E_PTR, "HcclReduce: "));
    CHECK(refused(HcclReduceScatter(a, NULL, 1, f32, add, comm, s), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclBarrier(NULL, s), HCCL_E_PTR, "HcclBarrier: "));
    CHECK(refused(HcclBarrier(comm, a), HCCL_E_PARA, "stream"));
    CHECK(refused(HcclAlltoAll(a, 1, f32, b, 2, f32, comm, s), HCCL_E_PARA, "recvCount is 2"));
    CHECK(refused(HcclAlltoAll(a, 1, f32, b, 1, HCCL_DATA_TYPE_INT8, comm, s), HCCL_E_PARA,
                  "recvType is 0"));
    CHECK(refused(HcclSend(a, 1, f32, 0, comm, s), HCCL_E_PARA, "rank 0 is this rank itself"));
    CHECK(refused(HcclRecv(a, 1, f32, 1, comm, s), HCCL_E_PARA, "the other rank is 1"));
    CHECK(refused(HcclRecv(a, UINT64_MAX / 4, f32, 0, comm, s), HCCL_E_PARA, "elements"));
    CHECK(aclrtSynchronizeStream(s) == 0); // nothing was made
    HcclResult async;
    CHECK(HcclGetCommAsyncError(comm, &async) == HCCL_SUCCESS && async == HCCL_SUCCESS);
    CHECK(aclrtDestroyStream(s) == 0);
    return 0;
}

static int refuse_shares(HcclComm comm, void *arg)
{
    float a[16], b[16];
    uint64_t one = 1, two = 2, none = 0, huge = UINT64_MAX;
    CHECK(refused(HcclAllGatherV(a, 1, b, NULL, &none, f32, comm, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclAllGatherV(a, 1, b, &two, &none, f32, comm, NULL), HCCL_E_PARA,
                  "sendCount is 1, but the array says 2"));
    CHECK(refused(HcclAllGatherV(NULL, 1, b, &one, &none, f32, comm, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclReduceScatterV(a, &one, &none, b, 2, f32, add, comm, NULL), HCCL_E_PARA,
                  "recvCount is 2"));
    CHECK(refused(HcclReduceScatterV(a, &one, &none, b, 1, f32, (HcclReduceOp)4, comm, NULL),
                  HCCL_E_PARA, "operation 4"));
    CHECK(refused(HcclReduceScatterV(a, &one, NULL, b, 1, f32, add, comm, NULL), HCCL_E_PTR,
                  "HcclReduceScatterV: "));
    CHECK(refused(HcclReduceScatterV(a, &one, &huge, b, 1, f32, add, comm, NULL), HCCL_E_PARA,
                  "bytes"));
    CHECK(refused(HcclAlltoAllV(a, &one, &none, f32, b, &one, NULL, f32, comm, NULL), HCCL_E_PTR,
                  "NULL"));
    CHECK(refused(HcclAlltoAllV(a, &one, &none, f32, b, &one, &none, HCCL_DATA_TYPE_BFP16, comm,
                                NULL),
                  HCCL_E_PARA, "must be the same"));
    CHECK(refused(HcclAlltoAllV(a, &one, &none, f32, a, &one, &none, f32, comm, NULL), HCCL_E_PARA,
                  "overlap"));
    CHECK(refused(HcclAlltoAllVC(a, NULL, f32, b, f32, comm, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclAlltoAllVC(a, &huge, f32, b, f32, comm, NULL), HCCL_E_PARA, "bytes"));
    CHECK(refused(HcclAlltoAllVC(a, &one, f32, b, f32, NULL, NULL), HCCL_E_PTR, "NULL"));
    HcclSendRecvItem items[2] = {{HCCL_SEND, a, 1, f32, 0}, {(HcclSendRecvType)2, b, 1, f32, 0}};
    CHECK(refused(HcclBatchSendRecv(NULL, 1, comm, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclBatchSendRecv(items, 0, comm, NULL), HCCL_E_PARA, "itemNum"));
    CHECK(refused(HcclBatchSendRecv(items, 2, comm, NULL), HCCL_E_PARA, "sendRecvType is 2"));
    items[1].sendRecvType = HCCL_RECV;
    items[1].buf = NULL;
    CHECK(refused(HcclBatchSendRecv(items, 2, comm, NULL), HCCL_E_PTR, "HcclBatchSendRecv: "));
    items[1].remoteRank = 9;
    CHECK(refused(HcclBatchSendRecv(items, 2, comm, NULL), HCCL_E_PARA, "rank is 9"));
    return 0;
}

// What a block of aclrtMalloc is too short for; also where that makes two blocks overlap.
static int refuse_what_sticks_out(HcclComm comm, void *arg)
{
    static const char wanted[] = "504 beyond the end of its block of 4096";
    static float host[2048];
    void *block;
    void *other;
    CHECK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    CHECK(aclrtMalloc(&other, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    CHECK(refused(HcclAllReduce(block, host, 1150, f32, add, comm, NULL), HCCL_E_PARA, wanted));
    CHECK(look_says("HcclAllReduce: sendBuf is 4600 bytes at "));
    CHECK(refused(HcclAllReduce(host, block, 1150, f32, add, comm, NULL), HCCL_E_PARA, wanted));
    CHECK(look_says("recvBuf is"));
    CHECK(refused(HcclAllReduce(block, other, 1 << 20, f32, add, comm, NULL), HCCL_E_PARA,
                  "beyond the end of its block of 4096"));
    CHECK(
        refused(HcclBroadcast((char *)block + 504, 1024, f32, 0, comm, NULL), HCCL_E_PARA, wanted));
    CHECK(HcclAllReduce(block, other, 1024, f32, add, comm, NULL) == HCCL_SUCCESS);
    CHECK(aclrtFree(block) == 0 && aclrtFree(other) == 0);
    return 0;
}

static int refuse_states(HcclComm comm, void *arg)
{
    float a[16];
    char name[COMM_NAME_MAX_LENGTH];
    HcclCommStatus status;
    HcclComm found = NULL;
    HcclConfigValue value = {.value = 3};
    uint32_t ranks[1] = {1};
    bool backup[1] = {false};
    CHECK(HcclGetCommName(comm, name) == HCCL_SUCCESS);
    CHECK(HcclCommSuspend(comm) == HCCL_SUCCESS);
    CHECK(refused(HcclBarrier(comm, NULL), HCCL_E_SUSPENDING, "HcclCommResume"));
    CHECK(refused(HcclBroadcast(a, 1, f32, 0, comm, NULL), HCCL_E_SUSPENDING, name));
    CHECK(HcclCommGetStatus(name, &status) == 0 && status == HCCL_COMM_STATUS_SUSPENDING);
    CHECK(HcclCommResume(comm) == HCCL_SUCCESS);
    CHECK(HcclCommGetStatus(name, &status) == 0 && status == HCCL_COMM_STATUS_READY);
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(refused(HcclCommGetStatus("nobody", &status), HCCL_E_NOT_FOUND, "nobody"));
    CHECK(status == HCCL_COMM_STATUS_INVALID);
    CHECK(HcclCommGetHandleWithName(name, &found) == HCCL_SUCCESS && found == comm);
    CHECK(refused(HcclCommGetHandleWithName("nobody", &found), HCCL_E_NOT_FOUND, "nobody"));
    CHECK(refused(HcclCommGetHandleWithName(NULL, &found), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclGroupEnd(), HCCL_E_UNAVAIL, "HcclGroupStart"));
    CHECK(refused(HcclGroupStatusGet(NULL), HCCL_E_PTR, "isGroupEnabled is NULL"));
    CHECK(refused(HcclSetConfig(HCCL_DETERMINISTIC, value), HCCL_E_PARA, "cannot be 3"));
    for (value.value = 2; value.value > 0; value.value--) {
        HcclConfigValue read = {.value = -1};
        CHECK(HcclSetConfig(HCCL_DETERMINISTIC, value) == HCCL_SUCCESS);
        CHECK(HcclGetConfig(HCCL_DETERMINISTIC, &read) == HCCL_SUCCESS);
        CHECK(read.value == value.value);
    }
    CHECK(refused(HcclSetConfig((HcclConfig)1, value), HCCL_E_PARA, "config is 1"));
    CHECK(refused(HcclGetConfig((HcclConfig)1, &value), HCCL_E_PARA, "config is 1"));
    CHECK(refused(HcclGetConfig(HCCL_DETERMINISTIC, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclGetCommAsyncError(comm, NULL), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclCommWorkingDevNicSet(comm, ranks, backup, 1), HCCL_E_PARA, "ranks[0] is 1"));
    ranks[0] = 0;
    CHECK(HcclCommWorkingDevNicSet(comm, ranks, backup, 1) == HCCL_SUCCESS);
    backup[0] = true;
    CHECK(refused(HcclCommWorkingDevNicSet(comm, ranks, backup, 1), HCCL_E_NOT_SUPPORT, "card"));
    CHECK(refused(HcclCommDestroy(NULL), HCCL_E_PTR, "HcclCommDestroy"));
    tern_window *window = NULL; // something that HCCL did not make
    CHECK(tern_window_create(((struct hccl *)comm)->comm, 4096, NULL, &window) == TERN_OK);
    CHECK(refused(HcclCommDestroy(comm), HCCL_E_UNAVAIL, "window"));
    CHECK(tern_window_destroy(window) == TERN_OK && HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    pid_t child = fork();
    if (child == 0) { // of a rank is no rank
        _exit(refused(HcclBarrier(comm, NULL), HCCL_E_UNAVAIL, "fork") ? 0 : 1);
    }
    int ended;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    return 0;
}

static int refuse_parts(HcclComm comm, void *arg)
{
    uint32_t good[1] = {0}, bad[2] = {0, 0};
    HcclComm part = comm, other = NULL;
    CHECK(HcclCreateSubCommConfig(&comm, 0, NULL, 1, 0, NULL, &part) == HCCL_SUCCESS);
    CHECK(part == NULL);
    CHECK(refused(HcclCreateSubCommConfig(NULL, 1, good, 1, 0, NULL, &part), HCCL_E_PTR, "NULL"));
    CHECK(refused(HcclCreateSubCommConfig(&comm, 1, NULL, 1, 0, NULL, &part), HCCL_E_PARA,
                  "rankNum is 1"));
    CHECK(refused(HcclCreateSubCommConfig(&comm, 2, bad, 1, 0, NULL, &part), HCCL_E_PARA,
                  "rankNum is 2"));
    bad[0] = 5;
    CHECK(refused(HcclCreateSubCommConfig(&comm, 1, bad, 1, 0, NULL, &part), HCCL_E_PARA,
                  "rankIds[0] is 5"));
    CHECK(refused(HcclCreateSubCommConfig(&comm, 1, good, 1, 1, NULL, &part), HCCL_E_PARA,
                  "subCommRankId is 1"));
    CHECK(HcclCreateSubCommConfig(&comm, 1, good, 1, 0, NULL, &part) == HCCL_SUCCESS);
    CHECK(refused(HcclCreateSubCommConfig(&comm, 1, good, 1, 0, NULL, &other), HCCL_E_PARA,
                  "subCommId 1"));
    CHECK(HcclCreateSubCommConfig(&comm, 1, good, 2, 0, NULL, &other) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(part) == HCCL_SUCCESS);
    CHECK(HcclCreateSubCommConfig(&other, 1, good, 1, 0, NULL, &part) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(part) == HCCL_SUCCESS && HcclCommDestroy(other) == HCCL_SUCCESS);
    return 0;
}

// The memory of a process is limited: there is none for a batch of a million items.
static int refuse_memory(HcclComm comm, void *arg)
{
    enum { ITEMS = 1000000 };
    HcclSendRecvItem *items = calloc(ITEMS, sizeof *items);
    struct rlimit limit = {.rlim_cur = ((rlim_t)look_kib("VmSize:") << 10) + (32 << 20)};
    limit.rlim_max = limit.rlim_cur;
    if (SANITIZED != 0) { // has addresses reserved
        free(items);
        return 0;
    }
    bool limited = items != NULL && setrlimit(RLIMIT_AS, &limit) == 0;
    bool told =
        limited && refused(HcclBatchSendRecv(items, ITEMS, comm, NULL), HCCL_E_MEMORY, "no memory");
    free(items);
    CHECK(told);
    return 0;
}

static void what_a_rank_can_see_alone_is_refused_at_once(void **state)
{
    assert_true(hccl_run(1, refuse_arguments, NULL, 60));
    assert_true(hccl_run(1, refuse_what_sticks_out, NULL, 60));
    assert_true(hccl_run(1, refuse_shares, NULL, 60));
    assert_true(hccl_run(1, refuse_states, NULL, 60));
    assert_true(hccl_run(1, refuse_parts, NULL, 60));
    assert_true(hccl_run(1, refuse_memory, NULL, 60));
}

static HcclResult join_with(const HcclCommConfig *config, HcclComm *comm)
{
    HcclRootInfo info;
    HcclResult result = HcclGetRootInfo(&info);
    return result != HCCL_SUCCESS ? result : HcclCommInitRootInfoConfig(1, &info, 0, config, comm);
}

// A config of another version: its size and version.
static void set_version(HcclCommConfig *config, size_t size, uint32_t version)
{
    memcpy(config->reserved, &size, sizeof size);
    memcpy(config->reserved + 12, &version, sizeof version);
}

static void configs_are_read_by_size_and_version(void **state)
{
    HcclCommConfig config;
    HcclComm comm = NULL, other = NULL;
    HcclCommConfigInit(NULL);
    memset(&config, 0, sizeof config);
    assert_true(refused(join_with(NULL, &comm), HCCL_E_PTR, "NULL"));
    assert_true(refused(join_with(&config, &comm), HCCL_E_PARA, "HcclCommConfigInit"));
    HcclCommConfigInit(&config);
    static const struct {
        size_t size;
        uint32_t version;
        bool right;
    } versions[] = {{32, 1, true},
                    {300, 5, true},
                    {304, 5, true},
                    {299, 5, false},
                    {31, 1, false},
                    {0, 11, false},
                    {300, 11, false},
                    {sizeof config, 0, false},
                    {sizeof config, 11, true},
                    {sizeof config + 8, 12, true},
                    {SIZE_MAX, 11, false},
                    {2000, 9, true}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char room[sizeof config + 16];
        set_version(&config, versions[i].size, versions[i].version);
        memset(room, 0xee, sizeof room);
        size_t bytes = versions[i].size < sizeof config ? versions[i].size : sizeof config;
        memcpy(room, &config, bytes < 24 ? 24 : bytes);
        HcclResult result = join_with((const HcclCommConfig *)(const void *)room, &comm);
        assert_true(versions[i].right
                        ? result == HCCL_SUCCESS
                        : refused(result, HCCL_E_PARA,
                                  versions[i].version == 0 ? "versions begin with 1" : "to 65536"));
        assert_true(!versions[i].right || HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
    HcclCommConfigInit(&config);
    config.hcclDeterministic = 3;
    assert_true(refused(join_with(&config, &comm), HCCL_E_PARA, "hcclDeterministic is 3"));
    config.hcclDeterministic = 2;
    config.hcclBufferSize = 0;
    assert_true(refused(join_with(&config, &comm), HCCL_E_PARA, "hcclBufferSize"));
    config.hcclBufferSize = 1u << 30; // a pebibyte
    assert_int_equal(join_with(&config, &comm), HCCL_SUCCESS);
    void *context = NULL;
    assert_true(refused(HcclAllocComResourceByTiling(comm, NULL, NULL, &context), HCCL_E_OOM,
                        "HcclAllocComResourceByTiling: tern_window_create"));
    assert_int_equal(HcclBarrier(comm, NULL), HCCL_SUCCESS);
    assert_int_equal(HcclCommDestroy(comm), HCCL_SUCCESS);
    config.hcclBufferSize = 3;
    config.hcclExecTimeOut = -2;
    assert_true(refused(join_with(&config, &comm), HCCL_E_PARA, "hcclExecTimeOut"));
    config.hcclExecTimeOut = 0;
    memset(config.hcclCommName, 'x', sizeof config.hcclCommName);
    assert_true(refused(join_with(&config, &comm), HCCL_E_PARA, "hcclCommName"));
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "mine");
    assert_int_equal(join_with(&config, &comm), HCCL_SUCCESS);
    assert_true(refused(join_with(&config, &other), HCCL_E_PARA, "'mine'"));
    assert_int_equal(HcclAllocComResourceByTiling(comm, NULL, NULL, &context), HCCL_SUCCESS);
    const struct hccl *inside = comm;
    assert_int_equal(tern_window_size(inside->window), 3 << 20);
    assert_int_equal(HcclBarrier(comm, NULL), HCCL_SUCCESS);
    assert_int_equal(HcclCommDestroy(comm), HCCL_SUCCESS);
    assert_int_equal(HcclGetCommConfigCapability(), HCCL_COMM_CONFIG_RESERVED);
}

// hcclExecTimeOut belongs to version 8: what lies there before is padding.
static void configs_have_the_fields_of_their_versions(void **state)
{
    static const struct {
        size_t size;
        uint32_t version;
        bool has;
    } versions[] = {{sizeof(HcclCommConfig), 5, false},
                    {sizeof(HcclCommConfig), 6, false},
                    {320, 7, false},
                    {sizeof(HcclCommConfig), 7, false},
                    {316, 8, false},
                    {2104, 8, true},
                    {2232, 9, true},
                    {sizeof(HcclCommConfig), 10, true},
                    {sizeof(HcclCommConfig), 11, true}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        HcclCommConfig config;
        HcclComm comm = NULL;
        HcclCommConfigInit(&config);
        set_version(&config, versions[i].size, versions[i].version);
        config.hcclExecTimeOut = -7;
        HcclResult result = join_with(&config, &comm);
        assert_true(versions[i].has ? refused(result, HCCL_E_PARA, "hcclExecTimeOut is -7")
                                    : result == HCCL_SUCCESS);
        assert_true(versions[i].has || HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
}

static void bad_root_infos_are_refused(void **state)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    assert_true(refused(HcclGetRootInfo(NULL), HCCL_E_PTR, "HcclGetRootInfo"));
    assert_int_equal(HcclGetRootInfo(&info), HCCL_SUCCESS);
    assert_true(refused(HcclCommInitRootInfo(1, &info, 0, NULL), HCCL_E_PTR, "NULL"));
    assert_true(refused(HcclCommInitRootInfo(0, &info, 0, &comm), HCCL_E_PARA, "rank 0 of 0"));
    assert_true(refused(HcclCommInitRootInfo(2, &info, 2, &comm), HCCL_E_PARA, "rank 2 of 2"));
    assert_true(refused(HcclCommInitRootInfo(65, &info, 0, &comm), HCCL_E_PARA, "1 to 64 ranks"));
    char *boot_id = info.internal + sizeof info.internal - 128; // as of another machine
    boot_id[0] = (char)(boot_id[0] == 'f' ? 'e' : 'f');
    snprintf(boot_id + 64, 64, "elsewhere");
    assert_true(
        refused(HcclCommInitRootInfo(2, &info, 1, &comm), HCCL_E_NOT_SUPPORT,
                "this root info was made on machine 'elsewhere' for ranks there, and this is '"));
    memset(&info, 'x', sizeof info);
    assert_true(refused(HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_PARA, "root info"));
    memset(&info, 0, sizeof info);
    assert_true(refused(HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_PARA, "root info"));
    snprintf(info.internal, sizeof info.internal, "tern:/nonexistent-folder/x");
    assert_true(refused(HcclCommInitRootInfo(2, &info, 0, &comm), HCCL_E_PARA, "nonexistent"));
}

static int without_descriptors(int rank, const struct ranks *ranks, void *arg)
{
    struct hccl_ranks *job = arg;
    HcclComm comm = NULL;
    int next = dup(0); // for the folder; there is none for a socket
    struct rlimit one_more = {(rlim_t)next + 1, (rlim_t)next + 1};
    CHECK(next >= 0 && close(next) == 0 && setrlimit(RLIMIT_NOFILE, &one_more) == 0);
    CHECK(refused(HcclCommInitRootInfo(1, hccl_info(rank, job), 0, &comm), HCCL_E_SYSCALL,
                  "open files"));
    return 0;
}

static void a_system_call_that_fails_is_told(void **state)
{
    struct hccl_ranks job = {.count = 1};
    assert_true(hccl_prepare(&job));
    assert_true(ranks_run(1, without_descriptors, &job, 60));
}

// Of three, two say that they are rank 1: one of them is refused, the other waits for rank 2.
static int same_rank(int rank, const struct ranks *ranks, void *arg)
{
    const struct hccl_ranks *job = arg;
    HcclComm comm = NULL;
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "2", 1) == 0);
    HcclResult result = HcclCommInitRootInfo(3, hccl_info(rank, job), rank == 0 ? 0 : 1, &comm);
    if (rank > 0 && result == HCCL_E_TCP_CONNECT) {
        return refused(result, HCCL_E_TCP_CONNECT, "rank 1") ? 2 : 1;
    }
    CHECK(refused(result, HCCL_E_TIMEOUT, "rank 2"));
    return 0;
}

static void of_two_with_one_rank_one_is_refused(void **state)
{
    struct hccl_ranks job = {.count = 3};
    struct ranks ranks;
    assert_true(hccl_prepare(&job));
    ranks_begin(&ranks, 3, same_rank, &job);
    assert_true(ranks_wait(&ranks, 90));
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(WEXITSTATUS(ranks.statuses[1]) + WEXITSTATUS(ranks.statuses[2]), 2);
    assert_int_not_equal(WEXITSTATUS(ranks.statuses[1]), 1);
    ranks_end(&ranks);
}

static void every_result_has_a_text(void **state)
{
    HcclComm comm = NULL;
    assert_int_equal(HcclGetRootInfo(NULL), HCCL_E_PTR);
    assert_int_equal(tern_comm_barrier(NULL), TERN_ERR_ARG); // another sentence
    assert_non_null(strstr(HcclGetErrorString(HCCL_E_PTR), "HcclGetRootInfo: "));
    assert_int_equal(HcclCommGetHandleWithName("nobody", &comm), HCCL_E_NOT_FOUND);
    assert_null(strstr(HcclGetErrorString(HCCL_E_PTR), "HcclGetRootInfo: "));
    for (int i = 0; i <= HCCL_E_OOM; i++) {
        assert_non_null(strstr(HcclGetErrorString((HcclResult)i), "HCCL_"));
    }
    assert_non_null(strstr(HcclGetErrorString(HCCL_E_IN_STATUS), "HCCL_E_IN_STATUS"));
    assert_non_null(strstr(HcclGetErrorString((HcclResult)500), "500 is no result"));
    assert_non_null(strstr(HcclGetErrorString((HcclResult)-1), "-1 is no result"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_rank_can_see_alone_is_refused_at_once),
        cmocka_unit_test(configs_are_read_by_size_and_version),
        cmocka_unit_test(configs_have_the_fields_of_their_versions),
        cmocka_unit_test(bad_root_infos_are_refused),
        cmocka_unit_test(a_system_call_that_fails_is_told),
        cmocka_unit_test(of_two_with_one_rank_one_is_refused),
        cmocka_unit_test(every_result_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
