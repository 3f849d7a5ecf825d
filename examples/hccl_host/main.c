// SPDX-License-Identifier: Apache-2.0
// A host program for HCCL as it is written for cards: root info from rank 0, a communicator, a
// stream, device memory, and every collective once, with every element of its result compared.
//
//     tern run -n 4 hccl_host              the root info goes through a file
//     tern run --hosts a:2,b:2 hccl_host FILE      through this one, which both hosts see
//     mpirun -n 4 ./hccl_host              built with mpicc -DUSE_MPI: through MPI_Bcast
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef USE_MPI
#include <mpi.h>
#endif

#define COUNT 1000
#define RANKS_MAX 64
#define TYPE HCCL_DATA_TYPE_INT32

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int result = (int)(call);                                                                  \
        if (result != 0) {                                                                         \
            fprintf(stderr, "%s is %d: %s\n", #call, result, aclGetRecentErrMsg());                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct program {
    int rank, size;
    HcclComm comm;
    aclrtStream stream;
    int32_t *host, *in, *out; // of COUNT elements for each rank
    uint64_t counts[RANKS_MAX], places[RANKS_MAX], matrix[RANKS_MAX * RANKS_MAX];
};

#ifdef USE_MPI
static void begin(struct program *p, const char *file, HcclRootInfo *info)
{
    (void)file;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->size);
    if (p->rank == 0) {
        TRY(HcclGetRootInfo(info));
    }
    MPI_Bcast(info, sizeof *info, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void end(void)
{
    MPI_Finalize();
}
#else
static char path[256];

static int number(const char *variable)
{
    const char *text = getenv(variable);
    if (text == NULL) {
        fprintf(stderr, "there is no %s: start me with `tern run -n 4 hccl_host`\n", variable);
        exit(1);
    }
    return atoi(text);
}

static void write_info(const HcclRootInfo *info)
{
    char part[sizeof path + 8];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "wb");
    if (file == NULL || fwrite(info, sizeof *info, 1, file) != 1 || fclose(file) != 0 ||
        rename(part, path) != 0) { // all of it, or nothing
        perror(path);
        exit(1);
    }
}

static void read_info(HcclRootInfo *info)
{
    FILE *file = NULL;
    for (int tries = 0; tries < 60000 && file == NULL; tries++) {
        file = fopen(path, "rb");
        if (file == NULL) {
            usleep(1000);
        }
    }
    if (file == NULL || fread(info, sizeof *info, 1, file) != 1) {
        fprintf(stderr, "rank 0 has not written %s\n", path);
        exit(1);
    }
    fclose(file);
}

// The ranks of a job on one machine have one parent, the launcher.
static void begin(struct program *p, const char *file, HcclRootInfo *info)
{
    const char *folder = getenv("TMPDIR");
    p->rank = number("TERN_RANK");
    p->size = number("TERN_NRANKS");
    if (file != NULL) {
        snprintf(path, sizeof path, "%s", file);
    } else {
        snprintf(path, sizeof path, "%.200s/hccl_host-%d", folder != NULL ? folder : "/tmp",
                 (int)getppid());
    }
    if (p->rank != 0) {
        read_info(info);
        return;
    }
    TRY(HcclGetRootInfo(info));
    write_info(info);
}

static void end(void)
{
}
#endif

// What rank `rank` sends at `i`.
static int32_t value(int rank, int i)
{
    return 100003 * rank + i;
}

static int32_t sum_of_all(const struct program *p, int i)
{
    int32_t sum = 0;
    for (int rank = 0; rank < p->size; rank++) {
        sum += value(rank, i);
    }
    return sum;
}

static int32_t of_all(const struct program *p, int block, int i)
{
    return sum_of_all(p, block * COUNT + i);
}

static int32_t sum_of_mine(const struct program *p, int block, int i)
{
    (void)block;
    return sum_of_all(p, p->rank * COUNT + i);
}

static int32_t of_last(const struct program *p, int block, int i)
{
    return value(p->size - 1, block * COUNT + i);
}

static int32_t mine_of_last(const struct program *p, int block, int i)
{
    (void)block;
    return value(p->size - 1, p->rank * COUNT + i);
}

static int32_t first_of_each(const struct program *p, int block, int i)
{
    (void)p;
    return value(block, i);
}

static int32_t mine_of_each(const struct program *p, int block, int i)
{
    return value(block, p->rank * COUNT + i);
}

static int32_t of_left(const struct program *p, int block, int i)
{
    return value((p->rank + p->size - 1) % p->size, block * COUNT + i);
}

// Waits for the call, and compares `blocks` blocks of its output; then the buffers are as before.
static void check(struct program *p, const char *what, int blocks,
                  int32_t (*expected)(const struct program *, int, int))
{
    size_t bytes = sizeof(int32_t) * COUNT * (size_t)p->size;
    TRY(aclrtSynchronizeStream(p->stream));
    TRY(aclrtMemcpy(p->host, bytes, p->out, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < blocks * COUNT; i++) {
        int32_t wanted = expected(p, i / COUNT, i % COUNT);
        if (p->host[i] != wanted) {
            fprintf(stderr, "%s, rank %d: element %d is %d, not %d\n", what, p->rank, i, p->host[i],
                    wanted);
            exit(1);
        }
    }
    TRY(aclrtMemset(p->out, bytes, 0xee, bytes));
}

static void reductions(struct program *p)
{
    uint32_t root = (uint32_t)p->size - 1;
    TRY(HcclAllReduce(p->in, p->out, COUNT, TYPE, HCCL_REDUCE_SUM, p->comm, p->stream));
    check(p, "AllReduce", 1, of_all);
    TRY(HcclReduce(p->in, p->out, COUNT, TYPE, HCCL_REDUCE_SUM, root, p->comm, p->stream));
    check(p, "Reduce", p->rank == p->size - 1, of_all);
    TRY(HcclReduceScatter(p->in, p->out, COUNT, TYPE, HCCL_REDUCE_SUM, p->comm, p->stream));
    check(p, "ReduceScatter", 1, sum_of_mine);
    TRY(HcclReduceScatterV(p->in, p->counts, p->places, p->out, COUNT, TYPE, HCCL_REDUCE_SUM,
                           p->comm, p->stream));
    check(p, "ReduceScatterV", 1, sum_of_mine);
}

static void copies(struct program *p)
{
    uint32_t root = (uint32_t)p->size - 1;
    size_t bytes = sizeof(int32_t) * COUNT;
    TRY(aclrtMemcpyAsync(p->out, bytes, p->in, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, p->stream));
    TRY(HcclBroadcast(p->out, COUNT, TYPE, root, p->comm, p->stream));
    check(p, "Broadcast", 1, of_last);
    TRY(HcclScatter(p->in, p->out, COUNT, TYPE, root, p->comm, p->stream));
    check(p, "Scatter", 1, mine_of_last);
    TRY(HcclAllGather(p->in, p->out, COUNT, TYPE, p->comm, p->stream));
    check(p, "AllGather", p->size, first_of_each);
    TRY(HcclAllGatherV(p->in, COUNT, p->out, p->counts, p->places, TYPE, p->comm, p->stream));
    check(p, "AllGatherV", p->size, first_of_each);
    TRY(HcclAlltoAll(p->in, COUNT, TYPE, p->out, COUNT, TYPE, p->comm, p->stream));
    check(p, "AlltoAll", p->size, mine_of_each);
    TRY(HcclAlltoAllV(p->in, p->counts, p->places, TYPE, p->out, p->counts, p->places, TYPE,
                      p->comm, p->stream));
    check(p, "AlltoAllV", p->size, mine_of_each);
    TRY(HcclAlltoAllVC(p->in, p->matrix, TYPE, p->out, TYPE, p->comm, p->stream));
    check(p, "AlltoAllVC", p->size, mine_of_each);
}

static void messages(struct program *p)
{
    uint32_t left = (uint32_t)((p->rank + p->size - 1) % p->size);
    uint32_t right = (uint32_t)((p->rank + 1) % p->size);
    HcclSendRecvItem items[2] = {{HCCL_SEND, p->in, COUNT, TYPE, right},
                                 {HCCL_RECV, p->out, COUNT, TYPE, left}};
    TRY(HcclBatchSendRecv(items, 2, p->comm, p->stream));
    check(p, "BatchSendRecv", 1, of_left);
    if (p->size > 1 && p->rank < 2) {
        TRY(p->rank == 1 ? HcclSend(p->in, COUNT, TYPE, 0, p->comm, p->stream)
                         : HcclRecv(p->out, COUNT, TYPE, 1, p->comm, p->stream));
    }
    check(p, "Recv", p->size == 2 && p->rank == 0, of_left);
    TRY(HcclBarrier(p->comm, p->stream));
    TRY(aclrtSynchronizeStream(p->stream));
}

static void prepare(struct program *p)
{
    size_t bytes = sizeof(int32_t) * COUNT * (size_t)p->size;
    TRY(aclrtCreateStream(&p->stream));
    TRY(aclrtMallocHost((void **)&p->host, bytes));
    TRY(aclrtMalloc((void **)&p->in, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    TRY(aclrtMalloc((void **)&p->out, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < COUNT * p->size; i++) {
        p->host[i] = value(p->rank, i);
    }
    TRY(aclrtMemcpy(p->in, bytes, p->host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int rank = 0; rank < p->size; rank++) {
        p->counts[rank] = COUNT;
        p->places[rank] = (uint64_t)rank * COUNT;
    }
    for (int i = 0; i < p->size * p->size; i++) {
        p->matrix[i] = COUNT;
    }
}

int main(int argc, char **argv)
{
    static struct program p;
    HcclRootInfo info;
    begin(&p, argc > 1 ? argv[1] : NULL, &info);
    TRY(aclInit(NULL));
    TRY(aclrtSetDevice(p.rank));
    TRY(HcclCommInitRootInfo((uint32_t)p.size, &info, (uint32_t)p.rank, &p.comm));
#ifndef USE_MPI
    if (p.rank == 0) {
        unlink(path); // all have read it: they are here
    }
#endif
    prepare(&p);
    reductions(&p);
    copies(&p);
    messages(&p);
    TRY(HcclCommDestroy(p.comm));
    TRY(aclrtFree(p.in));
    TRY(aclrtFree(p.out));
    TRY(aclrtFreeHost(p.host));
    TRY(aclrtDestroyStream(p.stream));
    TRY(aclFinalize());
    end();
    if (p.rank == 0) {
        printf("%d ranks have made 14 calls of HCCL, and every element is right\n", p.size);
    }
    return 0;
}
