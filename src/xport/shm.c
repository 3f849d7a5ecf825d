// SPDX-License-Identifier: Apache-2.0
// Shared memory as a transport: a put is a store. Data path: no allocation, lock, system call or
// log.

#include <stdatomic.h>
#include <string.h>

#include "base/half.h"
#include "xport/xport.h"

static void shm_put(char *remote, const char *local, size_t size_bytes)
{
    memcpy(remote, local, size_bytes);
}

static void shm_get(const char *remote, char *local, size_t size_bytes)
{
    memcpy(local, remote, size_bytes);
}

static void shm_put_block(char *remote, const char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        memcpy(remote + row * block->window_stride_bytes, local + row * block->local_stride_bytes,
               block->row_bytes);
    }
}

static void shm_get_block(const char *remote, char *local, const tern_block *block)
{
    for (size_t row = 0; row < block->rows; row++) {
        memcpy(local + row * block->local_stride_bytes, remote + row * block->window_stride_bytes,
               block->row_bytes);
    }
}

// Additions are atomic one by one and ordered by the notify that follows, hence relaxed.
#define DEFINE_INTEGER_ADD(type)                                                                   \
    static void add_##type(char *remote, const char *local, size_t count)                          \
    {                                                                                              \
        _Atomic type *to = (_Atomic type *)(void *)remote;                                         \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value;                                                                            \
            memcpy(&value, local + i * sizeof value, sizeof value);                                \
            atomic_fetch_add_explicit(&to[i], value, memory_order_relaxed);                        \
        }                                                                                          \
    }

DEFINE_INTEGER_ADD(uint8_t)
DEFINE_INTEGER_ADD(uint16_t)
DEFINE_INTEGER_ADD(uint32_t)
DEFINE_INTEGER_ADD(uint64_t)

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

// No processor adds floats atomically: compare and swap the bits.
#define DEFINE_FLOAT_ADD(name, bits)                                                               \
    static void add_##name(char *remote, const char *local, size_t count)                          \
    {                                                                                              \
        _Atomic bits *to = (_Atomic bits *)(void *)remote;                                         \
        for (size_t i = 0; i < count; i++) {                                                       \
            bits value;                                                                            \
            memcpy(&value, local + i * sizeof value, sizeof value);                                \
            bits old = atomic_load_explicit(&to[i], memory_order_relaxed);                         \
            while (!atomic_compare_exchange_weak_explicit(&to[i], &old, sum_##name(old, value),    \
                                                          memory_order_relaxed,                    \
                                                          memory_order_relaxed)) {                 \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_FLOAT_ADD(f16, uint16_t)
DEFINE_FLOAT_ADD(bf16, uint16_t)
DEFINE_FLOAT_ADD(f32, uint32_t)
DEFINE_FLOAT_ADD(f64, uint64_t)

static void shm_put_add(char *remote, const char *local, size_t count, tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F32:
        add_f32(remote, local, count);
        break;
    case TERN_F16:
        add_f16(remote, local, count);
        break;
    case TERN_BF16:
        add_bf16(remote, local, count);
        break;
    case TERN_F64:
        add_f64(remote, local, count);
        break;
    case TERN_I8:
    case TERN_U8:
        add_uint8_t(remote, local, count);
        break;
    case TERN_I16:
    case TERN_U16:
        add_uint16_t(remote, local, count);
        break;
    case TERN_I32:
    case TERN_U32:
        add_uint32_t(remote, local, count);
        break;
    case TERN_I64:
    case TERN_U64:
        add_uint64_t(remote, local, count);
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
