// SPDX-License-Identifier: Apache-2.0
// memfd, seals, mapping.

#include "mem/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

size_t tern__round_up(size_t size, size_t unit)
{
    return size > SIZE_MAX - (unit - 1) ? 0 : (size + unit - 1) & ~(unit - 1);
}

size_t tern__page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int tern__memfd_create(const char *name, size_t size_bytes, bool huge, int *fd)
{
    // Beyond the limit ftruncate would not only fail, it would raise SIGXFSZ.
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size_bytes) {
        return tern__fail(
            TERN_ERR_MEMORY,
            "%zu bytes of shared memory exceed this process's file size limit of %llu "
            "bytes (ulimit -f)",
            size_bytes, (unsigned long long)limit.rlim_cur);
    }
    int made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB : 0u));
    if (made < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "memfd_create(%s)", name);
    }
    errno = EFBIG;
    if (size_bytes > INT64_MAX || ftruncate(made, (off_t)size_bytes) != 0) {
        tern__fail_errno(TERN_ERR_MEMORY, "a memfd cannot have %zu bytes", size_bytes);
        close(made);
        return TERN_ERR_MEMORY;
    }
    if (fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        tern__fail_errno(TERN_ERR_SYSTEM, "sealing a memfd");
        close(made);
        return TERN_ERR_SYSTEM;
    }
    *fd = made;
    return TERN_OK;
}

int tern__memfd_map_at(int fd, size_t offset_bytes, size_t size_bytes, void *at, void **base)
{
    void *mapped = mmap(at, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (at != NULL ? MAP_FIXED : 0), fd, (off_t)offset_bytes);
    if (mapped == MAP_FAILED) {
        return tern__fail_errno(TERN_ERR_MEMORY, "cannot map %zu bytes of shared memory",
                                size_bytes);
    }
    *base = mapped;
    return TERN_OK;
}

int tern__memfd_map(int fd, size_t size_bytes, void **base)
{
    return tern__memfd_map_at(fd, 0, size_bytes, NULL, base);
}

int tern__memfd_reserve(size_t size_bytes, void *at, void **base)
{
    void *mapped =
        mmap(at, size_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != NULL ? MAP_FIXED : 0), -1, 0);
    if (mapped == MAP_FAILED) {
        return tern__fail_errno(TERN_ERR_MEMORY, "cannot reserve %zu bytes of addresses",
                                size_bytes);
    }
    *base = mapped;
    return TERN_OK;
}

// Addresses without memory, at a multiple of a huge page.
static char *reserve_huge(size_t size_bytes)
{
    size_t more = size_bytes + TERN_HUGE_PAGE_BYTES;
    void *mapped;
    if (tern__memfd_reserve(more, NULL, &mapped) != TERN_OK) {
        return NULL;
    }
    char *end = (char *)mapped + more;
    size_t skip = TERN_HUGE_PAGE_BYTES - (uintptr_t)mapped % TERN_HUGE_PAGE_BYTES;
    char *begin = (char *)mapped + skip % TERN_HUGE_PAGE_BYTES;
    tern__memfd_unmap(mapped, (size_t)(begin - (char *)mapped));
    tern__memfd_unmap(begin + size_bytes, (size_t)(end - begin) - size_bytes);
    return begin;
}

int tern__memfd_map_parts(int fd, size_t part_bytes, int parts, uint64_t mapped, void **base)
{
    size_t total = part_bytes * (size_t)parts;
    char *begin = reserve_huge(total);
    int status = begin != NULL ? TERN_OK : TERN_ERR_MEMORY;
    for (int part = 0; part < parts && status == TERN_OK; part++) {
        size_t at = (size_t)part * part_bytes;
        void *there;
        status = (mapped >> part & 1) == 0
                     ? TERN_OK
                     : tern__memfd_map_at(fd, at, part_bytes, begin + at, &there);
    }
    if (status != TERN_OK) {
        tern__memfd_unmap(begin, total);
        return status;
    }
    *base = begin;
    return TERN_OK;
}

void *tern__memfd_alias(void *base, size_t size_bytes)
{
    void *alias = mremap(base, 0, size_bytes, MREMAP_MAYMOVE); // of nothing: the old one stays
    return alias == MAP_FAILED ? NULL : alias;
}

void tern__memfd_unmap(void *base, size_t size_bytes)
{
    if (base != NULL && size_bytes > 0) {
        munmap(base, size_bytes);
    }
}

int tern__memfd_prefault(void *base, size_t size_bytes)
{
    if (madvise(base, size_bytes, MADV_POPULATE_WRITE) == 0) {
        return TERN_OK;
    }
    if (errno == EINVAL) { // a kernel before 5.14: touch the pages, the size was checked before
        volatile char *bytes = base;
        for (size_t at = 0; at < size_bytes; at += tern__page_bytes()) {
            char value = bytes[at];
            bytes[at] = value;
        }
        return TERN_OK;
    }
    return tern__fail_errno(TERN_ERR_MEMORY, "cannot make %zu bytes of a window present",
                            size_bytes);
}

int tern__memfd_close_off(void *base, size_t size_bytes)
{
    return mprotect(base, size_bytes, PROT_NONE) == 0
               ? TERN_OK
               : tern__fail_errno(TERN_ERR_MEMORY, "cannot close off %zu bytes", size_bytes);
}

void tern__memfd_dump(void *base, size_t size_bytes, bool dumped)
{
    madvise(base, size_bytes, dumped ? MADV_DODUMP : MADV_DONTDUMP);
}

size_t tern__memfd_untouched(int fd, size_t size_bytes)
{
    struct stat state;
    if (fstat(fd, &state) != 0 || state.st_blocks < 0) {
        return 0;
    }
    size_t touched = (size_t)state.st_blocks * 512;
    return touched < size_bytes ? size_bytes - touched : 0;
}
