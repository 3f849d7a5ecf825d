// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2
// Kernels that call AscendC::Hccl and do not end as they should: a rank is killed between two turns
// of a task, and a communicator is destroyed while a kernel uses it.
#include "faces/hccl/test/kit.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faces/hccl/test/kernels.h"

enum { COUNT = 100, TURNS = 4, VICTIM = 1 };

static const tern_hccl_site here = {"device_ends.c", 1};

struct kernel {
    void *context;
    int rank;
    int status;          // of the last Wait
    _Atomic int started; // the first turn has ended
    int32_t in[COUNT * TURNS], out[COUNT * TURNS];
};

// With `commit` all turns may run from now on, else each when it is committed.
static int begin_sum(tern_hccl *object, struct kernel *kernel, int commit)
{
    tern_hccl_task sum = kernel_task(HCCL_CMD_ALLREDUCE, kernel->in, kernel->out, COUNT, commit);
    sum.repeat = TURNS;
    kernel_init(object, kernel->context, here);
    return tern_hccl_prepare(object, &sum, here);
}

static int dies_after_a_turn(void *args)
{
    struct kernel *kernel = *(struct kernel **)args;
    tern_hccl object;
    int handle = begin_sum(&object, kernel, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        if (kernel->rank == VICTIM && turn == 1) { // which nobody can run without it
            kill(getpid(), SIGKILL);
        }
        tern_hccl_commit(&object, handle, here);
        kernel->status = tern_hccl_wait(&object, handle, here);
    }
    tern_hccl_finalize(&object, here);
    return TERN_OK;
}

static int sleeps_between_turns(void *args)
{
    struct kernel *kernel = *(struct kernel **)args;
    tern_hccl object;
    int handle = begin_sum(&object, kernel, 1);
    for (int turn = 0; turn < TURNS; turn++) {
        kernel->status |= tern_hccl_wait(&object, handle, here);
        kernel->started = 1;
        usleep(20000);
    }
    tern_hccl_finalize(&object, here);
    return TERN_OK;
}

static int one_dies(int rank, const struct ranks *ranks, void *arg)
{
    static struct kernel kernel;
    HcclComm comm = NULL;
    aclrtStream stream;
    kernel.rank = rank;
    CHECK(HcclCommInitRootInfo((uint32_t)ranks->count, hccl_info(rank, arg), (uint32_t)rank,
                               &comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(comm, NULL, NULL, &kernel.context) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(kernel_launch(stream, dies_after_a_turn, &kernel) == TERN_OK);
    CHECK(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT) != TERN_OK);
    CHECK(look_says("device_ends.c:1: "));
    const char *from_machine = ranks->machines != NULL ? ranks->machines : "aa";
    char far_off[64]; // as another machine says it
    snprintf(far_off, sizeof far_off, "rank 1 on machine %c died", from_machine[VICTIM]);
    CHECK(look_says("rank 1 died") || look_says(far_off));
    CHECK(kernel.status == -1);
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void a_rank_that_dies_in_a_kernel_is_named(void **state)
{
    for (int count = 2; count <= 5; count++) {
        struct hccl_ranks job = {.count = count};
        struct ranks ranks;
        assert_true(hccl_prepare(&job));
        ranks_begin(&ranks, count, one_dies, &job);
        assert_true(ranks_wait(&ranks, 50)); // a wait for it would take 60 s
        for (int i = 0; i < count; i++) {
            assert_true(i == VICTIM ? WIFSIGNALED(ranks.statuses[i]) : ranks.statuses[i] == 0);
        }
        assert_true(ranks_end(&ranks));
    }
}

static int destroy_while_it_runs(HcclComm first, void *arg)
{
    static struct kernel kernel;
    HcclComm comm = NULL;
    aclrtStream stream;
    HcclResult async = HCCL_SUCCESS;
    uint32_t rank = (uint32_t)hccl_rank_of(first);
    uint32_t ranks[] = {0, 1, 2};
    CHECK(HcclCreateSubCommConfig(&first, 3, ranks, 1, rank, NULL, &comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(comm, NULL, NULL, &kernel.context) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(kernel_launch(stream, sleeps_between_turns, &kernel) == TERN_OK);
    while (kernel.started == 0) {
        usleep(1000);
    }
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS); // waits for the kernel's Finalize
    CHECK(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    CHECK(kernel.status == 0);
    CHECK(HcclGetCommAsyncError(comm, &async) != HCCL_SUCCESS);
    CHECK(kernel_launch(stream, sleeps_between_turns, &kernel) == TERN_OK); // its context has gone
    CHECK(tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT) != TERN_OK);
    CHECK(look_says("is no context of HcclAllocComResourceByTiling"));
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    return 0;
}

static void a_communicator_waits_for_kernels_that_use_it(void **state)
{
    assert_true(hccl_run(3, destroy_while_it_runs, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_dies_in_a_kernel_is_named),
        cmocka_unit_test(a_communicator_waits_for_kernels_that_use_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
