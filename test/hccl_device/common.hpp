// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share. Each forks its own ranks, which meet by a root info and
// have resources and a stream; a rank ends with a sentence and status 1 at the first difference.
// TERN_TEST_MACHINES=2 spreads the ranks over so many machines, which they take this one for.
#ifndef TERN_TEST_HCCL_DEVICE_COMMON_HPP
#define TERN_TEST_HCCL_DEVICE_COMMON_HPP

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "acl/acl.h"
#include "comm_context.h"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "tern/window.h"

struct Job {
    uint32_t me = 0, n = 1;
    const char *name = "start";
    HcclComm comm = nullptr;
    aclrtStream stream = nullptr;
    void *ctx = nullptr;
    HcclRootInfo second = {}; // for another communicator
};
inline Job job;

[[noreturn, gnu::format(printf, 1, 2)]] inline void Fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %u of %u, %s: %s [%s]\n", job.me, job.n, job.name, text,
            aclGetRecentErrMsg());
    _exit(1);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            Fail("line %d: not true: %s", __LINE__, #condition);                                   \
        }                                                                                          \
    } while (0)

// Memory of the device, of exactly so many elements.
template <typename T> class Device
{
  public:
    explicit Device(size_t count) : count_(count)
    {
        void *memory = nullptr;
        CHECK(aclrtMalloc(&memory, count * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
        data_ = static_cast<T *>(memory);
    }
    ~Device()
    {
        aclrtFree(data_);
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    T *data()
    {
        return data_;
    }
    T &operator[](size_t index)
    {
        return data_[index];
    }
    size_t size() const
    {
        return count_;
    }
    uint8_t *gm()
    {
        return reinterpret_cast<uint8_t *>(data_);
    }

  private:
    T *data_;
    size_t count_;
};

inline void Begin(const char *name)
{
    job.name = name;
}

// What the stream says; SyncFails: that it says something with these words.
inline void Sync()
{
    CHECK(aclrtSynchronizeStream(job.stream) == ACL_SUCCESS);
}
inline void SyncFails(const char *words)
{
    CHECK(aclrtSynchronizeStream(job.stream) != ACL_SUCCESS);
    if (strstr(aclGetRecentErrMsg(), words) == nullptr) {
        Fail("does not say '%s'", words);
    }
}

// Standard error goes into a file until the object ends, or is asked for what was said.
class Said
{
  public:
    Said() : file_(tmpfile()), before_(dup(2))
    {
        fflush(stderr);
        dup2(fileno(file_), 2);
    }
    ~Said()
    {
        End();
        fclose(file_);
    }
    std::string Text()
    {
        End();
        std::string text(4096, '\0');
        rewind(file_);
        text.resize(fread(&text[0], 1, text.size(), file_));
        return text;
    }
    Said(const Said &) = delete;
    Said &operator=(const Said &) = delete;

  private:
    void End()
    {
        if (before_ >= 0) {
            fflush(stderr);
            dup2(before_, 2);
            close(before_);
            before_ = -1;
        }
    }
    FILE *file_;
    int before_;
};

inline void Leave()
{
    CHECK(HcclBarrier(job.comm, job.stream) == HCCL_SUCCESS);
    Sync();
    CHECK(aclrtDestroyStream(job.stream) == ACL_SUCCESS);
    CHECK(HcclCommDestroy(job.comm) == HCCL_SUCCESS);
}

// The root infos of all ranks, which the parent makes, or on several machines the last rank.
struct Meeting {
    HcclRootInfo first, second;
    std::atomic<int> made;
};

inline bool Make(Meeting *meeting)
{
    bool right = HcclGetRootInfo(&meeting->first) == HCCL_SUCCESS &&
                 HcclGetRootInfo(&meeting->second) == HCCL_SUCCESS;
    meeting->made = right ? 1 : -1;
    return right;
}

inline int Machines()
{
    const char *given = getenv("TERN_TEST_MACHINES");
    return given != nullptr ? atoi(given) : 1;
}

// In a rank: where it is, before it has a communicator.
inline void Place(Meeting *meeting)
{
    uint32_t machines = std::min(static_cast<uint32_t>(Machines()), job.n);
    if (machines > 1) {
        const char name[] = {static_cast<char>('a' + job.me * machines / job.n), '\0'};
        setenv("TERN_MACHINE", name, 1);
        setenv("HCCL_IF_IP", "127.0.0.1", 1);
        setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
        setenv("TERN_NET_TIMEOUT", "60", 0);
    }
    if (Machines() > 1 && job.me == job.n - 1) {
        Make(meeting);
    }
    while (meeting->made == 0) {
        usleep(1000);
    }
    CHECK(meeting->made == 1);
    job.second = meeting->second;
}

// In rank 0: whether the last rank is on another machine.
inline bool IsAcross()
{
    const CommContext *context = static_cast<CommContext *>(job.ctx);
    const void *last = reinterpret_cast<const void *>(context->windowsIn[job.n - 1]);
    tern_window *window = nullptr;
    int owner = -1;
    size_t offset = 0;
    CHECK(tern_window_find(last, &window, &owner, &offset) == TERN_OK);
    return tern_window_is_local(window, owner) == 0;
}

// Forks the ranks; 0 when all of them return.
inline int Ranks(uint32_t n, void (*body)())
{
    std::vector<pid_t> pids;
    void *shared =
        mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Meeting *meeting = static_cast<Meeting *>(shared);
    if (shared == MAP_FAILED || (Machines() == 1 && !Make(meeting))) {
        return 1;
    }
    fflush(stdout);
    for (uint32_t i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(100);
            job.me = i;
            job.n = n;
            Place(meeting);
            CHECK(HcclCommInitRootInfo(n, &meeting->first, i, &job.comm) == HCCL_SUCCESS);
            CHECK(HcclAllocComResourceByTiling(job.comm, nullptr, nullptr, &job.ctx) ==
                  HCCL_SUCCESS);
            CHECK(aclrtCreateStream(&job.stream) == ACL_SUCCESS);
            CHECK(i > 0 || IsAcross() == (Machines() > 1 && n > 1));
            body();
            Leave();
            fflush(stdout);
            _exit(0);
        }
        pids.push_back(pid);
    }
    int failed = 0;
    for (pid_t pid : pids) {
        int status = 0;
        waitpid(pid, &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    munmap(shared, sizeof(Meeting));
    return failed != 0;
}

#endif
