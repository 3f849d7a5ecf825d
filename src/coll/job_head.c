// SPDX-License-Identifier: Apache-2.0
// The head of a job on several machines has no control memory. Its children are the agents; those
// for hosts that are this machine are branches themselves (`tern run --branch`), and have some. The
// others are called `AGENT HOST tern run --branch`, which says where to look.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "coll/job_head.h"

#define WORDS_MAX 64

// The words of a process, in `text`; how many.
static int read_words(int pid, char *text, size_t size, const char *words[WORDS_MAX])
{
    size_t got = tern__process_words(pid, text, size);
    int count = 0;
    for (size_t at = 0; at < got && count < WORDS_MAX; at += strlen(text + at) + 1) {
        words[count++] = text + at;
    }
    return count;
}

// Whether a process is an agent or a branch: adds its host to `hosts`, where it names one.
static bool look_at_child(int pid, char *hosts, size_t size)
{
    char text[4096];
    const char *words[WORDS_MAX];
    int count = read_words(pid, text, sizeof text, words);
    if (count < 3 || strcmp(words[count - 1], "--branch") != 0 ||
        strcmp(words[count - 2], "run") != 0) {
        return false;
    }
    const char *host = count > 3 ? words[count - 4] : "this one";
    size_t used = strlen(hosts);
    if (used + strlen(host) + 8 < size) {
        snprintf(hosts + used, size - used, "%s%s", used > 0 ? ", " : "", host);
    } else if (used >= 3 && used + 6 < size && strcmp(hosts + used - 3, "...") != 0) {
        snprintf(hosts + used, size - used, ", ...");
    }
    return true;
}

// The job as the first of its branches on this machine sees it. False when there is none; then
// `hosts` has "a, b", the hosts on which branches are, and is "" when the process is no head.
static bool jobs_of_head(int pid, struct tern__jobs *jobs, char *hosts, size_t size)
{
    char path[64];
    int child;
    hosts[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && jobs->count == 0 && fscanf(file, "%d", &child) == 1) {
        // An error of one that has just ended is none of the whole.
        if (look_at_child(child, hosts, size) && tern__jobs_of_process(child, jobs) != TERN_OK) {
            jobs->count = 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return jobs->count > 0;
}

int tern__jobs_open(int pid, struct tern__jobs *jobs)
{
    char hosts[400];
    TERN_TRY(tern__jobs_of_process(pid, jobs));
    if (jobs->count > 0 || jobs_of_head(pid, jobs, hosts, sizeof hosts)) {
        return TERN_OK;
    }
    if (hosts[0] != '\0') {
        return tern__fail(
            TERN_ERR_STATE,
            "process %d is the head of a job on several machines, and none of them is "
            "this one, or its ranks have not come yet; `tern info --jobs` has the "
            "process to ask about on %s",
            pid, hosts);
    }
    return tern__fail(TERN_ERR_STATE,
                      "process %d is in no job of tern; give the process of `tern run`, or of a "
                      "rank between tern_init and tern_comm_destroy",
                      pid);
}
