// SPDX-License-Identifier: Apache-2.0
// What the head of a job on several machines tells the launcher of each: on the standard input of
// the agent that starts it, so that no other user sees the token, and no shell changes a word.
// What follows there is the standard input of rank 0. Set-up path.
#ifndef TERN_BOOT_ASSIGNMENT_H
#define TERN_BOOT_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#include "sync/machines.h"

#define TERN__ASSIGNMENT_BYTES_MAX (4u << 20)

struct tern__assignment {
    uint8_t token[16]; // of the job
    int32_t machine;   // which of them this is
    int32_t machines;
    int32_t nranks; // of the job; those here are first .. first + count - 1
    int32_t first;
    int32_t count;
    int32_t label; // whether output is labelled
    int32_t bind;  // whether ranks are bound to processors
    int32_t trace; // whether ranks record, for the head to write
    int32_t told;  // the addresses of the head were given by the user, so no others are tried
    uint32_t port; // of the head
    int32_t nargs;
    int32_t nvariables;
    // Strings.
    const char *host;       // what this machine is called
    const char *folder;     // the working folder
    const char *output;     // for the files of ranks; "": none
    const char *speaker;    // what lines of the launcher begin with
    const char *addresses;  // of the head
    char *const *args;      // nargs of them, and NULL
    char *const *variables; // NAME=VALUE, nvariables of them, and NULL
};

// As bytes, to be freed. TERN_ERR_MEMORY, TERN_ERR_ARG when they are too many.
int tern__assignment_write(const struct tern__assignment *assignment, char **bytes, size_t *size);

// Reads one, and nothing behind it. *memory, to be freed, holds the strings. TERN_ERR_PEER at the
// end of file, TERN_ERR_REFUSED for something else.
int tern__assignment_read(int fd, struct tern__assignment *assignment, void **memory);

#endif
