// SPDX-License-Identifier: Apache-2.0
// Which algorithm of the table (algo.def) fits. Without a name, every allowed row is emitted into a
// count of bytes per link and rounds, and the one with the least estimated time is taken; of
// equals, the first. On shared memory the links are not the bound but memory is, and the plan that
// touches it least wins at every size: the first row of each kind.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/kind.h"
#include "coll/algo.h"
#include "coll/coll.h"
#include "coll/executor.h"
#include "coll/optimal.h"

#define IN_PLACE true
#define APART false
#define SCALES true
#define SIZED false

static const struct tern__algo algorithms[] = {
#define TERN_ALGO(kind, name, emit, order, need, nranks_min, in_place, scales, text)               \
    {TERN_COLL_##kind, name,     text,  tern__emit_##emit, TERN_ORDER_##order, TERN__NEED_##need,  \
     nranks_min,       in_place, scales},
#include "coll/algo.def"
#undef TERN_ALGO
};

enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

// What one post costs who makes it; counts where nothing else does, in a barrier.
#define POST_US 0.02

static const struct tern__algo *by_index(tern_plan_kind kind, int index)
{
    for (int i = 0; i < ALGORITHMS && index >= 0; i++) {
        if (algorithms[i].kind == kind && index-- == 0) {
            return &algorithms[i];
        }
    }
    return NULL;
}

const char *tern_algo_name(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    return row != NULL ? row->name : NULL;
}

const char *tern_algo_text(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    return row != NULL ? row->text : NULL;
}

bool tern_algo_around_cut(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    return row != NULL && row->need == TERN__NEED_ALL_BUT_A_PAIR;
}

static bool needs_machines(const struct tern__algo *row)
{
    return row->need == TERN__NEED_MACHINES || row->need == TERN__NEED_MACHINES_IN_ORDER;
}

bool tern_algo_across_machines(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    return row != NULL && needs_machines(row);
}

const char *tern__algo_find(tern_plan_kind kind, const char *text, size_t length)
{
    const struct tern__algo *row;
    for (int i = 0; (row = by_index(kind, i)) != NULL; i++) {
        if (strlen(row->name) == length && memcmp(row->name, text, length) == 0) {
            return row->name;
        }
    }
    return tern__optimal_is(kind, text, length) ? TERN_ALGO_OPTIMAL : NULL;
}

int tern__algo_index(tern_plan_kind kind, const char *name)
{
    int index = 0;
    const struct tern__algo *row;
    while ((row = by_index(kind, index)) != NULL && strcmp(row->name, name) != 0) {
        index++;
    }
    if (row == NULL && tern__optimal_is(kind, name, strlen(name))) {
        return index; // the number behind the last one
    }
    bool known = row != NULL || tern__executor_name(kind, name, strlen(name)) != NULL;
    return !known ? -1 : row != NULL ? index : index + 1; // all executors have the next
}

const char *tern__algo_at(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    bool behind = row == NULL && index > 0 && by_index(kind, index - 1) != NULL;
    return row != NULL ? row->name : behind && kind != TERN_PLAN_BARRIER ? TERN_ALGO_OPTIMAL : NULL;
}

void tern__algo_unknown(tern_plan_kind kind, const char *name, size_t length, char *text,
                        size_t size)
{
    int shown = length > 40 ? 40 : (int)length;
    int used = snprintf(text, size, "there is no algorithm '%.*s' for %s; there are", shown, name,
                        tern_plan_kind_name(kind));
    const struct tern__algo *row;
    for (int i = 0; (row = by_index(kind, i)) != NULL && (size_t)used < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s %s", i > 0 ? "," : "", row->name);
    }
    if (kind != TERN_PLAN_BARRIER && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, ", %s", TERN_ALGO_OPTIMAL);
    }
}

bool tern__algo_scales(tern_plan_kind kind, const char *name)
{
    const struct tern__algo *row = by_index(kind, tern__algo_index(kind, name));
    return row != NULL && row->scales;
}

bool tern_algo_in_place(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = by_index(kind, index);
    return row != NULL && row->in_place;
}

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
    if (tern_topo_machine_count(request->topo) < 2 || needs_machines(row)) {
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
static bool is_shared_memory(const tern_topo *topo)
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
    for (int i = 0; by_index(request->kind, i) != NULL; i++) {
        const struct tern__algo *row = by_index(request->kind, i);
        char why[200] = "";
        if (needs_machines(row) && tern_topo_machine_count(request->topo) < 2) {
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

static int pick(const tern_algo_request *request, struct tern__emit *e,
                const struct tern__algo **picked)
{
    const struct tern__algo *rows[ALGORITHMS];
    int count = 0;
    char why[200];
    for (int i = 0; i < ALGORITHMS; i++) {
        if (algorithms[i].kind == request->kind &&
            fits(&algorithms[i], request, e, why, sizeof why)) {
            rows[count++] = &algorithms[i];
        }
    }
    if (count == 0) {
        return none_fits(request, e);
    }
    *picked = rows[0];
    if (count == 1 || tern_topo_size(request->topo) == 1 ||
        (is_shared_memory(request->topo) && request->kind != TERN_PLAN_BARRIER)) {
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
            *picked = rows[i];
        }
    }
    tern__tally_destroy(&tally);
    return TERN_OK;
}

static int by_name(const tern_algo_request *request, struct tern__emit *e,
                   const struct tern__algo **picked)
{
    char why[400] = "";
    int index = tern__algo_index(request->kind, request->algorithm);
    const struct tern__algo *row = by_index(request->kind, index);
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
    *picked = row;
    return TERN_OK;
}

static int make(const tern_algo_request *request, const struct tern__algo *row,
                struct tern__emit *e, tern_plan **plan)
{
    tern_plan_spec spec = {
        .kind = request->kind,
        .nranks = tern_topo_size(request->topo),
        .bytes = request->bytes,
        .unit = request->unit,
        .root = request->root,
        .algorithm = row != NULL ? row->name : NULL,
    };
    tern_plan *made;
    TERN_TRY(tern_plan_create(&spec, &made));
    int status = TERN_OK;
    if (row != NULL) {
        begin(e, request);
        e->plan = made;
        emit(row, e);
        status = e->status < 0 ? e->status : tern_plan_seal(made);
    }
    if (status < 0 || plan == NULL) {
        tern_plan_destroy(made);
        return status;
    }
    *plan = made;
    return TERN_OK;
}

// By a name that is not in the table, or TERN_ERR_ARG.
static int make_beyond(const tern_algo_request *request, tern_plan **plan)
{
    const char *name = request->algorithm;
    return tern__optimal_is(request->kind, name, strlen(name)) ? tern__optimal_plan(request, plan)
                                                               : tern__executor_plan(request, plan);
}

static int make_picked(const tern_algo_request *request, struct tern__emit *e, tern_plan **plan)
{
    const struct tern__algo *row = NULL;
    tern_plan *made = NULL;
    int status = pick(request, e, &row);
    status = status == TERN_OK ? make(request, row, e, &made) : status;
    if (request->search != NULL && !is_shared_memory(request->topo)) {
        status = tern__optimal_better(request, status, &made);
    }
    *plan = status == TERN_OK ? made : *plan;
    return status;
}

static int find_and_make(const tern_algo_request *request, struct tern__emit *e, tern_plan **plan)
{
    // Kind, sizes and root are the plan's to check, before anybody calculates with them.
    TERN_TRY(make(request, NULL, e, NULL));
    const struct tern__algo *row = NULL;
    const char *name = request->algorithm;
    if (name == NULL) {
        return make_picked(request, e, plan);
    }
    int index = tern__algo_index(request->kind, name);
    if (index >= 0 && by_index(request->kind, index) == NULL) {
        return make_beyond(request, plan);
    }
    TERN_TRY(by_name(request, e, &row));
    return make(request, row, e, plan);
}

static int algo_plan(const tern_algo_request *request, tern_plan **plan)
{
    if (request == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_algo_plan: request and plan must not be NULL");
    }
    TERN_TRY(tern__handle_check("tern_algo_plan", request->topo, TERN__TOPO));
    if (request->order != TERN_ORDER_RANK && request->order != TERN_ORDER_ANY) {
        return tern__fail(TERN_ERR_ARG, "tern_algo_plan: %d is no order of sums",
                          (int)request->order);
    }
    struct tern__emit *e = malloc(sizeof *e); // its operands are too large for a small stack
    if (e == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to make a plan");
    }
    int status = find_and_make(request, e, plan);
    free(e);
    return status;
}

int tern_algo_plan(const tern_algo_request *request, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(algo_plan(request, plan));
}
