// SPDX-License-Identifier: Apache-2.0
// What would be selected for a call, and why.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "coll/call/question.h"
#include "sync/record_text.h"

static void explain_small(const struct tern__coll *call, const struct tern__choice *choice,
                          tern_coll_choice *made)
{
    uint64_t shares = tern__kind_in_all(call->plan_kind) ? (uint64_t)call->calls->nranks : 1;
    uint64_t bytes = call->counts ? tern__call_longest_in(call) : call->share_bytes * shares;
    snprintf(made->algorithm, sizeof made->algorithm, "%s", call->slot->algorithm);
    snprintf(made->way, sizeof made->way, "%s",
             tern__way_name(bytes <= TERN__LINE_BYTES ? TERN__WAY_LINE : TERN__WAY_SLOT));
    snprintf(made->why, sizeof made->why, "up to %llu bytes; %s",
             (unsigned long long)choice->small_bytes, choice->source);
}

struct large {
    enum tern__way way;
    bool learned; // that, or the other one of direct and staged
    const struct tern__program *program;
    char why[80];
};

static void find_way(const struct tern__coll *call, const struct tern__choice *choice, bool windows,
                     struct large *found)
{
    uint64_t share = call->counts ? tern__call_longest_share(call) : call->share_bytes;
    const struct tern__program *direct =
        tern__call_few(call, tern__call_direct(call, share), call->in_place);
    const struct tern__program *reader =
        tern__call_few(call, tern__call_reader(call), call->in_place);
    bool learned = !windows && tern__call_learns(call, share);
    bool slot = call->counts && tern__call_fits_slot(call, windows || learned || direct != NULL);
    bool apart = call->window != NULL &&
                 (call->bytes == 0 || (call->window->in_shared | call->window->out_shared) == 0);
    bool wrong = call->in_place && call->window != NULL && !call->window->in_place;
    found->program = call->staged;
    found->learned = false;
    if (slot) {
        found->way = TERN__WAY_SLOT;
        snprintf(found->why, sizeof found->why, "a slot holds them");
    } else if ((windows || apart) && call->window != NULL && !wrong) {
        found->way = TERN__WAY_WINDOW;
        found->program = call->window;
        snprintf(found->why, sizeof found->why, "%s",
                 apart ? "no rank needs another's buffers" : "all buffers in windows");
    } else if (learned && (reader->in_place || !call->in_place)) {
        found->learned = true;
        found->way = direct != NULL ? TERN__WAY_DIRECT : TERN__WAY_STAGED;
        found->program = direct != NULL ? direct : call->staged;
        snprintf(found->why, sizeof found->why, "whichever has been faster, at first %s",
                 direct != NULL ? "direct" : "through slots");
    } else if (direct != NULL && (direct->in_place || !call->in_place)) {
        found->way = TERN__WAY_DIRECT;
        found->program = direct;
        char most[32] = "";
        if (choice->direct_to != 0) {
            snprintf(most, sizeof most, " and at most %llu", (unsigned long long)choice->direct_to);
        }
        snprintf(found->why, sizeof found->why,
                 "shares of at least %llu%s bytes in ordinary memory%s",
                 (unsigned long long)choice->direct_from, most,
                 choice->direct_named ? " (TERN_DIRECT)" : "");
    } else {
        found->way = TERN__WAY_STAGED;
        snprintf(found->why, sizeof found->why, "%s, pieces of up to %llu bytes",
                 !windows ? "not all buffers in windows"
                 : wrong  ? "it is not right in place"
                          : "it needs scratch memory",
                 (unsigned long long)choice->chunk_bytes);
    }
}

static void explain_large(const struct tern__coll *call, const struct tern__choice *choice,
                          bool windows, tern_coll_choice *made)
{
    struct large found;
    char size[80];
    snprintf(size, sizeof size, "above %llu bytes", (unsigned long long)choice->small_bytes);
    if (call->counts) {
        snprintf(size, sizeof size, "counts for each rank");
    } else if (call->bytes <= choice->small_bytes) {
        snprintf(size, sizeof size, "'%s' does not run in slots", choice->small);
    }
    find_way(call, choice, windows, &found);
    snprintf(made->algorithm, sizeof made->algorithm, "%s", found.program->algorithm);
    snprintf(made->way, sizeof made->way, "%s",
             found.learned ? "staged/direct" : tern__way_name(found.way));
    snprintf(made->why, sizeof made->why, "%s, %s; %s", size, found.why, choice->source);
}

int tern_coll_select(const tern_coll *call, int nranks, int windows, tern_coll_choice *choice)
{
    tern_coll_choice made = {0};
    if (call == NULL || choice == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_coll_select: %s must not be NULL",
                          call == NULL ? "call" : "choice");
    }
    if (nranks < 1 || nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "tern_coll_select: %d ranks; there are 1 to %d", nranks,
                          TERN_RANKS_MAX);
    }
    if (tern__kind_is_message(call->kind)) {
        snprintf(made.way, sizeof made.way, "%s", tern__way_name(TERN__WAY_MAIL));
        snprintf(made.why, sizeof made.why, "messages have no algorithm");
        *choice = made;
        return TERN_OK;
    }
    struct tern__question *q;
    TERN_TRY(tern__question_ask("tern_coll_select", call, nranks, &q));
    if (q->call.way == TERN__WAY_SLOT) {
        explain_small(&q->call, &q->choice, &made);
    } else {
        explain_large(&q->call, &q->choice, windows != 0, &made);
    }
    tern__question_free(q);
    *choice = made;
    return TERN_OK;
}
