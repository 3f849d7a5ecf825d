// SPDX-License-Identifier: Apache-2.0
// Telling errors at the edge of the library. Error path.

#include "base/public.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/options.h"

static _Thread_local int depth; // public calls that this thread is in, of those that make others
static _Thread_local int told;  // TERN_OK: nothing

// -1: a word that there is not.
static int errors_are_fatal(void)
{
    const char *word = getenv("TERN_ERRORS");
    if (word == NULL || *word == '\0' || strcmp(word, "return") == 0) {
        return 0;
    }
    return strcmp(word, "fatal") == 0 ? 1 : -1;
}

int tern__public_options(void)
{
    enum tern__dump dump;
    uint64_t direct;
    TERN_TRY(tern__log_option());
    TERN_TRY(tern__dump_option(&dump));
    TERN_TRY(tern__direct_option(&direct));
    return errors_are_fatal() >= 0
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "TERN_ERRORS is '%.40s'; it must be return or fatal",
                            getenv("TERN_ERRORS"));
}

void tern__public_told(int status)
{
    told = status;
}

void tern__public_enter(void)
{
    depth++;
}

void tern__public_leave(void)
{
    depth--;
}

// No atexit functions: they might call tern, or wait for a thread that is in the middle of
// something. What is buffered for standard output is still written unless another thread is writing
// it.
static _Noreturn void end_process(const char *call, int status, const char *sentence)
{
    char rank[32] = "";
    char line[TERN_ERROR_BYTES + 256];
    if (tern__log_rank() >= 0) {
        snprintf(rank, sizeof rank, "rank %d: ", tern__log_rank());
    }
    int length =
        snprintf(line, sizeof line, "tern: %s%s: %s: %s (TERN_ERRORS=fatal: exit status %d)\n",
                 rank, call, tern_status_name(status), sentence, TERN__EXIT_FATAL);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; // nobody to tell
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
    }
    _exit(TERN__EXIT_FATAL);
}

static const char *(*_Atomic find_place)(void);

void tern__public_find_place(const char *(*find)(void))
{
    atomic_store(&find_place, find);
}

void tern__public_failed(const char *call, int status)
{
    if (depth > 0) {
        return;
    }
    const char *(*find)(void) = atomic_load(&find_place);
    const char *place = find != NULL ? find() : NULL;
    if (place != NULL) {
        tern__set_error("%s: %s", place, tern_last_error());
    }
    bool again = told == status;
    told = TERN_OK;
    // Many sentences begin with the name of the call.
    const char *sentence = tern_last_error();
    size_t length = strlen(call);
    if (strncmp(sentence, call, length) == 0 && strncmp(sentence + length, ": ", 2) == 0) {
        sentence += length + 2;
    }
    if (errors_are_fatal() > 0) {
        end_process(call, status, sentence);
    }
    if (!again) {
        tern__log(TERN__LOG_ERROR, "%s: %s: %s", call, tern_status_name(status), sentence);
    }
}
