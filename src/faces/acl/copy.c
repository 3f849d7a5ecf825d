// SPDX-License-Identifier: Apache-2.0
// Copies and fillings: at once, or in the order of a stream. Host and device memory are one.

#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "faces/acl/memory.h"
#include "faces/acl/state.h"
#include "tern/stream.h"

// Rows of a copy, or with from == NULL of a filling.
struct transfer {
    char *to;
    const char *from;
    size_t width, height;
    size_t to_pitch, from_pitch; // bytes from row to row
    int32_t value;
};

static int run_transfer(void *args)
{
    const struct transfer *transfer = args;
    for (size_t row = 0; row < transfer->height; row++) {
        char *to = transfer->to + row * transfer->to_pitch;
        if (transfer->from != NULL) {
            tern__memmove(to, transfer->from + row * transfer->from_pitch, transfer->width);
        } else {
            memset(to, transfer->value, transfer->width);
        }
    }
    return TERN_OK;
}

static int extent(const char *call, const struct transfer *transfer, size_t pitch, size_t *bytes)
{
    if (transfer->height > 1 && transfer->width > pitch) {
        return tern__fail(TERN_ERR_ARG, "%s: rows of %zu bytes begin %zu bytes apart", call,
                          transfer->width, pitch);
    }
    if (__builtin_mul_overflow(transfer->height - 1, pitch, bytes) ||
        __builtin_add_overflow(*bytes, transfer->width, bytes)) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu rows, %zu bytes apart, are more than memory has",
                          call, transfer->height, pitch);
    }
    return TERN_OK;
}

static int check_transfer(const char *call, const struct transfer *transfer, size_t most,
                          bool fills)
{
    size_t to_bytes, from_bytes;
    if (transfer->width == 0 || transfer->height == 0) {
        return TERN_OK;
    }
    if (transfer->to == NULL || (transfer->from == NULL && !fills)) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call,
                          transfer->to == NULL ? "dst" : "src");
    }
    TERN_TRY(extent(call, transfer, transfer->to_pitch, &to_bytes));
    if (to_bytes > most) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu bytes to %p, which has %zu", call, to_bytes,
                          (void *)transfer->to, most);
    }
    TERN_TRY(tern__acl_memory_check_use(call, "dst", transfer->to, to_bytes));
    if (fills) {
        return TERN_OK;
    }
    TERN_TRY(extent(call, transfer, transfer->from_pitch, &from_bytes));
    return tern__acl_memory_check_use(call, "src", transfer->from, from_bytes);
}

// In the order of the stream; NULL: at once.
static aclError begin(const char *call, struct transfer transfer, size_t most, bool fills,
                      aclrtStream stream)
{
    int status = check_transfer(call, &transfer, most, fills);
    if (status != TERN_OK || transfer.width == 0 || transfer.height == 0) {
        return tern__acl_error(status);
    }
    return tern__acl_error(
        stream == NULL
            ? run_transfer(&transfer)
            : tern_stream_launch(stream, &(tern_stream_kernel){.kernel = run_transfer,
                                                               .name = call,
                                                               .blocks = 1,
                                                               .args = &transfer,
                                                               .args_bytes = sizeof transfer}));
}

static struct transfer one_row(void *to, const void *from, size_t count, int32_t value)
{
    return (struct transfer){.to = to, .from = from, .width = count, .height = 1, .value = value};
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    (void)kind;
    return begin("aclrtMemcpy", one_row(dst, src, count, 0), destMax, false, NULL);
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream)
{
    (void)kind;
    return begin("aclrtMemcpyAsync", one_row(dst, src, count, 0), destMax, false, stream);
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    return begin("aclrtMemset", one_row(devPtr, NULL, count, value), maxCount, true, NULL);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream)
{
    return begin("aclrtMemsetAsync", one_row(devPtr, NULL, count, value), maxCount, true, stream);
}

static struct transfer rows(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                            size_t height)
{
    return (struct transfer){.to = dst,
                             .from = src,
                             .width = width,
                             .height = height,
                             .to_pitch = dpitch,
                             .from_pitch = spitch};
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind)
{
    (void)kind;
    return begin("aclrtMemcpy2d", rows(dst, dpitch, src, spitch, width, height), SIZE_MAX, false,
                 NULL);
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream)
{
    (void)kind;
    return begin("aclrtMemcpy2dAsync", rows(dst, dpitch, src, spitch, width, height), SIZE_MAX,
                 false, stream);
}
