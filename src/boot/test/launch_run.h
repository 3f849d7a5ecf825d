// SPDX-License-Identifier: Apache-2.0
// For the tests of the launcher: runs the real `tern`, and looks for what it has left behind. Every
// run carries a mark in its environment, by which its processes are found in /proc; none may be
// left when `tern` has ended.
#ifndef TERN_BOOT_TEST_LAUNCH_RUN_H
#define TERN_BOOT_TEST_LAUNCH_RUN_H

#include "support/cmocka.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <linux/close_range.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tern/comm.h"

#define TERN_PATH TERN_BUILD_DIR "/bin/tern"
#define ARGS_MAX 24
#define RUN_DEADLINE_MS 100000 // a sanitizer on a slow and busy machine takes 30 s for some
#define SOON_NS (100 * TERN_NS_PER_SECOND)

// How `tern` is started. Zero: no standard input, output into memory, nothing done to signals.
struct setting {
    int in;         // standard input; 0: /dev/null
    int out;        // standard output; 0: kept in memory
    bool close_out; // standard output is closed
    bool join_err;  // 2>&1
    int ignored;    // a signal that is ignored from the start; 0: none
};

struct run {
    pid_t pid;
    int out; // memory files; out is -1 when it went elsewhere
    int err;
    char mark[64];
    int64_t begin_ns;
    // Once it has ended:
    int status; // as a shell would say it
    int64_t time_ns;
    long max_rss_kib;
};

// The path of this test, to be run as a rank: `self rank MODE`.
static inline const char *self_path(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

static inline bool has_mark(const char *pid, const char *mark)
{
    char path[300];
    static char bytes[1 << 18];
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, length, mark, strlen(mark)) != NULL;
}

// How many processes of the run live. A zombie has no environment and does not count.
static inline int count_marked(const char *mark)
{
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
            count += has_mark(entry->d_name, mark);
        }
    }
    closedir(dir);
    return count;
}

static inline void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static inline void await_none_left(const char *mark)
{
    int64_t deadline_ns = tern__deadline_after(SOON_NS);
    while (count_marked(mark) > 0) {
        assert_true(tern__now_ns() < deadline_ns);
        sleep_ms(10);
    }
}

static inline void become_tern(const struct run *run, const struct setting *setting,
                               char *const *args)
{
    // A check that fails leaves the run alone: it shall end with the test.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int in = setting->in != 0 ? setting->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(in, 0);
    dup2(run->out >= 0 ? run->out : setting->out, 1);
    dup2(setting->join_err ? 1 : run->err, 2);
    if (setting->close_out) {
        close(1);
    }
    // Whoever started this test may have left some open.
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // Whoever started this test in the background may have had some ignored.
    static const int numbers[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        signal(numbers[i], numbers[i] == setting->ignored ? SIG_IGN : SIG_DFL);
    }
    char *equals = strchr(run->mark, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(equals - run->mark), run->mark);
    setenv(name, equals + 1, 1);
    execv(TERN_PATH, args);
    _exit(99);
}

// Appending: processes that share a memory file's position would overwrite one another.
static inline int memory_file(void)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
    return fd;
}

// Starts `tern` with the arguments, NULL-terminated.
static inline struct run start_tern_list(const struct setting *setting, char *const *args)
{
    static int runs;
    struct run run = {.out = -1, .begin_ns = tern__now_ns()};
    snprintf(run.mark, sizeof run.mark, "LAUNCH_TEST_MARK=%d-%d.", getpid(), runs++);
    if (setting->out == 0) {
        run.out = memory_file();
    }
    run.err = memory_file();
    run.pid = fork();
    assert_true(run.pid >= 0);
    if (run.pid == 0) {
        become_tern(&run, setting, args);
    }
    return run;
}

// Waits for `tern` itself.
static inline void await_tern(struct run *run)
{
    int pidfd = pidfd_open(run->pid, 0);
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    if (poll(&ended, 1, RUN_DEADLINE_MS) != 1) {
        kill(run->pid, SIGKILL);
        fail_msg("tern did not end within %d ms", RUN_DEADLINE_MS);
    }
    close(pidfd);
    int status;
    struct rusage usage;
    assert_int_equal(wait4(run->pid, &status, 0, &usage), run->pid);
    run->time_ns = tern__now_ns() - run->begin_ns;
    run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    run->max_rss_kib = usage.ru_maxrss;
}

// Waits, and checks that no process is left.
static inline void end_tern(struct run *run)
{
    await_tern(run);
    assert_int_equal(count_marked(run->mark), 0);
}

// What was written so far, NUL-terminated; the caller frees it.
static inline char *read_all(int fd, size_t *length)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    ssize_t got = pread(fd, bytes, (size_t)size, 0);
    assert_int_equal(got, size);
    bytes[size] = '\0';
    if (length != NULL) {
        *length = (size_t)size;
    }
    return bytes;
}

static inline void close_run(struct run *run)
{
    if (run->out >= 0) {
        close(run->out);
    }
    close(run->err);
}

// Waits until `text` has been written `times` times, so that the ranks are known to be there.
static inline void await_output(const struct run *run, const char *text, int times)
{
    siginfo_t ended = {0};
    for (int i = 0; i < RUN_DEADLINE_MS / 5 && ended.si_pid == 0; i++) {
        waitid(P_PID, (id_t)run->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
        char *out = read_all(run->out, NULL);
        int count = 0;
        for (char *at = out; (at = strstr(at, text)) != NULL; at += strlen(text)) {
            count++;
        }
        free(out);
        if (count >= times) {
            return;
        }
        sleep_ms(5);
    }
    fail_msg("'%s' was not written %d times", text, times);
}

static inline void assert_output(const struct run *run, const char *out, const char *err)
{
    char *text = read_all(run->err, NULL);
    assert_string_equal(text, err);
    free(text);
    if (run->out >= 0) {
        text = read_all(run->out, NULL);
        assert_string_equal(text, out);
        free(text);
    }
}

// Waits for the end, and expects this of it.
static inline void end_with(struct run *run, int status, const char *out, const char *err)
{
    end_tern(run);
    assert_output(run, out, err);
    assert_int_equal(run->status, status);
    close_run(run);
}

// `tern` with arguments given one by one.
#define START(setting, ...)                                                                        \
    start_tern_list((setting), (char *const[]){(char *)"tern", __VA_ARGS__, NULL})

// Runs `tern run ...` to its end and checks exit status, standard output and standard error.
#define EXPECT(expected_status, out_text, err_text, ...)                                           \
    do {                                                                                           \
        struct setting no_setting = {0};                                                           \
        struct run run_here = START(&no_setting, __VA_ARGS__);                                     \
        end_tern(&run_here);                                                                       \
        assert_output(&run_here, (out_text), (err_text));                                          \
        assert_int_equal(run_here.status, (expected_status));                                      \
        close_run(&run_here);                                                                      \
    } while (0)

#endif
