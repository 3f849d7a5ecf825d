// SPDX-License-Identifier: Apache-2.0
// What calls of tern are made of here, and what depends on the version of either side: of the
// library's newer fields, and of c10d, whose backends are process groups in torch 1 and Backends
// from 2.0 on. TORCH_VERSION_MAJOR and _MINOR are given to the compiler.
#ifndef TERN_TORCH_LIBRARY_HPP
#define TERN_TORCH_LIBRARY_HPP

#include <cstdint>

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

} // namespace tern_torch

#endif
