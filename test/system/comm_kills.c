// SPDX-License-Identifier: Apache-2.0
// A rank of the comm_* face that stores into the windows of all others and meets them, without end:
// VICTIM MILLISECONDS: that rank is killed so long after the windows were there, whatever it does
// then. The others print why they ended, and exit with status 9.
#include <comm.h>
#include <comm_context.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <tern/tern.h>
#include <unistd.h>

static int rank, n;

static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, tern_last_error());
        usleep(500000); // whoever ends is dead to those who have not heard of the first one yet
        exit(9);
    }
}

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

// Who started this, and as which rank.
static void find_place(void)
{
    const char *exchange = getenv("TERN_EXCHANGE");
    const char *ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    const char *sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    if (exchange != NULL && sscanf(exchange, "%d:%d:", &rank, &n) == 2) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (getenv(ranks[i]) != NULL && getenv(sizes[i]) != NULL) {
            rank = atoi(getenv(ranks[i]));
            n = atoi(getenv(sizes[i]));
        }
    }
}

static void store_everywhere(const CommContext *context, int turn)
{
    int32_t *own = (int32_t *)(uintptr_t)context->windowsIn[rank];
    tern_window *window;
    size_t offset;
    int member;
    for (int peer = 0; peer < n; peer++) {
        const void *there = tern_context_remote(context, own + rank, (uint32_t)peer);
        must(tern_window_find(there, &window, &member, &offset) == TERN_OK, "find");
        must(tern_put(window, member, offset, &turn, sizeof turn) == TERN_OK, "put");
        must(tern_signal_notify(window, member, 512, 1, TERN_NOTIFY_ADD) == TERN_OK, "notify");
    }
    must(tern_window_find(own, &window, &member, &offset) == TERN_OK, "find");
    must(tern_signal_wait(window, 512, TERN_CMP_GE, n * turn, TERN_TIMEOUT_DEFAULT) == TERN_OK,
         "wait");
}

int main(int argc, char **argv)
{
    uint64_t address;
    find_place();
    CommHandle handle = argc > 2 ? comm_init(rank, n, NULL) : NULL;
    must(handle != NULL, "comm_init");
    must(comm_alloc_windows(handle, 4096, &address) == 0, "comm_alloc_windows");
    if (rank == atoi(argv[1])) {
        struct itimerval after = {.it_value = {.tv_usec = 1000L * atoi(argv[2]) + 1}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &after, NULL);
    }
    for (int turn = 1;; turn++) {
        store_everywhere((const CommContext *)(uintptr_t)address, turn);
        must(comm_barrier(handle) == 0, "comm_barrier");
    }
}
