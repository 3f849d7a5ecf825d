// SPDX-License-Identifier: Apache-2.0
// The C functions beneath AscendC::Hccl, from blocks of streams: threads of the server and of
// blocks at the same time, tasks that are refused on one rank, and what is left when an object goes
// away. What the methods do is tested by test/hccl_device.

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faces/hccl/test/kernels.h"
#include "support/cmocka.h"
#include "support/ranks.h"

enum { COUNT = 500, LIVES = 8, TASKS = 12 };

struct rank {
    HcclComm comm;
    aclrtStream stream;
    void *context;
    int rank, count;
    int32_t *in, *out, *mid;
};

static const tern_hccl_site here = {"device.c", 1};

static int prepare(tern_hccl *object, uint32_t type, const void *in, void *out, uint64_t count,
                   int commit)
{
    tern_hccl_task task = kernel_task(type, in, out, count, commit);
    return tern_hccl_prepare(object, &task, here);
}

// Sums and gathers in turn; every third task is asked for, not waited for.
static int many_lives(void *args)
{
    const struct rank *rank = *(struct rank **)args;
    for (int life = 0; life < LIVES; life++) {
        tern_hccl object;
        kernel_init(&object, rank->context, here);
        int handles[TASKS];
        for (int i = 0; i < TASKS; i++) {
            handles[i] =
                i % 2 == 0
                    ? prepare(&object, HCCL_CMD_ALLREDUCE, rank->in, rank->mid, COUNT, i % 4 == 0)
                    : prepare(&object, HCCL_CMD_ALLGATHER, rank->mid, rank->out, COUNT, 1);
            CHECK(handles[i] == i);
        }
        for (int i = 0; i < TASKS; i++) {
            if (i % 4 == 2) {
                tern_hccl_commit(&object, handles[i], here);
            }
            while (i % 3 == 0 && tern_hccl_query(&object, handles[i], here) == 0) {
            }
            CHECK(tern_hccl_wait(&object, handles[i], here) == 0);
        }
        tern_hccl_finalize(&object, here);
        for (int i = 0; i < COUNT * rank->count; i++) {
            CHECK(rank->out[i] == rank->count * (i % COUNT));
        }
    }
    return TERN_OK;
}

// On rank 0 alone the task is past the end; nothing moves, and the next task does.
static int refused_on_one(void *args)
{
    const struct rank *rank = *(struct rank **)args;
    tern_hccl object;
    kernel_init(&object, rank->context, here);
    memset(rank->out, 0, sizeof *rank->out * (size_t)(COUNT * rank->count));
    int bad =
        prepare(&object, HCCL_CMD_ALLGATHER, rank->in + (rank->rank == 0), rank->out, COUNT, 1);
    int good = prepare(&object, HCCL_CMD_ALLREDUCE, rank->in, rank->mid, COUNT, 1);
    CHECK(bad == (rank->rank == 0 ? -1 : 0));
    CHECK(tern_hccl_wait(&object, bad, here) == -1);
    CHECK(tern_hccl_wait(&object, good, here) == 0);
    CHECK(rank->mid[COUNT - 1] == rank->count * (COUNT - 1));
    for (int i = 0; i < COUNT * rank->count; i++) {
        CHECK(rank->out[i] == 0);
    }
    tern_hccl_drop(&object, here); // as when it goes out of scope
    return TERN_OK;
}

static int body(struct rank *rank)
{
    CHECK(kernel_run(rank->stream, many_lives, rank) == TERN_OK);
    CHECK(kernel_run(rank->stream, refused_on_one, rank) != TERN_OK);
    CHECK(strstr(tern_last_error(), "4 bytes past the end") != NULL);
    CHECK(kernel_run(rank->stream, many_lives, rank) == TERN_OK);
    return 0;
}

static int run_rank(const HcclRootInfo *info, int number, int count)
{
    struct rank rank = {.rank = number, .count = count};
    CHECK(HcclCommInitRootInfo((uint32_t)count, info, (uint32_t)number, &rank.comm) == 0);
    CHECK(HcclAllocComResourceByTiling(rank.comm, NULL, NULL, &rank.context) == 0);
    CHECK(tern_hccl_group_context(0) == rank.context && tern_hccl_group_context(1) == NULL);
    CHECK(aclrtCreateStream(&rank.stream) == 0);
    void *memory[3];
    for (int i = 0; i < 3; i++) {
        size_t bytes = sizeof(int32_t) * (size_t)(COUNT * (i == 1 ? count : 1));
        CHECK(aclrtMalloc(&memory[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    }
    rank.in = memory[0];
    rank.out = memory[1];
    rank.mid = memory[2];
    for (int i = 0; i < COUNT; i++) {
        rank.in[i] = i;
    }
    int status = body(&rank);
    for (int i = 0; i < 3; i++) {
        aclrtFree(memory[i]);
    }
    CHECK(aclrtDestroyStream(rank.stream) == 0);
    CHECK(HcclCommDestroy(rank.comm) == 0);
    return status;
}

static void ranks_at_once(void **state)
{
    static const int counts[] = {1, 2, 3, 5};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        HcclRootInfo info;
        assert_int_equal(HcclGetRootInfo(&info), 0);
        for (int i = 0; i < counts[k]; i++) {
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0) {
                alarm(100);
                exit(run_rank(&info, i, counts[k]));
            }
        }
        int status;
        while (wait(&status) > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
