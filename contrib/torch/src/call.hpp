// SPDX-License-Identifier: Apache-2.0
// A collective call of a user: the Work that c10d hands out, and the task of the group's queue.
#ifndef TERN_TORCH_CALL_HPP
#define TERN_TORCH_CALL_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "library.hpp"
#include "world.hpp"

namespace tern_torch
{

// For c10d's Work, which makes an event where there is a title, and copies the inputs for it.
const char *title_if_profiled(const char *title);
Optional<std::vector<at::Tensor>> if_profiled(const std::vector<at::Tensor> &inputs);

// Gives up Python's lock for its lifetime, if this thread has it: others may need it to come.
class WithoutPython
{
  public:
    WithoutPython();
    ~WithoutPython();
    WithoutPython(const WithoutPython &) = delete;
    WithoutPython &operator=(const WithoutPython &) = delete;

  private:
    void *state_;
};

class Call final : public c10d::Work, public Task
{
  public:
    // title: "tern:all_reduce", one event of the profiler.
    Call(std::shared_ptr<Group> group, c10d::OpType type, const char *title,
         const std::vector<at::Tensor> &inputs);

    // What it does: coll and what is `more`, unless there is a body, which returns a status and
    // leaves a sentence in tern_last_error. Then, if all went well, the copies: (to, from).
    tern_coll coll = {};
    std::vector<tern_coll> more;
    std::function<int(Call &)> body;
    std::vector<std::pair<at::Tensor, at::Tensor>> copies;
    int64_t timeout_ns = 0;
    // What the user gets; the value of the future is the list of the only one, or the lists.
    std::vector<std::vector<at::Tensor>> outputs;
    std::vector<at::Tensor> kept;              // alive until the call has ended
    std::vector<std::vector<size_t>> counts;   // what coll points to
    std::vector<std::vector<void *>> pointers; // likewise
    Group &group()
    {
        return *group_;
    }
    // Makes one call, with the call's deadline.
    int run(tern_coll &coll);

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    std::vector<at::Tensor> result() override;
    void synchronize() override;
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  private:
    int run_all();
    void execute() noexcept override;
    void finish() noexcept override;
    void hold() noexcept override;
    void drop() noexcept override;
    void mark(c10::ivalue::Future &future);

    const std::shared_ptr<Group> group_;
    const char *const title_;
    int status_ = TERN_OK; // of one that is done
    std::string sentence_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
    bool marked_ = false;
};

} // namespace tern_torch

#endif
