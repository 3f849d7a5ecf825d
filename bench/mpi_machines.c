// SPDX-License-Identifier: Apache-2.0
// The peer of bench/machines.c for any MPI. Compiled by bench/machines.py with each MPI's mpicc.

#include <mpi.h>
#include <time.h>

#include "machines.h"

static unsigned char arrived[LARGE];
static float in[LARGE / sizeof(float)];
static float out[LARGE / sizeof(float)];

static void join(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    memset(arrived, 0, sizeof arrived);
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void give(const void *from, size_t bytes)
{
    MPI_Send(from, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
}

static const void *take(size_t bytes)
{
    MPI_Recv(arrived, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return arrived;
}

static void all_reduce(size_t count)
{
    MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void slowest(double *times, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, times, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

// MPICH over UCX may hang in MPI_Finalize when others are still there.
static void leave(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    MPI_Finalize();
}
