// SPDX-License-Identifier: Apache-2.0
// What a topology has: its links, what is changed of them, and its machines. It looks at shapes and
// tables alone; whoever makes, changes or prints topologies looks here.

#include <math.h>
#include <stdio.h>

#include "topo/topo.h"

int tern__topo_place_of(const tern_topo *topo, int low, int high)
{
    int place = 0;
    for (int end = topo->edit_count; place < end;) {
        int middle = place + (end - place) / 2;
        const struct tern__topo_edit *seen = &topo->edits[middle];
        bool before = seen->low < low || (seen->low == low && seen->high < high);
        place = before ? middle + 1 : place;
        end = before ? end : middle;
    }
    return place;
}

bool tern__topo_stands_at(const tern_topo *topo, int place, int low, int high)
{
    return place < topo->edit_count && topo->edits[place].low == low &&
           topo->edits[place].high == high;
}

double tern__topo_factor(const tern_topo *topo, int from, int to)
{
    int low = from < to ? from : to;
    int high = from < to ? to : from;
    int place = topo->edit_count > 0 ? tern__topo_place_of(topo, low, high) : 0;
    if (!tern__topo_stands_at(topo, place, low, high)) {
        return 1;
    }
    return from < to ? topo->edits[place].up : topo->edits[place].down;
}

bool tern__topo_made(const tern_topo *topo, int from, int to, tern_link *link)
{
    if (topo->cells == NULL) {
        return tern__shape_link(&topo->shape, from, to, link);
    }
    const struct tern__topo_cell *cell = tern__topo_cell(topo, from, to);
    *link = (tern_link){cell->GBps, cell->latency_us};
    return cell->GBps > 0;
}

bool tern_topo_link(const tern_topo *topo, int from, int to, tern_link *link)
{
    if (!tern__handle_lives(topo, TERN__TOPO) || from < 0 || to < 0 || from >= topo->size ||
        to >= topo->size) {
        return false;
    }
    tern_link found = {.bandwidth_GBps = INFINITY, .latency_us = 0};
    if (from != to) {
        double factor =
            tern__topo_made(topo, from, to, &found) ? tern__topo_factor(topo, from, to) : 0;
        if (!(factor > 0)) {
            return false;
        }
        found.bandwidth_GBps *= factor;
    }
    if (link != NULL) {
        *link = found;
    }
    return true;
}

void tern__topo_name_machine(char name[TERN__TOPO_NAME_SHORT], int index)
{
    snprintf(name, TERN__TOPO_NAME_SHORT, index < 26 ? "%c" : "m%d",
             index < 26 ? 'a' + index : index % 100000);
}

int tern_topo_machine_count(const tern_topo *topo)
{
    if (!tern__handle_lives(topo, TERN__TOPO)) {
        return 0;
    }
    return topo->shape.machines ? topo->shape.hosts : topo->machine_count;
}

bool tern_topo_get_machine(const tern_topo *topo, int index, tern_topo_machine *machine)
{
    if (index < 0 || index >= tern_topo_machine_count(topo)) {
        return false;
    }
    if (machine == NULL) {
        return true;
    }
    if (topo->shape.machines) {
        *machine = (tern_topo_machine){.name = topo->names[index],
                                       .ranks = tern__shape_first(&topo->shape, index + 1) -
                                                tern__shape_first(&topo->shape, index),
                                       .port_GBps = topo->shape.host_port_GBps,
                                       .latency_us = topo->shape.between.latency_us};
    } else {
        const struct tern__topo_machine *found = &topo->machines[index];
        *machine = (tern_topo_machine){.name = found->name,
                                       .ranks = found->count,
                                       .port_GBps = found->port_GBps,
                                       .latency_us = found->latency_us};
    }
    double out = tern__topo_factor(topo, TERN__TOPO_RESOURCE, 2 * index);
    double in = tern__topo_factor(topo, TERN__TOPO_RESOURCE, 2 * index + 1);
    machine->port_GBps *= out < in ? out : in;
    return true;
}

int tern_topo_machine_of(const tern_topo *topo, int rank)
{
    if (tern_topo_machine_count(topo) == 0 || rank < 0 || rank >= topo->size) {
        return -1;
    }
    return topo->shape.machines ? tern__shape_host(&topo->shape, rank) : topo->machine_of[rank];
}

int tern_topo_machine_rank(const tern_topo *topo, int index, int at)
{
    tern_topo_machine machine;
    if (!tern_topo_get_machine(topo, index, &machine) || at < 0 || at >= machine.ranks) {
        return -1;
    }
    return topo->shape.machines ? tern__shape_first(&topo->shape, index) + at
                                : topo->machine_ranks[topo->machines[index].first + at];
}
