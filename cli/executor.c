// SPDX-License-Identifier: Apache-2.0
// From an executor's source to a shared object that registers it.

#include "executor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel_cc.h"
#include "numbers.h"
#include "tern/plan.h"

int cli_take_ccl(const struct cli_command *command, struct cli_executor *executor,
                 const char *option, const char *text)
{
    executor->has_ccl_bytes = true;
    bool read = cli_read_bytes(text, strlen(text), TERN_PLAN_BYTES_MAX / 2, &executor->ccl_bytes);
    return read && executor->ccl_bytes > 0
               ? -1
               : cli_refuse(command,
                            "%s takes a number from 1 to 2^47, as 1000000 or 200M, not '%s'",
                            option, text);
}

static bool is_source(const char *file)
{
    static const char *const ends[] = {".cc", ".cpp", ".cxx", ".C"};
    const char *end = strrchr(file, '.');
    for (size_t i = 0; end != NULL && i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

// The compiler's own choice of a language standard; lines for who looks into a crash; calls with a
// null object reach the recorder, which knows what to say.
static int compile(struct kernel_job *job, const char *source, const char *to)
{
    static const char *const options[] = {
        "-shared", "-fPIC", "-O1", "-g", "-fno-delete-null-pointer-checks", "-pthread"};
    char words[1024];
    struct kernel_list command = {0};
    kernel_add_compiler(&command, words, sizeof words);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        kernel_add(&command, options[i]);
    }
    kernel_add_headers(job, &command);
    kernel_add(&command, source);
    kernel_add_library(job, &command, to);
    int status = kernel_run(job, &command);
    free(command.items);
    return status;
}

// What is there to be removed, for whoever ends this command: it lies there until it is recorded.
static struct {
    char library[sizeof((struct cli_executor *)NULL)->library];
    char folder[sizeof((struct cli_executor *)NULL)->folder];
    pid_t owner; // not its children
} kept;

static void remove_and_end(int number)
{
    if (kept.owner == getpid()) {
        unlink(kept.library);
        rmdir(kept.folder);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void keep(const struct cli_executor *executor)
{
    snprintf(kept.library, sizeof kept.library, "%s", executor->library);
    snprintf(kept.folder, sizeof kept.folder, "%s", executor->folder);
    kept.owner = getpid();
}

const char *cli_executor_build(const struct cli_command *command, struct cli_executor *executor)
{
    if (!is_source(executor->file)) {
        return executor->file;
    }
    struct kernel_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        fprintf(stderr, "tern %s: not enough memory\n", command->name);
        return NULL;
    }
    job->name = command->name;
    if (access(executor->file, R_OK) != 0) {
        fprintf(stderr, "tern %s: the executor '%s' cannot be read: %s\n", command->name,
                executor->file, strerror(errno));
    } else if (kernel_find_tern(job) && kernel_enter(job)) {
        snprintf(executor->folder, sizeof executor->folder, "%s", job->folder);
        snprintf(executor->library, sizeof executor->library, "%s/executor.so", job->folder);
        if (compile(job, executor->file, executor->library) != 0) {
            if (!kernel_is_told()) {
                fprintf(stderr, "tern %s: the executor '%s' does not compile\n", command->name,
                        executor->file);
            }
            cli_executor_remove(executor);
        }
        bool there = executor->library[0] != '\0';
        if (there) {
            keep(executor);
        }
        kernel_leave(there ? remove_and_end : SIG_DFL);
    }
    free(job);
    return executor->library[0] != '\0' ? executor->library : NULL;
}

void cli_executor_remove(struct cli_executor *executor)
{
    if (executor->library[0] != '\0') {
        unlink(executor->library);
        rmdir(executor->folder);
        executor->library[0] = '\0';
        kernel_handle_signals(SIG_DFL);
    }
}
