// SPDX-License-Identifier: Apache-2.0
// Atomic reduces, stripe by stripe. Data path: no allocation, no system call, no log; a lock is
// tried, never waited for.

#include "plan/exec/add.h"

#include "base/trace.h"
#include "plan/exec/transfer.h"

#define WANTED (UINT32_C(1) << 31)

// Marks a held lock; false when it is free.
static bool want(struct tern__add_lock *lock)
{
    for (;;) {
        uint32_t word = tern__flag_load(&lock->word);
        if (word == 0) {
            return false;
        }
        if ((word & WANTED) != 0 || tern__flag_swap(&lock->word, word, word | WANTED)) {
            return true; // partner: tern__add_drop
        }
    }
}

bool tern__add_take(struct tern__add_lock *lock, int rank)
{
    do {
        if (tern__flag_swap(&lock->word, 0, (uint32_t)rank + 1)) {
            return true;
        }
    } while (!want(lock));
    return false;
}

bool tern__add_drop(struct tern__add_lock *lock)
{
    return (tern__flag_take(&lock->word) & WANTED) != 0;
}

int tern__add_holder(const struct tern__add_lock *lock)
{
    return (int)(tern__flag_load(&lock->word) & ~WANTED) - 1;
}

bool tern__add_is_free(struct tern__add_lock *lock)
{
    return !want(lock);
}

// A stripe of a destination: [begin, end) of the op, and what protects it.
struct stripe {
    int destination;
    uint64_t begin, end;
    struct tern__add_lock *lock;
};

// The stripe that is done after so many others; false when that were all. Each rank begins at a
// destination and a stripe of its own.
static bool find(const struct tern__binding *binding, const struct tern__step *step,
                 uint64_t length, uint64_t done, struct stripe *stripe)
{
    uint64_t rank = (uint64_t)binding->rank;
    uint64_t count = step->destinations_count;
    uint64_t size = TERN__ADD_STRIPE - TERN__ADD_STRIPE % binding->element_bytes;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t d = (rank + i) % count;
        const tern_plan_range *range = &step->operands[step->sources_count + d];
        uint64_t at = tern__range_offset(binding, range);
        uint64_t first = at / size;
        uint64_t stripes = (at + length - 1) / size - first + 1;
        if (done >= stripes) {
            done -= stripes;
            continue;
        }
        uint64_t number = first + (done + rank * stripes / binding->nranks) % stripes;
        uint64_t begin = number * size;
        uint64_t end = begin + size;
        stripe->destination = (int)d;
        stripe->begin = begin > at ? begin - at : 0;
        stripe->end = end < at + length ? end - at : length;
        stripe->lock = (struct tern__add_lock *)(void *)(binding->locks +
                                                         range->rank * binding->locks_stride) +
                       number % TERN__ADD_LOCKS;
        return true;
    }
    return false;
}

static void add_stripe(const struct tern__binding *binding, const struct tern__step *step,
                       const struct stripe *stripe)
{
    const char *from[TERN_PLAN_OPERANDS_MAX + 1];
    int sources = step->sources_count;
    char *to = tern__range_address(binding, &step->operands[sources + stripe->destination]) +
               stripe->begin;
    from[0] = to;
    for (int s = 0; s < sources; s++) {
        from[1 + s] = tern__range_address(binding, &step->operands[s]) + stripe->begin;
    }
    tern__reduce_elements(binding, &to, 1, from, 1 + sources,
                          (stripe->end - stripe->begin) / binding->element_bytes);
}

bool tern__add(const struct tern__binding *binding, const struct tern__step *step, uint32_t *done,
               bool *wanted)
{
    int64_t begin_ns = tern__trace_start();
    uint64_t length = tern__step_length(binding, step);
    uint64_t added = 0;
    struct stripe stripe;
    bool more = length > 0 && find(binding, step, length, *done, &stripe);
    while (more && tern__add_take(stripe.lock, binding->rank)) {
        add_stripe(binding, step, &stripe);
        *wanted = tern__add_drop(stripe.lock) || *wanted;
        added += stripe.end - stripe.begin;
        more = find(binding, step, length, ++*done, &stripe);
    }
    if (added > 0) {
        tern__trace_add(TERN__TRACE_TRANSFER, "reduce", begin_ns, added);
    }
    return !more;
}

struct tern__add_lock *tern__add_next(const struct tern__binding *binding,
                                      const struct tern__step *step, uint32_t done)
{
    struct stripe stripe;
    uint64_t length = tern__step_length(binding, step);
    return find(binding, step, length, done, &stripe) ? stripe.lock : NULL;
}
