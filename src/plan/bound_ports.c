// SPDX-License-Identifier: Apache-2.0
// Lower bounds from ports: machines taken as one rank each, whose port is all that leads out of it
// and into it. What a set of machines must send out shares their ports, and those of the others,
// where it comes in; and all crossings together share all ports. Sets are tried up to
// TERN_SUMMARY_EXACT_RANKS machines, above that single ones and their complements. Set-up path.

#include <stdio.h>
#include <string.h>

#include "plan/bound.h"

struct ports {
    const tern_plan_spec *spec;
    const tern_topo *topo;
    int count;
    int root; // machine
    struct tern__bound *bound;
};

static tern_topo_machine machine_at(const struct ports *ports, int m)
{
    tern_topo_machine machine = {.port_GBps = 1};
    tern_topo_get_machine(ports->topo, m, &machine);
    return machine;
}

// True when a bound is better than what was found so far; then it is that.
static bool raise_bound(const struct ports *ports, double bytes, double GBps)
{
    double us = bytes * 1e-3 / GBps;
    bool better = us > ports->bound->us * (1 + 1e-9);
    ports->bound->us = better ? us : ports->bound->us;
    return better;
}

// How often any byte must cross from machine to machine, all in all, times its bytes.
static void all_apart(const struct ports *ports)
{
    const tern_plan_spec *spec = ports->spec;
    double share = (double)spec->bytes / spec->nranks;
    double others = ports->count - 1;
    double bytes = others * (double)spec->bytes;
    double GBps = 0;
    double pairs = 0; // of ranks on different machines
    for (int m = 0; m < ports->count; m++) {
        tern_topo_machine machine = machine_at(ports, m);
        GBps += machine.port_GBps;
        pairs += (double)machine.ranks * (spec->nranks - machine.ranks);
    }
    switch (spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
        bytes *= 2;
        break;
    case TERN_PLAN_ALL_TO_ALL:
        bytes = share * pairs;
        break;
    case TERN_PLAN_GATHER:
    case TERN_PLAN_SCATTER:
        bytes = share * (spec->nranks - machine_at(ports, ports->root).ranks);
        break;
    case TERN_PLAN_BARRIER:
        bytes = 0;
        break;
    default:
        break;
    }
    if (raise_bound(ports, bytes, GBps)) {
        snprintf(ports->bound->text, sizeof ports->bound->text,
                 "all machines apart: %.4g crossings of all bytes share %d ports",
                 bytes / (double)spec->bytes, ports->count);
    }
}

// Machines as bits, from the first one; flip: all others.
struct set {
    uint32_t bits;
    int first;
    bool flip;
};

static bool is_in(const struct set *set, int m)
{
    bool in = m >= set->first && m - set->first < 32 && (set->bits >> (m - set->first) & 1) != 0;
    return in != set->flip;
}

static void try_set(const struct ports *ports, const struct set *set)
{
    double GBps[2] = {0}; // of those outside, and of the set
    int ranks = 0;
    for (int m = 0; m < ports->count; m++) {
        bool in = is_in(set, m);
        tern_topo_machine machine = machine_at(ports, m);
        GBps[in] += machine.port_GBps;
        ranks += in ? machine.ranks : 0;
    }
    double bytes = tern__bound_leaves(ports->spec, ranks, is_in(set, ports->root));
    bool out = GBps[1] <= GBps[0]; // where it is narrow
    if (!raise_bound(ports, bytes, out ? GBps[1] : GBps[0])) {
        return;
    }
    char names[96] = "";
    for (int m = 0; m < ports->count; m++) {
        bool in = is_in(set, m);
        size_t used = strlen(names);
        if (in == out && used + 8 < sizeof names) {
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? "," : "",
                     machine_at(ports, m).name);
        }
    }
    snprintf(ports->bound->text, sizeof ports->bound->text,
             "%.0f bytes must go %s the machines {%s} by their ports", bytes,
             out ? "out of" : "into", names);
}

void tern__bound_ports(const tern_plan_spec *spec, const tern_topo *topo, struct tern__bound *bound)
{
    struct ports ports = {.spec = spec,
                          .topo = topo,
                          .count = tern_topo_machine_count(topo),
                          .root = tern_topo_machine_of(topo, spec->root),
                          .bound = bound};
    if (ports.count < 2 || spec->bytes == 0) {
        return;
    }
    all_apart(&ports);
    if (ports.count <= TERN_SUMMARY_EXACT_RANKS) {
        for (uint32_t set = 1; set + 1 < UINT32_C(1) << ports.count; set++) {
            try_set(&ports, &(struct set){set, 0, false});
        }
        return;
    }
    for (int m = 0; m < ports.count; m++) {
        try_set(&ports, &(struct set){1, m, false});
        try_set(&ports, &(struct set){1, m, true});
    }
}
