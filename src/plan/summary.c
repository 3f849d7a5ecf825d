// SPDX-License-Identifier: Apache-2.0
// The summary of a plan on a topology. Set-up path.

#include <inttypes.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/bound.h"
#include "plan/ir.h"
#include "plan/tally.h"

static int count_ops(const tern_plan *plan, struct tern__tally *tally)
{
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            size_t count = tern_plan_op_count(plan, rank, lane);
            for (size_t index = 0; index < count; index++) {
                tern_plan_op op;
                TERN_TRY(tern_plan_get_op(plan, rank, lane, index, &op));
                tern__tally_op(tally, rank, lane, &op);
            }
        }
    }
    return TERN_OK;
}

static void fill_port(const struct tern__tally *tally, int m, tern_summary_port *port)
{
    tern_topo_machine machine = {.name = ""};
    tern_topo_get_machine(tally->topo, m, &machine);
    snprintf(port->machine, sizeof port->machine, "%s", machine.name);
    port->ranks = machine.ranks;
    port->out_bytes = tally->resource_bytes[2 * m];
    port->in_bytes = tally->resource_bytes[2 * m + 1];
    double out_us = tern__tally_resource_us(tally, 2 * m);
    double in_us = tern__tally_resource_us(tally, 2 * m + 1);
    port->us = out_us > in_us ? out_us : in_us;
}

static void fill_resources(const struct tern__tally *tally, tern_summary *summary)
{
    summary->machines = tally->machines;
    summary->resources = tally->resources;
    for (int m = 0; m < tally->machines && m < TERN_SUMMARY_PORTS; m++) {
        fill_port(tally, m, &summary->ports[m]);
    }
    if (tally->machines > 0) { // their ports are the first resources
        int busiest = tern__tally_busiest_resource(tally, 2 * tally->machines);
        fill_port(tally, busiest / 2, &summary->busiest_port);
    }
    if (tally->resources > 0) {
        int busiest = tern__tally_busiest_resource(tally, tally->resources);
        tern_topo_resource resource = {.name = ""};
        tern_topo_get_resource(tally->topo, busiest, &resource);
        snprintf(summary->busiest_resource.name, sizeof summary->busiest_resource.name, "%s",
                 resource.name);
        summary->busiest_resource.bytes = tally->resource_bytes[busiest];
        summary->busiest_resource.us = tern__tally_resource_us(tally, busiest);
    }
}

static void fill(const tern_plan *plan, struct tern__tally *tally, const struct tern__bound *bound,
                 tern_summary *summary)
{
    int n = plan->spec.nranks;
    *summary = (tern_summary){
        .spec = plan->spec,
        .rounds = plan->rounds,
        .ops = plan->ops_count,
        .copies = tally->copies,
        .reduces = tally->reduces,
        .posts = tally->posts,
        .waits = tally->waits,
        .missing = tally->missing,
        .scratch_bytes = plan->scratch_bytes,
        .estimate_us = tern__tally_time_us(tally),
        .bound_us = bound->us,
    };
    snprintf(summary->bound_text, sizeof summary->bound_text, "%s", bound->text);
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            size_t link = (size_t)from * (size_t)n + (size_t)to;
            summary->links += from != to && tally->latency_us[link] >= 0;
            summary->link_bytes += tally->bytes[link];
        }
    }
    tern__tally_busiest(tally, &summary->busiest_from, &summary->busiest_to);
    size_t busiest = (size_t)summary->busiest_from * (size_t)n + (size_t)summary->busiest_to;
    summary->busiest_bytes = tally->bytes[busiest];
    summary->busiest_us = (double)summary->busiest_bytes * tally->us_per_byte[busiest];
    summary->mean_bytes = summary->links > 0 ? (double)summary->link_bytes / summary->links : 0;
    fill_resources(tally, summary);
    double us = summary->busiest_resource.us > summary->busiest_us ? summary->busiest_resource.us
                                                                   : summary->busiest_us;
    summary->reached = us > 0 ? summary->bound_us / us : summary->bound_us > 0 ? 0 : 1;
}

static int summary_make(const tern_plan *plan, const tern_topo *topo, tern_summary *summary)
{
    TERN_TRY(tern__plan_lives("tern_summary_make", plan));
    TERN_TRY(topo != NULL ? tern__handle_check("tern_summary_make", topo, TERN__TOPO) : TERN_OK);
    if (!plan->sealed || summary == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_summary_make: summary must not be NULL and the plan "
                                        "must be sealed");
    }
    if (topo != NULL && tern_topo_size(topo) != plan->spec.nranks) {
        return tern__fail(TERN_ERR_ARG, "the plan is for %d ranks, and %s has %d",
                          plan->spec.nranks, tern_topo_text(topo), tern_topo_size(topo));
    }
    struct tern__bound bound;
    struct tern__tally tally;
    TERN_TRY(tern__bound_find(&plan->spec, topo, &bound));
    TERN_TRY(tern__tally_create(plan->spec.nranks, topo, &tally));
    int status = count_ops(plan, &tally);
    if (status >= 0) {
        fill(plan, &tally, &bound, summary);
    }
    tern__tally_destroy(&tally);
    return status;
}

int tern_summary_make(const tern_plan *plan, const tern_topo *topo, tern_summary *summary)
{
    return TERN__CALL(summary_make(plan, topo, summary));
}

static void print_port(const tern_summary *s, const tern_summary_port *port, FILE *file)
{
    uint64_t most = port->out_bytes > port->in_bytes ? port->out_bytes : port->in_bytes;
    double least = 2 * (s->machines - 1) / (double)s->machines * (double)s->spec.bytes;
    fprintf(file, "port      %s (%d rank%s): out %" PRIu64 " bytes, in %" PRIu64, port->machine,
            port->ranks, port->ranks == 1 ? "" : "s", port->out_bytes, port->in_bytes);
    if (most > 0) {
        fprintf(file, "; %.4f of the size, %.3f us", (double)most / (double)s->spec.bytes,
                port->us);
        if (s->spec.kind == TERN_PLAN_ALL_REDUCE && least > 0) {
            fprintf(file, ", %.4f times 2(h-1)/h of it", (double)most / least);
        }
    }
    fputc('\n', file);
}

static void print_ports(const tern_summary *s, FILE *file)
{
    if (s->machines == 0) {
        return;
    }
    fprintf(file, "machines  %d\n", s->machines);
    for (int m = 0; m < s->machines && m < TERN_SUMMARY_PORTS; m++) {
        print_port(s, &s->ports[m], file);
    }
    if (s->machines > TERN_SUMMARY_PORTS) {
        fprintf(file, "port      ... of %d more; the busiest is:\n",
                s->machines - TERN_SUMMARY_PORTS);
        print_port(s, &s->busiest_port, file);
    }
}

// Ports of machines are listed on their own.
static void print_resources(const tern_summary *s, FILE *file)
{
    const tern_summary_resource *busiest = &s->busiest_resource;
    if (s->resources == 2 * s->machines) {
        return;
    }
    fprintf(file, "resources %d; the busiest is %s: %" PRIu64 " bytes, %.4f of the size, %.3f us\n",
            s->resources, busiest->name, busiest->bytes,
            s->spec.bytes > 0 ? (double)busiest->bytes / (double)s->spec.bytes : 0, busiest->us);
}

static int summary_print(const tern_summary *s, FILE *file)
{
    if (s == NULL || file == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_summary_print: summary and file must not be NULL");
    }
    fprintf(file, "plan      %s %s, %d rank%s, %" PRIu64 " bytes, unit %" PRIu32,
            tern_plan_kind_name(s->spec.kind), s->spec.algorithm, s->spec.nranks,
            s->spec.nranks == 1 ? "" : "s", s->spec.bytes, s->spec.unit);
    if (tern__kind_has_root(s->spec.kind)) {
        fprintf(file, ", root %d", s->spec.root);
    }
    fputc('\n', file);
    fprintf(file, "rounds    %d\n", s->rounds);
    fprintf(file, "ops       %zu: %zu copy, %zu reduce, %zu post, %zu wait\n", s->ops, s->copies,
            s->reduces, s->posts, s->waits);
    fprintf(file, "scratch   %" PRIu64 " bytes on every rank\n", s->scratch_bytes);
    if (s->missing > 0) {
        fprintf(file, "WRONG     %zu transfers and posts over links that do not exist\n",
                s->missing);
    }
    if (s->busiest_bytes > 0) {
        double size = (double)s->spec.bytes;
        fprintf(file, "busiest   %" PRIu64 " bytes on link %d>%d, %.4f of the size, %.3f us\n",
                s->busiest_bytes, s->busiest_from, s->busiest_to, (double)s->busiest_bytes / size,
                s->busiest_us);
        fprintf(file, "mean      %.0f bytes on each of %d links, %.4f of the size\n", s->mean_bytes,
                s->links, s->mean_bytes / size);
    }
    print_ports(s, file);
    print_resources(s, file);
    fprintf(file, "bound     %.3f us: %s\n", s->bound_us, s->bound_text);
    fprintf(file, "reached   %.1f %% of the bound\n", 100 * s->reached);
    fprintf(file, "estimate  %.3f us with start-up\n", s->estimate_us);
    return ferror(file) != 0 ? tern__fail(TERN_ERR_SYSTEM, "the summary cannot be written")
                             : TERN_OK;
}

int tern_summary_print(const tern_summary *s, FILE *file)
{
    return TERN__CALL(summary_print(s, file));
}
