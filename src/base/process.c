// SPDX-License-Identifier: Apache-2.0
// Reads /proc.

#include "base/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FLAG_EXITING 0x4u // PF_EXITING of the kernel
#define GENERATIONS 64    // that are looked through for an ancestor

bool tern__process_look(int pid, struct tern__process *process)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = '\0';
    const char *end = strrchr(line, ')'); // the name before it may hold anything
    unsigned flags;                       // the 9th value
    unsigned long long user;              // the 14th value, in ticks
    unsigned long long system;            // the 15th
    unsigned long long started;           // the 22nd value, in ticks since the machine started
    if (end == NULL ||
        sscanf(end,
               ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
               "%d %*d %llu",
               &process->state, &process->parent, &flags, &user, &system, &process->threads,
               &started) != 7) {
        return false;
    }
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    process->ends = (flags & FLAG_EXITING) != 0;
    int64_t tick_ns = TERN_NS_PER_SECOND / sysconf(_SC_CLK_TCK);
    process->started = started;
    process->age_ns =
        (int64_t)now.tv_sec * TERN_NS_PER_SECOND + now.tv_nsec - (int64_t)started * tick_ns;
    process->worked_ns = (int64_t)(user + system) * tick_ns;
    return true;
}

size_t tern__process_words(int pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t got = file != NULL ? fread(text, 1, size - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[got] = '\0';
    return got;
}

char tern__process_state(int pid)
{
    struct tern__process process;
    return tern__process_look(pid, &process) ? process.state : '\0';
}

static bool descends(int parent, int ancestor)
{
    struct tern__process process = {.parent = parent};
    for (int depth = 0; depth < GENERATIONS && process.parent > 1; depth++) {
        if (process.parent == ancestor) {
            return true;
        }
        if (!tern__process_look(process.parent, &process)) {
            return false;
        }
    }
    return false;
}

bool tern__descendants_run(int ancestor)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        struct tern__process process;
        found = atoi(entry->d_name) > 0 && tern__process_look(atoi(entry->d_name), &process) &&
                (process.state == 'R' || process.state == 'D') &&
                descends(process.parent, ancestor);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

// What /proc/PID/status says after a key at the beginning of a line; "" when there is none.
static const char *status_word(int pid, const char *key, char text[4096])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return "";
    }
    size_t got = fread(text, 1, 4095, file);
    fclose(file);
    text[got] = '\0';
    const char *line = strstr(text, key);
    return line != NULL ? line + strlen(key) : "";
}

bool tern__process_dumps(int pid)
{
    char text[4096];
    return status_word(pid, "\nCoreDumping:\t", text)[0] == '1'; // since Linux 4.15
}

bool tern__process_catches(int pid, int signal)
{
    char text[4096];
    return strtoull(status_word(pid, "\nSigCgt:\t", text), NULL, 16) >> (signal - 1) & 1;
}

bool tern__dumps_happen(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 0) {
        return true;
    }
    // A program at the other end of a pipe or socket gets the core whatever the limit is.
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "re");
    int first = file != NULL ? fgetc(file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return first == '|' || first == '@';
}

uint64_t tern__pid_space(void)
{
    struct stat space;
    return stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
}
