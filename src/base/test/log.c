// SPDX-License-Identifier: Apache-2.0
// The log: silent unless TERN_LOG says otherwise, one line a call, never longer than it may be.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

// What a process with TERN_LOG=word writes when it logs one line of each level, then .
static size_t output_with(const char *word, const char *tail, char *output, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        if (word != NULL) {
            setenv("TERN_LOG", word, 1);
        } else {
            unsetenv("TERN_LOG");
        }
        tern__log(TERN__LOG_ERROR, "an %s", "E");
        tern__log(TERN__LOG_WARN, "a %s", "W");
        tern__log(TERN__LOG_INFO, "an %s", "I");
        tern__log(TERN__LOG_DEBUG, "a %s", "D");
        if (tail != NULL) {
            tern__log(TERN__LOG_ERROR, "%s", tail);
        }
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], output + used, room - 1 - used)) > 0) {
        used += (size_t)got;
    }
    output[used] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return used;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void the_log_is_silent_by_default(void **state)
{
    char output[4096];
    assert_int_equal(output_with(NULL, NULL, output, sizeof output), 0);
    assert_int_equal(output_with("off", NULL, output, sizeof output), 0);
    assert_int_equal(output_with("", NULL, output, sizeof output), 0);
    assert_int_equal(output_with("loud", NULL, output, sizeof output), 0);
}

static void each_level_includes_those_above_it(void **state)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    static const char *const lines[] = {" error: an E\n", " warn: a W\n", " info: an I\n",
                                        " debug: a D\n"};
    for (int level = 0; level < 4; level++) {
        char output[4096];
        output_with(words[level], NULL, output, sizeof output);
        assert_int_equal(lines_of(output), level + 1);
        for (int line = 0; line < 4; line++) {
            assert_int_equal(strstr(output, lines[line]) != NULL, line <= level);
        }
    }
}

static void a_line_says_which_process_and_when(void **state)
{
    char output[4096];
    int pid = 0;
    double seconds = -1;
    output_with("error", NULL, output, sizeof output);
    assert_int_equal(sscanf(output, "tern[%d] %lf error: an E", &pid, &seconds), 2);
    assert_true(pid > 1 && seconds > 0);
}

static void a_long_line_is_cut_and_still_ends(void **state)
{
    for (int length = 900; length < 1200; length += 7) {
        char text[1201];
        char output[4096];
        memset(text, 'x', (size_t)length);
        text[length] = '\0';
        size_t used = output_with("error", text, output, sizeof output);
        const char *second = strchr(output, '\n') + 1;
        assert_int_equal(lines_of(output), 2);
        assert_int_equal(output[used - 1], '\n');
        assert_true(strlen(second) <= 1024);
        size_t whole = strlen("tern[] . error: \n") + (size_t)length;
        assert_true(strlen(second) >= (whole < 1023 ? whole : 1023));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_is_silent_by_default),
        cmocka_unit_test(each_level_includes_those_above_it),
        cmocka_unit_test(a_line_says_which_process_and_when),
        cmocka_unit_test(a_long_line_is_cut_and_still_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
