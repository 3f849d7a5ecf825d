// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share. Each forks its own ranks, which meet by a root info and
// have resources and a stream; a rank ends with a sentence and status 1 at the first difference.
#ifndef TERN_TEST_HCCL_DEVICE_COMMON_HPP
#define TERN_TEST_HCCL_DEVICE_COMMON_HPP

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"

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

// Forks the ranks; 0 when all of them return.
inline int Ranks(uint32_t n, void (*body)())
{
    HcclRootInfo info;
    std::vector<pid_t> pids;
    if (HcclGetRootInfo(&info) != HCCL_SUCCESS || HcclGetRootInfo(&job.second) != HCCL_SUCCESS) {
        return 1;
    }
    fflush(stdout);
    for (uint32_t i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(100);
            job.me = i;
            job.n = n;
            CHECK(HcclCommInitRootInfo(n, &info, i, &job.comm) == HCCL_SUCCESS);
            CHECK(HcclAllocComResourceByTiling(job.comm, nullptr, nullptr, &job.ctx) ==
                  HCCL_SUCCESS);
            CHECK(aclrtCreateStream(&job.stream) == ACL_SUCCESS);
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
    return failed != 0;
}

#endif
