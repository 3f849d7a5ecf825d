// SPDX-License-Identifier: Apache-2.0
// As in April 2026.
#ifndef TERN_FACES_SIMPLER_AUGUST_DATA_TYPE_H
#define TERN_FACES_SIMPLER_AUGUST_DATA_TYPE_H

#include "simpler/april/data_type.h"

#endif
