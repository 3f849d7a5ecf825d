// SPDX-License-Identifier: Apache-2.0
// The sentence of the last failure: kept per thread, may quote itself, ends with the reason of the
// system when asked to, and never runs over.
#include "support/cmocka.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"

static void *read_in_a_fresh_thread(void *arg)
{
    const char *sentence = tern_last_error();
    if (sentence == NULL || sentence[0] != '\0') {
        return "not empty before the first failure";
    }
    tern__set_error("of the other thread");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state)
{
    pthread_t thread;
    void *wrong;
    tern__set_error("of this thread");
    assert_int_equal(pthread_create(&thread, NULL, read_in_a_fresh_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    assert_string_equal(tern_last_error(), "of this thread");
}

static void failing_returns_the_status_and_keeps_the_sentence(void **state)
{
    assert_int_equal(tern__fail(TERN_ERR_LIMIT, "%d of %s", 7, "them"), TERN_ERR_LIMIT);
    assert_string_equal(tern_last_error(), "7 of them");
}

static void a_sentence_may_quote_the_one_before(void **state)
{
    tern__set_error("the disk is full");
    tern__set_error("writing: %s", tern_last_error());
    tern__set_error("saving: %s, twice: %s", tern_last_error(), tern_last_error());
    assert_string_equal(tern_last_error(), "saving: writing: the disk is full, twice: writing: the "
                                           "disk is full");
}

static void a_sentence_about_errno_may_quote_the_one_before(void **state)
{
    tern__set_error("first");
    errno = ENOENT;
    assert_int_equal(tern__fail_errno(TERN_ERR_SYSTEM, "second, after %s", tern_last_error()),
                     TERN_ERR_SYSTEM);
    assert_string_equal(tern_last_error(), "second, after first: No such file or directory");
}

static void errno_is_taken_as_it_was_on_entry(void **state)
{
    errno = EMFILE;
    tern__set_error_errno("%s", "opening");
    assert_string_equal(tern_last_error(), "opening: Too many open files");
}

static void a_long_sentence_is_cut(void **state)
{
    char text[4 * TERN_ERROR_BYTES];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    tern__set_error("%s", text);
    assert_int_equal(strlen(tern_last_error()), TERN_ERROR_BYTES - 1);
    errno = ENOENT;
    tern__set_error_errno("y%s", tern_last_error());
    assert_int_equal(strlen(tern_last_error()), TERN_ERROR_BYTES - 1);
    assert_int_equal(tern_last_error()[0], 'y');
}

static void success_leaves_the_sentence(void **state)
{
    tern__set_error("still here");
    assert_string_equal(tern_status_text(TERN_OK), "success");
    assert_string_equal(tern_last_error(), "still here");
}

static int calls;

static int give(int status)
{
    calls++;
    return status;
}

static int try_both(int first, int second)
{
    TERN_TRY(give(first));
    TERN_TRY(give(second));
    return 42;
}

static void try_passes_failures_on_at_once(void **state)
{
    calls = 0;
    assert_int_equal(try_both(TERN_OK, TERN_OK), 42);
    assert_int_equal(try_both(1, 0), 42); // only negative is a failure
    assert_int_equal(calls, 4);
    assert_int_equal(try_both(TERN_ERR_ARG, TERN_ERR_PEER), TERN_ERR_ARG);
    assert_int_equal(calls, 5);
    assert_int_equal(try_both(TERN_OK, TERN_ERR_PEER), TERN_ERR_PEER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(failing_returns_the_status_and_keeps_the_sentence),
        cmocka_unit_test(a_sentence_may_quote_the_one_before),
        cmocka_unit_test(a_sentence_about_errno_may_quote_the_one_before),
        cmocka_unit_test(errno_is_taken_as_it_was_on_entry),
        cmocka_unit_test(a_long_sentence_is_cut),
        cmocka_unit_test(success_leaves_the_sentence),
        cmocka_unit_test(try_passes_failures_on_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
