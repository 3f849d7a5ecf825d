// SPDX-License-Identifier: Apache-2.0
// Random sealed plans through the checker: bytes become ops, so that every plan that the builder
// takes is reached quickly. The checker must come to an end with a verdict; a plan that it proves
// is printed, read and proved again.

#include <stdint.h>
#include <stdlib.h>

#include "tern/check.h"
#include "tern/status.h"

struct bytes {
    const uint8_t *at;
    size_t left;
};

static uint32_t take(struct bytes *bytes, uint32_t limit)
{
    if (bytes->left == 0) {
        return 0;
    }
    bytes->left--;
    return *bytes->at++ % limit;
}

static void add_op(tern_plan *plan, struct bytes *bytes, uint32_t nranks)
{
    tern_plan_range ranges[4];
    tern_plan_op op = {.kind = (tern_plan_op_kind)take(bytes, 4)};
    int rank = (int)take(bytes, nranks);
    int lane = (int)take(bytes, 2);
    if (op.kind == TERN_PLAN_POST || op.kind == TERN_PLAN_WAIT) {
        op.peer = (int)take(bytes, nranks);
        op.signal = take(bytes, 3);
        op.count = 1 + take(bytes, 3);
    } else {
        op.length = 4 * take(bytes, 4);
        op.sources_count = op.kind == TERN_PLAN_COPY ? 1 : 1 + (int)take(bytes, 2);
        op.destinations_count = 1 + (int)take(bytes, 2);
        op.flags = op.kind == TERN_PLAN_REDUCE && take(bytes, 8) == 0 ? TERN_PLAN_ATOMIC : 0;
        for (int i = 0; i < op.sources_count + op.destinations_count; i++) {
            ranges[i] = (tern_plan_range){.offset = 4 * take(bytes, 5),
                                          .rank = (uint16_t)take(bytes, nranks),
                                          .buffer = (uint16_t)take(bytes, 3)};
        }
        op.sources = ranges;
        op.destinations = ranges + op.sources_count;
    }
    if (tern_plan_add(plan, rank, lane, &op) != TERN_OK) {
        abort(); // everything made here is within the builder's limits
    }
}

static bool proved(const tern_plan *plan, const tern_topo *topo)
{
    tern_check *check;
    if (tern_check_plan(plan, topo, &check) != TERN_OK) {
        abort();
    }
    bool result = tern_check_proved(check);
    bool findings = false;
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        findings = findings || tern_check_count(check, (tern_check_rule)rule) > 0;
    }
    if (result == findings) { // a refutation shows why
        abort();
    }
    tern_check_destroy(check);
    if (tern_check_plan_in_place(plan, topo, &check) != TERN_OK ||
        (tern_check_proved(check) && !result)) { // in place is one rule more
        abort();
    }
    tern_check_destroy(check);
    return result;
}

// What is proved over machines is proved without: a network orders less.
static void look_over_machines(const tern_plan *plan, bool result)
{
    static const char *const words[] = {"machines:1x1", "machines:2x1", "machines:1+2",
                                        "machines:2+2"};
    tern_topo *topo;
    if (tern_topo_create(words[tern_plan_get_spec(plan)->nranks - 1], &topo) != TERN_OK ||
        (proved(plan, topo) && !result)) {
        abort();
    }
    tern_topo_destroy(topo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {.at = data, .left = size};
    uint32_t nranks = 1 + take(&bytes, 4);
    tern_plan_spec spec = {.kind = (tern_plan_kind)take(&bytes, TERN_PLAN_KINDS),
                           .nranks = (int)nranks,
                           .unit = 4};
    spec.bytes = spec.kind == TERN_PLAN_BARRIER ? 0 : 4 * (uint64_t)nranks * take(&bytes, 3);
    bool rooted = tern_coll_kind_facts(spec.kind)->root != TERN_KIND_ROOT_NONE;
    spec.root = rooted ? (int)take(&bytes, nranks) : 0;
    tern_plan *plan;
    if (tern_plan_create(&spec, &plan) != TERN_OK ||
        tern_plan_need_scratch(plan, 4 * take(&bytes, 6)) != TERN_OK) {
        abort();
    }
    while (bytes.left > 0) {
        add_op(plan, &bytes, nranks);
    }
    if (tern_plan_seal(plan) != TERN_OK) {
        abort();
    }
    bool result = proved(plan, NULL);
    look_over_machines(plan, result);
    if (result) {
        char *text;
        size_t length;
        tern_plan *again;
        if (tern_plan_print(plan, &text, &length) != TERN_OK ||
            tern_plan_parse(text, length, "again", &again) != TERN_OK || !proved(again, NULL)) {
            abort();
        }
        tern_plan_destroy(again);
        free(text);
    }
    tern_plan_destroy(plan);
    return 0;
}
