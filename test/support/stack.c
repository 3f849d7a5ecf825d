// SPDX-License-Identifier: Apache-2.0
// The stack of a process that hangs, written by itself: no debugger is needed.

#include "support/stack.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 64, NUMBER = SIGUSR2 };

static void write_stack(int number)
{
    void *frames[FRAMES];
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
}

void stack_listen(void)
{
    struct sigaction action = {.sa_handler = write_stack, .sa_flags = SA_RESTART};
    void *frame;
    backtrace(&frame, 1); // loads what it needs, which a handler must not
    sigaction(NUMBER, &action, NULL);
}

// The text of a file of the process in /proc.
static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    size_t got = file != NULL ? fread(text, 1, size - 1, file) : 0;
    text[got] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}

// The process that holds this one by ptrace, as LeakSanitizer does at the end, and how that one is.
static void say_tracer(pid_t pid)
{
    char status[2048];
    char waits[64];
    int tracer = 0;
    read_proc(pid, "status", status, sizeof status);
    const char *line = strstr(status, "TracerPid:");
    if (line == NULL || sscanf(line, "TracerPid: %d", &tracer) != 1 || tracer == 0) {
        return;
    }
    read_proc(tracer, "status", status, sizeof status);
    read_proc(tracer, "wchan", waits, sizeof waits);
    line = strstr(status, "State:");
    fprintf(stderr, "process %d traces it: state %.1s, in the kernel at '%s'\n", tracer,
            line != NULL ? line + strlen("State:\t") : "?", waits);
}

void stack_ask(pid_t child)
{
    char stat[512];
    char waits[64];
    char state = '?';
    unsigned long user = 0;
    unsigned long kernel = 0;
    int threads = 0;
    read_proc(child, "stat", stat, sizeof stat);
    read_proc(child, "wchan", waits, sizeof waits);
    const char *after = strrchr(stat, ')'); // of the name, which may have any characters
    if (after != NULL) {
        sscanf(after, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %d",
               &state, &user, &kernel, &threads);
    }
    double ticks = (double)sysconf(_SC_CLK_TCK);
    fprintf(stderr,
            "process %d: state %c, in the kernel at '%s', %d threads, %.2f s of processor time, of "
            "which %.2f s in the kernel; its stack:\n",
            (int)child, state, waits, threads, (double)(user + kernel) / ticks,
            (double)kernel / ticks);
    say_tracer(child);
    kill(child, NUMBER);
    struct timespec second = {.tv_sec = 1};
    nanosleep(&second, NULL);
}
