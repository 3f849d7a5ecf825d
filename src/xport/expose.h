// SPDX-License-Identifier: Apache-2.0
// Copying what another processor reads next. Lines that one processor has just written stay in its
// caches, and another one that reads them asks that processor for each: when the two are far from
// each other, that can be a third to a tenth as fast as from memory. So there longer copies go past
// the caches of who writes (non-temporal stores), all but the line that they end in: what that one
// takes tells the reader how far it is (xport/distance.h). Near ones are faster with a memcpy.
//
// It depends on the processor. On AMD EPYC a core calls back and hands over far lines one by one,
// 26 ns each. On an Intel Xeon (Granite Rapids, two cores 145 ns apart) many are on their way at a
// time, 3 ns each, and memcpy was quicker from 2 KiB to 256 KiB, whether the lines had left the
// caches or not. Others have not been measured. So copies go past the caches on processors of AMD
// and of Hygon, which have AMD's cores, and nowhere else.
#ifndef TERN_XPORT_EXPOSE_H
#define TERN_XPORT_EXPOSE_H

#include <stdint.h>
#include <string.h>

#include "base/memcpy.h"
#include "xport/distance.h"

// From so many bytes on. Below, the lines are on their way to the reader before all are written.
#define TERN__EXPOSE_FROM UINT64_C(2048)

// A copy, for bytes that other ranks read and this one does not. They are there for whoever
// observes a flag that is stored afterwards. Data path.
void tern__expose(void *to, const void *from, uint64_t bytes);

// Whether the maker of this processor is one whose far lines are handed over one by one. Set-up
// path: the answer is kept in struct tern__distance.
bool tern__past_is_quicker(void);

// Whether copies of TERN__EXPOSE_FROM and more go past the caches.
static inline bool tern__goes_past(const struct tern__distance *distance)
{
    return distance->past && tern__distance_is_long(distance);
}

// Past the caches if who reads it is far away.
static inline void tern__hand_over(const struct tern__distance *distance, void *to,
                                   const void *from, uint64_t bytes)
{
    if (bytes >= TERN__EXPOSE_FROM && tern__goes_past(distance)) {
        tern__expose(to, from, bytes);
    } else {
        tern__memcpy(to, from, bytes);
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
