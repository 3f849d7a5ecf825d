// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of the tensor map: regions of made-up addresses, and task ids.
#ifndef TERN_GRAPH_TEST_MAP_KIT_H
#define TERN_GRAPH_TEST_MAP_KIT_H

#include "support/cmocka.h"

#include "graph/tensor_map.h"
#include "kit.h"

static const uint64_t memory = 1 << 20;

static inline struct tern__tensor_map *make_map(uint32_t entries)
{
    struct tern__tensor_map *map;
    assert_true(fine(tern__map_create((uint32_t[]){entries, entries, entries, entries}, &map)));
    return map;
}

static inline tern_region make_region(uint64_t address, uint32_t count)
{
    tern_region region;
    assert_true(
        fine(tern_region_make(&region, (void *)(uintptr_t)address, &count, 1, TERN_REGION_F32)));
    return region;
}

static inline tern_region part_of(const tern_region *region, uint32_t offset, uint32_t count)
{
    tern_region part;
    assert_true(fine(tern_region_view(region, &count, &offset, &part)));
    return part;
}

static inline tern_task_id task_id(int ring, uint32_t number)
{
    return (uint64_t)ring << 32 | number;
}

static inline bool has(const struct tern__ids *ids, tern_task_id id)
{
    for (uint32_t i = 0; i < ids->count; i++) {
        if (ids->ids[i] == id) {
            return true;
        }
    }
    return false;
}

#endif
