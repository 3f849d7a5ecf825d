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

// The lifetime of a call: its own deadline.
inline void set_timeout(tern_coll &coll, int64_t timeout_ns)
{
#ifdef TERN_TIMEOUT_NEVER
    coll.timeout_ns = timeout_ns;
#else
    (void)coll;
    (void)timeout_ns;
#endif
}

} // namespace tern_torch

#endif
