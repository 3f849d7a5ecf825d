// SPDX-License-Identifier: Apache-2.0
// How the instructions of the face call tern's C functions. An instruction that tern refuses throws
// pto::tern_refusal: a kernel's block ends there, and synchronizing with its stream says why;
// outside of kernels it is an exception like any other.
#ifndef TERN_FACES_PTO_TERN_CALL_HPP
#define TERN_FACES_PTO_TERN_CALL_HPP

#include <cstdio>
#include <exception>

#include "pto/common/pto_tile.hpp"
#include "tern/block.h"
#include "tern/status.h"

namespace pto
{

class tern_refusal : public std::exception
{
  public:
    tern_refusal(const char *name, int status) : status_(status)
    {
        std::snprintf(text_, sizeof text_, "%s: %s", name, tern_last_error());
    }
    const char *what() const noexcept override
    {
        return text_;
    }
    int status() const noexcept
    {
        return status_;
    }

  private:
    int status_;
    char text_[1100]; // tern_last_error() has less than 1024
};

namespace tern_detail
{

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char *name, int status)
{
    throw tern_refusal(name, status);
}

// What a C function has returned to the instruction of this name.
inline int check(const char *name, int status)
{
    if (__builtin_expect(status < 0, 0)) {
        refuse(name, status);
    }
    return status;
}

template <typename... Events> inline void wait_for(Events &...events)
{
    (static_cast<void>(events.Wait()), ...);
}

// The same where a tile for what lies between may come first: nothing is put there.
template <typename... Rest> inline void wait_for_but_tiles(Rest &...rest)
{
    const auto wait = [](auto &one) {
        if constexpr (!is_tile<std::remove_cv_t<std::remove_reference_t<decltype(one)>>>::value) {
            static_cast<void>(one.Wait());
        }
    };
    (wait(rest), ...);
    static_cast<void>(wait);
}

// A tile, or nullptr for none, as the C functions take it; what they make of a dynamic one goes
// back.
template <typename T> class tile_operand
{
  public:
    explicit tile_operand(T *tile) : tile_(tile), view_()
    {
        if (tile != nullptr) {
            view_ = tile->tern_view();
        }
    }
    ~tile_operand()
    {
        if (tile_ != nullptr) {
            tile_->tern_take(view_);
        }
    }
    tile_operand(const tile_operand &) = delete;
    tile_operand &operator=(const tile_operand &) = delete;
    operator tern_tile *()
    {
        return tile_ != nullptr ? &view_ : nullptr;
    }

  private:
    T *tile_;
    tern_tile view_;
};

// Two operands of a transfer between memories.
template <typename A, typename B> inline constexpr void check_types()
{
    static_assert(std::is_same_v<typename A::RawDType, typename B::RawDType>,
                  "destination and source have one element type");
    static_assert(A::layout == B::layout, "destination and source have one layout");
}

template <typename Global, typename T> inline constexpr void check_tile()
{
    static_assert(std::is_same_v<typename Global::RawDType, typename T::DType>,
                  "the tile has the tensor's element type");
}

} // namespace tern_detail
} // namespace pto

#endif
