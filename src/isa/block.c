// SPDX-License-Identifier: Apache-2.0
// Blocks and their on-chip memory. It is mapped with a page that nobody may touch behind each
// buffer, so that what runs over the end of one stops there, and costs memory once it is used.

#include "isa/block.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/public.h"

enum { MODELS = 2, GUARD_BYTES = 64 << 10, ALIGN_BYTES = 32 };

static const char *const model_names[MODELS] = {"a2a3", "a5"};

static const struct {
    const char *name;
    size_t bytes[MODELS];
} buffers[TERN_BUFFERS] = {
#define TERN_BUFFER(NAME, name, a2a3_bytes, a5_bytes) {name, {a2a3_bytes, a5_bytes}},
#include "tern/buffer.def"
#undef TERN_BUFFER
};

static _Thread_local struct tern__block here = {.count = 1};

struct tern__block *tern__block_here(void)
{
    return &here;
}

int tern_block_index(void)
{
    return here.index;
}

int tern_block_count(void)
{
    return here.count;
}

// Its number, or -1 for a word that there is not. Read once: a chip does not change.
static int model(void)
{
    static _Atomic uint32_t known; // 1 more than the number; 0: not read
    uint32_t seen = tern__peek(&known);
    if (seen != 0) {
        return (int)seen - 1;
    }
    const char *text = getenv("TERN_CHIP");
    for (int i = 0; i < MODELS; i++) {
        if (text == NULL || *text == '\0' || strcmp(text, model_names[i]) == 0) {
            tern__poke(&known, (uint32_t)i + 1);
            return i;
        }
    }
    return -1;
}

size_t tern_buffer_size(tern_buffer buffer)
{
    int chip = model();
    return chip >= 0 && (unsigned)buffer < TERN_BUFFERS ? buffers[buffer].bytes[chip] : 0;
}

// From the beginning of the memory to that of a buffer; the same on all models.
static size_t offset_of(int buffer)
{
    size_t offset = 0;
    for (int i = 0; i < buffer; i++) {
        size_t most =
            buffers[i].bytes[0] > buffers[i].bytes[1] ? buffers[i].bytes[0] : buffers[i].bytes[1];
        offset += (most + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + GUARD_BYTES;
    }
    return offset;
}

static pthread_key_t at_end;

static void unmap(void *memory)
{
    munmap(memory, offset_of(TERN_BUFFERS));
}

static void make_key(void)
{
    pthread_key_create(&at_end, unmap);
}

static int map_memory(int chip)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    char *memory = mmap(NULL, offset_of(TERN_BUFFERS), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return tern__fail_errno(TERN_ERR_MEMORY, "no memory for the buffers of a block");
    }
    for (int i = 0; i < TERN_BUFFERS; i++) {
        if (mprotect(memory + offset_of(i), buffers[i].bytes[chip], PROT_READ | PROT_WRITE) != 0) {
            int status = tern__fail_errno(TERN_ERR_MEMORY, "no memory for the buffers of a block");
            unmap(memory);
            return status;
        }
    }
    here.memory = memory;
    pthread_setspecific(at_end, memory);
    return TERN_OK;
}

static int buffer_address(tern_buffer buffer, size_t offset_bytes, size_t size_bytes,
                          void **address)
{
    int chip = model();
    if (chip < 0) {
        return tern__fail(TERN_ERR_ARG, "TERN_CHIP is '%.40s'; it must be a2a3 or a5",
                          getenv("TERN_CHIP"));
    }
    if ((unsigned)buffer >= TERN_BUFFERS || address == NULL) {
        return tern__fail(TERN_ERR_ARG, address == NULL
                                            ? "tern_buffer_address: address must not be NULL"
                                            : "tern_buffer_address: there is no such buffer");
    }
    size_t has = buffers[buffer].bytes[chip];
    if (offset_bytes > has || size_bytes > has - offset_bytes) {
        return tern__fail(TERN_ERR_ARG,
                          "%zu bytes at offset %#zx of %s reach beyond its %zu bytes (chip %s)",
                          size_bytes, offset_bytes, buffers[buffer].name, has, model_names[chip]);
    }
    if (offset_bytes % ALIGN_BYTES != 0) {
        return tern__fail(TERN_ERR_ARG, "offset %#zx of %s is no multiple of %d bytes",
                          offset_bytes, buffers[buffer].name, ALIGN_BYTES);
    }
    if (here.memory == NULL) {
        TERN_TRY(map_memory(chip));
    }
    *address = here.memory + offset_of((int)buffer) + offset_bytes;
    return TERN_OK;
}

int tern_buffer_address(tern_buffer buffer, size_t offset_bytes, size_t size_bytes, void **address)
{
    return TERN__CALL(buffer_address(buffer, offset_bytes, size_bytes, address));
}
