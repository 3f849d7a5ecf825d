// SPDX-License-Identifier: Apache-2.0
// TERN_ALGO_OPTIMAL: the quickest of the planner's plans and those of the table. Set-up path.
#ifndef TERN_COLL_OPTIMAL_H
#define TERN_COLL_OPTIMAL_H

#include "tern/algo.h"

// What nobody asked for by name: where a plan of the table is far off what the links allow, or
// there is none because of the links (status: TERN_ERR_ARG), and a search finds a better one, that
// takes its place. Returns `status` where none was found.
int tern__optimal_better(const tern_algo_request *request, int status, tern_plan **plan);

// The errors of tern_algo_plan.
int tern__optimal_plan(const tern_algo_request *request, tern_plan **plan);

#endif
