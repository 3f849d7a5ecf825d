// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <Python.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>

namespace tern_torch
{

WithoutPython::WithoutPython()
    : state_(Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr)
{
}

WithoutPython::~WithoutPython()
{
    if (state_ != nullptr) {
        PyEval_RestoreThread(static_cast<PyThreadState *>(state_));
    }
}

const char *title_if_profiled(const char *title)
{
    return at::hasCallbacks() ? title : nullptr;
}

Optional<std::vector<at::Tensor>> if_profiled(const std::vector<at::Tensor> &inputs)
{
    return at::hasCallbacks() ? Optional<std::vector<at::Tensor>>(inputs)
                              : Optional<std::vector<at::Tensor>>();
}

Call::Call(std::shared_ptr<Group> group, c10d::OpType type, const char *title,
           const std::vector<at::Tensor> &inputs)
    : Work(group->rank, type, title_if_profiled(title), if_profiled(inputs)),
      group_(std::move(group)), title_(title)
{
}

void Call::hold() noexcept
{
    c10::raw::intrusive_ptr::incref(static_cast<c10d::Work *>(this));
}

void Call::drop() noexcept
{
    c10::raw::intrusive_ptr::decref(static_cast<c10d::Work *>(this));
}

int Call::run(tern_coll &coll)
{
    coll.timeout_ns = std::min<int64_t>(timeout_ns, group_->limit_ns);
    return tern_coll_run(group_->comm, &coll);
}

int Call::run_all()
{
    int status = run(coll);
    for (size_t i = 0; i < more.size() && status == TERN_OK; i++) {
        status = run(more[i]);
    }
    return status;
}

void Call::execute() noexcept
{
    try {
        at::AutoDispatchBelowADInplaceOrView plain; // no autograd on whatever thread this is
        status_ = body ? body(*this) : run_all();
        if (status_ < 0) {
            sentence_ = sentence_of(status_);
        } else {
            for (auto &[to, from] : copies) {
                to.copy_(from);
            }
        }
    } catch (const std::exception &error) {
        status_ = TERN_ERR_STATE;
        sentence_ = error.what();
    }
    if (recordFunctionEndCallback_) {
        recordFunctionEndCallback_();
        recordFunctionEndCallback_ = nullptr;
    }
}

void Call::mark(c10::ivalue::Future &future)
{
    if (status_ < 0) {
        future.setError(exception());
    } else if (outputs.size() == 1) {
        future.markCompleted(c10::IValue(outputs[0]));
    } else if (outputs.empty()) {
        future.markCompleted(c10::IValue(std::vector<at::Tensor>()));
    } else {
        future.markCompleted(c10::IValue(outputs));
    }
}

void Call::finish() noexcept
{
    c10::intrusive_ptr<c10::ivalue::Future> future;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (future_ && !marked_) {
            marked_ = true;
            future = future_;
        }
    }
    if (future) {
        mark(*future);
    }
    kept.clear();
    copies.clear();
    body = nullptr;
}

c10::intrusive_ptr<c10::ivalue::Future> Call::getFuture()
{
    bool ended = false;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!future_) {
            c10::TypePtr list = c10::ListType::create(c10::TensorType::get());
            future_ = c10::make_intrusive<c10::ivalue::Future>(
                outputs.size() > 1 ? c10::ListType::create(list) : list);
        }
        ended = is_done() && !marked_;
        marked_ = marked_ || ended;
    }
    if (ended) {
        mark(*future_);
    } else {
        group_->queue.hurry();
    }
    return future_;
}

bool Call::isCompleted()
{
    if (!is_done()) {
        group_->queue.hurry();
    }
    return is_done();
}

bool Call::isSuccess() const
{
    return is_done() && status_ == TERN_OK;
}

std::exception_ptr Call::exception() const
{
    if (!is_done() || status_ == TERN_OK) {
        return nullptr;
    }
    try {
        throw_error(status_, sentence_);
    } catch (...) {
        return std::current_exception();
    }
}

std::vector<at::Tensor> Call::result()
{
    if (!is_done()) {
        throw std::runtime_error("tern: the call has not ended; wait for it first");
    }
    return outputs.empty() ? std::vector<at::Tensor>() : outputs[0];
}

void Call::synchronize()
{
    wait();
}

bool Call::wait(std::chrono::milliseconds timeout)
{
    if (!is_done()) {
        WithoutPython released;
        if (timeout <= kNoTimeout) {
            group_->queue.wait(*this);
        } else if (!group_->queue.wait_until(*this, std::chrono::steady_clock::now() + timeout)) {
            throw_error(TERN_ERR_TIMEOUT, std::string(title_) + " has not ended in " +
                                              std::to_string(timeout.count()) + " ms; it goes on");
        }
    }
    if (!is_done()) { // in the child of a fork
        throw std::runtime_error("tern: the child of a fork is no rank");
    }
    if (status_ < 0) {
        throw_error(status_, sentence_);
    }
    return true;
}

} // namespace tern_torch
