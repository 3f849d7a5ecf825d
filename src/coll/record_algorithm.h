// SPDX-License-Identifier: Apache-2.0
// The algorithm of a recorded call.
#ifndef TERN_COLL_RECORD_ALGORITHM_H
#define TERN_COLL_RECORD_ALGORITHM_H

#include "base/kind.h"
#include "sync/record_text.h"
#include "coll/algo.h"

// Its name; "" when it has none.
static inline const char *tern__record_algorithm(const struct tern__recorded *call)
{
    int plan_kind = tern__kind_facts(call->signature.kind)->plan;
    const char *name = NULL;
    if (plan_kind >= 0 && call->algorithm >= 0) {
        name = tern__algo_at((tern_plan_kind)plan_kind, call->algorithm);
    }
    return name != NULL ? name : "";
}

#endif
