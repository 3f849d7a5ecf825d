// SPDX-License-Identifier: Apache-2.0
// The windows of this process by address.
#ifndef TERN_COMM_REGISTRY_H
#define TERN_COMM_REGISTRY_H

#include "tern/window.h"

#define TERN__WINDOWS_MAX 1024

int tern__registry_add(tern_window *window); // TERN_ERR_LIMIT beyond TERN__WINDOWS_MAX
void tern__registry_remove(tern_window *window);

#endif
