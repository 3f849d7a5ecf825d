// SPDX-License-Identifier: Apache-2.0
// Kinds of collective calls from the one table.

#include <string.h>

#include "base/error.h"
#include "tern/coll.h"

static const char *const kind_names[] = {
#define TERN_COLL_KIND(name, word, number) [number] = word,
#include "tern/coll_kind.def"
#undef TERN_COLL_KIND
};
enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

const char *tern_coll_kind_name(tern_coll_kind kind)
{
    return (unsigned)kind < KINDS ? kind_names[kind] : "unknown kind";
}

int tern_coll_kind_parse(const char *word, tern_coll_kind *kind)
{
    char known[256] = "";
    for (int i = 0; i < KINDS && word != NULL && kind != NULL; i++) {
        if (strcmp(word, kind_names[i]) == 0) {
            *kind = (tern_coll_kind)i;
            return TERN_OK;
        }
        strcat(strcat(known, i > 0 ? ", " : ""), kind_names[i]);
    }
    return tern__fail(TERN_ERR_ARG, "'%.40s' is no kind of collective call; they are %s",
                      word != NULL ? word : "", known);
}
