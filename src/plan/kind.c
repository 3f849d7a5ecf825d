// SPDX-License-Identifier: Apache-2.0
// The kinds of collectives: their words, what distinguishes them, and which buffers of which sizes
// their plans have. Set-up path.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/ir.h"

static const char *const kind_words[] = {
#define TERN_PLAN_KIND(name, word, number) [number] = word,
#include "tern/plan_kind.def"
#undef TERN_PLAN_KIND
};

_Static_assert(sizeof kind_words / sizeof kind_words[0] == TERN__PLAN_KINDS,
               "the numbers of the kinds have no gaps");

const char *tern_plan_kind_name(tern_plan_kind kind)
{
    return (unsigned)kind < TERN__PLAN_KINDS ? kind_words[kind] : "unknown kind";
}

int tern_plan_kind_parse(const char *word, tern_plan_kind *kind)
{
    if (word == NULL || kind == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_kind_parse: word and kind must not be NULL");
    }
    char known[128] = "";
    for (size_t i = 0; i < TERN__PLAN_KINDS; i++) {
        if (strcmp(word, kind_words[i]) == 0) {
            *kind = (tern_plan_kind)i;
            return TERN_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", kind_words[i]);
    }
    return tern__fail(TERN_ERR_ARG, "'%s' is no kind of collective; there are %s", word, known);
}

bool tern__kind_has_shares(tern_plan_kind kind)
{
    return kind == TERN_PLAN_REDUCE_SCATTER || kind == TERN_PLAN_ALL_GATHER ||
           kind == TERN_PLAN_ALL_TO_ALL || kind == TERN_PLAN_GATHER || kind == TERN_PLAN_SCATTER;
}

bool tern__kind_has_root(tern_plan_kind kind)
{
    return kind == TERN_PLAN_BROADCAST || kind == TERN_PLAN_REDUCE_TO_ROOT ||
           kind == TERN_PLAN_GATHER || kind == TERN_PLAN_SCATTER;
}

bool tern__kind_sums(tern_plan_kind kind)
{
    return kind == TERN_PLAN_ALL_REDUCE || kind == TERN_PLAN_REDUCE_SCATTER ||
           kind == TERN_PLAN_REDUCE_TO_ROOT;
}

uint64_t tern_plan_buffer_bytes(const tern_plan *plan, tern_plan_buffer buffer)
{
    if (!tern__handle_lives(plan, TERN__PLAN)) {
        return 0;
    }
    tern_plan_kind kind = plan->spec.kind;
    switch (buffer) {
    case TERN_PLAN_IN:
        return kind == TERN_PLAN_ALL_GATHER || kind == TERN_PLAN_GATHER ? tern__plan_share(plan)
                                                                        : plan->spec.bytes;
    case TERN_PLAN_OUT:
        return kind == TERN_PLAN_REDUCE_SCATTER || kind == TERN_PLAN_SCATTER
                   ? tern__plan_share(plan)
                   : plan->spec.bytes;
    case TERN_PLAN_SCRATCH:
        return plan->scratch_bytes;
    }
    return 0;
}
