// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include "call.hpp"
#include "post.hpp"
#include "tensors.hpp"

namespace tern_torch
{

Message::Message(std::shared_ptr<Group> group, c10d::OpType type, const char *title,
                 const at::Tensor &tensor)
    : Work(group->rank, type, title_if_profiled(title), if_profiled({tensor})),
      group_(std::move(group)), title_(title), tensor_(tensor),
      receives_(type != c10d::OpType::SEND)
{
}

void Message::begin(int other, int tag, int64_t timeout_ns)
{
    Element element = element_to_move(tensor_.scalar_type());
    count_ = count_of(tensor_) * element.factor;
    flat_ = receives_ && !tensor_.is_contiguous() ? at::empty(tensor_.sizes(), tensor_.options())
                                                  : tensor_.contiguous();
    other_ = other;
    tern_coll coll = {};
    coll.kind = receives_ ? TERN_COLL_RECV : TERN_COLL_SEND;
    coll.root = other;
    coll.in = receives_ ? nullptr : flat_.data_ptr();
    coll.out = receives_ ? flat_.data_ptr() : nullptr;
    coll.count = count_;
    coll.dtype = element.dtype;
    coll.timeout_ns = timeout_ns;
    coll.tag = (uint64_t)(int64_t)tag;
    coll.received = receives_ ? &received_ : nullptr;
    group_->post->begin(*this, coll);
}

void Message::end(int status)
{
    status_ = status;
    if (status < 0) {
        sentence_ = sentence_of(status);
    } else if (receives_) {
        at::AutoDispatchBelowADInplaceOrView plain;
        if (received_.count != count_) {
            status_ = TERN_ERR_MISMATCH;
            sentence_ = "the message of rank " + std::to_string(received_.from) + " has " +
                        std::to_string(received_.count) +
                        " elements, the tensor that receives it " + std::to_string(count_);
        } else if (!flat_.is_same(tensor_)) {
            tensor_.copy_(flat_);
        }
    }
    if (recordFunctionEndCallback_) {
        recordFunctionEndCallback_();
        recordFunctionEndCallback_ = nullptr;
    }
    done_.store(true, std::memory_order_release);
}

// After its end, without a lock.
void Message::mark()
{
    c10::intrusive_ptr<c10::ivalue::Future> future;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!future_ || marked_ || !done_) {
            return;
        }
        marked_ = true;
        future = future_;
    }
    if (status_ < 0) {
        future->setError(exception());
    } else {
        future->markCompleted(c10::IValue(std::vector<at::Tensor>{tensor_}));
    }
}

c10::intrusive_ptr<c10::ivalue::Future> Message::getFuture()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!future_) {
            future_ = c10::make_intrusive<c10::ivalue::Future>(
                c10::ListType::create(c10::TensorType::get()));
        }
    }
    group_->post->test(*this);
    mark();
    return future_;
}

bool Message::isCompleted()
{
    return done_ || group_->post->test(*this);
}

bool Message::isSuccess() const
{
    return done_ && status_ == TERN_OK;
}

std::exception_ptr Message::exception() const
{
    if (!done_ || status_ == TERN_OK) {
        return nullptr;
    }
    try {
        throw_error(status_, sentence_);
    } catch (...) {
        return std::current_exception();
    }
}

int Message::sourceRank() const
{
    return receives_ ? received_.from : other_;
}

std::vector<at::Tensor> Message::result()
{
    return {tensor_};
}

bool Message::wait(std::chrono::milliseconds timeout)
{
    if (!done_) {
        WithoutPython released;
        if (timeout <= kNoTimeout) {
            group_->post->wait(*this);
        } else if (!group_->post->wait_until(*this, std::chrono::steady_clock::now() + timeout)) {
            throw_error(TERN_ERR_TIMEOUT, std::string(title_) + " has not ended in " +
                                              std::to_string(timeout.count()) + " ms; it goes on");
        }
    }
    if (status_ < 0) {
        throw_error(status_, sentence_);
    }
    return true;
}

} // namespace tern_torch
