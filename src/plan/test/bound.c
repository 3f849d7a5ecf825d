// SPDX-License-Identifier: Apache-2.0
// Lower bounds where links share resources, in parts of size / bandwidth of a link; what the
// busiest resource of a plan takes; and that machines have the figures they always had.
#include "support/cmocka.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/topo.h"
#include "plan/bound.h"
#include "tern/algo.h"
#include "topo/topo.h"

#define SIZE (UINT64_C(1) << 20)

static void change(tern_topo *topo, const char *changes)
{
    char copy[128];
    char *save = NULL;
    snprintf(copy, sizeof copy, "%s", changes);
    for (char *one = strtok_r(copy, " ", &save); one != NULL; one = strtok_r(NULL, " ", &save)) {
        int status =
            strchr(one, '=') != NULL ? tern_topo_slow(topo, one) : tern_topo_cut(topo, one);
        if (status != TERN_OK) {
            fail_msg("%s: %s", one, tern_last_error());
        }
    }
}

static tern_topo *make(const char *word, const char *changes)
{
    tern_topo *topo = topo_make(word);
    change(topo, changes);
    return topo;
}

static void expect_bound(const tern_topo *topo, tern_plan_kind kind, double GBps, double share,
                         const char *text)
{
    struct tern__bound bound;
    tern_plan_spec spec = {.kind = kind, .nranks = tern_topo_size(topo), .bytes = SIZE, .unit = 1};
    assert_int_equal(tern__bound_find(&spec, topo, &bound), TERN_OK);
    double reached = bound.us * GBps * 1e3 / (double)SIZE;
    if (!(fabs(reached - share) < 1e-9) || strstr(bound.text, text) == NULL) {
        fail_msg("%s of %s: %.9g is not %.9g; %s", tern_plan_kind_name(kind), tern_topo_text(topo),
                 reached, share, bound.text);
    }
}

static void bounds_know_what_links_share(void **state)
{
    static const struct {
        const char *word, *changes;
        tern_plan_kind kind;
        double share; // of size / 25 GB/s
        const char *text;
    } rows[] = {
        {"mesh:8", "0-1", TERN_PLAN_ALL_REDUCE, 7.0 / 27,
         "all ranks apart: 14 crossings of all bytes share 54 links"},
        {"switch:8", "", TERN_PLAN_ALL_REDUCE, 7.0 / 4,
         "all ranks apart: 14 crossings of all bytes share 8 resources"},
        {"switch:8", "", TERN_PLAN_ALL_TO_ALL, 7.0 / 8, "share 8 resources"},
        {"switch:8", "", TERN_PLAN_ALL_GATHER, 7.0 / 8, "share 8 resources"},
        {"switch:8", "", TERN_PLAN_BROADCAST, 1,
         "must leave {0}, which has 7 links out over 1 res"},
        {"switch:8", "rank3.in=0.5", TERN_PLAN_ALL_GATHER, 7.0 / 4, "must leave {0,1,2,4,5,6,7}"},
        {"switch:32", "", TERN_PLAN_ALL_REDUCE, 31.0 / 16, "share 32 resources"},
        {"hosts:2x4@25", "", TERN_PLAN_ALL_REDUCE, 1, "all parts without shared links apart: 2 cr"},
        {"hosts:2x4@25", "", TERN_PLAN_ALL_GATHER, 0.5, "all parts without shared links apart"},
        {"hosts:2x4@25", "", TERN_PLAN_ALL_TO_ALL, 2, ""},
        {"hosts:2x4@25", "", TERN_PLAN_BROADCAST, 1,
         "must leave {0,1,2,3}, which has 16 links out "},
        {"hosts:2x4@25", "host0.out=0.5", TERN_PLAN_ALL_REDUCE, 2,
         "must leave {0,1,2,3}, which has 16 links out over 1 resource"},
        {"hosts:2x4@25", "host1.in=0.25", TERN_PLAN_ALL_REDUCE, 4, "must leave {0,1,2,3}"},
        {"hosts:4x8@25", "", TERN_PLAN_ALL_REDUCE, 1.5, "6 crossings of all bytes share 4 resou"},
        {"hosts:4x8@25", "host2.in=0.1", TERN_PLAN_ALL_REDUCE, 10, "must leave {0-15,24-31}"},
        {"hosts:16x4@25", "", TERN_PLAN_ALL_REDUCE, 1.875, "30 crossings of all bytes share 16 r"},
        {"hosts:2x4@1000", "", TERN_PLAN_ALL_REDUCE, 14.0 / 104, "share 24 links and 2 resources"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_topo *topo = make(rows[i].word, rows[i].changes);
        expect_bound(topo, rows[i].kind, 25, rows[i].share, rows[i].text);
        tern_topo_destroy(topo);
    }
}

static void a_bound_knows_a_bus_of_a_file(void **state)
{
    static const char text[] =
        "{\"ranks\":3,\"resources\":[{\"name\":\"bus\",\"bandwidth_GBps\":16}],\"links\":["
        "{\"from\":0,\"to\":1,\"bandwidth_GBps\":12,\"latency_us\":1,\"uses\":[\"bus\"]},"
        "{\"from\":0,\"to\":2,\"bandwidth_GBps\":12,\"latency_us\":1,\"uses\":[\"bus\"]},"
        "{\"from\":1,\"to\":2,\"bandwidth_GBps\":99,\"latency_us\":1,\"both\":true}]}";
    tern_topo *topo = NULL;
    assert_int_equal(tern__topo_from_json("bus.json", text, sizeof text - 1, &topo), TERN_OK);
    expect_bound(topo, TERN_PLAN_BROADCAST, 16, 1, "1 crossings of all bytes share 1 resources");
    tern_topo_destroy(topo);
}

static void what_cannot_be_done_takes_for_ever(void **state)
{
    static const char text[] = "{\"ranks\":2,\"links\":[{\"from\":0,\"to\":1,\"bandwidth_GBps\":12,"
                               "\"latency_us\":1}]}";
    tern_topo *topo = NULL;
    tern_plan *plan = NULL;
    struct tern__bound bound;
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE, .nranks = 2, .bytes = SIZE, .unit = 1};
    assert_int_equal(tern__topo_from_json("half.json", text, sizeof text - 1, &topo), TERN_OK);
    assert_int_equal(tern__bound_find(&spec, topo, &bound), TERN_OK);
    assert_true(isinf(bound.us));
    assert_string_equal(bound.text, "1048576 bytes must leave {1}, which has 0 links out");
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = SIZE,
                                 .unit = 4};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "fits half.json: "));
    tern_topo_destroy(topo);
}

static void summarise(const char *word, tern_plan_kind kind, const char *algorithm, uint64_t bytes,
                      tern_summary *summary)
{
    tern_topo *topo = make(word, "");
    tern_plan *plan = NULL;
    tern_algo_request request = {.kind = kind,
                                 .topo = topo,
                                 .bytes = bytes,
                                 .unit = 4,
                                 .order = TERN_ORDER_ANY,
                                 .algorithm = algorithm};
    if (tern_algo_plan(&request, &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_int_equal(tern_summary_make(plan, topo, summary), TERN_OK);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static void the_busiest_resource_decides(void **state)
{
    tern_summary s;
    summarise("switch:8", TERN_PLAN_ALL_GATHER, "direct", SIZE, &s);
    assert_int_equal(s.resources, 16);
    assert_true(s.busiest_resource.bytes == SIZE / 8 * 7);
    assert_true(fabs(s.busiest_resource.us - (double)SIZE / 8 * 7 / 25e3) < 1e-6);
    assert_true(fabs(s.reached - 1) < 1e-9);
    assert_true(s.estimate_us >= s.busiest_resource.us);
    assert_string_equal(s.busiest_resource.name, "rank0.out");
    // The same without the switch takes an eighth.
    summarise("mesh:8", TERN_PLAN_ALL_GATHER, "direct", SIZE, &s);
    assert_int_equal(s.resources, 0);
    assert_true(fabs(s.busiest_us - (double)SIZE / 8 / 25e3) < 1e-6);
}

// As they were when machines' ports were counted on their own.
static void machines_have_the_figures_they_had(void **state)
{
    static const struct {
        const char *word;
        tern_plan_kind kind;
        const char *algorithm;
        uint64_t out, in; // of the busiest port
        double us, bound_us, reached, estimate_us;
        const char *text;
    } rows[] = {
        {"machines:4x2", TERN_PLAN_ALL_REDUCE, "chain", 30670848, 30670848, 245366.78400000001,
         184025.08800000002, 0.75, 262686.56960000005,
         "all machines apart: 6 crossings of all bytes share 4 ports"},
        {"machines:3x2", TERN_PLAN_ALL_GATHER, "one", 10223616, 10223616, 81788.928, 81788.928, 1,
         82146.928, "all machines apart: 2 crossings of all bytes share 3 ports"},
        {"machines:1+2+3", TERN_PLAN_ALL_TO_ALL, "one", 23003136, 23003136, 184025.08800000002,
         184025.08800000002, 1, 184141.08800000002,
         "23003136 bytes must go into the machines {c} by their ports"},
        {"machines:1+2+3", TERN_PLAN_BROADCAST, "chain", 15335424, 0, 122683.39200000001,
         122683.39200000001, 1, 129179.5616,
         "15335424 bytes must go out of the machines {a} by their ports"},
        {"machines:2x3", TERN_PLAN_REDUCE_SCATTER, "chain", 15335424, 7667712, 122683.39200000001,
         61341.696000000004, 0.5, 127005.24800000001,
         "all machines apart: 1 crossings of all bytes share 2 ports"},
        {"machines:3x3", TERN_PLAN_GATHER, "one", 0, 10223616, 81788.928, 81788.928, 1,
         81891.594666666671, "10223616 bytes must go into the machines {a} by their ports"},
        {"machines:1+3", TERN_PLAN_SCATTER, "one", 11501568, 0, 92012.544000000009,
         92012.544000000009, 1, 92116.544000000009,
         "11501568 bytes must go out of the machines {a} by their ports"},
        {"machines:2x3", TERN_PLAN_REDUCE_TO_ROOT, "chain", 15335424, 15335424, 122683.39200000001,
         122683.39200000001, 1, 129257.5616,
         "15335424 bytes must go out of the machines {b} by their ports"},
        {"machines:13x2", TERN_PLAN_ALL_GATHER, "one", 14155776, 14155776, 113246.208,
         113246.20800000001, 1.0000000000000002, 114884.208,
         "all machines apart: 12 crossings of all bytes share 13 ports"},
        {"machines:2x4", TERN_PLAN_ALL_REDUCE, "chain", 15335424, 15335424, 122683.39200000001,
         122683.39200000001, 1, 130809.10400000001,
         "all machines apart: 2 crossings of all bytes share 2 ports"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_summary s;
        summarise(rows[i].word, rows[i].kind, rows[i].algorithm, UINT64_C(936) << 14, &s);
        if (s.busiest_port.out_bytes != rows[i].out || s.busiest_port.in_bytes != rows[i].in ||
            !(fabs(s.busiest_port.us / rows[i].us - 1) < 1e-9) ||
            !(fabs(s.bound_us / rows[i].bound_us - 1) < 1e-9) ||
            !(fabs(s.reached / rows[i].reached - 1) < 1e-6) ||
            !(fabs(s.estimate_us / rows[i].estimate_us - 1) < 1e-9) ||
            strcmp(s.bound_text, rows[i].text) != 0) {
            fail_msg("%s %s of %s: out %llu, in %llu, %.17g us, bound %.17g us, reached %.17g, "
                     "estimate %.17g us, %s",
                     tern_plan_kind_name(rows[i].kind), rows[i].algorithm, rows[i].word,
                     (unsigned long long)s.busiest_port.out_bytes,
                     (unsigned long long)s.busiest_port.in_bytes, s.busiest_port.us, s.bound_us,
                     s.reached, s.estimate_us, s.bound_text);
        }
    }
}

static void what_is_too_large_for_plans_is_refused(void **state)
{
    tern_topo *topo = make("switch:2048", "");
    tern_plan *plan = NULL;
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 1 << 20,
                                 .unit = 4};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_LIMIT);
    assert_non_null(strstr(tern_last_error(), "a plan has 1 to 1024 ranks, not 2048"));
    assert_null(plan);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_know_what_links_share),
        cmocka_unit_test(a_bound_knows_a_bus_of_a_file),
        cmocka_unit_test(what_cannot_be_done_takes_for_ever),
        cmocka_unit_test(the_busiest_resource_decides),
        cmocka_unit_test(machines_have_the_figures_they_had),
        cmocka_unit_test(what_is_too_large_for_plans_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
