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
    ~World();
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    tern_comm *const comm;
    const std::string name; // the same on all ranks, and no other job's
    const uint64_t era;
};

// A process group's communicator and its queue.
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

    const std::shared_ptr<World> world;
    tern_comm *const comm; // the world's, or a part
    const int rank, size;
    const int64_t timeout_ns;
    Queue queue;
};

// The world of this process, or null: where memory for tensors comes from.
std::shared_ptr<World> current_world();

} // namespace tern_torch

#endif
