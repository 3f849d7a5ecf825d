// SPDX-License-Identifier: Apache-2.0
// Atomic reduces of a run. A destination is cut into stripes, and a lock of its rank belongs to
// each; whoever holds it adds all of its sources there with the reduce kernels. So an element costs
// what it costs in any other reduce, and every operation can be atomic. Ranks begin at different
// stripes, so they do not queue up behind each other.
//
// Nobody waits for a lock: a lane whose next stripe is held does nothing, as if a signal were
// missing, and its rank goes on with other lanes or sleeps. A lock is held within one call, so a
// rank dies with one in hand only by being killed there, and whoever then sleeps finds out as it
// does about every death. Protocol, all of it sequentially consistent:
//
//     0         free
//     r + 1     held by rank r
//     … | bit   held and wanted: whoever frees it rings the others
//
// Who wants it sets the bit before it sleeps, and looks again after it has said that it sleeps: the
// handshake of sync/bell.h.
#ifndef TERN_PLAN_EXEC_ADD_H
#define TERN_PLAN_EXEC_ADD_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

#define TERN__ADD_STRIPE UINT64_C(16384) // bytes; less for odd elements
#define TERN__ADD_LOCKS 64               // of a rank

// Of a stripe; the stripes of a rank's three buffers share them.
struct tern__add_lock {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t word;
};

struct tern__binding;
struct tern__step;

// Whether it was free and is now held by `rank`. If not, its holder has been told.
bool tern__add_take(struct tern__add_lock *lock, int rank);
// True when somebody wants it: the caller rings the others.
bool tern__add_drop(struct tern__add_lock *lock);
// The rank that holds it, or -1.
int tern__add_holder(const struct tern__add_lock *lock);

// Goes on with an atomic reduce, of which *done stripes have been done: true when it is over. Sets
// *wanted when the others must be rung. Data path: nobody waits.
bool tern__add(const struct tern__binding *binding, const struct tern__step *step, uint32_t *done,
               bool *wanted);

// The lock of the next stripe. Not for a step that is over.
struct tern__add_lock *tern__add_next(const struct tern__binding *binding,
                                      const struct tern__step *step, uint32_t done);

// Whether it is free; if not, its holder has been told that it is wanted.
bool tern__add_is_free(struct tern__add_lock *lock);

#endif
