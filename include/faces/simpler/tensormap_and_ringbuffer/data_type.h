// SPDX-License-Identifier: Apache-2.0
// Element types. C++ only.
#ifndef TERN_FACES_SIMPLER_TENSORMAP_DATA_TYPE_H
#define TERN_FACES_SIMPLER_TENSORMAP_DATA_TYPE_H

#include "simpler/tern/types.h"

#endif
