// SPDX-License-Identifier: Apache-2.0
// Symbolic values. A node stands for a function of the position: the input of a rank, or a sum. Of
// a sum only the facts that decide are kept: whose contributions are in it (a bit set), and whether
// anything is wrong with it.

#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"

struct values {
    struct node_facts *facts;
    uint64_t *sets; // `words` per node
    size_t words;
    size_t count, room;
    struct mistake *mistakes; // the first is none
    size_t mistakes_count, mistakes_room;
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
        values->facts[node].ordered = rank == 0;
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
        free(checking->values->mistakes);
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

const struct mistake *tern__value_mistake(const struct checking *checking, uint32_t mistake)
{
    return &checking->values->mistakes[mistake];
}

// Remembers a mistake, with the term that is to blame, as that of a sum.
static bool add_mistake(struct checking *checking, const struct addition *addition,
                        struct mistake mistake, struct node_facts *facts)
{
    struct values *values = checking->values;
    if (values->mistakes_count == values->mistakes_room) {
        size_t room = values->mistakes_room == 0 ? 16 : 2 * values->mistakes_room;
        struct mistake *grown =
            tern__budget_take(&checking->budget, (room - values->mistakes_room) * sizeof *grown)
                ? realloc(values->mistakes, room * sizeof *grown)
                : NULL;
        if (grown == NULL) {
            return false;
        }
        values->mistakes = grown;
        values->mistakes_room = room;
        values->mistakes_count += values->mistakes_count == 0; // number 0 is none
    }
    mistake.maker = addition->maker;
    mistake.from = addition->from;
    mistake.node = addition->terms[mistake.term].node;
    mistake.rest_node = addition->terms[mistake.rest].node;
    facts->mistake = (uint32_t)values->mistakes_count;
    facts->mistake_delta = addition->terms[mistake.rest].delta - addition->terms[0].delta;
    values->mistakes[values->mistakes_count++] = mistake;
    return true;
}

// Adds the contributions of a term to those of a sum; returns a rank that is in both, or -1.
static int add_set(const struct values *values, uint64_t *set, const uint64_t *add)
{
    int twice = -1;
    for (size_t word = 0; word < values->words; word++) {
        uint64_t common = set[word] & add[word];
        if (common != 0 && twice < 0) {
            twice = (int)(word * 64) + __builtin_ctzll(common);
        }
        set[word] |= add[word];
    }
    return twice;
}

// Terms of different positions: most are taken to be right (Boyer, Moore 1981), of two the first.
static bool check_positions(struct checking *checking, const struct addition *addition,
                            struct node_facts *facts)
{
    const struct content *terms = addition->terms;
    uint32_t most = 0;
    uint32_t odd = 0;
    size_t votes = 0;
    for (uint32_t i = 0; i < addition->count; i++) {
        most = votes == 0 && terms[i].delta != terms[most].delta ? i : most;
        votes = terms[i].delta == terms[most].delta ? votes + 1 : votes > 0 ? votes - 1 : 0;
    }
    while (terms[odd].delta == terms[most].delta && odd + 1 < addition->count) {
        odd++;
    }
    struct mistake mistake = {.kind = MISTAKE_SHIFTED,
                              .term = odd,
                              .rest = most,
                              .shift = terms[odd].delta - terms[most].delta};
    return mistake.shift == 0 || add_mistake(checking, addition, mistake, facts);
}

bool tern__value_sum(struct checking *checking, const struct addition *addition,
                     struct content *sum)
{
    struct values *values = checking->values;
    const struct content *terms = addition->terms;
    uint32_t node;
    if (addition->count == 1) {
        *sum = terms[0];
        return true;
    }
    if (!add_node(values, &checking->budget, &node)) {
        return false;
    }
    struct node_facts facts = {.sum = true, .maker = addition->maker, .atomic = addition->atomic};
    facts.flat = !addition->atomic && addition->count == (size_t)checking->plan->spec.nranks;
    facts.ordered = addition->atomic ? 0 : values->facts[terms[0].node].ordered;
    uint64_t *set = set_of(values, node);
    bool good = true;
    for (uint32_t i = 0; i < addition->count; i++) {
        const struct node_facts *term = &values->facts[terms[i].node];
        int twice = add_set(values, set, set_of(values, terms[i].node));
        facts.atomic = facts.atomic || term->atomic;
        facts.flat = facts.flat && terms[i].node == i + 1;
        if (i > 0 && facts.ordered > 0) {
            bool next = facts.ordered < checking->plan->spec.nranks &&
                        terms[i].node == tern__value_input(checking, facts.ordered);
            facts.ordered = next ? facts.ordered + 1 : 0;
        }
        if (facts.mistake == 0 && term->mistake != 0) {
            facts.mistake = term->mistake;
            facts.mistake_delta = terms[i].delta + term->mistake_delta - terms[0].delta;
        } else if (facts.mistake == 0 && (term->undefined || twice >= 0)) {
            struct mistake mistake = {.kind = term->undefined ? MISTAKE_UNDEFINED : MISTAKE_TWICE,
                                      .term = i,
                                      .rank = twice};
            good = good && add_mistake(checking, addition, mistake, &facts);
        }
    }
    good = good && (facts.mistake != 0 || check_positions(checking, addition, &facts));
    facts.whole = is_whole(values, set, checking->plan->spec.nranks);
    values->facts[node] = facts;
    *sum = (struct content){.node = node, .wrong_by = TERN__NO_PLACE, .delta = terms[0].delta};
    return good;
}
