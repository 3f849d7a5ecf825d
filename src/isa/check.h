// SPDX-License-Identifier: Apache-2.0
// Checking mode (TERN_ISA_CHECK=1): the program runs under the weakest behaviour that the chip
// allows, and what only works by luck is reported with file and line of the kernel.
//
//   check.c        of a block: its stores are kept back until a pipe barrier, a flag, an event or
//                  the kernel's end orders them, and then happen in an order that TERN_ISA_SEED
//                  decides
//   check_tile.c   of a block: its tiles
//   check_share.c, check_signal.c
//                  of a rank, in shared memory: when its stores and loads were ordered, and which
//                  of them the others know of
//   check_site.c   file and line of what called an instruction
//
// Time: each rank has a clock that ticks when it notifies and meets the others; a notify carries
// what the rank knows of all clocks to the signal, and a wait takes it from there (Lamport 1978;
// Mattern 1989, with one entry for a rank, not for a block). A load and a store of two ranks that
// touch the same bytes are reported when neither knows of the other. Blocks of one rank are taken
// to know what any of them knows: between those nothing is reported, and nothing wrongly.
//
// Off, it costs one branch an instruction.
#ifndef TERN_ISA_CHECK_H
#define TERN_ISA_CHECK_H

#include "isa/view.h"
#include "tern/block.h"

// Whether the mode is on: TERN_ISA_CHECK in the environment is neither empty nor 0. Looked at once.
bool tern__watch_asked(void);

enum { TERN__WATCH_UNKNOWN, TERN__WATCH_OFF, TERN__WATCH_ON };
extern _Atomic uint32_t tern__watch_mode;

static inline bool tern__checking(void)
{
    return __builtin_expect(tern__peek(&tern__watch_mode) != TERN__WATCH_OFF, 0) &&
           tern__watch_asked();
}

// TERN_ERR_ARG when TERN_ISA_SEED is no number from 0 on.
int tern__watch_options(void);

// What an instruction does with memory. `what` is its name as kernels have it.
enum tern__watch_kind { TERN__WATCH_LOAD, TERN__WATCH_STORE, TERN__WATCH_ADD, TERN__WATCH_PUT };

// A load from global memory happens. own_waits: what this block has stored there happens first, as
// put and get do it; else that it has not yet is reported.
void tern__watch_load(const char *what, const struct tern__view *view, bool own_waits);

// to = from, later. `from` is copied now, but of a tile in the block's memory when it happens.
int tern__watch_store(const char *what, const struct tern__view *to, const struct tern__view *from,
                      enum tern__watch_kind kind, bool from_tile);

// What must be this rank's: the source of a put, the destination of a get.
void tern__watch_direction(bool puts, const struct tern__view *here);

// All of the block's stores happen.
void tern__watch_order(void);

// A notify is about to change, and a wait or a test has seen, this word of a rank's part.
void tern__watch_notify(const tern_window *window, int rank, size_t offset_bytes);
enum tern__watch_look { TERN__WATCH_TEST, TERN__WATCH_WAIT, TERN__WATCH_AT_ONCE };
void tern__watch_seen(const tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value,
                      enum tern__watch_look look);

// For the sentence of a wait in vain: "; block 0 of kernel 'K', at FILE:12; last notified by rank
// 1 at …". Empty when nothing is known.
void tern__watch_describe(const tern_window *window, size_t offset_bytes, char *text, size_t size);

// A tile is written, or read.
void tern__watch_tile(const char *what, const tern_tile *tile, bool writes);

// One element of a tile, by its place in memory; those of one tile that follow each other are one
// write.
void tern__watch_element(const char *what, const tern_tile *tile, int64_t index, bool writes);

// Tiles that an instruction uses at the same time do not overlap.
void tern__watch_staging(const char *what, const tern_tile *one, const tern_tile *other);

// A wait begins to take long: what the block has stored happens in the end.
void tern__watch_waits(void);

// The block ends with this status: all of its stores happen. TERN_ERR_KERNEL when it had reports,
// if the status is no error anyway.
int tern__watch_end(int status);

// check_report.c. Prints a report of the calling block; each place once.
void tern__watch_report(uint32_t site, const char *format, ...) TERN_PRINTF(2, 3);

// What the mode remembers of the calling thread, until its block ends or the thread does: zeros at
// first. NULL when there is no memory, and with 0 bytes when nothing is remembered yet.
enum tern__watch_memory {
    TERN__WATCH_CORE,
    TERN__WATCH_REPORTS,
    TERN__WATCH_TILES,
    TERN__WATCH_WAITS,
    TERN__WATCH_FETCHED,
    TERN__WATCH_MEMORIES
};
void *tern__watch_memory(enum tern__watch_memory which, size_t bytes);

// Forgets all of it. TERN_ERR_KERNEL when there were reports, if the status is no error anyway.
int tern__watch_forget(int status);

// Whether the calling thread runs a block.
bool tern__watch_in_kernel(void);

// Whether a store of a tile that is kept back still reads these bytes: then it happens now.
bool tern__watch_frees(const char *begin, const char *end);

// check_share.c. One access of a block of this rank: told to the others, and then what they do with
// these bytes and this rank does not know of is reported. In this order, so that of two that come
// at once one sees the other. *slot: where to tell that it has been ordered.
struct tern__access;
struct tern__watch_slot {
    struct tern__access *access; // NULL: nowhere
    struct tern__clock *clock;
    uint32_t version;
};
void tern__watch_access(const char *what, const struct tern__view *view, enum tern__watch_kind kind,
                        uint32_t site, struct tern__watch_slot *slot);
void tern__watch_ordered(const struct tern__watch_slot *slot);

// A load of nothing but zeros that nobody has stored, of this rank's part, while another rank, of
// which this one knows, has put to the same place of another part: reports it.
void tern__watch_astray(const char *what, const struct tern__view *view, uint32_t site);

// Whether an element of the view lies in [begin, end), in bytes from its first one.
bool tern__watch_hits(const int64_t shape[5], const int64_t stride[5], int64_t element_bytes,
                      int64_t begin, int64_t end);

// check_site.c. The caller's place: 0 when it is not known. Its text, "FILE:12".
uint32_t tern__watch_site(void);
const char *tern__watch_site_text(uint32_t site);

#endif
