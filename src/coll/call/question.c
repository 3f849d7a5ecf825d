// SPDX-License-Identifier: Apache-2.0
// A call that nobody makes. Set-up path.

#include "coll/call/question.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/public.h"

// Stand for buffers, far apart.
#define SOME_IN ((uintptr_t)4096)
#define SOME_OUT ((uintptr_t)1 << 62)

static int ask(const char *name, const tern_coll *call, int nranks, struct tern__question *q)
{
    tern_coll copy = *call;
    bool has_root = tern__kind_facts((int)call->kind)->root != TERN_KIND_ROOT_NONE;
    copy.in = (const void *)SOME_IN;
    copy.out = (void *)SOME_OUT;
    atomic_init(&q->comm.handle.word, tern__handle_word(TERN__COMM));
    q->comm.group.shared = &q->shared;
    q->comm.group.size = nranks;
    q->comm.calls = &q->calls;
    q->calls.comm = &q->comm;
    q->calls.nranks = nranks;
    q->calls.direct = tern__reach_hoped();
    q->calls.rank = has_root && call->root >= 0 && call->root < nranks ? call->root : 0;
    TERN_TRY(tern__call_check(name, &q->calls, &copy, &q->call));
    uintptr_t in = (uintptr_t)call->in;
    uintptr_t out = (uintptr_t)call->out;
    q->call.in_place = in != 0 && out != 0 && !q->call.counts && in < out + q->call.out_bytes &&
                       out < in + q->call.in_bytes;
    TERN_TRY(tern__call_select(&q->call));
    return tern__select(q->call.plan_kind, nranks, q->call.order, call->algorithm, &q->choice);
}

int tern__question_ask(const char *name, const tern_coll *call, int nranks,
                       struct tern__question **question)
{
    if (nranks < 1 || nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: %d ranks; there are 1 to %d", name, nranks,
                          TERN_RANKS_MAX);
    }
    struct tern__question *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory", name);
    }
    tern__public_enter(); // an error is an answer here, whichever public call it comes from
    int status = ask(name, call, nranks, q);
    tern__public_leave();
    if (status != TERN_OK) {
        tern__question_free(q);
        return status;
    }
    *question = q;
    return TERN_OK;
}

void tern__question_free(struct tern__question *question)
{
    tern__call_drop(&question->call);
    tern__shapes_free(&question->calls);
    tern__selections_free(&question->calls);
    tern_topo_destroy(question->calls.topo);
    free(question);
}
