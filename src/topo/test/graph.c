// SPDX-License-Identifier: Apache-2.0
// Tori, cubes and random graphs have exactly the links that their words say, also the largest, in
// little memory.
#include "support/cmocka.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/topo.h"
#include "tern/topo.h"

// Whether two positions are one step apart, around the end, too, in exactly one of three.
static bool one_step(const int sizes[3], int from, int to)
{
    int differ = 0;
    bool far = false;
    for (int d = 2; d >= 0; d--) {
        int apart = abs(from % sizes[d] - to % sizes[d]);
        differ += apart > 0;
        far = far || (apart > 1 && apart != sizes[d] - 1);
        from /= sizes[d];
        to /= sizes[d];
    }
    return differ == 1 && !far;
}

static void a_torus_links_steps(void **state)
{
    static const struct {
        const char *word;
        int sizes[3];
        int links;
    } rows[] = {{"torus:4x4", {1, 4, 4}, 64},    {"torus:2x2", {1, 2, 2}, 8},
                {"torus:3x5", {1, 3, 5}, 60},    {"torus:1x4", {1, 1, 4}, 8},
                {"torus:2x3x4", {2, 3, 4}, 120}, {"torus:1x1", {1, 1, 1}, 0},
                {"cube:3", {2, 2, 2}, 24},       {"cube:1", {1, 1, 2}, 2},
                {"cube:0", {1, 1, 1}, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_topo *topo = topo_make(rows[i].word);
        int size = rows[i].sizes[0] * rows[i].sizes[1] * rows[i].sizes[2];
        assert_int_equal(tern_topo_size(topo), size);
        assert_int_equal(tern_topo_link_count(topo), rows[i].links);
        for (int from = 0; from < size; from++) {
            for (int to = 0; to < size; to++) {
                assert_int_equal(from == to || one_step(rows[i].sizes, from, to),
                                 tern_topo_link(topo, from, to, NULL));
            }
        }
        assert_string_equal(tern_topo_text(topo), rows[i].word);
        tern_topo_destroy(topo);
    }
}

static void a_cube_links_ranks_that_differ_in_a_bit(void **state)
{
    tern_topo *topo = topo_make("cube:16");
    assert_int_equal(tern_topo_size(topo), 65536);
    assert_int_equal(tern_topo_link_count(topo), 65536 * 16);
    for (int to = 0; to < 65536; to++) {
        assert_int_equal(tern_topo_link(topo, 43690, to, NULL),
                         __builtin_popcount((unsigned)(to ^ 43690)) <= 1);
    }
    tern_topo_destroy(topo);
}

static void expect_refused(const char *word, const char *sentence)
{
    tern_topo *topo = NULL;
    if (tern_topo_create(word, &topo) != TERN_ERR_ARG || topo != NULL ||
        strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("%s: %s", word, tern_last_error());
    }
}

static void damaged_words_are_refused(void **state)
{
    static const char *const tori[] = {"torus:",        "torus:4",     "torus:4x",   "torus:4x4x",
                                       "torus:2x2x2x2", "torus:x4",    "torus:4 x4", "torus:04x4",
                                       "torus:4x4@1",   "torus:4x-4x", "torus:4X4"};
    for (size_t i = 0; i < sizeof tori / sizeof tori[0]; i++) {
        expect_refused(tori[i], "as in torus:4x4 or torus:2x3x4, and nothing else");
    }
    expect_refused("torus:0x4", "has no ranks");
    expect_refused("torus:4x0", "has no ranks");
    expect_refused("torus:256x257", "has too many ranks");
    expect_refused("torus:65536x65536x65536", "has too many ranks");
    expect_refused("torus:4x4x99999999999", "has too many ranks");
    expect_refused("cube:17", "has too many ranks");
    expect_refused("cube:99999999999", "has too many ranks");
    expect_refused("cube:", "as in cube:3 (8 ranks)");
    expect_refused("cube:3x", "as in cube:3 (8 ranks)");
    expect_refused("cube:-1", "as in cube:3 (8 ranks)");
    expect_refused("switch:", "as in switch:8");
    expect_refused("switch:0", "has no ranks");
    expect_refused("switch:65537", "has too many ranks");
    static const char *const uplinks[] = {"hosts:2x2@",   "hosts:2x2@x",   "hosts:2x2@1x",
                                          "hosts:2x2@ 1", "hosts:2x2@nan", "hosts:2x2@inf",
                                          "hosts:@1",     "hosts:2x@1"};
    for (size_t i = 0; i < sizeof uplinks / sizeof uplinks[0]; i++) {
        expect_refused(uplinks[i], "or hosts:2x8@50 (all links between hosts share 50 GB/s");
    }
    static const char *const rates[] = {"hosts:2x2@0", "hosts:2x2@-1", "hosts:2x2@1e-7",
                                        "hosts:2x2@1e10", "hosts:2x2@1e999"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        expect_refused(rates[i], "what hosts share must be from 1e-06 to 1e+09 GB/s");
    }
    static const char *const randoms[] = {"random:",     "random:8",       "random:8,",
                                          "random:,1",   "random:8,x",     "random:8,1,",
                                          "random:8,-1", "random:8,1,one", "random:8,1,one-way ",
                                          "random:8, 1"};
    for (size_t i = 0; i < sizeof randoms / sizeof randoms[0]; i++) {
        expect_refused(randoms[i], "a seed must follow 'random:', as in random:8,1 or");
    }
    expect_refused("random:0,1", "a random topology has from 1 to 1024 ranks");
    expect_refused("random:1025,1", "a random topology has from 1 to 1024 ranks");
    expect_refused("random:8,99999999999", "the seed must be from 0 to 2147483646");
}

// How many ranks a rank reaches, itself among them.
static int reach(const tern_topo *topo, int first)
{
    int size = tern_topo_size(topo);
    int found[1024] = {first};
    bool seen[1024] = {false};
    int count = 1;
    seen[first] = true;
    for (int i = 0; i < count; i++) {
        for (int to = 0; to < size; to++) {
            if (!seen[to] && tern_topo_link(topo, found[i], to, NULL)) {
                seen[to] = true;
                found[count++] = to;
            }
        }
    }
    return count;
}

static void expect_random(int size, int seed, bool one_way)
{
    char word[64];
    snprintf(word, sizeof word, "random:%d,%d%s", size, seed, one_way ? ",one-way" : "");
    tern_topo *topo = topo_make(word);
    tern_topo *again = topo_make(tern_topo_text(topo));
    int links = 0;
    int unpaired = 0;
    for (int i = 0; i < size * size; i++) {
        int from = i / size;
        int to = i % size;
        bool there = tern_topo_link(topo, from, to, NULL);
        links += from != to && there;
        unpaired += there && !tern_topo_link(topo, to, from, NULL);
        assert_int_equal(there, tern_topo_link(again, from, to, NULL));
    }
    int most = size * (size - 1);
    assert_int_equal(links, tern_topo_link_count(topo));
    assert_int_equal(links, 4 * size < most ? 4 * size : most);
    assert_true(one_way || unpaired == 0);
    assert_true(!one_way || size < 12 || unpaired > 0);
    for (int rank = 0; rank<size; rank += size> 64 ? 100 : 1) {
        assert_int_equal(reach(topo, rank), size);
    }
    tern_topo_destroy(topo);
    tern_topo_destroy(again);
}

static void a_random_graph_is_connected_and_the_same_again(void **state)
{
    for (int size = 1; size <= 24; size++) {
        for (int seed = 0; seed < 20; seed++) {
            expect_random(size, seed, false);
            expect_random(size, seed, true);
        }
    }
    expect_random(1024, 7, false);
    expect_random(1023, 7, true);
}

static void seeds_make_different_graphs(void **state)
{
    tern_topo *one = topo_make("random:16,1");
    tern_topo *two = topo_make("random:16,2");
    int differ = 0;
    for (int i = 0; i < 256; i++) {
        differ +=
            tern_topo_link(one, i / 16, i % 16, NULL) != tern_topo_link(two, i / 16, i % 16, NULL);
    }
    assert_true(differ > 20);
    tern_topo_destroy(one);
    tern_topo_destroy(two);
}

static void the_largest_take_little_memory(void **state)
{
    static const char *const words[] = {"mesh:65536",      "ring:65536",      "torus:256x256",
                                        "torus:16x64x64",  "cube:16",         "switch:65536",
                                        "hosts:8192x8",    "hosts:8192x8@50", "machines:65536x1",
                                        "machines:16384x4"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
        tern_topo *topo = topo_make(words[i]);
        size_t taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        assert_int_equal(tern_topo_size(topo), 65536);
        if (taken > (1 << 20)) {
            fail_msg("%s takes %zu bytes", words[i], taken);
        }
        tern_topo_destroy(topo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torus_links_steps),
        cmocka_unit_test(a_cube_links_ranks_that_differ_in_a_bit),
        cmocka_unit_test(damaged_words_are_refused),
        cmocka_unit_test(a_random_graph_is_connected_and_the_same_again),
        cmocka_unit_test(seeds_make_different_graphs),
        cmocka_unit_test(the_largest_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
