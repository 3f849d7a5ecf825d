// SPDX-License-Identifier: Apache-2.0
// `tern perf --compare sim`: what the simulator says of the plan that a call runs.
#ifndef TERN_CLI_PERF_PREDICT_H
#define TERN_CLI_PERF_PREDICT_H

#include "perf/call.h"
#include "tern/plan.h"

// Whether what ops cost was measured for so many ranks; else false after a sentence.
bool perf_predict_ready(const struct perf_options *options, int nranks);

// Fills in row->sim_us, by its algorithm and way; `plan` instead of those of the call, or
// NULL. 0 where the simulator has no such call: messages, and counts of their own.
void perf_predict(const struct perf_options *options, const struct perf_call *call,
                  const tern_plan *plan, struct perf_row *row);

// Of all rows that have both: the median of how far the prediction is from the median that was
// measured, in percent of that; below 0 when there are none.
double perf_predict_error(const struct perf_row *rows, long nrows);

#endif
