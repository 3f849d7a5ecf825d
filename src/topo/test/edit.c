// SPDX-License-Identifier: Apache-2.0
// Cutting and slowing change exactly the links they name, or say why not and change nothing; the
// text of a topology makes the same one again.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>
#include <wordexp.h>

#include "support/topo.h"
#include "tern/topo.h"

static void must_cut(tern_topo *topo, const char *links)
{
    if (tern_topo_cut(topo, links) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
}

static void must_slow(tern_topo *topo, const char *links)
{
    if (tern_topo_slow(topo, links) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
}

static double GBps(const tern_topo *topo, int from, int to)
{
    tern_link link = {0};
    return tern_topo_link(topo, from, to, &link) ? link.bandwidth_GBps : 0;
}

static void expect_refused(tern_topo *topo, int (*change)(tern_topo *, const char *),
                           const char *links, const char *sentence)
{
    char before[512];
    snprintf(before, sizeof before, "%s", tern_topo_text(topo));
    int64_t count = tern_topo_link_count(topo);
    int status = change(topo, links);
    if (status != TERN_ERR_ARG) {
        fail_msg("'%s' gives %s", links, tern_status_name(status));
    }
    if (strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("'%s': \"%s\" lacks \"%s\"", links, tern_last_error(), sentence);
    }
    assert_string_equal(tern_topo_text(topo), before);
    assert_true(tern_topo_link_count(topo) == count);
}

static void a_cut_both_ways_leaves_54_links_of_a_mesh_of_8(void **state)
{
    tern_topo *topo = topo_make("mesh:8");
    must_cut(topo, "0-1");
    assert_int_equal(tern_topo_link_count(topo), 54);
    for (int i = 0; i < 64; i++) {
        int from = i / 8;
        int to = i % 8;
        bool cut = (from == 0 && to == 1) || (from == 1 && to == 0);
        assert_int_equal(tern_topo_link(topo, from, to, NULL), !cut);
    }
    assert_string_equal(tern_topo_text(topo), "mesh:8 --cut 0-1");
    tern_topo_destroy(topo);
}

static void a_cut_one_way_leaves_the_other(void **state)
{
    tern_topo *topo = topo_make("mesh:8");
    must_cut(topo, "5>2");
    assert_int_equal(tern_topo_link_count(topo), 55);
    assert_false(tern_topo_link(topo, 5, 2, NULL));
    assert_true(tern_topo_link(topo, 2, 5, NULL));
    assert_string_equal(tern_topo_text(topo), "mesh:8 --cut '5>2'");
    must_cut(topo, "2>6");
    assert_true(tern_topo_link(topo, 6, 2, NULL));
    assert_false(tern_topo_link(topo, 2, 6, NULL));
    assert_string_equal(tern_topo_text(topo), "mesh:8 --cut '5>2' --cut '2>6'");
    tern_topo_destroy(topo);
}

static void a_slow_link_has_its_share_of_bandwidth_and_all_its_latency(void **state)
{
    tern_topo *topo = topo_make("mesh:4");
    must_slow(topo, "3-1=0.5");
    must_slow(topo, "0>2=4");
    tern_link link;
    assert_true(tern_topo_link(topo, 1, 3, &link));
    assert_true(link.bandwidth_GBps == 12.5 && link.latency_us == 2);
    assert_true(GBps(topo, 3, 1) == 12.5);
    assert_true(GBps(topo, 0, 2) == 100);
    assert_true(GBps(topo, 2, 0) == 25);
    assert_true(GBps(topo, 0, 1) == 25);
    assert_int_equal(tern_topo_link_count(topo), 12);
    assert_string_equal(tern_topo_text(topo), "mesh:4 --slow '0>2=4' --slow 1-3=0.5");
    tern_topo_destroy(topo);
}

static void factors_multiply_and_vanish_when_undone(void **state)
{
    tern_topo *topo = topo_make("mesh:2");
    must_slow(topo, "0-1=0.5");
    must_slow(topo, "0>1=0.5");
    assert_true(GBps(topo, 0, 1) == 6.25);
    assert_true(GBps(topo, 1, 0) == 12.5);
    assert_string_equal(tern_topo_text(topo), "mesh:2 --slow '0>1=0.25' --slow '1>0=0.5'");
    must_slow(topo, "0>1=4");
    must_slow(topo, "1>0=2");
    assert_string_equal(tern_topo_text(topo), "mesh:2");
    tern_topo_destroy(topo);
}

static void the_text_does_not_depend_on_the_order_of_changes(void **state)
{
    tern_topo *one = topo_make("mesh:12");
    must_cut(one, "10-2");
    must_slow(one, "4-3=0.5");
    must_cut(one, "1>0");
    must_cut(one, "0>1");
    must_slow(one, "11-0=2");
    tern_topo *two = topo_make("mesh:12");
    must_slow(two, "0>11=2");
    must_slow(two, "3-4=0.5");
    must_slow(two, "0-1=0.25"); // gone with the cut
    must_cut(two, "0-1");
    must_slow(two, "11>0=2");
    must_cut(two, "2-10");
    const char *text = "mesh:12 --cut 0-1 --cut 2-10 --slow 0-11=2 --slow 3-4=0.5";
    assert_string_equal(tern_topo_text(one), text);
    assert_string_equal(tern_topo_text(two), text);
    tern_topo_destroy(one);
    tern_topo_destroy(two);
}

// Takes the text apart as a shell does and applies it.
static tern_topo *make_from_text(const char *text)
{
    // The rules of wordexp refuse a bare '>' as a redirection, like a shell: quoting is tested too.
    wordexp_t words;
    assert_int_equal(wordexp(text, &words, WRDE_NOCMD), 0);
    assert_true(words.we_wordc % 2 == 1);
    tern_topo *topo = topo_make(words.we_wordv[0]);
    for (size_t i = 1; i < words.we_wordc; i += 2) {
        if (strcmp(words.we_wordv[i], "--cut") == 0) {
            must_cut(topo, words.we_wordv[i + 1]);
        } else {
            assert_string_equal(words.we_wordv[i], "--slow");
            must_slow(topo, words.we_wordv[i + 1]);
        }
    }
    wordfree(&words);
    return topo;
}

static void the_text_makes_the_same_topology_again(void **state)
{
    tern_topo *topo = topo_make("hosts:2x3");
    must_cut(topo, "0-1");
    must_cut(topo, "5>4");
    must_slow(topo, "2-3=0.1");
    must_slow(topo, "2>3=0.3");
    must_slow(topo, "1>2=0.3333333333333333");
    must_slow(topo, "4>5=1000000");
    must_slow(topo, "3-5=0.000001");
    tern_topo *again = make_from_text(tern_topo_text(topo));
    assert_string_equal(tern_topo_text(again), tern_topo_text(topo));
    assert_int_equal(tern_topo_link_count(again), tern_topo_link_count(topo));
    for (int i = 0; i < 36; i++) {
        assert_true(GBps(again, i / 6, i % 6) == GBps(topo, i / 6, i % 6));
    }
    assert_true(GBps(topo, 2, 3) == 20.0 / 3 * (0.1 * 0.3));
    tern_topo_destroy(topo);
    tern_topo_destroy(again);
}

static void a_thousand_cuts_in_any_order_are_told_ascending(void **state)
{
    tern_topo *topo = topo_make("mesh:64");
    int links = 64 * 63;
    for (int i = 0; i < 1009; i++) { // 1009 is prime: i * 523 visits every number below it
        int pair = i * 523 % 1009;
        int low = pair / 31;
        int high = low + 1 + pair % 31;
        char text[32];
        snprintf(text, sizeof text, "%d-%d", high, low);
        must_cut(topo, text);
        links -= 2;
    }
    assert_int_equal(tern_topo_link_count(topo), links);
    const char *at = tern_topo_text(topo) + strlen("mesh:64");
    for (int pair = 0; pair < 1009; pair++) {
        char text[32];
        int low = pair / 31;
        snprintf(text, sizeof text, " --cut %d-%d", low, low + 1 + pair % 31);
        assert_int_equal(strncmp(at, text, strlen(text)), 0);
        at += strlen(text);
    }
    assert_string_equal(at, "");
    tern_topo_destroy(topo);
}

static void links_that_are_not_there_are_refused(void **state)
{
    tern_topo *topo = topo_make("ring:8");
    expect_refused(topo, tern_topo_cut, "0-4", "ring:8 has no link 0>4");
    expect_refused(topo, tern_topo_slow, "0>4=0.5", "ring:8 has no link 0>4");
    expect_refused(topo, tern_topo_cut, "0-8", "rank 8 does not exist; ring:8 has ranks 0 to 7");
    expect_refused(topo, tern_topo_cut, "9>0", "rank 9 does not exist");
    expect_refused(topo, tern_topo_slow, "0-99999999999=1", "rank 2147483647 or more does not");
    expect_refused(topo, tern_topo_cut, "3-3", "link to itself can be neither cut nor slowed");
    expect_refused(topo, tern_topo_slow, "3>3=2", "link to itself can be neither cut nor slowed");
    tern_topo_destroy(topo);
}

static void a_second_cut_is_refused_and_changes_nothing(void **state)
{
    tern_topo *topo = topo_make("mesh:4");
    must_cut(topo, "1>0");
    expect_refused(topo, tern_topo_cut, "1>0", "link 1>0 is already cut");
    // The first direction is there, the second is not: both must stay as they were.
    expect_refused(topo, tern_topo_cut, "0-1", "link 1>0 is already cut");
    assert_true(tern_topo_link(topo, 0, 1, NULL));
    expect_refused(topo, tern_topo_slow, "0-1=0.5", "link 1>0 is already cut");
    assert_true(GBps(topo, 0, 1) == 25);
    must_cut(topo, "0>1");
    expect_refused(topo, tern_topo_cut, "1-0", "link 1>0 is already cut");
    tern_topo_destroy(topo);
}

static void damaged_links_are_refused_with_what_would_be_right(void **state)
{
    tern_topo *topo = topo_make("mesh:4");
    static const char *const cuts[] = {"",        "0",    "0-",   "-1",   "0-1 ",  " 0-1",
                                       "0 - 1",   "0--1", "0->1", "0<1",  "0,1",   "0-1-2",
                                       "0-1=0.5", "a-b",  "00-1", "0-01", "0x0-1", "0-1,2-3",
                                       "+0-1",    "0>",   ">1"};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        expect_refused(topo, tern_topo_cut, cuts[i], "0-1 cuts both directions, 0>1 that one");
    }
    static const char *const slows[] = {"0-1",      "0-1=",    "0-1=x",    "0-1=nan",
                                        "0-1=inf",  "0-1=0,5", "0-1=.5",   "0-1=0.5 ",
                                        "0-1=0x1",  "0-1==2",  "0-1= 0.5", "0-1=+1",
                                        "0-1=1e",   "=0.5",    "0-1=NaN",  "0-1=infinity",
                                        "0-1=0.5=2"};
    for (size_t i = 0; i < sizeof slows / sizeof slows[0]; i++) {
        expect_refused(topo, tern_topo_slow, slows[i], "0-1=0.5 halves the bandwidth");
    }
    expect_refused(NULL, tern_topo_cut, "0-1", "must not be NULL");
    expect_refused(topo, tern_topo_cut, NULL, "must not be NULL");
    expect_refused(NULL, tern_topo_slow, "0-1=2", "must not be NULL");
    expect_refused(topo, tern_topo_slow, NULL, "must not be NULL");
    tern_topo_destroy(topo);
}

static void factors_out_of_range_are_refused(void **state)
{
    tern_topo *topo = topo_make("mesh:4");
    static const char *const bad[] = {"0-1=0",     "0-1=-0",     "0-1=0.0",     "0-1=-0.5",
                                      "0-1=1e400", "0-1=1e-400", "0-1=1000001", "0-1=0.0000009"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused(topo, tern_topo_slow, bad[i], "the factor must be from 1e-06 to 1e+06");
    }
    must_slow(topo, "0>1=1000");
    must_slow(topo, "0>1=1000");
    expect_refused(topo, tern_topo_slow, "0-1=2", "would be changed by 2e+06 in all");
    assert_true(GBps(topo, 1, 0) == 25);
    must_slow(topo, "2>3=0.001");
    expect_refused(topo, tern_topo_slow, "2>3=0.0001", "would be changed by 1e-07 in all");
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_both_ways_leaves_54_links_of_a_mesh_of_8),
        cmocka_unit_test(a_cut_one_way_leaves_the_other),
        cmocka_unit_test(a_slow_link_has_its_share_of_bandwidth_and_all_its_latency),
        cmocka_unit_test(factors_multiply_and_vanish_when_undone),
        cmocka_unit_test(the_text_does_not_depend_on_the_order_of_changes),
        cmocka_unit_test(the_text_makes_the_same_topology_again),
        cmocka_unit_test(a_thousand_cuts_in_any_order_are_told_ascending),
        cmocka_unit_test(links_that_are_not_there_are_refused),
        cmocka_unit_test(a_second_cut_is_refused_and_changes_nothing),
        cmocka_unit_test(damaged_links_are_refused_with_what_would_be_right),
        cmocka_unit_test(factors_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
