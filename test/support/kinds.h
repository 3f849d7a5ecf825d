// SPDX-License-Identifier: Apache-2.0
// What tests that loop over kinds ask of them, so that they make plans that exist. From the
// library's table, which src/base/test/tables.c holds to another writing of it; what the kinds must
// compute, interp.h and coll_ref.h say for themselves.
#ifndef TERN_TEST_KINDS_H
#define TERN_TEST_KINDS_H

#include <stdbool.h>

#include "tern/kind.h"

// The bytes are a multiple of the ranks.
static inline bool kind_has_shares(tern_plan_kind kind)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    return facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
}

static inline bool kind_has_root(tern_plan_kind kind)
{
    return tern_coll_kind_facts(kind)->root != TERN_KIND_ROOT_NONE;
}

#endif
