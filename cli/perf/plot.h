// SPDX-License-Identifier: Apache-2.0
// `tern perf --plot`: time and bus bandwidth against size, as SVG.
#ifndef TERN_CLI_PERF_PLOT_H
#define TERN_CLI_PERF_PLOT_H

#include "perf/perf.h"

// Writes the file that the options name. 0, or -1 after a sentence.
int perf_plot(const struct perf_options *options, const struct perf_row *rows, long nrows);

#endif
