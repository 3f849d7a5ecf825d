// SPDX-License-Identifier: Apache-2.0
// Memory order, in one place. Every atomic that two threads or two processes share is touched
// through these names; each use says which line is its partner. Over C11 atomics, no fences, so
// that ThreadSanitizer understands all of it.
//
//   publish / observe   release store, acquire load: what was written before publish is visible to
//                       who observed the value.
//   flag_*              sequentially consistent: for the two-sided handshakes (store mine, then
//                       look at yours) of the doorbell, where release and acquire are not enough.
//   peek / poke         relaxed: counters and hints that nothing else hangs on.
#ifndef TERN_BASE_ORDER_H
#define TERN_BASE_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define TERN_CACHE_LINE 64

static inline uint32_t tern__observe(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static inline void tern__publish(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static inline uint32_t tern__peek(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void tern__poke(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline uint32_t tern__flag_load(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_seq_cst);
}

static inline void tern__flag_store(_Atomic uint32_t *word, uint32_t value)
{
    atomic_exchange_explicit(word, value, memory_order_seq_cst);
}

static inline uint32_t tern__flag_add(_Atomic uint32_t *word, uint32_t value)
{
    return atomic_fetch_add_explicit(word, value, memory_order_seq_cst);
}

// What it was; it is 0 now.
static inline uint32_t tern__flag_take(_Atomic uint32_t *word)
{
    return atomic_exchange_explicit(word, 0, memory_order_seq_cst);
}

static inline bool tern__flag_swap(_Atomic uint32_t *word, uint32_t expected, uint32_t desired)
{
    return atomic_compare_exchange_strong_explicit(word, &expected, desired, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

static inline void tern__publish_wide(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

// The same for who observes only one half of it, which ThreadSanitizer takes for another word: it
// is shown the order, and not the store.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize("thread"), noinline, unused)) static void
tern__publish_halves(_Atomic uint64_t *word, uint64_t value)
{
    __tsan_release(word);
    __tsan_release((char *)(void *)word + sizeof(uint32_t));
    atomic_store_explicit(word, value, memory_order_release);
}
#else
#define tern__publish_halves tern__publish_wide
#endif

// 8 bytes, or else 4, that lie aligned: as one store, so that who observes them sees what was
// stored before.
static inline void tern__publish_bytes(char *to, const char *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t)) {
        uint64_t wide;
        memcpy(&wide, from, sizeof wide);
        tern__publish_halves((_Atomic uint64_t *)(void *)to, wide);
    } else {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        tern__publish((_Atomic uint32_t *)(void *)to, word);
    }
}

// Asks for a line for writing, ahead of the store. A hint: no fault, no effect but on time.
static inline void tern__own_line(const void *line)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1, 3);
#endif
}

// Whether a word that counts up, and around, has come to `wanted`.
static inline bool tern__reached(uint32_t word, uint32_t wanted)
{
    return (int32_t)(word - wanted) >= 0;
}

static inline void tern__cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
