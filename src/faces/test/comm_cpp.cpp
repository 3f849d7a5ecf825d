// SPDX-License-Identifier: Apache-2.0
// The comm_* face from C++, as kernels have it: CommRemotePtr and the context under its three
// names.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

extern "C" {
#include <cmocka.h>
}
#include <sys/wait.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "tern/status.h"

static_assert(sizeof(CommDeviceContext) == 1056 && sizeof(HcclDeviceContext) == 1056 &&
                  sizeof(CommContext) == 1056,
              "the layout is fixed");
static_assert(offsetof(CommDeviceContext, rankNum) == 20 &&
                  offsetof(CommDeviceContext, windowsIn) == 32,
              "the layout is fixed");
static_assert(COMM_MAX_RANK_NUM == 64, "the layout is fixed");
static_assert(std::is_same<decltype(CommRemotePtr(static_cast<CommDeviceContext *>(nullptr),
                                                  static_cast<float *>(nullptr), 0)),
                           float *>::value,
              "a remote pointer has the type of the local one");

namespace
{

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: does not hold: %s [%s]\n", __FILE__, __LINE__,            \
                         #condition, tern_last_error());                                           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

struct Window {
    int32_t signals[64];
    int64_t values[8];
};

// All-gather: each rank pushes its values' first element into everybody's slot, then notifies.
int all_gather(int rank, int nranks, const std::string &path)
{
    uint64_t address = 0;
    uint64_t base = 0;
    CommHandle handle = comm_init(rank, nranks, path.c_str());
    CHECK(handle != nullptr);
    CHECK(comm_alloc_windows(handle, sizeof(Window), &address) == 0);
    CHECK(comm_get_local_window_base(handle, &base) == 0);
    const auto *context = reinterpret_cast<const CommDeviceContext *>(address);
    auto *own = reinterpret_cast<Window *>(base);
    CHECK(CommRemotePtr(context, own, rank) == own);
    for (int peer = 0; peer < nranks; peer++) {
        *CommRemotePtr(context, &own->values[rank], peer) = 1000 + rank;
        __atomic_fetch_add(HcclRemotePtr(context, &own->signals[rank], peer), 1, __ATOMIC_RELEASE);
    }
    for (int peer = 0; peer < nranks; peer++) {
        while (__atomic_load_n(&own->signals[peer], __ATOMIC_ACQUIRE) < 1) {
            usleep(50);
        }
        CHECK(own->values[peer] == 1000 + peer);
    }
    CHECK(comm_barrier(handle) == 0);
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

void run(int nranks)
{
    char folder[] = "/tmp/tern-cpp-XXXXXX";
    assert_non_null(mkdtemp(folder));
    std::string path = std::string(folder) + "/meet";
    std::vector<pid_t> pids;
    for (int rank = 0; rank < nranks; rank++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(30);
            std::exit(all_gather(rank, nranks, path));
        }
        pids.push_back(pid);
    }
    int wrong = 0;
    for (pid_t pid : pids) {
        int status = 0;
        assert_true(waitpid(pid, &status, 0) == pid);
        wrong += status != 0;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(rmdir(folder), 0); // nothing is left in it
}

void remote_pointers_reach_all_ranks(void **)
{
    for (int nranks : {1, 2, 3, 4, 5, 8}) {
        run(nranks);
    }
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_pointers_reach_all_ranks),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
