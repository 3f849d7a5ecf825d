// SPDX-License-Identifier: Apache-2.0
// `tern example rank`: the order of what a rank does, and its lines.

#include "example/rank.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "example/example.h"

void rank_say(const struct rank_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("[rank %d] ", job->rank);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

int rank_fail(const struct rank_job *job, int status, const char *format, ...)
{
    va_list arguments;
    char sentence[1200]; // tern_last_error() has less than 1024
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    rank_say(job, "%s", sentence);
    return status;
}

static int join(struct rank_job *job)
{
    if (tern_init(NULL, &job->comm) != TERN_OK) {
        return rank_fail(job, RANK_EXIT_COMM, "%s", tern_last_error());
    }
    job->rank = tern_comm_rank(job->comm);
    rank_say(job, "Library loaded");
    if (tern_comm_size(job->comm) != job->nranks) {
        return rank_fail(job, RANK_EXIT_WRONG,
                         "--nranks is %ld, and 'tern run' has started %d ranks", job->nranks,
                         tern_comm_size(job->comm));
    }
    if (set_device(job->rank) != 0) {
        return rank_fail(job, RANK_EXIT_COMM, "set_device: %s", tern_last_error());
    }
    rank_say(job, "Device %d set for runtime", job->rank);
    return 0;
}

static int leave(struct rank_job *job)
{
    rank_release(job);
    int status = tern_window_destroy(job->ends);
    if (status == TERN_OK) {
        status = tern_window_destroy(job->window);
    }
    if (status == TERN_OK) {
        status = tern_comm_destroy(job->comm);
    }
    if (status != TERN_OK) {
        return rank_fail(job, RANK_EXIT_COMM, "%s", tern_last_error());
    }
    rank_say(job, "Done");
    return 0;
}

int cli_example_rank(int argc, char **argv)
{
    static struct rank_job job;
    const char *rank = getenv("TERN_RANK");
    int status = rank_read_options(argc, argv, &job);
    if (status >= 0) {
        return status == CLI_EXIT_USAGE ? RANK_EXIT_WRONG : status;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);   // a rank that is killed has said what it did
    dup2(STDOUT_FILENO, STDERR_FILENO); // one log: through two pipes, lines would change places
    job.rank = rank != NULL ? atoi(rank) : 0;
    status = join(&job);
    if (status == 0) {
        status = rank_place(&job);
    }
    if (status == 0) {
        status = rank_run(&job);
    }
    if (status == 0) {
        status = rank_save(&job);
    }
    // What a rank that fails leaves behind ends with its process: a kernel may still use it.
    return status == 0 ? leave(&job) : status;
}
