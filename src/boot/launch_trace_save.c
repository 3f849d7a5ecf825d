// SPDX-License-Identifier: Apache-2.0
// The file made of what ranks have recorded, and what is said about it.

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/error.h"
#include "boot/launch_job.h"
#include "boot/launch_trace.h"
#include "tern/file.h"

static int write_trace(FILE *file, void *arg)
{
    const struct tern__trace_job *job = arg;
    return tern__trace_write(file, job->ranks, job->nranks, job->machines, NULL);
}

// What a rank has recorded and lost; threads that found no track count as one event.
static void count_events(const struct tern__trace_job *job, int rank, uint64_t *events,
                         uint64_t *lost)
{
    const struct tern__trace_rank *told = &job->ranks[rank];
    const struct tern__trace_track *track = told->tracks;
    *lost = job->lost_threads[rank];
    *events = 0;
    for (uint32_t i = 0; i < told->count; i++, track = tern__trace_rank_next(told, track)) {
        *events += tern__trace_rank_events(told, track);
        *lost += tern__peek(&track->lost);
    }
}

static void say_what_lacks(const struct tern__trace_job *job)
{
    uint64_t all = 0;
    uint64_t lost = 0;
    int most = 0;
    uint64_t most_lost = 0;
    for (int rank = 0; rank < job->nranks; rank++) {
        uint64_t events;
        uint64_t own;
        count_events(job, rank, &events, &own);
        all += events;
        lost += own;
        most = own > most_lost ? rank : most;
        most_lost = own > most_lost ? own : most_lost;
    }
    if (all == 0 && !job->incomplete) {
        tern__launch_say("the trace is empty: no rank has called tern_init\n");
    } else if (lost > 0) {
        tern__launch_say("the trace lacks the last %" PRIu64 " events, %" PRIu64
                         " of them of rank %d: it holds %u of a thread\n",
                         lost, most_lost, most, job->capacity);
    }
}

int tern__trace_save(struct tern__trace_job *job, const char *path,
                     const int status[TERN_RANKS_MAX])
{
    char endings[TERN_RANKS_MAX][32];
    for (int rank = 0; rank < job->nranks; rank++) {
        char *ending = endings[rank];
        job->ranks[rank].ending = ending;
        if (WIFSIGNALED(status[rank])) {
            snprintf(ending, sizeof endings[0], "killed by signal %d", WTERMSIG(status[rank]));
        } else if (WEXITSTATUS(status[rank]) != 0) {
            snprintf(ending, sizeof endings[0], "exit status %d", WEXITSTATUS(status[rank]));
        } else {
            job->ranks[rank].ending = NULL;
        }
    }
    if (tern_file_save(path, write_trace, job) != TERN_OK) {
        tern__launch_say("--trace: %s\n", tern_last_error());
        return 1;
    }
    say_what_lacks(job);
    return 0;
}
