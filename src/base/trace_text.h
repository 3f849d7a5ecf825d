// SPDX-License-Identifier: Apache-2.0
// What the JSON of a trace is made of (base/trace_write.h).
#ifndef TERN_BASE_TRACE_TEXT_H
#define TERN_BASE_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/trace_write.h"

#define TERN__TRACE_TEXT_MAX 120 // bytes of a string

// A JSON string without its quotes, of at most `size` bytes.
void tern__trace_text(FILE *file, const char *from, size_t size);

// `,"KEY":` and a time in microseconds; not with %f, whose decimal point is the locale's.
void tern__trace_time(FILE *file, const char *key, int64_t time_ns);

// A process of its own with all counters.
void tern__trace_write_counters(FILE *file, const struct tern__trace_simulated *simulated, int pid);

#endif
