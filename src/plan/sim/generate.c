// SPDX-License-Identifier: Apache-2.0
// Generators by name: what was asked for becomes a program. Set-up path.

#include "plan/sim/generate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"

#define PIECE_DEFAULT (UINT64_C(1) << 20)
#define PIECES_MAX (UINT64_C(1) << 30)

static const struct generator {
    const char *name;
    const char *text;
    const struct tern__program_sort *sort;
    int children; // of a tree; 0: it is none
    bool in_groups, power_of_two;
} generators[] = {
    {"ring", "around a ring, in 2(n-1) steps", &tern__generate_ring, 0, false, false},
    {"halving_doubling", "with partners at distance n/2, n/4, ...; n is a power of two",
     &tern__generate_halving, 0, false, true},
    {"tree", "up a binary tree and down again, in pieces", &tern__generate_tree, 2, false, false},
    {"chain", "up a chain and down again, in pieces", &tern__generate_tree, 1, false, false},
    {"hierarchical", "a sum in each group, halving and doubling between groups, back to the group",
     &tern__generate_halving, 0, true, true},
    {"hierarchical_ring", "a sum in each group, rings between groups, back to the group",
     &tern__generate_ring, 0, true, false},
};
#define GENERATORS (int)(sizeof generators / sizeof generators[0])

const char *tern_program_name(int index)
{
    return index >= 0 && index < GENERATORS ? generators[index].name : NULL;
}

const char *tern_program_text(int index)
{
    return index >= 0 && index < GENERATORS ? generators[index].text : NULL;
}

static const struct generator *find(const char *name)
{
    const struct generator *generator = generators;
    while (generator < generators + GENERATORS && strcmp(generator->name, name) != 0) {
        generator++;
    }
    return generator < generators + GENERATORS ? generator : NULL;
}

static int refuse_name(const char *name)
{
    char names[160] = "";
    size_t at = 0;
    for (int i = 0; i < GENERATORS && at < sizeof names; i++) {
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? ", " : "",
                               generators[i].name);
    }
    return tern__fail(TERN_ERR_ARG, "there is no program '%s'; there are %s", name, names);
}

static int judge(const tern_program_request *request, const struct generator *generator)
{
    int n = request->nranks;
    int group = request->group;
    uint32_t unit = request->unit;
    if (request->kind != TERN_PLAN_ALL_REDUCE) {
        return tern__fail(TERN_ERR_ARG, "programs are of all_reduce only");
    }
    if (n < 1 || n > TERN_PROGRAM_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "a program has 1 to %d ranks, not %d",
                          TERN_PROGRAM_RANKS_MAX, n);
    }
    if ((unit != 1 && unit != 2 && unit != 4 && unit != 8) || request->bytes % unit != 0 ||
        request->bytes > TERN_PLAN_BYTES_MAX) {
        return tern__fail(TERN_ERR_ARG,
                          "bytes are whole elements of 1, 2, 4 or 8 bytes, up to 2^48");
    }
    if (generator->in_groups ? group < 1 || n % group != 0 || group > TERN_PLAN_OPERANDS_MAX / 2
                             : group > 1) {
        return tern__fail(TERN_ERR_ARG, "%s: groups of %d of %d ranks; %s", generator->name, group,
                          n,
                          generator->in_groups
                              ? "all must have as many, and at most 1024"
                              : "only hierarchical and hierarchical_ring have groups");
    }
    int exchanging = generator->in_groups ? n / group : n;
    if (generator->power_of_two && (exchanging & (exchanging - 1)) != 0) {
        return tern__fail(TERN_ERR_ARG, "%s needs a power of two of %s, not %d", generator->name,
                          generator->in_groups ? "groups" : "ranks", exchanging);
    }
    if (request->piece_bytes % unit != 0 ||
        (request->piece_bytes > 0 && request->bytes / request->piece_bytes >= PIECES_MAX)) {
        return tern__fail(TERN_ERR_ARG, "pieces are of whole elements, and less than 2^30 of them");
    }
    return TERN_OK;
}

// Scratch and operands, by what the files of the generators say of them.
static void size_up(const struct generator *generator, tern_program *program)
{
    uint64_t unit = program->spec.unit;
    uint64_t units = program->spec.bytes / unit;
    if (generator->children > 0) {
        program->scratch_bytes = program->spec.bytes * (uint64_t)generator->children;
        program->operands_max = 2 * (size_t)generator->children + 2;
        return;
    }
    uint64_t size = (uint64_t)program->group;
    uint64_t groups = (uint64_t)program->spec.nranks / size;
    uint64_t part = (units + size - 1) / size;
    uint64_t slice = (part + groups - 1) / groups;
    bool is_ring = generator->sort == &tern__generate_ring;
    program->scratch_bytes = ((size > 1 ? part : 0) + (is_ring ? part : slice * groups)) * unit;
    program->operands_max = 2 * (size_t)size + 32;
}

static int program_create(const tern_program_request *request, tern_program **program)
{
    if (request == NULL || program == NULL || request->algorithm == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_program_create: request, algorithm and program must not be NULL");
    }
    const struct generator *generator = find(request->algorithm);
    if (generator == NULL) {
        return refuse_name(request->algorithm);
    }
    TERN_TRY(judge(request, generator));
    tern_program *made = tern__handle_new(TERN__PROGRAM, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a program");
    }
    snprintf(made->algorithm, sizeof made->algorithm, "%s", generator->name);
    made->sort = generator->sort;
    made->spec = (tern_plan_spec){.kind = request->kind,
                                  .nranks = request->nranks,
                                  .bytes = request->bytes,
                                  .unit = request->unit,
                                  .algorithm = made->algorithm};
    made->group = generator->children > 0 ? generator->children
                  : generator->in_groups  ? request->group
                                          : 1;
    made->piece = request->piece_bytes > 0 ? request->piece_bytes : PIECE_DEFAULT;
    size_up(generator, made);
    *program = made;
    return TERN_OK;
}

int tern_program_create(const tern_program_request *request, tern_program **program)
{
    return TERN__CALL(program_create(request, program));
}
