// SPDX-License-Identifier: Apache-2.0
// A copy out of one process into another that both make at once. Who takes the bytes reads them
// from the beginning on, piece by piece; the owner, which has nothing to do but to wait until all
// have been read, writes pieces from the end on (process_vm_writev), and says so when none is left.
// Two processors copy faster than one: 1 MiB in 20 us instead of 53.
//
// Each piece is claimed in a word that both change, so an owner that comes late, or never, costs
// nothing: what it has not claimed is read. The line, in memory of both:
//
//   taker:  to, from, bytes, given = NOT_YET; opens `claims`; claims a piece of the front; reads it
//   owner:  claims a piece of the back; looks what the line says; writes it; claims on; given = ALL
//   taker:  when no piece is left, and the owner has claimed one, waits for `given`; claims = 0
//
// What the owner could not write the taker reads itself, and finds why it cannot be copied. Who
// claims a piece holds the line: it says the same until `given` has been stored.
#ifndef TERN_SYNC_HELP_H
#define TERN_SYNC_HELP_H

#include <stdalign.h>

#include "sync/reach.h"

// What the owner writes is in its cache, and whoever uses it has to fetch it from there. So it
// helps with what would leave the cache of the taker anyway: 64 KiB arrive earlier, but to sum them
// up takes 5 us longer then. From so many bytes on; and from fewer, if the taker has something else
// to copy meanwhile.
#define TERN__HELP_FROM (UINT64_C(1) << 20)
#define TERN__HELP_LEAST (UINT64_C(512) << 10)

enum tern__given {
    TERN__GIVEN_NOT_YET,
    TERN__GIVEN_ALL,  // that the owner has claimed
    TERN__GIVEN_NONE, // it could not write
};

struct tern__help {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t claims; // help.c: how many pieces of how many
    _Atomic uint32_t given;                           // enum tern__given
    uint64_t to, from, bytes;                         // addresses in the two processes
};
_Static_assert(sizeof(struct tern__help) == TERN_CACHE_LINE, "shared layout");

// Of the taker, for TERN__HELP_LEAST bytes or more: the owner may begin with a copy that will be
// read later; nothing else may write there, or want to read what is there. The line is not in use.
void tern__help_open(const struct tern__group *group, int rank, struct tern__help *help,
                     const char *to, uint64_t from, uint64_t bytes);

// Of the taker: copies what `rank` has at `from`, as tern__reach_read. 1: all is there. 0: the
// owner still writes; to be called again when tern__help_is_over. -1: as if that returns false.
// Data path.
int tern__help_read(const struct tern__group *group, int rank, char *to, uint64_t from,
                    uint64_t bytes, struct tern__help *help, struct tern__unread *unread);

// Whether the taker's line is in use, for a copy to that address; and whether that waits for the
// owner.
static inline bool tern__help_is_for(const struct tern__help *help, const char *to)
{
    return tern__peek(&help->claims) != 0 && help->to == (uintptr_t)to;
}
bool tern__help_waits(const struct tern__help *help, const char *to);

static inline bool tern__help_is_over(const struct tern__help *help)
{
    return tern__flag_load(&help->given) != TERN__GIVEN_NOT_YET; // partner: tern__help_give
}

// Of a taker that does not go on, because all has failed: the owner begins no piece any more. Waits
// for one that it has begun, but not beyond `until_ns`: an owner that was stopped in the middle may
// still write it later. Of several owners all together have TERN__HELP_LEAVE_NS.
#define TERN__HELP_LEAVE_NS INT64_C(1000000000)
void tern__help_leave(const struct tern__group *group, int rank, struct tern__help *help,
                      int64_t until_ns);

// Of the owner: whether a copy of `rank` is under way, and a piece of it is left. Writes pieces as
// long as there are any; whether there was one. Data path.
bool tern__help_is_wanted(const struct tern__help *help);
bool tern__help_give(const struct tern__group *group, int rank, struct tern__help *help);

#endif
