// SPDX-License-Identifier: Apache-2.0
// Topology files: exactly the schema of docs/topology.md is read, everything else is refused at its
// line and column.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/topo.h"

#define LINK "{\"from\":0,\"to\":1,\"bandwidth_GBps\":18.3,\"latency_us\":2}"

static tern_topo *parse(const char *text)
{
    tern_topo *topo = NULL;
    if (tern__topo_from_json("t.json", text, strlen(text), &topo) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return topo;
}

static void expect_refused_bytes(const char *text, size_t size, const char *sentence)
{
    tern_topo *topo = NULL;
    int status = tern__topo_from_json("t.json", text, size, &topo);
    if (status != TERN_ERR_ARG || topo != NULL) {
        fail_msg("%s gives %s", text, tern_status_name(status));
    }
    if (strcmp(tern_last_error(), sentence) != 0) {
        fail_msg("%s:\n\"%s\" is not\n\"%s\"", text, tern_last_error(), sentence);
    }
}

static void expect_refused(const char *text, const char *sentence)
{
    expect_refused_bytes(text, strlen(text), sentence);
}

static void a_file_states_ranks_and_links(void **state)
{
    tern_topo *topo =
        parse(" {\t\"ranks\" : 3 ,\r\n"
              "  \"links\" : [\n"
              "   { \"from\": 0, \"to\": 1, \"bandwidth_GBps\": 18.3, "
              "\"latency_us\": 2, \"both\": true },\n"
              "   { \"both\": false, \"latency_us\": 1.5e1, \"bandwidth_GBps\": 1E-1, "
              "\"to\": 0, \"from\": 2 }\n"
              "  ] }\n");
    assert_int_equal(tern_topo_size(topo), 3);
    assert_int_equal(tern_topo_link_count(topo), 3);
    tern_link link;
    assert_true(tern_topo_link(topo, 0, 1, &link));
    assert_true(link.bandwidth_GBps == 18.3 && link.latency_us == 2);
    assert_true(tern_topo_link(topo, 1, 0, &link));
    assert_true(link.bandwidth_GBps == 18.3 && link.latency_us == 2);
    assert_true(tern_topo_link(topo, 2, 0, &link));
    assert_true(link.bandwidth_GBps == 0.1 && link.latency_us == 15);
    assert_false(tern_topo_link(topo, 0, 2, NULL));
    assert_string_equal(tern_topo_text(topo), "t.json");
    tern_topo_destroy(topo);
}

static void links_may_come_before_ranks_and_be_none(void **state)
{
    tern_topo *topo = parse("{\"links\":[" LINK "],\"ranks\":2}");
    assert_int_equal(tern_topo_link_count(topo), 1);
    tern_topo_destroy(topo);
    topo = parse("{\"links\":[],\"ranks\":1024}");
    assert_int_equal(tern_topo_size(topo), 1024);
    assert_int_equal(tern_topo_link_count(topo), 0);
    tern_topo_destroy(topo);
}

static void damaged_json_is_refused(void **state)
{
    expect_refused("", "t.json:1:1: the file must be an object, not the end of the file");
    expect_refused("[]", "t.json:1:1: the file must be an object, not an array");
    expect_refused("\n\n  null", "t.json:3:3: the file must be an object, not null");
    expect_refused("\xef\xbb\xbf{}", "t.json:1:1: the file must be an object, not byte 0xef");
    expect_refused("{", "t.json:1:2: '\"' expected before a name, found the end of the file");
    expect_refused("{ranks:1}", "t.json:1:2: '\"' expected before a name, found 'r'");
    expect_refused("{\"ranks\" 1}", "t.json:1:10: ':' expected after a name, found 1");
    expect_refused("{\"ranks\":1 \"links\":[]}",
                   "t.json:1:12: ',' or '}' expected after a value, found a string");
    expect_refused("{\"ranks\":1,}", "t.json:1:12: '\"' expected before a name, found '}'");
    expect_refused("{\"ranks\":1,\"links\":[],}",
                   "t.json:1:23: '\"' expected before a name, found '}'");
    expect_refused("{\"ranks\":2,\"links\":[" LINK ",]}",
                   "t.json:1:76: a link must be an object, not ']'");
    expect_refused("{\"ranks\":2,\"links\":[" LINK "}",
                   "t.json:1:75: ',' or ']' expected after a link, found '}'");
    expect_refused("{\"ranks\":2,\"links\":[" LINK,
                   "t.json:1:75: ',' or ']' expected after a link, found the end of the file");
    expect_refused("{\"ranks\":1,\"links\":[]",
                   "t.json:1:22: ',' or '}' expected after a value, found the end of the file");
    expect_refused("{\"ran", "t.json:1:6: the text ends in the middle of a name");
}

static void what_follows_the_object_is_refused(void **state)
{
    expect_refused("{\"ranks\":1,\"links\":[]} {}",
                   "t.json:1:24: the file must end after its object, but there is an object");
    expect_refused("{\"ranks\":1,\"links\":[]}\n// end",
                   "t.json:2:1: the file must end after its object, but there is '/'");
    static const char zero[] = "{\"ranks\":1,\"links\":[]}\0";
    expect_refused_bytes(zero, sizeof zero - 1,
                         "t.json:1:23: the file must end after its object, but there is byte 0x00");
    static const char inside[] = "{\0\"ranks\":1,\"links\":[]}";
    expect_refused_bytes(inside, sizeof inside - 1,
                         "t.json:1:2: '\"' expected before a name, found byte 0x00");
}

static void deep_nesting_is_refused_where_it_begins(void **state)
{
    char *deep = malloc(1000001);
    memset(deep, '[', 1000000);
    deep[1000000] = '\0';
    expect_refused(deep, "t.json:1:1: the file must be an object, not an array");
    memcpy(deep, "{\"links\":[{\"to\":", 16);
    expect_refused(deep, "t.json:1:17: \"to\" must be a whole number from 0 to 1023, not an array");
    free(deep);
}

static void ranks_must_be_a_whole_number_from_1_to_1024(void **state)
{
    static const struct {
        const char *value;
        const char *found;
    } bad[] = {{"0", "0"},
               {"1025", "1025"},
               {"-8", "-8"},
               {"8.0", "8.0"},
               {"1e1", "1e1"},
               {"08", "08"},
               {"\"8\"", "a string"},
               {"true", "true"},
               {"null", "null"},
               {"[8]", "an array"},
               {"{}", "an object"},
               {"4294967304", "4294967304"},
               {"99999999999999999999999999", "99999999999999999999..."}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        char sentence[160];
        snprintf(text, sizeof text, "{\"links\":[],\n\"ranks\":%s}", bad[i].value);
        snprintf(sentence, sizeof sentence,
                 "t.json:2:9: \"ranks\" must be a whole number from 1 to 1024, not %s",
                 bad[i].found);
        expect_refused(text, sentence);
    }
}

static void fields_of_a_link_have_their_types_and_ranges(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *right;
        const char *found;
    } bad[] = {
        {"from", "-1", "a whole number from 0 to 1023", "-1"},
        {"from", "1024", "a whole number from 0 to 1023", "1024"},
        {"to", "1.5", "a whole number from 0 to 1023", "1.5"},
        {"to", "\"1\"", "a whole number from 0 to 1023", "a string"},
        {"bandwidth_GBps", "0", "a number from 1e-06 to 1e+09", "0"},
        {"bandwidth_GBps", "-5", "a number from 1e-06 to 1e+09", "-5"},
        {"bandwidth_GBps", "1e400", "a number from 1e-06 to 1e+09", "1e400"},
        {"bandwidth_GBps", "1e-400", "a number from 1e-06 to 1e+09", "1e-400"},
        {"bandwidth_GBps", "NaN", "a number from 1e-06 to 1e+09", "'N'"},
        {"bandwidth_GBps", "Infinity", "a number from 1e-06 to 1e+09", "'I'"},
        {"bandwidth_GBps", "\"18\"", "a number from 1e-06 to 1e+09", "a string"},
        {"bandwidth_GBps", "18.", "a number from 1e-06 to 1e+09", "18."},
        {"bandwidth_GBps", "{}", "a number from 1e-06 to 1e+09", "an object"},
        {"latency_us", "-0.1", "a number from 0 to 1e+09", "-0.1"},
        {"latency_us", "1e10", "a number from 0 to 1e+09", "1e10"},
        {"latency_us", "null", "a number from 0 to 1e+09", "null"},
        {"both", "1", "true or false", "1"},
        {"both", "\"true\"", "true or false", "a string"},
        {"both", "tru", "true or false", "'t'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        char sentence[160];
        int column = 15 + (int)strlen(bad[i].name);
        snprintf(text, sizeof text, "{\"links\": [{\"%s\":%s", bad[i].name, bad[i].value);
        snprintf(sentence, sizeof sentence, "t.json:1:%d: \"%s\" must be %s, not %s", column + 1,
                 bad[i].name, bad[i].right, bad[i].found);
        expect_refused(text, sentence);
    }
    expect_refused("{\"ranks\":1,\"links\":7}",
                   "t.json:1:20: \"links\" must be an array of links, not 7");
    expect_refused("{\"ranks\":1,\"links\":[7]}", "t.json:1:21: a link must be an object, not 7");
}

static void missing_fields_are_named(void **state)
{
    expect_refused("{}", "t.json:1:1: the file has no \"ranks\"");
    expect_refused(" {\"ranks\":1}", "t.json:1:2: the file has no \"links\"");
    expect_refused("{\"links\":[]}", "t.json:1:1: the file has no \"ranks\"");
    expect_refused("{\"links\":[\n {}]}", "t.json:2:2: a link has no \"from\"");
    expect_refused("{\"links\":[{\"from\":0}]}", "t.json:1:11: a link has no \"to\"");
    expect_refused("{\"links\":[{\"from\":0,\"to\":1,\"latency_us\":1}]}",
                   "t.json:1:11: a link has no \"bandwidth_GBps\"");
    expect_refused("{\"links\":[{\"from\":0,\"to\":1,\"bandwidth_GBps\":1}]}",
                   "t.json:1:11: a link has no \"latency_us\"");
}

static void duplicate_and_unknown_fields_are_refused(void **state)
{
    expect_refused("{\"ranks\":1,\"ranks\":1,\"links\":[]}",
                   "t.json:1:12: \"ranks\" is stated twice");
    expect_refused("{\"", "t.json:1:3: the text ends in the middle of a name");
    expect_refused("{\"links\":[{\"to\":0, \"to\":1}]}", "t.json:1:20: \"to\" is stated twice");
    expect_refused(
        "{\"rank\":1}",
        "t.json:1:2: \"rank\" is no field of the file; there are ranks, links, machines, resources");
    expect_refused(
        "{\"Ranks\":1}",
        "t.json:1:2: \"Ranks\" is no field of the file; there are ranks, links, machines, resources");
    expect_refused(
        "{\"\":1}",
        "t.json:1:2: \"\" is no field of the file; there are ranks, links, machines, resources");
    expect_refused(
        "{\"r\\u0061nks\":1}",
        "t.json:1:2: \"r\" is no field of the file; there are ranks, links, machines, resources");
    expect_refused(
        "{\"links\":[{\"via\":1}]}",
        "t.json:1:12: \"via\" is no field of a link; there are from, to, bandwidth_GBps, "
        "latency_us, both, uses");
}

static void links_must_exist_once_between_existing_ranks(void **state)
{
    expect_refused("{\"links\":[\n" LINK "],\"ranks\":1}",
                   "t.json:2:1: link 0>1: \"ranks\" is 1, so ranks are 0 to 0");
    expect_refused("{\"ranks\":2,\"links\":[" LINK ",\n  " LINK "]}",
                   "t.json:2:3: link 0>1 is stated twice");
    expect_refused("{\"ranks\":2,\"links\":[" LINK ",\n"
                   "{\"from\":1,\"to\":0,\"bandwidth_GBps\":1,\"latency_us\":1,\"both\":true}]}",
                   "t.json:2:1: link 0>1 is stated twice");
    expect_refused("{\"ranks\":2,\"links\":[\n"
                   "{\"from\":1,\"to\":1,\"bandwidth_GBps\":1,\"latency_us\":1}]}",
                   "t.json:2:1: a rank needs no link to itself (1>1)");
}

static void files_are_read_whole_and_told_as_a_shell_wants_them(void **state)
{
    char folder[] = "topoXXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/it's 1.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"ranks\":2,\"links\":[" LINK "]", file);
    for (int i = 0; i < 20000; i++) { // several times the reader's first buffer
        fputc('\n', file);
    }
    fputc('}', file);
    assert_int_equal(fclose(file), 0);
    tern_topo *topo = NULL;
    assert_int_equal(tern_topo_create(path, &topo), TERN_OK);
    assert_int_equal(tern_topo_size(topo), 2);
    char text[96];
    snprintf(text, sizeof text, "'%s/it'\\''s 1.json' --cut '0>1'", folder);
    assert_int_equal(tern_topo_cut(topo, "0>1"), TERN_OK);
    assert_string_equal(tern_topo_text(topo), text);
    tern_topo_destroy(topo);

    topo = NULL;
    unlink(path);
    assert_int_equal(tern_topo_create(path, &topo), TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "cannot open the topology topo"));
    assert_non_null(strstr(tern_last_error(), "No such file"));
    char sub[64];
    snprintf(sub, sizeof sub, "%s.json", folder);
    assert_int_equal(rename(folder, sub), 0);
    assert_int_equal(tern_topo_create(sub, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "is a folder, not a file"));
    assert_null(topo);
    rmdir(sub);
}

static void a_file_may_be_as_large_as_the_limit_and_no_larger(void **state)
{
    char path[] = "largeXXXXXX.json";
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, TERN_TOPO_FILE_BYTES_MAX), 0); // a hole: no bytes on the disk
    tern_topo *topo = NULL;
    assert_int_equal(tern_topo_create(path, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), ":1:1: the file must be an object, not byte 0x00"));
    assert_int_equal(ftruncate(file, TERN_TOPO_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(tern_topo_create(path, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "is too long: more than 134217728 bytes"));
    assert_null(topo);
    close(file);
    unlink(path);
}

static void a_bandwidth_in_gigabits_is_refused(void **state)
{
    expect_refused(
        "{\"ranks\":2,\"links\":[{\"from\":0,\"to\":1,\"bandwidth_gbps\":18,"
        "\"latency_us\":2}]}",
        "t.json:1:38: \"bandwidth_gbps\" is no field of a link; there are from, to, "
        "bandwidth_GBps, latency_us, both, uses; bandwidths are in GB/s, 10^9 bytes per second, "
        "not in gigabits");
}

static void what_is_no_file_is_refused_at_once(void **state)
{
    char link[] = "endlessXXXXXX.json";
    assert_true(mkstemps(link, 5) >= 0);
    unlink(link);
    assert_int_equal(symlink("/dev/zero", link), 0);
    tern_topo *topo = NULL;
    assert_int_equal(tern_topo_create(link, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "is a device, not a file"));
    assert_null(topo);
    unlink(link);
    char pipe[] = "pipeXXXXXX.json";
    assert_true(mkstemps(pipe, 5) >= 0);
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(tern_topo_create(pipe, &topo), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "is a pipe, not a file"));
    unlink(pipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_states_ranks_and_links),
        cmocka_unit_test(links_may_come_before_ranks_and_be_none),
        cmocka_unit_test(damaged_json_is_refused),
        cmocka_unit_test(what_follows_the_object_is_refused),
        cmocka_unit_test(deep_nesting_is_refused_where_it_begins),
        cmocka_unit_test(ranks_must_be_a_whole_number_from_1_to_1024),
        cmocka_unit_test(fields_of_a_link_have_their_types_and_ranges),
        cmocka_unit_test(missing_fields_are_named),
        cmocka_unit_test(duplicate_and_unknown_fields_are_refused),
        cmocka_unit_test(links_must_exist_once_between_existing_ranks),
        cmocka_unit_test(files_are_read_whole_and_told_as_a_shell_wants_them),
        cmocka_unit_test(a_file_may_be_as_large_as_the_limit_and_no_larger),
        cmocka_unit_test(a_bandwidth_in_gigabits_is_refused),
        cmocka_unit_test(what_is_no_file_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
