// SPDX-License-Identifier: Apache-2.0
// A recording from inside.
//
//     run.c       tern_record_plan: the child process, and what became of it
//     answer.c    what the child sends back
//     register.c  the names that a shared object registers; runs the selected one rank by rank
//     memory.c    addresses without memory, and back: address -> (rank, buffer, offset)
//     handle.c    streams, notifies, links
//     task.c      tasks, checked one by one
//     turns.c     the order in which bits are used
//     order.c     the proof that bits are used in turn
//     emit.c      the plan
//     say.c       findings, and the executor's own words
//
// Everything but run.c happens in the child, which ends by itself: nothing there is freed.
#ifndef TERN_PLAN_RECORD_RECORD_H
#define TERN_PLAN_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/record.h"

#define TERN__RECORD_TEXT 960

struct record_place {
    const char *file; // of the shared object, which stays
    int line;
};

// A bit: of a notify, or of one end of a link.
struct record_bit {
    int owner;  // the rank that waits for it
    int peer;   // of a link: who posts it; -1: a notify
    int number; // of the notify in its rank, or of the bit in its link
    struct record_uses {
        struct record_use {
            uint32_t lane; // of all ranks
            uint32_t index;
        } * items;
        size_t count, room;
    } posts, waits;
    uint32_t signal;                // of its first use
    uint32_t posted, waited;        // turns.c: so many uses have a number
    struct record_stream *sleepers; // likewise: streams that wait for it
};

enum record_kind { RECORD_COPY, RECORD_REDUCE, RECORD_POST, RECORD_WAIT };

struct record_task {
    uint8_t kind;
    bool atomic;
    uint16_t round;
    uint32_t use; // post, wait: the how-manieth of its bit, from 0
    struct record_bit *bit;
    tern_plan_range from, to;
    uint64_t length;
    struct record_place place;
};

struct record_stream {
    int rank, number;
    struct record_task *tasks;
    size_t count, room;
    size_t done;                // turns.c: so many tasks have been executed
    struct record_stream *next; // likewise: in the list that it is in
};

struct record_link {
    int rank, peer;
    bool exists;                                    // in one direction at least
    struct record_bit *bits[TERN_RECORD_LINK_BITS]; // of this end; NULL until used
};

struct record_rank {
    struct record_stream **streams;
    size_t streams_count, streams_room;
    struct record_bit **bits; // notifies first come, then those of links as they are used
    size_t bits_count, bits_room;
    int notifies;
    uint64_t scratch_bytes;
};

// A buffer of a rank: addresses that nothing may follow.
struct record_memory {
    uintptr_t base;
    uint64_t bytes;
    int rank;
    uint16_t buffer; // of the plan
    bool ccl;        // peers see it
    uint64_t offset; // of its first byte in the buffer of the plan
    const char *name;
};

// What the parent sees of the child, also when it has crashed.
struct record_shared {
    int rank;        // that is recorded, -1: none yet
    int line;        // of the last call; 0: none
    char file[256];  // likewise
    char fault[160]; // the address that a signal was about, in words
};

struct recording {
    tern_record_request request;
    const bool *linked; // [from * nranks + to]
    struct record_shared *shared;
    int nranks;
    tern_dtype dtype;
    tern_reduce_op op;
    tern_record_call call; // of the rank that is recorded
    struct record_rank *ranks;
    struct record_link *links; // [rank * nranks + peer]
    struct record_memory *memory;
    size_t memory_count, memory_room;
    size_t tasks;
    int answer_fd;         // what the child has to say goes there
    const char *last_file; // that is in shared
    int status;            // the first finding
    size_t findings;
    char text[TERN__RECORD_TEXT];
    char said[256]; // the executor's last error line
    char returned[384];
};

// The recording of this process; NULL: none.
extern struct recording *tern__recording;

// A finding: keeps the sentence of the first, and counts. Returns status.
int tern__record_finding(int status, const char *format, ...) TERN_PRINTF(2, 3);

// answer.c: a status and a text; the sentence of a recording that has failed, and how many more
// there were; that of the first finding, which ends the child.
void tern__record_send(const struct recording *recording, int32_t status, const char *text,
                       size_t length);
void tern__record_send_sentence(const struct recording *recording, int32_t status);
_Noreturn void tern__record_give_up(const struct recording *recording);

// memory.c
int tern__record_map(struct recording *recording);
void tern__record_set_call(struct recording *recording, int rank);
// The memory whose addresses, or those behind it, hold this one; NULL: of no buffer.
const struct record_memory *tern__record_memory_at(const struct recording *recording,
                                                   const void *address);
// "byte 12 of CCL_Out of rank 3", for an address of a fault.
void tern__record_address_text(const struct recording *recording, const void *address, char *text,
                               size_t size);

// handle.c
int tern__record_links(struct recording *recording);
struct record_stream *tern__record_check_stream(void *stream, struct record_place place);
struct record_bit *tern__record_check_notify(const void *notify, struct record_place place);
// NULL after a finding. `what` is the task, or what else needs the link.
const struct record_link *tern__record_check_link(const void *link, const char *what,
                                                  struct record_place place);
struct record_bit *tern__record_link_bit(int owner, int peer, int number);
void tern__record_bit_text(const struct record_bit *bit, char text[96]);

// Makes room for one more item of an array; false: no memory.
bool tern__record_grow(void **items, size_t *room, size_t count, size_t size);

// register.c: loads the shared object, runs the executor for all ranks.
int tern__record_drive(struct recording *recording);

// turns.c, order.c, emit.c
void tern__record_turns(struct recording *recording);
int tern__record_prove(struct recording *recording);
int tern__record_emit(struct recording *recording, tern_plan **plan);

// The lane of a stream among those of all ranks: before it the lanes of the ranks below.
uint32_t tern__record_lane(const struct recording *recording, int rank, int stream);

#endif
