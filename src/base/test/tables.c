// SPDX-License-Identifier: Apache-2.0
// The tables of status codes, element types and kinds of collectives: numbers that never change,
// names, and what is said of a number or a word that is in none.
#include "support/cmocka.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tern/dtype.h"
#include "tern/kind.h"
#include "tern/machine.h"
#include "tern/status.h"

// Written out a second time on purpose: these are promises to who has stored a number.
static const struct {
    int number;
    const char *name;
    const char *text;
} statuses[] = {
    {0, "TERN_OK", "success"},
    {-1, "TERN_ERR_ARG", "invalid argument"},
    {-2, "TERN_ERR_MEMORY", "not enough memory"},
    {-3, "TERN_ERR_SYSTEM", "a system call failed"},
    {-4, "TERN_ERR_TIMEOUT", "the deadline passed"},
    {-5, "TERN_ERR_PEER", "a rank died"},
    {-6, "TERN_ERR_LEFT", "a rank has left the communicator"},
    {-7, "TERN_ERR_MISMATCH", "the ranks disagree"},
    {-8, "TERN_ERR_STATE", "not possible in this state"},
    {-9, "TERN_ERR_LIMIT", "beyond a limit of this build"},
    {-10, "TERN_ERR_REFUSED", "refused by the rendezvous"},
    {-11, "TERN_ERR_CYCLE", "the graph has a cycle"},
    {-12, "TERN_ERR_KERNEL", "a kernel is unknown or failed"},
    {-13, "TERN_ERR_INTERRUPTED", "interrupted by the program"},
    {-14, "TERN_ERR_ABORTED", "the program ended the communicator"},
};

static const struct {
    int number;
    const char *word;
    size_t size_bytes;
} dtypes[] = {
    {0, "f32", 4}, {1, "f16", 2}, {2, "bf16", 2}, {3, "f64", 8}, {4, "i8", 1},   {5, "i16", 2},
    {6, "i32", 4}, {7, "i64", 8}, {8, "u8", 1},   {9, "u16", 2}, {10, "u32", 4}, {11, "u64", 8},
    {12, "bool", 1}, {13, "c64", 8}, {14, "c128", 16}, {15, "f8e4m3", 1}, {16, "f8e5m2", 1},
};

// in and out: elements of a buffer are 0, one count (c), or n counts (n).
static const struct {
    int number;
    const char *word;
    const char *plan;
    char in, out;
    const char *root; // what it alone has
    bool sums, counts;
    int crossings;
} kinds[] = {
    {0, "all_reduce", "all_reduce", 'c', 'c', "", true, false, 2},
    {1, "reduce_scatter", "reduce_scatter", 'n', 'c', "", true, false, 1},
    {2, "all_gather", "all_gather", 'c', 'n', "", false, false, 1},
    {3, "broadcast", "broadcast", 'c', 'c', "in", false, false, 0},
    {4, "all_to_all", "all_to_all", 'n', 'n', "", false, false, 1},
    {5, "barrier", "barrier", '0', '0', "", false, false, 0},
    {6, "reduce", "reduce", 'c', 'c', "out", true, false, 0},
    {7, "gather", "gather", 'c', 'n', "out", false, false, 1},
    {8, "scatter", "scatter", 'n', 'c', "in", false, false, 1},
    {9, "reduce_scatter_v", "reduce_scatter", 'n', 'c', "", true, true, 1},
    {10, "all_gather_v", "all_gather", 'c', 'n', "", false, true, 1},
    {11, "all_to_all_v", "all_to_all", 'n', 'n', "", false, true, 1},
    {12, "gather_v", "gather", 'c', 'n', "out", false, true, 1},
    {13, "scatter_v", "scatter", 'n', 'c', "in", false, true, 1},
    {14, "send", NULL, 'c', '0', "out", false, false, 0},
    {15, "recv", NULL, '0', 'c', "in", false, false, 0},
};

enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    STATUSES = sizeof statuses / sizeof statuses[0],
    DTYPES = sizeof dtypes / sizeof dtypes[0],
};

static void every_status_has_its_name_and_text(void **state)
{
    for (int i = 0; i < STATUSES; i++) {
        assert_string_equal(tern_status_name(statuses[i].number), statuses[i].name);
        assert_string_equal(tern_status_text(statuses[i].number), statuses[i].text);
    }
    assert_int_equal(TERN_OK, 0);
    assert_int_equal(TERN_ERR_PEER, -5);
    assert_int_equal(TERN_ERR_KERNEL, -12);
}

static void a_number_that_is_no_status_is_said_to_be_none(void **state)
{
    static const int strangers[] = {1, -STATUSES, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(tern_status_name(strangers[i]), "no status of tern");
        assert_string_equal(tern_status_text(strangers[i]), "no status of tern");
    }
}

static void every_dtype_has_its_number_word_and_size(void **state)
{
    for (int i = 0; i < DTYPES; i++) {
        tern_dtype dtype = (tern_dtype)dtypes[i].number;
        assert_int_equal(tern_dtype_size(dtype), dtypes[i].size_bytes);
        assert_string_equal(tern_dtype_name(dtype), dtypes[i].word);
        tern_dtype parsed = (tern_dtype)-1;
        assert_int_equal(tern_dtype_parse(dtypes[i].word, &parsed), TERN_OK);
        assert_int_equal(parsed, dtypes[i].number);
    }
    assert_int_equal(TERN_F32, 0);
    assert_int_equal(TERN_F8E5M2, DTYPES - 1);
}

static void the_library_says_the_version_of_its_headers(void **state)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", TERN_VERSION_MAJOR, TERN_VERSION_MINOR,
             TERN_VERSION_PATCH);
    assert_string_equal(tern_version(), wanted);
}

static void a_number_that_is_no_dtype_has_no_size(void **state)
{
    static const int strangers[] = {-1, DTYPES, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tern_dtype_size((tern_dtype)strangers[i]), 0);
        assert_string_equal(tern_dtype_name((tern_dtype)strangers[i]), "unknown dtype");
    }
}

static void a_word_that_is_no_dtype_is_answered_with_those_that_are(void **state)
{
    static const char *const words[] = {"", "f8", "F32", "f32 ", "f3", "f322", "bf16,f16"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tern_dtype parsed = TERN_I8;
        assert_int_equal(tern_dtype_parse(words[i], &parsed), TERN_ERR_ARG);
        assert_int_equal(parsed, TERN_I8); // outputs are written on success only
        for (int j = 0; j < DTYPES; j++) {
            assert_non_null(strstr(tern_last_error(), dtypes[j].word));
        }
    }
}

static void parsing_a_dtype_refuses_null(void **state)
{
    tern_dtype parsed = TERN_I8;
    assert_int_equal(tern_dtype_parse(NULL, &parsed), TERN_ERR_ARG);
    assert_int_equal(tern_dtype_parse("f32", NULL), TERN_ERR_ARG);
    assert_int_equal(parsed, TERN_I8);
}

static void every_kind_has_its_number_word_and_facts(void **state)
{
    static const char extents[] = {
        [TERN_KIND_NONE] = '0', [TERN_KIND_ONE] = 'c', [TERN_KIND_ALL] = 'n'};
    static const char *const roots[] = {
        [TERN_KIND_ROOT_NONE] = "", [TERN_KIND_ROOT_FROM] = "in", [TERN_KIND_ROOT_TO] = "out"};
    assert_int_equal(TERN_COLL_KINDS, KINDS);
    for (int i = 0; i < KINDS; i++) {
        tern_coll_kind parsed = TERN_COLL_BARRIER;
        const tern_kind_facts *facts = tern_coll_kind_facts((tern_coll_kind)kinds[i].number);
        assert_non_null(facts);
        assert_int_equal(tern_coll_kind_parse(kinds[i].word, &parsed), TERN_OK);
        assert_int_equal(parsed, kinds[i].number);
        assert_string_equal(tern_coll_kind_name(parsed), kinds[i].word);
        assert_string_equal(facts->word, kinds[i].word);
        assert_int_equal(extents[facts->in], kinds[i].in);
        assert_int_equal(extents[facts->out], kinds[i].out);
        assert_string_equal(roots[facts->root], kinds[i].root);
        assert_int_equal(facts->sums, kinds[i].sums);
        assert_int_equal(facts->counts, kinds[i].counts);
        assert_int_equal(facts->crossings, kinds[i].crossings);
        assert_int_equal(facts->plan >= 0, kinds[i].plan != NULL);
        if (facts->plan >= 0) {
            assert_string_equal(tern_plan_kind_name((tern_plan_kind)facts->plan), kinds[i].plan);
        }
    }
}

static void a_number_that_is_no_kind_has_no_facts(void **state)
{
    static const int strangers[] = {-1, KINDS, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        assert_null(tern_coll_kind_facts((tern_coll_kind)strangers[i]));
        assert_string_equal(tern_coll_kind_name((tern_coll_kind)strangers[i]), "unknown kind");
        assert_string_equal(tern_plan_kind_name((tern_plan_kind)strangers[i]), "unknown kind");
    }
    assert_string_equal(tern_plan_kind_name(TERN_COLL_GATHER_V), "unknown kind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name_and_text),
        cmocka_unit_test(a_number_that_is_no_status_is_said_to_be_none),
        cmocka_unit_test(every_dtype_has_its_number_word_and_size),
        cmocka_unit_test(the_library_says_the_version_of_its_headers),
        cmocka_unit_test(a_number_that_is_no_dtype_has_no_size),
        cmocka_unit_test(a_word_that_is_no_dtype_is_answered_with_those_that_are),
        cmocka_unit_test(parsing_a_dtype_refuses_null),
        cmocka_unit_test(every_kind_has_its_number_word_and_facts),
        cmocka_unit_test(a_number_that_is_no_kind_has_no_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
