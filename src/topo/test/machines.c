// SPDX-License-Identifier: Apache-2.0
// Machines of topologies: from words and from files, with the links between them; and what is wrong
// with a file, at its line and column.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/topo.h"
#include "topo/topo.h"

#define A "{\"ranks\":[0,2],\"name\":\"a.1\",\"port_gbytes_per_s\":0.125,\"latency_us\":100}"
#define B "{\"ranks\":[1],\"port_gbytes_per_s\":1.25,\"latency_us\":50}"

static void expect_machine(const tern_topo *topo, int index, const char *name, int ranks,
                           double port, double latency)
{
    tern_topo_machine machine;
    assert_true(tern_topo_get_machine(topo, index, &machine));
    assert_string_equal(machine.name, name);
    assert_int_equal(machine.ranks, ranks);
    assert_true(machine.port_GBps == port && machine.latency_us == latency);
}

static void words_make_machines(void **state)
{
    tern_link link;
    tern_topo *topo = topo_make("machines:2x4");
    assert_int_equal(tern_topo_size(topo), 8);
    assert_int_equal(tern_topo_link_count(topo), 56);
    assert_int_equal(tern_topo_machine_count(topo), 2);
    expect_machine(topo, 0, "a", 4, 0.125, 100);
    expect_machine(topo, 1, "b", 4, 0.125, 100);
    assert_int_equal(tern_topo_machine_of(topo, 3), 0);
    assert_int_equal(tern_topo_machine_of(topo, 4), 1);
    assert_true(tern_topo_link(topo, 0, 3, &link));
    assert_true(link.bandwidth_GBps == 25 && link.latency_us == 2);
    assert_true(tern_topo_link(topo, 7, 3, &link));
    assert_true(link.bandwidth_GBps == 0.125 && link.latency_us == 100);
    assert_string_equal(tern_topo_text(topo), "machines:2x4");
    tern_topo_destroy(topo);

    topo = topo_make("machines:2+3+1");
    assert_int_equal(tern_topo_size(topo), 6);
    assert_int_equal(tern_topo_machine_count(topo), 3);
    expect_machine(topo, 1, "b", 3, 0.125, 100);
    expect_machine(topo, 2, "c", 1, 0.125, 100);
    assert_int_equal(tern_topo_machine_rank(topo, 1, 2), 4);
    assert_int_equal(tern_topo_machine_rank(topo, 1, 3), -1);
    assert_int_equal(tern_topo_machine_rank(topo, 2, 0), 5);
    assert_false(tern_topo_get_machine(topo, 3, NULL));
    assert_false(tern_topo_get_machine(topo, -1, NULL));
    assert_int_equal(tern_topo_machine_of(topo, 6), -1);
    tern_topo_destroy(topo);

    topo = topo_make("machines:65536x1");
    tern_topo_machine machine;
    assert_true(tern_topo_get_machine(topo, 65535, &machine));
    assert_string_equal(machine.name, "m65535");
    assert_int_equal(tern_topo_machine_rank(topo, 65535, 0), 65535);
    tern_topo_destroy(topo);

    topo = topo_make("mesh:4"); // says nothing of machines
    assert_int_equal(tern_topo_machine_count(topo), 0);
    assert_int_equal(tern_topo_machine_of(topo, 0), -1);
    assert_int_equal(tern_topo_machine_rank(topo, 0, 0), -1);
    assert_int_equal(tern_topo_machine_count(NULL), 0);
    tern_topo_destroy(topo);
}

static void damaged_words_are_refused(void **state)
{
    static const char *const bad[] = {"machines:",     "machines:2x",   "machines:2x3x4",
                                      "machines:1+",   "machines:1+x",  "machines:x2",
                                      "machines:2 x2", "machines:1+2x", "machines:+1"};
    tern_topo *topo = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tern_topo_create(bad[i], &topo), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "as in machines:2x4 (2 machines of 4 ranks)"));
    }
    static const char *const none[] = {"machines:0x2", "machines:2x0", "machines:0", "machines:1+0",
                                       "machines:0+1"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(tern_topo_create(none[i], &topo), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "has no ranks"));
    }
    assert_int_equal(tern_topo_create("machines:2x32769", &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "has too many ranks"));
    assert_int_equal(tern_topo_create("machines:65000+537", &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "has too many ranks"));
    assert_null(topo);
}

static void many_machines_of_different_sizes_find_their_ranks(void **state)
{
    // 1, 2, 3, 1, 2, 3, ...: 1000 of each.
    char *word = malloc(3000 * 2 + 16);
    int used = sprintf(word, "machines:1");
    for (int m = 1; m < 3000; m++) {
        used += sprintf(word + used, "+%d", m % 3 + 1);
    }
    tern_topo *topo = topo_make(word);
    free(word);
    assert_int_equal(tern_topo_size(topo), 6000);
    assert_int_equal(tern_topo_machine_count(topo), 3000);
    for (int rank = 0; rank < 6000; rank++) {
        int in = rank % 6;
        int m = rank / 6 * 3 + (in > 2 ? 2 : in > 0 ? 1 : 0);
        assert_int_equal(tern_topo_machine_of(topo, rank), m);
        assert_int_equal(tern_topo_machine_rank(topo, m,
                                                in > 2   ? in - 3
                                                : in > 0 ? in - 1
                                                         : 0),
                         rank);
    }
    tern_topo_destroy(topo);
}

static int parse(const char *text, tern_topo **topo)
{
    *topo = NULL;
    return tern__topo_from_json("t.json", text, strlen(text), topo);
}

static void a_file_states_machines(void **state)
{
    tern_topo *topo;
    tern_link link;
    const char *text = "{\"machines\":[" A ",\n" B "],\"ranks\":3,\"links\":["
                       "{\"from\":0,\"to\":1,\"bandwidth_GBps\":0.1,\"latency_us\":7}]}";
    if (parse(text, &topo) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    expect_machine(topo, 0, "a.1", 2, 0.125, 100);
    expect_machine(topo, 1, "b", 1, 1.25, 50);
    assert_int_equal(tern_topo_machine_rank(topo, 0, 1), 2);
    // What is stated stays; between machines the rest is added, inside nothing is.
    assert_true(tern_topo_link(topo, 0, 1, &link));
    assert_true(link.bandwidth_GBps == 0.1 && link.latency_us == 7);
    assert_true(tern_topo_link(topo, 1, 0, &link));
    assert_true(link.bandwidth_GBps == 0.125 && link.latency_us == 100);
    assert_false(tern_topo_link(topo, 0, 2, NULL));
    assert_int_equal(tern_topo_link_count(topo), 4);
    tern_topo_destroy(topo);
}

static void wrong_machines_are_refused_at_their_place(void **state)
{
    static const struct {
        const char *machines, *sentence;
    } bad[] = {
        {"{}", "t.json:2:12: \"machines\" must be an array of machines, not an object"},
        {"[]", "t.json:2:12: there must be a machine"},
        {"[3]", "t.json:2:13: a machine must be an object, not 3"},
        {"[{}]", "t.json:2:13: a machine has no \"ranks\""},
        {"[{\"ranks\":[0],\"latency_us\":1}]",
         "t.json:2:13: a machine has no \"port_gbytes_per_s\""},
        {"[{\"ranks\":[0],\"port_gbytes_per_s\":1}]",
         "t.json:2:13: a machine has no \"latency_us\""},
        {"[{\"ranks\":[],\"port_gbytes_per_s\":1,\"latency_us\":1}]",
         "t.json:2:13: machine a has no ranks"},
        {"[{\"ranks\":[0,1,\n0]}]", "t.json:3:1: rank 0 is on a machine already, number 1 of them"},
        {"[" A ",\n{\"ranks\":[2]}]",
         "t.json:3:11: rank 2 is on a machine already, number 1 of them"},
        {"[" A "]", "t.json:2:12: rank 1 is on no machine; every rank must be on one"},
        {"[" A "," B ",{\"ranks\":[3],\"port_gbytes_per_s\":1,\"latency_us\":1}]",
         "t.json:2:150: rank 3: \"ranks\" is 3, so ranks are 0 to 2"},
        {"[{\"ranks\":[1024]}]",
         "t.json:2:23: \"a rank of a machine\" must be a whole number from 0 to 1023, not 1024"},
        {"[{\"port_gbytes_per_s\":0}]",
         "t.json:2:34: \"port_gbytes_per_s\" must be a number from 1e-06 to 1e+09, not 0"},
        {"[{\"latency_us\":-1}]",
         "t.json:2:27: \"latency_us\" must be a number from 0 to 1e+09, not -1"},
        {"[{\"name\":\"\"}]", "t.json:2:21: \"name\" must be letters, digits, '_', '.' and '-'"},
        {"[{\"name\":\"a b\"}]", "t.json:2:21: \"name\" must be letters, digits, '_', '.' and '-'"},
        {"[{\"name\":\"abcdefghijklmnopqrstuvwxyz0123456789\"}]",
         "t.json:2:21: \"name\" has 36 bytes; there may be 31"},
        {"[" A ",{\"ranks\":[1],\"name\":\"a.1\",\"port_gbytes_per_s\":1,\"latency_us\":1}]",
         "t.json:2:85: two machines have the name a.1"},
        {"[{\"port_gbps\":1}]",
         "t.json:2:14: \"port_gbps\" is no field of a machine; there are ranks, name, "
         "port_gbytes_per_s, latency_us"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[512];
        tern_topo *topo;
        snprintf(text, sizeof text, "{\"ranks\":3,\"links\":[],\n\"machines\":%s}",
                 bad[i].machines);
        int status = parse(text, &topo);
        if (status != TERN_ERR_ARG || strcmp(tern_last_error(), bad[i].sentence) != 0) {
            fail_msg("%s: %s, \"%s\" is not \"%s\"", text, tern_status_name(status),
                     tern_last_error(), bad[i].sentence);
        }
        assert_null(topo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_make_machines),
        cmocka_unit_test(many_machines_of_different_sizes_find_their_ranks),
        cmocka_unit_test(damaged_words_are_refused),
        cmocka_unit_test(a_file_states_machines),
        cmocka_unit_test(wrong_machines_are_refused_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
