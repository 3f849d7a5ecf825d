// SPDX-License-Identifier: Apache-2.0
// Clusters and their blocks' memory: made, begun, freed. Takes a lock for memory, which is asked
// for once a block.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "isa/block.h"
#include "isa/cluster.h"

struct tern__cluster *tern__clusters_make(int clusters)
{
    size_t bytes = (size_t)clusters * TERN__CLUSTERS_EACH * sizeof(struct tern__cluster);
    struct tern__cluster *made =
        aligned_alloc(TERN_CACHE_LINE, bytes > 0 ? bytes : TERN_CACHE_LINE);
    if (made != NULL) {
        memset(made, 0, bytes);
        for (int i = 0; i < clusters * TERN__CLUSTERS_EACH; i++) {
            pthread_mutex_init(&made[i].lock, NULL);
        }
    }
    return made;
}

void tern__clusters_free(struct tern__cluster *clusters, int count)
{
    for (int i = 0; clusters != NULL && i < count * TERN__CLUSTERS_EACH; i++) {
        for (int k = 0; k < TERN_CLUSTER_COUNTERS; k++) {
            free(clusters[i].memory[k].data);
        }
        pthread_mutex_destroy(&clusters[i].lock);
    }
    free(clusters);
}

struct tern__cluster *tern__cluster_begin(struct tern__cluster *clusters, int unit, uint32_t lanes)
{
    struct tern__cluster *cluster = &clusters[unit * TERN__CLUSTERS_EACH];
    if (tern__flag_load(&cluster->users) != 0) { // partner: tern__cluster_leave
        cluster++;
    }
    if (tern__flag_take(&cluster->used) != 0) {
        memset(cluster->lane, 0, sizeof cluster->lane);
        for (int k = 0; k < TERN_CLUSTER_COUNTERS; k++) {
            cluster->memory[k].size_bytes = 0;
        }
    }
    cluster->lanes = lanes;
    tern__poke(&cluster->ended, 0);
    // What the core sees that is given the block.
    tern__poke(&cluster->users, (uint32_t)__builtin_popcount(lanes));
    return cluster;
}

static int find_memory(struct tern__cluster_memory *memory, size_t size_bytes, void **found)
{
    if (memory->size_bytes == 0 && size_bytes > memory->has_bytes) {
        free(memory->data);
        memory->has_bytes = 0;
        size_t whole = (size_bytes + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE;
        memory->data = whole >= size_bytes ? aligned_alloc(TERN_CACHE_LINE, whole) : NULL;
        if (memory->data == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "tern_cluster_memory: no memory for %zu bytes",
                              size_bytes);
        }
        memory->has_bytes = size_bytes;
    }
    if (memory->size_bytes != 0 && size_bytes > memory->size_bytes) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_cluster_memory: %zu bytes, where another kernel of the block has "
                          "asked for %zu",
                          size_bytes, memory->size_bytes);
    }
    memory->size_bytes = memory->size_bytes != 0 ? memory->size_bytes : size_bytes;
    *found = memory->data;
    return TERN_OK;
}

static int cluster_memory(int number, size_t size_bytes, void **memory)
{
    TERN_TRY(tern__cluster_check("tern_cluster_memory", "number", number, TERN_CLUSTER_COUNTERS));
    if (memory == NULL || size_bytes == 0) {
        return tern__fail(TERN_ERR_ARG, memory == NULL
                                            ? "tern_cluster_memory: memory must not be NULL"
                                            : "tern_cluster_memory: 0 bytes");
    }
    struct tern__cluster *cluster = tern__block_here()->cluster;
    tern__poke(&cluster->used, 1);
    pthread_mutex_lock(&cluster->lock);
    int status = find_memory(&cluster->memory[number], size_bytes, memory);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

int tern_cluster_memory(int number, size_t size_bytes, void **memory)
{
    return TERN__CALL(cluster_memory(number, size_bytes, memory));
}
