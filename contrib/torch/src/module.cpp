// SPDX-License-Identifier: Apache-2.0
// The compiled part of the Python package tern_torch.
#include <torch/csrc/Dtype.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include "backend.hpp"
#include "memory.hpp"

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
    module.def("leave_all", &tern_torch::Group::leave_all,
               py::call_guard<py::gil_scoped_release>());
    module.def("use_windows", &tern_torch::use_windows);
    module.def("uses_windows", &tern_torch::uses_windows);
    module.def("empty", [](const std::vector<int64_t> &sizes, py::object dtype) {
        return tern_torch::empty_in_window(sizes,
                                           reinterpret_cast<THPDtype *>(dtype.ptr())->scalar_type);
    });
}
