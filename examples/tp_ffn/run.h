// SPDX-License-Identifier: Apache-2.0
// The layer on a chip: rounds whose result is verified on every rank, then runs that are measured.
#ifndef TP_FFN_RUN_H
#define TP_FFN_RUN_H

#include "graphs.h"
#include "job.h"
#include "reference.h"

enum { MEASURED_RUNS = 11 };

enum { AIV_CORES = 1 }; // of a chip; its AIC cores are an option

// Of the runs of one variant, in seconds.
struct timing {
    double median;
    double quartiles[2]; // a quarter of the runs took less, a quarter more
};

struct runner {
    struct job *job;
    struct device *device;
    tern_chip *chip;
    struct orchestra orchestras[VARIANT_COUNT];
    char *snapshot; // [tokens, hidden]: y as it was when a run ended here
};

// Starts the chip and creates the graphs. To be destroyed with runner_destroy, also after a
// failure.
int runner_create(struct runner *runner, struct job *job, struct device *device,
                  struct failure *failure);
void runner_destroy(struct runner *runner);

// Collective. One round: overwrites what the last one left, runs, and compares: rank 0's y with the
// reference (NULL on other ranks), every other rank's y with rank 0's, bit for bit, and on each
// rank what was there when its run ended with what is there once all ranks' runs have. *seconds is
// the time from launch to the end on this rank. All ranks return the same.
int runner_round(struct runner *runner, const struct reference *reference,
                 struct deviation *deviation, double *seconds, struct failure *failure);

// Collective. Runs each variant MEASURED_RUNS times, in turn. The time of a run is that until all
// ranks have ended it.
int runner_measure(struct runner *runner, struct timing timings[VARIANT_COUNT],
                   struct failure *failure);

#endif
