// SPDX-License-Identifier: Apache-2.0
// Calls of HCCL from several threads: each with a communicator of its own, all with one that has
// one rank; and messages without a batch.
#include "faces/hccl/test/kit.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, N = 200, ROUNDS = 100 };

struct part {
    HcclComm comm;
    int number;
    int wrong;
};

// Sums, each on the result of the one before, waited for now and then.
static int sum_up(const struct part *part)
{
    int64_t values[N], factor = 1;
    int64_t n = hccl_size_of(part->comm);
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream) == 0);
    for (int i = 0; i < N; i++) {
        values[i] = part->number + i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        HcclReduceOp op = round % 5 == 0 ? HCCL_REDUCE_SUM : HCCL_REDUCE_MAX;
        factor *= round % 5 == 0 ? n : 1;
        CHECK(HcclAllReduce(values, values, N, HCCL_DATA_TYPE_INT64, op, part->comm, stream) ==
              HCCL_SUCCESS);
        if (round % 7 == part->number) {
            CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
        }
    }
    CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    for (int i = 0; i < N; i++) {
        CHECK(values[i] == (part->number + i) * factor);
    }
    CHECK(aclrtDestroyStream(stream) == 0);
    return 0;
}

static void *run_part(void *arg)
{
    struct part *part = arg;
    part->wrong = sum_up(part);
    return NULL;
}

static int run_threads(struct part *parts)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        parts[i].number = i;
        parts[i].wrong = 1;
        CHECK(pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(parts[i].wrong == 0);
    }
    return 0;
}

static int own_communicators(HcclComm comm, void *arg)
{
    struct part parts[THREADS];
    uint32_t list[TERN_RANKS_MAX];
    uint32_t n = (uint32_t)hccl_size_of(comm), rank = (uint32_t)hccl_rank_of(comm);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i;
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        CHECK(HcclCreateSubCommConfig(&comm, n, list, i, rank, NULL, &parts[i].comm) ==
              HCCL_SUCCESS);
    }
    CHECK(run_threads(parts) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(HcclCommDestroy(parts[i].comm) == HCCL_SUCCESS);
    }
    return 0;
}

// Call k copies row k to row k + 1, whichever thread and stream it is made by.
static struct {
    pthread_mutex_t lock;
    HcclComm comm;
    const int *closed;
    _Atomic int made;
    int32_t rows[THREADS * ROUNDS + 1][N];
} chain = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The stream of one thread begins when all calls have been made.
static int wait_for_calls(void *args)
{
    (void)args;
    while (chain.made < THREADS * ROUNDS) {
        sched_yield();
    }
    return TERN_OK;
}

static void *run_link(void *arg)
{
    int *wrong = arg;
    aclrtStream stream;
    *wrong += aclrtCreateStream(&stream) != 0;
    if (wrong == chain.closed) {
        *wrong += tern_stream_call(stream, &(tern_stream_host_call){.function = wait_for_calls});
    }
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&chain.lock);
        int k = chain.made++;
        *wrong += HcclAllReduce(chain.rows[k], chain.rows[k + 1], N, HCCL_DATA_TYPE_INT32,
                                HCCL_REDUCE_SUM, chain.comm, stream) != HCCL_SUCCESS;
        pthread_mutex_unlock(&chain.lock);
    }
    *wrong += aclrtSynchronizeStream(stream) != 0;
    *wrong += aclrtDestroyStream(stream) != 0;
    return NULL;
}

static int one_communicator(HcclComm comm, void *arg)
{
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};
    chain.comm = comm;
    chain.closed = &wrong[1];
    for (int i = 0; i < N; i++) {
        chain.rows[0][i] = i + 1;
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run_link, &wrong[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0 && wrong[i] == 0);
    }
    for (int i = 0; i < N; i++) {
        CHECK(chain.rows[THREADS * ROUNDS][i] == i + 1);
    }
    return 0;
}

static void threads_have_communicators_of_their_own(void **state)
{
    assert_true(hccl_run(2, own_communicators, NULL, 60));
    assert_true(hccl_run(3, own_communicators, NULL, 60));
}

static void threads_share_a_communicator_of_one_rank(void **state)
{
    assert_true(hccl_run(1, one_communicator, NULL, 60));
}

// A token of many sizes goes round twice, without a batch.
static int pass_on(HcclComm comm, void *arg)
{
    static uint16_t token[100000];
    uint32_t n = (uint32_t)hccl_size_of(comm), rank = (uint32_t)hccl_rank_of(comm);
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream) == 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint64_t count = 0; count <= 100000; count = count * 3 + 1) {
            memset(token, rank == 0 ? (int)round + 1 : 0, sizeof token);
            if (rank > 0) {
                CHECK(HcclRecv(token, count, HCCL_DATA_TYPE_UINT16, rank - 1, comm, stream) ==
                      HCCL_SUCCESS);
            }
            CHECK(HcclSend(token, count, HCCL_DATA_TYPE_UINT16, (rank + 1) % n, comm, stream) ==
                  HCCL_SUCCESS);
            if (rank == 0) {
                CHECK(HcclRecv(token, count, HCCL_DATA_TYPE_UINT16, n - 1, comm, stream) ==
                      HCCL_SUCCESS);
            }
            CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
            for (uint64_t i = 0; i < count; i++) {
                CHECK(token[i] == (round + 1) * 0x101);
            }
        }
    }
    CHECK(aclrtDestroyStream(stream) == 0);
    return 0;
}

static void messages_arrive(void **state)
{
    assert_true(hccl_run(2, pass_on, NULL, 60));
    assert_true(hccl_run(3, pass_on, NULL, 60));
}

// A rank that is a thread, with the root info of its process.
struct member {
    const HcclRootInfo *info;
    uint32_t rank;
    int wrong;
};

static int be_member(const struct member *member)
{
    struct part part = {.number = 1};
    char name[COMM_NAME_MAX_LENGTH];
    HcclComm found = NULL;
    CHECK(HcclCommInitRootInfo(THREADS, member->info, member->rank, &part.comm) == HCCL_SUCCESS);
    CHECK(sum_up(&part) == 0);
    CHECK(HcclGetCommName(part.comm, name) == HCCL_SUCCESS);
    CHECK(HcclCommGetHandleWithName(name, &found) == HCCL_SUCCESS && found == part.comm);
    CHECK(HcclCommDestroy(part.comm) == HCCL_SUCCESS);
    return 0;
}

static void *run_member(void *arg)
{
    struct member *member = arg;
    member->wrong = be_member(member);
    return NULL;
}

static int threads_as_ranks(int rank, const struct ranks *ranks, void *arg)
{
    struct member members[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (struct member){.info = arg, .rank = i, .wrong = 1};
        CHECK(pthread_create(&threads[i], NULL, run_member, &members[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0 && members[i].wrong == 0);
    }
    return 0;
}

static void ranks_may_be_threads_of_one_process(void **state)
{
    HcclRootInfo info;
    assert_int_equal(HcclGetRootInfo(&info), HCCL_SUCCESS);
    assert_true(ranks_run(1, threads_as_ranks, &info, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_communicators_of_their_own),
        cmocka_unit_test(threads_share_a_communicator_of_one_rank),
        cmocka_unit_test(messages_arrive),
        cmocka_unit_test(ranks_may_be_threads_of_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
