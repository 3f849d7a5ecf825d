// SPDX-License-Identifier: Apache-2.0
// All ranks in one process: one thread makes every call of HCCL on one communicator after the
// other, each on its stream, in memory of its device, of another one, and in ordinary memory.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hccl/hccl.h"
#include "support/ranks.h"

enum { COUNT = 1000, MOST = 8 };

#define TYPE HCCL_DATA_TYPE_INT32
#define SUM HCCL_REDUCE_SUM

struct all {
    int n;
    HcclComm comms[MOST];
    aclrtStream streams[MOST];
    int32_t *in[MOST], *out[MOST]; // COUNT times n elements
    uint64_t counts[MOST], places[MOST], matrix[MOST * MOST];
};

// What rank `rank` has at `i`, in its input.
static int32_t value(int rank, size_t i)
{
    return 100003 * rank + (int32_t)i;
}

enum call {
    ALL_REDUCE,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_V,
    ALL_GATHER,
    ALL_GATHER_V,
    SCATTER,
    ALL_TO_ALL,
    ALL_TO_ALL_V,
    ALL_TO_ALL_VC,
    BATCH,
    BARRIER,
    CALLS
};

static HcclResult make(struct all *a, enum call call, int r)
{
    HcclComm comm = a->comms[r];
    aclrtStream stream = a->streams[r];
    int32_t *in = a->in[r], *out = a->out[r];
    uint32_t root = (uint32_t)(a->n - 1);
    HcclSendRecvItem items[2] = {{HCCL_SEND, in, COUNT, TYPE, (uint32_t)((r + 1) % a->n)},
                                 {HCCL_RECV, out, COUNT, TYPE, (uint32_t)((r + a->n - 1) % a->n)}};
    switch (call) {
    case ALL_REDUCE:
        return HcclAllReduce(in, out, COUNT, TYPE, SUM, comm, stream);
    case BROADCAST:
        memcpy(out, in, COUNT * sizeof *in);
        return HcclBroadcast(out, COUNT, TYPE, root, comm, stream);
    case REDUCE:
        return HcclReduce(in, out, COUNT, TYPE, SUM, root, comm, stream);
    case REDUCE_SCATTER:
        return HcclReduceScatter(in, out, COUNT, TYPE, SUM, comm, stream);
    case REDUCE_SCATTER_V:
        return HcclReduceScatterV(in, a->counts, a->places, out, COUNT, TYPE, SUM, comm, stream);
    case ALL_GATHER:
        return HcclAllGather(in, out, COUNT, TYPE, comm, stream);
    case ALL_GATHER_V:
        return HcclAllGatherV(in, COUNT, out, a->counts, a->places, TYPE, comm, stream);
    case SCATTER:
        return HcclScatter(in, out, COUNT, TYPE, root, comm, stream);
    case ALL_TO_ALL:
        return HcclAlltoAll(in, COUNT, TYPE, out, COUNT, TYPE, comm, stream);
    case ALL_TO_ALL_V:
        return HcclAlltoAllV(in, a->counts, a->places, TYPE, out, a->counts, a->places, TYPE, comm,
                             stream);
    case ALL_TO_ALL_VC:
        return HcclAlltoAllVC(in, a->matrix, TYPE, out, TYPE, comm, stream);
    case BATCH:
        return HcclBatchSendRecv(items, 2, comm, stream);
    default:
        return HcclBarrier(comm, stream);
    }
}

// What rank r must have at i of block b.
static int32_t expected(int n, enum call call, int r, size_t b, size_t i)
{
    int32_t sum = 0;
    size_t block = call == REDUCE_SCATTER || call == REDUCE_SCATTER_V ? (size_t)r : b;
    switch (call) {
    case BROADCAST:
        return value(n - 1, i);
    case ALL_GATHER:
    case ALL_GATHER_V:
        return value((int)b, i);
    case SCATTER:
        return value(n - 1, (size_t)r * COUNT + i);
    case ALL_TO_ALL:
    case ALL_TO_ALL_V:
    case ALL_TO_ALL_VC:
        return value((int)b, (size_t)r * COUNT + i);
    case BATCH:
        return value((r + n - 1) % n, i);
    default:
        for (int rank = 0; rank < n; rank++) {
            sum += value(rank, block * COUNT + i);
        }
        return sum;
    }
}

static int compare(const struct all *a, enum call call)
{
    bool wide = call == ALL_GATHER || call == ALL_GATHER_V || call == ALL_TO_ALL ||
                call == ALL_TO_ALL_V || call == ALL_TO_ALL_VC;
    for (int r = 0; r < a->n; r++) {
        bool none = call == BARRIER || (call == REDUCE && r != a->n - 1);
        for (size_t b = 0; b < (wide ? (size_t)a->n : 1) && !none; b++) {
            for (size_t i = 0; i < COUNT; i++) {
                if (a->out[r][b * COUNT + i] != expected(a->n, call, r, b, i)) {
                    fprintf(stderr, "call %d, rank %d of %d: %d at %zu of block %zu, not %d\n",
                            (int)call, r, a->n, a->out[r][b * COUNT + i], i, b,
                            expected(a->n, call, r, b, i));
                    return 1;
                }
            }
        }
    }
    return 0;
}

// place 0: memory of the rank's device; 1: all of one device; 2: ordinary memory.
static int prepare(struct all *a, int place)
{
    for (int r = 0; r < a->n; r++) {
        size_t bytes = sizeof(int32_t) * COUNT * (size_t)a->n;
        CHECK(aclrtSetDevice(place == 0 ? r : 0) == ACL_SUCCESS);
        a->in[r] = malloc(bytes);
        a->out[r] = malloc(bytes);
        if (place < 2) {
            free(a->in[r]);
            free(a->out[r]);
            CHECK(aclrtMalloc((void **)&a->in[r], bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
            CHECK(aclrtMalloc((void **)&a->out[r], bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
        }
        for (size_t i = 0; i < COUNT * (size_t)a->n; i++) {
            a->in[r][i] = value(r, i);
        }
        a->counts[r] = COUNT;
        a->places[r] = (uint64_t)r * COUNT;
        for (int other = 0; other < a->n; other++) {
            a->matrix[r * a->n + other] = COUNT;
        }
    }
    return 0;
}

static int try_place(struct all *a, int place)
{
    CHECK(prepare(a, place) == 0);
    for (enum call call = ALL_REDUCE; call < CALLS; call++) {
        for (int r = 0; r < a->n; r++) {
            memset(a->out[r], 0xee, sizeof(int32_t) * COUNT * (size_t)a->n);
        }
        for (int r = 0; r < a->n; r++) {
            CHECK(make(a, call, r) == HCCL_SUCCESS);
        }
        for (int r = 0; r < a->n; r++) {
            CHECK(aclrtSynchronizeStream(a->streams[r]) == ACL_SUCCESS);
        }
        CHECK(compare(a, call) == 0);
    }
    for (int r = 0; r < a->n; r++) {
        if (place < 2) {
            CHECK(aclrtFree(a->in[r]) == ACL_SUCCESS && aclrtFree(a->out[r]) == ACL_SUCCESS);
        } else {
            free(a->in[r]);
            free(a->out[r]);
        }
    }
    return 0;
}

struct part {
    pthread_t thread;
    HcclComm comm;
    int n, rank;
    const char *wrong;
};

static void *make_part(void *arg)
{
    struct part *part = arg;
    uint32_t list[MOST], sum = 0, one = (uint32_t)part->rank + 1;
    HcclComm backwards;
    for (int i = 0; i < part->n; i++) {
        list[i] = (uint32_t)(part->n - 1 - i);
    }
    if (HcclCreateSubCommConfig(&part->comm, (uint32_t)part->n, list, 3,
                                (uint32_t)(part->n - 1 - part->rank), NULL,
                                &backwards) != HCCL_SUCCESS) {
        part->wrong = "no part";
    } else if (HcclAllReduce(&one, &sum, 1, HCCL_DATA_TYPE_UINT32, SUM, backwards, NULL) !=
                   HCCL_SUCCESS ||
               sum != (uint32_t)(part->n * (part->n + 1) / 2) ||
               HcclCommDestroy(backwards) != HCCL_SUCCESS) {
        part->wrong = "a wrong sum";
    }
    return NULL;
}

// Each rank of the process makes the same part, in a thread of its own.
static int try_parts(const struct all *a)
{
    struct part parts[MOST];
    for (int r = 0; r < a->n; r++) {
        parts[r] = (struct part){.comm = a->comms[r], .n = a->n, .rank = r};
        CHECK(pthread_create(&parts[r].thread, NULL, make_part, &parts[r]) == 0);
    }
    for (int r = 0; r < a->n; r++) {
        CHECK(pthread_join(parts[r].thread, NULL) == 0);
        CHECK(parts[r].wrong == NULL);
    }
    return 0;
}

// In a process of its own: it is in many jobs.
static int try_all(int rank, const struct ranks *ranks, void *arg)
{
    struct all a = {.n = *(int *)arg};
    int32_t devices[MOST];
    for (int r = 0; r < a.n; r++) {
        devices[r] = r;
        CHECK(aclrtCreateStream(&a.streams[r]) == ACL_SUCCESS);
    }
    CHECK(HcclCommInitAll((uint32_t)a.n, devices, a.comms) == HCCL_SUCCESS);
    for (int r = 0; r < a.n; r++) {
        uint32_t own = 99;
        CHECK(HcclGetRankId(a.comms[r], &own) == HCCL_SUCCESS && (int)own == r);
    }
    for (int place = 0; place < 3; place++) {
        CHECK(try_place(&a, place) == 0);
    }
    CHECK(try_parts(&a) == 0);
    for (int r = 0; r < a.n; r++) {
        CHECK(aclrtDestroyStream(a.streams[r]) == ACL_SUCCESS);
        CHECK(HcclCommDestroy(a.comms[r]) == HCCL_SUCCESS);
    }
    return 0;
}

static void one_thread_makes_the_calls_of_all_ranks(void **state)
{
    for (int i = 0; i < 5; i++) {
        int n = ranks_counts[i];
        assert_true(ranks_run(1, try_all, &n, 100));
    }
}

static void wrong_lists_of_devices_are_refused(void **state)
{
    HcclComm comms[MOST];
    int32_t twice[3] = {4, 5, 4}, foreign[2] = {0, 64};
    assert_int_equal(HcclCommInitAll(3, twice, comms), HCCL_E_PARA);
    assert_non_null(strstr(tern_last_error(), "devices[2] is 4, which comes twice"));
    assert_int_equal(HcclCommInitAll(2, foreign, comms), HCCL_E_PARA);
    assert_non_null(strstr(tern_last_error(), "devices[1] is 64, which does not exist"));
    assert_int_equal(HcclCommInitAll(0, twice, comms), HCCL_E_PARA);
    assert_int_equal(HcclCommInitAll(65, twice, comms), HCCL_E_PARA);
    assert_int_equal(HcclCommInitAll(1, NULL, comms), HCCL_E_PTR);
    assert_int_equal(HcclCommInitAll(1, twice, NULL), HCCL_E_PTR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_makes_the_calls_of_all_ranks),
        cmocka_unit_test(wrong_lists_of_devices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
