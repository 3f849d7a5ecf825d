// SPDX-License-Identifier: Apache-2.0
// `tern check --style hccl`: the report as users of HCCL's algorithm analyser know it.
#ifndef TERN_CLI_CHECK_HCCL_H
#define TERN_CLI_CHECK_HCCL_H

#include <stdbool.h>
#include <stdio.h>

#include "tern/check.h"
#include "tern/plan.h"

// One line a check, always; then every finding with its code and its tasks. 0, or -1 without
// memory. in_place: that rule was asked for.
int check_print_hccl(const tern_check *check, const tern_plan *plan, bool in_place, FILE *file);

#endif
