// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes. Set-up path, and reports.
#ifndef TERN_BASE_PROCESS_H
#define TERN_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern__process {
    char state; // 'R', 'S', 'T', 'Z', …
    int parent;
    int threads;
    bool ends; // it is on its way out: from there on nothing of it can be looked at
    int64_t age_ns;
    int64_t worked_ns; // on processors, all its threads together, in steps of 10 ms
    uint64_t started; // when, in ticks since the machine started: with the number, what names it
};

// What /proc/PID/stat says. False when there is no such process.
bool tern__process_look(int pid, struct tern__process *process);

// The words of its command line, each ended by a NUL, and one more NUL behind them. How many bytes
// before that; 0 when there is no such process.
size_t tern__process_words(int pid, char *text, size_t size);

// Its state alone, 0 when there is no such process.
char tern__process_state(int pid);

// Whether a descendant of a process runs or wants to: not one that sleeps. Looks through all of
// /proc.
bool tern__descendants_run(int ancestor);

// Whether the kernel is writing the core of a process. Until that is done it is neither gone nor
// are its files closed, so nothing else tells that it has crashed. About 20 us.
bool tern__process_dumps(int pid);

// Whether a process has a handler of its own for a signal.
bool tern__process_catches(int pid, int signal);

// Whether processes with the limits of this one can write a core: a file (ulimit -c), or into a
// program.
bool tern__dumps_happen(void);

// The inode of this process's pid namespace, 0 if unknown: numbers of processes mean the same
// processes where it is the same.
uint64_t tern__pid_space(void);

#endif
