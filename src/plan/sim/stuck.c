// SPDX-License-Identifier: Apache-2.0
// Lanes that never end: in words, the first one that can be blamed, and how many stand behind it.

#include <inttypes.h>
#include <stdio.h>

#include "plan/ir.h"
#include "plan/sim/engine.h"

// An op over a link that has failed comes first, then a wait for a post over such a link; else the
// first wait.
static const struct tern__sim_lane *to_blame(const struct tern__engine *engine, uint32_t *stand)
{
    const struct tern__sim_lane *first = NULL;
    *stand = 0;
    for (uint32_t at = 0; at < engine->lanes_count; at++) {
        const struct tern__sim_lane *lane = &engine->lanes[at];
        if (lane->ended) {
            continue;
        }
        ++*stand;
        if (first == NULL || (first->pending == 0 && lane->pending > 0)) {
            first = lane;
        }
    }
    return first;
}

static void say_failed(const struct tern__engine *engine, uint32_t stands, char *text, size_t bytes)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < engine->shares.flows_count; i++) {
        const struct tern__flow *flow = &engine->shares.flows[i];
        if (flow->on_count > 0 && flow->lane == stands && flow->event == TERN__NONE &&
            flow->on[0].resource >= engine->first_link) {
            const struct tern__sim_link *link =
                &engine->links[flow->on[0].resource - engine->first_link];
            if (link->failed) {
                snprintf(text, bytes,
                         ", over link %u>%u, which has failed with %.0f of %" PRIu64 " bytes to go",
                         link->from, link->to, flow->left, flow->bytes);
                return;
            }
        }
    }
}

void tern__engine_stuck(struct tern__engine *engine, char *text, size_t bytes)
{
    uint32_t stand;
    const struct tern__sim_lane *lane = to_blame(engine, &stand);
    char more[64] = "";
    char why[128] = "";
    if (lane == NULL) {
        snprintf(text, bytes, "nothing stands");
        return;
    }
    if (stand > 1) {
        snprintf(more, sizeof more, "; %" PRIu32 " more lane%s stand%s", stand - 1,
                 stand == 2 ? "" : "s", stand == 2 ? "s" : "");
    }
    if (lane->pending > 0) {
        say_failed(engine, (uint32_t)(lane - engine->lanes), why, sizeof why);
        snprintf(text, bytes, "rank %u, lane %d, op %" PRIu64 " (%s) never ends%s%s", lane->rank,
                 lane->lane, lane->index, tern__op_kind_name((tern_plan_op_kind)lane->kind), why,
                 more);
        return;
    }
    uint32_t posted = engine->signals[engine->first_signal[lane->rank] + lane->signal].posted;
    snprintf(text, bytes,
             "rank %u, lane %d, op %" PRIu64 " (wait) waits for %u post%s of signal %u, and %u "
             "ever come%s%s",
             lane->rank, lane->lane, lane->index, lane->wanted, lane->wanted == 1 ? "" : "s",
             lane->signal, posted, posted == 1 ? "s" : "", more);
}
