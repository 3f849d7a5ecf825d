// SPDX-License-Identifier: Apache-2.0
// Lower bounds. Three arguments, each valid for links of any speed: all crossings together share
// all links; what a set of ranks must send out shares the links out of it; and for AllReduce, parts
// of a partition taken as one rank each still need 2(k-1) crossings of every byte over the links
// between them (Nash-Williams and Tutte 1961: with equal links both ways the best partition is
// exact). All sets and partitions are tried up to TERN_SUMMARY_EXACT_RANKS ranks; above, single
// ranks and their complements. Where machines share ports, bound_ports.c goes on. Set-up path.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/bound.h"

enum { EXACT = TERN_SUMMARY_EXACT_RANKS };

struct search {
    const tern_plan_spec *spec;
    int n;
    double bytes;
    double *rate; // bytes per us, [from * n + to], 0 without a link
    double best_us;
    struct tern__bound *bound;
    // Of the partition under way.
    int block[EXACT];
    int best_block[EXACT];
    int best_blocks; // 0: no partition is the best
};

static double rate(const struct search *s, int from, int to)
{
    return s->rate[from * s->n + to];
}

// True when a bound is better than what was found so far.
static bool better(struct search *s, double bytes, double capacity)
{
    if (bytes <= 0) {
        return false;
    }
    double us = capacity > 0 ? bytes / capacity : INFINITY;
    if (us <= s->best_us * (1 + 1e-9)) {
        return false;
    }
    s->best_us = us;
    s->best_blocks = 0;
    return true;
}

// Of a gather the ranks without a link to the root, of a scatter those without one from it.
static int not_at_root(const struct search *s)
{
    int root = s->spec->root;
    int count = 0;
    for (int rank = 0; rank < s->n; rank++) {
        bool gather = s->spec->kind == TERN_PLAN_GATHER;
        count += rank != root && (gather ? rate(s, rank, root) : rate(s, root, rank)) <= 0;
    }
    return count;
}

// How often any byte, or share, must cross a link, all in all, times its bytes.
static void all_apart(struct search *s)
{
    double capacity = 0;
    int links = 0;
    int missing = 0;
    for (int from = 0; from < s->n; from++) {
        for (int to = 0; to < s->n; to++) {
            if (from != to) {
                capacity += rate(s, from, to);
                links += rate(s, from, to) > 0;
                missing += rate(s, from, to) <= 0;
            }
        }
    }
    double others = s->n - 1;
    double crossings = s->spec->kind == TERN_PLAN_ALL_REDUCE ? 2 * others : others;
    // A share crosses once, and once more at least where there is no link to where it belongs.
    if (s->spec->kind == TERN_PLAN_ALL_TO_ALL) {
        crossings += (double)missing / s->n;
    } else if (s->spec->kind == TERN_PLAN_GATHER || s->spec->kind == TERN_PLAN_SCATTER) {
        crossings = (others + not_at_root(s)) / s->n;
    }
    if (better(s, crossings * s->bytes, capacity)) {
        snprintf(s->bound->text, sizeof s->bound->text,
                 "all ranks apart: %.4g crossings of all bytes share %d links", crossings, links);
    }
}

double tern__bound_leaves(const tern_plan_spec *spec, int count, bool has_root)
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

static void list_ranks(const bool *in, int n, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int rank = 0; rank < n && used + 6 < text_bytes; rank++) {
        if (in[rank]) {
            used +=
                (size_t)snprintf(text + used, text_bytes - used, "%s%d", used > 0 ? "," : "", rank);
        }
    }
}

static void try_set(struct search *s, const bool *in)
{
    double capacity = 0;
    int links = 0;
    int count = 0;
    for (int from = 0; from < s->n; from++) {
        count += in[from];
        for (int to = 0; to < s->n && in[from]; to++) {
            if (!in[to] && rate(s, from, to) > 0) {
                capacity += rate(s, from, to);
                links++;
            }
        }
    }
    double bytes = tern__bound_leaves(s->spec, count, in[s->spec->root]);
    if (!better(s, bytes, capacity)) {
        return;
    }
    char ranks[64];
    if (count <= EXACT) {
        list_ranks(in, s->n, ranks, sizeof ranks);
    } else {
        snprintf(ranks, sizeof ranks, "all but one");
        for (int rank = 0; rank < s->n; rank++) {
            if (!in[rank]) {
                snprintf(ranks, sizeof ranks, "all but %d", rank);
            }
        }
    }
    snprintf(s->bound->text, sizeof s->bound->text,
             "%.0f bytes must leave {%s}, which has %d link%s out", bytes, ranks, links,
             links == 1 ? "" : "s");
}

static void all_sets(struct search *s)
{
    for (uint32_t set = 1; set + 1 < UINT32_C(1) << s->n; set++) {
        bool in[EXACT];
        for (int rank = 0; rank < s->n; rank++) {
            in[rank] = (set >> rank & 1) != 0;
        }
        try_set(s, in);
    }
}

// One rank, and all but one.
static int single_sets(struct search *s)
{
    bool *in = malloc((size_t)s->n * sizeof *in);
    if (in == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a lower bound of %d ranks", s->n);
    }
    // Sums of rows and columns decide which set is worth the full count.
    for (int rank = 0; rank < s->n; rank++) {
        for (int all_but = 0; all_but < 2; all_but++) {
            double capacity = 0;
            for (int other = 0; other < s->n; other++) {
                capacity += all_but ? rate(s, other, rank) : rate(s, rank, other);
            }
            bool has_root = (rank == s->spec->root) != (all_but != 0);
            double bytes = tern__bound_leaves(s->spec, all_but ? s->n - 1 : 1, has_root);
            if (bytes > 0 && (capacity <= 0 || bytes / capacity > s->best_us * (1 + 1e-9))) {
                for (int other = 0; other < s->n; other++) {
                    in[other] = (other == rank) != (all_but != 0);
                }
                try_set(s, in);
            }
        }
    }
    free(in);
    return TERN_OK;
}

// Puts ranks rank.. into the blocks so far or a new one; `between`: capacity between blocks, both
// directions, of the ranks before.
static void partitions(struct search *s, int rank, int blocks, double between)
{
    if (rank == s->n) {
        if (blocks > 1 && better(s, 2.0 * (blocks - 1) * s->bytes, between)) {
            s->best_blocks = blocks;
            memcpy(s->best_block, s->block, sizeof s->best_block);
        }
        return;
    }
    double to_block[EXACT] = {0};
    double to_all = 0;
    for (int other = 0; other < rank; other++) {
        double both = rate(s, rank, other) + rate(s, other, rank);
        to_block[s->block[other]] += both;
        to_all += both;
    }
    for (int block = 0; block <= blocks && block < s->n; block++) {
        s->block[rank] = block;
        double inside = block < blocks ? to_block[block] : 0;
        partitions(s, rank + 1, block == blocks ? blocks + 1 : blocks, between + to_all - inside);
    }
}

static void tell_partition(struct search *s)
{
    char parts[80] = "";
    for (int block = 0; block < s->best_blocks; block++) {
        bool in[EXACT];
        char ranks[64];
        for (int rank = 0; rank < s->n; rank++) {
            in[rank] = s->best_block[rank] == block;
        }
        list_ranks(in, s->n, ranks, sizeof ranks);
        size_t used = strlen(parts);
        snprintf(parts + used, sizeof parts - used, "{%s}", ranks);
    }
    snprintf(s->bound->text, sizeof s->bound->text,
             "%d crossings of all bytes between the parts %s", 2 * (s->best_blocks - 1), parts);
}

static int find(struct search *s)
{
    all_apart(s);
    if (s->n > EXACT) {
        TERN_TRY(single_sets(s));
        size_t used = strlen(s->bound->text);
        snprintf(s->bound->text + used, sizeof s->bound->text - used,
                 " (above %d ranks only single ranks and the sum are tried)", EXACT);
    } else {
        all_sets(s);
        if (s->spec->kind == TERN_PLAN_ALL_REDUCE) {
            partitions(s, 0, 0, 0);
            if (s->best_blocks > 0) {
                tell_partition(s);
            }
        }
    }
    s->bound->us = s->best_us;
    return TERN_OK;
}

int tern__bound_find(const tern_plan_spec *spec, const tern_topo *topo, struct tern__bound *bound)
{
    *bound = (struct tern__bound){0};
    snprintf(bound->text, sizeof bound->text, "no bytes need cross a link");
    if (spec->nranks == 1 || spec->bytes == 0) {
        return TERN_OK;
    }
    size_t n = (size_t)spec->nranks;
    struct search search = {.spec = spec,
                            .n = spec->nranks,
                            .bytes = (double)spec->bytes,
                            .rate = calloc(n * n, sizeof(double)),
                            .bound = bound};
    if (search.rate == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a lower bound of %zu ranks", n);
    }
    for (int from = 0; from < spec->nranks; from++) {
        for (int to = 0; to < spec->nranks; to++) {
            tern_link link = {.bandwidth_GBps = 1};
            if (from != to && (topo == NULL || tern_topo_link(topo, from, to, &link))) {
                search.rate[(size_t)from * n + (size_t)to] = link.bandwidth_GBps * 1e3;
            }
        }
    }
    int status = find(&search);
    free(search.rate);
    if (status == TERN_OK) {
        tern__bound_ports(spec, topo, bound);
    }
    return status;
}
