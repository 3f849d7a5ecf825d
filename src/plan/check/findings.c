// SPDX-License-Identifier: Apache-2.0
// Findings, and the report made of them.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/check/check.h"
#include "plan/reach.h"

void tern__check_add(struct tern_check *check, tern_check_rule rule, const char *format, ...)
{
    struct findings *findings = &check->rules[rule];
    findings->count++;
    if (findings->kept >= TERN__FINDINGS_KEPT) {
        return;
    }
    if (findings->kept == findings->room) {
        size_t room = findings->room == 0 ? 8 : 2 * findings->room;
        char **texts = realloc(findings->texts, room * sizeof *texts);
        findings->texts = texts != NULL ? texts : findings->texts;
        size_t *followers = realloc(findings->followers, room * sizeof *followers);
        findings->followers = followers != NULL ? followers : findings->followers;
        tern_check_detail *details = realloc(findings->details, room * sizeof *details);
        findings->details = details != NULL ? details : findings->details;
        if (texts == NULL || followers == NULL || details == NULL) {
            check->out_of_memory = true;
            return;
        }
        findings->room = room;
    }
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    findings->texts[findings->kept] = strdup(text);
    if (findings->texts[findings->kept] == NULL) {
        check->out_of_memory = true;
        return;
    }
    findings->details[findings->kept] = (tern_check_detail){0};
    findings->followers[findings->kept++] = 0;
}

void tern__check_mark(struct checking *checking, tern_check_rule rule, tern_check_cause cause,
                      struct place first, struct place second)
{
    struct findings *findings = &checking->check->rules[rule];
    struct place places[] = {first, second};
    if (findings->kept == 0 || findings->kept < findings->count) {
        return;
    }
    tern_check_detail *detail = &findings->details[findings->kept - 1];
    detail->cause = cause;
    for (int i = 0; i < 2; i++) {
        if (tern__is_place(places[i])) {
            int rank = checking->lanes.rank[places[i].lane];
            int at = detail->ops_count++;
            detail->ops[at].rank = rank;
            detail->ops[at].lane = (int)(places[i].lane - checking->lanes.first[rank]);
            detail->ops[at].index = places[i].index;
        }
    }
}

enum { CAUSES_BITS = 12 }; // a table for four times as many as are kept
_Static_assert(1 << CAUSES_BITS >= 4 * TERN__FINDINGS_KEPT, "most entries stay free");

bool tern__check_follows(struct tern_check *check, tern_check_rule rule, uint64_t cause)
{
    struct findings *findings = &check->rules[rule];
    if (findings->causes == NULL) {
        findings->causes = calloc((size_t)1 << CAUSES_BITS, sizeof *findings->causes);
    }
    if (findings->causes == NULL) {
        check->out_of_memory = true;
        return false;
    }
    size_t at = (size_t)(cause * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CAUSES_BITS));
    while (findings->causes[at].finding != 0 && findings->causes[at].key != cause) {
        at = (at + 1) % ((size_t)1 << CAUSES_BITS);
    }
    if (findings->causes[at].finding != 0) {
        findings->followers[findings->causes[at].finding - 1]++;
        return true;
    }
    if (findings->kept < TERN__FINDINGS_KEPT) {
        findings->causes[at] = (struct finding_cause){cause, findings->kept + 1};
    }
    return false;
}

void tern__check_followed(struct tern_check *check, tern_check_rule rule, size_t count)
{
    struct findings *findings = &check->rules[rule];
    if (findings->kept > 0 && findings->kept == findings->count) {
        findings->followers[findings->kept - 1] += count;
    }
}

void tern__check_finish(struct tern_check *check)
{
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        struct findings *findings = &check->rules[rule];
        for (size_t i = 0; i < findings->kept; i++) {
            char text[480];
            if (findings->followers[i] == 0) {
                continue;
            }
            snprintf(text, sizeof text, "%s (and %zu more that follow%s from it)",
                     findings->texts[i], findings->followers[i],
                     findings->followers[i] == 1 ? "s" : "");
            char *longer = strdup(text);
            check->out_of_memory = check->out_of_memory || longer == NULL;
            if (longer != NULL) {
                free(findings->texts[i]);
                findings->texts[i] = longer;
            }
        }
    }
}

void tern__check_forget(struct tern_check *check, tern_check_rule rule)
{
    struct findings *findings = &check->rules[rule];
    for (size_t i = 0; i < findings->kept; i++) {
        free(findings->texts[i]);
    }
    free(findings->texts);
    free(findings->followers);
    free(findings->details);
    free(findings->causes);
    *findings = (struct findings){0};
}

void tern__place_text(const struct checking *checking, struct place place, char *text, size_t size)
{
    int rank = checking->lanes.rank[place.lane];
    const struct tern__op *op = tern__place_op(checking, place);
    tern__op_place_text(op, rank, place.lane - checking->lanes.first[rank], place.index, text,
                        size);
}

static int check_destroy(tern_check *check)
{
    if (check == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_check_destroy", check, TERN__CHECK));
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        tern__check_forget(check, (tern_check_rule)rule);
    }
    tern__handle_free(check, sizeof *check);
    return TERN_OK;
}

int tern_check_destroy(tern_check *check)
{
    return TERN__CALL(check_destroy(check));
}

static int rules_of(const tern_check *check)
{
    return check->in_place ? TERN_CHECK_RULES : TERN_CHECK_IN_PLACE;
}

static bool are_proved(const tern_check *check, int rules)
{
    bool proved = true;
    for (int rule = 0; proved && rule < rules; rule++) {
        proved = check->rules[rule].count == 0 && !check->unchecked[rule];
    }
    return proved;
}

bool tern_check_proved(const tern_check *check)
{
    return tern__handle_lives(check, TERN__CHECK) && are_proved(check, rules_of(check));
}

tern_check_order tern_check_sum_order(const tern_check *check)
{
    return tern__handle_lives(check, TERN__CHECK) ? check->order : TERN_CHECK_ORDER_NONE;
}

size_t tern_check_count(const tern_check *check, tern_check_rule rule)
{
    return tern__handle_lives(check, TERN__CHECK) && (unsigned)rule < TERN_CHECK_RULES
               ? check->rules[rule].count
               : 0;
}

bool tern_check_decided(const tern_check *check, tern_check_rule rule)
{
    return tern__handle_lives(check, TERN__CHECK) && (unsigned)rule < TERN_CHECK_RULES &&
           !check->unchecked[rule];
}

const char *tern_check_finding(const tern_check *check, tern_check_rule rule, size_t index)
{
    return tern__handle_lives(check, TERN__CHECK) && (unsigned)rule < TERN_CHECK_RULES &&
                   index < check->rules[rule].kept
               ? check->rules[rule].texts[index]
               : NULL;
}

bool tern_check_get_detail(const tern_check *check, tern_check_rule rule, size_t index,
                           tern_check_detail *detail)
{
    if (detail == NULL || tern_check_finding(check, rule, index) == NULL) {
        return false;
    }
    *detail = check->rules[rule].details[index];
    return true;
}

static const char *const rule_names[TERN_CHECK_RULES] = {"bounds", "links",  "deadlock", "races",
                                                         "reach",  "result", "in place"};

static const char *const rule_texts[TERN_CHECK_RULES] = {
    "every operand lies inside its buffer",
    "every transfer and post uses an existing link",
    "every wait ends, whatever the interleaving",
    "conflicting accesses are ordered, and none outlasts its owner's lanes",
    "no op reads another machine's memory, and what is put there is awaited there",
    "every output byte holds exactly what the kind says",
    "the same holds where out is the memory of in, on any of the ranks",
};

static const char *const order_texts[] = {
    [TERN_CHECK_ORDER_NONE] = "",
    [TERN_CHECK_ORDER_RANK] = "; sums in rank order, rounded once",
    [TERN_CHECK_ORDER_FIXED] = "; sums in another order, the same in every run",
    [TERN_CHECK_ORDER_ANY] = "; the order of sums is left to chance (atomic reduces)",
    [TERN_CHECK_ORDER_CHAIN] = "; sums in rank order, rounded once for each reduce on the way",
};

// What was taken for granted (tern/plan.h).
static const char *const slots_texts[] = {
    [0] = "",
    [TERN_PLAN_IN_SLOTS] = ", if in lies in slots",
    [TERN_PLAN_SCRATCH_SLOTS] = ", if scratch lies in slots",
    [TERN_PLAN_IN_SLOTS | TERN_PLAN_SCRATCH_SLOTS] = ", if in and scratch lie in slots",
};

static int check_print(const tern_check *check, FILE *file)
{
    TERN_TRY(tern__handle_check("tern_check_print", check, TERN__CHECK));
    if (file == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_check_print: file must not be NULL");
    }
    for (int rule = 0; rule < rules_of(check); rule++) {
        const struct findings *findings = &check->rules[rule];
        if (rule == TERN_CHECK_REACH && check->machines == 0) {
            continue;
        }
        const char *order = rule == TERN_CHECK_RESULT ? order_texts[check->order] : "";
        if (findings->count > 0) {
            fprintf(file, "%-9s refuted: %zu finding%s\n", rule_names[rule], findings->count,
                    findings->count == 1 ? "" : "s");
        } else if (check->unchecked[rule]) {
            fprintf(file, "%-9s not decided, because of the findings above\n", rule_names[rule]);
        } else {
            fprintf(file, "%-9s proved: %s%s\n", rule_names[rule], rule_texts[rule], order);
        }
    }
    for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
        const struct findings *findings = &check->rules[rule];
        for (size_t i = 0; i < findings->kept; i++) {
            fprintf(file, "%s: %s\n", rule_names[rule], findings->texts[i]);
        }
        if (findings->kept < findings->count) {
            fprintf(file, "%s: and %zu more\n", rule_names[rule], findings->count - findings->kept);
        }
    }
    char machines[32] = "";
    if (check->machines > 0) {
        snprintf(machines, sizeof machines, " on %d machine%s", check->machines,
                 check->machines == 1 ? "" : "s");
    }
    fprintf(file,
            "%s for %d ranks%s and %zu ops%s. Not in reach: time, rounding, and what the executor "
            "and the machine do.\n",
            tern_check_proved(check)                 ? "proved"
            : are_proved(check, TERN_CHECK_IN_PLACE) ? "right, but not in place,"
                                                     : "refuted",
            check->nranks, machines, check->ops, slots_texts[check->slots]);
    return ferror(file) == 0 ? TERN_OK
                             : tern__fail_errno(TERN_ERR_SYSTEM, "the report cannot be written");
}

int tern_check_print(const tern_check *check, FILE *file)
{
    return TERN__CALL(check_print(check, file));
}
