// SPDX-License-Identifier: Apache-2.0
// A pool: windows of processes that no job has brought together. Each makes its own part and a
// card, which the program carries to the others by whatever means; who has the cards of all joins,
// and then has a window as any other: found by its addresses, with doorbells, and with an eye on
// who dies. On one machine it joins alone, without waiting for anybody; ranks on several become a
// job of several machines (net/net.h), so they join together. Set-up path.
//
// The memory of a rank (one memfd, sparse but for what is used) is: a head, by which others see
// that it is what the card says; control memory, of which that of rank 0 serves all; what checking
// mode keeps; and the part of the window.
//
// Between processes of one user, and on a machine of one pid namespace. A pool is used by one
// thread at a time.
#ifndef TERN_COMM_POOL_H
#define TERN_COMM_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "boot/shown.h"
#include "comm/window.h"

struct tern__pool_card {
    struct tern__shown shown;
    uint8_t token[16]; // as in the head of the memory
    uint32_t abi;
    uint32_t reserved;
    struct tern__address address; // where this rank listens until it joins; length 0: nowhere
};

struct tern__pool {
    struct tern__pool *next; // of this process
    uint64_t id;             // the caller's name for it, the same on all ranks
    int rank;
    int nranks;
    bool busy;           // the caller's: a thread uses it, which may wait
    size_t window_bytes; // as asked for
    size_t part_bytes;   // in whole pages
    char *base;          // of rank 0's part; before it joins only its own is there
    int fd;
    int listener; // for ranks of other machines; -1: none, or they are known to be on this one
    struct tern__pool_card card;
    tern_comm *comm; // since it has joined
    tern_window *window;
    tern_context context; // as the window's, but winSize is what was asked for
    struct tern__promised promised;
};

// This rank's part, zero, and its card. TERN_ERR_MEMORY when the machine cannot give it.
int tern__pool_create(uint64_t id, int rank, int nranks, size_t window_bytes,
                      struct tern__pool **pool);

// Maps the parts of all that are here, by their cards in rank order; its own is skipped. Where some
// are on other machines, waits until all have come, as long as TERN_TIMEOUT says. On failure it is
// as it was before, and on one machine nobody has noticed. Errors: those of tern__shown_open;
// TERN_ERR_MISMATCH when a card is not of that rank of this pool, or the ranks differ in size or in
// checking mode, or others have joined with other cards; those of tern__star_gather.
int tern__pool_join(struct tern__pool *pool, const struct tern__pool_card *cards);

// The process has it no more, which comes before tern__pool_destroy: that lets go of all memory. It
// waits for nobody, but until what this rank has sent to other machines is stored there. Who has
// joined on this machine keeps this rank's part.
void tern__pool_forget(const struct tern__pool *pool);
int tern__pool_destroy(struct tern__pool *pool);

// The pool of this process with that name, or NULL. In the child of a fork there are none.
struct tern__pool *tern__pool_find(uint64_t id);

#endif
