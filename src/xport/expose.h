// SPDX-License-Identifier: Apache-2.0
// Copying what another processor reads next. Lines that one processor has just written stay in its
// caches, and another one that reads them asks that processor for each: when the two are far from
// each other, a third to a tenth as fast as from memory. So longer copies go past the caches of who
// writes (non-temporal stores), all but the line that they begin in: what that one takes tells the
// reader how far it is (xport/distance.h). Near ones are faster with a memcpy.
#ifndef TERN_XPORT_EXPOSE_H
#define TERN_XPORT_EXPOSE_H

#include <stdint.h>

// From so many bytes on. Below, the lines are on their way to the reader before all are written.
#define TERN__EXPOSE_FROM UINT64_C(16384)

// memcpy, for bytes that other ranks read and this one does not. They are there for whoever
// observes a flag that is stored afterwards. Data path.
void tern__expose(void *to, const void *from, uint64_t bytes);

#endif
