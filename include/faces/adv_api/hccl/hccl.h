// SPDX-License-Identifier: Apache-2.0
// Another place at which sources look for it.
#ifndef TERN_FACES_ADV_API_HCCL_HCCL_H
#define TERN_FACES_ADV_API_HCCL_HCCL_H

#include "lib/hccl/hccl.h"

#endif
