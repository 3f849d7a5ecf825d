// SPDX-License-Identifier: Apache-2.0
// Where a process hangs: what a test says of one before it kills it.
#ifndef TERN_TEST_SUPPORT_STACK_H
#define TERN_TEST_SUPPORT_STACK_H

#include <sys/types.h>

// This process, and those that it forks, write their stack to standard error when asked.
void stack_listen(void);

// Of a child that listens: how long it has run, what it waits for in the kernel, and its stack, to
// standard error. A child that does not answer within a second has no stack there.
void stack_ask(pid_t child);

#endif
