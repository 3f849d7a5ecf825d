// SPDX-License-Identifier: Apache-2.0
// What `tern sim` prints for people.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "sim/sim.h"

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_ranks(const struct sim_arguments *arguments, const struct sim_case *one)
{
    int nranks = one->spec->nranks;
    int first = -1; // of those that end
    int last = -1;
    bool never = false; // one does not
    for (int rank = 0; rank < nranks; rank++) {
        double us = tern_sim_rank_us(one->sim, rank);
        if (isinf(us)) {
            never = true;
            continue;
        }
        first = first < 0 || us < tern_sim_rank_us(one->sim, first) ? rank : first;
        last = last < 0 || us > tern_sim_rank_us(one->sim, last) ? rank : last;
    }
    if (first < 0) {
        puts("ranks     none ends");
    } else {
        printf("ranks     end from %.3f us (rank %d) to %.3f us (rank %d)%s\n",
               tern_sim_rank_us(one->sim, first), first, tern_sim_rank_us(one->sim, last), last,
               never ? "; these never:" : "");
    }
    bool list = arguments->ranks || (first >= 0 && never);
    for (int rank = 0; list && rank < nranks; rank++) {
        double us = tern_sim_rank_us(one->sim, rank);
        if (isinf(us)) {
            printf("          rank %-6d          never\n", rank);
        } else if (arguments->ranks) {
            printf("          rank %-6d %14.3f us\n", rank, us);
        }
    }
}

static void print_lost(const struct sim_case *one)
{
    tern_sim_loss loss;
    tern_sim_use use;
    if (!tern_sim_get_loss(one->sim, &loss) || !tern_sim_get_use(one->sim, 0, &use)) {
        return;
    }
    double us = tern_sim_get_facts(one->sim)->time_us;
    const struct {
        double us;
        const char *text;
    } parts[] = {{loss.load_us, "it carries more than the bound asks for"},
                 {loss.before_us, "before its first byte"},
                 {loss.slow_us, "below its rate: flows are held back elsewhere"},
                 {loss.idle_us, "idle between flows"},
                 {loss.after_us, "after its last byte"}};
    printf("lost      beyond the bound, on %s:\n", use.name);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].us > 0) {
            printf("          %5.1f %% %14.3f us  %s\n", percent(parts[i].us, us), parts[i].us,
                   parts[i].text);
        }
    }
}

static void print_uses(const struct sim_arguments *arguments, const struct sim_case *one)
{
    double us = tern_sim_get_facts(one->sim)->time_us;
    tern_sim_use use;
    long rows = 0;
    while (tern_sim_get_use(one->sim, (size_t)rows, &use)) {
        if (rows == 0) {
            printf("use       of the time         bytes      busy\n");
        }
        if (rows < arguments->rows) {
            printf("          %5.1f %% %16" PRIu64 " %8.1f %%  %s\n", percent(use.least_us, us),
                   use.bytes, percent(use.busy_us, us), use.name);
        }
        rows++;
    }
    if (rows > arguments->rows) {
        printf("          ... and %ld more\n", rows - arguments->rows);
    }
}

static void print_steps(const struct sim_case *one)
{
    static const char *const kinds[] = {"copy", "reduce", "post", "wait"};
    tern_sim_step step;
    for (size_t i = 0; tern_sim_get_step(one->sim, i, &step); i++) {
        printf("          %14.3f to %14.3f us  rank %d, lane %d, op %" PRIu64 " (%s)  %s\n",
               step.begin_us, step.end_us, step.rank, step.lane, step.index, kinds[step.kind],
               step.what);
    }
}

static void print_path(const struct sim_arguments *arguments, const struct sim_case *one)
{
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    tern_sim_part part;
    size_t steps = 0;
    long rows = 0;
    if (facts->time_us > 0 && tern_sim_stuck(one->sim) == NULL &&
        !tern_sim_get_part(one->sim, 0, &part)) {
        puts("path      not kept: it would have more steps than are held");
        return;
    }
    while (tern_sim_get_step(one->sim, steps, NULL)) {
        steps++;
    }
    while (tern_sim_get_part(one->sim, (size_t)rows, &part)) {
        if (rows == 0) {
            printf("path      %zu step%s, by what they wait for\n", steps, steps == 1 ? "" : "s");
        }
        if (rows < arguments->rows) {
            printf("          %5.1f %% %14.3f us  %s (%zu)\n", percent(part.us, facts->time_us),
                   part.us, part.what, part.steps);
        }
        rows++;
    }
    if (rows > arguments->rows) {
        printf("          ... and %ld more\n", rows - arguments->rows);
    }
    if (arguments->steps) {
        print_steps(one);
    }
}

void sim_print_report(const struct sim_arguments *arguments, const struct sim_case *one)
{
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    printf("sim       %s %s, %d rank%s, %" PRIu64 " bytes, on %s\n",
           tern_plan_kind_name(one->spec->kind), one->spec->algorithm, one->spec->nranks,
           one->spec->nranks == 1 ? "" : "s", one->spec->bytes, one->topo);
    if (isinf(facts->time_us)) {
        puts("time      it never ends");
    } else {
        printf("time      %.3f us; algbw %.3f GB/s, busbw %.3f GB/s\n", facts->time_us,
               facts->algbw_GBps, facts->busbw_GBps);
    }
    if (facts->bound_us > 0) {
        printf("bound     %.3f us, %.1f %% of the time: %s\n", facts->bound_us,
               percent(facts->bound_us, facts->time_us), facts->bound_text);
    }
    print_ranks(arguments, one);
    print_lost(one);
    print_uses(arguments, one);
    print_path(arguments, one);
    printf("simulated %" PRIu64 " ops, %" PRIu64 " flows, %" PRIu64 " events in %.3f s\n",
           facts->ops, facts->flows, facts->events, facts->wall_s);
}

void sim_print_head(const struct sim_case *one)
{
    printf("# %s, %d rank%s, on %s\n", tern_plan_kind_name(one->spec->kind), one->spec->nranks,
           one->spec->nranks == 1 ? "" : "s", one->topo);
    printf("#%14s  %-17s %14s %10s %10s %8s\n", "bytes", "algorithm", "time", "algbw", "busbw",
           "bound");
    printf("#%14s  %-17s %14s %10s %10s %8s\n", "B", "", "us", "GB/s", "GB/s", "%");
}

void sim_print_row(const struct sim_case *one)
{
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    char bound[16] = "-";
    if (facts->bound_us >= 0) {
        snprintf(bound, sizeof bound, "%.1f", percent(facts->bound_us, facts->time_us));
    }
    printf(" %14" PRIu64 "  %-17s %14.3f %10.3f %10.3f %8s\n", one->spec->bytes,
           one->spec->algorithm, facts->time_us, facts->algbw_GBps, facts->busbw_GBps, bound);
}
