// SPDX-License-Identifier: Apache-2.0
// As in April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_INTRINSIC_H
#define TERN_FACES_SIMPLER_AUGUST_INTRINSIC_H

#include "simpler/april/intrinsic.h"

#endif
