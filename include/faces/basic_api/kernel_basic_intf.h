// SPDX-License-Identifier: Apache-2.0
// A newer name of the same header.
#ifndef TERN_FACES_BASIC_API_KERNEL_BASIC_INTF_H
#define TERN_FACES_BASIC_API_KERNEL_BASIC_INTF_H

#include "kernel_operator.h"

#endif
