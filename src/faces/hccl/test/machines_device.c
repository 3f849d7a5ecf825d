// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 180
// Kernels that call HCCL between machines: what Wait says of windows there, and buffers that have
// no address here. (What each call does: test/hccl_device, whose programs run on machines, too.)
#include "faces/hccl/test/board.h"

#include "faces/hccl/test/kernels.h"
#include "support/ranks.h"

// Ranks 0 and 2 are on one machine, rank 1 on the other one.
enum { RANKS = 3, BATCHES = 20, BYTES = 1 << 20, PLACE = 1 << 16 };

static const tern_hccl_site here = {"machines_device.c", 1};

struct kernel {
    struct board *board;
    void *context;
    int rank;
    char *memory;
    int32_t in[RANKS], out[RANKS];
};

struct item { // of the A2
    uint64_t local, remote, count;
    uint32_t dtype, rank;
};

static const tern_context *context_of(const struct kernel *kernel)
{
    return kernel->context;
}

static int prepare(tern_hccl *object, uint32_t type, const void *in, void *out, uint64_t count)
{
    tern_hccl_task task = kernel_task(type, in, out, count, 1);
    return tern_hccl_prepare(object, &task, here);
}

// Rank 1 looks at its window as soon as another one has waited; the two tell each other by memory,
// which orders nothing on the network. What orders its look behind the thread that receives here
// goes through another process, where ThreadSanitizer does not see it.
__attribute__((no_sanitize("thread"))) static bool holds(const struct kernel *kernel, int round)
{
    const char *window =
        (const char *)(uintptr_t)context_of(kernel)->windowsIn[kernel->rank] + PLACE;
    return window[0] == round && window[BYTES / 2] == round && window[BYTES - 1] == round;
}

static int batch(void *args)
{
    struct kernel *kernel = *(struct kernel **)args;
    const tern_context *seen = context_of(kernel);
    tern_hccl object;
    struct item item = {.local = (uint64_t)(uintptr_t)kernel->memory,
                        .remote = seen->windowsIn[1] + PLACE,
                        .count = BYTES,
                        .dtype = HCCL_DATA_TYPE_INT8,
                        .rank = 1};
    kernel_init(&object, kernel->context, here);
    for (int round = 1; round <= BATCHES; round++) {
        if (kernel->rank == 0) {
            memset(kernel->memory, round, BYTES);
            CHECK(tern_hccl_wait(&object, prepare(&object, HCCL_CMD_BATCH_WRITE, &item, NULL, 1),
                                 here) == 0);
            kernel->board->begun = round;
            ranks_count_await(&kernel->board->ended, round);
        } else if (kernel->rank == 1) {
            ranks_count_await(&kernel->board->begun, round);
            CHECK(holds(kernel, round));
            kernel->board->ended = round;
        }
    }
    tern_hccl_finalize(&object, here);
    return TERN_OK;
}

// The next rank's window as the input, and as a list of one item without bytes: ranks 0 and 1
// cannot read it, rank 2 could.
static int reads_far(void *args)
{
    struct kernel *kernel = *(struct kernel **)args;
    const tern_context *seen = context_of(kernel);
    const void *next = (const void *)(uintptr_t)seen->windowsIn[(kernel->rank + 1) % RANKS];
    tern_hccl object;
    kernel_init(&object, kernel->context, here);
    int bad = prepare(&object, HCCL_CMD_ALLREDUCE, next, kernel->out, 1);
    int good = prepare(&object, HCCL_CMD_ALLGATHER, kernel->in, kernel->out, 1);
    CHECK((bad == -1) == (kernel->rank < 2));
    int list = prepare(&object, HCCL_CMD_BATCH_WRITE, next, NULL, 1);
    CHECK((list == -1) == (kernel->rank < 2));
    CHECK(tern_hccl_wait(&object, bad, here) == -1);
    CHECK(tern_hccl_wait(&object, list, here) == (list == -1 ? -1 : 0));
    CHECK(tern_hccl_wait(&object, good, here) == 0);
    tern_hccl_finalize(&object, here);
    return TERN_OK;
}

static int body(int rank, const struct ranks *ranks, void *arg)
{
    static char memory[BYTES];
    static struct kernel kernel;
    HcclComm comm = NULL;
    aclrtStream stream;
    kernel.board = arg;
    kernel.rank = rank;
    kernel.memory = memory;
    kernel.in[0] = rank;
    CHECK(board_take(kernel.board, rank));
    CHECK(HcclCommInitRootInfo(RANKS, &kernel.board->info, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    CHECK(tern__hccl_is_across(comm));
    CHECK(HcclAllocComResourceByTiling(comm, NULL, NULL, &kernel.context) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(kernel_run(stream, batch, &kernel) == TERN_OK);
    CHECK(kernel_run(stream, reads_far, &kernel) != TERN_OK);
    CHECK(look_says(rank < 2 ? "on another machine and has no address here" : "refused on rank 0"));
    for (int i = 0; i < RANKS; i++) {
        CHECK(kernel.out[i] == i);
    }
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static void kernels_call_hccl_between_machines(void **state)
{
    assert_true(ranks_run(RANKS, body, ranks_shared(sizeof(struct board)), 120));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_call_hccl_between_machines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
