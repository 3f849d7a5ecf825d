// SPDX-License-Identifier: Apache-2.0
// Memory in huge pages (pages.h).

#include "graph/pages.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/ready.h"

#define SMALL (UINT64_C(256) << 10) // bytes that are in small pages

void tern__pages_unmap(void *memory, uint64_t bytes)
{
    if (memory != NULL && bytes > 0) {
        munmap(memory, bytes);
    }
}

void *tern__pages_map(uint64_t bytes)
{
    const uint64_t spare = bytes > SMALL ? TERN__HUGE_PAGE_BYTES : 0;
    char *mapped = mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    if (spare == 0) {
        return mapped;
    }
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t before =
        (2 * TERN__HUGE_PAGE_BYTES - SMALL - (uintptr_t)mapped % TERN__HUGE_PAGE_BYTES) %
        TERN__HUGE_PAGE_BYTES;
    char *memory = mapped + before, *end = memory + (bytes + page - 1) / page * page;
    tern__pages_unmap(mapped, before);
    tern__pages_unmap(end, (uint64_t)(mapped + bytes + spare - end));
    (void)madvise(memory + SMALL, bytes - SMALL, MADV_HUGEPAGE); // a hint
    return memory;
}
