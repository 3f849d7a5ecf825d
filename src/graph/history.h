// SPDX-License-Identifier: Apache-2.0
// The record of a run, for people: which tasks there were, after which others, on which core and
// when. With TERN_GRAPH_RECORD=PREFIX in the environment the last run of each chip leaves
// PREFIX-rankR.json, .dot (the graph, its critical path marked) and .txt (a table by name). With
// TERN_GRAPH_ARGS=NAME,NAME,… the arguments of tasks of these names are in the first, as they were
// when their kernels began. Off, it costs one look at a pointer a task.
#ifndef TERN_GRAPH_HISTORY_H
#define TERN_GRAPH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/task.h"

struct tern_chip;
struct tern__core;
struct tern__history;

#define TERN__HISTORY_NONE UINT32_MAX

// NULL when the environment does not ask for one, or there is no memory.
struct tern__history *tern__history_make(void);
void tern__history_free(struct tern__history *record);

// A run begins. Tasks of a graph that is whole are added at once.
void tern__history_begin(struct tern__history *record, const struct tern_chip *chip);

// A task, complete; by the thread that builds. `id`: what edges name it by. Its edges are said
// after it.
void tern__history_add(struct tern__history *record, struct tern__task *task, uint64_t id);
void tern__history_edge(struct tern__history *record, const struct tern__task *task, uint64_t from);

// A call of its kernel: before, and after it.
void tern__history_args(struct tern__history *record, const struct tern__core *core,
                        const struct tern__task *task);
void tern__history_call(struct tern__history *record, const struct tern__core *core,
                        const struct tern__task *task, int64_t begin_ns, int64_t end_ns);

// The run is over: writes the files. What goes wrong is told to the log.
void tern__history_end(struct tern__history *record, const struct tern_chip *chip);

#endif
