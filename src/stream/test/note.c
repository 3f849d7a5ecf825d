// SPDX-License-Identifier: Apache-2.0
// Blocks that note something and go on.

#include <string.h>

#include "support/cmocka.h"
#include "tern/block.h"
#include "tern/stream.h"

struct args {
    int32_t *met;
};

// Block 0 notes two things and returns; the others still meet.
static int notes(void *memory)
{
    const struct args *args = memory;
    if (tern_block_index() == 0) {
        assert_int_equal(tern_block_note(TERN_ERR_STATE, "the first of %d", 2), TERN_ERR_STATE);
        assert_int_equal(tern_block_note(TERN_ERR_ARG, "the second"), TERN_ERR_ARG);
        return TERN_OK;
    }
    return tern_block_sync_soft(args->met, tern_block_count() - 1);
}

static int fails(void *memory)
{
    (void)memory;
    tern_status_ignore(tern_block_note(TERN_ERR_STATE, "a note"));
    return tern_block_fail(TERN_ERR_KERNEL, "a failure");
}

static int works(void *memory)
{
    (void)memory;
    return TERN_OK;
}

static int run(tern_stream *stream, tern_block_kernel kernel, int blocks)
{
    int32_t met = 0;
    struct args args = {&met};
    assert_int_equal(tern_stream_launch(stream, &(tern_stream_kernel){.kernel = kernel,
                                                                      .blocks = blocks,
                                                                      .args = &args,
                                                                      .args_bytes = sizeof args}),
                     TERN_OK);
    return tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT);
}

static void a_note_is_the_streams(void **state)
{
    tern_stream *stream;
    assert_int_equal(tern_stream_create(&stream), TERN_OK);
    assert_int_equal(run(stream, notes, 4), TERN_ERR_STATE);
    assert_non_null(strstr(tern_last_error(), "block 0 of 4: the first of 2"));
    assert_int_equal(run(stream, works, 4), TERN_OK);
    assert_int_equal(run(stream, fails, 1), TERN_ERR_KERNEL);
    assert_non_null(strstr(tern_last_error(), "a failure"));
    assert_int_equal(run(stream, works, 1), TERN_OK);
    assert_int_equal(tern_stream_destroy(stream), TERN_OK);
}

static void a_thread_that_runs_no_block(void **state)
{
    assert_int_equal(tern_block_note(TERN_ERR_LIMIT, "only words"), TERN_ERR_LIMIT);
    assert_string_equal(tern_last_error(), "only words");
    assert_int_equal(tern_block_note(TERN_OK, "no status"), TERN_ERR_KERNEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_the_streams),
        cmocka_unit_test(a_thread_that_runs_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
