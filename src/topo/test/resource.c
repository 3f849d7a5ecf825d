// SPDX-License-Identifier: Apache-2.0
// Resources of topologies: what they are called, how fast they are, which links use which.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "support/topo.h"
#include "tern/topo.h"

static void expect_uses(const tern_topo *topo, int from, int to, int one, int other)
{
    int uses[TERN_TOPO_USES_MAX];
    assert_int_equal(tern_topo_uses(topo, from, to, uses), 2);
    assert_int_equal(uses[0], one);
    assert_int_equal(uses[1], other);
}

static void a_port_of_a_machine_is_two(void **state)
{
    tern_topo *topo = topo_make("machines:1+2+3");
    assert_int_equal(tern_topo_resource_count(topo), 6);
    topo_expect_resource(topo, 0, "a.out", 0.125);
    topo_expect_resource(topo, 1, "a.in", 0.125);
    topo_expect_resource(topo, 5, "c.in", 0.125);
    expect_uses(topo, 0, 1, 0, 3); // out of a, into b
    expect_uses(topo, 5, 1, 4, 3); // out of c, into b
    assert_int_equal(tern_topo_uses(topo, 1, 2, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, 1, 1, NULL), 0);
    assert_int_equal(tern_topo_cut(topo, "0>1"), TERN_OK);
    assert_int_equal(tern_topo_uses(topo, 0, 1, NULL), 0);
    expect_uses(topo, 1, 0, 2, 1);
    tern_topo_destroy(topo);
}

static void a_rank_at_a_switch_has_a_port(void **state)
{
    tern_topo *topo = topo_make("switch:3");
    assert_int_equal(tern_topo_link_count(topo), 6);
    assert_int_equal(tern_topo_resource_count(topo), 6);
    topo_expect_resource(topo, 0, "rank0.out", 25);
    topo_expect_resource(topo, 5, "rank2.in", 25);
    expect_uses(topo, 0, 2, 0, 5);
    expect_uses(topo, 2, 0, 4, 1);
    assert_int_equal(tern_topo_machine_count(topo), 0);
    tern_topo_destroy(topo);
}

static void hosts_share_what_the_word_says(void **state)
{
    tern_topo *topo = topo_make("hosts:3x2@12.5");
    tern_link link;
    assert_int_equal(tern_topo_resource_count(topo), 6);
    topo_expect_resource(topo, 2, "host1.out", 12.5);
    topo_expect_resource(topo, 3, "host1.in", 12.5);
    expect_uses(topo, 1, 4, 0, 5);
    expect_uses(topo, 5, 2, 4, 3);
    assert_int_equal(tern_topo_uses(topo, 2, 3, NULL), 0);
    assert_true(tern_topo_link(topo, 1, 4, &link));
    assert_true(link.bandwidth_GBps == 12.5 && link.latency_us == 8);
    assert_true(tern_topo_link(topo, 4, 5, &link));
    assert_true(link.bandwidth_GBps == 25 && link.latency_us == 2);
    assert_string_equal(tern_topo_text(topo), "hosts:3x2@12.5");
    tern_topo_destroy(topo);
    topo = topo_make("hosts:3x2");
    assert_int_equal(tern_topo_resource_count(topo), 0);
    tern_topo_destroy(topo);
}

static void a_preset_has_ports_inside_and_between(void **state)
{
    tern_topo *topo = topo_make("h100-4x8");
    assert_int_equal(tern_topo_resource_count(topo), 128);
    topo_expect_resource(topo, 15, "rank7.in", 450);
    topo_expect_resource(topo, 64, "nic0.out", 50);
    topo_expect_resource(topo, 127, "nic31.in", 50);
    expect_uses(topo, 1, 7, 2, 15);
    expect_uses(topo, 1, 8, 66, 81);
    tern_topo_destroy(topo);
}

static void a_slow_resource_is_told_and_made_again(void **state)
{
    tern_topo *topo = topo_make("machines:2x2");
    tern_topo_machine machine;
    assert_int_equal(tern_topo_slow(topo, "b.in=0.25"), TERN_OK);
    assert_int_equal(tern_topo_slow(topo, "a.out=0.5"), TERN_OK);
    assert_int_equal(tern_topo_slow(topo, "0-2=0.5"), TERN_OK);
    assert_int_equal(tern_topo_slow(topo, "b.in=2"), TERN_OK);
    topo_expect_resource(topo, 0, "a.out", 0.0625);
    topo_expect_resource(topo, 1, "a.in", 0.125);
    topo_expect_resource(topo, 3, "b.in", 0.0625);
    assert_true(tern_topo_get_machine(topo, 1, &machine));
    assert_true(machine.port_GBps == 0.0625); // of its two directions the slower one
    const char *text = "machines:2x2 --slow 0-2=0.5 --slow a.out=0.5 --slow b.in=0.5";
    assert_string_equal(tern_topo_text(topo), text);
    assert_int_equal(tern_topo_slow(topo, "b.in=2"), TERN_OK); // undone
    assert_string_equal(tern_topo_text(topo), "machines:2x2 --slow 0-2=0.5 --slow a.out=0.5");
    tern_topo_destroy(topo);
}

static void expect_refused(tern_topo *topo, int (*change)(tern_topo *, const char *),
                           const char *what, const char *sentence)
{
    char before[256];
    snprintf(before, sizeof before, "%s", tern_topo_text(topo));
    if (change(topo, what) != TERN_ERR_ARG || strstr(tern_last_error(), sentence) == NULL) {
        fail_msg("%s: %s", what, tern_last_error());
    }
    assert_string_equal(tern_topo_text(topo), before);
}

static void wrong_changes_of_resources_are_refused(void **state)
{
    tern_topo *topo = topo_make("switch:2");
    expect_refused(topo, tern_topo_cut, "rank0.out",
                   "'rank0.out' is a resource; it can be slowed, and links that use it cut");
    expect_refused(topo, tern_topo_slow, "rank2.out=0.5", "and rank0.out=0.5 that of a resource");
    expect_refused(topo, tern_topo_slow, "rank0=0.5", "'rank0=0.5' is no link to slow");
    expect_refused(topo, tern_topo_slow, "rank0.out", "is no link to slow");
    expect_refused(topo, tern_topo_slow, "rank0.out=0.5 ", "is no link to slow");
    expect_refused(topo, tern_topo_slow, "rank0.out=0", "the factor must be from 1e-06 to 1e+06");
    expect_refused(topo, tern_topo_slow, "rank0.out=1e7", "the factor must be from 1e-06");
    assert_int_equal(tern_topo_slow(topo, "rank0.out=1e-6"), TERN_OK);
    expect_refused(topo, tern_topo_slow, "rank0.out=0.5", "would be changed by 5e-07 in all");
    topo_expect_resource(topo, 0, "rank0.out", 25 * 1e-6);
    tern_topo_destroy(topo);
}

static void what_is_not_there_has_none(void **state)
{
    tern_topo *topo = topo_make("mesh:4");
    assert_int_equal(tern_topo_resource_count(topo), 0);
    assert_false(tern_topo_get_resource(topo, 0, NULL));
    assert_int_equal(tern_topo_uses(topo, 0, 1, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, 0, 4, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, -1, 0, NULL), 0);
    tern_topo_destroy(topo);
    assert_int_equal(tern_topo_resource_count(NULL), 0);
    assert_int_equal(tern_topo_uses(NULL, 0, 1, NULL), 0);
    topo = topo_make("machines:2x2");
    assert_false(tern_topo_get_resource(topo, 4, NULL));
    assert_false(tern_topo_get_resource(topo, -1, NULL));
    assert_true(tern_topo_get_resource(topo, 3, NULL));
    assert_int_equal(tern_topo_uses(topo, 0, 3, NULL), 2);
    assert_int_equal(tern_topo_uses(topo, 0, 4, NULL), 0);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_of_a_machine_is_two),
        cmocka_unit_test(a_rank_at_a_switch_has_a_port),
        cmocka_unit_test(hosts_share_what_the_word_says),
        cmocka_unit_test(a_preset_has_ports_inside_and_between),
        cmocka_unit_test(a_slow_resource_is_told_and_made_again),
        cmocka_unit_test(wrong_changes_of_resources_are_refused),
        cmocka_unit_test(what_is_not_there_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
