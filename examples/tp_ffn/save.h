// SPDX-License-Identifier: Apache-2.0
// --save: the whole matrices as .npy files, under the names that --in reads.
#ifndef TP_FFN_SAVE_H
#define TP_FFN_SAVE_H

#include "source.h"

// Creates the folder if it is not there (its parent must be) and writes x and the weights to it.
int save_inputs(const struct source *source, const char *folder, struct failure *failure);

// Writes y.npy from y[tokens, hidden] in the shape's dtype.
int save_y(const struct shape *shape, const void *y, const char *folder, struct failure *failure);

#endif
