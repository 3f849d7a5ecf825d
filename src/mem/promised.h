// SPDX-License-Identifier: Apache-2.0
// Memory that this process has made for others, too, and that takes nothing until it is touched:
// what of it the machine has still to give. Set-up path; any thread.
#ifndef TERN_MEM_PROMISED_H
#define TERN_MEM_PROMISED_H

#include <stddef.h>
#include <stdint.h>

struct tern__promised {
    struct tern__promised *next;
    int fd; // a memfd of mem/memfd.h
    size_t bytes;
};

// From now on; and until it is removed, before fd is closed. Removing one that was not added, or in
// the child of a fork, does nothing.
void tern__promised_add(struct tern__promised *promised, int fd, size_t bytes);
void tern__promised_remove(const struct tern__promised *promised);

// Bytes that nobody has touched yet. In the child of a fork: of what it has made itself.
uint64_t tern__promised_untouched(void);

#endif
