// SPDX-License-Identifier: Apache-2.0
// Where communicators come from. The first group of a process makes a job, the world, through the
// c10d store; a group whose members are all of one world is a part of it, which only they make; any
// other group becomes a world of its own.
#ifndef TERN_TORCH_WORLD_HPP
#define TERN_TORCH_WORLD_HPP

#include <cstdint>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "queue.hpp"
#include "tern/tern.h"

namespace tern_torch
{

// Throws what a program sees of an error of tern: its sentence, and "Timed out" where it is one.
[[noreturn]] void throw_error(int status, const std::string &sentence);
std::string sentence_of(int status);

// A job; shared by the groups made from it, and left with the last of them. Blocks of tern_alloc
// that tensors still have stay mapped.
class World
{
  public:
    World(tern_comm *comm, std::string name) : comm(comm), name(std::move(name)), era(fork_era())
    {
    }
    ~World(); // leave()
    void leave();
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    tern_comm *comm;        // nullptr after leave()
    const std::string name; // the same on all ranks, and no other job's
    const uint64_t era;
};

class Post;

// A process group's communicator, its queue of calls and its messages.
class Group
{
  public:
    // Collective over the members. timeout_ns: of its calls, and of this.
    static std::shared_ptr<Group> start(c10d::Store &store, int rank, int size, int64_t timeout_ns);
    Group(std::shared_ptr<World> world, tern_comm *comm, int rank, int size, int64_t timeout_ns);
    ~Group();
    Group(const Group &) = delete;
    Group &operator=(const Group &) = delete;

    // Ends all calls and lets go, on whatever thread; without Python's lock.
    static void leave(const std::shared_ptr<Group> &group);
    // At the end of the program: ends the calls of all groups and leaves the job. What has not been
    // done in a few seconds is given up.
    static void leave_all();

    const std::shared_ptr<World> world;
    tern_comm *const comm; // the world's, or a part
    const int rank, size;
    const int64_t timeout_ns;
    std::atomic<int64_t> limit_ns{INT64_MAX}; // of calls that begin from now on
    Queue queue;
    const std::unique_ptr<Post> post;

  private:
    void destroy();
    bool destroyed_ = false;
};

// The world of this process, or null: where memory for tensors comes from.
std::shared_ptr<World> current_world();

} // namespace tern_torch

#endif
