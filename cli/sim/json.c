// SPDX-License-Identifier: Apache-2.0
// What `tern sim --json` prints: an object a line. Times in us, rates in GB/s; what never ends is
// null. Lists are whole, whatever --rows says.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sim/sim.h"

// Names and texts here have no letters that JSON escapes, but those of topologies may.
static void print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_us(double us)
{
    if (isfinite(us)) {
        printf("%.6f", us);
    } else {
        printf("null");
    }
}

static void print_number(const char *name, double us)
{
    printf(", \"%s\": ", name);
    print_us(us);
}

static void print_uses(const tern_sim *sim)
{
    tern_sim_use use;
    printf(", \"use\": [");
    for (size_t i = 0; tern_sim_get_use(sim, i, &use); i++) {
        printf("%s{\"name\": ", i > 0 ? ", " : "");
        print_text(use.name);
        if (use.from >= 0) {
            printf(", \"from\": %d, \"to\": %d", use.from, use.to);
        }
        printf(", \"GBps\": %.6f, \"bytes\": %" PRIu64, use.GBps, use.bytes);
        print_number("least_us", use.least_us);
        print_number("busy_us", use.busy_us);
        print_number("first_us", use.first_us);
        print_number("last_us", use.last_us);
        putchar('}');
    }
    putchar(']');
}

static void print_path(const struct sim_arguments *arguments, const tern_sim *sim)
{
    static const char *const kinds[] = {"copy", "reduce", "post", "wait"};
    tern_sim_part part;
    tern_sim_step step;
    printf(", \"path\": [");
    for (size_t i = 0; tern_sim_get_part(sim, i, &part); i++) {
        printf("%s{\"what\": ", i > 0 ? ", " : "");
        print_text(part.what);
        printf(", \"us\": %.6f, \"steps\": %zu}", part.us, part.steps);
    }
    putchar(']');
    if (!arguments->steps) {
        return;
    }
    printf(", \"steps\": [");
    for (size_t i = 0; tern_sim_get_step(sim, i, &step); i++) {
        printf("%s{\"op\": \"%s\", \"rank\": %d, \"lane\": %d, \"index\": %" PRIu64,
               i > 0 ? ", " : "", kinds[step.kind], step.rank, step.lane, step.index);
        print_number("begin_us", step.begin_us);
        print_number("end_us", step.end_us);
        print_number("start_us", step.start_us);
        printf(", \"what\": ");
        print_text(step.what);
        putchar('}');
    }
    putchar(']');
}

static void print_loss(const tern_sim *sim)
{
    tern_sim_loss loss;
    if (!tern_sim_get_loss(sim, &loss)) {
        return;
    }
    printf(", \"lost\": {\"bound_us\": %.6f", loss.bound_us);
    print_number("load_us", loss.load_us);
    print_number("before_us", loss.before_us);
    print_number("slow_us", loss.slow_us);
    print_number("idle_us", loss.idle_us);
    print_number("after_us", loss.after_us);
    putchar('}');
}

void sim_print_json(const struct sim_arguments *arguments, const struct sim_case *one)
{
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    printf("{\"kind\": \"%s\", \"algo\": \"%s\", \"nranks\": %d, \"bytes\": %" PRIu64
           ", \"unit\": %" PRIu32 ", \"topo\": ",
           tern_plan_kind_name(one->spec->kind), one->spec->algorithm, one->spec->nranks,
           one->spec->bytes, one->spec->unit);
    print_text(one->topo);
    print_number("time_us", facts->time_us);
    print_number("algbw_GBps", facts->algbw_GBps);
    print_number("busbw_GBps", facts->busbw_GBps);
    print_number("bound_us", facts->bound_us >= 0 ? facts->bound_us : NAN);
    printf(", \"ops\": %" PRIu64 ", \"flows\": %" PRIu64 ", \"events\": %" PRIu64, facts->ops,
           facts->flows, facts->events);
    print_number("wall_s", facts->wall_s);
    print_loss(one->sim);
    print_uses(one->sim);
    print_path(arguments, one->sim);
    if (arguments->ranks) {
        printf(", \"ranks_us\": [");
        for (int rank = 0; rank < one->spec->nranks; rank++) {
            printf("%s", rank > 0 ? ", " : "");
            print_us(tern_sim_rank_us(one->sim, rank));
        }
        putchar(']');
    }
    const char *stuck = tern_sim_stuck(one->sim);
    if (stuck != NULL) {
        printf(", \"stuck\": ");
        print_text(stuck);
    }
    puts("}");
}
