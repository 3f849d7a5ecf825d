// SPDX-License-Identifier: Apache-2.0
// Symbolic values. A node stands for a function of the position: the input of a rank, or a sum. Of a
// sum only the facts that decide are kept: whose contributions are in it (a bit set), and whether
// anything is wrong with it.

#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"

struct values {
    struct node_facts *facts;
    uint64_t *sets; // `words` per node
    size_t words;
    size_t count, room;
};

static bool add_node(struct values *values, struct budget *budget, uint32_t *node)
{
    if (values->count == values->room) {
        size_t room = values->room == 0 ? 64 : 2 * values->room;
        size_t node_bytes = sizeof *values->facts + values->words * sizeof *values->sets;
        if (!tern__budget_take(budget, (room - values->room) * node_bytes)) {
            return false;
        }
        struct node_facts *facts = realloc(values->facts, room * sizeof *facts);
        values->facts = facts != NULL ? facts : values->facts;
        uint64_t *sets = realloc(values->sets, room * values->words * sizeof *sets);
        values->sets = sets != NULL ? sets : values->sets;
        if (facts == NULL || sets == NULL || room > UINT32_MAX) {
            return false;
        }
        values->room = room;
    }
    *node = (uint32_t)values->count++;
    memset(&values->facts[*node], 0, sizeof values->facts[*node]);
    memset(&values->sets[*node * values->words], 0, values->words * sizeof *values->sets);
    return true;
}

static uint64_t *set_of(const struct values *values, uint32_t node)
{
    return &values->sets[(size_t)node * values->words];
}

// Node 0 is "undefined", node 1 + r the input of rank r.
bool tern__values_create(struct checking *checking)
{
    int nranks = checking->plan->spec.nranks;
    struct values *values = calloc(1, sizeof *values);
    checking->values = values;
    if (values == NULL) {
        return false;
    }
    values->words = ((size_t)nranks + 63) / 64;
    for (int rank = -1; rank < nranks; rank++) {
        uint32_t node;
        if (!add_node(values, &checking->budget, &node)) {
            return false;
        }
        if (rank < 0) {
            values->facts[node].undefined = true;
            continue;
        }
        values->facts[node].rank = rank;
        values->facts[node].flat = nranks == 1;
        values->facts[node].whole = nranks == 1;
        set_of(values, node)[rank / 64] |= UINT64_C(1) << (rank % 64);
    }
    return true;
}

void tern__values_destroy(struct checking *checking)
{
    if (checking->values != NULL) {
        free(checking->values->facts);
        free(checking->values->sets);
        free(checking->values);
    }
}

uint32_t tern__value_input(const struct checking *checking, int rank)
{
    (void)checking;
    return (uint32_t)rank + 1;
}

const struct node_facts *tern__value_facts(const struct checking *checking, uint32_t node)
{
    return &checking->values->facts[node];
}

bool tern__value_has(const struct checking *checking, uint32_t node, int rank)
{
    return (set_of(checking->values, node)[rank / 64] >> (rank % 64) & 1) != 0;
}

static bool is_whole(const struct values *values, const uint64_t *set, int nranks)
{
    uint64_t last = UINT64_MAX >> (64 * values->words - (size_t)nranks);
    bool whole = set[values->words - 1] == last;
    for (size_t word = 0; whole && word + 1 < values->words; word++) {
        whole = set[word] == UINT64_MAX;
    }
    return whole;
}

bool tern__value_sum(struct checking *checking, const struct content *terms, size_t count,
                     struct place maker, bool atomic, struct content *sum)
{
    struct values *values = checking->values;
    if (count == 1) { // of one term: a copy
        *sum = terms[0];
        return true;
    }
    uint32_t node;
    if (!add_node(values, &checking->budget, &node)) {
        return false;
    }
    struct node_facts facts = {.sum = true, .maker = maker, .atomic = atomic};
    facts.flat = !atomic && count == (size_t)checking->plan->spec.nranks;
    uint64_t *set = set_of(values, node);
    for (size_t i = 0; i < count; i++) {
        const struct node_facts *term = &values->facts[terms[i].node];
        const uint64_t *add = set_of(values, terms[i].node);
        facts.undefined = facts.undefined || term->undefined;
        facts.skewed = facts.skewed || term->skewed || terms[i].delta != terms[0].delta;
        facts.twice = facts.twice || term->twice;
        facts.atomic = facts.atomic || term->atomic;
        facts.flat = facts.flat && terms[i].node == (uint32_t)i + 1;
        uint64_t common = 0;
        for (size_t word = 0; word < values->words; word++) {
            common |= set[word] & add[word];
            set[word] |= add[word];
        }
        facts.twice = facts.twice || common != 0;
    }
    facts.whole = is_whole(values, set, checking->plan->spec.nranks);
    values->facts[node] = facts;
    *sum = (struct content){.node = node, .delta = terms[0].delta};
    return true;
}
