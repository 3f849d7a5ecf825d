// SPDX-License-Identifier: Apache-2.0
// What the face of HCCL adds to a collective call: AllReduce of 8 B as tern's own call, and as
// HCCL's with a synchronisation behind each, behind every tenth, or one that looks until the stream
// is empty. In turn, run under `tern run`; rank 0 prints "name value unit" lines.

#include "hccl/hccl.h"

#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "tern/coll.h"
#include "tern/stream.h"

enum { COUNT = 2, EVERY = 10 };

static HcclComm comm;
static aclrtStream stream;
static float in[COUNT] = {1, 2}, out[COUNT];

static void must_hccl(HcclResult result)
{
    if (result != HCCL_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, tern_last_error());
        exit(1);
    }
}

static void must_acl(aclError error)
{
    must_hccl(error == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_RUNTIME);
}

static void call(void)
{
    must_hccl(HcclAllReduce(in, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
}

static void by_tern(int i)
{
    (void)i;
    must(tern_all_reduce(world, in, out, COUNT, TERN_F32, TERN_SUM));
}

static void by_hccl(int i)
{
    (void)i;
    call();
    must_acl(aclrtSynchronizeStream(stream));
}

static void by_ten(int i)
{
    call();
    if (i % EVERY == EVERY - 1) {
        must_acl(aclrtSynchronizeStream(stream));
    }
}

static void by_looking(int i)
{
    (void)i;
    call();
    while (tern_stream_test(stream) == 0) {
    }
}

static double batch_us(void (*one)(int), int iterations)
{
    must(tern_barrier(world));
    double begin = cli_now_us();
    for (int i = 0; i < iterations; i++) {
        one(i);
    }
    return (cli_now_us() - begin) / iterations;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*one)(int);
        int part; // of the iterations
    } ways[] = {{"tern_all_reduce_8B", by_tern, 1},
                {"HcclAllReduce_8B_synchronize", by_hccl, 1},
                {"HcclAllReduce_8B_synchronize_every_10", by_ten, 1},
                {"HcclAllReduce_8B_query", by_looking, 200}};
    enum { WAYS = sizeof ways / sizeof ways[0] };
    static double times[WAYS][BATCHES], added[BATCHES], ratios[BATCHES];
    int iterations = argc >= 2 ? atoi(argv[1]) : 20000;
    HcclRootInfo info;
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    must_hccl(rank == 0 ? HcclGetRootInfo(&info) : HCCL_SUCCESS);
    must(tern_broadcast(world, &info, &info, sizeof info, TERN_U8, 0));
    must_hccl(HcclCommInitRootInfo((uint32_t)tern_comm_size(world), &info, (uint32_t)rank, &comm));
    must_acl(aclrtCreateStream(&stream));
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int way = 0; way < WAYS; way++) {
            times[way][batch] = batch_us(ways[way].one, iterations / ways[way].part + 1);
        }
        added[batch] = times[1][batch] - times[0][batch];
        ratios[batch] = times[1][batch] / times[0][batch];
    }
    for (int way = 0; way < WAYS; way++) {
        report(ways[way].name, cli_median(times[way], BATCHES), "us");
    }
    report("HcclAllReduce_8B_adds", cli_median(added, BATCHES), "us");
    report("HcclAllReduce_8B_to_tern", cli_median(ratios, BATCHES), "x");
    must_acl(aclrtDestroyStream(stream));
    must_hccl(HcclCommDestroy(comm));
    must(tern_comm_destroy(world));
    return 0;
}
