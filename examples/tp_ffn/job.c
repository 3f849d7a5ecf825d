// SPDX-License-Identifier: Apache-2.0
// The ranks as one program (job.h).
#include "job.h"

#include <string.h>

#include <tern/put.h>
#include <tern/status.h>

// Two places: a rank that is one agreement ahead does not overwrite what others still read. It
// cannot be two ahead, because of the barrier between.
#define POSTS 2

int job_begin(struct job *job, int64_t timeout_ns, struct failure *failure)
{
    *job = (struct job){0};
    tern_options options = {.timeout_ns = timeout_ns};
    if (tern_init(&options, &job->comm) != TERN_OK) {
        job->comm = NULL;
        return fail_tern(failure, "the job cannot be joined");
    }
    job->rank = tern_comm_rank(job->comm);
    job->nranks = tern_comm_size(job->comm);
    if (tern_window_create(job->comm, POSTS * sizeof(struct failure), NULL, &job->board) !=
        TERN_OK) {
        job->board = NULL;
        return fail_tern(failure, "no window");
    }
    return 0;
}

int job_barrier(struct job *job, struct failure *failure)
{
    return tern_comm_barrier(job->comm) == TERN_OK ? 0
                                                   : fail_tern(failure, "the ranks cannot meet");
}

int job_agree(struct job *job, struct failure *failure)
{
    size_t place = job->posts++ % POSTS * sizeof(struct failure);
    if (tern_put(job->board, job->rank, place, failure, sizeof *failure) != TERN_OK) {
        return fail_tern(failure, "the ranks cannot agree");
    }
    if (job_barrier(job, failure) != 0) {
        return failure->exit_status;
    }
    int status = 0;
    for (int rank = 0; rank < job->nranks && status == 0; rank++) {
        struct failure post;
        if (tern_get(job->board, rank, place, &post, sizeof post) != TERN_OK) {
            return fail_tern(failure, "the ranks cannot agree");
        }
        status = post.exit_status;
        *failure = post;
    }
    job->agreed = job->agreed || status != 0;
    return status;
}

void job_end(struct job *job)
{
    tern_window_destroy(job->board);
    tern_comm_destroy(job->comm);
}
