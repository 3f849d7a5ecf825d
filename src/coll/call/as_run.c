// SPDX-License-Identifier: Apache-2.0
// The plan that a call runs, as a plan of its own: asks about a call that nobody makes, and takes
// the steps (plan/steps.h) that such a call takes. Set-up path.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "coll/call/place.h"
#include "coll/call/question.h"
#include "plan/steps.h"
#include "sync/record_text.h"
#include "tern/tune.h"

static int way_of(const char *word, enum tern__way *way)
{
    static const enum tern__way ways[] = {TERN__WAY_WINDOW, TERN__WAY_SLOT, TERN__WAY_DIRECT,
                                          TERN__WAY_STAGED};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(word, tern__way_name(ways[i])) == 0) {
            *way = ways[i];
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_ARG,
                      "there is no way '%.40s'; there are window, slot, direct "
                      "and staged",
                      word);
}

static int check_links(const tern_topo *topo)
{
    if (tern_topo_machine_count(topo) > 1) {
        return tern__fail(TERN_ERR_ARG,
                          "window, slot, direct and staged are ways of ranks on one machine, and "
                          "%s has %d machines",
                          tern_topo_text(topo), tern_topo_machine_count(topo));
    }
    for (int from = 0; from < tern_topo_size(topo); from++) {
        for (int to = 0; to < tern_topo_size(topo); to++) {
            if (!tern_topo_link(topo, from, to, NULL)) {
                return tern__fail(TERN_ERR_ARG,
                                  "calls use the links between all ranks, and %s has none from %d "
                                  "to %d: mesh:%d has",
                                  tern_topo_text(topo), from, to, tern_topo_size(topo));
            }
        }
    }
    return TERN_OK;
}

// Kind, size, unit and root, in the words in which a plan refuses them.
static int check_spec(const tern_algo_request *request)
{
    tern_plan *plan;
    tern_plan_spec spec = {.kind = request->kind,
                           .nranks = tern_topo_size(request->topo),
                           .bytes = request->bytes,
                           .unit = request->unit,
                           .root = request->root};
    TERN_TRY(tern_plan_create(&spec, &plan));
    return tern_plan_destroy(plan);
}

// Elements of the request's unit: which does not matter.
static tern_coll call_of(const tern_algo_request *request)
{
    tern_dtype dtypes[] = {[1] = TERN_I8, [2] = TERN_I16, [4] = TERN_I32, [8] = TERN_I64};
    uint64_t n = (uint64_t)tern_topo_size(request->topo);
    uint64_t shares = tern__kind_has_shares(request->kind) ? n : 1;
    return (tern_coll){.kind = request->kind,
                       .count = request->bytes / request->unit / shares,
                       .dtype = dtypes[request->unit],
                       .root = request->root,
                       .order = request->order,
                       .algorithm = request->algorithm};
}

static int fail_direct(const struct tern__question *q)
{
    const char *kind = tern_plan_kind_name(q->call.plan_kind);
    unsigned long long from = q->choice.direct_from;
    unsigned long long to = q->choice.direct_to;
    unsigned long long bytes = q->call.share_bytes;
    if (q->call.kind == TERN_COLL_BARRIER) {
        return tern__fail(TERN_ERR_ARG, "%s reads no memory of other ranks: it moves nothing",
                          kind);
    }
    if (!q->calls.direct) {
        return tern__fail(TERN_ERR_ARG,
                          "ranks cannot read each other's memory here, or may not: TERN_DIRECT is "
                          "off, or the kernel refuses it");
    }
    if (tern__call_reader(&q->call) == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "'%s' and '%s' for %s do more than to read the inputs of other ranks",
                          q->choice.window, q->choice.staged, kind);
    }
    const char *source = q->choice.direct_named ? "TERN_DIRECT" : q->choice.source;
    if (from == 0) {
        return tern__fail(TERN_ERR_ARG,
                          "%s on %d ranks reads no memory of other ranks: slots are quicker; %s",
                          kind, q->calls.nranks, source);
    }
    char most[48] = "";
    if (to != 0) {
        snprintf(most, sizeof most, " and at most %llu", to);
    }
    return tern__fail(TERN_ERR_ARG,
                      "%s on %d ranks reads shares of at least %llu%s bytes out of the memory of "
                      "other ranks, not of %llu; %s",
                      kind, q->calls.nranks, from, most, bytes, source);
}

// Why a call does not go this way.
static int fail_way(const struct tern__question *q, enum tern__way way)
{
    const char *kind = tern_plan_kind_name(q->call.plan_kind);
    unsigned long long bytes = q->call.bytes;
    unsigned long long small_bytes = q->choice.small_bytes;
    int n = q->calls.nranks;
    if (way == TERN__WAY_SLOT && bytes > small_bytes) {
        return tern__fail(TERN_ERR_ARG,
                          "%s of %llu bytes on %d ranks goes through no slot: up to %llu bytes do; "
                          "%s",
                          kind, bytes, n, small_bytes, q->choice.source);
    }
    if (way == TERN__WAY_SLOT) {
        return tern__fail(TERN_ERR_ARG,
                          "'%s' for %s does not run on slots: its ranks store into each other's "
                          "memory, or need more than a slot has",
                          q->choice.small, kind);
    }
    if (q->call.slot != NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "%s of %llu bytes on %d ranks goes through a slot, as all of up to %llu "
                          "bytes do; %s",
                          kind, bytes, n, small_bytes, q->choice.source);
    }
    return tern__fail(TERN_ERR_ARG,
                      "'%s' for %s does not run in windows: it needs scratch memory, and goes "
                      "through slots in pieces",
                      q->choice.window, kind);
}

// One that scales is made larger; another one has its size, and is taken out of the program.
static int take(const struct tern__program *program, tern_plan **from, const tern_plan_spec *spec,
                tern_plan **plan)
{
    if (program->scaled) {
        return tern__plan_slice(*from, spec->bytes, spec->unit, plan);
    }
    *plan = *from;
    *from = NULL;
    return TERN_OK;
}

// The plan of a run that copies its inputs: whole, or of a piece of them.
static int stage(const struct tern__program *program, tern_plan **from, const tern_plan_spec *spec,
                 struct tern__staging how, tern_plan **plan)
{
    tern_plan *sized;
    TERN_TRY(take(program, from, spec, &sized));
    int status = tern__plan_stage(sized, &how, plan);
    tern_plan_destroy(sized);
    return status;
}

static tern_plan **plan_of(const struct tern__coll *call, const struct tern__program *program)
{
    return program == call->window ? &call->window->plan
           : program == call->few  ? &call->few->plan
                                   : &call->staged->plan;
}

static int make(struct tern__question *q, enum tern__way way, const tern_algo_request *request,
                tern_plan **plan)
{
    const struct tern__coll *call = &q->call;
    tern_plan_spec spec = {.bytes = request->bytes, .unit = request->unit};
    struct tern__staging how = {0};
    if (way == TERN__WAY_SLOT && call->slot != NULL) {
        return stage(call->slot, &call->slot->trimmed, &spec, how, plan);
    }
    if (way == TERN__WAY_WINDOW && call->window != NULL) {
        return take(call->window, &call->window->plan, &spec, plan);
    }
    if (way == TERN__WAY_STAGED && call->staged != NULL) {
        uint64_t skip;
        uint64_t shares = call->bytes / (call->share_bytes > 0 ? call->share_bytes : 1);
        spec.bytes = shares * tern__piece_of(call, call->share_bytes, 0, &skip);
        how.out = call->copied;
        how.own_in = tern__reads_own_input(call);
        return stage(call->staged, call->copied ? &call->staged->plan : &call->staged->trimmed,
                     &spec, how, plan);
    }
    if (way == TERN__WAY_DIRECT && call->slot == NULL) {
        const struct tern__program *direct =
            tern__call_few(call,
                           tern__call_learns(call, call->share_bytes)
                               ? tern__call_reader(call)
                               : tern__call_direct(call, call->share_bytes),
                           call->in_place);
        if (direct == NULL) {
            return fail_direct(q);
        }
        if (direct->scratch_bytes > 0 && call->share_bytes > tern__direct_piece(call)) {
            spec.bytes = tern__direct_piece(call); // slices have no shares
        }
        return take(direct, plan_of(call, direct), &spec, plan);
    }
    return fail_way(q, way);
}

static int coll_plan(const tern_algo_request *request, const char *word, tern_plan **plan)
{
    enum tern__way way = TERN__WAY_UNKNOWN;
    struct tern__question *question;
    if (request == NULL || word == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_coll_plan: request, way and plan must not be NULL");
    }
    TERN_TRY(tern__handle_check("tern_coll_plan", request->topo, TERN__TOPO));
    TERN_TRY(way_of(word, &way));
    TERN_TRY(check_spec(request));
    TERN_TRY(check_links(request->topo));
    tern_coll call = call_of(request);
    TERN_TRY(tern__question_ask("tern_coll_plan", &call, tern_topo_size(request->topo), &question));
    int status = make(question, way, request, plan);
    tern__question_free(question);
    return status;
}

int tern_coll_plan(const tern_algo_request *request, const char *way, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(coll_plan(request, way, plan));
}
