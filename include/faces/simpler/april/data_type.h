// SPDX-License-Identifier: Apache-2.0
// Element types. Of April 2026.
#ifndef TERN_FACES_SIMPLER_APRIL_DATA_TYPE_H
#define TERN_FACES_SIMPLER_APRIL_DATA_TYPE_H

#include "simpler/tern/types.h"

#endif
