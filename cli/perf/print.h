// SPDX-License-Identifier: Apache-2.0
// What `tern perf` prints: a table, or JSON. Only rank 0 prints.
#ifndef TERN_CLI_PERF_PRINT_H
#define TERN_CLI_PERF_PRINT_H

#include "perf/perf.h"

extern const char *const perf_memory_words[]; // "in windows", …, by enum perf_memory

// instant: all ranks begin at one, not after a barrier.
void perf_print_head(const struct perf_options *options, int nranks, bool instant);
void perf_print_row(const struct perf_options *options, const struct perf_row *row);
void perf_print_foot(const struct perf_options *options, const struct perf_row *rows, long nrows);

// On a terminal only: what is being measured, number `done` of `all`; NULL removes it.
void perf_progress(const char *word, uint64_t bytes, long done, long all);

#endif
