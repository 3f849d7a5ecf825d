// SPDX-License-Identifier: Apache-2.0
// Texts of plans, and short ways to read and print one. After cmocka.h.
#ifndef TERN_PLAN_TEST_KIT_H
#define TERN_PLAN_TEST_KIT_H

#include <stdlib.h>
#include <string.h>

#include "tern/plan.h"

#define HEAD "tern-plan 1\nkind all_reduce\nranks 2\nbytes 16\nunit 4\nalgorithm fused\n" // 6 lines
#define LANE HEAD "rank 0 lane 0\n"                                                       // 7 lines

static const char *const fused_text = HEAD "rank 0 lane 0\n"
                                           "reduce @0 8 : 0.in+0 1.in+0 -> 0.out+0 1.out+0\n"
                                           "post @0 rank 1 signal 0\n"
                                           "wait @0 signal 0 count 1\n"
                                           "rank 1 lane 0\n"
                                           "reduce @0 8 : 0.in+8 1.in+8 -> 0.out+8 1.out+8\n"
                                           "post @0 rank 0 signal 0\n"
                                           "wait @0 signal 0 count 1\n"
                                           "end\n";

static inline tern_plan *parse(const char *text)
{
    tern_plan *plan = NULL;
    if (tern_plan_parse(text, strlen(text), "t", &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return plan;
}

static inline char *print(const tern_plan *plan)
{
    char *text;
    size_t length;
    assert_int_equal(tern_plan_print(plan, &text, &length), TERN_OK);
    assert_int_equal(strlen(text), length);
    return text;
}

static inline void assert_text(const tern_plan *plan, const char *wanted)
{
    char *text = print(plan);
    assert_string_equal(text, wanted);
    free(text);
}

#endif
