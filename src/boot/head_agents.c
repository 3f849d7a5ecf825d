// SPDX-License-Identifier: Apache-2.0
// The agents of a job on several machines: `CMD HOST tern run --branch`, one a host, each in a
// process group of its own, so that what is typed at the terminal reaches the head alone.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/assignment.h"
#include "boot/dial.h"
#include "boot/head.h"
#include "boot/launch_guard.h"
#include "boot/launch_label.h"

#define STANDARD_AGENT "ssh -x -o BatchMode=yes"
#define EXIT_LOST 137

extern char **environ;

// What is the same for all agents.
struct agents {
    struct tern__assignment assignment;
    char folder[PATH_MAX];
    char tern[PATH_MAX];
    char addresses[TERN__DIAL_TEXT_BYTES];
    char **variables;
};

// Where the command is that is to run on the hosts: this program if it is tern, else in PATH.
static int find_tern(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(path, '/');
    if (name == NULL || strcmp(name, "/tern") != 0) {
        if (tern__program_find("tern", path) != 0) {
            return tern__fail(TERN_ERR_ARG, "tern_launch: this program is not tern, and there is "
                                            "no tern in PATH, to be run on the hosts");
        }
    }
    for (const char *at = path; *at != '\0'; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || strchr("/._-+,:@%=", *at) != NULL;
        if (!plain) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_launch: the path of tern, '%.200s', has a '%c', which a "
                              "shell on the hosts could change",
                              path, *at);
        }
    }
    return TERN_OK;
}

static bool travels(const char *variable)
{
    // These are about one machine.
    static const char *const own[] = {"TERN_NET_ADDRESS=", "TERN_MACHINE=", "TERN_EXCHANGE=",
                                      "TERN_AGENT="};
    bool travels = strncmp(variable, "TERN_", 5) == 0 && strchr(variable, '=') != NULL &&
                   !tern__procs_own_variable(variable);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        travels = travels && strncmp(variable, own[i], strlen(own[i])) != 0;
    }
    return travels;
}

// NAME is its value here. NULL when there is no such variable, or no memory.
static char *read_variable(const char *word)
{
    char *made = NULL;
    if (strchr(word, '=') != NULL) {
        return strdup(word);
    }
    const char *value = getenv(word);
    if (value == NULL || asprintf(&made, "%s=%s", word, value) < 0) {
        return NULL;
    }
    return made;
}

static int list_variables(struct agents *agents, char *const *asked)
{
    size_t count = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        count += travels(*at) ? 1 : 0;
    }
    for (char *const *at = asked; at != NULL && *at != NULL; at++) {
        count++;
    }
    agents->variables = calloc(count + 1, sizeof agents->variables[0]);
    if (agents->variables == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for the environment");
    }
    int made = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (travels(*at)) {
            agents->variables[made++] = strdup(*at);
        }
    }
    for (char *const *at = asked; at != NULL && *at != NULL; at++) {
        agents->variables[made] = read_variable(*at);
        if ((*at)[0] == '=' || (*at)[0] == '\0' || agents->variables[made] == NULL) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_launch: the variable '%.80s' is not set, so it has no value "
                              "for the ranks",
                              *at);
        }
        made++;
    }
    agents->assignment.nvariables = made;
    agents->assignment.variables = agents->variables;
    return TERN_OK;
}

static int prepare(struct tern__job_head *head, struct agents *agents)
{
    const tern_launch_options *options = head->options;
    struct tern__assignment *all = &agents->assignment;
    const char *address =
        options->head_address != NULL ? options->head_address : getenv("TERN_NET_ADDRESS");
    TERN_TRY(find_tern(agents->tern));
    if (getcwd(agents->folder, sizeof agents->folder) == NULL) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: the working folder");
    }
    all->told = address != NULL && address[0] != '\0';
    if (all->told != 0) {
        snprintf(agents->addresses, sizeof agents->addresses, "%s", address);
    } else {
        tern__dial_own(agents->addresses);
    }
    TERN_TRY(list_variables(agents, options->env));
    memcpy(all->token, head->token, sizeof all->token);
    all->machines = head->hosts.count;
    all->nranks = head->hosts.nranks;
    all->label = options->label;
    all->bind = options->bind;
    all->trace = options->trace != NULL;
    all->port = head->port;
    all->folder = agents->folder;
    all->output = options->output != NULL ? options->output : "";
    all->speaker = options->name != NULL ? options->name : "tern run";
    all->addresses = agents->addresses;
    all->args = options->argv;
    while (options->argv[all->nargs] != NULL) {
        all->nargs++;
    }
    return TERN_OK;
}

static bool is_here(const char *address)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return strcmp(address, "localhost") == 0 || strcmp(address, "127.0.0.1") == 0 ||
           strcmp(address, "::1") == 0 || strcmp(address, own) == 0;
}

// In the child.
static _Noreturn void become_agent(const struct tern__job_head *head, const struct agents *agents,
                                   const struct tern__host *host, const int fds[3], pid_t parent)
{
    const char *agent = head->options->agent;
    char script[4096];
    // When the head is killed, so is the agent; its branch sees that the head is gone.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
        _exit(1);
    }
    setpgid(0, 0);
    for (int i = 0; i < 3; i++) {
        dup2(fds[i], i);
    }
    tern__signals_reset_in_child(&head->job.signals);
    putenv((char *)(uintptr_t)head->mark);
    if (agent == NULL && is_here(host->address)) {
        execl(agents->tern, agents->tern, "run", "--branch", (char *)NULL);
    } else {
        snprintf(script, sizeof script, "exec %s \"$@\"", agent != NULL ? agent : STANDARD_AGENT);
        execl("/bin/sh", "sh", "-c", script, "sh", host->address, agents->tern, "run", "--branch",
              (char *)NULL);
    }
    dprintf(STDERR_FILENO, "cannot execute it: %s\n", strerror(errno));
    _exit(127);
}

static int start_agent(struct tern__job_head *head, struct agents *agents, int at)
{
    struct tern__entry *entry = &head->entries[at];
    const struct tern__host *host = &head->hosts.list[at];
    int input[2];
    int fds[3];
    agents->assignment.machine = at;
    agents->assignment.first = host->first;
    agents->assignment.count = host->count;
    agents->assignment.host = host->name;
    TERN_TRY(tern__assignment_write(&agents->assignment, &entry->bytes, &entry->size));
    if (pipe2(input, O_CLOEXEC) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a pipe");
    }
    fcntl(input[1], F_SETFL, O_NONBLOCK);
    entry->input = input[1];
    fds[0] = input[0];
    int status = tern__labels_open(head->labels, at, fds + 1);
    if (status == TERN_OK) {
        tern__labels_keep(head->labels, at, true);
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid == 0) {
            become_agent(head, agents, host, fds, parent);
        }
        status = pid < 0 ? tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot fork an agent")
                         : TERN_OK;
        entry->agent = pid > 0 ? pid : 0;
        if (pid > 0) {
            setpgid(pid, pid); // whoever comes first
        }
        close(fds[1]);
        close(fds[2]);
    }
    close(input[0]);
    return status;
}

int tern__head_start(struct tern__job_head *head)
{
    struct agents *agents = calloc(1, sizeof *agents);
    if (agents == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for the hosts");
    }
    int status = prepare(head, agents);
    for (int i = 0; i < head->hosts.count && status == TERN_OK; i++) {
        status = start_agent(head, agents, i);
    }
    for (char **at = agents->variables; at != NULL && *at != NULL; at++) {
        free(*at);
    }
    free(agents->variables);
    free(agents);
    return status;
}

void tern__head_reap(struct tern__job_head *head)
{
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        if (entry->agent > 0 && waitpid(entry->agent, &entry->agent_status, WNOHANG) > 0) {
            entry->agent = 0;
            entry->agent_ended_ns = tern__now_ns();
        }
    }
}

struct tern__head_agent tern__head_agent(const struct tern__entry *entry)
{
    struct tern__head_agent how;
    int status = entry->agent_status;
    if (WIFSIGNALED(status)) {
        snprintf(how.text, sizeof how.text, "its agent was killed by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(how.text, sizeof how.text, "its agent ended with status %d", WEXITSTATUS(status));
    }
    return how;
}

int tern__head_agent_exit(const struct tern__entry *entry)
{
    return WIFSIGNALED(entry->agent_status) ? 128 + WTERMSIG(entry->agent_status) : EXIT_LOST;
}

static void close_input(struct tern__entry *entry)
{
    if (entry->input >= 0) {
        close(entry->input);
        entry->input = -1;
    }
    free(entry->bytes);
    entry->bytes = NULL;
}

// Writes what is left of `bytes`. False when nobody reads it any more.
static bool write_some(int fd, const char *bytes, size_t size, size_t *done)
{
    while (*done < size) {
        ssize_t written = write(fd, bytes + *done, size - *done);
        if (written < 0 && errno == EAGAIN) {
            return true;
        }
        if (written < 0 && errno != EINTR) {
            return false;
        }
        *done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

// Standard input on its way to rank 0.
static void relay(struct tern__job_head *head)
{
    struct tern__entry *first = &head->entries[0];
    if (head->reads && head->stdin_done == head->stdin_size) {
        ssize_t got = read(STDIN_FILENO, head->stdin_bytes, sizeof head->stdin_bytes);
        head->reads = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
        head->stdin_done = 0;
        head->stdin_size = got > 0 ? (size_t)got : 0;
    }
    if (!write_some(first->input, head->stdin_bytes, head->stdin_size, &head->stdin_done)) {
        head->reads = false;
        head->stdin_done = head->stdin_size;
    }
    if (!head->reads && head->stdin_done == head->stdin_size) {
        close_input(first);
    }
}

void tern__head_feed(struct tern__job_head *head, bool readable)
{
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        if (entry->input < 0) {
            continue;
        }
        bool taken = write_some(entry->input, entry->bytes, entry->size, &entry->written);
        if (!taken || (i != 0 && entry->written == entry->size)) {
            close_input(entry);
        } else if (i == 0 && entry->written == entry->size &&
                   (readable || head->stdin_done < head->stdin_size || !head->reads)) {
            relay(head);
        }
    }
}

void tern__head_kill(struct tern__job_head *head, int entry)
{
    if (head->entries[entry].agent > 0) {
        kill(-head->entries[entry].agent, SIGKILL);
    }
}

static void reap_all(void *arg)
{
    tern__head_reap(arg);
    while (waitpid(-1, NULL, WNOHANG) > 0) { // what agents have left to this process
    }
}

void tern__head_cleanup(struct tern__job_head *head)
{
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        tern__head_kill(head, i);
        close_input(entry);
        if (entry->link.fd >= 0) {
            tern__link_close(&entry->link);
        }
    }
    for (int i = 0; i < TERN__STRANGERS_MAX; i++) {
        if (head->strangers[i].fd >= 0) {
            tern__link_close(&head->strangers[i]);
        }
    }
    if (head->listener >= 0) {
        close(head->listener);
    }
    tern__children_end(head->procs.earlier, head->procs.nearlier, head->mark, reap_all, head);
}
