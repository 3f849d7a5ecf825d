// SPDX-License-Identifier: Apache-2.0
// Linear programs, where GLPK is there: values and duals of small ones, columns added later, and
// programs without a solution.
#include "support/cmocka.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "plan/optimal/lp.h"
#include "tern/status.h"

static const struct tern__patience *soon(void)
{
    static struct tern__patience patience;
    patience.deadline_ns = tern__deadline_after(60 * TERN_NS_PER_SECOND);
    return &patience;
}

static bool at_once(void *context)
{
    return *(const bool *)context;
}

static struct tern__lp *create(void)
{
    struct tern__lp *lp = NULL;
    if (tern__lp_create(&lp) != TERN_OK) {
        assert_non_null(strstr(tern_last_error(), "GLPK"));
        skip();
    }
    return lp;
}

static void assert_near(double value, double wanted)
{
    assert_true(fabs(value - wanted) < 1e-9);
}

// -x - 2 y over x + y <= 4, y <= 3; then a column that is better than both.
static void values_and_duals(void **state)
{
    struct tern__lp *lp = create();
    assert_int_equal(tern__lp_add_column(lp, -1, NULL, 0), 0);
    assert_int_equal(tern__lp_add_column(lp, -2, NULL, 0), 1);
    struct tern__lp_entry both[] = {{0, 1}, {1, 1}};
    struct tern__lp_entry second[] = {{1, 1}};
    assert_int_equal(tern__lp_add_row(lp, TERN__LP_AT_MOST, 4, both, 2), 0);
    assert_int_equal(tern__lp_add_row(lp, TERN__LP_AT_MOST, 3, second, 1), 1);
    assert_int_equal(tern__lp_solve(lp, soon()), TERN_OK);
    assert_near(tern__lp_objective(lp), -7);
    assert_near(tern__lp_column(lp, 0), 1);
    assert_near(tern__lp_column(lp, 1), 3);
    assert_near(tern__lp_dual(lp, 0), -1);
    assert_near(tern__lp_dual(lp, 1), -1);
    struct tern__lp_entry half[] = {{0, 0.5}};
    assert_int_equal(tern__lp_add_column(lp, -4, half, 1), 2);
    assert_int_equal(tern__lp_solve(lp, soon()), TERN_OK);
    assert_near(tern__lp_objective(lp), -32);
    tern__lp_set_cost(lp, 2, 0);
    assert_int_equal(tern__lp_solve_afresh(lp, soon()), TERN_OK);
    assert_near(tern__lp_objective(lp), -7);
    tern__lp_destroy(lp);
}

static void programs_without_a_solution(void **state)
{
    for (int afresh = 0; afresh <= 1; afresh++) {
        struct tern__lp *lp = create();
        struct tern__lp_entry one = {0, 1};
        assert_int_equal(tern__lp_add_column(lp, 1, NULL, 0), 0);
        assert_int_equal(tern__lp_add_row(lp, TERN__LP_AT_LEAST, 2, &one, 1), 0);
        assert_int_equal(tern__lp_add_row(lp, TERN__LP_EQUAL, 1, &one, 1), 1);
        int status = afresh ? tern__lp_solve_afresh(lp, soon()) : tern__lp_solve(lp, soon());
        assert_int_equal(status, TERN_ERR_STATE);
        bool stop = false;
        struct tern__patience patience = {tern__deadline_after(-1), at_once, &stop};
        assert_int_equal(tern__lp_solve(lp, &patience), TERN_ERR_TIMEOUT);
        stop = true;
        assert_int_equal(tern__lp_solve(lp, &patience), TERN_ERR_INTERRUPTED);
        tern__lp_destroy(lp);
    }
    tern__lp_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_duals),
        cmocka_unit_test(programs_without_a_solution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
