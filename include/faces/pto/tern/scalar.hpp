// SPDX-License-Identifier: Apache-2.0
// Single words of global memory, past the caches of the chip: read as they are now, and added to
// atomically, also where other ranks wait for them.
#ifndef TERN_FACES_PTO_TERN_SCALAR_HPP
#define TERN_FACES_PTO_TERN_SCALAR_HPP

#include "pto/tern/call.hpp"
#include "tern/isa.h"

enum atomic_type_t { ATOMIC_S32 };
enum atomic_op_t { ATOMIC_SUM };

// What st_atomic does: of words of 32 bits, with signs, there is the sum.
inline void set_st_atomic_cfg(atomic_type_t, atomic_op_t)
{
}

template <typename T> inline void st_atomic(T value, __gm__ T *address)
{
    static_assert(std::is_same_v<T, int32_t>, "words of 32 bits, with signs");
    tern_tensor word = {address, TERN_I32, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    pto::tern_detail::check("st_atomic", tern_tensor_notify(&word, value, TERN_NOTIFY_ADD));
}

// `bytes` behind the address; it is 0 wherever this is used.
template <typename T> inline T ld_dev(const __gm__ T *address, int16_t bytes)
{
    static_assert(std::is_integral_v<T>, "an integer");
    const void *place = reinterpret_cast<const char *>(address) + bytes;
    return __atomic_load_n(static_cast<const T *>(place), __ATOMIC_ACQUIRE);
}

#endif
