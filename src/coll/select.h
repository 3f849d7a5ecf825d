// SPDX-License-Identifier: Apache-2.0
// Selects an algorithm of the table, and makes its plan. Set-up path.
#ifndef TERN_COLL_SELECT_H
#define TERN_COLL_SELECT_H

#include <stdbool.h>

#include "tern/algo.h"

// TERN_ERR_ARG when no plan has the kind, the sizes and the root that are asked for.
int tern__select_check(const tern_algo_request *request);

// Of a request that was checked: the plan of the algorithm of the table that it names; without a
// name, of the quickest by estimate. The errors of tern_algo_plan.
int tern__select_plan(const tern_algo_request *request, tern_plan **plan);

// Whether the topology is this machine as it is, nothing cut or slowed.
bool tern__select_is_memory(const tern_topo *topo);

#endif
