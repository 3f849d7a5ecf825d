// SPDX-License-Identifier: Apache-2.0
// The orchestration: the tasks of one run of the layer on one chip and what they wait for.
#ifndef TP_FFN_GRAPHS_H
#define TP_FFN_GRAPHS_H

#include <tern/submit.h>

#include "kernels.h"

// The layer; its matrix products alone; its AllReduces alone. The last two show what overlaps.
enum variant { VARIANT_FULL, VARIANT_COMPUTE, VARIANT_COMMUNICATION, VARIANT_COUNT };

// A variant, which may run often. Every rank runs the same variants in the same order.
struct orchestra {
    enum variant variant;
    struct device *device;
    tern_graph *graph;
    int32_t runs; // that were launched
};

// To be destroyed with orchestra_destroy, also after a failure.
int orchestra_create(struct orchestra *orchestra, enum variant variant, struct device *device,
                     struct failure *failure);
void orchestra_destroy(struct orchestra *orchestra);

// Runs it on the chip, to its end.
int orchestra_run(struct orchestra *orchestra, tern_chip *chip, struct failure *failure);

#endif
