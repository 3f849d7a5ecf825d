// SPDX-License-Identifier: Apache-2.0
// A rank for test/system/silent.sh: rank 0 stands still for a while, stopped by a child of its own.
// Who fails says so, and ends as if all were well.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tern/coll.h"
#include "tern/comm.h"

int main(int argc, char **argv)
{
    tern_comm *world;
    size_t count = argc == 2 ? (size_t)atol(argv[1]) : 1;
    float *in = calloc(count, sizeof *in);
    float *out = calloc(count, sizeof *out);
    int status = tern_init(NULL, &world);
    pid_t here = getpid();
    if (status != TERN_OK || in == NULL || out == NULL || tern_barrier(world) != TERN_OK) {
        return 2;
    }
    int rank = tern_comm_rank(world);
    if (rank == 0 && fork() == 0) {
        usleep(300000);
        kill(here, SIGSTOP);
        sleep(6);
        kill(here, SIGCONT);
        _exit(0);
    }
    while (status == TERN_OK) {
        status = tern_all_reduce(world, in, out, count, TERN_F32, TERN_SUM);
    }
    printf("rank %d: %d: %s\n", rank, status, tern_last_error());
    free(in);
    free(out);
    return tern_comm_destroy(world) == TERN_OK ? 0 : 3;
}
