// SPDX-License-Identifier: Apache-2.0
// The calls of one group, in their order. A call is executed once, by whichever thread comes first:
//
//     the thread that waits for it, and then it executes all before it, too: a small blocking call
//         never pays for a hand-over between threads;
//     the group's worker, when somebody asks for the end without waiting (hurry), or when the
//         oldest call has not been begun for 1 ms: so all calls end although nobody touches them.
//
// While calls are made the worker looks every millisecond; 8 ms after the last it sleeps without a
// deadline. No lock is held while a call is executed, finished or destroyed: all three may need
// Python's lock. In the child of a fork the queue is dead: there is no worker, and push throws.
#ifndef TERN_TORCH_QUEUE_HPP
#define TERN_TORCH_QUEUE_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace tern_torch
{

class Task
{
  public:
    virtual ~Task() = default;
    // Does the call and keeps its result; once, on any thread.
    virtual void execute() noexcept = 0;
    // After is_done() has become true: tells those that do not wait.
    virtual void finish() noexcept = 0;
    bool is_done() const
    {
        return done_.load(std::memory_order_acquire);
    }

  protected:
    // Of whoever the queue holds: intrusive counts are the subclass's matter.
    virtual void hold() noexcept = 0;
    virtual void drop() noexcept = 0;

  private:
    friend class Queue;
    std::atomic<bool> done_{false};
};

// How long something waits for a thread of its own before a worker takes it.
constexpr auto kTick = std::chrono::milliseconds(1);

// Grows in the child of every fork: what was made in another era is not used any more.
uint64_t fork_era();

class Queue
{
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    Queue();
    ~Queue(); // close()
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    // Throws std::runtime_error in the child of a fork, and after close.
    void push(Task &task);
    // Returns when it is done; the calling thread executes.
    void wait(Task &task);
    // The same until the deadline, and the worker executes: false when it is not done by then.
    bool wait_until(Task &task, Deadline deadline);
    // The worker executes all that there is now.
    void hurry();
    // Executes what there is and ends the worker. Nothing can be pushed afterwards.
    void close();
    // Of another era: there is nothing to wait for.
    bool is_dead() const;
    bool is_worker() const
    {
        return worker_.get_id() == std::this_thread::get_id();
    }

  private:
    using Lock = std::unique_lock<std::mutex>;
    void execute_oldest(Lock &lock);
    bool is_due(Lock &lock);
    void work();

    const uint64_t era_;
    std::mutex mutex_;
    std::condition_variable ended_;  // a call has ended
    std::condition_variable wanted_; // the worker has something to look at
    std::deque<Task *> tasks_;
    uint64_t pushed_ = 0, begun_ = 0; // how many
    uint64_t hurried_ = 0;            // the worker executes up to here at once
    int waiters_ = 0;
    bool running_ = false; // the oldest is being executed
    bool asleep_ = false;  // the worker, without a deadline
    bool closed_ = false;
    std::thread worker_;
};

} // namespace tern_torch

#endif
