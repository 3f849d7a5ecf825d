// SPDX-License-Identifier: Apache-2.0
// Forked ranks with a deadline.

#include "ranks.h"

#include <dirent.h>
#include <signal.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/stack.h"

const int ranks_counts[6] = {1, 2, 3, 5, 8, 16};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void ranks_place(const struct ranks *ranks, int rank, char machine)
{
    char text[160];
    const char name[] = {machine, '\0'};
    snprintf(text, sizeof text, "%d:%d:%s/exchange", rank, ranks->count, ranks->folder);
    setenv("TERN_EXCHANGE", text, 1);
    setenv("TERN_MACHINE", name, 1);
    setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
    setenv("TERN_NET_TIMEOUT", "60", 0); // this box may be so busy that a second is nothing
    setenv("TMPDIR", ranks->folder, 1);
}

// What the environment asks for.
static const char *spread(int count)
{
    static char machines[TERN_RANKS_MAX + 1];
    const char *given = getenv("TERN_TEST_MACHINES");
    int most = given != NULL ? atoi(given) : 0;
    if (most < 2 || count < 2) {
        return NULL;
    }
    for (int rank = 0; rank < count; rank++) {
        machines[rank] = (char)('a' + rank * (most < count ? most : count) / count);
    }
    machines[count] = '\0';
    return machines;
}

void ranks_begin(struct ranks *ranks, int count, rank_body body, void *arg)
{
    memset(ranks, 0, sizeof *ranks);
    ranks->count = count;
    ranks->machines = spread(count);
    snprintf(ranks->folder, sizeof ranks->folder, "/tmp/tern-test-XXXXXX");
    if (mkdtemp(ranks->folder) == NULL) {
        perror("mkdtemp");
        abort();
    }
    snprintf(ranks->path, sizeof ranks->path, "%s/meet", ranks->folder);
    fflush(NULL);
    stack_listen();
    pid_t parent = getpid();
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        ranks->pids[rank] = RANKS_NOBODY;
    }
    for (int rank = 0; rank < count; rank++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            abort();
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            // A crash is this rank's own, and not for the test framework to go on with.
            const int crashes[] = {SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGSYS, SIGABRT};
            for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
                signal(crashes[i], SIG_DFL);
            }
            if (getppid() != parent) {
                _exit(1);
            }
            if (ranks->machines != NULL) {
                ranks_place(ranks, rank, ranks->machines[rank]);
            }
            ranks->pids[rank] = getpid();
            exit(body(rank, ranks, arg));
        }
        ranks->pids[rank] = pid;
    }
}

static bool reap(struct ranks *ranks)
{
    bool all = true;
    for (int rank = 0; rank < ranks->count; rank++) {
        if (!ranks->ended[rank] &&
            waitpid(ranks->pids[rank], &ranks->statuses[rank], WNOHANG) == ranks->pids[rank]) {
            ranks->ended[rank] = true;
            ranks->ended_ns[rank] = now_ns();
        }
        all = all && ranks->ended[rank];
    }
    return all;
}

// Deadlines are written for a machine of one's own. Here they only have to end what hangs, and a
// test that hangs may take longer to say so on a machine that is busy.
enum { PATIENCE = 4 };

bool ranks_wait(struct ranks *ranks, double deadline_s)
{
    deadline_s *= PATIENCE;
    int64_t deadline = now_ns() + (int64_t)(deadline_s * 1e9);
    sigset_t child;
    sigset_t before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    bool all = reap(ranks);
    while (!all && now_ns() < deadline) {
        struct timespec slice = {.tv_nsec = 50000000};
        sigtimedwait(&child, NULL, &slice);
        all = reap(ranks);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int rank = 0; rank < ranks->count; rank++) {
        if (!ranks->ended[rank]) {
            fprintf(stderr, "rank %d of %d did not end within %g s: killed\n", rank, ranks->count,
                    deadline_s);
            stack_ask(ranks->pids[rank]);
            kill(ranks->pids[rank], SIGKILL);
            waitpid(ranks->pids[rank], &ranks->statuses[rank], 0);
            ranks->ended[rank] = true;
        }
    }
    return all;
}

bool ranks_end(struct ranks *ranks)
{
    bool clean = true;
    DIR *folder = opendir(ranks->folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            fprintf(stderr, "left behind: %s/%s\n", ranks->folder, entry->d_name);
            unlinkat(dirfd(folder), entry->d_name, 0);
            clean = false;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    rmdir(ranks->folder);
    return clean;
}

bool ranks_run(int count, rank_body body, void *arg, double deadline_s)
{
    struct ranks ranks;
    ranks_begin(&ranks, count, body, arg);
    bool right = ranks_wait(&ranks, deadline_s);
    for (int rank = 0; rank < count; rank++) {
        if (ranks.statuses[rank] != 0) {
            fprintf(stderr, "rank %d of %d ended with wait status 0x%x\n", rank, count,
                    (unsigned)ranks.statuses[rank]);
            right = false;
        }
    }
    return ranks_end(&ranks) && right;
}

int ranks_join(int rank, const struct ranks *ranks, int64_t timeout_ns, tern_comm **comm)
{
    int status = ranks->machines != NULL
                     ? tern_init(NULL, comm)
                     : tern_init_at(rank, ranks->count, ranks->path, NULL, comm);
    if (status == TERN_OK && timeout_ns > 0) {
        (*comm)->group.job->timeout_ns = timeout_ns;
    }
    return status;
}

struct with_comm {
    comm_body body;
    void *arg;
};

static int run_with_comm(int rank, const struct ranks *ranks, void *arg)
{
    const struct with_comm *with = arg;
    tern_comm *comm;
    CHECK(ranks_join(rank, ranks, 0, &comm) == TERN_OK);
    int result = with->body(comm, with->arg);
    int destroyed = tern_comm_destroy(comm);
    CHECK(result != 0 || destroyed == TERN_OK);
    return result;
}

bool ranks_run_comm(int count, comm_body body, void *arg, double deadline_s)
{
    struct with_comm with = {.body = body, .arg = arg};
    return ranks_run(count, run_with_comm, &with, deadline_s);
}

bool ranks_run_counts(int least, int most, comm_body body, void *arg, double deadline_s)
{
    for (int i = 0; i < (int)(sizeof ranks_counts / sizeof ranks_counts[0]); i++) {
        int count = ranks_counts[i];
        if (count >= least && count <= most && !ranks_run_comm(count, body, arg, deadline_s)) {
            fprintf(stderr, "with %d ranks\n", count);
            return false;
        }
    }
    return true;
}

// Waits for somebody who would come soon on a machine that is not busy.
static void await_mode(const char *path, mode_t mode)
{
    struct stat state;
    int64_t deadline = now_ns() + INT64_C(60000000000);
    while (lstat(path, &state) != 0 || (state.st_mode & mode) != mode) {
        if (now_ns() >= deadline) {
            fprintf(stderr, "waited 60 s for '%s' with mode 0%o\n", path, mode);
            exit(1);
        }
        poll(NULL, 0, 1);
    }
}

void ranks_await_file(const char *path)
{
    await_mode(path, 0);
    poll(NULL, 0, 20);
}

void ranks_await_open_folder(const char *path)
{
    await_mode(path, S_IWOTH | S_IXOTH);
}

void *ranks_shared(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("no memory for a test");
        exit(1);
    }
    return shared;
}

void ranks_count_await(const _Atomic int *number, int least)
{
    while (atomic_load(number) < least) {
        poll(NULL, 0, 5);
    }
}

int ranks_meet(int rank, int nranks, const char *path)
{
    tern_comm *comm;
    CHECK(tern_init_at(rank, nranks, path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}
