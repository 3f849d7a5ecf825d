// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: they are written as authors of operators write theirs,
// run as ranks, and end with a sentence and status 1 at the first difference. All comparisons are
// exact.
//
//     tern run -n 4 move [words…]              all cases for 4 ranks, or those named with a word
//     move --root-info FILE RANK RANKS [words] the same by HCCL, in processes that anything started
//     move --global FOLDER RANK RANKS [words]  the same in a global domain, with no job at all
//
// The matrix of the reference says with how many ranks a case runs; with 3 ranks all of them run.
// Each begins with zeros in the windows, of which the first 256 bytes are left free.
#ifndef TERN_TEST_PTO_COMMON_HPP
#define TERN_TEST_PTO_COMMON_HPP

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include "acl/acl.h"
#include "comm.h"
#include "comm_context.h"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "tern/comm.h"
#include "tern/signal.h"
#include "tern/window.h"

constexpr size_t WINDOW_BYTES = size_t{8} << 20;
constexpr size_t FREE_BYTES = 256;
constexpr int MAX_RANKS = 8;

struct Job {
    int me = 0, n = 1;
    const char *name = "start";
    char *window = nullptr;
    CommDeviceContext *ctx = nullptr;
    aclrtStream stream = nullptr;
    tern_comm *comm = nullptr;
    HcclComm hccl = nullptr;
    int32_t domain_barriers = 0; // with neither
    size_t used = WINDOW_BYTES;  // bytes of the window that the last case may have written
};

inline Job job;

[[noreturn, gnu::format(printf, 1, 2)]] inline void Fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d of %d, %s: %s\n", job.me, job.n, job.name, text);
    _exit(1);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            Fail("line %d: not true: %s", __LINE__, #condition);                                   \
        }                                                                                          \
    } while (0)

// The same of two numbers.
#define EXPECT(got, wanted)                                                                        \
    do {                                                                                           \
        double got_ = static_cast<double>(got), wanted_ = static_cast<double>(wanted);             \
        if (got_ != wanted_) {                                                                     \
            Fail("line %d: %s is %.9g, not %.9g", __LINE__, #got, got_, wanted_);                  \
        }                                                                                          \
    } while (0)

// Of elements from..from+count of `data`; wanted(i) of the i-th of them.
template <typename T, typename Wanted>
void ExpectAll(const char *what, const T *data, size_t count, Wanted wanted)
{
    for (size_t i = 0; i < count; i++) {
        T value = static_cast<T>(wanted(static_cast<int64_t>(i)));
        if (std::memcmp(&data[i], &value, sizeof value) != 0) {
            Fail("%s: element %zu is %.9g, not %.9g", what, i, static_cast<double>(data[i]),
                 static_cast<double>(value));
        }
    }
}

// In the word of the window that is left free.
inline void DomainBarrier()
{
    tern_window *window = nullptr;
    bool right = tern_window_find(job.window, &window, nullptr, nullptr) == TERN_OK;
    job.domain_barriers++;
    for (int peer = 0; peer < job.n && right; peer++) {
        right = tern_signal_notify(window, peer, 0, 1, TERN_NOTIFY_ADD) == TERN_OK;
    }
    if (!right || tern_signal_wait(window, 0, TERN_CMP_GE, job.n * job.domain_barriers,
                                   TERN_TIMEOUT_DEFAULT) != TERN_OK) {
        Fail("barrier: %s", tern_last_error());
    }
}

inline void Barrier()
{
    if (job.hccl == nullptr && job.comm == nullptr) {
        DomainBarrier();
    } else if (job.hccl != nullptr ? HcclBarrier(job.hccl, nullptr) != HCCL_SUCCESS
                                   : tern_comm_barrier(job.comm) != TERN_OK) {
        Fail("barrier: %s", tern_last_error());
    }
}

inline void Sync()
{
    if (aclrtSynchronizeStream(job.stream) != ACL_SUCCESS) {
        Fail("a kernel failed: %s", tern_last_error());
    }
}

// The kernels that were launched must have been refused, with these words.
inline void ExpectRefusal(const char *words)
{
    int kept = dup(STDERR_FILENO); // the sentence is expected, so it is not shown
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(kept >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
    aclError status = aclrtSynchronizeStream(job.stream);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nowhere);
    if (status == ACL_SUCCESS || strstr(tern_last_error(), words) == nullptr) {
        Fail("not refused with '%s' but %d: %s", words, status, tern_last_error());
    }
}

// All ranks have done what they launched.
inline void SyncAll()
{
    Sync();
    Barrier();
}

// The place in the own window that is so far behind its free bytes.
template <typename T> T *Window(size_t offset = 0)
{
    return reinterpret_cast<T *>(job.window + FREE_BYTES + offset);
}

// Device memory of a case; ordinary memory of its own.
template <typename T> class Device
{
  public:
    explicit Device(size_t count, T preset = T(0)) : count_(count)
    {
        if (aclrtMalloc(reinterpret_cast<void **>(&data_), count * sizeof(T),
                        ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
            Fail("no memory");
        }
        for (size_t i = 0; i < count; i++) {
            data_[i] = preset;
        }
    }
    ~Device()
    {
        aclrtFree(data_);
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    T *data() const
    {
        return data_;
    }
    T &operator[](size_t i) const
    {
        return data_[i];
    }
    size_t count() const
    {
        return count_;
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

// An event whose Wait() must come before anything else: it does what it is told to.
template <typename Action> struct LateEvent {
    Action action;
    int waits = 0;
    void Wait()
    {
        waits++;
        action();
    }
};
template <typename Action> LateEvent(Action) -> LateEvent<Action>;

// ranks: with how many the matrix of the reference has it; 0: a rule, for any number.
struct Case {
    const char *name;
    int ranks;
    void (*run)();
};

inline bool IsNamed(const char *name, int argc, char **argv)
{
    bool named = argc == 0;
    for (int i = 0; i < argc; i++) {
        named = named || strstr(name, argv[i]) != nullptr;
    }
    return named;
}

// A file that is whole as soon as it is there; and one that comes soon.
inline void WriteFile(const char *path, const void *bytes, size_t size)
{
    char other[512];
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    CHECK(file != nullptr && fwrite(bytes, size, 1, file) == 1 && fclose(file) == 0 &&
          rename(other, path) == 0);
}

inline void ReadFile(const char *path, void *bytes, size_t size)
{
    FILE *file = fopen(path, "r");
    for (int tries = 0; tries < 6000 && file == nullptr; tries++) {
        usleep(10000);
        file = fopen(path, "r");
    }
    CHECK(file != nullptr && fread(bytes, size, 1, file) == 1 && fclose(file) == 0);
}

inline void ReadRootInfo(const char *path, HcclRootInfo *info)
{
    if (job.me == 0) {
        CHECK(HcclGetRootInfo(info) == HCCL_SUCCESS);
        WriteFile(path, info, sizeof *info);
    } else {
        ReadFile(path, info, sizeof *info);
    }
}

constexpr uint64_t DOMAIN_ID = 7;

inline void JoinByDescriptors(char **arguments)
{
    CommGlobalDomainDescriptor all[MAX_RANKS];
    char path[400];
    uint64_t base = 0, context = 0;
    job.me = atoi(arguments[1]);
    job.n = atoi(arguments[2]);
    CHECK(job.n <= MAX_RANKS);
    if (comm_global_domain_prepare(DOMAIN_ID, uint32_t(job.me), uint32_t(job.n), WINDOW_BYTES,
                                   COMM_GLOBAL_DOMAIN_SIM_SHM, &all[job.me], &base) != 0) {
        Fail("%s", tern_last_error());
    }
    snprintf(path, sizeof path, "%s/%d", arguments[0], job.me);
    WriteFile(path, &all[job.me], sizeof *all);
    for (int rank = 0; rank < job.n; rank++) {
        snprintf(path, sizeof path, "%s/%d", arguments[0], rank);
        ReadFile(path, &all[rank], sizeof *all);
    }
    if (comm_global_domain_import(DOMAIN_ID, all, size_t(job.n), &context) != 0) {
        Fail("%s", tern_last_error());
    }
    job.ctx = reinterpret_cast<CommDeviceContext *>(context);
    CHECK(job.ctx->windowsIn[job.me] == base);
}

inline void JoinByHccl(char **arguments)
{
    static HcclRootInfo info;
    char name[COMM_NAME_MAX_LENGTH];
    uint32_t topology = 0;
    uint32_t size = 0;
    void *context = nullptr;
    HcclComm found = nullptr;
    job.me = atoi(arguments[1]);
    job.n = atoi(arguments[2]);
    setenv("HCCL_BUFFSIZE", "8", 1);
    aclError first = aclInit(nullptr);
    CHECK(first == ACL_SUCCESS || first == ACL_ERROR_REPEAT_INITIALIZE);
    CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
    CHECK(aclrtSetDevice(job.me) == ACL_SUCCESS);
    ReadRootInfo(arguments[0], &info);
    if (HcclCommInitRootInfo(static_cast<uint32_t>(job.n), &info, static_cast<uint32_t>(job.me),
                             &job.hccl) != HCCL_SUCCESS) {
        Fail("HcclCommInitRootInfo: %s", tern_last_error());
    }
    CHECK(HcclGetCommName(job.hccl, name) == HCCL_SUCCESS);
    CHECK(HcomGetL0TopoTypeEx(name, &topology, 0) == HCCL_SUCCESS && topology == COMM_TOPO_MESH);
    CHECK(HcomGetCommHandleByGroup(name, &found) == HCCL_SUCCESS && found == job.hccl);
    CHECK(HcclGetRankSize(job.hccl, &size) == HCCL_SUCCESS && size == uint32_t(job.n));
    if (HcclAllocComResourceByTiling(job.hccl, nullptr, nullptr, &context) != HCCL_SUCCESS) {
        Fail("HcclAllocComResourceByTiling: %s", tern_last_error());
    }
    job.ctx = static_cast<HcclDeviceContext *>(context);
}

inline void JoinByTern(tern_window **window)
{
    if (tern_init(nullptr, &job.comm) != TERN_OK ||
        tern_window_create(job.comm, WINDOW_BYTES, nullptr, window) != TERN_OK) {
        Fail("start: %s", tern_last_error());
    }
    job.me = tern_comm_rank(job.comm);
    job.n = tern_comm_size(job.comm);
    job.ctx = const_cast<CommContext *>(tern_window_context(*window));
}

inline int RunCases(const char *subject, const Case *cases, size_t count, int argc, char **argv)
{
    tern_window *window = nullptr;
    bool by_hccl = argc > 4 && strcmp(argv[1], "--root-info") == 0;
    bool by_descriptors = argc > 4 && strcmp(argv[1], "--global") == 0;
    int skip = by_hccl || by_descriptors ? 5 : 1;
    by_hccl          ? JoinByHccl(argv + 2)
    : by_descriptors ? JoinByDescriptors(argv + 2)
                     : JoinByTern(&window);
    CHECK(job.ctx->rankId == uint32_t(job.me) && job.ctx->rankNum == uint32_t(job.n));
    CHECK(job.ctx->winSize >= WINDOW_BYTES && job.n <= MAX_RANKS);
    job.window = reinterpret_cast<char *>(job.ctx->windowsIn[job.me]);
    CHECK(aclrtCreateStream(&job.stream) == ACL_SUCCESS);
    int matrix = 0;
    int rules = 0;
    for (size_t i = 0; i < count; i++) {
        bool fits = cases[i].ranks == 0 || cases[i].ranks == job.n || job.n == 3;
        if (!fits || !IsNamed(cases[i].name, argc - skip, argv + skip)) {
            continue;
        }
        job.name = cases[i].name;
        Barrier();
        memset(job.window + FREE_BYTES, 0, job.used - FREE_BYTES);
        job.used = size_t{1} << 20;
        Barrier();
        cases[i].run();
        (cases[i].ranks != 0 ? matrix : rules)++;
    }
    job.name = "end";
    Barrier();
    CHECK(aclrtDestroyStream(job.stream) == ACL_SUCCESS);
    CHECK(by_hccl ? HcclCommDestroy(job.hccl) == HCCL_SUCCESS && aclFinalize() == ACL_SUCCESS
          : by_descriptors
              ? comm_global_domain_release(DOMAIN_ID) == 0
              : tern_window_destroy(window) == TERN_OK && tern_comm_destroy(job.comm) == TERN_OK);
    if (job.me == 0) {
        printf("%s: %d ranks, %d of the matrix, %d rules\n", subject, job.n, matrix, rules);
    }
    return 0;
}

#define RUN_CASES(subject, cases, argc, argv)                                                      \
    RunCases(subject, cases, sizeof(cases) / sizeof *(cases), argc, argv)

// Tiles whose rows are padded to 32 bytes; dynamic where a last piece may be short.
#define TILE_OF(T, ROWS, COLUMNS, DYNAMIC_TOO)                                                     \
    pto::Tile<pto::TileType::Vec, T, ROWS, (COLUMNS * sizeof(T) + 31) / 32 * 32 / sizeof(T),       \
              pto::BLayout::RowMajor, (DYNAMIC_TOO) ? -1 : ROWS, (DYNAMIC_TOO) ? -1 : COLUMNS>

template <typename TileData>
TileData MakeTile([[maybe_unused]] int rows, [[maybe_unused]] int columns)
{
    if constexpr (TileData::ValidRow == -1) {
        return TileData(rows, columns);
    } else {
        return TileData();
    }
}

// An instruction through one tile, or through two in turn.
template <bool PING_PONG, typename TileData, typename Instruction>
void Through(TileData &ping, TileData &pong, const Instruction &instruction)
{
    if constexpr (PING_PONG) {
        instruction(ping, pong);
    } else {
        instruction(ping);
    }
}

// A dense tensor of these extents.
#define DENSE(T, D0, D1, D2, D3, D4)                                                               \
    pto::GlobalTensor<T, pto::Shape<D0, D1, D2, D3, D4>,                                           \
                      pto::Stride<D1 * D2 * D3 * D4, D2 * D3 * D4, D3 * D4, D4, 1>,                \
                      pto::Layout::ND>

#endif
