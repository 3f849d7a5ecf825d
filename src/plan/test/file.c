// SPDX-License-Identifier: Apache-2.0
// Plans in files: load and save, through "-" too; a save that fails says so and spoils nothing; a
// plan of a million ops is read about as fast as a disk gives it.
#include "support/cmocka.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plan/test/same.h"
#include "support/folder.h"
#include "tern/plan.h"

// A rank posts to itself `ops` times; a text of 60 + 27 * ops bytes, about.
static tern_plan *posts(int ops)
{
    tern_plan_spec spec = {.kind = TERN_PLAN_BARRIER, .nranks = 1, .unit = 1};
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    for (int i = 0; i < ops; i++) {
        tern_plan_op op = {.kind = TERN_PLAN_POST, .signal = (uint32_t)i};
        assert_int_equal(tern_plan_add(plan, 0, 0, &op), TERN_OK);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(folder_file, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void assert_file_holds(const tern_plan *plan)
{
    char *text;
    size_t length;
    assert_int_equal(tern_plan_print(plan, &text, &length), TERN_OK);
    char *read = malloc(length + 1);
    assert_non_null(read);
    FILE *file = fopen(folder_file, "r");
    assert_non_null(file);
    assert_int_equal(fread(read, 1, length + 1, file), length);
    assert_memory_equal(read, text, length);
    fclose(file);
    free(read);
    free(text);
}

static void assert_load_fails(const char *name, int status, const char *sentence)
{
    tern_plan *plan = NULL;
    assert_int_equal(tern_plan_load(name, &plan), status);
    char whole[256];
    snprintf(whole, sizeof whole, sentence, name);
    assert_string_equal(tern_last_error(), whole);
    assert_null(plan);
}

// Larger than every buffer on the way.
static void a_saved_plan_is_loaded(void **state)
{
    for (int ops = 0; ops <= 20000; ops += 20000) {
        tern_plan *plan = posts(ops);
        assert_int_equal(tern_plan_save(plan, folder_file), TERN_OK);
        assert_file_holds(plan);
        assert_int_equal(folder_count(), 1);
        tern_plan *again = NULL;
        assert_int_equal(tern_plan_load(folder_file, &again), TERN_OK);
        assert_true(same_plans(plan, again));
        tern_plan_destroy(plan);
        tern_plan_destroy(again);
    }
}

static void dash_is_standard_output_and_input(void **state)
{
    tern_plan *plan = posts(20000);
    int fd = open(folder_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(fd >= 0 && saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    int status = tern_plan_save(plan, "-");
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    assert_int_equal(status, TERN_OK);
    assert_file_holds(plan);
    assert_non_null(freopen(folder_file, "r", stdin));
    tern_plan *again = NULL;
    assert_int_equal(tern_plan_load("-", &again), TERN_OK);
    assert_true(same_plans(plan, again));
    tern_plan_destroy(plan);
    tern_plan_destroy(again);

    write_file("tern-plan 1\nkinds\n", 18);
    assert_non_null(freopen(folder_file, "r", stdin));
    assert_int_equal(tern_plan_load("-", &again), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), "standard input:2:1: expected 'kind', found 'kinds'");
    close(saved);
    close(fd);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    assert_load_fails(folder_file, TERN_ERR_SYSTEM,
                      "cannot open the plan %s: No such file or directory");
    assert_load_fails(folder_name, TERN_ERR_ARG, "the plan %s is a folder, not a file");
    assert_load_fails("", TERN_ERR_SYSTEM, "cannot open the plan %s: No such file or directory");
    write_file("", 0);
    assert_load_fails(folder_file, TERN_ERR_ARG,
                      "%s:1:1: expected 'tern-plan', found the end of the text");
    write_file("tern-plan 1\nkind", 16);
    assert_load_fails(folder_file, TERN_ERR_ARG,
                      "%s:2:5: expected a line feed, found the end of the text: it is cut off, or "
                      "its last line is not ended");
    tern_plan *plan;
    assert_int_equal(tern_plan_load(NULL, &plan), TERN_ERR_ARG);
    assert_int_equal(tern_plan_load(folder_file, NULL), TERN_ERR_ARG);
}

static void an_unreadable_file_is_an_error(void **state)
{
    write_file("x", 1);
    assert_int_equal(chmod(folder_file, 0), 0);
    uid_t user = geteuid();
    if (user == 0) {
        assert_int_equal(seteuid(65534), 0); // root may read everything
    }
    tern_plan *plan = NULL;
    int status = tern_plan_load(folder_file, &plan);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(status, TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "cannot open the plan"));
    assert_non_null(strstr(tern_last_error(), ": Permission denied"));
    assert_null(plan);
}

// Refused at once, or by its first 128 KiB: what follows is never read.
static void an_endless_file_is_refused_at_once(void **state)
{
    assert_load_fails("/dev/zero", TERN_ERR_ARG, "the plan %s is a device, not a file");
    assert_int_equal(mkfifo(folder_file, 0600), 0);
    assert_load_fails(folder_file, TERN_ERR_ARG,
                      "the plan %s is a pipe, not a file"); // nobody writes into it
    unlink(folder_file);
    write_file("# ", 2);
    FILE *file = fopen(folder_file, "a");
    assert_non_null(file);
    for (int i = 0; i < 1 << 20; i++) {
        fputc('x', file);
    }
    fclose(file);
    assert_load_fails(folder_file, TERN_ERR_LIMIT,
                      "%s:1:131073: expected the end of the line: a line has at most 131072 bytes");
}

// The longest line is read, wherever in a buffer it begins: its op is at its end.
static void long_lines_are_read_across_buffers(void **state)
{
    enum { ROOM = 8 << 20, LONGEST = 131072, LINES = 40 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    char *at = stpcpy(text, "tern-plan 1\nkind barrier\nranks 1\nbytes 0\nunit 1\nalgorithm x\n"
                            "rank 0 lane 0\n");
    for (int i = 0; i < LINES; i++) {
        int length = i % 3 == 0 ? LONGEST : 100 + i * 3271;
        char op[64];
        int op_length = snprintf(op, sizeof op, "post @0 rank 0 signal %d\n", i);
        memset(at, ' ', (size_t)length);
        at += length + 1 - op_length;
        memcpy(at, op, (size_t)op_length);
        at += op_length;
    }
    at = stpcpy(at, "end\n");
    write_file(text, (size_t)(at - text));
    free(text);
    tern_plan *plan = NULL;
    if (tern_plan_load(folder_file, &plan) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    assert_int_equal(tern_plan_total_ops(plan), LINES);
    for (size_t i = 0; i < LINES; i++) {
        tern_plan_op op;
        assert_int_equal(tern_plan_get_op(plan, 0, 0, i, &op), TERN_OK);
        assert_int_equal(op.signal, i);
    }
    tern_plan_destroy(plan);
}

static void what_cannot_be_written_is_an_error(void **state)
{
    tern_plan *plan = posts(1);
    assert_int_equal(tern_plan_save(plan, "/dev/full"), TERN_ERR_SYSTEM);
    assert_string_equal(tern_last_error(),
                        "cannot write the plan to /dev/full: No space left on device");
    assert_int_equal(tern_plan_save(plan, folder_name), TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "Is a directory"));
    char missing[128];
    snprintf(missing, sizeof missing, "%s/b/c.plan", folder_name);
    assert_int_equal(tern_plan_save(plan, missing), TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "No such file or directory"));
    assert_int_equal(tern_plan_save(plan, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_plan_save(NULL, folder_file), TERN_ERR_ARG);
    assert_int_equal(folder_count(), 0);
    tern_plan_destroy(plan);
    tern_plan_spec spec = {.kind = TERN_PLAN_BARRIER, .nranks = 1, .unit = 1};
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    assert_int_equal(tern_plan_save(plan, folder_file), TERN_ERR_STATE);
    assert_int_equal(folder_count(), 0);
    tern_plan_destroy(plan);
}

static void a_failed_save_keeps_the_old_file(void **state)
{
    tern_plan *small = posts(1);
    tern_plan *large = posts(20000);
    assert_int_equal(tern_plan_save(small, folder_file), TERN_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit tight = {.rlim_cur = 100000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int status = tern_plan_save(large, folder_file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "File too large"));
    assert_file_holds(small);
    assert_int_equal(folder_count(), 1);
    tern_plan_destroy(small);
    tern_plan_destroy(large);
}

static void a_save_keeps_the_mode_and_follows_a_link(void **state)
{
    tern_plan *plan = posts(2);
    write_file("old", 3);
    assert_int_equal(chmod(folder_file, 0640), 0);
    assert_int_equal(tern_plan_save(plan, folder_file), TERN_OK);
    struct stat found;
    assert_int_equal(stat(folder_file, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    char link[128];
    snprintf(link, sizeof link, "%s/link.plan", folder_name);
    assert_int_equal(symlink(folder_file, link), 0);
    write_file("old", 3);
    assert_int_equal(tern_plan_save(plan, link), TERN_OK);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_file_holds(plan);
    unlink(link);
    tern_plan_destroy(plan);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// 1 M ops over 8 ranks and 4 lanes: sums, posts and waits.
static tern_plan *million(size_t *operands)
{
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE,
                           .nranks = 8,
                           .bytes = UINT64_C(1) << 30,
                           .unit = 4};
    tern_plan *plan;
    assert_int_equal(tern_plan_create(&spec, &plan), TERN_OK);
    *operands = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        uint16_t rank = (uint16_t)(i % 8);
        tern_plan_range from[] = {{4 * i, rank, TERN_PLAN_IN}, {4 * i, 7 - rank, TERN_PLAN_IN}};
        tern_plan_op op = {.kind = TERN_PLAN_POST,
                           .round = (int)(i / 1000),
                           .peer = 7 - rank,
                           .signal = i / 100};
        if (i / 8 % 2 == 0) {
            op = (tern_plan_op){.kind = TERN_PLAN_REDUCE,
                                .round = (int)(i / 1000),
                                .length = 4096,
                                .sources = from,
                                .sources_count = 2,
                                .destinations = from,
                                .destinations_count = 1};
            *operands += 3;
        }
        assert_int_equal(tern_plan_add(plan, rank, (int)(i / 16 % 4), &op), TERN_OK);
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    return plan;
}

// The bound is ten times what a laptop takes, for sanitizers and busy machines.
static void a_million_ops_come_back_the_same(void **state)
{
    size_t operands;
    tern_plan *plan = million(&operands);
    char *text;
    size_t length;
    double start = seconds();
    assert_int_equal(tern_plan_print(plan, &text, &length), TERN_OK);
    double printed = seconds();
    tern_plan *again;
    assert_int_equal(tern_plan_parse(text, length, "big", &again), TERN_OK);
    double parsed = seconds();
    print_message("%zu bytes of text: printed in %.2f s, parsed in %.2f s\n", length,
                  printed - start, parsed - printed);
    assert_true(same_plans(plan, again));
    assert_in_range(tern_plan_memory(again), 1, 1000000 * 64 + operands * 24);
    free(text);
    tern_plan_destroy(plan);
    tern_plan_destroy(again);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_saved_plan_is_loaded),
        IN_FOLDER(dash_is_standard_output_and_input),
        IN_FOLDER(what_cannot_be_read_is_an_error),
        IN_FOLDER(an_unreadable_file_is_an_error),
        IN_FOLDER(an_endless_file_is_refused_at_once),
        IN_FOLDER(long_lines_are_read_across_buffers),
        IN_FOLDER(what_cannot_be_written_is_an_error),
        IN_FOLDER(a_failed_save_keeps_the_old_file),
        IN_FOLDER(a_save_keeps_the_mode_and_follows_a_link),
        cmocka_unit_test(a_million_ops_come_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
