// SPDX-License-Identifier: Apache-2.0
// A job for test/system/info.sh to look at: makes some collective calls, then one that the last
// rank does not come to until the file `go` is there. A rank whose call fails says so, and stays
// until `go` is there, too.
//
//     hang                              under `tern run`
//     hang RANK NRANKS RENDEZVOUS       by itself
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tern/coll.h"

static void await_go(void)
{
    while (access("go", F_OK) != 0) {
        usleep(5000);
    }
}

static int calls(tern_comm *comm, tern_comm *part)
{
    static float in[300], out[1200];
    static char large_in[300000], large_out[1200000];
    for (size_t count = 1; count <= 20; count++) {
        if (tern_all_reduce(comm, in, out, count, TERN_F32, TERN_SUM) != TERN_OK) {
            return -1;
        }
    }
    if (tern_broadcast(comm, in, out, 30, TERN_F64, 1) != TERN_OK ||
        tern_all_gather(comm, large_in, large_out, sizeof large_in, TERN_U8) != TERN_OK ||
        tern_barrier(part) != TERN_OK) {
        return -1;
    }
    if (tern_comm_rank(comm) == tern_comm_size(comm) - 1) {
        await_go();
    }
    return tern_reduce(comm, in, out, 300, TERN_F32, TERN_MAX, 1);
}

int main(int argc, char **argv)
{
    tern_comm *world;
    tern_comm *part;
    int status = argc == 4 ? tern_init_at(atoi(argv[1]), atoi(argv[2]), argv[3], NULL, &world)
                           : tern_init(NULL, &world);
    if (status != TERN_OK || tern_comm_split(world, 0, 0, &part) != TERN_OK) {
        fprintf(stderr, "hang: %s\n", tern_last_error());
        return 1;
    }
    status = calls(world, part);
    if (status != TERN_OK) {
        fprintf(stderr, "hang: %s\n", tern_last_error());
        await_go();
    }
    tern_comm_destroy(part);
    tern_comm_destroy(world);
    return status == TERN_OK ? 0 : 3;
}
