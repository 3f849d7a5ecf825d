// SPDX-License-Identifier: Apache-2.0
// Anonymous shared memory: a memfd, zero when it is made, sealed against any change of its size, so
// that nobody can pull it away under a reader and no name is left behind. Set-up path.
#ifndef TERN_MEM_MEMFD_H
#define TERN_MEM_MEMFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_HUGE_PAGE_BYTES ((size_t)2 << 20)

// Rounds up to a multiple of a power of two; 0 on overflow.
size_t tern__round_up(size_t size, size_t unit);

// The size of an ordinary page.
size_t tern__page_bytes(void);

// Makes a sealed memfd. `name` shows up in /proc/PID/maps only. size_bytes is a multiple of the
// page (huge: of TERN_HUGE_PAGE_BYTES). Says what the limit is when the process's limits forbid the
// size.
int tern__memfd_create(const char *name, size_t size_bytes, bool huge, int *fd);

// Maps all of it, shared, readable and writable. TERN_ERR_MEMORY when the address space or the huge
// pages do not suffice.
int tern__memfd_map(int fd, size_t size_bytes, void **base);

// The same from a byte on, a multiple of the page; at: an address that has been reserved for it, or
// NULL for any.
int tern__memfd_map_at(int fd, size_t offset_bytes, size_t size_bytes, void *at, void **base);

// Addresses without memory, any (at is NULL) or in the place of what is mapped there.
int tern__memfd_reserve(size_t size_bytes, void *at, void **base);

// Only the parts that have a bit; the others are addresses without memory. Huge pages that are
// mapped are taken from the machine, also those that nobody touches.
int tern__memfd_map_parts(int fd, size_t part_bytes, int parts, uint64_t mapped, void **base);

// The same memory at one more address; NULL when there is none.
void *tern__memfd_alias(void *base, size_t size_bytes);

// Unmaps; size 0 or NULL is nothing.
void tern__memfd_unmap(void *base, size_t size_bytes);

// Makes the pages of a range present and writable. TERN_ERR_MEMORY when memory runs out, no signal.
int tern__memfd_prefault(void *base, size_t size_bytes);

// Makes a range of whole pages unreachable: touching it is a fault, and it takes no memory.
int tern__memfd_close_off(void *base, size_t size_bytes);

// Whether a core dump of this process shall contain a range of whole pages. Advice: never fails.
void tern__memfd_dump(void *base, size_t size_bytes, bool dumped);

// Bytes of a memfd that have no memory yet: promised but not taken.
size_t tern__memfd_untouched(int fd, size_t size_bytes);

#endif
