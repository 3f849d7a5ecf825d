// SPDX-License-Identifier: Apache-2.0
// Lower bounds. Three arguments, each valid for links and resources of any speed: all crossings
// together share all links; what a set of ranks must send out shares the links out of it; and for
// AllReduce, parts of a partition taken as one rank each still need 2(k-1) crossings of every byte
// over the links between them (Nash-Williams and Tutte 1961: with equal links both ways the best
// partition is exact). What links share limits them too (crossing.h). The arguments are made of
// blocks of ranks: of machines, or where resources lie between some ranks only, of those between
// whom none lies; then of single ranks. All sets and partitions are tried up to
// TERN_SUMMARY_EXACT_RANKS blocks; above, single blocks and their complements. Set-up path.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/bound.h"
#include "plan/crossing.h"

enum { EXACT = TERN_SUMMARY_EXACT_RANKS };

// Partitions whose links share something are added up one by one: of 9 blocks there are 21147.
#define SHARING_PARTITIONS_MAX 9

enum blocks { MACHINES, PARTS, RANKS };

struct search {
    const tern_plan_spec *spec;
    const tern_topo *topo;
    enum blocks what;
    int k;         // blocks
    const int *of; // the block of each rank
    int *ranks;    // in each block
    int *list;     // room for two lists of blocks
    int root;      // block
    struct tern__crossings crossings;
    double *rate; // between two blocks, links alone: bytes per us, [from * k + to]
    struct tern__bound *bound;
    bool raised; // by these blocks
    // Of the partition under way.
    int block[EXACT];
    int best_block[EXACT];
    int best_blocks; // 0: no partition is the best
};

static bool linked(const struct search *s, int from, int to)
{
    return s->rate[from * s->k + to] > 0;
}

// True when a bound is better than what was found so far.
static bool better(struct search *s, double bytes, double capacity)
{
    if (bytes <= 0) {
        return false;
    }
    double us = capacity > 0 ? bytes / capacity : INFINITY;
    if (us <= s->bound->us * (1 + 1e-9)) {
        return false;
    }
    s->bound->us = us;
    s->raised = true;
    s->best_blocks = 0;
    return true;
}

// Shares that must cross between blocks, once, and once more where there is no link to where they
// belong; and of a gather or scatter, those of the root only.
static double shares_apart(const struct search *s)
{
    tern_plan_kind kind = s->spec->kind;
    double shares = 0;
    for (int a = 0; a < s->k; a++) {
        for (int b = 0; b < s->k; b++) {
            bool wanted = kind == TERN_PLAN_ALL_TO_ALL || b == s->root;
            bool there = kind == TERN_PLAN_SCATTER ? linked(s, b, a) : linked(s, a, b);
            double each = kind == TERN_PLAN_ALL_TO_ALL ? s->ranks[b] : 1;
            shares += a != b && wanted ? (there ? 1 : 2) * each * s->ranks[a] : 0;
        }
    }
    return shares;
}

// How often any byte, or share, must cross a link, all in all.
static double crossings_apart(const struct search *s)
{
    double others = s->k - 1;
    switch (s->spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
        return 2 * others;
    case TERN_PLAN_ALL_TO_ALL:
    case TERN_PLAN_GATHER:
    case TERN_PLAN_SCATTER:
        return shares_apart(s) / s->spec->nranks;
    default:
        return others;
    }
}

static void all_apart(struct search *s)
{
    static const char *const what[] = {"machines", "parts without shared links", "ranks"};
    double crossings = crossings_apart(s);
    for (int b = 0; b < s->k; b++) {
        s->list[b] = b;
    }
    struct tern__capacity all = tern__crossings_parts(&s->crossings, s->list);
    if (!better(s, crossings * (double)s->spec->bytes, all.rate)) {
        return;
    }
    char shared[64];
    if (all.resources == 0) {
        snprintf(shared, sizeof shared, "%d links", all.links);
    } else if (all.alone > 0) {
        snprintf(shared, sizeof shared, "%d links and %d resources", all.alone, all.resources);
    } else {
        bool ports = s->what == MACHINES && all.way < 2 && all.resources == s->k;
        snprintf(shared, sizeof shared, "%d %s", all.resources, ports ? "ports" : "resources");
    }
    snprintf(s->bound->text, sizeof s->bound->text,
             "all %s apart: %.4g crossings of all bytes share %s", what[s->what], crossings,
             shared);
}

// Bytes that must leave a set of `count` ranks, with the root of the kind in it or without.
static double leaves(const tern_plan_spec *spec, int count, bool has_root)
{
    int n = spec->nranks;
    double bytes = (double)spec->bytes;
    double share = bytes / n;
    switch (spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
        return bytes;
    case TERN_PLAN_REDUCE_SCATTER:
        return share * (n - count);
    case TERN_PLAN_ALL_GATHER:
        return share * count;
    case TERN_PLAN_BROADCAST:
        return has_root ? bytes : 0;
    case TERN_PLAN_ALL_TO_ALL:
        return share * count * (n - count);
    case TERN_PLAN_REDUCE_TO_ROOT:
        return has_root ? 0 : bytes; // at least a partial sum of every byte
    case TERN_PLAN_GATHER:
        return has_root ? 0 : share * count;
    case TERN_PLAN_SCATTER:
        return has_root ? share * (n - count) : 0;
    default:
        return 0;
    }
}

// The ranks, or machines, of some blocks; ranks one by one up to EXACT of them, above as ranges.
static void list_blocks(const struct search *s, const bool *in, char *text, size_t text_bytes)
{
    int count = 0;
    for (int b = 0; b < s->k; b++) {
        count += in[b] ? s->ranks[b] : 0;
    }
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < (s->what == MACHINES ? s->k : s->spec->nranks); i++) {
        tern_topo_machine machine = {.name = ""};
        int end = i + 1;
        if (!in[s->what == MACHINES ? i : s->of[i]]) {
            continue;
        }
        if (used + 14 > text_bytes) {
            snprintf(text + used, text_bytes - used, ",...");
            return;
        }
        const char *comma = used > 0 ? "," : "";
        while (s->what != MACHINES && count > EXACT && end < s->spec->nranks && in[s->of[end]]) {
            end++;
        }
        if (s->what == MACHINES) {
            tern_topo_get_machine(s->topo, i, &machine);
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%.8s", comma, machine.name);
        } else if (end > i + 1) {
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%d-%d", comma, i, end - 1);
        } else {
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%d", comma, i);
        }
        i = end - 1;
    }
}

static void tell_set(struct search *s, const bool *in, double bytes,
                     const struct tern__capacity *out)
{
    char blocks[80];
    if (s->what == MACHINES && out->resources > 0 && out->way < 2) {
        bool others[TERN_PLAN_RANKS_MAX];
        for (int b = 0; b < s->k; b++) {
            others[b] = !in[b];
        }
        list_blocks(s, out->way == 0 ? in : others, blocks, sizeof blocks);
        snprintf(s->bound->text, sizeof s->bound->text,
                 "%.0f bytes must go %s the machines {%s} by their ports", bytes,
                 out->way == 0 ? "out of" : "into", blocks);
        return;
    }
    char shared[40] = "";
    int missing = -1;
    int count = 0;
    for (int b = 0; b < s->k; b++) {
        missing = in[b] ? missing : b;
        count += in[b];
    }
    if (s->what == RANKS && count == s->k - 1 && count > EXACT) {
        snprintf(blocks, sizeof blocks, "all but %d", missing);
    } else {
        list_blocks(s, in, blocks, sizeof blocks);
    }
    if (out->resources > 0) {
        snprintf(shared, sizeof shared, " over %d resource%s", out->resources,
                 out->resources == 1 ? "" : "s");
    }
    snprintf(s->bound->text, sizeof s->bound->text,
             "%.0f bytes must leave {%s}, which has %d link%s out%s", bytes, blocks, out->links,
             out->links == 1 ? "" : "s", shared);
}

static void try_set(struct search *s, const bool *in)
{
    int *from = s->list;
    int *to = s->list + s->k;
    int from_count = 0;
    int to_count = 0;
    int ranks = 0;
    for (int b = 0; b < s->k; b++) {
        ranks += in[b] ? s->ranks[b] : 0;
        if (in[b]) {
            from[from_count++] = b;
        } else {
            to[to_count++] = b;
        }
    }
    struct tern__capacity out = tern__crossings_from(&s->crossings, from, from_count, to, to_count);
    double bytes = leaves(s->spec, ranks, in[s->root]);
    if (better(s, bytes, out.rate)) {
        tell_set(s, in, bytes, &out);
    }
}

static void all_sets(struct search *s)
{
    for (uint32_t set = 1; set + 1 < UINT32_C(1) << s->k; set++) {
        bool in[EXACT];
        for (int b = 0; b < s->k; b++) {
            in[b] = (set >> b & 1) != 0;
        }
        try_set(s, in);
    }
}

// One block, and all but one.
static void single_sets(struct search *s)
{
    bool in[TERN_PLAN_RANKS_MAX];
    for (int one = 0; one < s->k; one++) {
        for (int all_but = 0; all_but < 2; all_but++) {
            for (int b = 0; b < s->k; b++) {
                in[b] = (b == one) != (all_but != 0);
            }
            try_set(s, in);
        }
    }
}

// Puts blocks b.. into the parts so far or a new one; `between`: what links have between parts,
// both directions, of the blocks before.
static void partitions(struct search *s, int b, int parts, double between)
{
    if (b == s->k) {
        double capacity = parts > 1 && s->crossings.resources > 0
                              ? tern__crossings_parts(&s->crossings, s->block).rate
                              : between;
        if (parts > 1 && better(s, 2.0 * (parts - 1) * (double)s->spec->bytes, capacity)) {
            s->best_blocks = parts;
            memcpy(s->best_block, s->block, sizeof s->best_block);
        }
        return;
    }
    double to_part[EXACT] = {0};
    double to_all = 0;
    for (int other = 0; other < b; other++) {
        double both = s->rate[b * s->k + other] + s->rate[other * s->k + b];
        to_part[s->block[other]] += both;
        to_all += both;
    }
    for (int part = 0; part <= parts && part < s->k; part++) {
        s->block[b] = part;
        double inside = part < parts ? to_part[part] : 0;
        partitions(s, b + 1, part == parts ? parts + 1 : parts, between + to_all - inside);
    }
}

static void tell_partition(struct search *s)
{
    char parts[80] = "";
    for (int part = 0; part < s->best_blocks; part++) {
        bool in[EXACT];
        char blocks[64];
        for (int b = 0; b < s->k; b++) {
            in[b] = s->best_block[b] == part;
        }
        list_blocks(s, in, blocks, sizeof blocks);
        size_t used = strlen(parts);
        snprintf(parts + used, sizeof parts - used, "{%s}", blocks);
    }
    snprintf(s->bound->text, sizeof s->bound->text,
             "%d crossings of all bytes between the parts %s", 2 * (s->best_blocks - 1), parts);
}

static void find(struct search *s)
{
    all_apart(s);
    if (s->k > EXACT) {
        single_sets(s);
        size_t used = strlen(s->bound->text);
        if (s->what == RANKS && s->raised) {
            snprintf(s->bound->text + used, sizeof s->bound->text - used,
                     " (above %d ranks only single ranks and the sum are tried)", EXACT);
        }
        return;
    }
    all_sets(s);
    if (s->spec->kind == TERN_PLAN_ALL_REDUCE &&
        (s->crossings.resources == 0 || s->k <= SHARING_PARTITIONS_MAX)) {
        partitions(s, 0, 0, 0);
        if (s->best_blocks > 0) {
            tell_partition(s);
        }
    }
}

// What links alone have between two blocks, and how many ranks a block has.
static void measure(struct search *s)
{
    const struct tern__crossing_way *way = &s->crossings.way[0];
    for (int i = 0; i < s->k * s->k; i++) {
        for (int at = way->start[i]; at < way->start[i + 1]; at++) {
            s->rate[i] += way->list[at].rate;
        }
    }
    for (int rank = 0; rank < s->spec->nranks; rank++) {
        s->ranks[s->of[rank]]++;
    }
    s->root = s->of[s->spec->root];
}

static int find_with(const tern_plan_spec *spec, const tern_topo *topo, enum blocks what,
                     const int *of, int k, struct tern__bound *bound)
{
    size_t blocks = (size_t)k;
    struct search s = {.spec = spec,
                       .topo = topo,
                       .what = what,
                       .k = k,
                       .of = of,
                       .ranks = calloc(blocks, sizeof *s.ranks),
                       .list = calloc(2 * blocks, sizeof *s.list),
                       .rate = calloc(blocks * blocks, sizeof *s.rate),
                       .bound = bound};
    int status = s.ranks == NULL || s.list == NULL || s.rate == NULL
                     ? tern__fail(TERN_ERR_MEMORY, "no memory for a lower bound of %d ranks", k)
                     : tern__crossings_create(spec->nranks, topo, of, k, &s.crossings);
    if (status == TERN_OK) {
        measure(&s);
        find(&s);
    }
    tern__crossings_destroy(&s.crossings);
    free(s.ranks);
    free(s.list);
    free(s.rate);
    return status;
}

// Ranks are in one part when links that share nothing lead from each to the next, both ways.
static int find_parts(int n, const tern_topo *topo, int *of)
{
    int parts = 0;
    int queue[TERN_PLAN_RANKS_MAX];
    for (int rank = 0; rank < n; rank++) {
        of[rank] = -1;
    }
    for (int first = 0; first < n; first++) {
        int count = 0;
        if (of[first] < 0) {
            of[first] = parts;
            queue[count++] = first;
        }
        for (int i = 0; i < count; i++) {
            for (int other = 0; other < n; other++) {
                int one = queue[i];
                if (of[other] < 0 && tern_topo_link(topo, one, other, NULL) &&
                    tern_topo_link(topo, other, one, NULL) &&
                    tern_topo_uses(topo, one, other, NULL) == 0 &&
                    tern_topo_uses(topo, other, one, NULL) == 0) {
                    of[other] = parts;
                    queue[count++] = other;
                }
            }
        }
        parts += count > 0;
    }
    return parts;
}

int tern__bound_find(const tern_plan_spec *spec, const tern_topo *topo, struct tern__bound *bound)
{
    int of[TERN_PLAN_RANKS_MAX];
    int n = spec->nranks;
    *bound = (struct tern__bound){0};
    snprintf(bound->text, sizeof bound->text, "no bytes need cross a link");
    if (n == 1 || spec->bytes == 0) {
        return TERN_OK;
    }
    if (tern_topo_machine_count(topo) > 1) {
        for (int rank = 0; rank < n; rank++) {
            of[rank] = tern_topo_machine_of(topo, rank);
        }
        TERN_TRY(find_with(spec, topo, MACHINES, of, tern_topo_machine_count(topo), bound));
    } else if (tern_topo_resource_count(topo) > 0) {
        int parts = find_parts(n, topo, of);
        TERN_TRY(parts > 1 && parts < n ? find_with(spec, topo, PARTS, of, parts, bound) : TERN_OK);
    }
    for (int rank = 0; rank < n; rank++) {
        of[rank] = rank;
    }
    return find_with(spec, topo, RANKS, of, n, bound);
}
