// SPDX-License-Identifier: Apache-2.0
// Presets: machines by name. The numbers are constants published with HCCL's own cost model
// (Ascend), link rates that makers publish, and what follows from them; docs/topology.md derives
// each. No preset is a measurement of
// ours.

#include <string.h>

#include "topo/topo.h"

// Ascend: one DMA task (0.6 us) and one notification between chips (1 us), rounded up.
#define CHIP_LATENCY_US 2
// Ascend: one RDMA task (7 us) and one notification (1 us).
#define RDMA_LATENCY_US 8
// GPUs: what a copy between two of them takes at least; a round number of ours.
#define GPU_LATENCY_US 2
#define NIC_LATENCY_US 5

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
    {"910b-4x8: four 910B servers: 18.3 GB/s and 2 us inside; a 20 GB/s port for each chip as a "
     "resource, 8 us",
     {.hosts = 4,
      .ranks_per_host = 8,
      .inside = {18.3, CHIP_LATENCY_US},
      .between = {20, RDMA_LATENCY_US},
      .nic_port_GBps = 20}},
    {"a3-pod: an Ascend A3 pod of 384 packages of 2 dies: 224 GB/s and 0.2 us between the dies; a "
     "196 GB/s port for each die as a resource, 0.5 us",
     {.hosts = 384,
      .ranks_per_host = 2,
      .inside = {224, 0.2},
      .between = {196, 0.5},
      .nic_port_GBps = 196}},
    {"a100-8: a server of 8 A100 GPUs at switches: a 300 GB/s port for each, 2 us",
     {.hosts = 1, .ranks_per_host = 8, .inside = {300, GPU_LATENCY_US}, .rank_port_GBps = 300}},
    {"h100-8: a server of 8 H100 GPUs at switches: a 450 GB/s port for each, 2 us",
     {.hosts = 1, .ranks_per_host = 8, .inside = {450, GPU_LATENCY_US}, .rank_port_GBps = 450}},
    {"h100-4x8: four such servers, and a 50 GB/s network port for each GPU, 5 us",
     {.hosts = 4,
      .ranks_per_host = 8,
      .inside = {450, GPU_LATENCY_US},
      .between = {50, NIC_LATENCY_US},
      .rank_port_GBps = 450,
      .nic_port_GBps = 50}},
    {"mi300x-8: a server of 8 MI300X GPUs: mesh, 64 GB/s a link, 2 us",
     {.hosts = 1, .ranks_per_host = 8, .inside = {64, GPU_LATENCY_US}}},
};

enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const char *tern_topo_preset(int index)
{
    return index >= 0 && index < PRESET_COUNT ? presets[index].line : NULL;
}

const struct tern__topo_shape *tern__topo_preset_shape(const char *name)
{
    for (int i = 0; i < PRESET_COUNT; i++) {
        size_t length = strcspn(presets[i].line, ":");
        if (strlen(name) == length && memcmp(name, presets[i].line, length) == 0) {
            return &presets[i].shape;
        }
    }
    return NULL;
}
