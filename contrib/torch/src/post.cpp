// SPDX-License-Identifier: Apache-2.0
#include "post.hpp"

#include <pthread.h>

#include <algorithm>

namespace tern_torch
{

namespace
{

constexpr auto kPatience = std::chrono::seconds(5); // with messages that nobody waits for

} // namespace

Post::~Post()
{
    close();
    if (postman_.joinable()) { // of the parent
        postman_.detach();
    }
}

// What has ended; leaves the lock meanwhile.
void Post::end(Lock &lock, Message &message, int status)
{
    message.end(status);
    c10::intrusive_ptr<Message> held; // it is destroyed without the lock
    for (auto at = messages_.begin(); at != messages_.end(); ++at) {
        if (at->get() == &message) {
            held = std::move(*at);
            messages_.erase(at);
            break;
        }
    }
    ended_.notify_all();
    lock.unlock();
    message.mark();
    held.reset();
    lock.lock();
}

void Post::begin(Message &message, tern_coll &coll)
{
    if (era_ != fork_era()) {
        throw std::runtime_error("tern: the child of a fork is no rank: this process group belongs "
                                 "to its parent");
    }
    Lock lock(mutex_);
    if (closed_) {
        throw std::runtime_error("tern: the process group has been destroyed");
    }
    int status = tern_coll_start(comm_, &coll, &message.request_);
    if (status < 0) {
        throw_error(status, sentence_of(status));
    }
    messages_.push_back(c10::intrusive_ptr<Message>::reclaim_copy(&message));
    int ended = tern_request_test(&message.request_);
    if (ended != 0) {
        end(lock, message, ended < 0 ? ended : TERN_OK);
    } else {
        call_postman();
    }
}

void Post::wait(Message &message)
{
    Lock lock(mutex_);
    while (message.owner_ != Message::Owner::none && !message.done_) {
        ended_.wait(lock);
    }
    if (message.done_ || era_ != fork_era()) {
        return;
    }
    message.owner_ = Message::Owner::waiter;
    lock.unlock();
    int status = tern_request_wait(&message.request_);
    lock.lock();
    end(lock, message, status);
}

bool Post::wait_until(Message &message, Queue::Deadline deadline)
{
    while (!test(message) && std::chrono::steady_clock::now() < deadline) {
        Lock lock(mutex_);
        if (!message.done_) {
            ended_.wait_for(lock, kTick);
        }
    }
    return message.done_;
}

bool Post::test(Message &message)
{
    Lock lock(mutex_);
    if (!message.done_ && message.owner_ == Message::Owner::none && era_ == fork_era()) {
        int ended = tern_request_test(&message.request_);
        if (ended != 0) {
            end(lock, message, ended < 0 ? ended : TERN_OK);
        } else {
            hurried_ = true;
            call_postman();
        }
    }
    return message.done_;
}

// Under the lock.
void Post::call_postman()
{
    if (!postman_.joinable()) {
        postman_ = std::thread([this] { work(); });
    } else if (asleep_) {
        asleep_ = false;
        wanted_.notify_one();
    } else if (hurried_) {
        wanted_.notify_one();
        waiter_->wake();
    }
}

void Post::close()
{
    if (era_ != fork_era()) {
        return;
    }
    Lock lock(mutex_);
    closed_ = true;
    auto until = std::chrono::steady_clock::now() + kPatience;
    while (!messages_.empty()) {
        c10::intrusive_ptr<Message> oldest = messages_.front();
        lock.unlock();
        if (!wait_until(*oldest, until)) { // who waits for it ends now, too
            tern_status_ignore(tern_comm_abort(
                comm_, "a rank has left although messages have not been received or sent"));
            wait(*oldest);
        }
        oldest.reset();
        lock.lock();
    }
    asleep_ = false;
    wanted_.notify_one();
    lock.unlock();
    if (postman_.joinable()) {
        waiter_->wake();
        postman_.join();
    }
}

// Waits for those that the postman has until one has ended, or it is woken, or a tick is over.
void Post::move_taken(Lock &lock)
{
    std::vector<c10::intrusive_ptr<Message>> taken;
    std::vector<tern_request> requests;
    for (const auto &message : messages_) {
        if (message->owner_ == Message::Owner::postman) {
            taken.push_back(message);
            requests.push_back(message->request_);
        }
    }
    int index = -1;
    lock.unlock();
    int status = waiter_->wait_any(requests.data(), (int)requests.size(), &index);
    lock.lock();
    if (index >= 0) {
        taken[(size_t)index]->request_ = requests[(size_t)index];
        end(lock, *taken[(size_t)index], status);
    }
    lock.unlock();
    taken.clear(); // destroyed without the lock
    lock.lock();
}

void Post::work()
{
    pthread_setname_np(pthread_self(), "tern-post");
    Lock lock(mutex_);
    while (!closed_ || !messages_.empty()) {
        if (messages_.empty()) {
            asleep_ = true;
            wanted_.wait(lock, [this] { return !asleep_; });
        }
        bool has_some = false;
        for (const auto &message : messages_) {
            has_some = has_some || message->owner_ == Message::Owner::postman;
        }
        std::vector<const Message *> old; // of those that nobody waits for
        for (const auto &message : messages_) {
            if (message->owner_ == Message::Owner::none) {
                old.push_back(message.get());
            }
        }
        if (!hurried_ && !has_some) {
            wanted_.wait_for(lock, kTick);
        }
        for (const auto &message : messages_) {
            bool waited = std::find(old.begin(), old.end(), message.get()) != old.end();
            if (message->owner_ == Message::Owner::none && (hurried_ || waited)) {
                message->owner_ = Message::Owner::postman;
                has_some = true;
            }
        }
        hurried_ = false;
        if (has_some) {
            move_taken(lock);
        }
    }
}

} // namespace tern_torch
