// SPDX-License-Identifier: Apache-2.0
// Resources of topology files: which links use which, in the order they are stated; and what is
// wrong with a file, at its line and column.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/topo.h"
#include "topo/topo.h"

#define LINK(from, to, more)                                                                       \
    "{\"from\":" #from ",\"to\":" #to ",\"bandwidth_GBps\":10,\"latency_us\":1" more "}"
#define BUS "{\"name\":\"bus\",\"bandwidth_GBps\":12.5}"
#define WIRE "{\"name\":\"wire.2\",\"bandwidth_GBps\":3}"
#define MACHINES                                                                                   \
    "\"machines\":[{\"ranks\":[0,1],\"port_gbytes_per_s\":2,\"latency_us\":9},"                    \
    "{\"ranks\":[2],\"port_gbytes_per_s\":4,\"latency_us\":5}]"

static int parse(const char *text, tern_topo **topo)
{
    *topo = NULL;
    return tern__topo_from_json("t.json", text, strlen(text), topo);
}

static tern_topo *must_parse(const char *text)
{
    tern_topo *topo;
    if (parse(text, &topo) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return topo;
}

static void links_use_what_is_stated_before_or_after(void **state)
{
    tern_topo *topo = must_parse(
        "{\"links\":[" LINK(0, 1, ",\"both\":true,\"uses\":[\"wire.2\",\"bus\"]") "," LINK(
            1, 2, ",\"uses\":[\"bus\"]") "," LINK(2, 1,
                                                  ",\"uses\":[]") "],"
                                                                  "\"ranks\":3,\"resources\":[" BUS
                                                                  "," WIRE "]}");
    int uses[TERN_TOPO_USES_MAX];
    assert_int_equal(tern_topo_resource_count(topo), 2);
    topo_expect_resource(topo, 0, "bus", 12.5);
    topo_expect_resource(topo, 1, "wire.2", 3);
    for (int from = 0; from < 2; from++) {
        assert_int_equal(tern_topo_uses(topo, from, 1 - from, uses), 2);
        assert_int_equal(uses[0], 0);
        assert_int_equal(uses[1], 1);
    }
    assert_int_equal(tern_topo_uses(topo, 1, 2, uses), 1);
    assert_int_equal(uses[0], 0);
    assert_int_equal(tern_topo_uses(topo, 2, 1, uses), 0);
    assert_int_equal(tern_topo_uses(topo, 0, 2, uses), 0);
    assert_int_equal(tern_topo_slow(topo, "bus=0.5"), TERN_OK);
    topo_expect_resource(topo, 0, "bus", 6.25);
    assert_string_equal(tern_topo_text(topo), "t.json --slow bus=0.5");
    tern_topo_destroy(topo);
}

static void ports_of_machines_come_first(void **state)
{
    tern_topo *topo = must_parse("{\"resources\":[" BUS "," WIRE "],\"ranks\":3,\"links\":[" LINK(
        0, 2, ",\"uses\":[\"wire.2\",\"bus\"]") "," LINK(0, 1, ",\"uses\":[\"bus\"]") "]," MACHINES
                                                                                      "}");
    static const int expected[] = {0, 3, 4, 5};
    int uses[TERN_TOPO_USES_MAX];
    assert_int_equal(tern_topo_resource_count(topo), 6);
    topo_expect_resource(topo, 0, "a.out", 2);
    topo_expect_resource(topo, 3, "b.in", 4);
    topo_expect_resource(topo, 5, "wire.2", 3);
    assert_int_equal(tern_topo_uses(topo, 0, 2, uses), 4);
    assert_memory_equal(uses, expected, sizeof expected);
    assert_int_equal(tern_topo_uses(topo, 2, 0, uses), 2); // not stated: the ports alone
    assert_int_equal(uses[0], 2);
    assert_int_equal(uses[1], 1);
    assert_int_equal(tern_topo_uses(topo, 0, 1, uses), 1);
    assert_int_equal(uses[0], 4);
    tern_topo_destroy(topo);
}

static void many_resources_are_found(void **state)
{
    char *text = malloc(4200 * 200);
    int used = sprintf(text, "{\"ranks\":128,\"links\":[");
    for (int i = 0; i < 4096; i++) {
        used += sprintf(
            text + used,
            "%s{\"from\":%d,\"to\":%d,\"bandwidth_GBps\":1,\"latency_us\":0,\"uses\":[\"r%d\"]}",
            i > 0 ? "," : "", i / 64, 64 + i % 64, i);
    }
    used += sprintf(text + used, "],\"resources\":[");
    for (int i = 4095; i >= 0; i--) {
        used += sprintf(text + used, "{\"name\":\"r%d\",\"bandwidth_GBps\":%d}%s", i, i + 1,
                        i > 0 ? "," : "");
    }
    int end = used;
    sprintf(text + used, "]}");
    tern_topo *topo = must_parse(text);
    assert_int_equal(tern_topo_resource_count(topo), 4096);
    for (int i = 0; i < 4096; i++) {
        int uses[TERN_TOPO_USES_MAX];
        tern_topo_resource resource;
        assert_int_equal(tern_topo_uses(topo, i / 64, 64 + i % 64, uses), 1);
        assert_true(tern_topo_get_resource(topo, uses[0], &resource));
        assert_true(resource.GBps == i + 1);
    }
    tern_topo_destroy(topo);
    sprintf(text + end, ",{\"name\":\"more\",\"bandwidth_GBps\":1}]}");
    assert_int_equal(parse(text, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there are more than 4096 resources"));
    free(text);
}

static void wrong_resources_are_refused_at_their_place(void **state)
{
    static const struct {
        const char *rest, *sentence;
    } bad[] = {
        {"\"resources\":{}",
         "t.json:2:13: \"resources\" must be an array of resources, not an object"},
        {"\"resources\":[1]", "t.json:2:14: a resource must be an object, not 1"},
        {"\"resources\":[{\"name\":\"x\"}]", "t.json:2:14: a resource has no \"bandwidth_GBps\""},
        {"\"resources\":[{\"bandwidth_GBps\":1}]", "t.json:2:14: a resource has no \"name\""},
        {"\"resources\":[" BUS "," BUS "]", "t.json:2:51: two resources have the name bus"},
        {"\"resources\":[{\"name\":\"2x\"}]", "t.json:2:22: \"name\" must begin with a letter"},
        {"\"resources\":[{\"name\":\"\"}]",
         "t.json:2:22: \"name\" must be letters, digits, '_', '.' and '-'"},
        {"\"resources\":[{\"name\":\"a=b\"}]",
         "t.json:2:22: \"name\" must be letters, digits, '_', '.' and '-'"},
        {"\"resources\":[{\"bandwidth_GBps\":0}]",
         "t.json:2:32: \"bandwidth_GBps\" must be a number from 1e-06 to 1e+09, not 0"},
        {"\"resources\":[{\"bandwidth_GBps\":1e10}]",
         "t.json:2:32: \"bandwidth_GBps\" must be a number from 1e-06 to 1e+09, not 1e10"},
        {"\"resources\":[{\"bandwidth_GBps\":-1}]",
         "t.json:2:32: \"bandwidth_GBps\" must be a number from 1e-06 to 1e+09, not -1"},
        {"\"resources\":[{\"bandwidth_gbps\":1}]",
         "t.json:2:15: \"bandwidth_gbps\" is no field of a resource; there are name, bandwidth_GBps; "
         "bandwidths are in GB/s, 10^9 bytes per second, not in gigabits"},
        {"\"links\":[" LINK(0, 1, ",\"uses\":\"bus\"") "]",
         "t.json:2:69: \"uses\" must be an array of names, not a string"},
        {"\"links\":[" LINK(0, 1, ",\"uses\":[7]") "]",
         "t.json:2:70: \"a name of uses\" must be a string, not 7"},
        {"\"links\":[" LINK(0, 1, ",\"uses\":[\"bus\"]") "]",
         "t.json:2:70: \"resources\" has none with the name bus"},
        {"\"links\":[" LINK(0, 1, ",\"uses\":[\"bus\",\"bus\"]") "]",
         "t.json:2:76: \"uses\" has bus twice"},
        {"\"links\":[" LINK(0, 1, ",\"uses\":[\"a\",\"b\",\"c\",\"d\",\"e\"]") "]",
         "t.json:2:86: a link uses more than 4 resources"},
        {"\"resources\":[{\"name\":\"b.in\",\"bandwidth_GBps\":1}]," MACHINES,
         "t.json:2:14: b.in is the name of the port of machine b"},
        {"\"resources\":[" BUS "," WIRE ",{\"name\":\"c\",\"bandwidth_GBps\":1}],\"links\":[" LINK(
             0, 2, ",\"uses\":[\"bus\",\"c\",\"wire.2\"]") "]," MACHINES,
         "link 0>2 uses 3 resources and the ports of two machines; there may be 4 in all"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[1024];
        tern_topo *topo;
        bool links = strstr(bad[i].rest, "\"links\"") != NULL;
        snprintf(text, sizeof text, "{\"ranks\":3%s,\n%s}", links ? "" : ",\"links\":[]",
                 bad[i].rest);
        int status = parse(text, &topo);
        if (status != TERN_ERR_ARG || strstr(tern_last_error(), bad[i].sentence) == NULL) {
            fail_msg("%s: %s, \"%s\" is not \"%s\"", text, tern_status_name(status),
                     tern_last_error(), bad[i].sentence);
        }
        assert_null(topo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_use_what_is_stated_before_or_after),
        cmocka_unit_test(ports_of_machines_come_first),
        cmocka_unit_test(many_resources_are_found),
        cmocka_unit_test(wrong_resources_are_refused_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
