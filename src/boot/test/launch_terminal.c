// SPDX-License-Identifier: Apache-2.0
// Rank 0 keeps the terminal: it reads it, is in its foreground group, may hand it to a process
// group of its own as a debugger does, and is left alone with Ctrl-C if it handles that and has not
// joined the job. Each run is the leader of a session with a pseudo-terminal.

#include "launch_run.h"

#include <sys/ioctl.h>
#include <termios.h>

struct session {
    pid_t pid;
    int master;
    char text[8192]; // what has been written to the terminal
    size_t length;
};

// Skips the test where there are no pseudo-terminals.
static struct session start_session(const char *mode)
{
    struct session session = {.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    if (session.master < 0 || grantpt(session.master) != 0 || unlockpt(session.master) != 0) {
        print_message("left out: this machine has no pseudo-terminals (/dev/pts)\n");
        close(session.master);
        skip();
    }
    session.pid = fork();
    assert_true(session.pid >= 0);
    if (session.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (int number = 1; number < 32; number++) {
            signal(number, SIG_DFL);
        }
        setsid();
        int terminal = open(ptsname(session.master), O_RDWR);
        struct winsize size = {.ws_row = 33, .ws_col = 77};
        if (ioctl(terminal, TIOCSCTTY, 0) != 0 || ioctl(terminal, TIOCSWINSZ, &size) != 0) {
            _exit(98);
        }
        for (int fd = 0; fd < 3; fd++) {
            dup2(terminal, fd);
        }
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execl(TERN_PATH, "tern", "run", "-n", "2", self_path(), "rank", mode, (char *)NULL);
        _exit(99);
    }
    return session;
}

static void type(const struct session *session, const char *keys)
{
    assert_int_equal(write(session->master, keys, strlen(keys)), strlen(keys));
}

// Reads what is on the terminal until the words are there.
static void await_words(struct session *session, const char *words)
{
    int64_t deadline_ns = tern__deadline_after(RUN_DEADLINE_MS * TERN_NS_PER_MS);
    while (strstr(session->text, words) == NULL && tern__now_ns() < deadline_ns) {
        struct pollfd ready = {.fd = session->master, .events = POLLIN};
        if (poll(&ready, 1, 100) == 1) {
            ssize_t got = read(session->master, session->text + session->length,
                               sizeof session->text - 1 - session->length);
            if (got <= 0) {
                break;
            }
            session->length += (size_t)got;
        }
    }
    if (strstr(session->text, words) == NULL) {
        kill(session->pid, SIGKILL);
        fail_msg("'%s' is not on the terminal, but: %s", words, session->text);
    }
}

static int end_session(struct session *session)
{
    int status = -1;
    pid_t pid = 0;
    for (int i = 0; i < RUN_DEADLINE_MS / 5 && pid == 0; i++) {
        pid = waitpid(session->pid, &status, WNOHANG);
        sleep_ms(pid == 0 ? 5 : 0);
    }
    if (pid == 0) {
        kill(session->pid, SIGKILL);
        waitpid(session->pid, NULL, 0);
        fail_msg("tern did not end; on the terminal: %s", session->text);
    }
    close(session->master);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void rank_0_reads_the_terminal_and_knows_its_size(void **state)
{
    struct session session = start_session("read");
    await_words(&session, "0: 33 by 77, in the foreground");
    await_words(&session, "1: no terminal");
    type(&session, "some words\n");
    await_words(&session, "0: got some words");
    assert_int_equal(end_session(&session), 0);
}

static void an_interrupt_ends_the_job(void **state)
{
    struct session session = start_session("read");
    await_words(&session, "0: 33 by 77");
    await_words(&session, "1: no terminal");
    type(&session, "\003");
    await_words(&session, "ended by signal 2 (Interrupt)");
    assert_int_equal(end_session(&session), 130);
}

static void a_debugger_keeps_its_interrupts(void **state)
{
    struct session session = start_session("debug");
    await_words(&session, "0: ready");
    await_words(&session, "1: no terminal");
    type(&session, "\003");
    await_words(&session, "0: interrupted");
    type(&session, "run\n");
    await_words(&session, "inferior: runs");
    type(&session, "\003");
    await_words(&session, "0: inferior ended by signal 2");
    type(&session, "quit\n");
    await_words(&session, "0: quits");
    assert_int_equal(end_session(&session), 0);
}

static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
    (void)number;
    interrupts++;
}

// A process group of its own gets the terminal, as a debugger does it.
static void run_inferior(void)
{
    signal(SIGTTOU, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        setpgid(0, 0);
        tcsetpgrp(0, getpid());
        puts("inferior: runs");
        fflush(stdout);
        sleep_ms(RUN_DEADLINE_MS);
        _exit(1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    tcsetpgrp(0, getpgrp());
    printf("0: inferior ended by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static int rank_debugs(void)
{
    char line[64];
    // ThreadSanitizer loses a signal that comes during the first call that may block.
    poll(NULL, 0, 0);
    signal(SIGINT, on_interrupt);
    puts("0: ready");
    for (;;) {
        struct pollfd typed = {.fd = 0, .events = POLLIN};
        fflush(stdout);
        if (interrupts > 0) {
            puts("0: interrupted");
            interrupts = 0;
        }
        if (poll(&typed, 1, 20) != 1) { // an interrupt may come just before it
            continue;
        }
        ssize_t got = read(0, line, sizeof line - 1);
        if (got <= 0 || strncmp(line, "quit", 4) == 0) {
            puts("0: quits");
            return got > 0 ? 0 : 1;
        }
        run_inferior();
    }
}

static int rank_reads(void)
{
    struct winsize size = {0};
    char line[64] = "";
    ioctl(0, TIOCGWINSZ, &size);
    printf("0: %d by %d, %s\n", size.ws_row, size.ws_col,
           tcgetpgrp(0) == getpgrp() ? "in the foreground" : "in the background");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL) {
        return 1;
    }
    printf("0: got %s", line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0) {
        const char *rank = getenv("TERN_RANK");
        if (rank != NULL && strcmp(rank, "0") == 0) {
            return strcmp(argv[2], "debug") == 0 ? rank_debugs() : rank_reads();
        }
        puts(isatty(0) ? "1: a terminal" : "1: no terminal");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_reads_the_terminal_and_knows_its_size),
        cmocka_unit_test(an_interrupt_ends_the_job),
        cmocka_unit_test(a_debugger_keeps_its_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
