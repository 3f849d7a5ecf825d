// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Which way is gone follows from what the ways have taken: given times here, no clock.
#include "support/cmocka.h"
#include <stdint.h>

#include "xport/quickest.h"

enum { MIB = 1 << 20, WAYS = 3 };

// So many works, each taking what its way is given; how many went each way.
static void work(struct tern__quickest *quickest, const int64_t *ns, int works, int *went)
{
    for (int way = 0; way < WAYS; way++) {
        went[way] = 0;
    }
    for (int i = 0; i < works; i++) {
        int way = tern__quickest_next(quickest, WAYS);
        assert_in_range(way, 0, WAYS - 1);
        went[way]++;
        tern__quickest_took(quickest, way, ns[way], MIB);
    }
}

static void all_are_tried_then_the_quickest_is_gone(void **state)
{
    for (int best = 0; best < WAYS; best++) {
        struct tern__quickest quickest = {0};
        int64_t ns[WAYS] = {2000, 2000, 2000};
        int went[WAYS];
        ns[best] = 1000;
        work(&quickest, ns, WAYS * TERN__QUICKEST_TRIALS, went);
        for (int way = 0; way < WAYS; way++) {
            assert_int_equal(went[way], TERN__QUICKEST_TRIALS);
        }
        work(&quickest, ns, 10 * TERN__QUICKEST_SELDOM, went);
        for (int way = 0; way < WAYS; way++) {
            assert_int_equal(went[way], way == best ? 10 * (TERN__QUICKEST_SELDOM - 2) : 10);
        }
    }
}

static void only_the_first_ways_are_gone(void **state)
{
    struct tern__quickest quickest = {0};
    for (int i = 0; i < 1000; i++) {
        int way = tern__quickest_next(&quickest, 2);
        assert_in_range(way, 0, 1);
        tern__quickest_took(&quickest, way, 1000, MIB);
    }
    struct tern__quickest single = {0};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tern__quickest_next(&single, 1), 0);
        tern__quickest_took(&single, 0, 1000, MIB);
    }
}

static void a_change_is_followed_both_ways(void **state)
{
    struct tern__quickest quickest = {0};
    int64_t ns[WAYS] = {1000, 2000, 3000};
    int went[WAYS];
    work(&quickest, ns, 1000, went);
    assert_true(went[0] > 900);
    ns[0] = 4000; // at once: it is gone all the time
    work(&quickest, ns, 100, went);
    assert_true(went[1] > 80);
    ns[2] = 500; // as soon as it has been tried a few times
    work(&quickest, ns, 20 * TERN__QUICKEST_SELDOM, went);
    work(&quickest, ns, 10 * TERN__QUICKEST_SELDOM, went);
    assert_int_equal(went[2], 10 * (TERN__QUICKEST_SELDOM - 2));
}

// Who goes another way than the one before it does not count: it would be far quicker here.
static void the_first_of_a_row_does_not_count(void **state)
{
    struct tern__quickest quickest = {0};
    int before = -1;
    int slow = 0;
    for (int i = 0; i < 100 * TERN__QUICKEST_SELDOM; i++) {
        int way = tern__quickest_next(&quickest, 2);
        tern__quickest_took(&quickest, way, way == 0 ? 1000 : way == before ? 2000 : 10, MIB);
        slow += way == 1;
        before = way;
    }
    assert_true(slow <= TERN__QUICKEST_TRIALS + 2 * 100);
}

static void an_interruption_counts_as_twice(void **state)
{
    struct tern__quickest quickest = {0};
    const int64_t ns[WAYS] = {1000, 2000, 2000};
    int went[WAYS];
    work(&quickest, ns, WAYS * TERN__QUICKEST_TRIALS + 2, went);
    tern__quickest_took(&quickest, 0, INT64_C(1000000000), MIB);
    assert_int_equal(tern__quickest_next(&quickest, WAYS), 0);
    tern__quickest_took(&quickest, 0, 0, MIB); // nor does nothing at all break it
    work(&quickest, ns, TERN__QUICKEST_SELDOM, went);
    assert_true(went[0] >= TERN__QUICKEST_SELDOM - 2);
}

// A clock that has not moved is not believed for ever.
static void no_time_at_all_is_forgotten(void **state)
{
    struct tern__quickest quickest = {0};
    const int64_t nothing[WAYS] = {0, 1000, 1000};
    const int64_t ns[WAYS] = {2000, 1000, 1000};
    int went[WAYS];
    work(&quickest, nothing, WAYS * TERN__QUICKEST_TRIALS, went);
    work(&quickest, ns, 10 * TERN__QUICKEST_SELDOM, went);
    work(&quickest, ns, TERN__QUICKEST_SELDOM, went);
    assert_true(went[0] <= 2);
}

static void times_are_of_bytes(void **state)
{
    struct tern__quickest quickest = {0};
    for (int i = 0; i < 2 * TERN__QUICKEST_TRIALS; i++) {
        int way = tern__quickest_next(&quickest, 2);
        uint64_t bytes = way == 0 ? MIB : 8 * MIB;
        tern__quickest_took(&quickest, way, way == 0 ? 1000 : 4000, bytes);
    }
    assert_int_equal(tern__quickest_next(&quickest, 2), 1);
}

static void note_way(const void *arg, int way)
{
    ++((int *)(uintptr_t)arg)[way];
}

static void each_length_is_known_for_itself(void **state)
{
    struct tern__quickest known[TERN__QUICKEST_CLASSES] = {0};
    for (int class = 0; class < TERN__QUICKEST_CLASSES; class ++) {
        const uint64_t last = UINT64_C(4) * MIB << class;
        const uint64_t lengths[] = {class == 0 ? 1 : last / 2, last - 1};
        int went[WAYS] = {0};
        for (int i = 0; i < 2 * TERN__QUICKEST_TRIALS; i++) {
            tern__quickest_run(known, 2, lengths[i % 2], note_way, went);
        }
        assert_int_equal(went[0], TERN__QUICKEST_TRIALS);
        assert_int_equal(went[1], TERN__QUICKEST_TRIALS);
    }
    int went[WAYS] = {0};
    tern__quickest_run(known, 2, UINT64_MAX, note_way, went); // with the longest
    assert_int_equal(went[0] + went[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_tried_then_the_quickest_is_gone),
        cmocka_unit_test(only_the_first_ways_are_gone),
        cmocka_unit_test(a_change_is_followed_both_ways),
        cmocka_unit_test(the_first_of_a_row_does_not_count),
        cmocka_unit_test(an_interruption_counts_as_twice),
        cmocka_unit_test(no_time_at_all_is_forgotten),
        cmocka_unit_test(times_are_of_bytes),
        cmocka_unit_test(each_length_is_known_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
