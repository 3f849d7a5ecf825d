// SPDX-License-Identifier: Apache-2.0
// Every form of word gives exactly its links; every other word is refused, with what would be
// right.
#include "support/cmocka.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "support/topo.h"
#include "base/cgroup.h"
#include "tern/topo.h"

static void expect_link(const tern_topo *topo, int from, int to, double GBps, double us)
{
    tern_link link = {.bandwidth_GBps = -1, .latency_us = -1};
    if (!tern_topo_link(topo, from, to, &link) || !(link.bandwidth_GBps == GBps) ||
        !(link.latency_us == us)) {
        fail_msg("%s: link %d>%d has %.17g GB/s, %.17g us", tern_topo_text(topo), from, to,
                 link.bandwidth_GBps, link.latency_us);
    }
}

// Counts by asking, so that the stated count is checked as well.
static void expect_links(const tern_topo *topo, int links)
{
    int seen = 0;
    for (int from = 0; from < tern_topo_size(topo); from++) {
        for (int to = 0; to < tern_topo_size(topo); to++) {
            seen += from != to && tern_topo_link(topo, from, to, NULL);
        }
    }
    assert_int_equal(seen, links);
    assert_int_equal(tern_topo_link_count(topo), links);
}

static void expect_refused(const char *word, const char *sentence)
{
    tern_topo *topo = NULL;
    int status = tern_topo_create(word, &topo);
    if (status != TERN_ERR_ARG || topo != NULL) {
        fail_msg("'%s' gives %s", word, tern_status_name(status));
    }
    if (strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("'%s': \"%s\" lacks \"%s\"", word, tern_last_error(), sentence);
    }
}

static void a_mesh_links_everybody(void **state)
{
    tern_topo *topo = topo_make("mesh:8");
    assert_int_equal(tern_topo_size(topo), 8);
    expect_links(topo, 56);
    for (int i = 0; i < 64; i++) {
        if (i / 8 != i % 8) {
            expect_link(topo, i / 8, i % 8, 25, 2);
        }
    }
    assert_string_equal(tern_topo_text(topo), "mesh:8");
    tern_topo_destroy(topo);
}

static void a_rank_reaches_itself_without_limit_and_nobody_beyond_the_last(void **state)
{
    tern_topo *topo = topo_make("mesh:3");
    expect_link(topo, 2, 2, INFINITY, 0);
    tern_link link = {.bandwidth_GBps = -1, .latency_us = -1};
    assert_false(tern_topo_link(topo, 0, 3, &link));
    assert_false(tern_topo_link(topo, 3, 0, &link));
    assert_false(tern_topo_link(topo, 3, 3, &link));
    assert_false(tern_topo_link(topo, -1, 0, &link));
    assert_false(tern_topo_link(topo, 0, -1, &link));
    assert_true(link.bandwidth_GBps == -1 && link.latency_us == -1);
    tern_topo_destroy(topo);
}

static void a_ring_links_neighbours(void **state)
{
    tern_topo *topo = topo_make("ring:5");
    assert_int_equal(tern_topo_size(topo), 5);
    expect_links(topo, 10);
    for (int from = 0; from < 5; from++) {
        expect_link(topo, from, (from + 1) % 5, 25, 2);
        expect_link(topo, from, (from + 4) % 5, 25, 2);
    }
    tern_topo_destroy(topo);
}

static void the_smallest_have_the_links_there_can_be(void **state)
{
    static const struct {
        const char *word;
        int size;
        int links;
    } rows[] = {{"mesh:1", 1, 0}, {"ring:1", 1, 0},    {"ring:2", 2, 2},    {"mesh:2", 2, 2},
                {"ring:3", 3, 6}, {"hosts:1x1", 1, 0}, {"hosts:2x1", 2, 2}, {"hosts:1x4", 4, 12}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_topo *topo = topo_make(rows[i].word);
        assert_int_equal(tern_topo_size(topo), rows[i].size);
        expect_links(topo, rows[i].links);
        tern_topo_destroy(topo);
    }
}

static void hosts_share_a_port_between_them(void **state)
{
    tern_topo *topo = topo_make("hosts:2x8");
    assert_int_equal(tern_topo_size(topo), 16);
    expect_links(topo, 240);
    for (int from = 0; from < 16; from++) {
        double out_GBps = 0;
        for (int to = 0; to < 16; to++) {
            if (from / 8 == to / 8 && from != to) {
                expect_link(topo, from, to, 25, 2);
            } else if (from != to) {
                expect_link(topo, from, to, 2.5, 8);
                out_GBps += 2.5;
            }
        }
        assert_true(out_GBps == 20);
    }
    tern_topo_destroy(topo);
}

static void the_largest_has_65536_ranks(void **state)
{
    tern_topo *topo = topo_make("mesh:1024");
    assert_int_equal(tern_topo_size(topo), 1024);
    expect_links(topo, 1024 * 1023);
    tern_topo_destroy(topo);
    topo = topo_make("mesh:65536");
    assert_int_equal(tern_topo_size(topo), 65536);
    assert_true(tern_topo_link_count(topo) == INT64_C(65536) * 65535);
    expect_link(topo, 65535, 0, 25, 2);
    assert_false(tern_topo_link(topo, 65536, 0, NULL));
    tern_topo_destroy(topo);
    topo = topo_make("ring:65536");
    assert_true(tern_topo_link_count(topo) == 131072);
    expect_link(topo, 65535, 0, 25, 2);
    assert_false(tern_topo_link(topo, 65535, 1, NULL));
    tern_topo_destroy(topo);
    topo = topo_make("hosts:8192x8");
    assert_int_equal(tern_topo_size(topo), 65536);
    expect_link(topo, 7, 8, 20.0 / 65528, 8);
    expect_link(topo, 8, 15, 25, 2);
    tern_topo_destroy(topo);
}

static void presets_are_listed_and_made(void **state)
{
    static const struct {
        const char *name;
        int size;
        tern_link near;
        tern_link far; // from the first rank to the last
    } rows[] = {{"910b", 8, {18.3, 2}, {18.3, 2}},     {"910b-raw", 8, {28, 2}, {28, 2}},
                {"910b-2x8", 16, {18.3, 2}, {2.5, 8}}, {"a3-8x2", 16, {224, 0.2}, {14, 0.5}},
                {"910b-4x8", 32, {18.3, 2}, {20, 8}},  {"a3-pod", 768, {224, 0.2}, {196, 0.5}},
                {"a100-8", 8, {300, 2}, {300, 2}},     {"h100-8", 8, {450, 2}, {450, 2}},
                {"h100-4x8", 32, {450, 2}, {50, 5}},   {"mi300x-8", 8, {64, 2}, {64, 2}}};
    int count = (int)(sizeof rows / sizeof rows[0]);
    for (int i = 0; i < count; i++) {
        const char *line = tern_topo_preset(i);
        assert_non_null(line);
        size_t length = strlen(rows[i].name);
        assert_memory_equal(line, rows[i].name, length);
        assert_memory_equal(line + length, ": ", 2);
        tern_topo *topo = topo_make(rows[i].name);
        assert_int_equal(tern_topo_size(topo), rows[i].size);
        expect_links(topo, rows[i].size * (rows[i].size - 1));
        expect_link(topo, 0, 1, rows[i].near.bandwidth_GBps, rows[i].near.latency_us);
        expect_link(topo, 0, rows[i].size - 1, rows[i].far.bandwidth_GBps, rows[i].far.latency_us);
        assert_string_equal(tern_topo_text(topo), rows[i].name);
        tern_topo_destroy(topo);
    }
    assert_null(tern_topo_preset(count));
    assert_null(tern_topo_preset(-1));
}

static void this_has_a_rank_per_allowed_processor(void **state)
{
    tern_topo *topo = topo_make("this");
    int ranks = tern__cpus_allowed();
    assert_int_equal(tern_topo_size(topo), ranks);
    expect_links(topo, ranks * (ranks - 1));
    assert_string_equal(tern_topo_text(topo), "this");
    if (ranks > 1) {
        expect_link(topo, 0, ranks - 1, 10.0 / (ranks - 1), 0.25);
    }
    tern_topo_destroy(topo);

    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    topo = topo_make("this");
    assert_int_equal(tern_topo_size(topo), 1);
    assert_int_equal(tern_topo_link_count(topo), 0);
    tern_topo_destroy(topo);
}

static void sizes_out_of_range_are_refused(void **state)
{
    static const char *const none[] = {"mesh:0", "ring:0", "hosts:0x8", "hosts:8x0", "hosts:0x0"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        expect_refused(none[i], "has no ranks; from 1 to 65536 are possible");
    }
    static const char *const many[] = {"mesh:65537",      "mesh:99999",
                                       "ring:4294967297", "hosts:2x32769",
                                       "hosts:65537x1",   "hosts:65536x65536",
                                       "hosts:1x65537",   "mesh:18446744073709551617"};
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        expect_refused(many[i], "has too many ranks; from 1 to 65536 are possible");
    }
}

static void damaged_sizes_are_refused(void **state)
{
    static const char *const flat[] = {"mesh:",    "mesh:8x",  "mesh: 8",  "mesh:8 ", "mesh:-8",
                                       "mesh:+8",  "mesh:08",  "mesh:8.0", "mesh:x",  "mesh:0x8",
                                       "mesh:2x8", "mesh:8\n", "mesh:8:8", "mesh::8", "mesh:1e1"};
    for (size_t i = 0; i < sizeof flat / sizeof flat[0]; i++) {
        expect_refused(flat[i], "a number of ranks must follow 'mesh:', as in mesh:8");
        expect_refused(flat[i], flat[i]);
    }
    expect_refused("ring:", "a number of ranks must follow 'ring:', as in ring:8");
    static const char *const hosts[] = {"hosts:",     "hosts:2",    "hosts:2x",    "hosts:x8",
                                        "hosts:2X8",  "hosts:2x8x", "hosts:2x8x2", "hosts:2 x8",
                                        "hosts:2x-8", "hosts:02x8"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        expect_refused(hosts[i], "as in hosts:2x8 (2 hosts of 8 ranks)");
    }
}

static void unknown_words_are_refused_with_all_that_are_known(void **state)
{
    static const char *const bad[] = {"",     "mesh", "ring",  "Mesh:8", "torus",
                                      "910B", "910",  "910b:", "910b-",  "this ",
                                      "thi",  "a3",   "json",  "x.jso"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused(bad[i],
                       "mesh:N, ring:N, torus:AxB, cube:D, switch:N, hosts:HxN, machines:HxN, "
                       "random:N,SEED, this, FILE.json and the presets 910b, 910b-raw, 910b-2x8, "
                       "a3-8x2, 910b-4x8, a3-pod, a100-8, h100-8, h100-4x8, mi300x-8");
    }
}

static void null_is_refused_where_it_makes_no_sense(void **state)
{
    expect_refused(NULL, "must not be NULL");
    assert_int_equal(tern_topo_create("mesh:2", NULL), TERN_ERR_ARG);
    assert_int_equal(tern_topo_destroy(NULL), TERN_OK);
    assert_int_equal(tern_topo_size(NULL), 0);
    assert_int_equal(tern_topo_link_count(NULL), 0);
    assert_false(tern_topo_link(NULL, 0, 0, NULL));
    assert_string_equal(tern_topo_text(NULL), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mesh_links_everybody),
        cmocka_unit_test(a_rank_reaches_itself_without_limit_and_nobody_beyond_the_last),
        cmocka_unit_test(a_ring_links_neighbours),
        cmocka_unit_test(the_smallest_have_the_links_there_can_be),
        cmocka_unit_test(hosts_share_a_port_between_them),
        cmocka_unit_test(the_largest_has_65536_ranks),
        cmocka_unit_test(presets_are_listed_and_made),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(damaged_sizes_are_refused),
        cmocka_unit_test(unknown_words_are_refused_with_all_that_are_known),
        cmocka_unit_test(null_is_refused_where_it_makes_no_sense),
        cmocka_unit_test(this_has_a_rank_per_allowed_processor), // last: narrows the affinity
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
