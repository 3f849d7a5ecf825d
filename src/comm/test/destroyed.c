// SPDX-License-Identifier: Apache-2.0
// Destroyed communicators and windows, and one given for the other: every call that takes one
// refuses it with a sentence, and the job goes on.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/exec.h"
#include "tern/graph.h"
#include "tern/put.h"
#include "tern/trace.h"

#define REFUSED(call) CHECK(says(call, TERN_ERR_ARG, sentence))

static int use_comm(tern_comm *comm, const char *sentence)
{
    float data[2] = {0};
    tern_comm *part = NULL;
    tern_window *window = NULL;
    tern_chip *chip = NULL;
    tern_exec *exec = NULL;
    tern_request request = 0;
    tern_coll call = {.in = data, .out = data, .count = 1, .dtype = TERN_F32};
    REFUSED(tern_comm_rank(comm));
    REFUSED(tern_comm_size(comm));
    REFUSED(tern_comm_barrier(comm));
    REFUSED(tern_comm_split(comm, 0, 0, &part));
    REFUSED(tern_comm_health(comm));
    REFUSED(tern_comm_destroy(comm));
    REFUSED(tern_window_create(comm, 4096, NULL, &window));
    REFUSED(tern_chip_create(comm, NULL, &chip));
    REFUSED(tern_exec_create(comm, NULL, NULL, &exec));
    REFUSED(tern_trace_end(comm, "/dev/null"));
    REFUSED(tern_all_reduce(comm, data, data, 1, TERN_F32, TERN_SUM));
    REFUSED(tern_barrier(comm));
    REFUSED(tern_send(comm, data, 1, TERN_F32, 0));
    REFUSED(tern_recv(comm, data, 1, TERN_F32, 0));
    REFUSED(tern_coll_run(comm, &call));
    REFUSED(tern_coll_start(comm, &call, &request));
    REFUSED(tern_coll_prepare(comm, &call, &request));
    return 0;
}

static int use_window(tern_window *window, const char *sentence)
{
    char data[8] = {0};
    int32_t value;
    size_t which;
    tern_block block = {.rows = 1, .row_bytes = 8};
    tern_condition condition = {.window = window};
    REFUSED(tern_put(window, 0, 0, data, 8));
    REFUSED(tern_get(window, 0, 0, data, 8));
    REFUSED(tern_put_block(window, 0, 0, data, &block));
    REFUSED(tern_get_block(window, 0, 0, data, &block));
    REFUSED(tern_put_add(window, 0, 0, data, 1, TERN_F32));
    REFUSED(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD));
    REFUSED(tern_signal_wait(window, 0, TERN_CMP_EQ, 0, 0));
    REFUSED(tern_signal_test(window, 0, TERN_CMP_EQ, 0));
    REFUSED(tern_signal_read(window, 0, &value));
    REFUSED(tern_signal_wait_all(&condition, 1, 0));
    REFUSED(tern_signal_wait_any(&condition, 1, 0, &which));
    REFUSED(tern_window_destroy(window));
    CHECK(tern_window_size(window) == 0);
    CHECK(tern_window_address(window, 0) == NULL && strstr(tern_last_error(), sentence) != NULL);
    CHECK(tern_window_context(window) == NULL);
    return 0;
}

static int use_all(tern_comm *comm, void *arg)
{
    tern_comm *part;
    tern_window *window;
    float data[2] = {1, 2};
    CHECK(tern_comm_split(comm, 0, 0, &part) == TERN_OK);
    // The short path is warm: it must not take a destroyed communicator either.
    for (int i = 0; i < 3; i++) {
        CHECK(tern_all_reduce(part, data, data, 1, TERN_F32, TERN_SUM) == TERN_OK);
    }
    CHECK(tern_window_create(part, 4096, NULL, &window) == TERN_OK);
    CHECK(use_comm((tern_comm *)(void *)window, "comm is a window, not a communicator") == 0);
    CHECK(use_window((tern_window *)(void *)part, "window is a communicator, not a window") == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(use_window(window, "this window has been destroyed") == 0);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(use_comm(part, "this communicator has been destroyed") == 0);
    return tern_comm_barrier(comm) == TERN_OK ? 0 : 1;
}

static void destroyed_and_wrong_handles_are_refused(void **state)
{
    assert_true(ranks_run_counts(1, 3, use_all, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(destroyed_and_wrong_handles_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
