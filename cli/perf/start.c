// SPDX-License-Identifier: Apache-2.0
// Starting and stopping the MPIs beside tern. What they need in the file system lies in two folders
// of ours: the compiled program and what compilers and launchers put into TMPDIR, and Open MPI's
// shared memory, which stays in /dev/shm as always. Once all ranks have met, nobody opens any of it
// again, and both folders are removed: whatever kills the job later leaves nothing. For a signal
// that ends us before, there is a handler, and the process that has started the ranks looks when
// all have ended.

#include "perf/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf/source.h"

extern char **environ;

#define START_MS 60000
#define END_MS 5000
#define POLL_MS 5
#define TOKEN_BYTES 33
#define FOLDERS 2
#define REMOVE_ATTEMPTS 20 // a process that is being killed may still make a file
#define TOKEN_VARIABLE "TERN_PERF_TOKEN"

// For the handler, which makes only calls that are allowed there.
static char folders[FOLDERS][64];
static volatile pid_t children[PERF_PEERS + 1]; // launchers, and the compiler

static void remove_folder(const char *folder)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/rm", "rm", "-rf", "--", folder, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void perf_folders_remove(void)
{
    struct timespec nap = {.tv_nsec = POLL_MS * 1000000};
    for (int i = 0; i < FOLDERS; i++) {
        for (int attempt = 0;
             attempt < REMOVE_ATTEMPTS && folders[i][0] != '\0' && access(folders[i], F_OK) == 0;
             attempt++) {
            remove_folder(folders[i]);
            nanosleep(&nap, NULL);
        }
    }
}

static void clean_up(int number)
{
    for (int i = 0; i <= PERF_PEERS; i++) {
        if (children[i] > 0) {
            kill(-children[i], SIGKILL); // each leads a group
        }
    }
    perf_folders_remove();
    signal(number, SIG_DFL);
    raise(number);
}

// All signals wait while the handler runs, also in the processes it starts.
static void handle_signals(void (*handler)(int number))
{
    static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        struct sigaction action;
        sigaction(deadly[i], NULL, &action);
        if (action.sa_handler != SIG_IGN) {
            action = (struct sigaction){.sa_handler = handler};
            sigfillset(&action.sa_mask);
            sigaction(deadly[i], &action, NULL);
        }
    }
}

static bool is_installed(const char *program)
{
    const char *path = getenv("PATH");
    char file[4200];
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (length < 4000 && access(file, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

// Starts a program in a group of its own, so that the handler finds all of it.
static int spawn(const char *const *words, int in_fd, int out_fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, in_fd, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, 1);
    posix_spawn_file_actions_adddup2(&files, out_fd, 2);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error =
        posix_spawnp(pid, words[0], &files, &attributes, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    errno = error;
    return error == 0 ? 0 : -1;
}

static void read_back(int fd, char *text, size_t size)
{
    struct stat state;
    off_t excess = fstat(fd, &state) == 0 ? state.st_size - (off_t)size + 1 : 0;
    ssize_t length = pread(fd, text, size - 1, excess > 0 ? excess : 0);
    text[length > 0 ? length : 0] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
}

void perf_peer_printed(const struct perf_peer *peer, char *text, size_t size)
{
    read_back(peer->output_fd, text, size);
}

static void program_path(const struct perf_system *system, char path[96])
{
    snprintf(path, 96, "%s/tern_perf_%s", folders[0], system->word);
}

static int compile(const struct perf_system *system)
{
    char path[96];
    program_path(system, path);
    const char *command[] = {system->compiler, "-O2", "-x", "c", "-o", path, "-", NULL};
    int source = memfd_create("tern-perf-source", MFD_CLOEXEC);
    int output = memfd_create("tern-perf-output", MFD_CLOEXEC);
    size_t length = strlen(perf_mpi_source);
    int status = -1;
    pid_t pid = 0;
    if (source >= 0 && output >= 0 && write(source, perf_mpi_source, length) == (ssize_t)length &&
        lseek(source, 0, SEEK_SET) == 0 && spawn(command, source, output, &pid) == 0) {
        children[PERF_PEERS] = pid;
        waitpid(pid, &status, 0);
        children[PERF_PEERS] = 0;
    }
    if (status != 0) {
        char said[300];
        read_back(output, said, sizeof said);
        perf_say("%s does not compile the program that measures %s: %s", system->compiler,
                 system->title, said);
    }
    close(source);
    close(output);
    return status == 0 ? 0 : -1;
}

static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path + 1, name, length); // abstract: no file
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
        listen(fd, PERF_RANKS_MAX) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}

static void make_name(char name[TOKEN_BYTES])
{
    unsigned char token[16] = {0};
    if (getrandom(token, sizeof token, 0) != sizeof token) {
        snprintf((char *)token, sizeof token, "%d", (int)getpid());
    }
    for (int i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", token[i]);
    }
}

bool perf_peer_ended(struct perf_peer *peer, int within_ms)
{
    struct timespec nap = {.tv_nsec = POLL_MS * 1000000};
    for (int waited_ms = 0; peer->launcher > 0; waited_ms += POLL_MS) {
        if (waitpid(peer->launcher, NULL, WNOHANG) != 0) {
            children[peer->system - perf_systems] = 0;
            peer->launcher = 0;
        } else if (waited_ms >= within_ms) {
            return false;
        } else {
            nanosleep(&nap, NULL);
        }
    }
    return true;
}

// One rank of the peer: of our user, and it says its number first. Whether it is one.
static bool greet(struct perf_peer *peer, int fd, int nranks)
{
    struct ucred who;
    socklen_t size = sizeof who;
    char text[16] = "";
    bool ours = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
                who.uid == geteuid() && recv(fd, text, sizeof text - 1, 0) > 0;
    int rank = ours ? atoi(text) : -1;
    if (rank < 0 || rank >= nranks || peer->fds[rank] >= 0) {
        close(fd);
        return false;
    }
    peer->fds[rank] = fd;
    peer->pids[rank] = who.pid;
    return true;
}

static int gather(struct perf_peer *peer, int listener, int nranks)
{
    int waited_ms = 0;
    for (int came = 0; came < nranks;) {
        struct pollfd fd = {.fd = listener, .events = POLLIN};
        if (poll(&fd, 1, 100) > 0) {
            came += greet(peer, accept4(listener, NULL, NULL, SOCK_CLOEXEC), nranks);
            continue;
        }
        waited_ms += 100;
        if (perf_peer_ended(peer, 0) || waited_ms > START_MS) {
            return -1;
        }
    }
    peer->nranks = nranks;
    return 0;
}

static int launch(struct perf_peer *peer, const char *name, int nranks)
{
    const struct perf_system *system = peer->system;
    char count[16];
    char path[96];
    const char *words[12];
    int used = 0;
    words[used++] = system->launcher;
    for (int i = 0; system->options[i] != NULL; i++) {
        if (i > 0 || !system->for_root || geteuid() == 0) {
            words[used++] = system->options[i];
        }
    }
    snprintf(count, sizeof count, "%d", nranks);
    program_path(system, path);
    words[used++] = "-n";
    words[used++] = count;
    words[used++] = path;
    words[used++] = name;
    words[used] = NULL;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status = spawn(words, null, peer->output_fd, &peer->launcher);
    children[system - perf_systems] = status == 0 ? peer->launcher : 0;
    close(null);
    return status;
}

void perf_peer_stop(struct perf_peer *peer)
{
    if (peer->system == NULL) {
        return;
    }
    bool busy = peer->busy;
    peer->nranks = 0;
    peer->busy = false;
    for (int rank = 0; rank < PERF_RANKS_MAX; rank++) {
        if (peer->fds[rank] >= 0) {
            close(peer->fds[rank]);
            peer->fds[rank] = -1;
        }
    }
    // Ranks that sleep see the end of the socket.
    if (!perf_peer_ended(peer, busy ? 0 : END_MS)) {
        for (int rank = 0; rank < PERF_RANKS_MAX; rank++) {
            if (peer->pids[rank] > 0) {
                kill(peer->pids[rank], SIGKILL);
            }
        }
        if (!perf_peer_ended(peer, END_MS)) {
            kill(-peer->launcher, SIGKILL);
            perf_peer_ended(peer, END_MS);
        }
    }
    memset(peer->pids, 0, sizeof peer->pids);
    if (peer->output_fd >= 0) {
        close(peer->output_fd);
        peer->output_fd = -1;
    }
}

static int start(struct perf_peer *peer, int nranks)
{
    const struct perf_system *system = peer->system;
    if (!is_installed(system->compiler) || !is_installed(system->launcher)) {
        perf_say("%s is not installed; Debian's packages are %s", system->title, system->package);
        return -1;
    }
    if (compile(system) != 0) {
        return -1;
    }
    char name[TOKEN_BYTES];
    make_name(name);
    int listener = listen_at(name);
    peer->output_fd = memfd_create("tern-perf-output", MFD_CLOEXEC);
    if (listener < 0 || launch(peer, name, nranks) != 0) {
        perf_say("%s cannot be started: %s", system->launcher, strerror(errno));
        close(listener);
        return -1;
    }
    int status = gather(peer, listener, nranks);
    close(listener);
    if (status != 0) {
        char said[400];
        read_back(peer->output_fd, said, sizeof said);
        perf_say("the %d ranks of %s have not come: %s", nranks, system->title, said);
    }
    return status;
}

void perf_folders_name(void)
{
    const char *temporary = getenv("TMPDIR");
    const char *token = getenv(TOKEN_VARIABLE);
    char made[TOKEN_BYTES];
    if (token == NULL) {
        make_name(made);
        setenv(TOKEN_VARIABLE, made, 1);
        token = made;
    }
    bool usable = temporary != NULL && strlen(temporary) < 32;
    snprintf(folders[0], sizeof folders[0], "%s/tern-perf-%.8s", usable ? temporary : "/tmp",
             token);
    snprintf(folders[1], sizeof folders[1], "/dev/shm/tern-perf-%.8s", token);
}

static int make_folders(void)
{
    perf_folders_name();
    if (mkdir(folders[0], 0700) != 0) {
        perf_say("no folder for the programs that measure the MPIs: '%s': %s", folders[0],
                 strerror(errno));
        folders[0][0] = '\0';
        return -1;
    }
    if (mkdir(folders[1], 0700) != 0) {
        folders[1][0] = '\0';
    }
    return 0;
}

// With the environment that makes compilers and MPIs use our folders.
static int start_in_folders(struct perf_peer *peer, int nranks)
{
    const char *temporary = getenv("TMPDIR");
    char *kept = temporary != NULL ? strdup(temporary) : NULL;
    setenv("TMPDIR", folders[0], 1);
    if (folders[1][0] != '\0') {
        setenv("OMPI_MCA_btl_vader_backing_directory", folders[1], 1);
    }
    int status = start(peer, nranks);
    unsetenv("TMPDIR");
    if (kept != NULL) {
        setenv("TMPDIR", kept, 1);
    }
    free(kept);
    return status;
}

int perf_peer_start(struct perf_peer *peer, int nranks)
{
    handle_signals(clean_up);
    int status = make_folders();
    status = status == 0 ? start_in_folders(peer, nranks) : status;
    perf_folders_remove();
    handle_signals(SIG_DFL);
    return status;
}

int perf_peers_start(struct perf_peer peers[PERF_PEERS], const bool wanted[PERF_PEERS], int nranks)
{
    for (int i = 0; i < PERF_PEERS; i++) {
        peers[i] = (struct perf_peer){.system = &perf_systems[i], .output_fd = -1};
        for (int rank = 0; rank < PERF_RANKS_MAX; rank++) {
            peers[i].fds[rank] = -1;
        }
    }
    int status = 0;
    for (int i = 0; i < PERF_PEERS && status == 0; i++) {
        status = wanted[i] ? perf_peer_start(&peers[i], nranks) : 0;
    }
    return status;
}

void perf_peers_stop(struct perf_peer peers[PERF_PEERS])
{
    for (int i = 0; i < PERF_PEERS; i++) {
        perf_peer_stop(&peers[i]);
    }
}
