// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks: each is begun by the thread that asks for it, so messages between the
// same ranks with one tag arrive in the order sent, and is independent of the group's collective
// calls.
#ifndef TERN_TORCH_MESSAGE_HPP
#define TERN_TORCH_MESSAGE_HPP

#include <memory>
#include <string>

#include "library.hpp"
#include "world.hpp"

namespace tern_torch
{

class Message final : public c10d::Work
{
  public:
    Message(std::shared_ptr<Group> group, c10d::OpType type, const char *title,
            const at::Tensor &tensor);

    // Begins it: with this rank of the group, or with TERN_RANK_ANY.
    void begin(int other, int tag, int64_t timeout_ns);

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    int sourceRank() const override;
    std::vector<at::Tensor> result() override;
    void synchronize() override
    {
        wait();
    }
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  private:
    friend class Post;
    enum class Owner { none, waiter, postman }; // who may ask its request
    void end(int status); // its request has ended, with this; the sentence is the thread's
    void mark();

    const std::shared_ptr<Group> group_;
    const char *const title_;
    const at::Tensor tensor_; // the user's
    at::Tensor flat_;         // what is sent, or received into
    const bool receives_;
    int other_ = 0;
    size_t count_ = 0;
    tern_received received_ = {};
    tern_request request_ = 0;
    Owner owner_ = Owner::none; // under the post's lock
    std::atomic<bool> done_{false};
    int status_ = TERN_OK;
    std::string sentence_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    bool marked_ = false;
};

} // namespace tern_torch

#endif
