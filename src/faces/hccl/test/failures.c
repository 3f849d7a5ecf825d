// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2
// Calls of HCCL that fail while they run: a rank that is killed, ranks that disagree, a stream that
// has failed, a rank that does not come. The error is told at the synchronisation and by
// HcclGetCommAsyncError, with a sentence, on every rank.
#include "faces/hccl/test/kit.h"

#include <signal.h>
#include <sys/wait.h>

enum { N = 100 };

static float values[N];

static HcclResult sum(HcclComm comm, aclrtStream stream)
{
    return HcclAllReduce(values, values, N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
}

// The stream fails; the communicator tells the result and the words, again and again; and later
// calls fail too.
static int fails(HcclComm comm, aclrtStream stream, HcclResult wanted, const char *words)
{
    HcclResult async = HCCL_SUCCESS;
    HcclCommStatus status = HCCL_COMM_STATUS_READY;
    char name[COMM_NAME_MAX_LENGTH];
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK(look_says(words));
    CHECK(HcclGetCommAsyncError(comm, &async) == HCCL_SUCCESS && async == wanted);
    CHECK(look_says(words));
    CHECK(strstr(HcclGetErrorString(async), words) != NULL);
    CHECK(HcclGetCommName(comm, name) == HCCL_SUCCESS);
    CHECK(HcclCommGetStatus(name, &status) == HCCL_SUCCESS);
    CHECK(status == HCCL_COMM_STATUS_INVALID);
    CHECK(sum(comm, stream) == HCCL_SUCCESS);
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK(sum(comm, NULL) == wanted);
    return 0;
}

// With a stream for the body.
struct with_stream {
    int (*body)(HcclComm comm, aclrtStream stream);
};

static int run_with_stream(HcclComm comm, void *arg)
{
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(((struct with_stream *)arg)->body(comm, stream) == 0);
    CHECK(aclrtDestroyStream(stream) == 0);
    return 0;
}

static bool run(int n, int (*body)(HcclComm comm, aclrtStream stream))
{
    return hccl_run(n, run_with_stream, &(struct with_stream){body}, 60);
}

static int differ_in_count(HcclComm comm, aclrtStream stream)
{
    uint64_t count = hccl_rank_of(comm) == 1 ? N - 1 : N;
    CHECK(HcclAllReduce(values, values, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                        stream) == HCCL_SUCCESS);
    return fails(comm, stream, HCCL_E_PARA, "rank 1");
}

static int differ_in_kind(HcclComm comm, aclrtStream stream)
{
    if (hccl_rank_of(comm) == 2) {
        CHECK(HcclBarrier(comm, stream) == HCCL_SUCCESS);
    } else {
        CHECK(sum(comm, stream) == HCCL_SUCCESS);
    }
    return fails(comm, stream, HCCL_E_PARA, "rank 2");
}

static void ranks_that_disagree_are_told(void **state)
{
    assert_true(run(2, differ_in_count));
    assert_true(run(3, differ_in_kind));
}

static int break_stream(void *args)
{
    return tern_stream_sync(args, 0);
}

static int one_stream_has_failed(HcclComm comm, aclrtStream stream)
{
    if (hccl_rank_of(comm) == 0) {
        tern_stream_kernel kernel = {.kernel = break_stream, .name = "breaks", .blocks = 1};
        CHECK(tern_stream_launch(stream, &kernel) == TERN_OK);
        CHECK(sum(comm, stream) == HCCL_SUCCESS);
        CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
        CHECK(look_says("kernel 'breaks'"));
        CHECK(sum(comm, stream) == HCCL_SUCCESS);
    } else {
        CHECK(sum(comm, stream) == HCCL_SUCCESS);
    }
    return fails(comm, stream, HCCL_E_RUNTIME,
                 "rank 0 did not make its HcclAllReduce, because its stream had failed: kernel "
                 "'breaks'");
}

static void a_call_that_is_dropped_is_told_to_the_others(void **state)
{
    assert_true(run(3, one_stream_has_failed));
}

static int one_is_killed(int rank, const struct ranks *ranks, void *arg)
{
    struct hccl_ranks *job = arg;
    HcclComm comm = NULL;
    aclrtStream stream;
    HcclResult async = HCCL_SUCCESS;
    CHECK(HcclCommInitRootInfo(3, hccl_info(rank, job), (uint32_t)rank, &comm) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(sum(comm, stream) == HCCL_SUCCESS && aclrtSynchronizeStream(stream) == 0);
    if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
    CHECK(sum(comm, stream) == HCCL_SUCCESS);
    if (rank == 2) { // nobody synchronises: it is found all the same
        while (HcclGetCommAsyncError(comm, &async) == HCCL_SUCCESS && async == HCCL_SUCCESS) {
            usleep(1000);
        }
        CHECK(async == HCCL_E_REMOTE && look_says("rank 1"));
    }
    CHECK(fails(comm, stream, HCCL_E_REMOTE, "rank 1") == 0);
    CHECK(aclrtDestroyStream(stream) == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void a_rank_that_dies_is_named(void **state)
{
    struct hccl_ranks job = {.count = 3};
    struct ranks ranks;
    assert_true(hccl_prepare(&job));
    ranks_begin(&ranks, 3, one_is_killed, &job);
    assert_true(ranks_wait(&ranks, 60));
    assert_int_equal(ranks.statuses[0], 0);
    assert_true(WIFSIGNALED(ranks.statuses[1]));
    assert_int_equal(ranks.statuses[2], 0);
    assert_true(ranks_end(&ranks));
}

// Rank 1 makes no call: the config of the others says how long they wait.
static int one_does_not_come(int rank, const struct ranks *ranks, void *arg)
{
    struct hccl_ranks *job = arg;
    HcclComm comm = NULL;
    aclrtStream stream;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclExecTimeOut = rank == 1 ? 0 : 2;
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "waiters");
    CHECK(HcclCommInitRootInfoConfig(3, hccl_info(rank, job), (uint32_t)rank, &config, &comm) ==
          HCCL_SUCCESS);
    CHECK(HcclCommGetHandleWithName("waiters", &comm) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == 0);
    if (rank == 1) {
        HcclResult async = HCCL_SUCCESS;
        while (HcclGetCommAsyncError(comm, &async) == HCCL_SUCCESS && async == HCCL_SUCCESS) {
            usleep(1000);
        }
        CHECK(async == HCCL_E_TIMEOUT);
    } else {
        CHECK(sum(comm, stream) == HCCL_SUCCESS);
        CHECK(fails(comm, stream, HCCL_E_TIMEOUT, "rank 1") == 0);
    }
    CHECK(aclrtDestroyStream(stream) == 0);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void a_rank_that_does_not_come_is_named(void **state)
{
    struct hccl_ranks job = {.count = 3};
    assert_true(hccl_prepare(&job));
    assert_true(ranks_run(3, one_does_not_come, &job, 60));
}

// The members of a part have different lists, so two of them wait for the third; on several
// machines they meet, and that is told.
static int one_has_another_list(HcclComm comm, void *arg)
{
    uint32_t rank = (uint32_t)hccl_rank_of(comm);
    uint32_t list[3] = {0, 1, 2}, other[3] = {0, 2, 1};
    HcclComm part = NULL;
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "1", 1) == 0);
    HcclResult result =
        HcclCreateSubCommConfig(&comm, 3, rank == 0 ? other : list, 4, rank, NULL, &part);
    bool across = getenv("TERN_TEST_MACHINES") != NULL;
    CHECK(result == (across ? HCCL_E_PARA : HCCL_E_TIMEOUT) && part == NULL);
    CHECK(rank == 2 || look_says("rank"));
    return 0;
}

static void parts_with_different_lists_are_told(void **state)
{
    assert_true(hccl_run(3, one_has_another_list, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_disagree_are_told),
        cmocka_unit_test(a_call_that_is_dropped_is_told_to_the_others),
        cmocka_unit_test(a_rank_that_dies_is_named),
        cmocka_unit_test(a_rank_that_does_not_come_is_named),
        cmocka_unit_test(parts_with_different_lists_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
