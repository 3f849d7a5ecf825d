// SPDX-License-Identifier: Apache-2.0
// Long copies, by the quickest of three ways.

#include "xport/copy.h"

#include "base/memcpy.h"
#include "xport/expose.h"

struct tern__quickest tern__copy_known[TERN__QUICKEST_CLASSES];

struct copy {
    char *to;
    const char *from;
    size_t bytes;
};

void tern__copy_by(enum tern__copy_way way, char *to, const char *from, size_t bytes)
{
    size_t part = way == TERN__COPY_PARTS ? TERN__COPY_PART : bytes;
    if (way == TERN__COPY_PAST) {
        tern__expose(to, from, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += part) {
        tern__memcpy(to + at, from + at, bytes - at < part ? bytes - at : part);
    }
}

static void copy_by(const void *arg, int way)
{
    const struct copy *copy = arg;
    tern__copy_by((enum tern__copy_way)way, copy->to, copy->from, copy->bytes);
}

void tern__copy_long(void *to, const void *from, size_t bytes)
{
    const struct copy copy = {.to = to, .from = from, .bytes = bytes};
    int ways = 2 * (uint64_t)bytes < TERN__PAST_FROM ? TERN__COPY_PAST : TERN__COPY_WAYS;
    tern__quickest_run(tern__copy_known, ways, bytes, copy_by, &copy);
}
