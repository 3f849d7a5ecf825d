// SPDX-License-Identifier: Apache-2.0
// Which algorithm of the table (algo.def) fits. Without a name, every allowed row is emitted into a
// count of bytes per link and rounds, and the one with the least estimated time is selected; of
// equals, the first. On shared memory the links are not the bound but memory is, and the plan that
// touches it least wins at every size: the first row of each kind.

#include "coll/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/kind.h"
#include "coll/algo.h"
#include "coll/coll.h"

// What one post costs who makes it; counts where nothing else does, in a barrier.
#define POST_US 0.02

// Whether a row can do what is asked for if it has every link; if not, why.
static bool fits_ranks(const struct tern__algo *row, const tern_algo_request *request, char *why,
                       size_t why_bytes)
{
    int n = tern_topo_size(request->topo);
    if (n > 1 && n < row->nranks_min) {
        snprintf(why, why_bytes, "it needs %d ranks or more, and there are %d", row->nranks_min, n);
        return false;
    }
    if (n > 1 && request->order == TERN_ORDER_RANK && row->order != TERN_ORDER_RANK) {
        snprintf(
            why, why_bytes,
            "its sums are not in the order of the ranks; .order = TERN_ORDER_ANY (--order any) "
            "allows that");
        return false;
    }
    if (n > 1 && request->order == TERN_ORDER_RANK && tern__kinds[request->kind].sums &&
        row->need == TERN__NEED_MACHINES_IN_ORDER && request->unit == 2) {
        snprintf(why, why_bytes,
                 "its sums are in the order of the ranks but rounded once a machine, so f16 and "
                 "bf16 would have other bits; .order = TERN_ORDER_ANY (--order any) allows that");
        return false;
    }
    return true;
}

static bool fits_links(const struct tern__algo *row, const tern_algo_request *request, char *why,
                       size_t why_bytes)
{
    return tern_topo_size(request->topo) == 1 ||
           tern__links_suffice(row->need, request->topo, request->root, why, why_bytes);
}

static void emit(const struct tern__algo *row, struct tern__emit *e)
{
    if (e->nranks > 1) {
        row->emit(e);
    } else if (e->kind != TERN_PLAN_BARRIER) {
        tern__emit_from(e, 0, TERN_PLAN_IN, 0);
        tern__emit_to(e, 0, TERN_PLAN_OUT, 0);
        tern__emit_move(e, (struct tern__at){0}, e->bytes);
    }
}

static void begin(struct tern__emit *e, const tern_algo_request *request)
{
    memset(e, 0, sizeof *e);
    e->topo = request->topo;
    e->kind = request->kind;
    e->nranks = tern_topo_size(request->topo);
    e->bytes = request->bytes;
    e->unit = request->unit;
    e->root = request->root;
}

// Whether no op needs the memory of another machine. The plan is made to be looked at only.
static bool fits_machines(const struct tern__algo *row, const tern_algo_request *request,
                          struct tern__emit *e, char *why, size_t why_bytes)
{
    if (tern_topo_machine_count(request->topo) < 2 || tern__algo_needs_machines(row)) {
        return true;
    }
    begin(e, request);
    e->machines = true;
    emit(row, e);
    if (e->reaches) {
        snprintf(why, why_bytes,
                 "rank %d would need the memory of rank %d, which is on another machine",
                 e->reaching, e->reached);
    }
    return !e->reaches;
}

static bool fits(const struct tern__algo *row, const tern_algo_request *request,
                 struct tern__emit *e, char *why, size_t why_bytes)
{
    return fits_ranks(row, request, why, why_bytes) && fits_links(row, request, why, why_bytes) &&
           fits_machines(row, request, e, why, why_bytes);
}

static double estimate_us(const struct tern__algo *row, const tern_algo_request *request,
                          struct tern__tally *tally, struct tern__emit *e)
{
    begin(e, request);
    tern__tally_clear(tally);
    e->tally = tally;
    emit(row, e);
    double us = tern__tally_time_us(tally);
    if (request->kind == TERN_PLAN_BARRIER) {
        us += POST_US * (double)tally->posts / e->nranks;
    }
    return us;
}

// This machine as it is, nothing cut or slowed.
bool tern__select_is_memory(const tern_topo *topo)
{
    const char *text = tern_topo_text(topo);
    return text != NULL && strcmp(text, "this") == 0;
}

// Every link there and equally fast: then no pair is worth working around.
static bool is_uniform(const struct tern__tally *tally)
{
    size_t n = (size_t)tally->nranks;
    for (size_t i = 0; i < n * n; i++) {
        bool own = i / n == i % n;
        if (!own && (tally->latency_us[i] < 0 || tally->us_per_byte[i] < tally->us_per_byte[1] ||
                     tally->us_per_byte[i] > tally->us_per_byte[1])) {
            return false;
        }
    }
    return true;
}

static int none_fits(const tern_algo_request *request, struct tern__emit *e)
{
    char reasons[800] = "";
    for (int i = 0; tern__algo_row(request->kind, i) != NULL; i++) {
        const struct tern__algo *row = tern__algo_row(request->kind, i);
        char why[200] = "";
        if (tern__algo_needs_machines(row) && tern_topo_machine_count(request->topo) < 2) {
            continue; // of no interest there
        }
        fits(row, request, e, why, sizeof why);
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", used > 0 ? "; " : "", row->name,
                 why);
    }
    return tern__fail(TERN_ERR_ARG, "no algorithm for %s%s fits %s: %s",
                      tern_plan_kind_name(request->kind),
                      request->order == TERN_ORDER_RANK ? " with sums in rank order" : "",
                      tern_topo_text(request->topo), reasons);
}

static int by_time(const tern_algo_request *request, struct tern__emit *e,
                   const struct tern__algo **selected)
{
    const struct tern__algo *row, *rows[TERN__ALGORITHMS];
    int count = 0;
    char why[200];
    for (int i = 0; (row = tern__algo_row(request->kind, i)) != NULL; i++) {
        if (fits(row, request, e, why, sizeof why)) {
            rows[count++] = row;
        }
    }
    if (count == 0) {
        return none_fits(request, e);
    }
    *selected = rows[0];
    if (count == 1 || tern_topo_size(request->topo) == 1 ||
        (tern__select_is_memory(request->topo) && request->kind != TERN_PLAN_BARRIER)) {
        return TERN_OK;
    }
    struct tern__tally tally;
    TERN_TRY(tern__tally_create(tern_topo_size(request->topo), request->topo, &tally));
    double best_us = 0;
    bool found = false;
    // Where machines share ports, what a slow pair costs is not what working around it saves.
    bool alike = is_uniform(&tally) || tern_topo_machine_count(request->topo) > 1;
    for (int i = 0; i < count; i++) {
        if (alike && rows[i]->need == TERN__NEED_ALL_BUT_A_PAIR) {
            continue;
        }
        double us = estimate_us(rows[i], request, &tally, e);
        // Sums of rounded numbers: equal means equal to within a billionth.
        if (!found || us < best_us * (1 - 1e-9)) {
            best_us = us;
            found = true;
            *selected = rows[i];
        }
    }
    tern__tally_destroy(&tally);
    return TERN_OK;
}

static int by_name(const tern_algo_request *request, struct tern__emit *e,
                   const struct tern__algo **selected)
{
    char why[400] = "";
    int index = tern__algo_index(request->kind, request->algorithm);
    const struct tern__algo *row = tern__algo_row(request->kind, index);
    if (row == NULL) {
        tern__algo_unknown(request->kind, request->algorithm, strlen(request->algorithm), why,
                           sizeof why);
        return tern__fail(TERN_ERR_ARG, "%s", why);
    }
    if (!fits_ranks(row, request, why, sizeof why)) {
        return tern__fail(TERN_ERR_ARG, "%s cannot do this %s: %s", row->name,
                          tern_plan_kind_name(request->kind), why);
    }
    if (!fits_links(row, request, why, sizeof why) ||
        !fits_machines(row, request, e, why, sizeof why)) {
        return tern__fail(TERN_ERR_ARG, "%s cannot do this %s over %s: %s", row->name,
                          tern_plan_kind_name(request->kind), tern_topo_text(request->topo), why);
    }
    *selected = row;
    return TERN_OK;
}

// Not sealed. row: NULL: of no algorithm.
static int create(const tern_algo_request *request, const struct tern__algo *row, tern_plan **plan)
{
    const tern_plan_spec spec = {
        .kind = request->kind,
        .nranks = tern_topo_size(request->topo),
        .bytes = request->bytes,
        .unit = request->unit,
        .root = request->root,
        .algorithm = row != NULL ? row->name : NULL,
    };
    return tern_plan_create(&spec, plan);
}

static int make(const tern_algo_request *request, const struct tern__algo *row,
                struct tern__emit *e, tern_plan **plan)
{
    tern_plan *made;
    TERN_TRY(create(request, row, &made));
    begin(e, request);
    e->plan = made;
    emit(row, e);
    int status = e->status < 0 ? e->status : tern_plan_seal(made);
    if (status < 0) {
        tern_plan_destroy(made);
        return status;
    }
    *plan = made;
    return TERN_OK;
}

int tern__select_check(const tern_algo_request *request)
{
    tern_plan *made;
    TERN_TRY(create(request, NULL, &made));
    return tern_plan_destroy(made);
}

int tern__select_plan(const tern_algo_request *request, tern_plan **plan)
{
    struct tern__emit *e = malloc(sizeof *e); // its operands are too large for a small stack
    if (e == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to make a plan");
    }
    const struct tern__algo *row = NULL;
    int status = request->algorithm == NULL ? by_time(request, e, &row) : by_name(request, e, &row);
    status = status == TERN_OK && row != NULL ? make(request, row, e, plan) : status;
    free(e);
    return status;
}
