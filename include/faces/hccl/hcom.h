// SPDX-License-Identifier: Apache-2.0
// What programs include hcom.h for, of what there is here: communicators by their names.
#ifndef TERN_FACES_HCCL_HCOM_H
#define TERN_FACES_HCCL_HCOM_H

#include "hccl/hccl_comm.h"

#endif
