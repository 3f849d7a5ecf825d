// SPDX-License-Identifier: Apache-2.0
// Copying what another processor reads next. Lines that one processor has just written stay in its
// caches, and another one that reads them asks that processor for each: when the two are far from
// each other, a third to a tenth as fast as from memory. So longer copies go past the caches of who
// writes (non-temporal stores), all but the line that they end in: what that one takes tells the
// reader how far it is (xport/distance.h). Near ones are faster with a memcpy.
#ifndef TERN_XPORT_EXPOSE_H
#define TERN_XPORT_EXPOSE_H

#include <stdint.h>
#include <string.h>

#include "xport/distance.h"

// From so many bytes on. Below, the lines are on their way to the reader before all are written.
#define TERN__EXPOSE_FROM UINT64_C(2048)

// memcpy, for bytes that other ranks read and this one does not. They are there for whoever
// observes a flag that is stored afterwards. Data path.
void tern__expose(void *to, const void *from, uint64_t bytes);

// Past the caches if who reads it is far away.
static inline void tern__hand_over(const struct tern__distance *distance, void *to,
                                   const void *from, uint64_t bytes)
{
    if (bytes >= TERN__EXPOSE_FROM && tern__distance_is_long(distance)) {
        tern__expose(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

// Whoever reads what another rank has handed over calls this before, with the same bytes: what the
// last line of them takes. The first ones may be here: a processor guesses that they have come, and
// begins to load them, before it has seen the flag.
static inline void tern__hand_measure(struct tern__distance *distance, const void *from,
                                      uint64_t bytes)
{
    if (bytes >= TERN__EXPOSE_FROM) {
        tern__distance_measure(distance, (const char *)from + bytes - 1);
    }
}

#endif
