// SPDX-License-Identifier: Apache-2.0
// A rank for test/system/hosts.sh: joins, passes a barrier, says so, and waits in the next one for
// rank 0, which comes when the file `go` is there; `die`: the last rank kills itself before it.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tern/coll.h"
#include "tern/comm.h"

static int failed(const char *call)
{
    printf("failed %s: %s\n", call, tern_last_error());
    return 9;
}

int main(int argc, char **argv)
{
    tern_comm *world;
    if (tern_init(NULL, &world) != TERN_OK) {
        return failed("init");
    }
    int rank = tern_comm_rank(world);
    int nranks = tern_comm_size(world);
    if (tern_barrier(world) != TERN_OK) {
        return failed("barrier 1");
    }
    printf("ready %d of %d\n", rank, nranks);
    fflush(stdout);
    if (argc == 2 && strcmp(argv[1], "die") == 0 && rank == nranks - 1) {
        raise(SIGKILL);
    }
    while (argc == 1 && rank == 0 && access("go", F_OK) != 0) {
        usleep(5000);
    }
    if (tern_barrier(world) != TERN_OK) {
        return failed("barrier 2");
    }
    return tern_comm_destroy(world) == TERN_OK ? 0 : failed("destroy");
}
