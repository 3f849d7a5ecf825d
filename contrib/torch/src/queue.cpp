// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <pthread.h>

#include <stdexcept>

namespace tern_torch
{

namespace
{

constexpr int kTicksAwake = 8; // after the last call

std::atomic<uint64_t> g_era{1};

const int g_registered = pthread_atfork(nullptr, nullptr, [] { g_era++; });

} // namespace

uint64_t fork_era()
{
    (void)g_registered;
    return g_era.load(std::memory_order_relaxed);
}

Queue::Queue() : era_(fork_era())
{
}

Queue::~Queue()
{
    close();
    if (is_dead() && worker_.joinable()) {
        worker_.detach(); // it is the parent's
    }
}

bool Queue::is_dead() const
{
    return era_ != fork_era();
}

void Queue::push(Task &task)
{
    if (is_dead()) {
        throw std::runtime_error("tern: the child of a fork is no rank: this process group belongs "
                                 "to its parent");
    }
    Lock lock(mutex_);
    if (closed_) {
        throw std::runtime_error("tern: the process group has been destroyed");
    }
    task.hold();
    tasks_.push_back(&task);
    pushed_++;
    if (!worker_.joinable()) {
        worker_ = std::thread([this] { work(); });
    } else if (asleep_) {
        asleep_ = false;
        wanted_.notify_one();
    }
}

// Leaves the lock meanwhile; nobody else executes.
void Queue::execute_oldest(Lock &lock)
{
    Task *task = tasks_.front();
    running_ = true;
    begun_++;
    lock.unlock();
    task->execute();
    lock.lock();
    tasks_.pop_front();
    running_ = false;
    task->done_.store(true, std::memory_order_release);
    if (waiters_ > 0) {
        ended_.notify_all();
    }
    if (closed_ || hurried_ > begun_) {
        wanted_.notify_one(); // who executed may leave
    }
    lock.unlock();
    task->finish();
    task->drop();
    lock.lock();
}

void Queue::wait(Task &task)
{
    Lock lock(mutex_);
    while (!task.is_done() && !is_dead()) {
        if (!running_) {
            execute_oldest(lock);
        } else {
            waiters_++;
            ended_.wait(lock);
            waiters_--;
        }
    }
}

bool Queue::wait_until(Task &task, Deadline deadline)
{
    hurry();
    Lock lock(mutex_);
    while (!task.is_done() && std::chrono::steady_clock::now() < deadline) {
        waiters_++;
        ended_.wait_until(lock, deadline);
        waiters_--;
    }
    return task.is_done();
}

void Queue::hurry()
{
    if (is_dead()) {
        return;
    }
    Lock lock(mutex_);
    if (hurried_ == pushed_ || tasks_.empty()) {
        return;
    }
    hurried_ = pushed_;
    asleep_ = false;
    wanted_.notify_one();
}

void Queue::close()
{
    if (is_dead()) {
        return;
    }
    {
        Lock lock(mutex_);
        closed_ = true;
        asleep_ = false;
        wanted_.notify_one();
    }
    if (worker_.joinable() && worker_.get_id() != std::this_thread::get_id()) {
        worker_.join();
    }
}

// Whether the oldest call is the worker's: waits for that, for a tick.
bool Queue::is_due(Lock &lock)
{
    uint64_t begun = begun_;
    if (running_ || tasks_.empty()) {
        wanted_.wait_for(lock, kTick);
        return false;
    }
    if (!closed_ && hurried_ <= begun) {
        wanted_.wait_for(lock, kTick);
    }
    return !running_ && !tasks_.empty() && (begun == begun_ || closed_ || hurried_ > begun_);
}

void Queue::work()
{
    pthread_setname_np(pthread_self(), "tern-group");
    Lock lock(mutex_);
    uint64_t seen = 0;
    int quiet = 0; // ticks in which nothing was pushed
    while (!closed_ || !tasks_.empty()) {
        if (tasks_.empty() && quiet > kTicksAwake) {
            asleep_ = true;
            wanted_.wait(lock, [this] { return !asleep_; });
            quiet = 0;
        }
        if (is_due(lock)) {
            execute_oldest(lock);
        }
        quiet = seen == pushed_ ? quiet + 1 : 0;
        seen = pushed_;
    }
}

} // namespace tern_torch
