// SPDX-License-Identifier: Apache-2.0
// Memory that a graph goes through in turn. What is large is in huge pages behind the first
// 256 KiB, where the system has any: who goes through it then seldom comes to a page that the
// processor does not know. What a small graph uses lies before.
#ifndef TERN_GRAPH_PAGES_H
#define TERN_GRAPH_PAGES_H

#include <stdint.h>

// Zeroed, aligned to pages; memory that is not used costs nothing. NULL: no memory.
void *tern__pages_map(uint64_t bytes);

// As many bytes as were mapped. NULL: nothing.
void tern__pages_unmap(void *memory, uint64_t bytes);

#endif
