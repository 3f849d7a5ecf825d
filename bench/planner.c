// SPDX-License-Identifier: Apache-2.0
// What the planner reaches: for topologies and kinds, the bound in parts of the plan's bytes over
// the fastest link's bandwidth, how much of it the best plan reaches without start-up, its rounds
// and ops, and the seconds for bound and plans, of a clock and of the processor, as a table for
// docs/planner.md. Every plan is proved. --quick is a few rows; --cuts has all sets of up to three
// cuts of mesh:8 that are not alike. --topo, --kind and --order select rows, all of them together:
// patterns as the shell's (--topo 'mesh:8*' --kind all_reduce --order rank). --plans FOLDER leaves
// the plans there, for tern exec.

#include <fnmatch.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/optimal/optimal.h"
#include "report.h"
#include "tern/check.h"
#include "timing.h"

struct row {
    const char *topology; // with cuts and slowed links behind it
    const char *kind;
    tern_order order;
};

static const struct row rows[] = {
    {"mesh:8", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1", "reduce_scatter", TERN_ORDER_ANY},
    {"mesh:8 0-1", "broadcast", TERN_ORDER_ANY},
    {"mesh:16", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 2-3", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 1-2", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 2-3 4-5 6-7 0-2", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 2-3 4-5 6-7 0-2 1-3", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 0-3 0-4", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 0-3 0-4 0-5 0-6", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1=0.5", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0>1", "all_reduce", TERN_ORDER_ANY},
    {"mesh:16 0-1", "all_reduce", TERN_ORDER_ANY},
    {"ring:8", "all_reduce", TERN_ORDER_ANY},
    {"ring:16", "all_reduce", TERN_ORDER_ANY},
    {"cube:3", "all_reduce", TERN_ORDER_ANY},
    {"cube:4", "all_reduce", TERN_ORDER_ANY},
    {"torus:4x4", "all_reduce", TERN_ORDER_ANY},
    {"switch:8", "all_reduce", TERN_ORDER_ANY},
    {"hosts:2x4@25", "all_reduce", TERN_ORDER_ANY},
    {"random:8,1", "all_reduce", TERN_ORDER_ANY},
    {"random:8,1,one-way", "all_reduce", TERN_ORDER_ANY},
    {"random:16,1", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1", "all_gather", TERN_ORDER_ANY},
    {"ring:8", "all_gather", TERN_ORDER_ANY},
    {"cube:3", "all_gather", TERN_ORDER_ANY},
    {"torus:4x4", "all_gather", TERN_ORDER_ANY},
    {"random:16,1", "all_gather", TERN_ORDER_ANY},
    {"hosts:2x4@25", "all_gather", TERN_ORDER_ANY},
    {"mesh:8 0-1", "all_to_all", TERN_ORDER_ANY},
    {"ring:8", "all_to_all", TERN_ORDER_ANY},
    {"cube:3", "all_to_all", TERN_ORDER_ANY},
    {"torus:4x4", "all_to_all", TERN_ORDER_ANY},
    {"switch:8", "all_to_all", TERN_ORDER_ANY},
    {"hosts:2x4@25", "all_to_all", TERN_ORDER_ANY},
    {"mesh:8", "broadcast", TERN_ORDER_ANY},
    {"switch:8", "broadcast", TERN_ORDER_ANY},
    {"hosts:2x4@25", "broadcast", TERN_ORDER_ANY},
    {"mesh:8 0-1", "reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1", "gather", TERN_ORDER_ANY},
    {"mesh:8 0-1", "scatter", TERN_ORDER_ANY},
    {"mesh:8", "all_reduce", TERN_ORDER_RANK},
    {"mesh:8 0-1", "all_reduce", TERN_ORDER_RANK},
    {"mesh:8 0-1 2-3", "all_reduce", TERN_ORDER_RANK},
    {"mesh:8 0-1 0-2 1-2", "all_reduce", TERN_ORDER_RANK},
    {"mesh:8 0-1 0-2 0-3 0-4", "all_reduce", TERN_ORDER_RANK},
    {"ring:8", "all_reduce", TERN_ORDER_RANK},
    {"cube:3", "all_reduce", TERN_ORDER_RANK},
    {"hosts:2x4@25", "all_reduce", TERN_ORDER_RANK},
};
enum { ROWS = sizeof rows / sizeof *rows, QUICK = 4 };

static const struct row cuts[] = {
    {"mesh:8 0-1", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 2-3", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 2-3 4-5", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 3-4", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 0-3", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 1-2 2-3", "all_reduce", TERN_ORDER_ANY},
    {"mesh:8 0-1 0-2 1-2", "all_reduce", TERN_ORDER_ANY},
};
enum { CUTS = sizeof cuts / sizeof *cuts };

static void need(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench_planner: %s\n", tern_last_error());
        exit(1);
    }
}

static tern_topo *make_topology(const char *text)
{
    char copy[256];
    char *rest;
    tern_topo *topo;
    snprintf(copy, sizeof copy, "%s", text);
    need(tern_topo_create(strtok_r(copy, " ", &rest), &topo));
    for (char *edit = strtok_r(NULL, " ", &rest); edit != NULL; edit = strtok_r(NULL, " ", &rest)) {
        need(strchr(edit, '=') != NULL ? tern_topo_slow(topo, edit) : tern_topo_cut(topo, edit));
    }
    return topo;
}

// The best plan of a search: the quickest, of those as quick the one of fewer ops.
struct best {
    const tern_topo *topo;
    double us, proving_us, proving_cpu_ms;
    int rounds;
    size_t ops;
    double scratch;
    bool refuted;
    const char *file; // where the plan is left; NULL: nowhere
};

static const char *order_word(const struct row *row)
{
    return row->order == TERN_ORDER_RANK ? "rank" : "any";
}

static int look(void *context, tern_plan **plan, double us)
{
    struct best *best = context;
    double begin = cli_now_us();
    double begin_cpu = cpu_ms();
    size_t ops = tern_plan_total_ops(*plan);
    tern_check *check;
    need(tern_check_plan(*plan, best->topo, &check));
    best->refuted = best->refuted || !tern_check_proved(check);
    need(tern_check_destroy(check));
    bool first = best->ops == 0;
    if (first || us < best->us * (1 - 1e-4) || (us < best->us * (1 + 1e-4) && ops < best->ops)) {
        best->us = us;
        best->ops = ops;
        best->rounds = tern_plan_round_count(*plan);
        best->scratch = (double)tern_plan_buffer_bytes(*plan, TERN_PLAN_SCRATCH) /
                        (double)tern_plan_get_spec(*plan)->bytes;
        need(best->file != NULL ? tern_plan_save(*plan, best->file) : TERN_OK);
    }
    best->proving_us += cli_now_us() - begin;
    best->proving_cpu_ms += cpu_ms() - begin_cpu;
    return TERN_OK;
}

static double fastest_GBps(const tern_topo *topo)
{
    double fastest = 0;
    for (int i = 0; i < tern_topo_size(topo) * tern_topo_size(topo); i++) {
        tern_link link;
        int from = i / tern_topo_size(topo);
        int to = i % tern_topo_size(topo);
        if (from != to && tern_topo_link(topo, from, to, &link)) {
            fastest = link.bandwidth_GBps > fastest ? link.bandwidth_GBps : fastest;
        }
    }
    return fastest;
}

static void fraction(double value, char *text, size_t bytes)
{
    for (int under = 1; under <= 2000; under++) {
        double over = round(value * under);
        if (fabs(over / under - value) < 1e-8 * value) {
            snprintf(text, bytes, under == 1 ? "%.0f" : "%.0f/%d", over, under);
            return;
        }
    }
    snprintf(text, bytes, "%.5f", value);
}

// The plan is left in a file "mesh:8 0-1, all_reduce, rank.plan".
static bool measure(const struct row *row, const char *plans)
{
    char file[4096];
    snprintf(file, sizeof file, "%s/%s, %s, %s.plan", plans != NULL ? plans : "", row->topology,
             row->kind, order_word(row));
    tern_topo *topo = make_topology(row->topology);
    struct tern__optimal_goal goal = {
        .topo = topo, .order = row->order, .bytes = UINT64_C(64) << 20, .unit = 4, .seed = 1};
    need(tern_plan_kind_parse(row->kind, &goal.kind));
    struct tern__optimal_watch watch = {0};
    struct tern__optimal *optimal;
    struct best best = {.topo = topo, .file = plans != NULL ? file : NULL};
    char bound[32];
    double begin = cli_now_us();
    double begin_cpu = cpu_ms();
    need(tern__optimal_create(&goal, &watch, &optimal));
    double bound_us = tern__optimal_bound_us(optimal);
    need(tern__optimal_search(optimal, &watch, look, &best));
    double seconds = (cli_now_us() - begin - best.proving_us) * 1e-6;
    double cpu = (cpu_ms() - begin_cpu - best.proving_cpu_ms) * 1e-3;
    fraction(bound_us * fastest_GBps(topo) * 1e3 / (double)goal.bytes, bound, sizeof bound);
    printf("| `%s` | %s%s | %s | %.1f %% | %d | %zu | %.2f | %.2f | %.2f |%s\n", row->topology,
           row->kind,
           row->order == TERN_ORDER_RANK && tern_coll_kind_facts(goal.kind)->sums ? ", rank order"
                                                                                  : "",
           bound, floor(1000 * bound_us / best.us + 0.05) / 10, best.rounds, best.ops, best.scratch,
           seconds, cpu, best.refuted ? " REFUTED" : "");
    fflush(stdout);
    tern__optimal_destroy(optimal);
    need(tern_topo_destroy(topo));
    return !best.refuted;
}

// What selects rows; NULL: any.
struct selection {
    const char *topology, *kind, *order;
};

static bool fits(const char *pattern, const char *text)
{
    return pattern == NULL || fnmatch(pattern, text, 0) == 0;
}

static bool selected(const struct selection *by, const struct row *row)
{
    return fits(by->topology, row->topology) && fits(by->kind, row->kind) &&
           fits(by->order, order_word(row));
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
                                            {"cuts", no_argument, NULL, 'c'},
                                            {"topo", required_argument, NULL, 't'},
                                            {"kind", required_argument, NULL, 'k'},
                                            {"order", required_argument, NULL, 'o'},
                                            {"plans", required_argument, NULL, 'p'},
                                            {0}};
    struct selection by = {0};
    const char *plans = NULL;
    const struct row *list = rows;
    int count = ROWS;
    int measured = 0;
    bool proved = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        list = option == 'c' ? cuts : list;
        count = option == 'c' ? CUTS : option == 'q' ? QUICK : count;
        by.topology = option == 't' ? optarg : by.topology;
        by.kind = option == 'k' ? optarg : by.kind;
        by.order = option == 'o' ? optarg : by.order;
        plans = option == 'p' ? optarg : plans;
        if (option == '?') {
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "bench_planner: '%s' is no option\n", argv[optind]);
        return 2;
    }
    puts("| topology | kind | bound | reached | rounds | ops | scratch | seconds | CPU |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (int i = 0; i < count; i++) {
        if (selected(&by, &list[i])) {
            proved = measure(&list[i], plans) && proved;
            measured++;
        }
    }
    if (measured == 0) {
        fprintf(stderr, "bench_planner: no row is of that topology, kind and order\n");
        return 2;
    }
    return proved ? 0 : 1;
}
