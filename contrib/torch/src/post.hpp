// SPDX-License-Identifier: Apache-2.0
// The messages of a group that have not ended. Who waits for one moves it; those that nobody waits
// for are moved by the postman, a thread that takes them when they are a millisecond old, or when
// somebody asks for an end without waiting, and that sleeps when there are none. Of each message
// one thread at a time asks the request.
#ifndef TERN_TORCH_POST_HPP
#define TERN_TORCH_POST_HPP

#include <list>

#include "message.hpp"

namespace tern_torch
{

// The messages of a group that have not ended.
class Post
{
  public:
    explicit Post(tern_comm *comm) : comm_(comm), waiter_(std::make_unique<Waiter>(comm))
    {
    }
    ~Post();
    Post(const Post &) = delete;
    Post &operator=(const Post &) = delete;

    void begin(Message &message, tern_coll &coll);
    void wait(Message &message);
    // Waits until the deadline; true when it has ended.
    bool wait_until(Message &message, Queue::Deadline deadline);
    bool test(Message &message);
    // Waits a while for all, then fails the group.
    void close();
    // After that, before the communicator is destroyed: nothing of tern's is left.
    void let_go()
    {
        waiter_.reset();
    }
    bool is_postman() const
    {
        return postman_.get_id() == std::this_thread::get_id();
    }

  private:
    using Lock = std::unique_lock<std::mutex>;
    void end(Lock &lock, Message &message, int status);
    void call_postman();
    void move_taken(Lock &lock);
    void work();

    tern_comm *const comm_;
    const uint64_t era_ = fork_era();
    std::mutex mutex_;
    std::condition_variable ended_, wanted_;
    std::list<c10::intrusive_ptr<Message>> messages_;
    std::thread postman_;
    bool asleep_ = false, closed_ = false, hurried_ = false;
    std::unique_ptr<Waiter> waiter_; // wakes the postman
};

} // namespace tern_torch

#endif
