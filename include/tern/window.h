// SPDX-License-Identifier: Apache-2.0
// A window: memory of a rank that every rank of the communicator can reach; the same size on all.
// It is anonymous memory (a memfd sealed against resizing), so no file system limits it, nothing of
// it stays behind a killed job, and nobody can pull it away under a reader. It reads as zero before
// anybody has written.
#ifndef TERN_WINDOW_H
#define TERN_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/comm.h"
#include "tern/context.h"

// A core dump of a rank contains its own part of its windows and not the others'. TERN_CORE in the
// environment says otherwise: `all`, or `none`; `own` is the default.

TERN_BEGIN_DECLS

typedef struct tern_window tern_window;

enum tern_window_flags {
    // Touch all pages of this rank's part now: later accesses never fault.
    TERN_WINDOW_PREFAULT = 1,
    // 2 MiB pages. TERN_ERR_MEMORY when the machine has not enough of them reserved
    // (/proc/sys/vm/nr_hugepages); the size is rounded up to them.
    TERN_WINDOW_HUGE = 2,
};

// Zero-initialised means: no flags.
typedef struct tern_window_options {
    uint32_t flags; // enum tern_window_flags, or-ed
} tern_window_options;

// Creates a window of at least size_bytes (1 or more) on every rank. Collective: all ranks pass the
// same size and flags. One thread per communicator at a time.
//
// Errors: TERN_ERR_MEMORY when all ranks' parts together exceed what the machine or its cgroup can
// give now (found before any page is touched; the sentence says how much there is), or what the
// process's own limits allow; TERN_ERR_MISMATCH when the ranks differ in size or flags; and those
// of tern_comm_barrier. All ranks get the same status. Only a dead rank or a missed deadline fails
// the communicator.
TERN_CALL int tern_window_create(tern_comm *comm, size_t size_bytes,
                                 const tern_window_options *options, tern_window **window);

// Lets go of the window in this process. Every rank calls it; it waits for nobody, and peers that
// still use the window keep it. NULL is allowed.
TERN_API int tern_window_destroy(tern_window *window);

// The same, but the memory of all ranks stays mapped at its addresses in this process: pointers to
// it stay good, as ordinary memory that may still be shared, until the program gives the range to
// munmap: from the address of rank 0, as many times the size as there are ranks. For runtimes whose
// objects outlive a window.
TERN_API int tern_window_release(tern_window *window);

// Usable bytes per rank: the size asked for, rounded up to pages.
TERN_API size_t tern_window_size(const tern_window *window);

// 1 when this process can read and write the part of `rank` through a pointer: that rank is on the
// same machine. 0 when only tern_put, tern_get, their kin and tern_signal_notify reach it. < 0 for
// a rank that does not exist.
TERN_CALL int tern_window_is_local(const tern_window *window, int rank);

// Where this process sees the window of `rank`: page-aligned, valid until tern_window_destroy, in
// this process only. NULL, with the reason in tern_last_error(), for a rank that does not exist or
// is on another machine. The device context has an address for every rank: of those on other
// machines it is a name, for tern_window_find and the calls of tern/isa.h, and touching it ends the
// process, which says whose memory that was.
TERN_API void *tern_window_address(const tern_window *window, int rank);

// The device context that kernels of this process use; lives as long as the window.
TERN_API const tern_context *tern_window_context(const tern_window *window);

// Which window of this process, which rank's part and which byte of it an address belongs to.
// TERN_ERR_ARG when it belongs to none. Any thread; a few nanoseconds.
TERN_CALL int tern_window_find(const void *address, tern_window **window, int *rank,
                               size_t *offset_bytes);

TERN_END_DECLS

#endif
