// SPDX-License-Identifier: Apache-2.0
// The files of a record.
#ifndef TERN_GRAPH_HISTORY_WRITE_H
#define TERN_GRAPH_HISTORY_WRITE_H

#include <stdio.h>

#include "base/log.h"
#include "graph/history.h"

#define TERN__HISTORY_CHUNK 1024
#define TERN__HISTORY_CHUNKS 1024 // more tasks are counted, not kept

// That a task waited for, or said that it notifies.
struct tern__past_signal {
    bool waits;
    int rank; // of the window; -1: every
    uint32_t window;
    uint64_t offset_bytes;
    tern_cmp cmp; // of waits
    int32_t value;
};

struct tern__past_task {
    uint64_t id;
    _Atomic int64_t begin_ns, end_ns; // of its first and its last call; end 0: none
    _Atomic int64_t busy_ns;          // of all calls
    _Atomic int on;                   // the core of the last: AIC i, or -1 - i for AIV i
    uint32_t blocks, after_count;
    size_t after;  // in the record's edges
    bool critical; // on the path that took longest
    uint8_t core;
    char name[TERN__TASK_NAME_BYTES];
    char *args; // JSON
    struct tern__past_signal *signals;
    uint32_t signals_count;
};

struct tern__history {
    char *prefix, *names;
    struct tern__past_task *chunks[TERN__HISTORY_CHUNKS];
    _Atomic uint32_t count;
    uint64_t lost;
    uint32_t run;
    uint64_t *edges; // ids
    size_t edges_count, edges_room;
    int64_t begin_ns;
    uint32_t *path; // indices, from the first to the last
    uint32_t path_count;
    int64_t path_ns;
};

static inline struct tern__past_task *tern__past_task_at(const struct tern__history *record,
                                                         uint32_t index)
{
    return &record->chunks[index / TERN__HISTORY_CHUNK][index % TERN__HISTORY_CHUNK];
}

// The path through the graph whose kernels took longest together.
void tern__history_find_path(struct tern__history *record);

void tern__history_write_json(struct tern__history *record, const struct tern_chip *chip,
                              FILE *file);
void tern__history_write_dot(struct tern__history *record, const struct tern_chip *chip,
                             FILE *file);
void tern__history_write_table(struct tern__history *record, const struct tern_chip *chip,
                               FILE *file);

#endif
