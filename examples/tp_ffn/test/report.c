// SPDX-License-Identifier: Apache-2.0
// What the program says about the machine it finds: the kernels of OpenBLAS, and overlap only where
// there is something to tell.
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "report.h"

// Last, because it defines a macro called fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void old_kernels_are_replaced_by_features(void **state)
{
    (void)state;
    struct blas_cpu new = {.avx512 = true, .avx2 = true};
    struct blas_cpu middle = {.avx2 = true};
    struct blas_cpu old = {0};
    assert_string_equal(blas_better("Prescott", new), "SkylakeX");
    assert_string_equal(blas_better("Prescott", middle), "Haswell");
    assert_string_equal(blas_better("Sandybridge", new), "SkylakeX");
    assert_null(blas_better("Prescott", old));
    const char *const good[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "of the year 2040"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_null(blas_better(good[i], new));
    }
}

static void overlap_is_told_only_where_it_can_be(void **state)
{
    (void)state;
    struct timing timings[VARIANT_COUNT] = {
        [VARIANT_FULL] = {.median = 0.104, .quartiles = {0.103, 0.105}},
        [VARIANT_COMPUTE] = {.median = 0.100},
        [VARIANT_COMMUNICATION] = {.median = 0.010},
    };
    char line[160];
    report_overlap(timings, 4, 4, line, sizeof line);
    assert_string_equal(
        line, "overlap efficiency 0.60 (1: the shorter part is hidden entirely, 0: not at all)");
    report_overlap(timings, 4, 2, line, sizeof line);
    assert_string_equal(line, "no overlap efficiency: 2 processors for the 4 cores of the chips");
    timings[VARIANT_FULL].quartiles[1] = 0.115;
    report_overlap(timings, 4, 64, line, sizeof line);
    assert_string_equal(line, "no overlap efficiency: the layer varies by 12.000 ms, and only "
                              "10.000 ms can be hidden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_kernels_are_replaced_by_features),
        cmocka_unit_test(overlap_is_told_only_where_it_can_be),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
