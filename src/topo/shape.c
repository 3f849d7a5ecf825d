// SPDX-License-Identifier: Apache-2.0
// Links by rule, of any number of ranks: nothing is stored of a link. Set-up path.

#include <stdio.h>

#include "topo/topo.h"

int tern__shape_first(const struct tern__topo_shape *shape, int host)
{
    return shape->ranks_per_host > 0 ? host * shape->ranks_per_host : shape->first[host];
}

int tern__shape_size(const struct tern__topo_shape *shape)
{
    return tern__shape_first(shape, shape->hosts);
}

int tern__shape_host(const struct tern__topo_shape *shape, int rank)
{
    if (shape->ranks_per_host > 0) {
        return rank / shape->ranks_per_host;
    }
    int host = 0; // the last one that begins at or before the rank
    for (int end = shape->hosts; end - host > 1;) {
        int middle = host + (end - host) / 2;
        host = shape->first[middle] <= rank ? middle : host;
        end = shape->first[middle] <= rank ? end : middle;
    }
    return host;
}

// One step in one dimension, around the end, too.
static bool torus_linked(const struct tern__topo_shape *shape, int from, int to)
{
    int steps = 0;
    for (int d = shape->dim_count - 1; d >= 0 && steps < 2; d--) {
        int size = shape->dims[d];
        int a = from % size;
        int b = to % size;
        bool step = (a + 1) % size == b || (b + 1) % size == a;
        steps += a == b ? 0 : step ? 1 : 2;
        from /= size;
        to /= size;
    }
    return steps == 1;
}

bool tern__shape_link(const struct tern__topo_shape *shape, int from, int to, tern_link *link)
{
    int host = tern__shape_host(shape, from);
    if (host != tern__shape_host(shape, to)) {
        *link = shape->between;
        return true;
    }
    *link = shape->inside;
    int first = tern__shape_first(shape, host);
    return shape->dim_count == 0 || torus_linked(shape, from - first, to - first);
}

int64_t tern__shape_link_count(const struct tern__topo_shape *shape)
{
    int64_t size = tern__shape_size(shape);
    int64_t neighbours = 0; // of a rank of a torus
    for (int d = 0; d < shape->dim_count; d++) {
        neighbours += shape->dims[d] < 3 ? shape->dims[d] - 1 : 2;
    }
    int64_t links = 0;
    for (int host = 0; host < shape->hosts; host++) {
        int64_t ranks = tern__shape_first(shape, host + 1) - tern__shape_first(shape, host);
        links += ranks * (shape->dim_count > 0 ? neighbours : ranks - 1);
        links += ranks * (size - ranks);
    }
    return links;
}

// Resources of a kind stand together: ports of ranks, of ranks to other hosts, of hosts.
enum { RANKS, NICS, HOSTS, KINDS };

static int list(const struct tern__topo_shape *shape, double GBps[KINDS], int counts[KINDS])
{
    const double rates[] = {shape->rank_port_GBps, shape->nic_port_GBps, shape->host_port_GBps};
    int size = tern__shape_size(shape);
    int all = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        GBps[kind] = rates[kind];
        counts[kind] = rates[kind] > 0 ? 2 * (kind == HOSTS ? shape->hosts : size) : 0;
        all += counts[kind];
    }
    return all;
}

int tern__shape_resource_count(const struct tern__topo_shape *shape)
{
    double GBps[KINDS];
    int counts[KINDS];
    return list(shape, GBps, counts);
}

bool tern__shape_resource(const struct tern__topo_shape *shape, int index,
                          tern_topo_resource *resource)
{
    static const char *const names[] = {"rank", "nic", "host"};
    double GBps[KINDS];
    int counts[KINDS];
    int kind = 0;
    list(shape, GBps, counts);
    for (; kind < KINDS - 1 && index >= counts[kind]; kind++) {
        index -= counts[kind];
    }
    resource->GBps = GBps[kind];
    snprintf(resource->name, sizeof resource->name, "%s%d.%s", names[kind], index / 2,
             index % 2 == 0 ? "out" : "in");
    return !shape->machines;
}

int tern__shape_uses(const struct tern__topo_shape *shape, int from, int to,
                     int uses[TERN_TOPO_USES_MAX])
{
    double GBps[KINDS];
    int counts[KINDS];
    int one = tern__shape_host(shape, from);
    int other = tern__shape_host(shape, to);
    int count = 0;
    list(shape, GBps, counts);
    if (one == other) {
        return counts[RANKS] > 0 ? tern__topo_add_uses(uses, 0, 2 * from, 2 * to + 1) : 0;
    }
    if (counts[NICS] > 0) {
        int first = counts[RANKS];
        count = tern__topo_add_uses(uses, count, first + 2 * from, first + 2 * to + 1);
    }
    if (counts[HOSTS] > 0) {
        int first = counts[RANKS] + counts[NICS];
        count = tern__topo_add_uses(uses, count, first + 2 * one, first + 2 * other + 1);
    }
    return count;
}
