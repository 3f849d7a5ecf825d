// SPDX-License-Identifier: Apache-2.0
// What resources are called.

#include <stdio.h>

#include "plan/sim/engine.h"

void tern__engine_name(const struct tern__engine *engine, uint32_t resource, char *name,
                       size_t bytes)
{
    if (resource == TERN__NONE) {
        snprintf(name, bytes, "the op itself");
    } else if (resource >= engine->first_link) {
        const struct tern__sim_link *link = &engine->links[resource - engine->first_link];
        snprintf(name, bytes, "link %u>%u", link->from, link->to);
    } else if (resource >= engine->first_machine) {
        bool processors = resource >= engine->first_processor;
        uint32_t first = processors ? engine->first_processor : engine->first_machine;
        tern_topo_machine machine = {.name = ""};
        bool named = tern_topo_get_machine(engine->topo, (int)(resource - first), &machine);
        snprintf(name, bytes, "%s of %s", processors ? "processors" : "memory",
                 named ? machine.name : "the machine");
    } else if (resource >= engine->first_memory) {
        snprintf(name, bytes, "memory of rank %u", resource - engine->first_memory);
    } else {
        tern__route_resource(engine->topo, (int)resource, name, bytes);
    }
}
