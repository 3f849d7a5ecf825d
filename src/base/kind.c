// SPDX-License-Identifier: Apache-2.0
// Kinds of collectives from the one table.

#include "base/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { TERN_COLL_NONE = -1 }; // the plan of kinds that have none

const tern_kind_facts tern__kinds[TERN_COLL_KINDS + 1] = {
#define TERN_KIND(name, word, number, plan, in, out, root, sums, counts, crossings)                \
    [number] = {word,                                                                              \
                (int)TERN_COLL_##plan,                                                             \
                TERN_KIND_##in,                                                                    \
                TERN_KIND_##out,                                                                   \
                TERN_KIND_ROOT_##root,                                                             \
                sums,                                                                              \
                counts,                                                                            \
                crossings},
#include "tern/kind.def"
#undef TERN_KIND
    [TERN_COLL_KINDS] = {.word = "unknown kind", .plan = TERN_COLL_NONE},
};

enum {
#define TERN_KIND(name, ...) ROW_##name,
#include "tern/kind.def"
#undef TERN_KIND
    ROWS
};
_Static_assert(ROWS == TERN_COLL_KINDS, "a row for each number");

// A kind is its own kind of plan exactly below TERN_PLAN_KINDS.
#define TERN_KIND(name, word, number, plan, ...)                                                   \
    _Static_assert(((number) < TERN_PLAN_KINDS) == ((int)TERN_COLL_##plan == (number)),            \
                   "the kinds of plans come first");
#include "tern/kind.def"
#undef TERN_KIND

const tern_kind_facts *tern_coll_kind_facts(tern_coll_kind kind)
{
    return (unsigned)kind < TERN_COLL_KINDS ? &tern__kinds[kind] : NULL;
}

const char *tern_coll_kind_name(tern_coll_kind kind)
{
    return tern__kind_facts((int)kind)->word;
}

const char *tern_plan_kind_name(tern_plan_kind kind)
{
    return tern__kind_facts((unsigned)kind < TERN_PLAN_KINDS ? (int)kind : -1)->word;
}

// The kind below `count` that has the word; what: as the sentence calls them.
static int parse(const char *word, int count, const char *what, tern_coll_kind *kind)
{
    char known[256] = "";
    for (int i = 0; i < count && word != NULL && kind != NULL; i++) {
        if (strcmp(word, tern__kinds[i].word) == 0) {
            *kind = (tern_coll_kind)i;
            return TERN_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", tern__kinds[i].word);
    }
    return tern__fail(TERN_ERR_ARG, "'%.40s' is no kind of %s %s", word != NULL ? word : "", what,
                      known);
}

int tern_coll_kind_parse(const char *word, tern_coll_kind *kind)
{
    return parse(word, TERN_COLL_KINDS, "collective call; they are", kind);
}

int tern_plan_kind_parse(const char *word, tern_plan_kind *kind)
{
    if (word == NULL || kind == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_kind_parse: word and kind must not be NULL");
    }
    return parse(word, TERN_PLAN_KINDS, "collective; there are", kind);
}
