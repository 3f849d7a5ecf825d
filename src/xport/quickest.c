// SPDX-License-Identifier: Apache-2.0
// Long work on memory by the way that is quickest here and now.

#include "xport/quickest.h"

#include "base/clock.h"
#include "base/order.h"

// Of a MiB. Less than no memory takes; and from there on a quarter of it is something, so that what
// is known can grow again.
#define LEAST_NS INT64_C(16)
#define MOST_NS INT64_C(1000000000)

int tern__quickest_next(struct tern__quickest *quickest, int ways)
{
    int best = 0;
    for (int way = 0; way < ways; way++) {
        if (tern__peek(&quickest->tried[way]) < TERN__QUICKEST_TRIALS) {
            return way;
        }
        if (tern__peek(&quickest->ns[way]) < tern__peek(&quickest->ns[best])) {
            best = way;
        }
    }
    uint32_t works = tern__peek(&quickest->works);
    tern__poke(&quickest->works, works + 1);
    if (ways == 1 || works % TERN__QUICKEST_SELDOM < TERN__QUICKEST_SELDOM - 2) {
        return best;
    }
    uint32_t turn = works / TERN__QUICKEST_SELDOM % (uint32_t)(ways - 1);
    return (int)turn < best ? (int)turn : (int)turn + 1;
}

void tern__quickest_took(struct tern__quickest *quickest, int way, int64_t ns, uint64_t bytes)
{
    bool again = tern__peek(&quickest->last) == (uint32_t)way + 1;
    uint32_t tried = tern__peek(&quickest->tried[way]);
    bool trial = tried < TERN__QUICKEST_TRIALS;
    int64_t old = tern__peek(&quickest->ns[way]);
    tern__poke(&quickest->last, (uint32_t)way + 1);
    if (trial) {
        tern__poke(&quickest->tried[way], tried + 1);
    }
    if (!again && old > 0) {
        return;
    }
    int64_t now = (int64_t)((double)ns * (1 << 20) / (double)bytes);
    if (trial) { // the least of them, but for the first, which may have met fresh pages
        now = tried < 2 || now < old ? now : old;
    } else {
        now = old + ((now < 2 * old ? now : 2 * old) - old) / 4;
    }
    now = now > LEAST_NS ? now : LEAST_NS;
    tern__poke(&quickest->ns[way], (uint32_t)(now < MOST_NS ? now : MOST_NS));
}

struct tern__quickest *tern__quickest_of(struct tern__quickest known[TERN__QUICKEST_CLASSES],
                                         uint64_t bytes)
{
    int number = 0;
    while (number < TERN__QUICKEST_CLASSES - 1 && bytes >> (number + 22) > 0) {
        number++;
    }
    return &known[number];
}

void tern__quickest_run(struct tern__quickest known[TERN__QUICKEST_CLASSES], int ways,
                        uint64_t bytes, tern__way_fn *fn, const void *arg)
{
    struct tern__quickest *quickest = tern__quickest_of(known, bytes);
    int64_t begin = tern__now_ns();
    int way = tern__quickest_next(quickest, ways);
    fn(arg, way);
    tern__quickest_took(quickest, way, tern__now_ns() - begin, bytes);
}
