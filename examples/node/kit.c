// SPDX-License-Identifier: Apache-2.0
// What the cases share (kit.h).

#include "kit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tern/isa.h"
#include "tern/put.h"
#include "tern/window.h"

enum { PIECE = 1024 }; // elements that are read at once

int floats(tern_region *region, void *address, uint32_t count)
{
    return tern_region_make(region, address, &count, 1, TERN_REGION_F32);
}

float *data_of(int64_t arg)
{
    return tern_region_data((const tern_region *)(intptr_t)arg);
}

uint64_t count_of(int64_t arg)
{
    return tern_region_count((const tern_region *)(intptr_t)arg);
}

void *at(const tern_context *context, uint32_t rank, size_t offset_bytes)
{
    return (char *)(uintptr_t)context->windowsIn[rank] + offset_bytes;
}

int put(void *there, const void *here, size_t size_bytes)
{
    tern_window *window;
    int rank;
    size_t offset_bytes;
    TRY(tern_window_find(there, &window, &rank, &offset_bytes));
    return tern_put(window, rank, offset_bytes, here, size_bytes);
}

int get(const void *there, void *here, size_t size_bytes)
{
    tern_window *window;
    int rank;
    size_t offset_bytes;
    TRY(tern_window_find(there, &window, &rank, &offset_bytes));
    return tern_get(window, rank, offset_bytes, here, size_bytes);
}

int notify(void *word)
{
    tern_tensor signal = tern_tensor_1d(word, TERN_I32, 1);
    return tern_tensor_notify(&signal, 1, TERN_NOTIFY_ADD);
}

int await_word(void *word, int32_t value)
{
    tern_tensor signal = tern_tensor_1d(word, TERN_I32, 1);
    return tern_tensor_wait(&signal, TERN_CMP_GE, value, TERN_TIMEOUT_DEFAULT);
}

void kernel_status(int status)
{
    if (status < 0) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

int meet(const tern_context *context, int32_t n)
{
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        TRY(notify(at(context, peer, 4 * context->rankId)));
    }
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        TRY(await_word(at(context, context->rankId, 4 * peer), n));
    }
    return TERN_OK;
}

bool verify(const char *name, tern_domain *domain, int member, size_t offset_bytes, int count,
            float tolerance, float (*expected)(int member, int i))
{
    float seen[PIECE];
    for (int i = 0; i < count; i++) {
        const int left = count - i < PIECE ? count - i : PIECE;
        if (i % PIECE == 0 &&
            tern_domain_read(domain, member, offset_bytes + (size_t)i * sizeof *seen, seen,
                             (size_t)left * sizeof *seen) != TERN_OK) {
            fprintf(stderr, "%s: %s\n", name, tern_last_error());
            return false;
        }
        const float wanted = expected(member, i);
        if (!(fabsf(seen[i % PIECE] - wanted) <= tolerance)) {
            fprintf(stderr, "%s: member %d, element %d: %.9g, expected %.9g\n", name, member, i,
                    (double)seen[i % PIECE], (double)wanted);
            return false;
        }
    }
    return true;
}
