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

// All fields are needed but the last two.
typedef struct tern_program_request {
    tern_plan_kind kind; // all_reduce; there are programs of no other kind
    int nranks;          // up to TERN_PROGRAM_RANKS_MAX
    uint64_t bytes;      // as in tern_plan_spec; shares need not be equal
    uint32_t unit;
    const char *algorithm; // tern_program_name
    int group;             // of the hierarchical ones: ranks of a group, such as those of a host
    uint64_t piece_bytes;  // of the tree and the chain; 0: 1 MiB
} tern_program_request;

// Makes a program. TERN_ERR_ARG says what is not possible, and which algorithms there are.
TERN_CALL int tern_program_create(const tern_program_request *request, tern_program **program);

// The algorithms by index, NULL behind the last; and what one is, in a line.
TERN_API const char *tern_program_name(int index);
TERN_API const char *tern_program_text(int index);

// The program as a sealed plan, within the limits of tern/plan.h. TERN_ERR_ARG, TERN_ERR_LIMIT with
// a sentence; TERN_ERR_MEMORY. Any thread.
TERN_CALL int tern_program_plan(const tern_program *program, tern_plan **plan);

// Kind, ranks (more than a plan may have), size and algorithm; valid until it is destroyed.
TERN_API const tern_plan_spec *tern_program_get_spec(const tern_program *program);

// NULL is allowed.
TERN_API int tern_program_destroy(tern_program *program);

TERN_END_DECLS

#endif
