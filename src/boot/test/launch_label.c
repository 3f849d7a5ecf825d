// SPDX-License-Identifier: Apache-2.0
// `tern run --label`: whole lines, never mixed, in bounded memory, whatever reads or does not.

#include "launch_run.h"

#define NRANKS 5
#define LINES 2000

static void a_line_has_its_rank_in_front(void **state)
{
    EXPECT(0, "[0] one\n[0] \n[0] three\n", "[0] error\n", "run", "-n", "1", "--label", "sh", "-c",
           "echo one; echo; echo error >&2; echo three");
}

static void a_last_line_without_newline_is_written(void **state)
{
    EXPECT(0, "[0] text\n[0] rest\n", "[0] rest\n", "run", "-n", "1", "--label", "sh", "-c",
           "printf 'text\\nrest'; printf rest >&2");
}

static void output_before_a_crash_is_written(void **state)
{
    EXPECT(137, "[0] last words\n", "tern run: rank 0 was killed by signal 9 (Killed)\n", "run",
           "-n", "1", "--label", "sh", "-c", "printf 'last words'; kill -9 $$");
}

// Checks the lines that rank_lines has written, in `text`: each rank's in order, none missing.
static void check_lines(char *text)
{
    int next[NRANKS] = {0};
    int total = 0;
    char *rest = text;
    char *line;
    while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        int label;
        int rank;
        int number;
        int at = 0;
        assert_int_equal(sscanf(line, "[%d] rank %d line %d %n", &label, &rank, &number, &at), 3);
        assert_true(at > 0);
        assert_int_equal(label, rank);
        assert_in_range(rank, 0, NRANKS - 1);
        assert_int_equal(number, next[rank]);
        assert_int_equal(strlen(line + at), (size_t)(number % 300));
        assert_int_equal(strspn(line + at, "x"), (size_t)(number % 300));
        next[rank]++;
        total++;
    }
    assert_int_equal(total, NRANKS * LINES);
}

static void lines_are_never_mixed(void **state)
{
    struct setting setting = {0};
    struct run run =
        START(&setting, "run", "-n", "5", "--label", (char *)self_path(), "rank", "lines");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    char *out = read_all(run.out, NULL);
    check_lines(out);
    free(out);
    close_run(&run);
}

// Reads a pipe to its end, in small pieces.
static char *read_pipe(int fd, size_t *length)
{
    size_t capacity = 1 << 24;
    char *bytes = malloc(capacity);
    assert_non_null(bytes);
    *length = 0;
    ssize_t got;
    while ((got = read(fd, bytes + *length, 1000)) > 0) {
        *length += (size_t)got;
        assert_true(*length + 1000 < capacity);
    }
    bytes[*length] = '\0';
    return bytes;
}

// Standard output and standard error of all ranks in one pipe that is read slowly.
static void one_pipe_takes_both_outputs(void **state)
{
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    struct setting setting = {.out = pipe_fds[1], .join_err = true};
    struct run run =
        START(&setting, "run", "-n", "5", "--label", (char *)self_path(), "rank", "both");
    close(pipe_fds[1]);
    size_t length;
    char *out = read_pipe(pipe_fds[0], &length);
    end_tern(&run);
    assert_int_equal(run.status, 0);
    check_lines(out);
    free(out);
    close(pipe_fds[0]);
    close_run(&run);
}

static void a_long_line_is_broken(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "1", "--label", "sh", "-c",
                           "head -c 200000 /dev/zero | tr '\\0' a; echo; echo end");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    char *out = read_all(run.out, NULL);
    char *rest = out;
    static const size_t lengths[] = {65536, 65536, 65536, 200000 - 3 * 65536};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *line = strsep(&rest, "\n");
        assert_int_equal(strlen(line), lengths[i] + 4);
        assert_int_equal(strncmp(line, "[0] ", 4), 0);
        assert_int_equal(strspn(line + 4, "a"), lengths[i]);
    }
    assert_string_equal(rest, "[0] end\n");
    free(out);
    close_run(&run);
}

static void a_line_of_the_full_length_stays_whole(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "1", "--label", "sh", "-c",
                           "head -c 65536 /dev/zero | tr '\\0' a; sleep 0.05; echo; echo end");
    end_tern(&run);
    char *out = read_all(run.out, NULL);
    assert_int_equal(strlen(out), 4 + 65536 + 1 + 8);
    assert_string_equal(out + 4 + 65536, "\n[0] end\n");
    free(out);
    close_run(&run);
}

static void memory_is_bounded(void **state)
{
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct setting setting = {.out = null_fd};
    struct run run =
        START(&setting, "run", "-n", "2", "--label", "head", "-c", "100000000", "/dev/zero");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    assert_in_range(run.max_rss_kib, 1, 100 * 1024);
    close(null_fd);
    close_run(&run);
}

static void a_grandchild_that_holds_the_pipe_does_not_hold_the_job(void **state)
{
    struct setting setting = {0};
    struct run run =
        START(&setting, "run", "-n", "3", "--label", "sh", "-c", "setsid sleep 1000 & true");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    assert_in_range(run.time_ns, 0, 30 * TERN_NS_PER_SECOND);
    close_run(&run);
}

// `exec > >(tee log)`: what a rank leaves behind may still pass on what it has got.
static void a_filter_left_behind_can_finish(void **state)
{
    EXPECT(0, "[0] TEXT\n", "", "run", "-n", "1", "--label", "sh", "-c",
           "(exec 3>&1; (echo text; exec 1>&3) | (sleep 0.03; tr a-z A-Z) &)");
}

// A filter that computes, or waits for a processor beside busy programs, gets the time it needs.
static void a_filter_that_computes_can_finish(void **state)
{
    EXPECT(0, "[0] TEXT\n", "", "run", "-n", "1", "--label", "bash", "-c",
           "(exec 3>&1; (echo text; exec 1>&3) | (end=$((${EPOCHREALTIME//[.,]/} + 300000)); "
           "while [ ${EPOCHREALTIME//[.,]/} -lt $end ]; do :; done; tr a-z A-Z) &)");
}

static void a_reader_that_is_gone_ends_the_job(void **state)
{
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    close(pipe_fds[0]);
    struct setting setting = {.out = pipe_fds[1]};
    struct run run = START(&setting, "run", "-n", "3", "--label", "yes");
    close(pipe_fds[1]);
    end_tern(&run);
    assert_int_equal(run.status, 141);
    assert_output(&run, "", "tern run: ended because its output cannot be written: Broken pipe\n");
    assert_in_range(run.time_ns, 0, 30 * TERN_NS_PER_SECOND);
    close_run(&run);
}

static void a_full_device_ends_the_job(void **state)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct setting setting = {.out = full};
    struct run run = START(&setting, "run", "-n", "2", "--label", "echo", "text");
    end_tern(&run);
    assert_int_equal(run.status, 1);
    assert_output(
        &run, "",
        "tern run: ended because its output cannot be written: No space left on device\n");
    close(full);
    close_run(&run);
}

static void closed_output_is_like_dev_null(void **state)
{
    struct setting setting = {.close_out = true};
    struct run run = START(&setting, "run", "-n", "3", "--label", "echo", "text");
    end_with(&run, 0, "", "");
    run = START(&setting, "run", "-n", "3", "readlink", "/proc/self/fd/1");
    end_with(&run, 0, "", "");
}

// Nobody reads; the pipe is full; Ctrl-C still works.
static void a_reader_that_does_not_read_cannot_hold_the_job(void **state)
{
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    struct setting setting = {.out = pipe_fds[1], .join_err = true};
    struct run run = START(&setting, "run", "-n", "3", "--label", "yes");
    close(pipe_fds[1]);
    struct pollfd readable = {.fd = pipe_fds[0], .events = POLLIN};
    assert_int_equal(poll(&readable, 1, RUN_DEADLINE_MS), 1);
    sleep_ms(200);
    int64_t begin_ns = tern__now_ns();
    kill(run.pid, SIGINT);
    end_tern(&run);
    assert_int_equal(run.status, 130);
    assert_in_range(tern__now_ns() - begin_ns, 0, 30 * TERN_NS_PER_SECOND);
    close(pipe_fds[0]);
    close_run(&run);
}

// As a rank: lines of many lengths, each written in two pieces.
static int rank_lines(bool both)
{
    const char *rank = getenv("TERN_RANK");
    if (rank == NULL) {
        return 1;
    }
    static char xs[300];
    memset(xs, 'x', sizeof xs);
    for (int i = 0; i < LINES; i++) {
        char line[400];
        int length = snprintf(line, sizeof line, "rank %s line %d %.*s\n", rank, i, i % 300, xs);
        int half = length / 2;
        // One order of lines can be checked only where they came through one pipe.
        int fd = both && atoi(rank) % 2 == 1 ? 2 : 1;
        if (write(fd, line, (size_t)half) != half ||
            write(fd, line + half, (size_t)(length - half)) != length - half) {
            return 1;
        }
    }
    return 0;
}

static void assert_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char *bytes = read_all(fd, NULL);
    assert_string_equal(bytes, text);
    free(bytes);
    close(fd);
    unlink(path);
}

// Each rank's outputs are in a file of its own, without labels; on the terminal as they would be.
static void each_rank_gets_a_file(void **state)
{
    static const char script[] = "echo one; echo error >&2; printf 'rest %s' $TERN_RANK";
    char folder[] = "/tmp/tern-test-output-XXXXXX";
    char made[64];
    assert_non_null(mkdtemp(folder));
    snprintf(made, sizeof made, "%s/made", folder);
    EXPECT(0, "one\nrest 0", "error\n", "run", "-n", "1", "--output", made, "sh", "-c",
           (char *)script);
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "3", "--label", "--output", made, "sh", "-c",
                           "echo one; printf 'rest %s' $TERN_RANK");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    char *out = read_all(run.out, NULL);
    assert_non_null(strstr(out, "[2] one\n"));
    assert_non_null(strstr(out, "[1] rest 1\n"));
    assert_int_equal(strlen(out), 3 * strlen("[0] one\n[0] rest 0\n"));
    free(out);
    close_run(&run);
    assert_file(made, "rank-0.log", "one\nrest 0"); // replaced, and without what the first run said
    assert_file(made, "rank-1.log", "one\nrest 1");
    assert_file(made, "rank-2.log", "one\nrest 2");
    assert_int_equal(rmdir(made), 0);
    assert_int_equal(rmdir(folder), 0);
    EXPECT(125, "", "tern run: tern_launch: cannot write '/dev/null/rank-0.log': Not a directory\n",
           "run", "-n", "1", "--output", "/dev/null", "true");
    EXPECT(125, "",
           "tern run: tern_launch: cannot make the folder '/no/such/folder': No such file or "
           "directory\n",
           "run", "-n", "1", "--output", "/no/such/folder", "true");
}

// A file of 200 000 bytes without a newline moves in pieces and stays as it is.
static void a_long_line_without_labels_stays_as_it_is(void **state)
{
    char folder[] = "/tmp/tern-test-output-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "1", "--output", folder, "sh", "-c",
                           "head -c 200000 /dev/zero | tr '\\0' x; echo; printf end");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    size_t length;
    char *out = read_all(run.out, &length);
    assert_int_equal(length, 200004);
    assert_int_equal(strspn(out, "x"), 200000);
    assert_file(folder, "rank-0.log", out);
    free(out);
    close_run(&run);
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0) {
        return rank_lines(strcmp(argv[2], "both") == 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_rank_in_front),
        cmocka_unit_test(a_last_line_without_newline_is_written),
        cmocka_unit_test(output_before_a_crash_is_written),
        cmocka_unit_test(lines_are_never_mixed),
        cmocka_unit_test(one_pipe_takes_both_outputs),
        cmocka_unit_test(a_long_line_is_broken),
        cmocka_unit_test(a_line_of_the_full_length_stays_whole),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(a_grandchild_that_holds_the_pipe_does_not_hold_the_job),
        cmocka_unit_test(a_filter_left_behind_can_finish),
        cmocka_unit_test(a_filter_that_computes_can_finish),
        cmocka_unit_test(a_reader_that_is_gone_ends_the_job),
        cmocka_unit_test(a_full_device_ends_the_job),
        cmocka_unit_test(each_rank_gets_a_file),
        cmocka_unit_test(a_long_line_without_labels_stays_as_it_is),
        cmocka_unit_test(closed_output_is_like_dev_null),
        cmocka_unit_test(a_reader_that_does_not_read_cannot_hold_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
