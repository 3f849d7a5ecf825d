// SPDX-License-Identifier: Apache-2.0
// Extents: what is taken never overlaps, always lies inside, and everything that was given back can
// be taken again; compared with a map of grains over many random calls.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mem/extents.h"
#include "tern/status.h"

#define GRAIN TERN__EXTENT_GRAIN
#define GRAINS 256

static void nothing(void *arg, const struct tern__extent *extent)
{
}

static size_t take(struct tern__extents *extents, size_t bytes, bool *was_clean)
{
    ptrdiff_t at = tern__extents_take(extents, bytes, was_clean);
    assert_true(at >= 0);
    return extents->list[at].begin;
}

static void what_was_given_back_serves_the_next(void **state)
{
    struct tern__extents extents;
    bool was_clean;
    assert_int_equal(tern__extents_create(&extents, GRAINS * GRAIN), TERN_OK);
    size_t first = take(&extents, 1000, &was_clean);
    assert_true(was_clean);
    size_t second = take(&extents, 10, &was_clean);
    assert_int_equal(first % GRAIN, 0);
    assert_true(second >= first + 1000);
    assert_true(tern__extents_give(&extents, first, false));
    assert_int_equal(extents.kept_bytes, 1024);
    assert_int_equal(take(&extents, 900, &was_clean), first);
    assert_false(was_clean);
    assert_true(tern__extents_give(&extents, first, false));
    assert_true(tern__extents_give(&extents, second, false));
    assert_int_equal(extents.nused, 0);
    tern__extents_clean(&extents, nothing, NULL);
    assert_int_equal(extents.kept_bytes, 0);
    assert_int_equal(extents.count, 1);
    assert_int_equal(take(&extents, GRAINS * GRAIN, &was_clean), 0);
    tern__extents_destroy(&extents);
}

static void the_smallest_kept_that_is_large_enough_comes_first(void **state)
{
    struct tern__extents extents;
    bool was_clean;
    size_t begins[8];
    assert_int_equal(tern__extents_create(&extents, GRAINS * GRAIN), TERN_OK);
    static const size_t grains[] = {8, 1, 3, 1, 5, 1, 9, 1};
    for (int i = 0; i < 8; i++) {
        begins[i] = take(&extents, grains[i] * GRAIN, &was_clean);
    }
    for (int i = 0; i < 8; i += 2) {
        assert_true(tern__extents_give(&extents, begins[i], false));
    }
    assert_int_equal(take(&extents, 4 * GRAIN, &was_clean), begins[4]);
    assert_int_equal(take(&extents, 3 * GRAIN, &was_clean), begins[2]);
    assert_int_equal(take(&extents, 3 * GRAIN, &was_clean), begins[0]);
    assert_false(was_clean);
    tern__extents_destroy(&extents);
}

static void what_is_not_there_is_refused(void **state)
{
    struct tern__extents extents;
    bool was_clean;
    assert_int_equal(tern__extents_create(&extents, GRAINS * GRAIN), TERN_OK);
    size_t begin = take(&extents, 0, &was_clean); // takes a grain: its address is its own
    assert_int_equal(extents.list[0].bytes, GRAIN);
    assert_int_equal(tern__extents_take(&extents, GRAINS * GRAIN, &was_clean), -1);
    assert_int_equal(tern__extents_take(&extents, SIZE_MAX, &was_clean), -1);
    assert_false(tern__extents_give(&extents, begin + 1, false));
    assert_false(tern__extents_give(&extents, begin + GRAIN, false)); // free
    assert_false(tern__extents_give(&extents, GRAINS * GRAIN, false));
    assert_true(tern__extents_give(&extents, begin, false));
    assert_false(tern__extents_give(&extents, begin, false));
    tern__extents_destroy(&extents);
}

static void compare(const struct tern__extents *extents, const unsigned char *map)
{
    size_t at = 0;
    size_t kept = 0;
    for (size_t i = 0; i < extents->count; i++) {
        const struct tern__extent *extent = &extents->list[i];
        assert_int_equal(extent->begin, at);
        assert_true(extent->bytes > 0 && extent->bytes % GRAIN == 0);
        for (size_t grain = at / GRAIN; grain < (at + extent->bytes) / GRAIN; grain++) {
            assert_int_equal(map[grain] != 0, extent->state == TERN__EXTENT_USED);
        }
        bool free = extent->state != TERN__EXTENT_USED;
        assert_false(free && i > 0 && extent[-1].state == extent->state); // neighbours are joined
        kept += extent->state == TERN__EXTENT_KEPT ? extent->bytes : 0;
        at += extent->bytes;
    }
    assert_int_equal(at, GRAINS * GRAIN);
    assert_int_equal(kept, extents->kept_bytes);
}

static void random_calls_agree_with_a_map_of_grains(void **state)
{
    struct tern__extents extents;
    unsigned char map[GRAINS] = {0}; // the number of grains where one begins, 255 inside it
    unsigned seed = 7;
    assert_int_equal(tern__extents_create(&extents, GRAINS * GRAIN), TERN_OK);
    for (int call = 0; call < 20000; call++) {
        size_t grain = (size_t)rand_r(&seed) % GRAINS;
        if (map[grain] != 0 && map[grain] != 255) {
            assert_true(tern__extents_give(&extents, grain * GRAIN, rand_r(&seed) % 3 == 0));
            memset(&map[grain], 0, map[grain]);
        } else if (rand_r(&seed) % 50 == 0) {
            tern__extents_clean(&extents, nothing, NULL);
        } else {
            size_t grains = (size_t)rand_r(&seed) % 20 + 1;
            bool was_clean;
            ptrdiff_t at =
                tern__extents_take(&extents, grains * GRAIN - (size_t)rand_r(&seed) % GRAIN,
                                   &was_clean);
            if (at >= 0) {
                size_t begin = extents.list[at].begin / GRAIN;
                memset(&map[begin], 255, grains);
                map[begin] = (unsigned char)grains;
            }
        }
        compare(&extents, map);
    }
    tern__extents_destroy(&extents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_back_serves_the_next),
        cmocka_unit_test(the_smallest_kept_that_is_large_enough_comes_first),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(random_calls_agree_with_a_map_of_grains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
