// SPDX-License-Identifier: Apache-2.0
// Reading the records of ranks while they write them.

#include "sync/records.h"

#include <stdlib.h>

// A writer needs nanoseconds; one that was stopped in between is not waited for.
#define LOOKS 1000

static uint64_t get(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_acquire); // partner: tern__record_put
}

static void take_apart(uint32_t place, uint32_t stuck_at, struct tern__recorded *call)
{
    uint32_t op = stuck_at >> 16;
    call->state = (enum tern__record_state)(place & 255u);
    call->way = (enum tern__way)(place >> 8 & 255u);
    call->comm_slot = (int)(place >> 16 & 255u);
    call->stuck_rank = (int)(stuck_at & 255u) - 1;
    call->stuck_lane = op > 0 ? (int)(stuck_at >> 8 & 255u) : -1;
    call->stuck_op = (int)op - 1;
}

bool tern__record_read(const struct tern__record *record, struct tern__recorded *call)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        uint64_t number = get(&record->number);
        uint32_t place = tern__observe(&record->place); // partner: tern__record_end
        uint32_t stuck_at = tern__observe(&record->stuck_at);
        struct tern__recorded read = {
            .number = number / 2,
            .sequence = get(&record->sequence),
            .bytes = get(&record->bytes),
            .signature = tern__signature_unpack(get(&record->signature)),
            .begin_ns = atomic_load_explicit(&record->begin_ns, memory_order_acquire),
            .end_ns = atomic_load_explicit(&record->end_ns, memory_order_acquire),
            .status = atomic_load_explicit(&record->status, memory_order_acquire),
        };
        uint32_t algorithm = tern__observe(&record->algorithm);
        if (number == 0) {
            return false;
        }
        if (number % 2 == 0 && get(&record->number) == number &&
            tern__peek(&record->place) == place &&
            place >> 24 == (read.number / TERN__RECORDS & 255u)) {
            take_apart(place, stuck_at, &read);
            read.algorithm = algorithm > 0 ? (int)algorithm - 1 : (int)read.signature.algorithm;
            read.algorithm = read.algorithm == TERN__ALGORITHM_NONE ? -1 : read.algorithm;
            *call = read;
            return true;
        }
        tern__cpu_relax();
    }
    return false;
}

bool tern__record_find(const struct tern__ctl *ctl, int member, int comm_slot, uint64_t sequence,
                       struct tern__recorded *call)
{
    for (int i = 0; i < TERN__RECORDS; i++) {
        struct tern__recorded read;
        if (tern__record_read(&ctl->records[member].ring[i], &read) && read.sequence == sequence &&
            read.comm_slot == comm_slot) {
            *call = read;
            return true;
        }
    }
    return false;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = ((const struct tern__recorded *)a)->number;
    uint64_t y = ((const struct tern__recorded *)b)->number;
    return (x < y) - (x > y);
}

int tern__records_read(const struct tern__ctl *ctl, int member,
                       struct tern__recorded calls[TERN__RECORDS])
{
    int count = 0;
    for (int i = 0; i < TERN__RECORDS; i++) {
        count += tern__record_read(&ctl->records[member].ring[i], &calls[count]);
    }
    qsort(calls, (size_t)count, sizeof *calls, compare_numbers);
    return count;
}

// 0 stays: not known.
static int64_t shifted(int64_t time_ns, int64_t shift_ns)
{
    int64_t here_ns = time_ns + shift_ns;
    return time_ns == 0 ? 0 : here_ns > 0 ? here_ns : 1;
}

static void store(struct tern__record *record, const struct tern__recorded *call, int64_t shift_ns)
{
    const struct tern__signature *sent = &call->signature;
    int algorithm = sent->algorithm == TERN__ALGORITHM_NONE ? -1 : (int)sent->algorithm;
    bool stuck = call->stuck_rank >= 0 || call->stuck_op >= 0;
    atomic_store_explicit(&record->number, 2 * call->number - 1, memory_order_seq_cst);
    tern__record_put(&record->sequence, call->sequence);
    tern__record_put(&record->signature,
                     tern__signature_pack(sent->kind, sent->dtype, sent->op, sent->root,
                                          sent->order, algorithm, sent->bytes));
    tern__record_put(&record->bytes, call->bytes);
    atomic_store_explicit(&record->begin_ns, shifted(call->begin_ns, shift_ns),
                          memory_order_release);
    atomic_store_explicit(&record->end_ns, shifted(call->end_ns, shift_ns), memory_order_release);
    atomic_store_explicit(&record->status, call->status, memory_order_release);
    tern__publish(&record->stuck_at,
                  stuck ? tern__stuck(call->stuck_rank, call->stuck_lane, call->stuck_op) : 0);
    tern__publish(&record->algorithm, (uint32_t)(call->algorithm + 1));
    tern__publish(&record->place,
                  tern__place(call->state, call->way, call->comm_slot, call->number));
    tern__record_put(&record->number, 2 * call->number); // partner: tern__record_read
}

void tern__records_store(struct tern__ctl *ctl, int member, const struct tern__recorded *calls,
                         int count, int64_t shift_ns)
{
    struct tern__ctl_records *records = &ctl->records[member];
    uint64_t kept = 0;
    _Static_assert(TERN__RECORDS <= 64, "a bit each");
    for (int i = 0; i < count; i++) {
        store(&records->ring[calls[i].number % TERN__RECORDS], &calls[i], shift_ns);
        kept |= UINT64_C(1) << calls[i].number % TERN__RECORDS;
    }
    for (int i = 0; i < TERN__RECORDS; i++) {
        if ((kept >> i & 1) == 0) {
            tern__record_put(&records->ring[i].number, 0);
        }
    }
    if (count > 0) {
        atomic_store_explicit(&records->last, calls[0].number, memory_order_relaxed);
    }
}
