// SPDX-License-Identifier: Apache-2.0
// What is known of a job before it is joined.
#ifndef TERN_START_ACROSS_H
#define TERN_START_ACROSS_H

#include <stdbool.h>

// Whether what has started this process says that its job has several machines.
bool tern__start_is_across(void);

#endif
