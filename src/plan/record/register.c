// SPDX-License-Identifier: Apache-2.0
// The executors that a shared object registers while it is loaded, and the run of one of them.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "plan/record/record.h"

#define EXECUTORS_MAX 64
#define NAME_BYTES 128

// Of this process: whoever loads a shared object is its child, or a program that has it linked in.
static struct {
    char name[NAME_BYTES];
    tern_record_drive *drive;
} executors[EXECUTORS_MAX];
static int executors_count;

static int add_executor(const char *name, tern_record_drive *drive)
{
    if (name == NULL || drive == NULL || name[0] == '\0' || strlen(name) >= NAME_BYTES) {
        return tern__fail(TERN_ERR_ARG, "an executor needs a name of at most %d bytes",
                          NAME_BYTES - 1);
    }
    for (int i = 0; i < executors_count; i++) {
        if (strcmp(executors[i].name, name) == 0) {
            return tern__fail(TERN_ERR_STATE, "the executor '%s' is registered already", name);
        }
    }
    if (executors_count == EXECUTORS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "more than %d executors", EXECUTORS_MAX);
    }
    snprintf(executors[executors_count].name, NAME_BYTES, "%s", name);
    executors[executors_count++].drive = drive;
    return TERN_OK;
}

int tern_record_register(const char *name, tern_record_drive *drive)
{
    return TERN__CALL(add_executor(name, drive));
}

// The one that is asked for; -1 after a finding.
static int find_executor(const char *name, const char *library)
{
    char all[512] = "";
    size_t used = 0;
    for (int i = 0; i < executors_count; i++) {
        if (name != NULL ? strcmp(executors[i].name, name) == 0 : executors_count == 1) {
            return i;
        }
        if (used + NAME_BYTES + 4 < sizeof all) {
            used += (size_t)snprintf(all + used, sizeof all - used, "%s'%s'", i > 0 ? ", " : "",
                                     executors[i].name);
        }
    }
    if (executors_count == 0) {
        tern__record_finding(TERN_ERR_ARG, "%s registers no executor; it needs REGISTER_EXEC",
                             library);
    } else if (name == NULL) {
        tern__record_finding(TERN_ERR_ARG, "%s registers several executors: %s; which of them?",
                             library, all);
    } else {
        tern__record_finding(TERN_ERR_ARG, "%s registers no executor '%s', but %s", library, name,
                             all);
    }
    return -1;
}

// What the executor itself has to say about its failure: the call that failed, its own words.
static int refused(const struct recording *recording, int result)
{
    return tern__record_finding(TERN_ERR_ARG, "%s%s%s%s", recording->returned,
                                recording->returned[0] == '\0' ? "the executor has failed" : "",
                                recording->said[0] != '\0' ? ": " : "",
                                recording->said[0] != '\0' ? recording->said
                                : result == TERN_ERR_ARG   ? ""
                                                           : tern_last_error());
}

int tern__record_drive(struct recording *recording)
{
    tern__recording = recording;
    // The object stays: places of tasks are its strings.
    if (dlopen(recording->request.library, RTLD_NOW | RTLD_LOCAL) == NULL) {
        return tern__record_finding(TERN_ERR_ARG, "the executor cannot be loaded: %s", dlerror());
    }
    const tern_record_request *request = &recording->request;
    int found = find_executor(request->executor,
                              request->source != NULL ? request->source : request->library);
    if (found < 0) {
        return recording->status;
    }
    recording->request.executor = executors[found].name;
    for (int rank = 0; rank < recording->nranks && recording->findings == 0; rank++) {
        tern__record_set_call(recording, rank);
        int status = executors[found].drive(&recording->call);
        if (status != TERN_OK && recording->findings == 0) {
            return refused(recording, status);
        }
    }
    return recording->findings == 0 ? TERN_OK : recording->status;
}
