// SPDX-License-Identifier: Apache-2.0
// Links, from when they are first used: a topology of many ranks has far more than a plan uses.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/ir.h"
#include "plan/sim/engine.h"

#define US_MAX 1e12 // of a time that a link fails at

static uint32_t *slot_of(struct tern__engine *engine, uint32_t from, uint32_t to)
{
    uint32_t key = from * TERN_PROGRAM_RANKS_MAX + to;
    uint32_t mask = (UINT32_C(1) << engine->link_bits) - 1;
    uint32_t at = (key * UINT32_C(2654435769)) >> (32 - engine->link_bits);
    for (;; at = (at + 1) & mask) {
        uint32_t link = engine->link_table[at];
        if (link == TERN__NONE ||
            (engine->links[link].from == from && engine->links[link].to == to)) {
            return &engine->link_table[at];
        }
    }
}

// A table at most half full.
static bool grow_table(struct tern__engine *engine)
{
    uint32_t bits = engine->link_bits == 0 ? 8 : engine->link_bits + 1;
    uint32_t *table = bits < 32 ? malloc(sizeof *table << bits) : NULL;
    if (table == NULL) {
        return false;
    }
    memset(table, 0xff, sizeof *table << bits);
    free(engine->link_table);
    engine->link_table = table;
    engine->link_bits = bits;
    for (uint32_t i = 0; i < engine->links_count; i++) {
        *slot_of(engine, engine->links[i].from, engine->links[i].to) = i;
    }
    return true;
}

// TERN__NONE without memory. The link exists in the topology.
static uint32_t add_link(struct tern__engine *engine, uint32_t from, uint32_t to,
                         const struct tern__route *route)
{
    bool full = engine->link_bits == 0 || engine->links_count >> (engine->link_bits - 1) > 0;
    if ((full && !grow_table(engine)) ||
        (engine->links_count == engine->links_room &&
         !tern__sim_grow((void **)&engine->links, &engine->links_room, sizeof *engine->links)) ||
        tern__shares_add(&engine->shares, route->GBps * 1e3) == TERN__NONE) {
        return TERN__NONE;
    }
    struct tern__sim_link link = {.from = from,
                                  .to = to,
                                  .latency_us = route->latency_us,
                                  .uses_count = 0};
    for (int i = 0; i < route->uses_count; i++) {
        link.uses[link.uses_count++] = (uint32_t)route->uses[i];
    }
    uint32_t *slot = slot_of(engine, from, to);
    engine->links[engine->links_count] = link;
    *slot = engine->links_count;
    return engine->links_count++;
}

static uint32_t refuse(struct tern__engine *engine, const struct tern__sim_lane *lane,
                       uint32_t from, uint32_t to, const tern_plan_op *op)
{
    const char *does = op->kind == TERN_PLAN_POST ? "posts to"
                       : from == lane->rank       ? "writes to"
                                                  : "reads from";
    engine->status =
        tern__fail(TERN_ERR_ARG,
                   "rank %u, lane %d, op %" PRIu64 " (%s) %s rank %u, and %s has no link %u>%u",
                   lane->rank, lane->lane, lane->index, tern__op_kind_name(op->kind), does,
                   from == lane->rank ? to : from, tern_topo_text(engine->topo), from, to);
    return TERN__NONE;
}

uint32_t tern__engine_link(struct tern__engine *engine, struct tern__sim_lane *lane, uint32_t from,
                           uint32_t to, const tern_plan_op *op)
{
    if (lane->link != TERN__NONE && engine->links[lane->link].from == from &&
        engine->links[lane->link].to == to) {
        return lane->link;
    }
    uint32_t link = engine->link_bits > 0 ? *slot_of(engine, from, to) : TERN__NONE;
    if (link == TERN__NONE) {
        struct tern__route route;
        if (!tern__route_find(engine->topo, (int)from, (int)to, &route)) {
            return refuse(engine, lane, from, to, op);
        }
        link = add_link(engine, from, to, &route);
        if (link == TERN__NONE) {
            engine->status =
                tern__fail(TERN_ERR_MEMORY, "no memory to simulate %u links", engine->links_count);
            return TERN__NONE;
        }
    }
    lane->link = link;
    return link;
}

void tern__engine_fail(struct tern__engine *engine, uint32_t which)
{
    const struct tern__sim_fail *fail = &engine->fails[which];
    uint32_t from = (uint32_t)fail->from;
    uint32_t to = (uint32_t)fail->to;
    uint32_t link = engine->link_bits > 0 ? *slot_of(engine, from, to) : TERN__NONE;
    struct tern__route route;
    if (link == TERN__NONE && tern__route_find(engine->topo, fail->from, fail->to, &route)) {
        link = add_link(engine, from, to, &route);
    }
    if (link == TERN__NONE) {
        engine->status =
            tern__fail(TERN_ERR_MEMORY, "no memory to simulate %u links", engine->links_count);
        return;
    }
    engine->links[link].failed = true;
    tern__shares_set(&engine->shares, tern__engine_resource(engine, link), 0);
}

static bool add_fail(struct tern__engine *engine, int from, int to, double us)
{
    engine->fails[engine->fails_count++] = (struct tern__sim_fail){from, to, us};
    return tern__route_find(engine->topo, from, to, &(struct tern__route){0});
}

// Digits; false without any, or with too many.
static bool read_rank(const char **at, int *rank)
{
    int digits = 0;
    for (*rank = 0; **at >= '0' && **at <= '9' && digits < 6; digits++, (*at)++) {
        *rank = 10 * *rank + (**at - '0');
    }
    return digits > 0;
}

int tern__engine_read_fails(struct tern__engine *engine)
{
    if (engine->options.fails_count < 0 || engine->options.fails_count > TERN_SIM_FAILS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%d links fail; 0 to %d can", engine->options.fails_count,
                          TERN_SIM_FAILS_MAX);
    }
    int ranks = (int)engine->ranks;
    for (int i = 0; i < engine->options.fails_count; i++) {
        const char *text = engine->options.fails[i];
        const char *at = text != NULL ? text : "";
        char *end = NULL;
        int a = 0;
        int b = 0;
        bool read = read_rank(&at, &a) && (*at == '-' || *at == '>');
        bool both = *at == '-';
        at += read;
        read = read && read_rank(&at, &b) && at[0] == '@' && at[1] >= '0' && at[1] <= '9';
        double us = read ? strtod(at + 1, &end) : 0;
        if (!read || *end != '\0' || !(us <= US_MAX)) {
            return tern__fail(TERN_ERR_ARG,
                              "a link that fails is, with a time in us, 0-1@100 or 0>1@100, not "
                              "'%s'",
                              text != NULL ? text : "");
        }
        if (a >= ranks || b >= ranks || a == b || !add_fail(engine, a, b, us) ||
            (both && !add_fail(engine, b, a, us))) {
            return tern__fail(TERN_ERR_ARG, "'%s': %s has no such link", text,
                              tern_topo_text(engine->topo));
        }
    }
    return TERN_OK;
}
