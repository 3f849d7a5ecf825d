// SPDX-License-Identifier: Apache-2.0
// Shared memory as a transport: a put is a store. Data path: no allocation, lock, system call or
// log.

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/f16c.h"
#include "base/half.h"
#include "base/memcpy.h"
#include "xport/copy.h"
#include "xport/xport.h"

static void shm_put(char *remote, const char *local, size_t size_bytes)
{
    tern__copy(remote, local, size_bytes);
}

static void shm_get(const char *remote, char *local, size_t size_bytes)
{
    tern__copy(local, remote, size_bytes);
}

static void shm_put_block(char *remote, const char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        tern__memcpy(remote + row * block->window_stride_bytes,
                     local + row * block->local_stride_bytes, block->row_bytes);
    }
}

static void shm_get_block(const char *remote, char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        tern__memcpy(local + row * block->local_stride_bytes,
                     remote + row * block->window_stride_bytes, block->row_bytes);
    }
}

static uint16_t sum_f16(uint16_t a, uint16_t b)
{
    return tern__f32_to_f16(tern__f16_to_f32(a) + tern__f16_to_f32(b));
}

static uint16_t sum_bf16(uint16_t a, uint16_t b)
{
    return tern__f32_to_bf16(tern__bf16_to_f32(a) + tern__bf16_to_f32(b));
}

static uint32_t sum_f32(uint32_t a, uint32_t b)
{
    return tern__f32_to_bits(tern__f32_from_bits(a) + tern__f32_from_bits(b));
}

static uint64_t sum_f64(uint64_t a, uint64_t b)
{
    double x;
    double y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

// All elements of a word, each by itself.
#define DEFINE_LANES(name)                                                                         \
    static uint64_t lanes_##name(uint64_t a, uint64_t b)                                           \
    {                                                                                              \
        uint16_t x[4];                                                                             \
        uint16_t y[4];                                                                             \
        memcpy(x, &a, sizeof x);                                                                   \
        memcpy(y, &b, sizeof y);                                                                   \
        for (int i = 0; i < 4; i++) {                                                              \
            x[i] = sum_##name(x[i], y[i]);                                                         \
        }                                                                                          \
        memcpy(&a, x, sizeof a);                                                                   \
        return a;                                                                                  \
    }

DEFINE_LANES(f16)
DEFINE_LANES(bf16)

static uint64_t lanes_f32(uint64_t a, uint64_t b)
{
    uint64_t low = sum_f32((uint32_t)a, (uint32_t)b);
    return (uint64_t)sum_f32((uint32_t)(a >> 32), (uint32_t)(b >> 32)) << 32 | low;
}

// Integers: without the highest bit of each, which then gets what was carried into it.
static uint64_t lanes_integer(uint64_t a, uint64_t b, uint64_t highest)
{
    return ((a & ~highest) + (b & ~highest)) ^ ((a ^ b) & highest);
}

static uint64_t lanes_u8(uint64_t a, uint64_t b)
{
    return lanes_integer(a, b, UINT64_C(0x8080808080808080));
}

static uint64_t lanes_u16(uint64_t a, uint64_t b)
{
    return lanes_integer(a, b, UINT64_C(0x8000800080008000));
}

static uint64_t lanes_u32(uint64_t a, uint64_t b)
{
    return lanes_integer(a, b, UINT64_C(0x8000000080000000));
}

static uint8_t sum_u8(uint8_t a, uint8_t b)
{
    return (uint8_t)(a + b);
}

static uint16_t sum_u16(uint16_t a, uint16_t b)
{
    return (uint16_t)(a + b);
}

static uint32_t sum_u32(uint32_t a, uint32_t b)
{
    return a + b;
}

// Additions are atomic element by element, and ordered by the notify that follows, hence relaxed.
// No processor adds floats atomically: the bits are compared and swapped. That takes as long for a
// whole word as for one element, so it is done for as many as are in one; who adds to some of them
// at that time makes it fail, and it is tried again.
#define SWAP(type, at, value, sum)                                                                 \
    do {                                                                                           \
        _Atomic type *swap_at = (_Atomic type *)(void *)(at);                                      \
        type swap_old = atomic_load_explicit(swap_at, memory_order_relaxed);                       \
        while (!atomic_compare_exchange_weak_explicit(swap_at, &swap_old, sum(swap_old, value),    \
                                                      memory_order_relaxed,                        \
                                                      memory_order_relaxed)) {                     \
        }                                                                                          \
    } while (0)

#define DEFINE_ADD(name, bits, sum, lanes, target)                                                 \
    target static void add_##name(char *remote, const char *local, size_t count)                   \
    {                                                                                              \
        size_t at = 0;                                                                             \
        size_t bytes = count * sizeof(bits);                                                       \
        while (at < bytes) {                                                                       \
            if (((uintptr_t)remote + at) % sizeof(uint64_t) == 0 &&                                \
                bytes - at >= sizeof(uint64_t)) {                                                  \
                uint64_t word;                                                                     \
                memcpy(&word, local + at, sizeof word);                                            \
                SWAP(uint64_t, remote + at, word, lanes);                                          \
                at += sizeof word;                                                                 \
            } else {                                                                               \
                bits one;                                                                          \
                memcpy(&one, local + at, sizeof one);                                              \
                SWAP(bits, remote + at, one, sum);                                                 \
                at += sizeof one;                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_ADD(f16, uint16_t, sum_f16, lanes_f16, )
DEFINE_ADD(bf16, uint16_t, sum_bf16, lanes_bf16, )
DEFINE_ADD(f32, uint32_t, sum_f32, lanes_f32, )
DEFINE_ADD(f64, uint64_t, sum_f64, sum_f64, )
DEFINE_ADD(u8, uint8_t, sum_u8, lanes_u8, )
DEFINE_ADD(u16, uint16_t, sum_u16, lanes_u16, )
DEFINE_ADD(u32, uint32_t, sum_u32, lanes_u32, )

#if defined(__x86_64__)
#define WITH_F16C __attribute__((target("f16c")))

WITH_F16C static inline uint64_t lanes_f16c(uint64_t a, uint64_t b)
{
    __m128 x = _mm_cvtph_ps(_mm_cvtsi64_si128((long long)a));
    __m128 y = _mm_cvtph_ps(_mm_cvtsi64_si128((long long)b));
    __m128i sum = _mm_cvtps_ph(_mm_add_ps(x, y), _MM_FROUND_TO_NEAREST_INT);
    return (uint64_t)_mm_cvtsi128_si64(sum);
}

DEFINE_ADD(f16c, uint16_t, sum_f16, lanes_f16c, WITH_F16C)
#else
#define add_f16c add_f16
#endif

// These the processor adds itself, one at a time.
static void add_u64(char *remote, const char *local, size_t count)
{
    _Atomic uint64_t *to = (_Atomic uint64_t *)(void *)remote;
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, local + i * sizeof value, sizeof value);
        atomic_fetch_add_explicit(&to[i], value, memory_order_relaxed);
    }
}

static void shm_put_add(char *remote, const char *local, size_t count, tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F32:
        add_f32(remote, local, count);
        break;
    case TERN_F16:
        (tern__has_f16c() ? add_f16c : add_f16)(remote, local, count);
        break;
    case TERN_BF16:
        add_bf16(remote, local, count);
        break;
    case TERN_F64:
        add_f64(remote, local, count);
        break;
    case TERN_I8:
    case TERN_U8:
        add_u8(remote, local, count);
        break;
    case TERN_I16:
    case TERN_U16:
        add_u16(remote, local, count);
        break;
    case TERN_I32:
    case TERN_U32:
        add_u32(remote, local, count);
        break;
    case TERN_I64:
    case TERN_U64:
        add_u64(remote, local, count);
        break;
    default: // only moved: nobody asks for a sum
        break;
    }
}

static void shm_notify(char *remote, int32_t value, tern_notify_op op)
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)remote;
    // partner: the waiter's load in isa/signal.c; releases every store before it.
    if (op == TERN_NOTIFY_ADD) {
        atomic_fetch_add_explicit(word, (uint32_t)value, memory_order_seq_cst);
    } else {
        atomic_exchange_explicit(word, (uint32_t)value, memory_order_seq_cst);
    }
}

const struct tern__xport tern__xport_shm = {
    .name = "shm",
    .is_mapped = true,
    .put = shm_put,
    .get = shm_get,
    .put_block = shm_put_block,
    .get_block = shm_get_block,
    .put_add = shm_put_add,
    .notify = shm_notify,
};
