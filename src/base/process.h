// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes. Set-up path, and reports.
#ifndef TERN_BASE_PROCESS_H
#define TERN_BASE_PROCESS_H

#include <stdint.h>

// The state of a process as /proc/PID/stat has it ('R', 'S', 'T', 'Z', …), 0 when there is no such.
char tern__process_state(int pid);

// The inode of this process's pid namespace, 0 if unknown: numbers of processes mean the same
// processes where it is the same.
uint64_t tern__pid_space(void);

#endif
