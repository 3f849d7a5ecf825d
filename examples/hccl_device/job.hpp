// SPDX-License-Identifier: Apache-2.0
// The host's part that both operators share: the program forks one process a rank, the ranks meet
// by a root info, and each has a communicator with resources and a stream.
#ifndef EXAMPLES_HCCL_DEVICE_JOB_HPP
#define EXAMPLES_HCCL_DEVICE_JOB_HPP

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"

struct Job {
    uint32_t rank = 0, ranks = 1;
    HcclComm comm = nullptr;
    aclrtStream stream = nullptr;
};

[[noreturn]] inline void Stop(const Job &job, const char *what)
{
    fprintf(stderr, "rank %u of %u: %s: %s\n", job.rank, job.ranks, what, aclGetRecentErrMsg());
    _exit(1);
}

inline void Try(const Job &job, const char *what, int status)
{
    if (status != 0) {
        Stop(job, what);
    }
}

// Memory of the device, of exactly so many elements: a call beyond its end is refused.
inline float *Allocate(const Job &job, size_t count)
{
    void *memory = nullptr;
    Try(job, "aclrtMalloc", aclrtMalloc(&memory, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    return static_cast<float *>(memory);
}

// Element `index` of matrix `which` (0: A, 1: B): known to all ranks, small, never the same in a
// row.
inline float Element(uint64_t which, uint64_t index)
{
    return static_cast<float>((index * 2654435761u + which * 97) >> 7 & 15) / 16.0f - 0.5f;
}

// C = A B in double; the greatest difference of `c`, whose rows begin at `row` of A.
inline double Compare(const float *c, size_t rows, size_t inner, size_t columns, size_t row)
{
    double worst = 0;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;
            for (size_t k = 0; k < inner; k++) {
                sum += static_cast<double>(Element(0, (row + i) * inner + k)) *
                       static_cast<double>(Element(1, k * columns + j));
            }
            worst = std::fmax(worst, std::fabs(sum - static_cast<double>(c[i * columns + j])));
        }
    }
    return worst;
}

// Runs `body` in `ranks` processes; each returns its largest error. 0 when all are below the limit.
inline int Run(const char *name, int argc, char **argv, double (*body)(const Job &), double limit)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 4;
    HcclRootInfo info;
    if (argc > 2 || ranks < 1 || ranks > 8) {
        fprintf(stderr, "usage: %s [RANKS], 1 to 8\n", name);
        return 2;
    }
    if (HcclGetRootInfo(&info) != HCCL_SUCCESS) {
        fprintf(stderr, "%s: %s\n", name, aclGetRecentErrMsg());
        return 1;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (fork() == 0) {
            Job job;
            void *context = nullptr;
            job.rank = static_cast<uint32_t>(rank);
            job.ranks = static_cast<uint32_t>(ranks);
            Try(job, "HcclCommInitRootInfo",
                HcclCommInitRootInfo(job.ranks, &info, job.rank, &job.comm));
            Try(job, "HcclAllocComResourceByTiling",
                HcclAllocComResourceByTiling(job.comm, nullptr, nullptr, &context));
            Try(job, "aclrtCreateStream", aclrtCreateStream(&job.stream));
            double error = body(job);
            Try(job, "aclrtDestroyStream", aclrtDestroyStream(job.stream));
            Try(job, "HcclCommDestroy", HcclCommDestroy(job.comm));
            if (!(error <= limit)) {
                fprintf(stderr, "rank %d: the largest error is %g\n", rank, error);
            }
            _exit(error <= limit ? 0 : 1);
        }
    }
    int failed = 0;
    for (int status; wait(&status) > 0;) {
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    printf("%s, %d ranks: %s\n", name, ranks, failed == 0 ? "verified" : "wrong");
    return failed == 0 ? 0 : 1;
}

#endif
