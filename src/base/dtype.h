// SPDX-License-Identifier: Apache-2.0
// What dtypes can do.
#ifndef TERN_BASE_DTYPE_H
#define TERN_BASE_DTYPE_H

#include <stdbool.h>

#include "tern/dtype.h"

// Whether there is arithmetic on its elements; false for those that are only moved, and for none.
bool tern__dtype_is_number(tern_dtype dtype);

// TERN_OK when it is; else TERN_ERR_ARG: "tern_put_add: c64, the dtype of local, is only moved …".
int tern__dtype_check_number(const char *call, const char *name, tern_dtype dtype);

#endif
