// SPDX-License-Identifier: Apache-2.0
// Resources of topologies: what they are called, how fast they are, which links use which.
#include "support/cmocka.h"
#include <string.h>

#include "tern/topo.h"

static tern_topo *make(const char *word)
{
    tern_topo *topo = NULL;
    if (tern_topo_create(word, &topo) != TERN_OK) {
        fail_msg("%s: %s", word, tern_last_error());
    }
    return topo;
}

static void expect_resource(const tern_topo *topo, int index, const char *name, double GBps)
{
    tern_topo_resource resource;
    assert_true(tern_topo_get_resource(topo, index, &resource));
    assert_string_equal(resource.name, name);
    assert_true(resource.GBps == GBps);
}

static void expect_uses(const tern_topo *topo, int from, int to, int one, int other)
{
    int uses[TERN_TOPO_USES_MAX];
    assert_int_equal(tern_topo_uses(topo, from, to, uses), 2);
    assert_int_equal(uses[0], one);
    assert_int_equal(uses[1], other);
}

static void a_port_of_a_machine_is_two(void **state)
{
    tern_topo *topo = make("machines:1+2+3");
    assert_int_equal(tern_topo_resource_count(topo), 6);
    expect_resource(topo, 0, "a.out", 0.125);
    expect_resource(topo, 1, "a.in", 0.125);
    expect_resource(topo, 5, "c.in", 0.125);
    expect_uses(topo, 0, 1, 0, 3); // out of a, into b
    expect_uses(topo, 5, 1, 3, 4); // out of c, into b
    assert_int_equal(tern_topo_uses(topo, 1, 2, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, 1, 1, NULL), 0);
    assert_int_equal(tern_topo_cut(topo, "0>1"), TERN_OK);
    assert_int_equal(tern_topo_uses(topo, 0, 1, NULL), 0);
    expect_uses(topo, 1, 0, 1, 2);
    tern_topo_destroy(topo);
}

static void what_is_not_there_has_none(void **state)
{
    tern_topo *topo = make("mesh:4");
    assert_int_equal(tern_topo_resource_count(topo), 0);
    assert_false(tern_topo_get_resource(topo, 0, NULL));
    assert_int_equal(tern_topo_uses(topo, 0, 1, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, 0, 4, NULL), 0);
    assert_int_equal(tern_topo_uses(topo, -1, 0, NULL), 0);
    tern_topo_destroy(topo);
    assert_int_equal(tern_topo_resource_count(NULL), 0);
    assert_int_equal(tern_topo_uses(NULL, 0, 1, NULL), 0);
    topo = make("machines:2x2");
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
        cmocka_unit_test(what_is_not_there_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
