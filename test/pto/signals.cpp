// SPDX-License-Identifier: Apache-2.0
// TNOTIFY, TWAIT and TTEST: the cases of the reference's matrix, then the rules: all comparisons as
// signed numbers, the first element alone is notified, all elements are waited for, strides.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;
using comm::NotifyOp;
using comm::Signal;
using comm::Signal2D;
using comm::WaitCmp;

__global__ AICORE void NotifyKernel(__gm__ int32_t *signal, __gm__ CommDeviceContext *ctx, int peer,
                                    int32_t value, NotifyOp op, int times)
{
    Signal remote(CommRemotePtr(ctx, signal, peer));
    for (int i = 0; i < times; i++) {
        comm::TNOTIFY(remote, value, op);
    }
    pipe_barrier(PIPE_ALL);
}

__global__ AICORE void WaitKernel(__gm__ int32_t *signal, int32_t value, WaitCmp cmp)
{
    Signal own(signal);
    comm::TWAIT(own, value, cmp);
    pipe_barrier(PIPE_ALL);
}

__global__ AICORE void TestKernel(__gm__ int32_t *result, __gm__ int32_t *signal, int32_t value,
                                  WaitCmp cmp)
{
    Signal own(signal);
    *result = comm::TTEST(own, value, cmp) ? 1 : 0;
}

void Notify(int32_t *signal, int peer, int32_t value, NotifyOp op, int times = 1)
{
    NotifyKernel<<<1, nullptr, job.stream>>>(signal, job.ctx, peer, value, op, times);
}

void AddsToRank0()
{
    Notify(Window<int32_t>(), 0, 1, NotifyOp::AtomicAdd);
    SyncAll();
    EXPECT(Window<int32_t>()[0], job.me == 0 ? job.n : 0);
}

void SetsOnTheNext()
{
    Notify(Window<int32_t>(), (job.me + 1) % job.n, job.me + 100, NotifyOp::Set);
    SyncAll();
    EXPECT(Window<int32_t>()[0], (job.me + job.n - 1) % job.n + 100);
}

void Scoreboard()
{
    Notify(Window<int32_t>() + job.me, 0, job.me + 1000, NotifyOp::Set);
    SyncAll();
    ExpectAll("slots", Window<int32_t>(), MAX_RANKS,
              [](int64_t slot) { return job.me == 0 && slot < job.n ? slot + 1000 : 0; });
}

void OpOfRunTime()
{
    volatile int chosen = 1;
    Notify(Window<int32_t>(), 0, job.me + 1, static_cast<NotifyOp>(static_cast<int>(chosen)));
    SyncAll();
    int32_t value = Window<int32_t>()[0];
    CHECK(job.me == 0 ? value >= 1 && value <= job.n : value == 0);
}

template <int SET, int WANTED, WaitCmp cmp> void WaitsFor()
{
    if (job.me == 0) {
        Notify(Window<int32_t>(), 1, SET, NotifyOp::Set);
    } else if (job.me == 1) {
        WaitKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), WANTED, cmp);
    }
    SyncAll();
    EXPECT(Window<int32_t>()[0], job.me == 1 ? SET : 0);
}

void WaitsForAdditions()
{
    int32_t all = (job.n - 1) * 50;
    if (job.me != 0) {
        Notify(Window<int32_t>(), 0, 1, NotifyOp::AtomicAdd, 50);
    } else {
        WaitKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), all, WaitCmp::GE);
    }
    Sync();
    EXPECT(Window<int32_t>()[0], job.me == 0 ? all : 0);
    Barrier();
}

// Every cell of a region of a grid whose rows are STRIDE words apart.
template <int ROWS, int COLUMNS, int STRIDE>
__global__ AICORE void SetRegionKernel(__gm__ int32_t *region, __gm__ CommDeviceContext *ctx,
                                       int peer)
{
    for (int cell = 0; cell < ROWS * COLUMNS; cell++) {
        Signal remote(CommRemotePtr(ctx, region + cell / COLUMNS * STRIDE + cell % COLUMNS, peer));
        comm::TNOTIFY(remote, 1, NotifyOp::Set);
    }
}

template <int ROWS, int COLUMNS, int STRIDE>
__global__ AICORE void WaitRegionKernel(__gm__ int32_t *region)
{
    if constexpr (STRIDE == COLUMNS) {
        Signal2D<ROWS, COLUMNS> grid(region);
        comm::TWAIT(grid, 1, WaitCmp::EQ);
    } else {
        Signal2D<ROWS, COLUMNS> grid(region, STRIDE);
        comm::TWAIT(grid, 1, WaitCmp::EQ);
    }
}

template <int ROWS, int COLUMNS, int STRIDE>
__global__ AICORE void TestRegionKernel(__gm__ int32_t *result, __gm__ int32_t *region)
{
    Signal2D<ROWS, COLUMNS> grid(region, STRIDE);
    *result = comm::TTEST(grid, 1, WaitCmp::EQ);
}

template <int ROWS, int COLUMNS, int STRIDE, int AT> void ExpectRegion()
{
    ExpectAll("grid", Window<int32_t>(), 256, [](int64_t i) {
        int64_t row = (i - AT) / STRIDE, column = (i - AT) % STRIDE;
        return job.me == 1 && i >= AT && row < ROWS && column < COLUMNS;
    });
}

template <int ROWS, int COLUMNS, int STRIDE, int AT> void WaitsForRegion()
{
    int32_t *region = Window<int32_t>() + AT;
    if (job.me == 0) {
        SetRegionKernel<ROWS, COLUMNS, STRIDE><<<1, nullptr, job.stream>>>(region, job.ctx, 1);
    } else if (job.me == 1) {
        WaitRegionKernel<ROWS, COLUMNS, STRIDE><<<1, nullptr, job.stream>>>(region);
    }
    SyncAll();
    ExpectRegion<ROWS, COLUMNS, STRIDE, AT>();
}

template <int ROWS, int COLUMNS, int STRIDE, int AT> void TestsRegion()
{
    int32_t *region = Window<int32_t>() + AT;
    int32_t result = -1;
    auto test = [&] {
        TestRegionKernel<ROWS, COLUMNS, STRIDE><<<1, nullptr, job.stream>>>(&result, region);
        SyncAll();
        return result;
    };
    EXPECT(test(), 0);
    if (job.me == 0) {
        SetRegionKernel<ROWS, COLUMNS, STRIDE><<<1, nullptr, job.stream>>>(region, job.ctx, 1);
    }
    SyncAll();
    EXPECT(test(), job.me == 1);
    ExpectRegion<ROWS, COLUMNS, STRIDE, AT>();
    Window<int32_t>()[0] = 5; // outside
    region[(ROWS - 1) * STRIDE + COLUMNS] = 5;
    region[(ROWS - 1) * STRIDE + COLUMNS - 1]--;
    EXPECT(test(), 0);
}

void Phases()
{
    static const struct {
        int32_t set, wanted;
        WaitCmp cmp;
    } phases[] = {{1, 1, WaitCmp::EQ}, {3, 3, WaitCmp::GE}, {5, 5, WaitCmp::EQ}};
    for (const auto &phase : phases) {
        if (job.me == 0) {
            Notify(Window<int32_t>(), 1, phase.set, NotifyOp::Set);
        } else if (job.me == 1) {
            WaitKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), phase.wanted, phase.cmp);
        }
        SyncAll();
    }
    EXPECT(Window<int32_t>()[0], job.me == 1 ? 5 : 0);
}

template <int SET, int WANTED, WaitCmp cmp, int RESULT> void Tests()
{
    Device<int32_t> result(1, 1 - RESULT);
    if (job.me == 0) {
        Notify(Window<int32_t>(), 1, SET, NotifyOp::Set);
    }
    SyncAll();
    if (job.me == 1) {
        TestKernel<<<1, nullptr, job.stream>>>(result.data(), Window<int32_t>(), WANTED, cmp);
        Sync();
        EXPECT(result[0], RESULT);
    }
    Barrier();
}

__global__ AICORE void PollKernel(__gm__ int32_t *found, __gm__ int32_t *signal, int most)
{
    Signal own(signal);
    for (int i = 0; i < most && *found != 1; i++) {
        *found = comm::TTEST(own, 999, WaitCmp::EQ);
    }
}

__global__ AICORE void LateKernel(__gm__ int32_t *signal, __gm__ CommDeviceContext *ctx)
{
    for (volatile int i = 0; i < 50000; i = i + 1) {
    }
    Signal remote(CommRemotePtr(ctx, signal, 1));
    comm::TNOTIFY(remote, 999, NotifyOp::Set);
}

// The reference polls 200 000 times at most, which a loaded machine may not give enough time for.
template <bool SENDS> void Polls()
{
    Device<int32_t> found(1, -1);
    if (job.me == 0 && SENDS) {
        LateKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), job.ctx);
    } else if (job.me == 1) {
        int most = SENDS ? 200000000 : 50000;
        PollKernel<<<1, nullptr, job.stream>>>(found.data(), Window<int32_t>(), most);
    }
    SyncAll();
    EXPECT(found[0], job.me != 1 ? -1 : SENDS);
}

// ---- rules ----

// Every comparison of every pair, by TTEST, and by TWAIT where it holds.
__global__ AICORE void CompareKernel(__gm__ int32_t *signal)
{
    static const int32_t values[] = {INT32_MIN, -2, -1, 0, 1, 2, INT32_MAX};
    for (int32_t a : values) {
        for (int32_t b : values) {
            const bool holds[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
            for (int cmp = 0; cmp < 6; cmp++) {
                Signal own(signal);
                comm::TNOTIFY(own, a, NotifyOp::Set);
                CHECK(comm::TTEST(own, b, static_cast<WaitCmp>(cmp)) == holds[cmp]);
                if (holds[cmp]) {
                    comm::TWAIT(own, b, static_cast<WaitCmp>(cmp));
                }
                CHECK(*signal == a);
            }
        }
    }
    static_assert(uint8_t(WaitCmp::EQ) == 0 && uint8_t(WaitCmp::NE) == 1);
    static_assert(uint8_t(WaitCmp::GT) == 2 && uint8_t(WaitCmp::GE) == 3);
    static_assert(uint8_t(WaitCmp::LT) == 4 && uint8_t(WaitCmp::LE) == 5);
    static_assert(uint8_t(NotifyOp::AtomicAdd) == 0 && uint8_t(NotifyOp::Set) == 1);
}

void Compares()
{
    CompareKernel<<<1, nullptr, job.stream>>>(Window<int32_t>());
    Sync();
    Device<int32_t> elsewhere(1);
    CompareKernel<<<1, nullptr, job.stream>>>(elsewhere.data());
    Sync();
}

// The first element alone; credits go back by negative additions; a signal of five dimensions.
__global__ AICORE void ElementsKernel(__gm__ int32_t *words)
{
    comm::GlobalSignal<int32_t, Shape<2, 1, 2, 2, 3>, Stride<100, 100, 40, 10, 2>> many(words);
    static_assert(std::is_void_v<decltype(comm::TNOTIFY(many, 1, NotifyOp::Set))>);
    static_assert(std::is_void_v<decltype(comm::TWAIT(many, 1, WaitCmp::EQ))>);
    static_assert(std::is_same_v<bool, decltype(comm::TTEST(many, 1, WaitCmp::EQ))>);
    static_assert(Signal::staticShape[4] == 1 && Signal2D<7, 13>::staticShape[3] == 7);
    Signal2D<7, 13> dense(words), part(words, 16);
    CHECK(dense.GetStride(3) == 13 && part.GetStride(3) == 16 && dense.GetStride(4) == 1);
    comm::TNOTIFY(many, 7, NotifyOp::Set);
    comm::TNOTIFY(many, 5, NotifyOp::AtomicAdd);
    comm::TNOTIFY(many, -11, NotifyOp::AtomicAdd);
    for (int cell = 0; cell < 24; cell++) {
        CHECK(!comm::TTEST(many, 1, WaitCmp::EQ));
        int at = cell / 12 * 100 + cell / 6 % 2 * 40 + cell / 3 % 2 * 10 + cell % 3 * 2;
        CHECK(words[at] == (cell == 0));
        words[at] = 1;
    }
    CHECK(comm::TTEST(many, 1, WaitCmp::EQ));
    comm::TWAIT(many, 1, WaitCmp::EQ);
    words[150] = 0;
    CHECK(!comm::TTEST(many, 1, WaitCmp::EQ) && comm::TTEST(many, 0, WaitCmp::GE));
    words[1] = words[3] = words[50 + 1] = -9; // between the elements
    CHECK(comm::TTEST(many, 0, WaitCmp::GE));
    words[150] = 1;
}

void Elements()
{
    ElementsKernel<<<1, nullptr, job.stream>>>(Window<int32_t>());
    Sync();
    int ones = 0;
    for (int i = 0; i < 200; i++) {
        ones += Window<int32_t>()[i] == 1;
    }
    EXPECT(ones, 24);
}

// What was stored before a notification is seen behind the wait for it, either way of waiting.
__global__ AICORE void ReleaseKernel(__gm__ int32_t *area, __gm__ CommDeviceContext *ctx,
                                     int rounds)
{
    int me = int(ctx->rankId), n = int(ctx->rankNum);
    __gm__ int32_t *theirs = CommRemotePtr(ctx, area, (me + 1) % n);
    __gm__ int32_t *before = CommRemotePtr(ctx, area, (me + n - 1) % n);
    Signal filled(theirs), mine(area), taken(before + 16), free(area + 16);
    for (int round = 1; round <= rounds; round++) {
        for (int i = 0; i < 256; i++) {
            theirs[64 + i] = round * 1000 + i;
        }
        pipe_barrier(PIPE_ALL);
        dsb(DSB_DDR);
        comm::TNOTIFY(filled, 1, NotifyOp::AtomicAdd);
        while (round % 2 != 0 && !comm::TTEST(mine, round, WaitCmp::GE)) {
        }
        comm::TWAIT(mine, round, WaitCmp::GE);
        dcci(area + 64, cache_line_t::SINGLE_CACHE_LINE);
        for (int i = 0; i < 256; i++) {
            CHECK(area[64 + i] == round * 1000 + i);
        }
        comm::TNOTIFY(taken, 1, NotifyOp::AtomicAdd);
        comm::TWAIT(free, round, WaitCmp::EQ);
    }
}

void Releases()
{
    ReleaseKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), job.ctx, 200);
    SyncAll();
}

__global__ AICORE void EventKernel(__gm__ int32_t *word)
{
    Signal own(word);
    LateEvent late{[&] { (*word)++; }};
    comm::TNOTIFY(own, 10, NotifyOp::AtomicAdd, late, late);
    CHECK(*word == 12);
    comm::TNOTIFY(own, 20, NotifyOp::Set, late);
    CHECK(*word == 20);
    comm::TWAIT(own, 21, WaitCmp::EQ, late);
    CHECK(comm::TTEST(own, 23, WaitCmp::EQ, late, late));
    CHECK(!comm::TTEST(own, 23, WaitCmp::EQ, late) && late.waits == 7);
}

void WaitsForEvents()
{
    EventKernel<<<1, nullptr, job.stream>>>(Window<int32_t>());
    Sync();
}

static const Case cases[] = {
    {"notify AtomicAdd", 2, AddsToRank0},
    {"notify Set", 2, SetsOnTheNext},
    {"notify Scoreboard", 2, Scoreboard},
    {"notify RuntimeOp Set", 2, OpOfRunTime},
    {"wait Basic", 2, WaitsFor<42, 42, WaitCmp::EQ>},
    {"wait Compare GE", 2, WaitsFor<150, 100, WaitCmp::GE>},
    {"wait Atomic", 2, WaitsForAdditions},
    {"wait Atomic, 4", 4, WaitsForAdditions},
    {"wait Matrix2D 4x8", 2, WaitsForRegion<4, 8, 8, 0>},
    {"wait Matrix2D 7x13", 2, WaitsForRegion<7, 13, 13, 0>},
    {"wait MultiPhase", 2, Phases},
    {"wait SubRegion 4x8 of 16", 2, WaitsForRegion<4, 8, 16, 2 * 16 + 4>},
    {"test True EQ", 2, Tests<42, 42, WaitCmp::EQ, 1>},
    {"test False EQ", 2, Tests<42, 100, WaitCmp::EQ, 0>},
    {"test NE True", 2, Tests<50, 0, WaitCmp::NE, 1>},
    {"test GE True", 2, Tests<100, 50, WaitCmp::GE, 1>},
    {"test GE Equal", 2, Tests<100, 100, WaitCmp::GE, 1>},
    {"test GT True", 2, Tests<100, 50, WaitCmp::GT, 1>},
    {"test GT False", 2, Tests<100, 100, WaitCmp::GT, 0>},
    {"test LE True", 2, Tests<50, 100, WaitCmp::LE, 1>},
    {"test LT True", 2, Tests<50, 100, WaitCmp::LT, 1>},
    {"test LT False", 2, Tests<100, 100, WaitCmp::LT, 0>},
    {"test Polling", 2, Polls<true>},
    {"test Polling Miss", 2, Polls<false>},
    {"test SubRegion 4x8 of 16", 2, TestsRegion<4, 8, 16, 2 * 16 + 4>},
    {"compares signed numbers", 0, Compares},
    {"elements", 0, Elements},
    {"releases", 0, Releases},
    {"waits for events", 0, WaitsForEvents},
};

int main(int argc, char **argv)
{
    return RUN_CASES("signals", cases, argc, argv);
}
