// SPDX-License-Identifier: Apache-2.0
// What would be picked for a call, and why: asks args.c and pick.c about a call that nobody makes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "coll/call/call.h"
#include "sync/record_text.h"

// Stand for buffers, far apart.
#define SOME_IN ((uintptr_t)4096)
#define SOME_OUT ((uintptr_t)1 << 62)

// A call on a communicator that does not exist, as the root would make it.
struct question {
    struct tern__calls calls;
    struct tern_comm comm;
    struct tern__ctl_comm shared;
    struct tern__coll call;
};

static int ask(const tern_coll *call, int nranks, struct question *q)
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
    q->calls.rank = has_root && call->root >= 0 && call->root < nranks ? call->root : 0;
    TERN_TRY(tern__call_check("tern_coll_choose", &q->calls, &copy, &q->call));
    uintptr_t in = (uintptr_t)call->in;
    uintptr_t out = (uintptr_t)call->out;
    q->call.in_place = in != 0 && out != 0 && !q->call.counts && in < out + q->call.out_bytes &&
                       out < in + q->call.in_bytes;
    return tern__call_pick(&q->call);
}

static void explain_small(const struct tern__coll *call, const struct tern__choice *choice,
                          tern_coll_choice *made)
{
    uint64_t shares = tern__kind_in_all(call->plan_kind) ? (uint64_t)call->calls->nranks : 1;
    snprintf(made->algorithm, sizeof made->algorithm, "%s", call->slot->algorithm);
    snprintf(made->transport, sizeof made->transport, "%s",
             tern__way_name(call->share_bytes * shares <= TERN__LINE_BYTES ? TERN__WAY_LINE
                                                                           : TERN__WAY_SLOT));
    snprintf(made->why, sizeof made->why, "up to %llu bytes; %s",
             (unsigned long long)choice->small_bytes, choice->source);
}

static void explain_large(const struct tern__coll *call, const struct tern__choice *choice,
                          bool windows, tern_coll_choice *made)
{
    bool slot = call->counts && tern__call_fits_slot(call, windows);
    bool apart = call->window != NULL &&
                 (call->bytes == 0 || (call->window->in_shared | call->window->out_shared) == 0);
    bool wrong = call->in_place && call->window != NULL && !call->window->in_place;
    bool direct = (windows || apart) && !slot && call->window != NULL && !wrong;
    char size[80];
    char way[80];
    snprintf(size, sizeof size, "above %llu bytes", (unsigned long long)choice->small_bytes);
    if (call->counts) {
        snprintf(size, sizeof size, "counts for each rank");
    } else if (call->bytes <= choice->small_bytes) {
        snprintf(size, sizeof size, "'%s' does not run in slots", choice->small);
    }
    if (slot) {
        snprintf(way, sizeof way, "a slot holds them");
    } else if (direct) {
        snprintf(way, sizeof way, "%s",
                 apart ? "no rank needs another's buffers" : "all buffers in windows");
    } else {
        snprintf(way, sizeof way, "%s, pieces of up to %llu bytes",
                 !windows ? "not all buffers in windows"
                 : wrong  ? "it is not right in place"
                          : "it needs scratch memory",
                 (unsigned long long)choice->chunk_bytes);
    }
    snprintf(made->algorithm, sizeof made->algorithm, "%s",
             direct ? call->window->algorithm : call->staged->algorithm);
    snprintf(made->transport, sizeof made->transport, "%s",
             tern__way_name(slot     ? TERN__WAY_SLOT
                            : direct ? TERN__WAY_WINDOW
                                     : TERN__WAY_STAGED));
    snprintf(made->why, sizeof made->why, "%s, %s; %s", size, way, choice->source);
}

static int choose(const tern_coll *call, int nranks, bool windows, struct question *q,
                  tern_coll_choice *made)
{
    struct tern__choice choice;
    TERN_TRY(ask(call, nranks, q));
    int status = tern__choose(q->call.plan_kind, nranks, q->call.order, call->algorithm, &choice);
    if (status == TERN_OK && q->call.way == TERN__WAY_SLOT) {
        explain_small(&q->call, &choice, made);
    } else if (status == TERN_OK) {
        explain_large(&q->call, &choice, windows, made);
    }
    tern__call_drop(&q->call);
    return status;
}

int tern_coll_choose(const tern_coll *call, int nranks, int windows, tern_coll_choice *choice)
{
    tern_coll_choice made = {0};
    if (call == NULL || choice == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_coll_choose: %s must not be NULL",
                          call == NULL ? "call" : "choice");
    }
    if (nranks < 1 || nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "tern_coll_choose: %d ranks; there are 1 to %d", nranks,
                          TERN_RANKS_MAX);
    }
    if (tern__kind_is_message(call->kind)) {
        snprintf(made.transport, sizeof made.transport, "%s", tern__way_name(TERN__WAY_MAIL));
        snprintf(made.why, sizeof made.why, "messages have no algorithm");
        *choice = made;
        return TERN_OK;
    }
    struct question *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_coll_choose: no memory");
    }
    tern__public_enter(); // an error is an answer here, whichever public call it comes from
    int status = choose(call, nranks, windows != 0, q, &made);
    tern__public_leave();
    tern__programs_free(&q->calls);
    tern_topo_destroy(q->calls.topo);
    free(q);
    if (status == TERN_OK) {
        *choice = made;
    }
    return status;
}
