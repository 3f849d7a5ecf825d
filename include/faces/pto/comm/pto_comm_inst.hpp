// SPDX-License-Identifier: Apache-2.0
// The PTO communication ISA: put, get, notify, wait, test, collectives by a root, and asynchronous
// transfers. Operands: destination, source, tiles, and events, whose Wait() is called first. What
// each does is said with tern's functions of the same names, in tern/isa.h and tern/async.h.
#ifndef TERN_FACES_PTO_COMM_PTO_COMM_INST_HPP
#define TERN_FACES_PTO_COMM_PTO_COMM_INST_HPP

#include "pto/comm/async/sdma/sdma_types.hpp"
#include "pto/comm/comm_types.hpp"
#include "pto/pto-inst.hpp"

namespace pto::comm
{
namespace tern_detail
{

using namespace pto::tern_detail;

// Extent or stride `dim` of a tensor: a constant where its type has it.
template <typename G> constexpr int64_t extent(const G &tensor, int dim)
{
    return G::staticShape[dim] == DYNAMIC ? tensor.GetShape(dim) : G::staticShape[dim];
}
template <typename G> constexpr int64_t stride(const G &tensor, int dim)
{
    return G::staticStride[dim] == DYNAMIC ? tensor.GetStride(dim) : G::staticStride[dim];
}
template <typename G> bool lies_together(const G &tensor)
{
    return stride(tensor, 4) == 1 &&
           (stride(tensor, 0) | stride(tensor, 1) | stride(tensor, 2) | stride(tensor, 3)) >= 0;
}

// Moves src to dst when it is a row that the tile holds, which is what most transfers are, and
// nothing is wrong.
template <typename Dst, typename Src, typename T> bool move_row(Dst &dst, Src &src, T &tile)
{
    const int64_t count = extent(src, 4);
    const bool row = extent(src, 0) == 1 && extent(src, 1) == 1 && extent(src, 2) == 1 &&
                     extent(src, 3) == 1 && lies_together(src) && lies_together(dst);
    const int rows = tile.GetValidRow();
    const int columns = tile.GetValidCol();
    const bool held = rows >= 1 && rows <= T::Rows && columns >= count && columns <= T::Cols;
    return row && held &&
           (reinterpret_cast<uintptr_t>(tile.data()) & (sizeof(typename T::DType) - 1)) == 0 &&
           tern_row_move(const_cast<typename Dst::RawDType *>(dst.data()),
                         const_cast<typename Src::RawDType *>(src.data()), count,
                         dtype_of<typename Src::RawDType>::value) == 1;
}

template <typename Dst, typename Src, typename T>
void put(Dst &dst, Src &src, T &ping, T *pong, AtomicType atomic)
{
    check_types<Dst, Src>();
    check_tile<Src, T>();
    if (pong == nullptr && atomic == AtomicType::AtomicNone && move_row(dst, src, ping)) {
        return;
    }
    tern_tensor to = dst.tern_view();
    tern_tensor from = src.tern_view();
    tern_atomic how = atomic == AtomicType::AtomicAdd ? TERN_ATOMIC_ADD : TERN_ATOMIC_NONE;
    tile_operand<T> first(&ping);
    tile_operand<T> second(pong);
    check("TPUT", tern_tensor_put(&to, &from, first, second, how));
}

template <typename Dst, typename Src, typename T> void get(Dst &dst, Src &src, T &ping, T *pong)
{
    check_types<Dst, Src>();
    check_tile<Src, T>();
    if (pong == nullptr && move_row(dst, src, ping)) {
        return;
    }
    tern_tensor to = dst.tern_view();
    tern_tensor from = src.tern_view();
    tile_operand<T> first(&ping);
    tile_operand<T> second(pong);
    check("TGET", tern_tensor_get(&to, &from, first, second));
}

// The group as the C functions take it, with the tensors of all ranks.
template <typename PG> class group_operand
{
  public:
    explicit group_operand(const char *name, PG &group)
        : group_{nullptr, group.nranks, group.rootIdx}
    {
        if (group.nranks < 1 || group.tensors == nullptr) {
            check(name, tern_block_fail(TERN_ERR_ARG, "the group has %d ranks", group.nranks));
        }
        tensors_ = new tern_tensor[static_cast<std::size_t>(group.nranks)];
        for (int rank = 0; rank < group.nranks; rank++) {
            tensors_[static_cast<std::size_t>(rank)] = group.tensors[rank].tern_view();
        }
        group_.tensors = tensors_;
    }
    ~group_operand()
    {
        delete[] tensors_;
    }
    group_operand(const group_operand &) = delete;
    group_operand &operator=(const group_operand &) = delete;
    operator const tern_group *() const
    {
        return &group_;
    }

  private:
    tern_tensor *tensors_ = nullptr;
    tern_group group_;
};

template <CollEngine engine> constexpr void check_engine()
{
    static_assert(engine == CollEngine::AIV, "the CCU engine is hardware of the a5");
}

template <typename S> constexpr void check_signal()
{
    static_assert(std::is_same_v<typename S::RawDType, int32_t>, "a signal has int32_t");
}

} // namespace tern_detail

// To another rank, through a tile. The extent is that of src.
template <AtomicType atomic = AtomicType::AtomicNone, typename Dst, typename Src, typename T,
          typename... Events>
PTO_INST RecordEvent TPUT(Dst &dst, Src &src, T &tile, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::put(dst, src, tile, static_cast<T *>(nullptr), atomic);
    return {};
}

template <typename Dst, typename Src, typename T, typename... Events>
PTO_INST RecordEvent TPUT(Dst &dst, Src &src, T &tile, AtomicType atomic, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::put(dst, src, tile, static_cast<T *>(nullptr), atomic);
    return {};
}

template <AtomicType atomic = AtomicType::AtomicNone, typename Dst, typename Src, typename T,
          typename... Events>
PTO_INST RecordEvent TPUT(Dst &dst, Src &src, T &ping, T &pong, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::put(dst, src, ping, &pong, atomic);
    return {};
}

// From another rank.
template <typename Dst, typename Src, typename T, typename... Events>
PTO_INST RecordEvent TGET(Dst &dst, Src &src, T &tile, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::get(dst, src, tile, static_cast<T *>(nullptr));
    return {};
}

template <typename Dst, typename Src, typename T, typename... Events>
PTO_INST RecordEvent TGET(Dst &dst, Src &src, T &ping, T &pong, Events &...events)
{
    tern_detail::wait_for(events...);
    tern_detail::get(dst, src, ping, &pong);
    return {};
}

template <typename S, typename... Events>
PTO_INST void TNOTIFY(S &dstSignal, int32_t value, NotifyOp op, Events &...events)
{
    tern_detail::check_signal<S>();
    tern_detail::wait_for(events...);
    tern_tensor signal = dstSignal.tern_view();
    tern_detail::check("TNOTIFY",
                       tern_tensor_notify(&signal, value, static_cast<tern_notify_op>(op)));
}

template <typename S, typename... Events>
PTO_INST void TWAIT(S &signal, int32_t cmpValue, WaitCmp cmp, Events &...events)
{
    tern_detail::check_signal<S>();
    tern_detail::wait_for(events...);
    tern_tensor view = signal.tern_view();
    tern_detail::check("TWAIT", tern_tensor_wait(&view, static_cast<tern_cmp>(cmp), cmpValue,
                                                 TERN_TIMEOUT_DEFAULT));
}

template <typename S, typename... Events>
PTO_INST bool TTEST(S &signal, int32_t cmpValue, WaitCmp cmp, Events &...events)
{
    tern_detail::check_signal<S>();
    tern_detail::wait_for(events...);
    tern_tensor view = signal.tern_view();
    return tern_detail::check("TTEST",
                              tern_tensor_test(&view, static_cast<tern_cmp>(cmp), cmpValue)) != 0;
}

// Collectives are called by the root alone.
#define TERN_PTO_GROUP(NAME, FUNCTION)                                                             \
    template <CollEngine engine = CollEngine::AIV, typename PG, typename G, typename T,            \
              typename... Events,                                                                  \
              typename = std::enable_if_t<!pto::tern_detail::is_tile<PG>::value>>                  \
    PTO_INST RecordEvent NAME(PG &group, G &tensor, T &tile, Events &...events)                    \
    {                                                                                              \
        tern_detail::check_engine<engine>();                                                       \
        tern_detail::check_types<G, typename PG::value_type>();                                    \
        tern_detail::check_tile<G, T>();                                                           \
        tern_detail::wait_for(events...);                                                          \
        tern_detail::group_operand<PG> all(#NAME, group);                                          \
        tern_tensor view = tensor.tern_view();                                                     \
        tern_detail::check(#NAME,                                                                  \
                           FUNCTION(all, &view, tern_detail::tile_operand<T>(&tile), nullptr));    \
        return {};                                                                                 \
    }                                                                                              \
    template <CollEngine engine = CollEngine::AIV, typename PG, typename G, typename T,            \
              typename... Events,                                                                  \
              typename = std::enable_if_t<!pto::tern_detail::is_tile<PG>::value>>                  \
    PTO_INST RecordEvent NAME(PG &group, G &tensor, T &ping, T &pong, Events &...events)           \
    {                                                                                              \
        tern_detail::check_engine<engine>();                                                       \
        tern_detail::check_types<G, typename PG::value_type>();                                    \
        tern_detail::check_tile<G, T>();                                                           \
        tern_detail::wait_for(events...);                                                          \
        tern_detail::group_operand<PG> all(#NAME, group);                                          \
        tern_tensor view = tensor.tern_view();                                                     \
        tern_detail::tile_operand<T> first(&ping);                                                 \
        tern_detail::tile_operand<T> second(&pong);                                                \
        tern_detail::check(#NAME, FUNCTION(all, &view, first, second));                            \
        return {};                                                                                 \
    }
TERN_PTO_GROUP(TGATHER, tern_group_gather)
TERN_PTO_GROUP(TSCATTER, tern_group_scatter)
TERN_PTO_GROUP(TBROADCAST, tern_group_broadcast)
#undef TERN_PTO_GROUP

namespace tern_detail
{

template <typename PG, typename Dst, typename T>
void reduce(PG &group, Dst &dst, T &acc, T &recv, T *pong, ReduceOp op)
{
    static const tern_reduce_op ops[] = {TERN_SUM, TERN_MAX, TERN_MIN};
    check_types<Dst, typename PG::value_type>();
    check_tile<Dst, T>();
    if (static_cast<unsigned>(op) > 2) {
        check("TREDUCE",
              tern_block_fail(TERN_ERR_ARG, "there is no operation %d", static_cast<int>(op)));
    }
    group_operand<PG> all("TREDUCE", group);
    tern_tensor to = dst.tern_view();
    tile_operand<T> sum(&acc);
    tile_operand<T> first(&recv);
    tile_operand<T> second(pong);
    check("TREDUCE", tern_group_reduce(all, &to, sum, first, second, ops[static_cast<int>(op)]));
}

} // namespace tern_detail

template <CollEngine engine = CollEngine::AIV, typename PG, typename Dst, typename T,
          typename... Events>
PTO_INST RecordEvent TREDUCE(PG &group, Dst &dst, T &acc, T &recv, ReduceOp op, Events &...events)
{
    tern_detail::check_engine<engine>();
    tern_detail::wait_for(events...);
    tern_detail::reduce(group, dst, acc, recv, static_cast<T *>(nullptr), op);
    return {};
}

template <CollEngine engine = CollEngine::AIV, typename PG, typename Dst, typename T,
          typename... Events>
PTO_INST RecordEvent TREDUCE(PG &group, Dst &dst, T &acc, T &ping, T &pong, ReduceOp op,
                             Events &...events)
{
    tern_detail::check_engine<engine>();
    tern_detail::wait_for(events...);
    tern_detail::reduce(group, dst, acc, ping, &pong, op);
    return {};
}

namespace tern_detail
{

inline bool build_session(AsyncSession &session, DmaEngine engine, uint64_t offset)
{
    tern_session *made = nullptr;
    session = AsyncSession();
    session.engine = engine;
    if (tern_session_create(&made) != TERN_OK) {
        return false;
    }
    session.session.reset(made, [](tern_session *old) { tern_session_destroy(old); });
    session.commBlockOffset = offset;
    session.valid = true;
    return true;
}

} // namespace tern_detail

// A session for the calling block. The scratch tile, the workspace, the channel and the peer are
// the chip's means; here they are not used. Of the configuration the offset counts. False: see
// tern_last_error().
template <DmaEngine engine = DmaEngine::SDMA, typename Scratch,
          typename = std::enable_if_t<pto::tern_detail::is_tile<Scratch>::value>>
PTO_INST bool BuildAsyncSession(Scratch &, const void *, AsyncSession &session, uint32_t = 0,
                                const sdma::SdmaBaseConfig &config = {}, uint32_t = UINT32_MAX)
{
    return tern_detail::build_session(session, engine, config.comm_block_offset);
}

// RDMA: workspace, the peer (left out: any), the caller's rank.
template <DmaEngine engine, typename Scratch,
          typename = std::enable_if_t<pto::tern_detail::is_tile<Scratch>::value>>
PTO_INST bool BuildAsyncSession(Scratch &, const void *, uint32_t, AsyncSession &session,
                                uint32_t = 0)
{
    return tern_detail::build_session(session, engine, 0);
}

template <DmaEngine engine, typename Scratch,
          typename = std::enable_if_t<pto::tern_detail::is_tile<Scratch>::value>>
PTO_INST bool BuildAsyncSession(Scratch &, const void *, uint32_t, uint32_t, AsyncSession &session,
                                uint32_t = 0)
{
    return tern_detail::build_session(session, engine, 0);
}

// URMA: workspace, the peer (left out: any).
template <DmaEngine engine>
PTO_INST bool BuildAsyncSession(const void *, uint32_t, AsyncSession &session)
{
    return tern_detail::build_session(session, engine, 0);
}

template <DmaEngine engine> PTO_INST bool BuildAsyncSession(const void *, AsyncSession &session)
{
    return tern_detail::build_session(session, engine, 0);
}

namespace tern_detail
{

template <typename G> bool is_flat(const G &tensor)
{
    for (int d = 0; d < 4; d++) {
        if (tensor.GetShape(d) != 1) {
            return false;
        }
    }
    return tensor.GetStride(4) == 1;
}

// Between flat tensors, of which there is room for the source; else an event with handle 0.
template <DmaEngine engine, typename Dst, typename Src>
AsyncEvent transfer(const char *name, Dst &dst, Src &src, const AsyncSession &session,
                    int (*begin)(tern_session *, void *, const void *, size_t, uint64_t *))
{
    check_types<Dst, Src>();
    AsyncEvent event;
    event.engine = engine;
    if (!session.valid || !is_flat(dst) || !is_flat(src) || dst.GetShape(4) < src.GetShape(4)) {
        return event;
    }
    auto shift = [&session](auto *data) {
        return reinterpret_cast<char *>(
                   const_cast<std::remove_const_t<std::remove_pointer_t<decltype(data)>> *>(data)) +
               session.commBlockOffset;
    };
    size_t bytes = static_cast<size_t>(src.GetShape(4)) * sizeof(typename Src::RawDType);
    check(name,
          begin(session.session.get(), shift(dst.data()), shift(src.data()), bytes, &event.handle));
    return event;
}

// The same of tensors of one size.
template <DmaEngine engine, typename Dst, typename Src>
AsyncEvent transfer_same(const char *name, Dst &dst, Src &src, const AsyncSession &session,
                         int (*begin)(tern_session *, void *, const void *, size_t, uint64_t *))
{
    if (dst.GetShape(4) != src.GetShape(4)) {
        check_types<Dst, Src>();
        return {0, engine};
    }
    return transfer<engine>(name, dst, src, session, begin);
}

} // namespace tern_detail

#define TERN_PTO_ASYNC(NAME, FUNCTION)                                                             \
    template <DmaEngine engine = DmaEngine::SDMA, typename Dst, typename Src, typename... Events>  \
    PTO_INST AsyncEvent NAME(Dst &dst, Src &src, const AsyncSession &session, Events &...events)   \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        return tern_detail::transfer_same<engine>(#NAME, dst, src, session, FUNCTION);             \
    }                                                                                              \
    TERN_PTO_ASYNC_PEER(NAME, FUNCTION)
#if defined(PTO_NPU_ARCH_A5) || defined(__CPU_SIM)
#define TERN_PTO_ASYNC_PEER(NAME, FUNCTION)                                                        \
    template <DmaEngine engine = DmaEngine::SDMA, typename Dst, typename Src, typename... Events>  \
    PTO_INST AsyncEvent NAME(Dst &dst, Src &src, const AsyncSession &session, uint32_t,            \
                             Events &...events)                                                    \
    {                                                                                              \
        tern_detail::wait_for(events...);                                                          \
        return tern_detail::transfer_same<engine>(#NAME, dst, src, session, FUNCTION);             \
    }
#else
#define TERN_PTO_ASYNC_PEER(NAME, FUNCTION)
#endif
TERN_PTO_ASYNC(TPUT_ASYNC, tern_async_put)
TERN_PTO_ASYNC(TGET_ASYNC, tern_async_get)
#undef TERN_PTO_ASYNC
#undef TERN_PTO_ASYNC_PEER

// The transfer, and then the signal of the other rank: both have ended when this returns. An event
// with handle 0: neither was done; what must be right is the same, and there are elements to put.
template <DmaEngine engine = DmaEngine::SDMA, typename Dst, typename Src, typename S,
          typename... Events>
PTO_INST AsyncEvent TPUT_ASYNC_NOTIFY(Dst &dst, Src &src, S &dstSignal, int32_t value, NotifyOp op,
                                      const AsyncSession &session, Events &...events)
{
    tern_detail::wait_for(events...);
    if (src.GetShape(4) < 1 || (engine == DmaEngine::RDMA && op == NotifyOp::AtomicAdd)) {
        return {0, engine};
    }
    AsyncEvent event =
        tern_detail::transfer<engine>("TPUT_ASYNC_NOTIFY", dst, src, session, tern_async_put);
    if (event.valid()) {
        event.Wait(session);
        TNOTIFY(dstSignal, value, op);
    }
    return event;
}

// peer: the addresses say it.
template <DmaEngine engine = DmaEngine::SDMA, typename Dst, typename Src, typename S,
          typename... Events>
PTO_INST AsyncEvent TPUT_ASYNC_NOTIFY(Dst &dst, Src &src, S &dstSignal, int32_t value, NotifyOp op,
                                      const AsyncSession &session, uint32_t, Events &...events)
{
    return TPUT_ASYNC_NOTIFY<engine>(dst, src, dstSignal, value, op, session, events...);
}

} // namespace pto::comm

#endif
