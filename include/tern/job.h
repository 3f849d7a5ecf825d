// SPDX-License-Identifier: Apache-2.0
// Looking at a job from outside, while it runs or hangs: what `tern info --job` does, as a
// function. The ranks need not do anything for it, and it changes nothing in them.
#ifndef TERN_JOB_H
#define TERN_JOB_H

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_JOB_CALLS_MAX 64 // calls of a rank that are remembered

typedef enum tern_job_form {
    TERN_JOB_TEXT, // for people
    TERN_JOB_JSON, // one object
} tern_job_form;

// Reports on the job that process `pid` belongs to: the launcher (`tern run`), or any of its ranks.
// For each rank: its process, whether it lives, where it waits, and its last calls (`last` of them,
// 0 to TERN_JOB_CALLS_MAX): number, communicator, kind, bytes, algorithm, state, what it waits for,
// when it began and how long it took. A process that is in several jobs: all of them. *text is the
// caller's, to free(). Any thread. Of a job on several machines also what ranks of others do, as
// their machine has told last, and how old that is; `pid` may also be the head, when one of its
// branches is on this machine.
//
// Errors: TERN_ERR_ARG (no such process, or `last`), TERN_ERR_STATE (it belongs to no job, or to
// none any more), TERN_ERR_SYSTEM (a process of another user), TERN_ERR_MISMATCH (a job of another
// build of tern).
TERN_CALL int tern_job_report(int pid, int last, tern_job_form form, char **text);

// A list of the jobs of this user, for people: for each the process to ask about (its launcher, or
// the first of its ranks where nothing launched them), its ranks, its age, and the program. *text
// is the caller's, to free(). Any thread. Errors: TERN_ERR_SYSTEM (/proc cannot be read),
// TERN_ERR_MEMORY.
TERN_CALL int tern_job_list(char **text);

TERN_END_DECLS

#endif
