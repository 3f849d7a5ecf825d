// SPDX-License-Identifier: Apache-2.0
// What each rank's last calls were, in the control memory: for the sentences of failures, and for
// `tern info --job` while a job hangs. Only numbers; words are made where the names are known.
//
// Protocol. A rank's threads write its records, everybody reads them and writes nothing. A thread
// takes a record by swapping its place from ended to ENTERED; records of calls that have not ended
// are never taken, so a call that hangs stays in view however many others follow it. The fields
// that say what the call is are then written under a seqlock (`number` odd, fields, `number` even:
// release stores, read with acquire, so no fence is needed); place, stuck_at, status and end_ns
// change one by one until the call ends. Short path: one atomic swap (none in a process of one
// thread) and stores to one line of the rank's own.
#ifndef TERN_SYNC_RECORDS_H
#define TERN_SYNC_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/single.h"
#include "sync/job.h"

// What ranks compare of a call. Bits of the packed form, from the lowest: kind 5, dtype 5, op 4,
// root 6, order 1, algorithm 6, bytes 37.
#define TERN__SIGNATURE_BYTES_MAX ((UINT64_C(1) << 37) - 1) // and all sizes above it
#define TERN__SIGNATURE_BYTES_AT 27
#define TERN__ALGORITHM_NONE 63u
struct tern__signature {
    uint8_t kind; // tern_coll_kind
    uint8_t dtype, op;
    uint8_t root;
    uint8_t order;
    uint8_t algorithm; // index in the kind's row of tern_algo_name, or TERN__ALGORITHM_NONE
    uint16_t unused;   // 0: what is sent to other machines is compared as bytes
    uint64_t bytes;
};

// algorithm: -1 for none.
static inline uint64_t tern__signature_pack(uint32_t kind, uint32_t dtype, uint32_t op,
                                            uint32_t root, uint32_t order, int algorithm,
                                            uint64_t bytes)
{
    uint64_t kept = bytes < TERN__SIGNATURE_BYTES_MAX ? bytes : TERN__SIGNATURE_BYTES_MAX;
    return (kind & 31u) | (uint64_t)(dtype & 31u) << 5 | (uint64_t)(op & 15u) << 10 |
           (uint64_t)(root & 63u) << 14 | (uint64_t)(order & 1u) << 20 |
           (uint64_t)((uint32_t)algorithm & 63u) << 21 | kept << TERN__SIGNATURE_BYTES_AT;
}
_Static_assert(((uint32_t)-1 & 63u) == TERN__ALGORITHM_NONE, "-1 means none");

static inline struct tern__signature tern__signature_unpack(uint64_t packed)
{
    return (struct tern__signature){
        .kind = packed & 31u,
        .dtype = packed >> 5 & 31u,
        .op = packed >> 10 & 15u,
        .root = packed >> 14 & 63u,
        .order = packed >> 20 & 1u,
        .algorithm = packed >> 21 & 63u,
        .bytes = packed >> TERN__SIGNATURE_BYTES_AT,
    };
}

enum tern__record_state {
    TERN__RECORD_FREE,
    TERN__RECORD_ENTERED,
    TERN__RECORD_WAITING, // seen to wait: stuck_at says for what
    TERN__RECORD_DONE,
    TERN__RECORD_FAILED,
};

// How the bytes of a call travel.
enum tern__way {
    TERN__WAY_UNKNOWN,
    TERN__WAY_LINE,   // in the line of the notification
    TERN__WAY_SLOT,   // copied into shared memory whole
    TERN__WAY_WINDOW, // where they lie
    TERN__WAY_STAGED, // piece by piece through shared memory
    TERN__WAY_MAIL,   // a message from one to one
    TERN__WAY_COPY,   // within one rank
    TERN__WAY_DIRECT, // out of the ordinary memory of other processes
};

// place: state in bits 0..7, way in 8..15, slot of the communicator in 16..23, and in 24..31 how
// often the record has been taken, so that place and the fields are known to belong together.
static inline uint32_t tern__place(enum tern__record_state state, enum tern__way way, int comm_slot,
                                   uint64_t number)
{
    return (uint32_t)state | (uint32_t)way << 8 | ((uint32_t)comm_slot & 255u) << 16 |
           (uint32_t)(number / TERN__RECORDS & 255u) << 24;
}
_Static_assert(TERN__COMM_SLOTS <= 256, "a slot has 8 bits");

static inline bool tern__place_is_open(uint32_t place)
{
    return (place & 255u) == TERN__RECORD_ENTERED || (place & 255u) == TERN__RECORD_WAITING;
}

// What a call waits for: a rank of its communicator (-1: none named), and the op of its plan (-1:
// none).
static inline uint32_t tern__stuck(int rank, int lane, int op)
{
    uint32_t lanes = lane > 255 ? 255 : (uint32_t)lane;
    uint32_t ops = op < 0 ? 0 : op > 65534 ? 65535 : (uint32_t)op + 1;
    return (uint32_t)(rank + 1) | (op < 0 ? 0 : lanes << 8) | ops << 16;
}

static inline void tern__record_put(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_release); // partner: tern__record_read
}

// What is known of a call when it begins.
struct tern__beginning {
    int comm_slot;
    enum tern__way way;
    uint64_t sequence, signature, bytes;
    int64_t now_ns; // the clock, or 0 when nobody has looked at it
};

// A process with one thread needs no swap, which is the most expensive part of a record.
static inline bool tern__record_take(struct tern__record *record, uint32_t before, uint32_t place)
{
    if (tern__single_threaded()) {
        tern__poke(&record->place, place);
        return true;
    }
    return atomic_compare_exchange_strong_explicit(&record->place, &before, place,
                                                   memory_order_acquire, memory_order_relaxed);
}

// A call begins. NULL when all records are taken by calls that have not ended: then this one is not
// recorded. Every begin needs its end.
static inline struct tern__record *tern__record_begin(const struct tern__job *job,
                                                      struct tern__beginning call)
{
    struct tern__ctl_records *records = &job->ctl->records[job->rank];
    uint64_t next = atomic_load_explicit(&records->last, memory_order_relaxed) + 1;
    for (int tries = 0; tries < TERN__RECORDS; tries++, next++) {
        struct tern__record *record = &records->ring[next % TERN__RECORDS];
        uint32_t before = tern__peek(&record->place);
        // `last` is behind when a thread was held up between reading and writing it.
        uint64_t old = atomic_load_explicit(&record->number, memory_order_relaxed) / 2;
        uint64_t number = next > old ? next : old + TERN__RECORDS;
        uint32_t place = tern__place(TERN__RECORD_ENTERED, call.way, call.comm_slot, number);
        if (tern__place_is_open(before) || !tern__record_take(record, before, place)) {
            continue;
        }
        atomic_store_explicit(&records->last, number, memory_order_relaxed);
        atomic_store_explicit(&record->number, 2 * number - 1, memory_order_relaxed);
        tern__record_put(&record->sequence, call.sequence);
        tern__record_put(&record->signature, call.signature);
        tern__record_put(&record->bytes, call.bytes);
        atomic_store_explicit(&record->begin_ns, call.now_ns, memory_order_release);
        atomic_store_explicit(&record->end_ns, 0, memory_order_release);
        atomic_store_explicit(&record->status, 0, memory_order_release);
        tern__publish(&record->stuck_at, 0);
        tern__publish(&record->algorithm, 0);
        tern__record_put(&record->number, 2 * number);
        return record;
    }
    return NULL;
}

// It has become known how the bytes travel, and by which algorithm (its index; -1: the
// signature's).
static inline void tern__record_travels(struct tern__record *record, enum tern__way way,
                                        int algorithm)
{
    if (record != NULL) {
        uint32_t place = tern__peek(&record->place) & ~(255u << 8);
        tern__poke(&record->algorithm, (uint32_t)(algorithm + 1));
        tern__publish(&record->place, place | (uint32_t)way << 8);
    }
}

// What the call waits for now: tern__stuck, or 0 when it goes on. On the way to sleep, so the clock
// may be looked at: it becomes the beginning of a call that has none.
static inline void tern__record_waits(struct tern__record *record, uint32_t stuck_at,
                                      int64_t now_ns)
{
    if (record == NULL) {
        return;
    }
    uint32_t place = tern__peek(&record->place) & ~255u;
    if (atomic_load_explicit(&record->begin_ns, memory_order_relaxed) == 0) {
        atomic_store_explicit(&record->begin_ns, now_ns, memory_order_relaxed);
    }
    tern__poke(&record->stuck_at, stuck_at);
    tern__publish(&record->place,
                  place | (stuck_at != 0 ? TERN__RECORD_WAITING : TERN__RECORD_ENTERED));
}

// The call has ended. stuck_at stays: where a call that failed stood.
static inline void tern__record_end(struct tern__record *record, int status, int64_t now_ns)
{
    if (record == NULL) {
        return;
    }
    uint32_t place = tern__peek(&record->place) & ~255u;
    atomic_store_explicit(&record->end_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&record->status, status, memory_order_relaxed);
    tern__publish(&record->place, // partner: tern__record_read, and the next to take it
                  place | (status >= 0 ? TERN__RECORD_DONE : TERN__RECORD_FAILED));
}

// A record as it was at one moment.
struct tern__recorded {
    uint64_t number;
    uint64_t sequence;
    uint64_t bytes;
    struct tern__signature signature;
    int64_t begin_ns, end_ns;
    int comm_slot;
    enum tern__record_state state;
    enum tern__way way;
    int stuck_rank;           // of the communicator; -1: none named
    int stuck_lane, stuck_op; // -1: none
    int algorithm;            // index; -1: none
    int status;
};

// False for one that is unused, or that its writer changes without end.
bool tern__record_read(const struct tern__record *record, struct tern__recorded *call);

// Stores what was read of a rank of another machine, the latest first, in its place here: by one
// thread. shift_ns leads from that machine's clock to the one here. Calls that are not among these
// are forgotten.
void tern__records_store(struct tern__ctl *ctl, int member, const struct tern__recorded *calls,
                         int count, int64_t shift_ns);

// The call of a rank of the job with this number in this communicator; false when it is not, or not
// any more, among its records.
bool tern__record_find(const struct tern__ctl *ctl, int member, int comm_slot, uint64_t sequence,
                       struct tern__recorded *call);

// The calls of a rank of the job, the latest first; how many.
int tern__records_read(const struct tern__ctl *ctl, int member,
                       struct tern__recorded calls[TERN__RECORDS]);

#endif
