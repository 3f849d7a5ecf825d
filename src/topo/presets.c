// SPDX-License-Identifier: Apache-2.0
// Presets: machines by name. The numbers are constants published with HCCL's own cost model
// (Ascend) and what follows from them; docs/topology.md derives each. No preset is a measurement of
// ours.

#include <stdio.h>
#include <string.h>

#include "topo/topo.h"

// Ascend: one DMA task (0.6 us) and one notification between chips (1 us), rounded up.
#define CHIP_LATENCY_US 2
// Ascend: one RDMA task (7 us) and one notification (1 us).
#define RDMA_LATENCY_US 8

static const struct preset {
    const char *line; // "name: what it is"
    struct tern__topo_shape shape;
} presets[] = {
    {"910b: a server of 8 Ascend 910B chips: mesh, 18.3 GB/s a link (what copies reach), 2 us",
     {.hosts = 1, .ranks_per_host = 8, .inside = {18.3, CHIP_LATENCY_US}}},
    {"910b-raw: the same with the raw 28 GB/s a link, 2 us",
     {.hosts = 1, .ranks_per_host = 8, .inside = {28, CHIP_LATENCY_US}}},
    {"910b-2x8: two such servers: 18.3 GB/s and 2 us inside; a 20 GB/s port for each chip, shared "
     "by its 8 links to the other server (2.5 GB/s each), 8 us",
     {.hosts = 2,
      .ranks_per_host = 8,
      .inside = {18.3, CHIP_LATENCY_US},
      .between = {2.5, RDMA_LATENCY_US}}},
    {"a3-8x2: 8 Ascend A3 packages of 2 dies: 224 GB/s and 0.2 us between the dies; a 196 GB/s "
     "port for each die, shared by its 14 links to other packages (14 GB/s each), 0.5 us",
     {.hosts = 8, .ranks_per_host = 2, .inside = {224, 0.2}, .between = {14, 0.5}}},
};

enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const char *tern_topo_preset(int index)
{
    return index >= 0 && index < PRESET_COUNT ? presets[index].line : NULL;
}

static size_t name_length(const struct preset *preset)
{
    return strcspn(preset->line, ":");
}

const struct tern__topo_shape *tern__topo_preset_shape(const char *name)
{
    for (int i = 0; i < PRESET_COUNT; i++) {
        size_t length = name_length(&presets[i]);
        if (strlen(name) == length && memcmp(name, presets[i].line, length) == 0) {
            return &presets[i].shape;
        }
    }
    return NULL;
}

void tern__topo_preset_names(char *names, size_t bytes)
{
    names[0] = '\0';
    for (int i = 0; i < PRESET_COUNT; i++) {
        size_t used = strlen(names);
        snprintf(names + used, bytes - used, "%s%.*s", i == 0 ? "" : ", ",
                 (int)name_length(&presets[i]), presets[i].line);
    }
}
