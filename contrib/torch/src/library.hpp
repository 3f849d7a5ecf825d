// SPDX-License-Identifier: Apache-2.0
// What depends on the version of c10d, whose backends are process groups in torch 1 and Backends
// from 2.0 on: TORCH_VERSION_MAJOR and _MINOR are given to the compiler. And a waiter of tern.
#ifndef TERN_TORCH_LIBRARY_HPP
#define TERN_TORCH_LIBRARY_HPP

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

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

// Waiting for any of several requests, until somebody wakes.
class Waiter
{
  public:
    explicit Waiter(tern_comm *comm)
    {
        if (tern_waiter_create(comm, &waiter_) != TERN_OK) {
            throw std::runtime_error(std::string("tern: ") + tern_last_error());
        }
    }
    ~Waiter()
    {
        tern_waiter_destroy(waiter_);
    }
    Waiter(const Waiter &) = delete;
    Waiter &operator=(const Waiter &) = delete;
    void wake()
    {
        tern_status_ignore(tern_waiter_wake(waiter_));
    }
    // *index is below 0 when none has ended.
    int wait_any(tern_request *requests, int count, int *index)
    {
        return tern_request_wait_any_for(requests, count, index, TERN_TIMEOUT_NEVER, waiter_);
    }

  private:
    tern_waiter *waiter_ = nullptr;
};

} // namespace tern_torch

#endif
