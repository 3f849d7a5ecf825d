// SPDX-License-Identifier: Apache-2.0
// HCCL's environment: the deadline, words that there are not, and one line for what has no meaning.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "faces/hccl/environment.h"
#include "faces/hccl/state.h"
#include "hccl/hccl.h"
#include "support/folder.h"
#include "support/ranks.h"

static HcclResult join(uint32_t rank, uint32_t size, HcclComm *comm)
{
    HcclRootInfo info;
    HcclResult result = HcclGetRootInfo(&info);
    return result == HCCL_SUCCESS ? HcclCommInitRootInfo(size, &info, rank, comm) : result;
}

static int wrong_words(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm;
    CHECK(setenv("HCCL_DETERMINISTIC", "maybe", 1) == 0);
    CHECK(join(0, 1, &comm) == HCCL_E_PARA);
    CHECK(strstr(tern_last_error(), "HCCL_DETERMINISTIC is 'maybe'; there are: false true strict"));
    static const char *const wrong[] = {"tru", "rue", "false true", " ", "ue st"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(setenv("HCCL_DETERMINISTIC", wrong[i], 1) == 0);
        CHECK(join(0, 1, &comm) == HCCL_E_PARA);
    }
    CHECK(setenv("HCCL_DETERMINISTIC", "", 1) == 0); // as if it were not set
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "", 1) == 0);
    CHECK(join(0, 1, &comm) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    CHECK(setenv("HCCL_DETERMINISTIC", "strict", 1) == 0);
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "soon", 1) == 0);
    CHECK(join(0, 1, &comm) == HCCL_E_PARA);
    CHECK(strstr(tern_last_error(), "HCCL_EXEC_TIMEOUT is 'soon'; it must be a number of seconds"));
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "0", 1) == 0);
    CHECK(join(0, 1, &comm) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    static const char *const not_to_connect[] = {"0", "7201", "-1", "120 s"};
    for (size_t i = 0; i < sizeof not_to_connect / sizeof not_to_connect[0]; i++) {
        CHECK(setenv("HCCL_CONNECT_TIMEOUT", not_to_connect[i], 1) == 0);
        CHECK(join(0, 1, &comm) == HCCL_E_PARA);
        CHECK(strstr(tern_last_error(), not_to_connect[i]) &&
              strstr(tern_last_error(), "it must be a number of seconds from 1 to 7200"));
    }
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "7200", 1) == 0);
    CHECK(setenv("TERN_TIMEOUT", "later", 1) == 0);
    CHECK(join(0, 1, &comm) == HCCL_E_PARA && strstr(tern_last_error(), "TERN_TIMEOUT is 'later'"));
    return 0;
}

static int64_t wait_of(HcclComm comm)
{
    return ((struct hccl *)comm)->comm->group.job->timeout_ns;
}

// Which deadline is whose, and whose are the defaults.
static int whose(int rank, const struct ranks *ranks, void *arg)
{
    const int64_t second = INT64_C(1000000000);
    struct tern__deadlines deadlines;
    HcclComm comm;
    CHECK(unsetenv("TERN_TIMEOUT") == 0);
    CHECK(tern__hccl_environment("here", &deadlines) == HCCL_SUCCESS);
    CHECK(deadlines.start_ns == 120 * second && deadlines.waits_ns == 60 * second);
    CHECK(setenv("TERN_TIMEOUT", "5", 1) == 0);
    CHECK(tern__hccl_environment("here", &deadlines) == HCCL_SUCCESS);
    CHECK(deadlines.start_ns == 5 * second && deadlines.waits_ns == 5 * second);
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "7", 1) == 0);
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "9", 1) == 0);
    CHECK(tern__hccl_environment("here", &deadlines) == HCCL_SUCCESS);
    CHECK(deadlines.start_ns == 7 * second && deadlines.waits_ns == 9 * second);
    CHECK(join(0, 1, &comm) == HCCL_SUCCESS && wait_of(comm) == 9 * second);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static int deadline(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm;
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "1", 1) == 0);
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "0", 1) == 0);
    CHECK(join(0, 2, &comm) == HCCL_E_TIMEOUT); // rank 1 never comes
    return 0;
}

// Rank 0 waits for longer than tern would by itself, in the start, and with 0 in a call.
static int no_deadline(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm;
    CHECK(setenv("TERN_TIMEOUT", rank == 0 ? "0.2" : "30", 1) == 0);
    CHECK(setenv("HCCL_CONNECT_TIMEOUT", "30", 1) == 0);
    CHECK(setenv("HCCL_EXEC_TIMEOUT", "0", 1) == 0);
    if (rank == 1) {
        usleep(600000);
    }
    CHECK(HcclCommInitRootInfo(2, arg, (uint32_t)rank, &comm) == HCCL_SUCCESS);
    if (rank == 1) {
        usleep(600000);
    }
    CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
    CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
    return 0;
}

static int one_line(int rank, const struct ranks *ranks, void *arg)
{
    HcclComm comm;
    char text[4096];
    CHECK(setenv("TERN_LOG", "warn", 1) == 0);
    CHECK(setenv("HCCL_ALGO", "level0:NA;level1:ring", 1) == 0);
    CHECK(setenv("HCCL_SOCKET_IFNAME", "=eth0", 1) == 0);
    CHECK(setenv("HCCL_DETERMINISTIC", "true", 1) == 0);
    CHECK(freopen(folder_file, "w", stderr) != NULL);
    for (int round = 0; round < 2; round++) {
        CHECK(join(0, 1, &comm) == HCCL_SUCCESS && HcclCommDestroy(comm) == HCCL_SUCCESS);
    }
    fflush(stderr);
    FILE *file = fopen(folder_file, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *line = strstr(text, "HCCL: set, but without a meaning here: "
                                    "HCCL_ALGO (here TERN_ALGO), HCCL_SOCKET_IFNAME\n");
    return line != NULL && strstr(line + 1, "HCCL_SOCKET_IFNAME\n") != NULL &&
                   strstr(line + 1, "HCCL: set") == NULL
               ? 0
               : 1;
}

static void words_that_there_are_not_are_refused(void **state)
{
    assert_true(ranks_run(1, wrong_words, NULL, 60));
}

static void start_and_calls_have_the_deadlines_of_the_environment(void **state)
{
    HcclRootInfo info;
    assert_true(ranks_run(1, whose, NULL, 30));
    assert_true(ranks_run(1, deadline, NULL, 30));
    assert_int_equal(HcclGetRootInfo(&info), HCCL_SUCCESS);
    assert_true(ranks_run(2, no_deadline, &info, 60));
}

static void what_means_nothing_is_named_in_one_line(void **state)
{
    assert_true(ranks_run(1, one_line, NULL, 60));
    unlink(folder_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_there_are_not_are_refused),
        cmocka_unit_test(start_and_calls_have_the_deadlines_of_the_environment),
        cmocka_unit_test(what_means_nothing_is_named_in_one_line),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
