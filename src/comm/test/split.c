// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Splitting: who ends up with whom, in which order, how many parts there may be, and that parts
// neither mix nor leak.
#include "support/cmocka.h"
#include <stdlib.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/window.h"

// What ranks of `part` are in the first communicator, seen through a window: *olds[i] is rank i's.
static int exchange(tern_comm *part, int mine, int *all)
{
    tern_window *window;
    CHECK(tern_window_create(part, sizeof mine, NULL, &window) == TERN_OK);
    *(int *)tern_window_address(window, tern_comm_rank(part)) = mine;
    CHECK(tern_comm_barrier(part) == TERN_OK);
    for (int i = 0; i < tern_comm_size(part); i++) {
        all[i] = *(int *)tern_window_address(window, i);
    }
    CHECK(tern_comm_barrier(part) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static int by_remainder(tern_comm *comm, void *arg)
{
    tern_comm *part;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int all[TERN_RANKS_MAX];
    CHECK(tern_comm_split(comm, rank % 3, 0, &part) == TERN_OK);
    CHECK(tern_comm_rank(part) == rank / 3);
    CHECK(tern_comm_size(part) == (size - rank % 3 + 2) / 3);
    CHECK(exchange(part, rank, all) == 0);
    for (int i = 0; i < tern_comm_size(part); i++) {
        CHECK(all[i] == 3 * i + rank % 3);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return 0;
}

static void ranks_of_one_colour_are_together_in_rank_order(void **state)
{
    assert_true(ranks_run_counts(1, 16, by_remainder, NULL, 20));
}

// Keys 1, 0, -1, 1, 0, -1, … : ordered by (key, rank).
static int by_key(tern_comm *comm, void *arg)
{
    tern_comm *part;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    int all[TERN_RANKS_MAX];
    int at = 0;
    CHECK(tern_comm_split(comm, INT32_MAX, 1 - rank % 3, &part) == TERN_OK);
    CHECK(tern_comm_size(part) == size);
    CHECK(exchange(part, rank, all) == 0);
    for (int key = -1; key <= 1; key++) {
        for (int old = 0; old < size; old++) {
            if (1 - old % 3 == key) {
                CHECK(all[at] == old);
                CHECK((tern_comm_rank(part) == at) == (old == rank));
                at++;
            }
        }
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return 0;
}

static void ranks_are_ordered_by_key_then_old_rank(void **state)
{
    assert_true(ranks_run_counts(1, 16, by_key, NULL, 20));
}

static int extreme_keys(tern_comm *comm, void *arg)
{
    static const int keys[] = {INT32_MAX, INT32_MIN, 0};
    static const int places[] = {2, 0, 1};
    tern_comm *part;
    int rank = tern_comm_rank(comm);
    CHECK(tern_comm_split(comm, 0, keys[rank], &part) == TERN_OK);
    CHECK(tern_comm_rank(part) == places[rank]);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return 0;
}

static void least_and_greatest_keys_are_ordered_too(void **state)
{
    assert_true(ranks_run_comm(3, extreme_keys, NULL, 20));
}

static int without_odd(tern_comm *comm, void *arg)
{
    tern_comm *part = comm;
    int rank = tern_comm_rank(comm);
    CHECK(tern_comm_split(comm, rank % 2 == 1 ? -1 - rank : 4, 0, &part) == TERN_OK);
    CHECK((part == NULL) == (rank % 2 == 1));
    if (part != NULL) {
        CHECK(tern_comm_size(part) == (tern_comm_size(comm) + 1) / 2);
        CHECK(tern_comm_barrier(part) == TERN_OK);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_comm_split(comm, -1, 0, &part) == TERN_OK && part == NULL);
    return 0;
}

static void negative_colour_takes_no_part(void **state)
{
    assert_true(ranks_run_counts(1, 16, without_odd, NULL, 20));
}

// Halves until everybody is alone; every level works, also while its parts do.
static int halve(tern_comm *comm, void *arg)
{
    int size = tern_comm_size(comm);
    int all[TERN_RANKS_MAX];
    CHECK(exchange(comm, tern_comm_rank(comm) * 11, all) == 0);
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 11 * i);
    }
    if (size > 1) {
        tern_comm *part;
        CHECK(tern_comm_split(comm, tern_comm_rank(comm) < size / 2, -tern_comm_rank(comm),
                              &part) == TERN_OK);
        CHECK(halve(part, NULL) == 0);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_comm_destroy(comm) == TERN_ERR_STATE); // its part lives
        CHECK(tern_comm_destroy(part) == TERN_OK);
    }
    return 0;
}

static void parts_can_be_split_again(void **state)
{
    assert_true(ranks_run_counts(1, 16, halve, NULL, 20));
}

static int fill_up(tern_comm *comm, void *arg)
{
    tern_comm *parts[TERN_RANKS_MAX * 5];
    tern_comm *more = comm;
    int count = 0;
    int status;
    while ((status = tern_comm_split(comm, 0, 0, &parts[count])) == TERN_OK) {
        count++;
    }
    CHECK(count == 254 || count == 255); // with the first one at most 255
    CHECK(status == TERN_ERR_LIMIT);
    CHECK(look_says("communicators of this job are alive"));
    CHECK(tern_comm_barrier(comm) == TERN_OK); // nothing has failed
    CHECK(tern_comm_barrier(parts[count - 1]) == TERN_OK);
    CHECK(tern_comm_split(comm, 0, 0, &more) == TERN_ERR_LIMIT && more == comm);
    CHECK(tern_comm_destroy(parts[100]) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK); // all have let go of it
    CHECK(tern_comm_split(comm, 0, 0, &parts[100]) == TERN_OK);
    CHECK(tern_comm_barrier(parts[100]) == TERN_OK);
    for (int i = 0; i < count; i++) {
        CHECK(tern_comm_destroy(parts[i]) == TERN_OK);
    }
    return 0;
}

static void one_too_many_is_an_error_and_a_place_that_became_free_is_used(void **state)
{
    assert_true(ranks_run_comm(1, fill_up, NULL, 20));
    assert_true(ranks_run_comm(3, fill_up, NULL, 20));
}

// Parts come and go 600 times, more than there are places; some ranks let go later than others.
static int come_and_go(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    int fds = look_fds();
    int all[TERN_RANKS_MAX] = {0};
    for (int i = 0; i < 600; i++) {
        tern_comm *part;
        CHECK(tern_comm_split(comm, (rank + i) % 2, rank % (i % 3 + 1), &part) == TERN_OK);
        if (i % 20 == 0) {
            CHECK(exchange(part, i, all) == 0);
            for (int j = 0; j < tern_comm_size(part); j++) {
                CHECK(all[j] == i);
            }
        }
        CHECK(tern_comm_destroy(part) == TERN_OK);
    }
    CHECK(look_fds() == fds && look_maps() == 2); // the job's control memory, and the area
    return 0;
}

static void six_hundred_splits_in_a_row_work_and_leak_nothing(void **state)
{
    assert_true(ranks_run_comm(5, come_and_go, NULL, 60));
}

static int wrong_arguments(tern_comm *comm, void *arg)
{
    tern_comm *part;
    CHECK(tern_comm_split(NULL, 0, 0, &part) == TERN_ERR_ARG);
    CHECK(tern_comm_split(comm, 0, 0, NULL) == TERN_ERR_ARG);
    return 0;
}

static void null_is_an_error(void **state)
{
    assert_true(ranks_run_comm(1, wrong_arguments, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_colour_are_together_in_rank_order),
        cmocka_unit_test(ranks_are_ordered_by_key_then_old_rank),
        cmocka_unit_test(least_and_greatest_keys_are_ordered_too),
        cmocka_unit_test(negative_colour_takes_no_part),
        cmocka_unit_test(parts_can_be_split_again),
        cmocka_unit_test(one_too_many_is_an_error_and_a_place_that_became_free_is_used),
        cmocka_unit_test(six_hundred_splits_in_a_row_work_and_leak_nothing),
        cmocka_unit_test(null_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
