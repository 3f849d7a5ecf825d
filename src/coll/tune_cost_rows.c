// SPDX-License-Identifier: Apache-2.0
// The rows of a tune file about what ops cost on this machine. Times are written in ns and rates in
// MB/s, so that all numbers are whole.

#include <stdlib.h>

#include "base/error.h"
#include "coll/tune.h"
#include "coll/tune_reader.h"
#include "tern/comm.h"

#define NS_MAX UINT64_C(1000000000)
#define MBPS_MAX UINT64_C(1000000000)

static int read_after(struct tern__tune_reader *r, const char *keyword, const char *what,
                      uint64_t low, uint64_t high, uint64_t *number)
{
    TERN_TRY(tern__tune_read_keyword(r, keyword));
    return tern__tune_read_number(r, what, low, high, 1, number);
}

static int read_us(struct tern__tune_reader *r, const char *keyword, double *us)
{
    uint64_t ns = 0;
    TERN_TRY(read_after(r, keyword, "nanoseconds", 0, NS_MAX, &ns));
    *us = (double)ns / 1e3;
    return TERN_OK;
}

int tern__tune_read_cost(struct tern__tune_reader *r, struct tern__tune *tune)
{
    tern_tune_cost cost = {0};
    uint64_t nranks = 0;
    uint64_t processors = 0;
    const char *begin = r->word;
    TERN_TRY(read_after(r, "ranks", "a number of ranks", 1, TERN_RANKS_MAX, &nranks));
    TERN_TRY(read_after(r, "processors", "a number of processors", 1, 65536, &processors));
    TERN_TRY(read_us(r, "begin", &cost.begin_us));
    TERN_TRY(read_us(r, "meet", &cost.meet_us));
    TERN_TRY(read_us(r, "op", &cost.op_us));
    TERN_TRY(read_us(r, "post", &cost.post_us));
    TERN_TRY(read_us(r, "wake", &cost.wake_us));
    cost.nranks = (int)nranks;
    cost.processors = (int)processors;
    for (int i = 0; i < tune->costs_count; i++) {
        if (tune->costs[i].nranks == cost.nranks) {
            return tern__tune_wrong(r, begin, "there are costs of %d ranks already", cost.nranks);
        }
    }
    size_t count = (size_t)tune->costs_count + 1; // at most one for each count of ranks
    tern_tune_cost *grown = realloc(tune->costs, count * sizeof *grown);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the tune file %s", r->name);
    }
    tune->costs = grown;
    tune->costs[tune->costs_count++] = cost;
    return TERN_OK;
}

static int read_GBps(struct tern__tune_reader *r, double *GBps)
{
    uint64_t MBps = 0;
    TERN_TRY(tern__tune_read_number(r, "MB/s", 1, MBPS_MAX, 1, &MBps));
    *GBps = (double)MBps / 1e3;
    return TERN_OK;
}

int tern__tune_read_rate(struct tern__tune_reader *r, struct tern__tune *tune)
{
    tern_tune_rate rate = {0};
    const char *begin = r->word;
    if (tune->costs_count == 0) {
        return tern__tune_wrong(r, begin, "a rate stands behind the 'cost' that it belongs to");
    }
    tern_tune_cost *cost = &tune->costs[tune->costs_count - 1];
    TERN_TRY(tern__tune_read_number(r, "bytes", 1, TERN_PLAN_BYTES_MAX, 1, &rate.bytes));
    if (cost->rates_count == TERN_TUNE_RATES_MAX ||
        (cost->rates_count > 0 && cost->rates[cost->rates_count - 1].bytes >= rate.bytes)) {
        return tern__tune_wrong(r, begin, "rates are ascending by bytes, and at most %d",
                                TERN_TUNE_RATES_MAX);
    }
    TERN_TRY(tern__tune_read_keyword(r, "copy"));
    TERN_TRY(read_GBps(r, &rate.copy_GBps));
    TERN_TRY(tern__tune_read_keyword(r, "fresh"));
    TERN_TRY(read_GBps(r, &rate.fresh_GBps));
    TERN_TRY(tern__tune_read_keyword(r, "reduce"));
    for (int i = 0; i < 4; i++) {
        TERN_TRY(read_GBps(r, &rate.reduce_GBps[i]));
    }
    cost->rates[cost->rates_count++] = rate;
    return TERN_OK;
}
