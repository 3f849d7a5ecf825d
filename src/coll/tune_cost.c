// SPDX-License-Identifier: Apache-2.0
// What ops cost on this machine, for programs: what a table says, as the rows of a tune file, and
// the figures between them.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/public.h"
#include "coll/tune.h"

static int get_cost(int nranks, tern_tune_cost *cost)
{
    if (cost == NULL || nranks < 1) {
        return tern__fail(TERN_ERR_ARG, "tern_tune_get_cost: %s",
                          cost == NULL ? "cost must not be NULL" : "there is at least one rank");
    }
    return tern__tune_look_cost(nranks, cost);
}

int tern_tune_get_cost(int nranks, tern_tune_cost *cost)
{
    return TERN__CALL_OF_CALLS(get_cost(nranks, cost));
}

static int load_costs(const char *path, tern_tune_cost **costs, int *count)
{
    struct tern__tune tune;
    if (path == NULL || costs == NULL || count == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_tune_load_costs: path, costs and count must not be NULL");
    }
    TERN_TRY(tern__tune_load(path, &tune));
    *costs = tune.costs;
    *count = tune.costs_count;
    tune.costs = NULL;
    tern__tune_free(&tune);
    return TERN_OK;
}

int tern_tune_load_costs(const char *path, tern_tune_cost **costs, int *count)
{
    return TERN__CALL_OF_CALLS(load_costs(path, costs, count));
}

static double between(double low, double high, double part)
{
    return exp(log(low) + (log(high) - log(low)) * part);
}

tern_tune_rate tern_tune_rate_at(const tern_tune_cost *cost, uint64_t bytes)
{
    int above = 0;
    while (above < cost->rates_count && cost->rates[above].bytes < bytes) {
        above++;
    }
    if (above == 0 || above == cost->rates_count) {
        return cost->rates[above == 0 ? 0 : above - 1];
    }
    const tern_tune_rate *low = &cost->rates[above - 1];
    const tern_tune_rate *high = &cost->rates[above];
    double part =
        log((double)bytes / (double)low->bytes) / log((double)high->bytes / (double)low->bytes);
    tern_tune_rate rate = {.bytes = bytes,
                           .copy_GBps = between(low->copy_GBps, high->copy_GBps, part),
                           .fresh_GBps = between(low->fresh_GBps, high->fresh_GBps, part)};
    for (int i = 0; i < 4; i++) {
        rate.reduce_GBps[i] = between(low->reduce_GBps[i], high->reduce_GBps[i], part);
    }
    return rate;
}

static unsigned long long thousandths(double value, double least)
{
    double scaled = value * 1e3;
    return (unsigned long long)llround(scaled > least ? scaled : least);
}

int tern_tune_print_cost(const tern_tune_cost *cost, char *lines, size_t size)
{
    int used =
        snprintf(lines, size,
                 "cost ranks %d processors %d begin %llu meet %llu op %llu post %llu wake %llu\n",
                 cost->nranks, cost->processors, thousandths(cost->begin_us, 0),
                 thousandths(cost->meet_us, 0), thousandths(cost->op_us, 0),
                 thousandths(cost->post_us, 0), thousandths(cost->wake_us, 0));
    for (int i = 0; i < cost->rates_count; i++) {
        const tern_tune_rate *rate = &cost->rates[i];
        size_t room = (size_t)used < size ? size - (size_t)used : 0;
        used += snprintf(room > 0 ? lines + used : NULL, room,
                         "rate %llu copy %llu fresh %llu reduce %llu %llu %llu %llu\n",
                         (unsigned long long)rate->bytes, thousandths(rate->copy_GBps, 1),
                         thousandths(rate->fresh_GBps, 1), thousandths(rate->reduce_GBps[0], 1),
                         thousandths(rate->reduce_GBps[1], 1), thousandths(rate->reduce_GBps[2], 1),
                         thousandths(rate->reduce_GBps[3], 1));
    }
    return used;
}
