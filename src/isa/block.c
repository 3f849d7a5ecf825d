// SPDX-License-Identifier: Apache-2.0
// Blocks and their on-chip memory. It is mapped with a page that nobody may touch behind each
// buffer, so that what runs over the end of one stops there, and costs memory once it is used.

#include "isa/block.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/public.h"
#include "isa/view.h"
#include "sync/bell.h"
#include "sync/ladder.h"

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

static _Thread_local struct tern__block here
    __attribute__((tls_model("initial-exec"))) = {.count = 1};

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

int tern__block_options(void)
{
    return model() >= 0 ? TERN_OK
                        : tern__fail(TERN_ERR_ARG, "TERN_CHIP is '%.40s'; it must be a2a3 or a5",
                                     getenv("TERN_CHIP"));
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

bool tern__block_has(const void *address)
{
    return here.memory != NULL &&
           (uintptr_t)address - (uintptr_t)here.memory < offset_of(TERN_BUFFERS);
}

bool tern__block_locate(const void *address, const char **buffer, size_t *byte, size_t *bytes)
{
    int chip = model();
    if (chip < 0 || !tern__block_has(address)) {
        return false;
    }
    size_t offset = (size_t)((const char *)address - here.memory);
    int which = 0;
    while (offset >= offset_of(which + 1)) {
        which++;
    }
    *buffer = buffers[which].name;
    *byte = offset - offset_of(which);
    *bytes = buffers[which].bytes[chip];
    return true;
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
        return tern__block_options();
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

int tern_block_fail(int status, const char *format, ...)
{
    char text[TERN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tern__fail(status < 0 ? status : TERN_ERR_KERNEL, "%s", text);
}

int tern_block_note(int status, const char *format, ...)
{
    char text[TERN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    status = status < 0 ? status : TERN_ERR_KERNEL;
    if (here.kernel != NULL && here.noted == TERN_OK) {
        here.noted = status;
        here.note = strdup(text); // without it the status has the thread's last sentence
    }
    return tern__fail(status, "%s", text);
}

int tern__block_end(int status)
{
    const int noted = here.noted;
    char *note = here.note;
    here.noted = TERN_OK;
    here.note = NULL;
    if (status >= 0 && noted != TERN_OK) {
        status = noted;
        if (note != NULL) {
            tern__set_error("%s", note);
        }
    }
    free(note);
    return status;
}

void tern_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    tern__bell_ring(tern__local_bell()); // for who waits for what was only stored
    tern__ring_owed();
}

struct arrival {
    const struct tern__block_meeting *meeting;
    uint32_t wanted;
};

static bool all_arrived(void *arg)
{
    const struct arrival *arrival = arg;
    // partner: the add in block_sync; acquires what the blocks wrote
    return tern__reached(tern__flag_load(&arrival->meeting->arrived), arrival->wanted);
}

static int block_sync(void)
{
    uint32_t count = (uint32_t)here.count;
    if (count == 1) {
        return TERN_OK;
    }
    struct tern__block_meeting *meeting = here.meeting;
    uint32_t before = tern__flag_add(&meeting->arrived, 1); // partner: all_arrived
    struct arrival arrival = {meeting, (before / count + 1) * count};
    struct tern__ladder ladder = tern__ladder_for(INT_MAX, 1);
    struct tern__wait wait = {.bell = &meeting->bell,
                              .ladder = &ladder,
                              .holds = all_arrived,
                              .broken = tern__never_broken,
                              .arg = &arrival};
    TERN_TRY(tern__timeout_option(0, &wait.timeout_ns));
    if (before + 1 == arrival.wanted) {
        tern__bell_ring(&meeting->bell);
        return TERN_OK;
    }
    int status = tern__ladder_climb(&wait);
    return status != TERN_ERR_TIMEOUT
               ? status
               : tern__fail(TERN_ERR_TIMEOUT,
                            "tern_block_sync: after %.3g s %u of the %u blocks of kernel '%s' have "
                            "not come",
                            (double)wait.timeout_ns * 1e-9,
                            arrival.wanted - tern__flag_load(&meeting->arrived), count,
                            here.kernel);
}

int tern_block_sync(void)
{
    return TERN__CALL(block_sync());
}
