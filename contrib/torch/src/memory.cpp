// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <limits>
#include <stdexcept>

#include "world.hpp"

namespace tern_torch
{

namespace
{

// Below, a call gains nothing, and more blocks make every call slower.
constexpr size_t kLeastBytes = 4096;

std::atomic<bool> g_enabled{false};
c10::Allocator *g_before; // set once, before ours is
uint64_t g_used_era;           // when

// A block belongs to the process that allocated it. One that is left over from a job that has
// ended, or that a fork's child has from its parent, stays as it is.
void free_block(void *block)
{
    std::shared_ptr<World> world = current_world();
    if (world != nullptr && world->comm != nullptr) {
        tern_free(block);
    }
}

// Of memory that somebody asked for without a DataPtr: only its address says whose it is. In the
// child of a fork a block of the parent stays as it is; all else there is the other allocator's.
void free_raw(void *memory)
{
    if (tern_memory_owner(memory) != 0) {
        free_block(memory);
    } else if (g_used_era == fork_era() || tern_free(memory) != TERN_ERR_STATE) {
        g_before->raw_deleter()(memory);
    }
}

class Windows final : public c10::Allocator
{
  public:
    // Takes no lock before it knows that this is no child of a fork: another thread may have had it
    // when the process forked.
    c10::DataPtr allocate(size_t bytes) const override
    {
        if (bytes >= kLeastBytes && g_enabled.load(std::memory_order_relaxed)) {
            std::shared_ptr<World> world = current_world();
            void *block = nullptr;
            if (world != nullptr && world->comm != nullptr &&
                tern_alloc(world->comm, bytes, &block) == TERN_OK) {
                return {block, block, &free_block, at::kCPU};
            }
        }
        return g_before->allocate(bytes);
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return &free_raw;
    }
};

Windows g_windows;

} // namespace

at::Tensor empty_in_window(const std::vector<int64_t> &sizes, at::ScalarType type)
{
    size_t bytes = c10::elementSize(type);
    for (int64_t size : sizes) {
        if (size < 0 || __builtin_mul_overflow(bytes, (size_t)size, &bytes)) {
            throw std::invalid_argument("tern: empty: no such shape");
        }
    }
    std::shared_ptr<World> world = current_world();
    if (world == nullptr || world->comm == nullptr) {
        throw std::runtime_error("tern: empty: memory that ranks share needs a process group "
                                 "\"tern\"; call init_process_group first");
    }
    void *block = nullptr;
    int status = tern_alloc(world->comm, std::max<size_t>(bytes, 1), &block);
    if (status < 0) {
        throw_error(status, sentence_of(status));
    }
    return at::from_blob(block, sizes, free_block, at::TensorOptions().dtype(type));
}

void use_windows(bool yes)
{
    if (yes && g_before == nullptr) {
        g_before = c10::GetCPUAllocator();
        g_used_era = fork_era();
        c10::SetCPUAllocator(&g_windows, std::numeric_limits<uint8_t>::max());
    }
    g_enabled = yes;
}

bool uses_windows()
{
    return g_enabled;
}

} // namespace tern_torch
