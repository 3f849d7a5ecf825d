// SPDX-License-Identifier: Apache-2.0
// --runtime of tern kernel-cc: the chip runtimes by name, and where the headers of one lie.

#include <stdio.h>
#include <string.h>

#include "kernel_cc.h"

static const char *const names[] = {
    "host_build_graph",         "aicpu_build_graph",
    "tensormap_and_ringbuffer", "april/host_build_graph",
    "april/aicpu_build_graph",  "april/tensormap_and_ringbuffer",
    "august/host_build_graph",  "august/tensormap_and_ringbuffer",
};

int kernel_take_runtime(struct kernel_job *job, char **argv, int left)
{
    static const char option[] = "--runtime";
    const size_t length = sizeof option - 1;
    if (strncmp(argv[0], option, length) != 0 ||
        (argv[0][length] != '\0' && argv[0][length] != '=')) {
        return 0;
    }
    bool apart = argv[0][length] == '\0';
    job->runtime = !apart ? argv[0] + length + 1 : left > 1 ? argv[1] : "";
    return apart && left > 1 ? 2 : 1;
}

bool kernel_check_runtime(const struct kernel_job *job)
{
    bool known = job->runtime == NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = strcmp(job->runtime, names[i]) == 0;
    }
    if (!known) {
        fprintf(stderr,
                "tern kernel-cc: there is no runtime '%s': host_build_graph, aicpu_build_graph, "
                "tensormap_and_ringbuffer, or one of them behind april/, or the first or last "
                "behind august/\n",
                job->runtime);
    }
    return known;
}

void kernel_add_runtime(struct kernel_job *job, struct kernel_list *command)
{
    if (job->runtime == NULL) {
        return;
    }
    snprintf(job->runtime_folder, sizeof job->runtime_folder, "%s/simpler/%s", job->faces,
             job->runtime);
    kernel_add(command, "-isystem");
    kernel_add(command, job->runtime_folder);
    snprintf(job->runtimes_folder, sizeof job->runtimes_folder, "%s/simpler", job->faces);
    const char *behind = strchr(job->runtime, '/');
    if (behind != NULL) { // what all runtimes of one date have
        snprintf(job->date_folder, sizeof job->date_folder, "%s/%.*s", job->runtimes_folder,
                 (int)(behind - job->runtime), job->runtime);
        kernel_add(command, "-isystem");
        kernel_add(command, job->date_folder);
    }
    kernel_add(command, "-isystem");
    kernel_add(command, job->runtimes_folder);
    kernel_add(command, "-include");
    kernel_add(command, "simpler/tern/kernel.hpp");
    // By which a source that is for several knows: TERN_RUNTIME_april_host_build_graph.
    snprintf(job->runtime_macro, sizeof job->runtime_macro, "-DTERN_RUNTIME_%s", job->runtime);
    char *slash = strchr(job->runtime_macro, '/');
    if (slash != NULL) {
        *slash = '_';
    }
    kernel_add(command, job->runtime_macro);
}
