// SPDX-License-Identifier: Apache-2.0
// Launching kernels. `tern kernel-cc` writes  K<<<blocks, nullptr, stream>>>(arguments)  as
// K % pto_launch("K", blocks, nullptr, stream)(arguments),  which is this.
#ifndef TERN_FACES_PTO_TERN_LAUNCH_HPP
#define TERN_FACES_PTO_TERN_LAUNCH_HPP

#if __cplusplus < 201703L

// Sources of older standards are compiled, too, as long as they launch nothing.
struct launches_of_kernels_need_std_cpp17;
launches_of_kernels_need_std_cpp17 pto_launch(...);

#else

#include <climits>
#include <tuple>
#include <type_traits>

#include "pto/tern/call.hpp"
#include "tern/stream.h"

namespace pto
{
namespace tern_detail
{

template <typename... Arguments> struct bound {
    const char *name;
    int64_t blocks;
    tern_stream *stream;
    std::tuple<Arguments...> arguments;
};

struct launcher {
    const char *name;
    int64_t blocks;
    tern_stream *stream;
    template <typename... Arguments> bound<Arguments &&...> operator()(Arguments &&...given) const
    {
        return {name, blocks, stream, std::forward_as_tuple(std::forward<Arguments>(given)...)};
    }
};

template <typename... Parameters> struct call {
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> arguments;

    static int run(void *memory)
    {
        call &self = *static_cast<call *>(memory);
        try {
            std::apply(self.kernel, self.arguments);
            return TERN_OK;
        } catch (const tern_refusal &refusal) {
            return tern_block_fail(refusal.status(), "%s", refusal.what());
        } catch (const std::exception &exception) {
            return tern_block_fail(TERN_ERR_KERNEL, "the kernel threw: %s", exception.what());
        } catch (...) {
            return tern_block_fail(TERN_ERR_KERNEL, "the kernel threw what is no std::exception");
        }
    }
};

template <typename... Parameters>
void launch(call<Parameters...> what, const char *name, int64_t blocks, tern_stream *stream)
{
    static_assert((std::is_trivially_copyable_v<std::decay_t<Parameters>> && ...),
                  "arguments of a kernel are copied as bytes");
    static_assert(alignof(call<Parameters...>) <= TERN_STREAM_ARGS_ALIGN,
                  "arguments of a kernel are aligned to 64 bytes, to no more");
    tern_stream_kernel kernel = {};
    kernel.kernel = call<Parameters...>::run;
    kernel.name = name;
    kernel.blocks = static_cast<int>(blocks > INT_MAX   ? INT_MAX
                                     : blocks < INT_MIN ? INT_MIN
                                                        : blocks);
    kernel.args = &what;
    kernel.args_bytes = sizeof what;
    if (stream == nullptr) { // the default stream: in order with the caller
        tern_stream *own = nullptr;
        check("<<<>>>", tern_stream_create(&own));
        int status = tern_stream_launch(own, &kernel);
        int ended = tern_stream_destroy(own);
        check("<<<>>>", status < 0 ? status : ended);
        return;
    }
    check("<<<>>>", tern_stream_launch(stream, &kernel));
}

template <typename... Parameters, typename... Arguments>
void operator%(void (*kernel)(Parameters...), bound<Arguments...> given)
{
    static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                  "a kernel is launched with as many arguments as it has parameters");
    std::apply(
        [&](auto &&...arguments) {
            // Qualified: nothing that stands beside the types of arguments is meant.
            tern_detail::launch(
                call<Parameters...>{kernel, {static_cast<std::decay_t<Parameters>>(arguments)...}},
                given.name, given.blocks, given.stream);
        },
        std::move(given.arguments));
}

} // namespace tern_detail
} // namespace pto

// The kernel's name in sentences; blocks, nullptr, and a stream (aclrtStream, tern_stream *;
// nullptr: in order with the caller).
inline pto::tern_detail::launcher pto_launch(const char *name, int64_t blocks, const void *,
                                             void *stream)
{
    return {name, blocks, static_cast<tern_stream *>(stream)};
}

#endif // C++17

#endif
