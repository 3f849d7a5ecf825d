// SPDX-License-Identifier: Apache-2.0
// The compiled part of the Python package tern_torch.
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include "backend.hpp"

namespace py = pybind11;

namespace tern_torch
{

namespace
{

c10::intrusive_ptr<BackendBase> create(const c10::intrusive_ptr<c10d::Store> &store, int rank,
                                       int size, std::chrono::milliseconds timeout)
{
    return c10::make_intrusive<ProcessGroupTern>(*store, rank, size, timeout);
}

} // namespace

} // namespace tern_torch

PYBIND11_MODULE(_C, module)
{
    py::module_::import("torch._C._distributed_c10d"); // the types of arguments
    module.def("create", &tern_torch::create, py::arg("store"), py::arg("rank"), py::arg("size"),
               py::arg("timeout"), py::call_guard<py::gil_scoped_release>());
}
