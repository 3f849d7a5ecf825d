// SPDX-License-Identifier: Apache-2.0
// The executors of TERN_EXECUTOR as algorithms. Set-up path.
#ifndef TERN_COLL_EXECUTOR_H
#define TERN_COLL_EXECUTOR_H

#include <stddef.h>

#include "tern/algo.h"

// The name, for as long as the process lives, if there are executors and the kind can have one: a
// name of the table comes first, and whether there is an executor of this name is seen when it is
// recorded. NULL: there are none.
const char *tern__executor_name(tern_plan_kind kind, const char *text, size_t length);

// The plan of the executor that the request names, proved. Also the errors of tern_record_plan.
int tern__executor_plan(const tern_algo_request *request, tern_plan **plan);

#endif
