// SPDX-License-Identifier: Apache-2.0
// Executors that are right become plans that are proved; those that are wrong in one way are
// refused with the sentence that says in which, and whatever they do, this process goes on.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "tern/check.h"
#include "tern/record.h"

#define LIBRARY TERN_TEST_KERNEL_DIR "/executors.so"

static tern_record_request request_of(const char *executor, const tern_topo *topo)
{
    return (tern_record_request){.library = LIBRARY,
                                 .executor = executor,
                                 .kind = TERN_PLAN_ALL_REDUCE,
                                 .bytes = 4096,
                                 .unit = 4,
                                 .topo = topo,
                                 .ccl_bytes = 8192};
}

static void becomes_a_plan_of(tern_plan_kind kind)
{
    static const char *const words[] = {"mesh:2", "mesh:3", "mesh:5", "mesh:8"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tern_topo *topo;
        tern_plan *plan;
        tern_check *check;
        assert_int_equal(tern_topo_create(words[i], &topo), TERN_OK);
        tern_record_request request = request_of("NONE", topo);
        request.kind = kind;
        request.bytes = 4 * 120; // shares of all these numbers of ranks
        int status = tern_record_plan(&request, &plan);
        assert_string_equal(status == TERN_OK ? "" : tern_last_error(), "");
        assert_string_equal(tern_plan_get_spec(plan)->algorithm, "NONE");
        assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH), 2 * 8192);
        assert_int_equal(tern_plan_lane_count(plan, 1), 2);
        assert_true(tern_plan_round_count(plan) >= tern_topo_size(topo) - 1);
        assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
        assert_true(tern_check_proved(check));
        assert_int_equal(tern_check_sum_order(check), kind == TERN_PLAN_ALL_REDUCE
                                                          ? TERN_CHECK_ORDER_ANY
                                                          : TERN_CHECK_ORDER_NONE);
        tern_check_destroy(check);
        tern_plan_destroy(plan);
        tern_topo_destroy(topo);
    }
}

static void becomes_a_plan(void **state)
{
    becomes_a_plan_of(TERN_PLAN_ALL_REDUCE);
    becomes_a_plan_of(TERN_PLAN_ALL_GATHER);
}

// What it has started does not keep the recording waiting, and does not answer, too; and the tasks
// of its streams come in any order.
static void is_as_right(void **state)
{
    static const char *const names[] = {"FORKS", "TWICE", "BACKWARDS"};
    tern_topo *topo;
    assert_int_equal(tern_topo_create("mesh:3", &topo), TERN_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tern_plan *plan;
        tern_record_request request = request_of(names[i], topo);
        int status = tern_record_plan(&request, &plan);
        assert_string_equal(status == TERN_OK ? "" : tern_last_error(), "");
        tern_plan_destroy(plan);
    }
    tern_topo_destroy(topo);
}

// Each names what is wrong, and where.
static const struct {
    const char *executor;
    int status;
    const char *says[3];
} wrong[] = {
    {"LOST", TERN_ERR_ARG, {"lost notify: ", "executors.c:", "posts are not counted"}},
    {"SWAPPED", TERN_ERR_ARG, {"may take the post", "notify 0 of rank", "stream 2"}},
    {"STUCK", TERN_ERR_ARG, {"deadlock: ", "DataSignal from rank", "it is posted at"}},
    {"NO_POST", TERN_ERR_ARG, {"deadlock: ", "notify 2 of rank 0", "nobody makes that post"}},
    {"LEFT", TERN_ERR_ARG, {"left set: notify 2 of rank 0", "executors.c:"}},
    {"UNRELEASED", TERN_ERR_ARG, {"stream 1", "nothing releases the stream"}},
    {"UNCOLLECTED", TERN_ERR_ARG, {"stream 1", "nothing collects the stream"}},
    {"PAST_END", TERN_ERR_ARG, {"the reduce writes", "CCL_Out of rank 0", ": 4 bytes past"}},
    {"ROOM", TERN_ERR_ARG, {"copy of 12 bytes goes into 8: 4 bytes past the end"}},
    {"FOREIGN", TERN_ERR_ARG, {"the reduce reads 4096 bytes at 0x", "in no buffer"}},
    {"PEERS_INPUT", TERN_ERR_ARG, {"user input of rank 0; other ranks see only its CCL_In"}},
    {"NULL_STREAM", TERN_ERR_ARG, {"rank 0: ", "no stream of this rank"}},
    {"OTHERS_STREAM", TERN_ERR_ARG, {"rank 1: ", "no stream of this rank"}},
    {"NULL_NOTIFY", TERN_ERR_ARG, {"the notify is null"}},
    {"NULL_LINK", TERN_ERR_ARG, {"stream 1: a post needs a link that is missing"}},
    {"WRONG_TYPE", TERN_ERR_ARG, {"the reduce is a sum of bf16, the call's sum of f32"}},
    {"NO_BIT", TERN_ERR_ARG, {"a link has no notify 64"}},
    {"READS", TERN_ERR_ARG, {"crashed (signal 11", "byte 0 of user input of rank 0"}},
    {"RECURSES", TERN_ERR_ARG, {"crashed (signal"}},
    {"LOOPS", TERN_ERR_TIMEOUT, {"has not returned after 1 s", "while rank 0 was recorded"}},
    {"POSTS_FOR_EVER", TERN_ERR_ARG, {"more than 4194304 tasks"}},
    {"DEAF", TERN_ERR_ARG, {"executors.c:", "no stream of this rank (and 99999 more)"}},
    {"EXITS", TERN_ERR_ARG, {"has ended its process, with status 0"}},
    {"ABORTS", TERN_ERR_ARG, {"crashed (signal 6"}},
    {"FAILS", TERN_ERR_ARG, {"my.cc:7: rank 0: Guess() returned 4: no idea"}},
    {"FAULTS", TERN_ERR_ARG, {"a null pointer"}},
    {"NOBODY", TERN_ERR_ARG, {"registers no executor 'NOBODY', but 'NONE', 'BACKWARDS', 'LOST'"}},
    {NULL, TERN_ERR_ARG, {"registers several executors", "which of them?"}},
};

static void is_refused(void **state)
{
    tern_topo *topo;
    assert_int_equal(tern_topo_create("mesh:2", &topo), TERN_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tern_plan *plan;
        tern_record_request request = request_of(wrong[i].executor, topo);
        bool loops = wrong[i].status == TERN_ERR_TIMEOUT;
        request.timeout_ns = loops ? INT64_C(1000000000) : 0;
        assert_int_equal(tern_record_plan(&request, &plan), wrong[i].status);
        assert_null(plan);
        for (size_t k = 0; k < 3 && wrong[i].says[k] != NULL; k++) {
            if (strstr(tern_last_error(), wrong[i].says[k]) == NULL) {
                fail_msg("%s: '%s' lacks '%s'", wrong[i].executor, tern_last_error(),
                         wrong[i].says[k]);
            }
        }
    }
    tern_topo_destroy(topo);
}

// Links: a missing one is null, one direction is enough for an end but not for every task.
static void links_are_those_of_the_topology(void **state)
{
    static const char *const cuts[] = {"0-2", "2>0"};
    static const char *const says[] = {"rank 0: the memory of a peer needs a link that is missing: "
                                       "rank 0 has no link to rank 2",
                                       "needs the link 2>0, which is missing"};
    for (int i = 0; i < 2; i++) {
        tern_topo *topo;
        tern_plan *plan;
        assert_int_equal(tern_topo_create("mesh:3", &topo), TERN_OK);
        assert_int_equal(tern_topo_cut(topo, cuts[i]), TERN_OK);
        tern_record_request request = request_of("NONE", topo);
        assert_int_equal(tern_record_plan(&request, &plan), TERN_ERR_ARG);
        if (strstr(tern_last_error(), says[i]) == NULL) {
            fail_msg("'%s' lacks '%s'", tern_last_error(), says[i]);
        }
        tern_topo_destroy(topo);
    }
}

static void refuse(tern_record_request request, int status, const char *says)
{
    tern_plan *plan;
    assert_int_equal(tern_record_plan(&request, &plan), status);
    if (strstr(tern_last_error(), says) == NULL) {
        fail_msg("'%s' lacks '%s'", tern_last_error(), says);
    }
}

static void requests_are_checked(void **state)
{
    tern_topo *topo;
    assert_int_equal(tern_topo_create("mesh:3", &topo), TERN_OK);
    tern_record_request request = request_of("NONE", topo);
    request.library = "/nowhere/executor.so";
    refuse(request, TERN_ERR_SYSTEM, "'/nowhere/executor.so' cannot be read");
    request.library = TERN_SOURCE_DIR "/CMakeLists.txt";
    refuse(request, TERN_ERR_ARG, "cannot be loaded");
    request = request_of("NONE", topo);
    request.kind = TERN_PLAN_BARRIER;
    refuse(request, TERN_ERR_ARG, "executors of barrier are not recorded");
    request = request_of("NONE", topo);
    request.bytes = 4098;
    refuse(request, TERN_ERR_ARG, "unit");
    request = request_of("NONE", topo);
    request.topo = NULL;
    refuse(request, TERN_ERR_ARG, "for a topology");
    request = request_of("NONE", topo);
    request.ccl_bytes = 0;
    assert_int_equal(setenv("HCCL_BUFFSIZE", "many", 1), 0);
    refuse(request, TERN_ERR_ARG, "HCCL_BUFFSIZE is 'many'");
    assert_int_equal(setenv("HCCL_BUFFSIZE", "3", 1), 0);
    tern_plan *plan;
    assert_int_equal(tern_record_plan(&request, &plan), TERN_OK);
    assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH), 6 << 20);
    unsetenv("HCCL_BUFFSIZE");
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(becomes_a_plan),       cmocka_unit_test(is_as_right),
        cmocka_unit_test(is_refused),           cmocka_unit_test(links_are_those_of_the_topology),
        cmocka_unit_test(requests_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
