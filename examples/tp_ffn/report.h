// SPDX-License-Identifier: Apache-2.0
// What rank 0 prints while all goes well.
#ifndef TP_FFN_REPORT_H
#define TP_FFN_REPORT_H

#include "options.h"
#include "run.h"

void report_begin(const struct source *source, const struct options *options, int nranks);
void report_phase(const char *name, double seconds);
void report_round(int64_t round, double seconds, const struct deviation *deviation);

// The timings of runner_measure, GFLOP/s, and a line about overlap; `cores` is those of all chips.
void report_measured(const struct shape *shape, const struct timing timings[VARIANT_COUNT],
                     int cores);

// That line: the overlap efficiency, or why there is none. It is 1 when the shorter of computation
// and communication is hidden behind the other entirely, 0 when they take as long together as one
// after the other. Nothing can be told when the cores of the chips outnumber the processors, which
// then compute or communicate, nor when the runs vary by more than there is to hide.
void report_overlap(const struct timing timings[VARIANT_COUNT], int cores, int processors,
                    char *line, size_t size);

#endif
