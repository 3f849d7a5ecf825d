// SPDX-License-Identifier: Apache-2.0
// Handles: one that lives is taken, every other is told apart, and its word can be read for ever.
#include "support/cmocka.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/handle.h"

struct thing {
    struct tern__handle handle;
    char body[100];
};

static void *make(enum tern__handle_kind kind)
{
    struct thing *thing = tern__handle_new(kind, sizeof *thing);
    assert_non_null(thing);
    for (size_t i = 0; i < sizeof thing->body; i++) {
        assert_int_equal(thing->body[i], 0);
    }
    memset(thing->body, 'x', sizeof thing->body);
    assert_true(tern__handle_lives(thing, kind));
    assert_int_equal(tern__handle_check("call", thing, kind), TERN_OK);
    return thing;
}

static void drop(void *thing)
{
    tern__handle_free(thing, sizeof(struct thing));
}

static void says(const void *handle, enum tern__handle_kind kind, int status, const char *sentence)
{
    assert_false(tern__handle_lives(handle, kind));
    assert_int_equal(tern__handle_check("call", handle, kind), status);
    assert_string_equal(tern_last_error(), sentence);
}

static void what_is_wrong_with_a_handle_is_said(void **state)
{
    void *window = make(TERN__WINDOW);
    void *exec = make(TERN__EXEC);
    uint64_t other[4] = {0};
    says(NULL, TERN__TOPO, TERN_ERR_ARG, "call: topo must not be NULL");
    says(window, TERN__COMM, TERN_ERR_ARG, "call: comm is a window, not a communicator");
    says(exec, TERN__CHIP, TERN_ERR_ARG, "call: chip is an executor, not a chip");
    says(other, TERN__WINDOW, TERN_ERR_ARG,
         "call: window points to something that is no window of tern, or was overwritten");
    drop(window);
    drop(exec);
    says(window, TERN__WINDOW, TERN_ERR_ARG, "call: this window has been destroyed");
    says(exec, TERN__COMM, TERN_ERR_ARG,
         "call: comm is an executor that has been destroyed, not a communicator");
    drop(NULL);
}

static void a_destroyed_handle_stays_known_while_many_others_come_and_go(void **state)
{
    void *first = make(TERN__GRAPH);
    drop(first);
    for (int i = 1; i < TERN__HANDLES_RESTING; i++) {
        void *next = make(TERN__GRAPH);
        assert_ptr_not_equal(next, first);
        drop(next);
        says(first, TERN__GRAPH, TERN_ERR_ARG, "call: this graph has been destroyed");
    }
}

static void memory_is_bounded(void **state)
{
    static void *seen[4 * TERN__HANDLES_RESTING];
    size_t different = 0;
    for (int i = 0; i < 4 * TERN__HANDLES_RESTING; i++) {
        void *thing = make(TERN__CHECK);
        size_t at = 0;
        while (at < different && seen[at] != thing) {
            at++;
        }
        seen[at] = thing;
        different += at == different;
        drop(thing);
    }
    assert_int_equal(different, TERN__HANDLES_RESTING);
}

// In a child: what is only memory lives on, a part in a job does not.
static void a_child_of_a_fork_has_no_part_in_the_job(void **state)
{
    void *plan = make(TERN__PLAN);
    void *comm = make(TERN__COMM);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool right = tern__handle_lives(plan, TERN__PLAN) &&
                     tern__handle_check("call", comm, TERN__COMM) == TERN_ERR_STATE &&
                     strstr(tern_last_error(), " is a fork of process ") != NULL;
        void *own = tern__handle_new(TERN__COMM, sizeof(struct thing));
        _exit(right && tern__handle_lives(own, TERN__COMM) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(tern__handle_lives(comm, TERN__COMM));
    drop(plan);
    drop(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_with_a_handle_is_said),
        cmocka_unit_test(a_destroyed_handle_stays_known_while_many_others_come_and_go),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(a_child_of_a_fork_has_no_part_in_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
