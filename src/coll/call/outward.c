// SPDX-License-Identifier: Apache-2.0
// Results that are longer than the caches, of calls that go through slots or sum out of ordinary
// memory: the pieces are written through the caches or past them, all of a call the same way,
// whichever has been quicker for that kind and length (xport/quickest.h). Only what this rank's own
// transfers into its result take is counted: waits for others would drown it. Each rank decides for
// itself, since nobody else reads what it writes. Data path.

#include "coll/call/place.h"
#include "xport/copy.h"
#include "xport/quickest.h"

static bool is_long(const struct tern__coll *call)
{
    return call->out != NULL && call->in_bytes + call->out_bytes >= TERN__PAST_FROM;
}

void tern__call_outward_begin(struct tern__coll *call)
{
    struct tern__calls *calls = call->calls;
    bool pieces = call->way == TERN__WAY_STAGED || tern__sums_direct(call);
    if (!pieces || call->copied || !is_long(call)) {
        return;
    }
    struct tern__quickest *known = calls->outward[call->plan_kind];
    int way = tern__quickest_next(tern__quickest_of(known, call->out_bytes), TERN__WRITTEN_WAYS);
    calls->writes = (struct tern__outward){.way = (enum tern__written)way};
    calls->binding.outward = &calls->writes;
}

void tern__call_outward_end(struct tern__coll *call, int status)
{
    struct tern__calls *calls = call->calls;
    if (calls->binding.outward == NULL) {
        return;
    }
    calls->binding.outward = NULL;
    if (status == TERN_OK) {
        struct tern__quickest *known = calls->outward[call->plan_kind];
        tern__quickest_took(tern__quickest_of(known, call->out_bytes), (int)calls->writes.way,
                            calls->writes.ns, call->out_bytes);
    }
}
