// SPDX-License-Identifier: Apache-2.0
// A rank that mpirun or mpiexec has started: it joins its job, twice, and sums. With an MPI it also
// begins that: `before` tern, or `after`.
#include <stdio.h>
#include <string.h>
#include <tern/tern.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static int sum_ranks(int *size)
{
    tern_comm *comm;
    if (tern_init(NULL, &comm) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        return -1;
    }
    float mine = (float)tern_comm_rank(comm) + 1;
    float sum = 0;
    *size = tern_comm_size(comm);
    if (tern_all_reduce(comm, &mine, &sum, 1, TERN_F32, TERN_SUM) != TERN_OK ||
        tern_comm_destroy(comm) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        return -1;
    }
    return sum == (float)(*size * (*size + 1) / 2) ? 0 : -1;
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? argv[1] : "";
    int size = 0;
    int again = 0;
#ifdef WITH_MPI
    int processes = 0;
    if (strcmp(when, "before") == 0) {
        MPI_Init(&argc, &argv);
    }
#endif
    if (sum_ranks(&size) != 0 || sum_ranks(&again) != 0 || size != again) {
        return 3;
    }
#ifdef WITH_MPI
    if (strcmp(when, "after") == 0) {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Finalize();
    if (processes != size) {
        return 4;
    }
#endif
    printf("%d ranks%s%s\n", size, when[0] != '\0' ? ", MPI " : "", when);
    return 0;
}
