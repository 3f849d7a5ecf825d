// SPDX-License-Identifier: Apache-2.0
// A float as an argument of a task: its bits in the low 32.
#pragma once

#include <cstdint>
#include <cstring>

static inline uint64_t Bits(float value)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
