// SPDX-License-Identifier: Apache-2.0
// Starting the processes of a launch: the guardian, which starts the ranks, by fork and exec,
// because only a child itself can ask the kernel to die with its parent, which posix_spawn does not
// offer. All that the ranks need is made before the first fork.

#include "boot/launch_procs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "boot/env.h"
#include "boot/hub.h"
#include "boot/launch_guard.h"
#include "boot/launch_label.h"
#include "boot/launch_others.h"
#include "tern/launch.h"
#include "boot/launch_trace.h"

extern char **environ;

enum { OWN_TOKEN, OWN_NRANKS, OWN_RANK, OWN_HUB_FD, OWN_TRACE_FD, OWN_LISTEN, OWN_VARIABLES };
#define VARIABLE_BYTES 64

static int check_program(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0) {
        return errno == ENOTDIR ? ENOENT : errno;
    }
    if (S_ISDIR(info.st_mode)) {
        return EISDIR;
    }
    return access(path, X_OK) == 0 ? 0 : errno;
}

int tern__program_find(const char *name, char path[PATH_MAX])
{
    if (name[0] == '\0' || strlen(name) >= PATH_MAX) {
        return ENOENT;
    }
    if (strchr(name, '/') != NULL) {
        memcpy(path, name, strlen(name) + 1);
        return check_program(path);
    }
    const char *folders = getenv("PATH");
    if (folders == NULL) {
        folders = "/bin:/usr/bin";
    }
    int error = ENOENT;
    for (;;) {
        size_t length = strcspn(folders, ":");
        // An empty element means the current folder.
        int written = snprintf(path, PATH_MAX, "%.*s/%s", (int)(length > 0 ? length : 1),
                               length > 0 ? folders : ".", name);
        int found = written < PATH_MAX ? check_program(path) : ENOENT;
        if (found == 0) {
            return 0;
        }
        // Passed over, as in a shell: a folder of that name, and folders that cannot be looked
        // into.
        if (found != EISDIR && access(path, F_OK) == 0) {
            error = found;
        }
        if (folders[length] == '\0') {
            return error;
        }
        folders += length + 1;
    }
}

struct environment {
    char **variables;
    char own[OWN_VARIABLES][VARIABLE_BYTES];
    struct tern__others others;
};

bool tern__procs_own_variable(const char *variable)
{
    static const char *const names[OWN_VARIABLES] = {TERN_ENV_RANK,     TERN_ENV_NRANKS,
                                                     TERN_ENV_HUB_FD,   TERN_ENV_TOKEN,
                                                     TERN_ENV_TRACE_FD, TERN_ENV_LISTEN};
    for (int i = 0; i < OWN_VARIABLES; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(variable, names[i], length) == 0 && variable[length] == '=') {
            return true;
        }
    }
    return false;
}

// This process's environment with a rank's own variables in front, the changing ones unwritten.
static int make_environment(struct environment *made, const struct tern__procs_plan *plan,
                            struct tern__procs *procs)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    made->variables =
        malloc((count + OWN_VARIABLES + TERN__OTHERS + 1) * sizeof made->variables[0]);
    if (made->variables == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for the environment");
    }
    size_t kept = 0;
    for (int i = 0; i < OWN_VARIABLES; i++) {
        bool used =
            (i != OWN_TRACE_FD || plan->traces != NULL) && (i != OWN_LISTEN || plan->listens);
        if (used) {
            made->variables[kept++] = made->own[i];
        }
    }
    tern__others_choose(&made->others, plan->nranks, plan->count == plan->nranks, &procs->port_fd);
    for (int i = 0; i < TERN__OTHERS; i++) {
        if (made->others.used[i]) {
            made->variables[kept++] = made->others.text[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!tern__procs_own_variable(environ[i]) &&
            !tern__others_replace(&made->others, environ[i])) {
            made->variables[kept++] = environ[i];
        }
    }
    made->variables[kept] = NULL;
    snprintf(made->own[OWN_TOKEN], VARIABLE_BYTES, "%s", procs->mark);
    snprintf(made->own[OWN_NRANKS], VARIABLE_BYTES, "%s=%d", TERN_ENV_NRANKS, plan->nranks);
    snprintf(made->own[OWN_LISTEN], VARIABLE_BYTES, "%s=1", TERN_ENV_LISTEN);
    return TERN_OK;
}

// What a rank inherits.
struct ends {
    int hub_fd;
    int output_fds[2]; // -1: the launcher's own
};

struct start {
    struct tern__procs *procs;
    const struct tern__procs_plan *plan;
    struct environment environment;
    pid_t guardian;
    pid_t launcher_group;
    int null_fd;
    int exec_write_fd;
    int nopened;
    struct ends ends[TERN_RANKS_MAX];
};

// In the child. Returns only when exec has failed.
static void become_rank(const struct start *start, int rank)
{
    const struct tern__procs_plan *plan = start->plan;
    const struct ends *ends = &start->ends[rank];
    // The guardian may have ended before the request: then nobody would kill us.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != start->guardian) {
        _exit(1);
    }
    if (rank != 0) {
        dup2(start->null_fd, STDIN_FILENO);
    } else if (start->procs->terminal) {
        setpgid(0, start->launcher_group);
    }
    for (int i = 0; i < 2; i++) {
        if (ends->output_fds[i] >= 0) {
            dup2(ends->output_fds[i], STDOUT_FILENO + i);
        }
    }
    if (plan->bind && tern_launch_bind(rank - plan->first) < 0) {
        return;
    }
    fcntl(ends->hub_fd, F_SETFD, 0);
    if (plan->traces != NULL) {
        fcntl(tern__traces_fd(plan->traces, rank), F_SETFD, 0);
    }
    tern__signals_reset_in_child(plan->signals);
    execvpe(plan->path, plan->argv, start->environment.variables);
}

// In the guardian.
static pid_t fork_rank(struct start *start, int rank)
{
    char(*own)[VARIABLE_BYTES] = start->environment.own;
    snprintf(own[OWN_RANK], VARIABLE_BYTES, "%s=%d", TERN_ENV_RANK, rank);
    snprintf(own[OWN_HUB_FD], VARIABLE_BYTES, "%s=%d", TERN_ENV_HUB_FD, start->ends[rank].hub_fd);
    tern__others_set(&start->environment.others, rank, rank - start->plan->first);
    if (start->plan->traces != NULL) {
        snprintf(own[OWN_TRACE_FD], VARIABLE_BYTES, "%s=%d", TERN_ENV_TRACE_FD,
                 tern__traces_fd(start->plan->traces, rank));
    }
    pid_t pid = fork();
    if (pid == 0) {
        become_rank(start, rank);
        int error = errno;
        ssize_t written = write(start->exec_write_fd, &error, sizeof error);
        _exit(written > 0 ? 127 : 126);
    }
    return pid;
}

static _Noreturn void become_guardian(struct start *start, int fd)
{
    // Only SIGKILL and SIGSTOP pass: what is sent to the group is not meant for it.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "tern-guardian");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close(start->procs->guard_fd); // the launcher's end: when that closes, the launcher is gone
    struct tern__guard guard = {.fd = fd,
                                .nranks = start->procs->nranks,
                                .mark = start->procs->mark};
    start->guardian = getpid();
    int first = start->procs->first;
    for (int rank = first; rank < first + start->procs->count; rank++) {
        pid_t pid = fork_rank(start, rank);
        if (pid < 0) {
            tern__guard_tell(fd, TERN__GUARD_FAILED, rank, errno);
            break;
        }
        guard.pids[rank] = pid;
        tern__guard_tell(fd, TERN__GUARD_STARTED, rank, pid);
    }
    // It must not hold the launcher's pipes open, nor those of its caller. Descriptors 0 to 2 are
    // open here, so the socket is none of them.
    close_range(0, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0U, 0);
    tern__guard_keep(&guard);
}

// In the launcher: until all ranks are started.
static int hear_of_ranks(struct tern__procs *procs)
{
    struct tern__guard_word word;
    while (procs->running < procs->count) {
        if (tern__guard_hear(procs->guard_fd, true, &word) < 0) {
            return tern__fail(TERN_ERR_SYSTEM,
                              "tern_launch: the guardian was killed before all ranks had started");
        }
        if (word.kind == TERN__GUARD_FAILED) {
            errno = word.value;
            return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot fork rank %d", word.rank);
        }
        procs->pids[word.rank] = word.value;
        procs->running++;
    }
    return TERN_OK;
}

static int start_guardian(struct start *start)
{
    struct tern__procs *procs = start->procs;
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a socket");
    }
    procs->guard_fd = fds[0];
    pid_t pid = fork();
    if (pid == 0) {
        become_guardian(start, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot fork the guardian");
    }
    procs->guardian = pid;
    procs->group = pid;
    return hear_of_ranks(procs);
}

static int open_ends(struct start *start, int rank)
{
    struct ends *ends = &start->ends[rank];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a socket for rank %d",
                                rank);
    }
    *ends = (struct ends){.hub_fd = pair[1], .output_fds = {-1, -1}};
    start->nopened++;
    TERN_TRY(tern__hub_add(start->plan->hub, pair[0]));
    int status = TERN_OK;
    if (start->plan->labels != NULL) {
        status = tern__labels_open(start->plan->labels, rank, ends->output_fds);
    }
    if (status < 0) {
        ends->output_fds[0] = -1;
        ends->output_fds[1] = -1;
    }
    return status;
}

static void close_ends(struct start *start)
{
    int first = start->procs->first;
    for (int rank = first; rank < first + start->nopened; rank++) {
        close(start->ends[rank].hub_fd);
        for (int i = 0; i < 2; i++) {
            if (start->ends[rank].output_fds[i] >= 0) {
                close(start->ends[rank].output_fds[i]);
            }
        }
    }
}

static int start_all(struct start *start)
{
    struct tern__procs *procs = start->procs;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a pipe");
    }
    procs->exec_fd = fds[0];
    start->exec_write_fd = fds[1];
    int status = TERN_OK;
    for (int i = 0; i < procs->count && status == TERN_OK; i++) {
        status = open_ends(start, procs->first + i);
    }
    if (status == TERN_OK) {
        status = start_guardian(start);
    }
    close_ends(start);
    close(fds[1]);
    return status;
}

bool tern__procs_list_earlier(struct tern__procs *procs)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    if (file == NULL) {
        return true;
    }
    int pid;
    bool fits = true;
    while (fscanf(file, "%d", &pid) == 1) {
        fits = procs->nearlier < TERN__EARLIER_CHILDREN_MAX;
        if (!fits) {
            break;
        }
        procs->earlier[procs->nearlier++] = pid;
    }
    fclose(file);
    return fits;
}

int tern__procs_start(struct tern__procs *procs, const struct tern__procs_plan *plan)
{
    *procs = (struct tern__procs){.nranks = plan->nranks,
                                  .first = plan->first,
                                  .count = plan->count,
                                  .guard_fd = -1,
                                  .exec_fd = -1,
                                  .port_fd = -1};
    struct start start = {.procs = procs, .plan = plan, .launcher_group = getpgrp()};
    // Only of a terminal that controls this process there is a foreground group to be in.
    procs->terminal = tcgetpgrp(STDIN_FILENO) >= 0;
    char token[33];
    tern__token_write(plan->token, token);
    snprintf(procs->mark, sizeof procs->mark, "%s=%s", TERN_ENV_TOKEN, token);
    if (!tern__procs_list_earlier(procs)) {
        return tern__fail(TERN_ERR_STATE, "tern_launch: this process has over %d children already",
                          TERN__EARLIER_CHILDREN_MAX);
    }
    TERN_TRY(make_environment(&start.environment, plan, procs));
    int status;
    start.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (start.null_fd < 0) {
        status = tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot open /dev/null");
    } else {
        status = start_all(&start);
        close(start.null_fd);
    }
    free(start.environment.variables);
    return status;
}
