// SPDX-License-Identifier: Apache-2.0
// tern_launch_branch: a launch of the ranks of one machine, as the head of the job says.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "boot/branch.h"
#include "boot/launch_job.h"
#include "tern/launch.h"

#define EXIT_NOT_STARTED 125

static int set_variables(const struct tern__assignment *assignment)
{
    for (int i = 0; i < assignment->nvariables; i++) {
        const char *variable = assignment->variables[i];
        const char *equals = strchr(variable, '=');
        char *name = equals != NULL ? strndup(variable, (size_t)(equals - variable)) : NULL;
        int failed = name == NULL || setenv(name, equals + 1, 1) != 0;
        free(name);
        if (failed) {
            return tern__fail(TERN_ERR_SYSTEM, "cannot set the variable '%.60s'", variable);
        }
    }
    return TERN_OK;
}

// False when the job cannot go on here; the head has been told.
static bool find_program(struct tern__branch *branch, struct tern__launch *job)
{
    const struct tern__assignment *assignment = branch->assignment;
    if (chdir(assignment->folder) != 0) {
        tern__branch_fail(branch, EXIT_NOT_STARTED, "cannot enter the folder '%.300s': %s",
                          assignment->folder, strerror(errno));
        return false;
    }
    int error = tern__program_find(assignment->args[0], job->path);
    if (error == ENOENT) {
        tern__branch_fail(branch, 127, "cannot find the program '%.300s'", assignment->args[0]);
    } else if (error != 0) {
        tern__branch_fail(branch, 126, "cannot execute '%.300s': %s", assignment->args[0],
                          strerror(error));
    }
    return error == 0;
}

static int run_branch(struct tern__branch *branch, const struct tern__assignment *assignment,
                      int *exit_status)
{
    TERN_TRY(set_variables(assignment));
    tern__launch_speak_as(assignment->speaker);
    TERN_TRY(tern__branch_join(branch, assignment));
    tern_launch_options options = {.nranks = assignment->nranks,
                                   .argv = assignment->args,
                                   .label = assignment->label != 0,
                                   .bind = assignment->bind != 0,
                                   .output =
                                       assignment->output[0] != '\0' ? assignment->output : NULL};
    struct tern__launch job = tern__launch_new(&options);
    job.branch = branch;
    *exit_status = 0;
    if (find_program(branch, &job) && tern__launch_run(&job, exit_status) < 0) {
        tern__branch_fail(branch, EXIT_NOT_STARTED, "%s", tern_last_error());
    }
    tern__branch_leave(branch, job.failure);
    return TERN_OK;
}

int tern_launch_branch(int *exit_status)
{
    struct tern__assignment assignment;
    struct tern__branch branch;
    void *memory;
    if (exit_status == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_launch_branch: exit_status is NULL");
    }
    TERN_TRY(tern__assignment_read(STDIN_FILENO, &assignment, &memory));
    int status = run_branch(&branch, &assignment, exit_status);
    free(memory);
    return status;
}
