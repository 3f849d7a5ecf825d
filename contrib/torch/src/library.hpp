// SPDX-License-Identifier: Apache-2.0
// What calls of tern are made of here, and what depends on the version of either side: of the
// library's newer fields, and of c10d, whose backends are process groups in torch 1 and Backends
// from 2.0 on. TORCH_VERSION_MAJOR and _MINOR are given to the compiler.
#ifndef TERN_TORCH_LIBRARY_HPP
#define TERN_TORCH_LIBRARY_HPP

#include <cstdint>
#include <optional>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include "tern/tern.h"

namespace tern_torch
{

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;
#else
using BackendBase = c10d::ProcessGroup;
#endif

// Of Work's constructor.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
template <class T> using Optional = std::optional<T>;
#else
template <class T> using Optional = c10::optional<T>;
#endif

// Fields of tern_coll that not every libtern has: set where they exist.
template <class Coll>
auto set_timeout(Coll &coll, int64_t timeout_ns) -> decltype((void)coll.timeout_ns)
{
    coll.timeout_ns = timeout_ns;
}
inline void set_timeout(...)
{
}

template <class Coll> auto set_list_in(Coll &coll, void *const *list) -> decltype((void)coll.ins)
{
    coll.ins = list;
}
inline void set_list_in(...)
{
}

template <class Coll> auto set_list_out(Coll &coll, void *const *list) -> decltype((void)coll.outs)
{
    coll.outs = list;
}
inline void set_list_out(...)
{
}

template <class Coll> constexpr auto has_lists(const Coll *coll) -> decltype((void)coll->ins, true)
{
    return true;
}
constexpr bool has_lists(...)
{
    return false;
}
constexpr bool library_has_lists()
{
    return has_lists((const tern_coll *)nullptr);
}

// Fails the communicator for all of its ranks.
inline void abort_comm(tern_comm *comm, const char *sentence)
{
#ifdef TERN_TIMEOUT_NEVER
    tern_status_ignore(tern_comm_abort(comm, sentence));
#else
    (void)comm;
    (void)sentence;
#endif
}

template <class Coll> auto set_tag(Coll &coll, uint64_t tag) -> decltype((void)coll.tag)
{
    coll.tag = tag;
}
inline void set_tag(...)
{
}

#ifdef TERN_RANK_ANY
inline void set_received(tern_coll &coll, tern_received *received)
{
    coll.received = received;
}
constexpr bool received_has_count()
{
    return true;
}
#else
constexpr int TERN_RANK_ANY = -1;
struct tern_received {
    int from;
    size_t count;
    uint64_t tag;
};
inline void set_received(tern_coll &, tern_received *)
{
}
constexpr bool received_has_count()
{
    return false;
}
#endif

// Waiting for any of several requests, until somebody wakes.
class Waiter
{
  public:
#ifdef TERN_WAIT_WOKEN
    static constexpr bool exists = true;
    Waiter()
    {
        (void)!tern_waiter_create(&waiter_);
    }
    ~Waiter()
    {
        tern_waiter_destroy(waiter_);
    }
    void wake()
    {
        tern_waiter_wake(waiter_);
    }
    // *index is below 0 when none has ended.
    int wait_any(tern_request *requests, int count, int *index)
    {
        return tern_request_wait_any_for(requests, count, index, TERN_TIMEOUT_NEVER, waiter_);
    }

  private:
    tern_waiter *waiter_ = nullptr;
#else
    static constexpr bool exists = false;
    Waiter() = default;
    void wake()
    {
    }
    int wait_any(tern_request *requests, int count, int *index)
    {
        return tern_request_wait_any(requests, count, index);
    }
#endif
};

} // namespace tern_torch

#endif
