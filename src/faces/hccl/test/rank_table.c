// SPDX-License-Identifier: Apache-2.0
// Communicators of rank tables: of one and several servers, one job after another at the same
// table; and tables that are refused, with line and column.
#include "support/cmocka.h"
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "faces/hccl/rank_table.h"
#include "hccl/hccl.h"
#include "support/folder.h"
#include "support/ranks.h"

static void write_file(const char *text)
{
    FILE *file = fopen(folder_file, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

// Ranks on servers, backwards; as text, without a number in a sentence of its own.
static void write_table(int ranks, int servers, int mark)
{
    char text[8192];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "{\"status\":\"completed\",\"version\":\"1.%d\",\"mark\":%d,\n"
                                 "\"server_count\":\"%d\",\"server_list\":[",
                                 servers > 1 ? 2 : 0, mark, servers);
    for (int s = 0; s < servers; s++) {
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "%s{\"host_nic_ip\":\"reserve\",\"device\":[", s > 0 ? ",\n" : "");
        int comma = 0;
        for (int rank = ranks - 1; rank >= 0; rank--) {
            if (rank % servers == s) {
                at += (size_t)snprintf(text + at, sizeof text - at,
                                       "%s{\"device_id\":\"%d\",\"device_ip\":\"10.0.0.%d\","
                                       "\"super_device_id\":[1,{\"a\":[]}],\"rank_id\":\"%d\"}",
                                       comma++ > 0 ? "," : "", rank / servers, rank, rank);
            }
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "],\"server_id\":\"server-%d\"}", s);
    }
    snprintf(text + at, sizeof text - at, "]}\n");
    write_file(text);
}

static int meet_at_table(int rank, const struct ranks *ranks, void *arg)
{
    for (int round = 0; round < 3; round++) { // one job after another
        HcclComm comm;
        HcclCommConfig config;
        uint32_t own = 99, size = 0;
        char name[COMM_NAME_MAX_LENGTH];
        HcclCommConfigInit(&config);
        snprintf(config.hcclCommName, sizeof config.hcclCommName, "mine");
        CHECK((round == 1
                   ? HcclCommInitClusterInfoConfig(folder_file, (uint32_t)rank, &config, &comm)
                   : HcclCommInitClusterInfo(folder_file, (uint32_t)rank, &comm)) == HCCL_SUCCESS);
        CHECK(HcclGetRankId(comm, &own) == HCCL_SUCCESS && (int)own == rank);
        CHECK(HcclGetRankSize(comm, &size) == HCCL_SUCCESS && (int)size == ranks->count);
        CHECK(HcclGetCommName(comm, name) == HCCL_SUCCESS);
        CHECK(strcmp(name, round == 1 ? "mine" : "hccl_world_group") == 0);
        CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
        CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
    return 0;
}

static void ranks_of_a_table_meet(void **state)
{
    int mark = (int)(tern__now_ns() % 1000000000); // other tests may have the same table now
    for (int i = 0; i < 5; i++) {
        for (int servers = 1; servers <= 3; servers++) {
            if (servers <= ranks_counts[i]) {
                write_table(ranks_counts[i], servers, mark);
                assert_true(ranks_run(ranks_counts[i], meet_at_table, NULL, 60));
            }
        }
    }
    unlink(folder_file);
}

static void the_rank_and_the_file_are_checked(void **state)
{
    HcclComm comm;
    write_table(2, 1, 0);
    assert_int_equal(HcclCommInitClusterInfo(folder_file, 2, &comm), HCCL_E_PARA);
    assert_non_null(strstr(tern_last_error(), "rank 2 of 2"));
    assert_int_equal(HcclCommInitClusterInfo(NULL, 0, &comm), HCCL_E_PTR);
    assert_int_equal(HcclCommInitClusterInfo(folder_file, 0, NULL), HCCL_E_PTR);
    unlink(folder_file);
    assert_int_equal(HcclCommInitClusterInfo(folder_file, 0, &comm), HCCL_E_OPEN_FILE_FAILURE);
    assert_non_null(strstr(tern_last_error(), folder_file));
    assert_int_equal(HcclCommInitClusterInfo("/", 0, &comm), HCCL_E_PARA);
}

#define SERVER(rest) "{\"server_id\":\"a\",\"device\":[" rest "]}"
#define DEVICE(device, rank) "{\"device_id\":" device ",\"rank_id\":" rank "}"
#define TABLE(rest) "{\"status\":\"completed\",\n\"server_list\":[" rest "]}"

static void damaged_tables_are_refused_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "t:1:1: a rank table must be an object, not the end of the file"},
        {"{\"version\":\"1.0\"}", "t:1:1: a rank table has no \"status\""},
        {"{\"status\":\"initializing\"}",
         "t:1:11: the table's status is \"initializing\"; it can be used when it is "},
        {"{\"status\":\"completed\",\"version\":\"2.0\"}", "t:1:33: version \"2.0\"; there are"},
        {"{\"status\":\"completed\",\"status\":\"completed\"}", "\"status\" is stated twice"},
        {TABLE(""), "t:1:1: the table has no server"},
        {TABLE("7"), "t:2:16: a server must be an object, not 7"},
        {TABLE("{}"), "t:2:16: a server has no \"server_id\""},
        {TABLE(SERVER("")), "t:2:16: this server has no device"},
        {TABLE(SERVER("{}")), "a device has no \"device_id\""},
        {TABLE(SERVER(DEVICE("\"0\"", "\"64\""))),
         "\"rank_id\" must be a number from 0 to 63, not \"64\""},
        {TABLE(SERVER(DEVICE("\"0\"", "true"))), "from 0 to 63, not true"},
        {TABLE(SERVER(DEVICE("\"0\"", "-1"))), "from 0 to 63, not -1"},
        {TABLE(SERVER(DEVICE("\"0\"", "\"\""))), "from 0 to 63, not \"\""},
        {TABLE(SERVER(DEVICE("\"x\"", "0"))), "\"device_id\" must be a number from 0 to 1048576"},
        {TABLE(SERVER(DEVICE("0", "1"))), "the table has 1 devices, but no rank 0"},
        {TABLE(SERVER(DEVICE("0", "0") "," DEVICE("1", "0"))), "rank 0 is stated twice"},
        {TABLE(SERVER(DEVICE("0", "0") "," DEVICE("0", "1"))),
         "device 0 of this server is of rank 0 already"},
        {TABLE(SERVER(DEVICE("0", "0")) "," SERVER(DEVICE("0", "1"))),
         "server \"a\" is stated twice"},
        {"{\"server_count\":\"2\","
         "\"status\":\"completed\",\"server_list\":[" SERVER(DEVICE("0", "0")) "]}",
         "t:1:17: \"server_count\" is 2, but \"server_list\" has 1 servers"},
        {TABLE(SERVER(DEVICE("0", "0"))) "x", "the file must end after its object"},
        {"{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
         "nested more than 64 deep"},
        {"{\"x\":[1,{\"y\" 2}]}", "':' expected after a name, found 2"},
        {"{\"x\":\"\\", "this string has no end"},
        {"{\"x\":[1 2]}", "',' or ']' expected after a value, found 2"},
    };
    static struct tern__hccl_table table;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int status = tern__hccl_table_read("t", wrong[i].text, strlen(wrong[i].text), &table);
        if (status != TERN_ERR_ARG || strstr(tern_last_error(), wrong[i].says) == NULL) {
            fail_msg("%s\ngives %d: %s\nnot: %s", wrong[i].text, status, tern_last_error(),
                     wrong[i].says);
        }
    }
}

static void every_beginning_of_a_table_is_refused(void **state)
{
    static const char whole[] = TABLE(
        "{\"x\":{\"y\":[true,\"a\\\"\"]},\"server_id\":\"a\",\"device\":[" DEVICE("0", "0") "]}");
    static struct tern__hccl_table table;
    assert_int_equal(tern__hccl_table_read("t", whole, sizeof whole - 1, &table), TERN_OK);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        char *text = strndup(whole, length);
        assert_int_equal(tern__hccl_table_read("t", text, length, &table), TERN_ERR_ARG);
        free(text);
    }
}

static bool has_no_addresses;

// In place of libc's.
__attribute__((visibility("default"))) int getifaddrs(struct ifaddrs **addresses)
{
    if (has_no_addresses) {
        errno = EMFILE;
        return -1;
    }
    void *real = dlsym(RTLD_NEXT, "getifaddrs");
    int (*call)(struct ifaddrs **);
    memcpy(&call, &real, sizeof call);
    return call(addresses);
}

// Where they meet: machines.c.
static void who_does_not_know_the_machines_is_told(void **state)
{
    HcclComm comm;
    write_file("{\"status\":\"completed\",\"server_list\":["
               "{\"server_id\":\"127.0.0.1\",\"device\":[{\"device_id\":\"0\",\"rank_id\":\"0\"}]},"
               "{\"server_id\":\"192.0.2.7\",\"device\":[{\"device_id\":\"0\",\"rank_id\":\"1\"}]}"
               "]}");
    has_no_addresses = true;
    assert_int_equal(HcclCommInitClusterInfo(folder_file, 0, &comm), HCCL_E_NETWORK);
    assert_non_null(strstr(tern_last_error(), "cannot be read (Too many open files), so nobody "
                                              "knows which of the 2 servers"));
    has_no_addresses = false;
    unlink(folder_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_table_meet),
        cmocka_unit_test(the_rank_and_the_file_are_checked),
        cmocka_unit_test(damaged_tables_are_refused_with_line_and_column),
        cmocka_unit_test(every_beginning_of_a_table_is_refused),
        cmocka_unit_test(who_does_not_know_the_machines_is_told),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
