// SPDX-License-Identifier: Apache-2.0
// A bad address, a division by zero, abort() and the like get a sentence before they end the
// process, from whoever knows what the thread was at; then they go on as they would have: to the
// handler that was there, or to the end. All here is allowed in a handler of a signal.
#ifndef TERN_BASE_FAULT_H
#define TERN_BASE_FAULT_H

#include <signal.h>
#include <stdint.h>

struct tern__fault {
    int number; // SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT
    const siginfo_t *info;
    uintptr_t stack_pointer; // where it came; 0: not known
    size_t used;
    char text[400];
};

// The sentence grows; what does not fit is left out.
void tern__fault_add(struct tern__fault *fault, const char *words);
void tern__fault_add_number(struct tern__fault *fault, uint64_t number);

// Begins the sentence: "tern: ", and "rank 3: " where the process has one.
void tern__fault_begin(struct tern__fault *fault);

// Says what the signal says: "no memory to use at address 0x10".
void tern__fault_describe(struct tern__fault *fault);

// Adds a sentence, with its end of line, or nothing.
typedef void tern__fault_say(struct tern__fault *fault);

// Faults are told to `say`, from the first call to its last one's partner, tern__fault_unwatch, or
// to the end of the process or of the library in it.
void tern__fault_watch(tern__fault_say *say);
void tern__fault_unwatch(tern__fault_say *say);

#endif
