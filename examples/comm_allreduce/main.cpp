// SPDX-License-Identifier: Apache-2.0
// An AllReduce written against the comm_* platform API: stage the input in the own window, meet,
// read every rank's window through the device context, meet again. The processes are started by
// anything: here by this program itself. Usage: comm_allreduce NRANKS

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "comm.h"
#include "comm_context.h"
#include "tern/status.h"

static const size_t prefix_bytes = 256; // left free at the start of a window, by convention
static const int count = 256;

// What would run on a core: input[i] of all ranks, summed in rank order.
static void allreduce_kernel(const CommContext *ctx, float *input, float *output)
{
    for (int i = 0; i < count; i++) {
        float sum = 0;
        for (uint32_t pe = 0; pe < ctx->rankNum; pe++) {
            sum += CommRemotePtr(ctx, input, static_cast<int>(pe))[i];
        }
        output[i] = sum;
    }
}

static int fail(int rank, const char *what)
{
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, tern_last_error());
    return 1;
}

static int run_rank(int rank, int nranks, const char *path)
{
    uint64_t ctx_address = 0;
    uint64_t base = 0;
    CommHandle handle = comm_init(rank, nranks, path);
    if (handle == nullptr) {
        return fail(rank, "comm_init");
    }
    if (comm_alloc_windows(handle, prefix_bytes + count * sizeof(float), &ctx_address) != 0 ||
        comm_get_local_window_base(handle, &base) != 0) {
        return fail(rank, "comm_alloc_windows");
    }
    const CommContext *ctx = reinterpret_cast<const CommContext *>(ctx_address);
    float *input = reinterpret_cast<float *>(base + prefix_bytes);
    std::vector<float> output(count);
    for (int i = 0; i < count; i++) {
        input[i] = static_cast<float>(i + 100 * rank);
    }
    if (comm_barrier(handle) != 0) {
        return fail(rank, "comm_barrier");
    }
    allreduce_kernel(ctx, input, output.data());
    if (comm_barrier(handle) != 0) {
        return fail(rank, "comm_barrier");
    }
    for (int i = 0; i < count; i++) {
        float expected = static_cast<float>(nranks * i + 100 * (nranks * (nranks - 1) / 2));
        if (!(output[static_cast<size_t>(i)] == expected)) {
            std::fprintf(stderr, "rank %d: output[%d] is %g, expected %g\n", rank, i,
                         static_cast<double>(output[static_cast<size_t>(i)]),
                         static_cast<double>(expected));
            return 1;
        }
    }
    return comm_destroy(handle) == 0 ? 0 : fail(rank, "comm_destroy");
}

int main(int argc, char **argv)
{
    int nranks = argc == 2 ? std::atoi(argv[1]) : 0;
    if (nranks < 1 || nranks > COMM_MAX_RANK_NUM) {
        std::fprintf(
            stderr,
            "usage: comm_allreduce NRANKS, which is 1..%d: it starts its ranks itself, without "
            "'tern run'\n",
            COMM_MAX_RANK_NUM);
        return 2;
    }
    char folder[] = "/tmp/comm-allreduce-XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        std::perror("mkdtemp");
        return 1;
    }
    std::string path = std::string(folder) + "/rootinfo";
    for (int rank = 0; rank < nranks; rank++) {
        pid_t pid = fork();
        if (pid == 0) {
            std::exit(run_rank(rank, nranks, path.c_str()));
        }
        if (pid < 0) {
            std::perror("fork"); // the ranks that were started say who is missing
            break;
        }
    }
    int failed = 0;
    int status = 0;
    int ended = 0;
    while (wait(&status) > 0) {
        ended++;
        failed += status != 0;
    }
    rmdir(folder);
    if (failed == 0 && ended == nranks) {
        std::printf("%d ranks have the same sum\n", nranks);
        return 0;
    }
    return 1;
}
