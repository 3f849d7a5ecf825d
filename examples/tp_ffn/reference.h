// SPDX-License-Identifier: Apache-2.0
// What y should be: computed from the whole matrices in double precision by one process, with for
// each element the error that correct ranks may make.
#ifndef TP_FFN_REFERENCE_H
#define TP_FFN_REFERENCE_H

#include <stdint.h>

#include "progress.h"
#include "source.h"

struct reference {
    struct shape shape;
    double *y;         // [tokens, hidden]
    double *tolerance; // [tokens, hidden]: the largest |computed - y| that is right
};

// To be freed with reference_free, also after a failure. Its work is counted in `progress`, which
// may be NULL, out of reference_flops.
int reference_create(struct reference *reference, const struct source *source,
                     struct progress *progress, struct failure *failure);
double reference_flops(const struct shape *shape);
void reference_free(struct reference *reference);

// How far off a y was, over all calls of reference_check.
struct deviation {
    double error;        // the largest |computed - y|
    double of_tolerance; // the largest |computed - y| / tolerance
};

// Compares y[tokens, hidden], in the shape's dtype, with the reference. The failure's sentence has
// the first index that is wrong, what is there and what should be. What is not a number is wrong.
int reference_check(const struct reference *reference, const void *y, struct deviation *deviation,
                    struct failure *failure);

#endif
