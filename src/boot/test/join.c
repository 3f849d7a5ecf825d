// SPDX-License-Identifier: Apache-2.0
// tern_init without a launcher: a job of one rank, as often as one likes, but one at a time.
#include "support/cmocka.h"
#include <stdlib.h>
#include <unistd.h>

#include "support/look.h"
#include "tern/comm.h"
#include "tern/window.h"

static void process_that_nothing_launched_is_a_job_of_one_rank(void **state)
{
    tern_comm *comm;
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    assert_int_equal(tern_comm_rank(comm), 0);
    assert_int_equal(tern_comm_size(comm), 1);
    assert_int_equal(tern_comm_barrier(comm), TERN_OK);
    assert_int_equal(tern_comm_health(comm), TERN_OK);
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
}

static void second_init_while_the_first_lives_is_an_error(void **state)
{
    tern_comm *comm;
    tern_comm *second = NULL;
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    assert_int_equal(tern_init(NULL, &second), TERN_ERR_STATE);
    assert_null(second);
    assert_true(look_says("joined its job already"));
    assert_int_equal(tern_comm_barrier(comm), TERN_OK);
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
}

static void fifty_cycles_leak_nothing(void **state)
{
    int fds = look_fds();
    for (int i = 0; i < 50; i++) {
        tern_comm *comm;
        tern_window *window;
        assert_int_equal(tern_init(NULL, &comm), TERN_OK);
        assert_int_equal(tern_window_create(comm, 100, NULL, &window), TERN_OK);
        assert_int_equal(tern_window_destroy(window), TERN_OK);
        assert_int_equal(tern_comm_destroy(comm), TERN_OK);
    }
    assert_int_equal(look_fds(), fds);
    assert_int_equal(look_maps(), 0);
}

static void communicator_with_a_window_cannot_be_destroyed(void **state)
{
    tern_comm *comm;
    tern_window *window;
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    assert_int_equal(tern_window_create(comm, 100, NULL, &window), TERN_OK);
    assert_int_equal(tern_comm_destroy(comm), TERN_ERR_STATE);
    assert_true(look_says("1 window of it"));
    assert_int_equal(tern_window_destroy(window), TERN_OK);
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
}

static void null_is_an_error_or_nothing(void **state)
{
    assert_int_equal(tern_init(NULL, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_rank(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_size(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_barrier(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_health(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_comm_destroy(NULL), TERN_OK);
}

static const char *const place_names[] = {"TERN_RANK", "TERN_NRANKS", "TERN_HUB_FD", "TERN_TOKEN"};

static void unset_place(void)
{
    for (size_t i = 0; i < 4; i++) {
        unsetenv(place_names[i]);
    }
}

// A failed init leaves no trace: the next one may succeed.
static void expect_damaged(const char *rank, const char *nranks, const char *hub, const char *token)
{
    tern_comm *comm = NULL;
    int fds = look_fds();
    setenv("TERN_RANK", rank, 1);
    setenv("TERN_NRANKS", nranks, 1);
    setenv("TERN_HUB_FD", hub, 1);
    setenv("TERN_TOKEN", token, 1);
    assert_int_equal(tern_init(NULL, &comm), TERN_ERR_ARG);
    assert_null(comm);
    assert_true(look_says("TERN_HUB_FD"));
    unset_place();
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
    assert_int_equal(look_fds(), fds);
}

static void damaged_environment_is_an_error_that_names_it(void **state)
{
    static const char good[] = "0123456789abcdef0123456789abcdef";
    expect_damaged("0", "2", "999", good); // a closed descriptor
    expect_damaged("2", "2", "0", good);
    expect_damaged("-1", "2", "0", good);
    expect_damaged("0", "65", "0", good);
    expect_damaged("", "2", "0", good);
    expect_damaged("0", "2x", "0", good);
    expect_damaged("0", "2", "", good);
    expect_damaged("0", "2", "0", "0123456789abcdef0123456789abcde");
    expect_damaged("0", "2", "0", "0123456789abcdef0123456789abcdeg");
}

// A program that a script started with one of them must not run as a job of one rank.
static void a_part_of_the_environment_is_an_error(void **state)
{
    for (size_t i = 0; i < 4; i++) {
        tern_comm *comm = NULL;
        setenv(place_names[i], i == 1 ? "2" : "1", 1);
        assert_int_equal(tern_init(NULL, &comm), TERN_ERR_ARG);
        assert_true(look_says("tern run sets all of them"));
        unset_place();
    }
}

static void a_word_in_tern_agree_that_there_is_not_is_an_error(void **state)
{
    tern_comm *comm = NULL;
    setenv("TERN_AGREE", "Strict", 1);
    assert_int_equal(tern_init(NULL, &comm), TERN_ERR_ARG);
    assert_true(look_says("TERN_AGREE is 'Strict'; it must be early or strict"));
    setenv("TERN_AGREE", "early", 1);
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    unsetenv("TERN_AGREE");
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
}

static void a_word_in_tern_algo_that_there_is_not_is_an_error(void **state)
{
    tern_comm *comm = NULL;
    int fds = look_fds();
    setenv("TERN_ALGO", "all_reduce:rnig", 1);
    assert_int_equal(tern_init(NULL, &comm), TERN_ERR_ARG);
    assert_true(look_says("TERN_ALGO: there is no algorithm 'rnig' for all_reduce"));
    assert_int_equal(tern_init_at(0, 1, "/tmp/never", NULL, &comm), TERN_ERR_ARG);
    setenv("TERN_ALGO", "tree,all_reduce:ring", 1);
    assert_int_equal(tern_init(NULL, &comm), TERN_OK);
    unsetenv("TERN_ALGO");
    assert_int_equal(tern_comm_destroy(comm), TERN_OK);
    assert_int_equal(look_fds(), fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_that_nothing_launched_is_a_job_of_one_rank),
        cmocka_unit_test(second_init_while_the_first_lives_is_an_error),
        cmocka_unit_test(fifty_cycles_leak_nothing),
        cmocka_unit_test(communicator_with_a_window_cannot_be_destroyed),
        cmocka_unit_test(null_is_an_error_or_nothing),
        cmocka_unit_test(damaged_environment_is_an_error_that_names_it),
        cmocka_unit_test(a_part_of_the_environment_is_an_error),
        cmocka_unit_test(a_word_in_tern_agree_that_there_is_not_is_an_error),
        cmocka_unit_test(a_word_in_tern_algo_that_there_is_not_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
