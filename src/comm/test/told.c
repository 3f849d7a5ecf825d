// SPDX-License-Identifier: Apache-2.0
// Errors that nobody looks at: TERN_LOG=error tells each refused call and each failed communicator
// once, TERN_ERRORS=fatal ends the process, and words that there are not are refused by tern_init.
#include "support/cmocka.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/tune.h"

#define EXIT_FATAL 125

// What a process writes to standard output and error while it runs `body`; returns its wait status.
static int output_of(const char *log, const char *errors, int (*body)(void), char *text,
                     size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        setenv("TERN_LOG", log, 1);
        setenv("TERN_ERRORS", errors, 1);
        alarm(60);
        exit(body());
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], text + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    text[used] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int count(const char *text, const char *part)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        found++;
    }
    return found;
}

static int make_mistakes(void)
{
    tern_comm *comm;
    tern_comm *part;
    tern_window *window;
    float data[2] = {0};
    tern_dtype dtype;
    tern_request requests[2] = {77, 78};
    CHECK(tern_init(NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    // Told: one line each, also where a public call makes another.
    tern_status_ignore(tern_put(window, 5, 0, data, 8));
    tern_status_ignore(tern_all_reduce(comm, NULL, data, 1, TERN_F32, TERN_SUM));
    tern_status_ignore(tern_comm_split(comm, 0, 0, NULL));
    tern_status_ignore(tern_request_wait_all(requests, 2));
    tern_comm_destroy(comm);
    // Not told: what only asks, and a deadline that the caller has given.
    tern_coll call = {.count = 1, .dtype = TERN_F32, .algorithm = "no such"};
    tern_coll_choice choice;
    tern_status_ignore(tern_coll_select(&call, 3, 0, &choice));
    call.algorithm = "ring"; // which has another order of sums than a call that names none
    tern_status_ignore(tern_coll_select(&call, 3, 0, &choice));
    tern_status_ignore(tern_dtype_parse("f99", &dtype));
    tern_status_ignore(tern_signal_wait(window, 0, TERN_CMP_EQ, 1, 0));
    tern_status_ignore(tern_window_find(data, &window, NULL, NULL));
    CHECK(tern_comm_split(comm, 0, 0, &part) == TERN_OK);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    puts("came to the end");
    return 0;
}

static void each_refused_call_is_told_once(void **state)
{
    char text[8192];
    assert_int_equal(output_of("error", "", make_mistakes, text, sizeof text), 0);
    assert_int_equal(count(text, " error: "), 5);
    assert_int_equal(count(text, " error: rank 0: tern_put: TERN_ERR_ARG: rank is 5; the window"),
                     1);
    assert_int_equal(count(text, "tern_all_reduce: TERN_ERR_ARG: in must not be NULL\n"), 1);
    assert_int_equal(count(text, "tern_comm_split: TERN_ERR_ARG: part must not be NULL\n"), 1);
    assert_int_equal(count(text, "tern_request_wait_all: TERN_ERR_ARG: "), 1);
    assert_int_equal(count(text, "tern_comm_destroy: TERN_ERR_STATE: 1 window of it"), 1);
    assert_int_equal(count(text, "came to the end\n"), 1);
}

static void nothing_is_told_when_the_log_is_off(void **state)
{
    char text[8192];
    assert_int_equal(output_of("off", "return", make_mistakes, text, sizeof text), 0);
    assert_string_equal(text, "came to the end\n");
}

// Rank 1 dies; rank 0 goes on as if nothing had happened.
static int outlive_a_peer(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    int file = open(arg, O_WRONLY | O_APPEND | O_CREAT, 0600);
    dup2(file, STDERR_FILENO);
    setenv("TERN_LOG", "error", 1);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank == 1) {
        raise(SIGKILL);
    }
    for (int i = 0; i < 5; i++) {
        tern_status_ignore(tern_comm_barrier(comm));
        tern_status_ignore(tern_barrier(comm));
    }
    tern_comm_destroy(comm);
    return 0;
}

static void a_failed_communicator_is_told_once_by_each_rank(void **state)
{
    char path[] = "/tmp/tern-told.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    struct ranks ranks;
    ranks_begin(&ranks, 3, outlive_a_peer, path);
    assert_true(ranks_wait(&ranks, 30));
    assert_true(ranks_end(&ranks));
    char text[8192];
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    unlink(path);
    assert_true(got > 0);
    text[got] = '\0';
    assert_int_equal(count(text, "\n"), 2);
    assert_int_equal(count(text,
                           " error: rank 0: communicator 0 has failed: TERN_ERR_PEER: rank 1"),
                     1);
    assert_int_equal(count(text,
                           " error: rank 2: communicator 0 has failed: TERN_ERR_PEER: rank 1"),
                     1);
}

static int make_one_mistake(void)
{
    tern_comm *comm;
    tern_dtype dtype;
    float data[2] = {0};
    CHECK(tern_init(NULL, &comm) == TERN_OK);
    tern_status_ignore(tern_dtype_parse("f99", &dtype)); // only asks
    printf("said before");
    tern_status_ignore(tern_all_reduce(comm, NULL, data, 1, TERN_F32, TERN_SUM));
    printf("said after");
    return 0;
}

static void fatal_errors_end_the_process(void **state)
{
    char text[8192];
    int status = output_of("off", "fatal", make_one_mistake, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FATAL);
    assert_string_equal(text, "tern: rank 0: tern_all_reduce: TERN_ERR_ARG: in must not be NULL "
                              "(TERN_ERRORS=fatal: exit status 125)\nsaid before");
}

// Rank 0 speaks for all at info; at debug everybody does.
static int reduce_twice(int rank, const struct ranks *ranks, void *arg)
{
    const char *const *words = arg;
    tern_comm *comm;
    float data[2] = {0};
    int file = open(words[0], O_WRONLY | O_APPEND | O_CREAT, 0600);
    dup2(file, STDERR_FILENO);
    setenv("TERN_LOG", words[1], 1);
    setenv("TERN_TUNE", "", 1);
    setenv("TERN_ALGO", "all_reduce:one_shot", 1);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    tern_coll call = {.kind = TERN_COLL_SCATTER, .count = 1, .dtype = TERN_F32};
    tern_coll_choice choice;
    CHECK(tern_coll_select(&call, 3, 0, &choice) == TERN_OK); // selects nothing
    for (int i = 0; i < 2; i++) {
        CHECK(tern_all_reduce(comm, data, data, 1, TERN_F32, TERN_SUM) == TERN_OK);
        CHECK(tern_broadcast(comm, data, data, 1, TERN_F32, 0) == TERN_OK);
    }
    tern_comm_destroy(comm);
    return 0;
}

static void log_of_three(const char *level, char *text, size_t size)
{
    char path[] = "/tmp/tern-told.XXXXXX";
    const char *words[] = {path, level};
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(ranks_run(3, reduce_twice, words, 30));
    ssize_t got = read(file, text, size - 1);
    close(file);
    unlink(path);
    assert_true(got >= 0);
    text[got] = '\0';
}

static void info_says_what_runs_and_what_was_selected(void **state)
{
    static const char *const lines[] = {
        "rank 0: tern 0.",
        " 3 ranks, met at /tmp/",
        "rank 0: machine ",
        "; reductions use ",
        "rank 0: no tune file; the built-in table is used\n",
        "rank 0: communicator 0 of 3 ranks selects for all_reduce: up to ",
        "(TERN_ALGO=all_reduce:one_shot)\n",
        "rank 0: communicator 0 of 3 ranks selects for broadcast: up to ",
        "(built in)\n"};
    char text[16384];
    log_of_three("info", text, sizeof text);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(count(text, lines[i]), 1);
    }
    assert_int_equal(count(text, " info: rank 0: "), 5);
    assert_int_equal(count(text, " rank 1: ") + count(text, " rank 2: "), 0);
    log_of_three("debug", text, sizeof text);
    for (int rank = 0; rank < 3; rank++) {
        char line[96];
        snprintf(line, sizeof line,
                 " rank %d: communicator 0 of 3 ranks selects for broadcast: ", rank);
        assert_int_equal(count(text, line), 1);
    }
    log_of_three("warn", text, sizeof text);
    assert_string_equal(text, "");
}

static int only_init(void)
{
    tern_comm *comm = NULL;
    int status = tern_init(NULL, &comm);
    int at = tern_init_at(0, 1, "/tmp/tern-told-never-made", NULL, &comm);
    printf("%d %d %s\n", status, at, tern_last_error());
    return comm == NULL ? 0 : 1;
}

static void words_that_there_are_not_are_refused(void **state)
{
    char text[8192];
    assert_int_equal(output_of("loud", "", only_init, text, sizeof text), 0);
    assert_string_equal(text,
                        "-1 -1 TERN_LOG is 'loud'; it must be off, error, warn, info or debug\n");
    assert_int_equal(output_of("", "Fatal", only_init, text, sizeof text), 0);
    assert_string_equal(text, "-1 -1 TERN_ERRORS is 'Fatal'; it must be return or fatal\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refused_call_is_told_once),
        cmocka_unit_test(nothing_is_told_when_the_log_is_off),
        cmocka_unit_test(a_failed_communicator_is_told_once_by_each_rank),
        cmocka_unit_test(info_says_what_runs_and_what_was_selected),
        cmocka_unit_test(fatal_errors_end_the_process),
        cmocka_unit_test(words_that_there_are_not_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
