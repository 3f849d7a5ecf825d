// SPDX-License-Identifier: Apache-2.0
// Buffers, and how much memory there is for them.

#include "perf/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tern/machine.h"
#include "tern/memory.h"
#include "tern/status.h"

#define PAGE 4096

// Where malloc says, as most programs have it: seldom where a page begins.
static char *touched_memory(size_t bytes)
{
    char *memory = malloc(bytes);
    if (memory != NULL) {
        memset(memory, 1, bytes);
    }
    return memory;
}

static int open_alloc(tern_comm *comm, size_t bytes, struct perf_buffers *buffers)
{
    char **memory[] = {&buffers->in, &buffers->out};
    for (int i = 0; i < 2; i++) {
        int status = tern_alloc(comm, bytes, (void **)memory[i]);
        if (status != TERN_OK) {
            return status;
        }
        memset(*memory[i], 1, bytes);
    }
    return TERN_OK;
}

int perf_buffers_open(tern_comm *comm, size_t bytes, enum perf_memory memory,
                      struct perf_buffers *buffers)
{
    *buffers = (struct perf_buffers){.memory = memory};
    if (memory == PERF_ALLOC) {
        return open_alloc(comm, bytes, buffers);
    }
    if (memory == PERF_MALLOC) {
        buffers->in = touched_memory(bytes);
        buffers->out = touched_memory(bytes);
        if (buffers->in == NULL || buffers->out == NULL) {
            perror("tern perf: no memory for the buffers");
            return TERN_ERR_MEMORY;
        }
        return TERN_OK;
    }
    tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    int rank = tern_comm_rank(comm);
    for (int i = 0; i < 2; i++) {
        int status = tern_window_create(comm, bytes, &options, &buffers->windows[i]);
        if (status != TERN_OK) {
            return status;
        }
    }
    buffers->in = tern_window_address(buffers->windows[0], rank);
    buffers->out = tern_window_address(buffers->windows[1], rank);
    return TERN_OK;
}

void perf_buffers_close(struct perf_buffers *buffers)
{
    if (buffers->memory == PERF_MALLOC) {
        free(buffers->in);
        free(buffers->out);
    } else if (buffers->memory == PERF_ALLOC) {
        tern_free(buffers->in);
        tern_free(buffers->out);
    }
    tern_window_destroy(buffers->windows[0]);
    tern_window_destroy(buffers->windows[1]);
    *buffers = (struct perf_buffers){0};
}

// The pages that it has alone.
static void give_back(char *memory, size_t bytes)
{
    size_t head = -(uintptr_t)memory % PAGE;
    if (bytes >= head + PAGE) {
        madvise(memory + head, (bytes - head) / PAGE * PAGE, MADV_DONTNEED);
    }
}

void perf_buffers_lend(const struct perf_buffers *buffers, size_t bytes)
{
    if (buffers->memory == PERF_MALLOC) {
        give_back(buffers->in, bytes);
        give_back(buffers->out, bytes);
    }
}

void perf_buffers_take_back(const struct perf_buffers *buffers, size_t bytes)
{
    if (buffers->memory == PERF_MALLOC) {
        memset(buffers->in, 1, bytes);
        memset(buffers->out, 1, bytes);
    }
}

uint64_t perf_available_bytes(void)
{
    tern_machine machine;
    bool known = tern_machine_look(&machine) == TERN_OK && machine.memory_available >= 0;
    return known ? (uint64_t)machine.memory_available : UINT64_MAX;
}
