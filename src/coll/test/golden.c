// SPDX-License-Identifier: Apache-2.0
// What the plans cost, against numbers worked out by hand: bytes on the busiest link, rounds,
// transfers, and the lower bounds of cut topologies.
#include "support/cmocka.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/topo.h"
#include "support/kinds.h"
#include "tern/algo.h"
#include "tern/summary.h"

#define GIB (UINT64_C(1) << 30)

static tern_topo *topology(const char *word, const char *const *cuts, int count)
{
    tern_topo *topo = topo_make(word);
    for (int i = 0; i < count; i++) {
        assert_int_equal(tern_topo_cut(topo, cuts[i]), TERN_OK);
    }
    return topo;
}

static tern_summary summarise(const tern_topo *topo, tern_plan_kind kind, const char *name,
                              uint64_t bytes)
{
    tern_plan *plan;
    tern_summary summary;
    if (tern_algo_plan(&(tern_algo_request){.kind = kind,
                                            .topo = topo,
                                            .bytes = bytes,
                                            .unit = 4,
                                            .order = TERN_ORDER_ANY,
                                            .algorithm = name},
                       &plan) < 0 ||
        tern_summary_make(plan, topo, &summary) < 0) {
        fail_msg("%s: %s", name != NULL ? name : "", tern_last_error());
    }
    summary.spec.algorithm = NULL; // went with the plan
    tern_plan_destroy(plan);
    return summary;
}

// Units differ by a cache line, and a link carries up to `units` of them.
static void assert_share(uint64_t bytes, double share, uint64_t rounding)
{
    double wanted = share * (double)GIB;
    if (fabs((double)bytes - wanted) > (double)rounding) {
        fail_msg("%llu bytes instead of %.0f", (unsigned long long)bytes, wanted);
    }
}

static void busiest_link_of_8_ranks(void **state)
{
    const char *cut = "0-1";
    tern_topo *whole = topology("mesh:8", NULL, 0);
    tern_topo *broken = topology("mesh:8", &cut, 1);

    tern_summary s = summarise(whole, TERN_PLAN_ALL_REDUCE, "two_shot", GIB);
    assert_true(s.busiest_bytes == GIB / 4);
    assert_int_equal(s.rounds, 2);
    assert_true(fabs(s.reached - 1) < 1e-9);
    s = summarise(whole, TERN_PLAN_ALL_REDUCE, "fused", GIB);
    assert_true(s.busiest_bytes == GIB / 4);
    assert_int_equal(s.reduces, 8);
    assert_int_equal(s.copies, 0);
    s = summarise(whole, TERN_PLAN_ALL_REDUCE, "one_shot", GIB);
    assert_true(s.busiest_bytes == GIB);

    s = summarise(broken, TERN_PLAN_ALL_REDUCE, "cut_small", GIB);
    assert_true(s.busiest_bytes == GIB);
    assert_int_equal(s.missing, 0);
    s = summarise(broken, TERN_PLAN_ALL_REDUCE, "cut_owners", GIB);
    assert_true(s.busiest_bytes == 2 * UINT64_C(178962432)); // S / 6 in whole 16 KiB, in and out
    assert_int_equal(s.rounds, 2);
    assert_int_equal(s.missing, 0);
    s = summarise(broken, TERN_PLAN_ALL_REDUCE, "cut_relay", GIB);
    assert_share(s.busiest_bytes, 4.0 / 15, 16 * 64);
    assert_int_equal(s.rounds, 4);
    assert_int_equal(s.missing, 0);
    s = summarise(broken, TERN_PLAN_ALL_REDUCE, "cut_optimal", GIB);
    assert_share(s.busiest_bytes, 7.0 / 27, 14 * 64);
    assert_true(s.reached > 0.99999 && s.reached <= 1);
    assert_true(s.mean_bytes > 0.99999 * (double)s.busiest_bytes); // all links busy alike
    assert_int_equal(s.rounds, 4);
    assert_int_equal(s.missing, 0);
    tern_topo_destroy(whole);
    tern_topo_destroy(broken);
}

// 756 and 852 moves of a unit are far fewer transfers, since the units of an owner are neighbours.
static void transfers_are_contiguous(void **state)
{
    const char *cut = "2-5";
    tern_topo *topo = topology("mesh:8", &cut, 1);
    tern_summary s = summarise(topo, TERN_PLAN_ALL_REDUCE, "cut_optimal", GIB);
    // Each of the 6 healthy ranks sums in two groups, the pair in one; 12 pushes carry two parts as
    // one.
    assert_int_equal(s.reduces, 6 * 2 + 2 + 12);
    assert_int_equal(s.copies, 296);
    s = summarise(topo, TERN_PLAN_ALL_REDUCE, "cut_relay", GIB);
    assert_int_equal(s.reduces, 6 * 3 + 2);
    assert_int_equal(s.copies, 272);
    tern_topo_destroy(topo);
}

// (b) 2/(n-2), (c) 2n/(n^2-4), (d) 2(n-1)/((n-2)(n+1)) at other rank counts.
static void shares_of_other_rank_counts(void **state)
{
    static const int counts[] = {4, 5, 6, 7, 9, 12, 16, 33};
    const char *cut = "1-3";
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char word[32];
        double n = counts[i];
        snprintf(word, sizeof word, "mesh:%d", counts[i]);
        tern_topo *topo = topology(word, &cut, 1);
        uint64_t lines = 64 * 4 * (uint64_t)counts[i];
        tern_summary s = summarise(topo, TERN_PLAN_ALL_REDUCE, "cut_owners", GIB);
        assert_share(s.busiest_bytes, 2 / (n - 2), 2 * 16384);
        s = summarise(topo, TERN_PLAN_ALL_REDUCE, "cut_relay", GIB);
        assert_share(s.busiest_bytes, 2 * n / (n * n - 4), lines);
        if (counts[i] >= 6) {
            s = summarise(topo, TERN_PLAN_ALL_REDUCE, "cut_optimal", GIB);
            assert_share(s.busiest_bytes, 2 * (n - 1) / ((n - 2) * (n + 1)), lines);
        }
        tern_topo_destroy(topo);
    }
}

// The optima of 8 ranks that are known, from the lower bound alone. In us at 1 GB/s: bytes / 1000.
static void bounds_of_8_ranks(void **state)
{
    static const struct {
        const char *cuts[6];
        double share;
    } rows[] = {
        {{NULL}, 1.0 / 4},
        {{"0-1"}, 7.0 / 27},
        {{"0-1", "2-3"}, 7.0 / 26},
        {{"0-1", "1-2", "0-2"}, 7.0 / 25},
        {{"0-1", "2-3", "4-5", "6-7"}, 7.0 / 24},
        {{"0-1", "0-2", "0-3", "0-4"}, 1.0 / 3},
        {{"0-1", "0-2", "0-3", "0-4", "0-5"}, 1.0 / 2},
        {{"0-1", "0-2", "0-3", "0-4", "0-5", "0-6"}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int count = 0;
        while (count < 6 && rows[i].cuts[count] != NULL) {
            count++;
        }
        tern_topo *topo = topology("mesh:8", rows[i].cuts, count);
        tern_link link;
        assert_true(tern_topo_link(topo, 0, 7, &link));
        tern_summary s = summarise(topo, TERN_PLAN_ALL_REDUCE, "tree", GIB);
        double wanted_us = rows[i].share * (double)GIB / (link.bandwidth_GBps * 1e3);
        if (fabs(s.bound_us - wanted_us) > 1e-6 * wanted_us) {
            fail_msg("%s: %.3f us instead of %.3f: %s", tern_topo_text(topo), s.bound_us, wanted_us,
                     s.bound_text);
        }
        tern_topo_destroy(topo);
    }
}

static void bounds_of_other_kinds(void **state)
{
    const char *cut = "0-1";
    tern_topo *whole = topology("mesh:8", NULL, 0);
    tern_topo *broken = topology("mesh:8", &cut, 1);
    tern_link link;
    assert_true(tern_topo_link(whole, 0, 7, &link));
    double gib_us = (double)GIB / (link.bandwidth_GBps * 1e3);

    tern_summary s = summarise(whole, TERN_PLAN_ALL_GATHER, "direct", GIB);
    assert_true(fabs(s.bound_us / gib_us - 1.0 / 8) < 1e-9 && fabs(s.reached - 1) < 1e-9);
    s = summarise(whole, TERN_PLAN_REDUCE_SCATTER, "direct", GIB);
    assert_true(fabs(s.bound_us / gib_us - 1.0 / 8) < 1e-9 && fabs(s.reached - 1) < 1e-9);
    s = summarise(whole, TERN_PLAN_ALL_TO_ALL, "direct", GIB);
    assert_true(fabs(s.bound_us / gib_us - 1.0 / 8) < 1e-9 && fabs(s.reached - 1) < 1e-9);
    s = summarise(whole, TERN_PLAN_BROADCAST, "direct", GIB);
    assert_true(fabs(s.bound_us / gib_us - 1.0 / 7) < 1e-9);
    s = summarise(broken, TERN_PLAN_ALL_GATHER, "ring", GIB);
    assert_true(fabs(s.bound_us / gib_us - 7.0 / 48) < 1e-9);
    s = summarise(broken, TERN_PLAN_REDUCE_SCATTER, "ring", GIB);
    assert_true(fabs(s.bound_us / gib_us - 7.0 / 48) < 1e-9);
    s = summarise(broken, TERN_PLAN_BROADCAST, "tree", GIB);
    assert_true(fabs(s.bound_us / gib_us - 1.0 / 6) < 1e-9);
    s = summarise(whole, TERN_PLAN_BARRIER, "direct", 0);
    assert_true(s.bound_us <= 0 && s.reached >= 1 && s.link_bytes == 0);
    tern_topo_destroy(whole);
    tern_topo_destroy(broken);
}

// What crosses the busiest link of 8 ranks, in parts of the size, and the ops; the root is rank 0.
static void costs_of_the_rooted_and_the_pulled(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *name;
        double share, bound;
        size_t copies, reduces, posts;
        int rounds;
        double scratch;
    } rows[] = {
        {TERN_PLAN_ALL_REDUCE, "staged", 2.0 / 8, 1.0 / 4, 56, 8, 112, 2, 1},
        {TERN_PLAN_ALL_GATHER, "pull", 1.0 / 8, 1.0 / 8, 64, 0, 56, 1, 0},
        {TERN_PLAN_ALL_TO_ALL, "pull", 1.0 / 8, 1.0 / 8, 64, 0, 56, 1, 0},
        {TERN_PLAN_BROADCAST, "fused", 2.0 / 8, 1.0 / 7, 8, 0, 56, 1, 0},
        {TERN_PLAN_REDUCE_TO_ROOT, "fused", 2.0 / 8, 1.0 / 7, 0, 8, 56, 1, 0},
        {TERN_PLAN_REDUCE_TO_ROOT, "pull", 1, 1.0 / 7, 0, 1, 7, 1, 0},
        {TERN_PLAN_REDUCE_TO_ROOT, "staged", 2.0 / 8, 1.0 / 7, 7, 8, 14, 2, 1},
        {TERN_PLAN_REDUCE_TO_ROOT, "tree", 1, 1.0 / 7, 0, 4, 10, 3, 1},
        {TERN_PLAN_GATHER, "direct", 1.0 / 8, 1.0 / 8, 8, 0, 7, 1, 0},
        {TERN_PLAN_GATHER, "pull", 1.0 / 8, 1.0 / 8, 8, 0, 7, 1, 0},
        {TERN_PLAN_SCATTER, "direct", 1.0 / 8, 1.0 / 8, 8, 0, 7, 1, 0},
        {TERN_PLAN_SCATTER, "push", 1.0 / 8, 1.0 / 8, 8, 0, 7, 1, 0},
    };
    tern_topo *topo = topology("mesh:8", NULL, 0);
    tern_link link;
    assert_true(tern_topo_link(topo, 0, 7, &link));
    double gib_us = (double)GIB / (link.bandwidth_GBps * 1e3);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_summary s = summarise(topo, rows[i].kind, rows[i].name, GIB);
        assert_true(s.busiest_bytes == (uint64_t)(rows[i].share * (double)GIB));
        assert_true(fabs(s.bound_us / gib_us - rows[i].bound) < 1e-9);
        assert_int_equal(s.copies, rows[i].copies);
        assert_int_equal(s.reduces, rows[i].reduces);
        assert_int_equal(s.posts, rows[i].posts);
        assert_int_equal(s.rounds, rows[i].rounds);
        assert_true(s.scratch_bytes == (uint64_t)(rows[i].scratch * (double)GIB));
    }
    tern_topo_destroy(topo);
}

// The bound of a root that has few links, for a plan made without regard to that.
static void bounds_of_a_poorly_linked_root(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *cuts[2]; // of the links of rank 0 among 5, one after the other
        double share[3];     // without a cut, with one, with both
    } rows[] = {
        // All but the root need to send it a sum of every byte over 4, 3, 2 links.
        {TERN_PLAN_REDUCE_TO_ROOT, {"1>0", "2>0"}, {1.0 / 4, 1.0 / 3, 1.0 / 2}},
        // What a rank sends out is a partial sum of every byte, by 4, 3, 2 links.
        {TERN_PLAN_REDUCE_TO_ROOT, {"3>1", "3>0"}, {1.0 / 4, 1.0 / 3, 1.0 / 2}},
        // 4 shares of 1/5 over 4, 3, 2 links.
        {TERN_PLAN_GATHER, {"1>0", "2>0"}, {1.0 / 5, 4.0 / 15, 2.0 / 5}},
        {TERN_PLAN_SCATTER, {"0>1", "0>4"}, {1.0 / 5, 4.0 / 15, 2.0 / 5}},
        // The wrong direction costs nothing.
        {TERN_PLAN_GATHER, {"0>1", "0>4"}, {1.0 / 5, 1.0 / 5, 1.0 / 5}},
        {TERN_PLAN_SCATTER, {"1>0", "2>0"}, {1.0 / 5, 1.0 / 5, 1.0 / 5}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_plan *plan;
        tern_summary s;
        tern_link link;
        tern_topo *topo = topology("mesh:5", NULL, 0);
        tern_algo_request request = {.kind = rows[i].kind,
                                     .topo = topo,
                                     .bytes = 5 << 20,
                                     .unit = 4};
        assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
        assert_true(tern_topo_link(topo, 3, 4, &link));
        double size_us = (double)request.bytes / (link.bandwidth_GBps * 1e3);
        for (int cuts = 0; cuts <= 2; cuts++) {
            if (cuts > 0) {
                assert_int_equal(tern_topo_cut(topo, rows[i].cuts[cuts - 1]), TERN_OK);
            }
            assert_int_equal(tern_summary_make(plan, topo, &s), TERN_OK);
            if (fabs(s.bound_us / size_us - rows[i].share[cuts]) > 1e-9) {
                fail_msg("row %zu with %d cuts: %.6f of the size instead of %.6f: %s", i, cuts,
                         s.bound_us / size_us, rows[i].share[cuts], s.bound_text);
            }
        }
        tern_plan_destroy(plan);
        tern_topo_destroy(topo);
    }
}

// No plan is better than what is claimed to be a bound, whatever is cut or slow.
static void no_plan_beats_its_bound(void **state)
{
    uint64_t random = 1;
    int compared = 0;
    for (int round = 0; round < 200; round++) {
        char text[32];
        int n = 2 + round % 6;
        snprintf(text, sizeof text, "mesh:%d", n);
        tern_topo *topo = topology(text, NULL, 0);
        for (int edit = 0; edit < round % 4; edit++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            int from = (int)((random >> 33) % (uint64_t)n);
            int to = (from + 1 + (int)((random >> 40) % (uint64_t)(n - 1))) % n;
            bool cut = (random >> 50) % 2 == 0;
            snprintf(text, sizeof text, cut ? "%d>%d" : "%d>%d=0.3", from, to);
            if (tern_topo_link(topo, from, to, NULL)) {
                assert_int_equal(cut ? tern_topo_cut(topo, text) : tern_topo_slow(topo, text),
                                 TERN_OK);
            }
        }
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            tern_algo_request request = {.kind = (tern_plan_kind)kind,
                                         .topo = topo,
                                         .bytes = kind == TERN_PLAN_BARRIER ? 0 : 840 * 4096,
                                         .unit = 4,
                                         .order = TERN_ORDER_ANY};
            request.root = kind_has_root(request.kind) ? round / 6 % n : 0;
            for (int i = 0; tern_algo_name(request.kind, i) != NULL; i++) {
                tern_plan *plan;
                tern_summary s;
                request.algorithm = tern_algo_name(request.kind, i);
                if (tern_algo_plan(&request, &plan) != TERN_OK) {
                    continue;
                }
                assert_int_equal(tern_summary_make(plan, topo, &s), TERN_OK);
                if (s.reached > 1 + 1e-6) {
                    fail_msg("%s %s over %s is better than %s", tern_plan_kind_name(request.kind),
                             request.algorithm, tern_topo_text(topo), s.bound_text);
                }
                compared++;
                tern_plan_destroy(plan);
            }
        }
        tern_topo_destroy(topo);
    }
    assert_true(compared > 2000);
}

static void summary_counts_missing_links_and_refuses(void **state)
{
    tern_plan *plan;
    tern_summary summary = {.rounds = 77};
    const char *cut = "0>1";
    tern_topo *whole = topology("mesh:4", NULL, 0);
    tern_topo *broken = topology("mesh:4", &cut, 1);
    tern_topo *other = topology("mesh:5", NULL, 0);
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = whole,
                                 .bytes = 4096,
                                 .unit = 4};
    request.algorithm = "fused";
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
    assert_int_equal(tern_summary_make(plan, other, &summary), TERN_ERR_ARG);
    assert_int_equal(tern_summary_make(NULL, whole, &summary), TERN_ERR_ARG);
    assert_int_equal(tern_summary_make(plan, whole, NULL), TERN_ERR_ARG);
    assert_int_equal(summary.rounds, 77);
    assert_int_equal(tern_summary_make(plan, broken, &summary), TERN_OK);
    assert_int_equal(summary.missing, 3); // a read, a write and a post
    assert_int_equal(summary.links, 11);
    assert_int_equal(tern_summary_make(plan, NULL, &summary), TERN_OK);
    assert_int_equal(summary.missing, 0);
    assert_true(summary.busiest_bytes == 2048 && fabs(summary.busiest_us - 2.048) < 1e-9);
    assert_true(summary.link_bytes == 12 * 2048 && fabs(summary.mean_bytes - 2048) < 1e-9);
    tern_plan_destroy(plan);
    tern_topo_destroy(whole);
    tern_topo_destroy(broken);
    tern_topo_destroy(other);
}

static void plans_for_256_ranks_are_quick(void **state)
{
    static const char *const names[] = {"fused", "two_shot",         "ring",
                                        "tree",  "halving_doubling", NULL};
    tern_topo *topo = topology("mesh:256", NULL, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tern_plan *plan;
        tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                     .topo = topo,
                                     .bytes = GIB,
                                     .unit = 4,
                                     .order = TERN_ORDER_ANY,
                                     .algorithm = names[i]};
        clock_t begin = clock();
        assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (seconds > 5) { // a sanitizer may take that; without one it is well below 1
            fail_msg("%s took %.2f s", names[i] != NULL ? names[i] : "picking", seconds);
        }
        assert_true(tern_plan_memory(plan) < 64u << 20);
        tern_plan_destroy(plan);
    }
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busiest_link_of_8_ranks),
        cmocka_unit_test(transfers_are_contiguous),
        cmocka_unit_test(shares_of_other_rank_counts),
        cmocka_unit_test(bounds_of_8_ranks),
        cmocka_unit_test(bounds_of_other_kinds),
        cmocka_unit_test(costs_of_the_rooted_and_the_pulled),
        cmocka_unit_test(bounds_of_a_poorly_linked_root),
        cmocka_unit_test(no_plan_beats_its_bound),
        cmocka_unit_test(plans_for_256_ranks_are_quick),
        cmocka_unit_test(summary_counts_missing_links_and_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
