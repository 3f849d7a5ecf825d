// SPDX-License-Identifier: Apache-2.0
// The exit status of a launch, and the one line that explains it.

#include "boot/launch_job.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/hosts.h"
#include "boot/hub.h"

#define SAY_WITHIN_MS 100
#define LAG_LOOK_NS (400 * TERN_NS_PER_MS)
// All ranks ended well, but a communicator had failed.
#define EXIT_COMM_FAILED 123

// What lines begin with. A launching process has a single thread, and one job at a time.
static const char *speaker = "tern run";

void tern__launch_speak_as(const char *name)
{
    speaker = name != NULL ? name : "tern run";
}

void tern__launch_say(const char *format, ...)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, SAY_WITHIN_MS) <= 0) {
        return;
    }
    char line[2 * PATH_MAX + 256];
    va_list arguments;
    va_start(arguments, format);
    int length = snprintf(line, sizeof line, "%.40s: ", speaker);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}

// " (on b)" in a job on several machines.
struct host_words {
    char text[TERN__MACHINE_NAME_BYTES + 8];
};

static struct host_words host_of(const struct tern__launch *job, int rank)
{
    struct host_words words = {""};
    if (job->hosts != NULL) {
        snprintf(words.text, sizeof words.text, " (on %s)",
                 job->hosts->list[tern__hosts_of(job->hosts, rank)].name);
    }
    return words;
}

// Says how the first rank that failed ended. Returns the exit status of the launch.
static int report_rank(const struct tern__launch *job, int rank)
{
    int status = job->procs.status[rank];
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        const char *in_call = job->in_call[rank];
        tern__launch_say("rank %d%s was killed by signal %d (%s)%s%s\n", rank,
                         host_of(job, rank).text, number, strsignal(number),
                         in_call[0] != '\0' ? " in " : "", in_call);
        return 128 + number;
    }
    if (WEXITSTATUS(status) != 0) {
        tern__launch_say("rank %d%s exited with status %d\n", rank, host_of(job, rank).text,
                         WEXITSTATUS(status));
        return WEXITSTATUS(status);
    }
    tern__launch_say("rank %d%s ended without tern_comm_destroy\n", rank, host_of(job, rank).text);
    return 1;
}

static bool is_program(const char *path)
{
    struct stat state;
    return stat(path, &state) == 0 && S_ISREG(state.st_mode) && access(path, X_OK) == 0;
}

// Whether one word becomes the other when one letter is dropped, put in or replaced, or two
// neighbours are swapped.
static bool is_near(const char *word, const char *other)
{
    while (*word != '\0' && *word == *other) {
        word++;
        other++;
    }
    bool swapped =
        word[0] != '\0' && other[0] != '\0' && word[0] == other[1] && word[1] == other[0];
    return (word[0] != '\0' && strcmp(word + 1, other) == 0) ||
           (other[0] != '\0' && strcmp(word, other + 1) == 0) ||
           (word[0] != '\0' && other[0] != '\0' && strcmp(word + 1, other + 1) == 0) ||
           (swapped && strcmp(word + 2, other + 2) == 0);
}

// A program with a name near to that of a path, in the same folder. False when there is none.
static bool look_near(const char *name, char path[PATH_MAX])
{
    const char *word = strrchr(name, '/') + 1;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(word - name), name);
    DIR *dir = opendir(folder);
    bool found = false;
    // Nearly any two words of one or two letters are near.
    bool looks = dir != NULL && strlen(word) > 2;
    for (struct dirent *entry; looks && !found && (entry = readdir(dir)) != NULL;) {
        int written = snprintf(path, PATH_MAX, "%s%s", folder, entry->d_name);
        found = is_near(word, entry->d_name) && written < PATH_MAX && is_program(path);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

// Where a program is that was given by its bare name and is not in PATH: in this folder, in the
// folder of a build, or beside the launcher. False when it is in none.
static bool look_elsewhere(const char *name, char path[PATH_MAX])
{
    char self[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? strrchr(self, '/') : NULL;
    if (slash != NULL) {
        *slash = '\0';
    }
    const char *folders[] = {".", "build/release/bin", slash != NULL ? self : "."};
    for (size_t i = 0; i < 3; i++) {
        int written = snprintf(path, PATH_MAX, "%s/%s", folders[i], name);
        if (written < PATH_MAX && is_program(path)) {
            return true;
        }
    }
    return false;
}

// Why the program cannot be executed. 127 when there is none, as in a shell, else 126.
int tern__launch_report_program(const char *name, int error)
{
    if (error == ENOENT) {
        char path[PATH_MAX];
        bool found = strchr(name, '/') != NULL ? look_near(name, path) : look_elsewhere(name, path);
        if (found) {
            tern__launch_say("cannot find the program '%s'; did you mean '%s'?\n", name, path);
        } else {
            tern__launch_say("cannot find the program '%s'\n", name);
        }
        return 127;
    }
    tern__launch_say("cannot execute '%s': %s\n", name, strerror(error));
    return 126;
}

int tern__launch_cause(const struct tern__launch *job, char *text, size_t size)
{
    switch (job->cause) {
    case CAUSE_TIMEOUT:
        snprintf(text, size, "ended after the timeout of %g s",
                 (double)job->options->timeout_ns / (double)TERN_NS_PER_SECOND);
        return 124;
    case CAUSE_EXEC: // the program was found: ENOENT then means what its first line or header names
        snprintf(text, size, "cannot execute '%.300s': %s", job->options->argv[0],
                 job->error == ENOENT ? "its interpreter is missing" : strerror(job->error));
        return 126;
    case CAUSE_OUTPUT:
        snprintf(text, size, "ended because its output cannot be written: %s",
                 strerror(job->error));
        return job->error == EPIPE ? 128 + SIGPIPE : 1;
    case CAUSE_GUARDIAN:
        snprintf(text, size, "ended because its guardian process was killed");
        return 128 + SIGKILL;
    case CAUSE_HOST:
        snprintf(text, size, "%s", job->host_text);
        return job->host_status;
    case CAUSE_SIGNAL:
    case CAUSE_RANK:
    case CAUSE_HEAD:
    case CAUSE_NONE:
        break;
    }
    return -1;
}

// At the second look that finds it so: ranks that all got the same error end soon one after the
// other.
int64_t tern__launch_look_at_lag(struct tern__launch *job, int64_t now_ns)
{
    int running = job->procs.running;
    if (job->lag == TOLD || job->cause != CAUSE_NONE || running == 0 ||
        running == job->procs.count) {
        return INT64_MAX;
    }
    if (job->look_at_ns == 0 || now_ns < job->look_at_ns) {
        job->look_at_ns = job->look_at_ns != 0 ? job->look_at_ns : now_ns + LAG_LOOK_NS;
        return job->look_at_ns;
    }
    job->look_at_ns = now_ns + LAG_LOOK_NS;
    const char *failure = tern__hub_failure(job->hub);
    if (failure[0] == '\0' || job->lag == UNSEEN) {
        job->lag = failure[0] != '\0' ? SEEN : UNSEEN;
        return job->look_at_ns;
    }
    uint64_t ranks = 0;
    char doing[640];
    for (int rank = 0; rank < job->procs.nranks; rank++) {
        ranks |= job->procs.pids[rank] > 0 ? UINT64_C(1) << rank : 0;
    }
    tern__hub_doing(job->hub, ranks, doing, sizeof doing);
    tern__launch_say("%s; tern run goes on waiting: %s\n", failure,
                     doing[0] != '\0' ? doing : "not all ranks have ended");
    job->lag = TOLD;
    return INT64_MAX;
}

// The one line about the end, if there is one to say.
int tern__launch_report(const struct tern__launch *job)
{
    bool all_well = true;
    for (int rank = 0; rank < job->procs.nranks; rank++) {
        all_well = all_well && job->procs.status[rank] == 0 && !job->deserted[rank];
    }
    char cause[700];
    int status = tern__launch_cause(job, cause, sizeof cause);
    if (status >= 0) {
        tern__launch_say("%s\n", cause);
        return status;
    }
    if (job->suspect >= 0 && job->fell[job->suspect]) {
        return report_rank(job, job->suspect);
    }
    if (job->culprit >= 0) {
        return report_rank(job, job->culprit);
    }
    if (job->signal != 0 && (!all_well || job->output_cut)) {
        tern__launch_say("ended by signal %d (%s)\n", job->signal, strsignal(job->signal));
        return 128 + job->signal;
    }
    if (job->failure[0] != '\0' && job->cause == CAUSE_NONE) {
        tern__launch_say("all ranks ended with status 0, but %s\n", job->failure);
        return EXIT_COMM_FAILED;
    }
    return 0;
}
