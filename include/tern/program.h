// SPDX-License-Identifier: Apache-2.0
// Programs: plans that nobody stores. A program makes each op when it is reached, so that there can
// be one for 65536 ranks; what an op means is said in tern/plan.h. Programs are simulated
// (tern/sim.h); one for few ranks can be made a plan, which is proved and executed.
#ifndef TERN_PROGRAM_H
#define TERN_PROGRAM_H

#include <stdint.h>

#include "tern/api.h"
#include "tern/plan.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_PROGRAM_RANKS_MAX 65536

typedef struct tern_program tern_program;

// The program as a sealed plan, within the limits of tern/plan.h. TERN_ERR_ARG, TERN_ERR_LIMIT with
// a sentence; TERN_ERR_MEMORY. Any thread.
TERN_CALL int tern_program_plan(const tern_program *program, tern_plan **plan);

// Kind, ranks (more than a plan may have), size and algorithm; valid until it is destroyed.
TERN_API const tern_plan_spec *tern_program_get_spec(const tern_program *program);

// NULL is allowed.
TERN_API int tern_program_destroy(tern_program *program);

TERN_END_DECLS

#endif
