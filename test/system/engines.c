// SPDX-License-Identifier: Apache-2.0
// A rank that goes through what an engine between machines carries: puts of all sizes, strided
// ones, adds, notifies, gets, flushes, and a collective call of each way. `die` R: rank R is killed
// in between, and the others must be told.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/tern.h>
#include <unistd.h>

enum { MOST = 1 << 20, SIGNALS = 4096, PART = SIGNALS + 2 * MOST };

static tern_comm *comm;
static tern_window *window;
static int rank, n;

static int must(int status, const char *what)
{
    if (status != TERN_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, what, tern_last_error());
        exit(status == TERN_ERR_PEER ? 9 : 2);
    }
    return status;
}

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
        exit(3);
    }
}

static unsigned char byte_of(int from, int to, size_t at)
{
    return (unsigned char)(from * 37 + to * 11 + (int)(at % 251));
}

// Everybody puts `bytes` to the next rank, which looks at them when it has been told.
static void put_around(size_t bytes, int round)
{
    static unsigned char mine[MOST];
    int next = (rank + 1) % n;
    int before = (rank + n - 1) % n;
    for (size_t at = 0; at < bytes; at++) {
        mine[at] = byte_of(rank, next, at + (size_t)round);
    }
    must(tern_put(window, next, SIGNALS, mine, bytes), "put");
    must(tern_signal_notify(window, next, 0, 1, TERN_NOTIFY_ADD), "notify");
    must(tern_signal_wait(window, 0, TERN_CMP_GE, round, TERN_TIMEOUT_DEFAULT), "wait");
    const unsigned char *got = (unsigned char *)tern_window_address(window, rank) + SIGNALS;
    for (size_t at = 0; at < bytes; at++) {
        check(got[at] == byte_of(before, rank, at + (size_t)round), "what was put");
    }
    must(tern_comm_barrier(comm), "barrier");
}

// Small puts, which may wait for what follows them: a notify that sets, a second put, or nothing.
static void put_small(void)
{
    const int next = (rank + 1) % n;
    const int sum = 3 * (rank + n - 1) % n;
    volatile int *own = (int *)tern_window_address(window, rank);
    int values[] = {3 * rank % n, 40, 50, 60};
    must(tern_put(window, next, 64, &values[0], sizeof(int)), "put");
    must(tern_signal_notify(window, next, 8, 77, TERN_NOTIFY_SET), "notify");
    must(tern_signal_wait(window, 8, TERN_CMP_EQ, 77, TERN_TIMEOUT_DEFAULT), "wait");
    check(own[16] == sum, "what was put before a signal was set");
    must(tern_comm_barrier(comm), "barrier");
    must(tern_put(window, next, 64, &values[1], sizeof(int)), "put");
    must(tern_signal_notify(window, next, 8, 5, TERN_NOTIFY_SET), "notify"); // and adds nothing
    must(tern_signal_wait(window, 8, TERN_CMP_EQ, 5, 10 * INT64_C(1000000000)), "wait");
    check(own[16] == 40, "what was put before a signal was set again");
    must(tern_put(window, next, 68, &values[1], sizeof(int)), "put");
    must(tern_put(window, next, 72, &values[2], sizeof(int)), "put");
    must(tern_signal_notify(window, next, 12, 1, TERN_NOTIFY_ADD), "notify");
    must(tern_signal_wait(window, 12, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT), "wait");
    check(own[17] == 40 && own[18] == 50, "the first of two puts, or the second");
    must(tern_put(window, next, 76, &values[3], sizeof(int)), "put");
    for (int looks = 0; looks < 3000 && own[19] != 60; looks++) {
        usleep(10000);
    }
    check(own[19] == 60, "a put that nothing follows");
    must(tern_comm_barrier(comm), "barrier");
}

static void get_around(size_t bytes)
{
    static unsigned char there[MOST];
    int from = (rank + n / 2) % n;
    must(tern_get(window, from, SIGNALS, there, bytes), "get");
    const int before = (from + n - 1) % n;
    for (size_t at = 0; at < bytes; at++) {
        check(there[at] == byte_of(before, from, at + 5), "what was got");
    }
    const tern_block block = {.rows = 7,
                              .row_bytes = 100,
                              .window_stride_bytes = 300,
                              .local_stride_bytes = 128};
    must(tern_get_block(window, from, SIGNALS, there, &block), "get_block");
    check(there[128 + 3] == byte_of(before, from, 303 + 5), "a block");
    must(tern_comm_barrier(comm), "barrier");
}

static void add_all(void)
{
    float ones[64];
    for (int i = 0; i < 64; i++) {
        ones[i] = (float)(rank + 1);
    }
    memset((char *)tern_window_address(window, rank) + SIGNALS, 0, sizeof ones);
    must(tern_comm_barrier(comm), "barrier");
    for (int to = 0; to < n; to++) {
        must(tern_put_add(window, to, SIGNALS, ones, 64, TERN_F32), "put_add");
    }
    must(tern_comm_barrier(comm), "barrier");
    const float *sum = (float *)(void *)((char *)tern_window_address(window, rank) + SIGNALS);
    check(sum[0] == (float)(n * (n + 1) / 2) && sum[63] == sum[0], "a sum");
    must(tern_comm_barrier(comm), "barrier");
}

static void reduce(size_t count)
{
    float *in = malloc(count * sizeof *in);
    float *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        in[i] = (float)(rank + 1) * (float)(i % 7 + 1);
    }
    must(tern_all_reduce(comm, in, out, count, TERN_F32, TERN_SUM), "all_reduce");
    for (size_t i = 0; i < count; i++) {
        check(out[i] == (float)(n * (n + 1) / 2) * (float)(i % 7 + 1), "all_reduce");
    }
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    int victim = argc > 2 && strcmp(argv[1], "die") == 0 ? atoi(argv[2]) : -1;
    must(tern_init(NULL, &comm), "init");
    rank = tern_comm_rank(comm);
    n = tern_comm_size(comm);
    must(tern_window_create(comm, PART, NULL, &window), "window");
    const size_t sizes[] = {1, 8, 4096, 4097, MOST};
    for (int i = 0; i < 5; i++) {
        put_around(sizes[i], i + 1);
    }
    get_around(MOST);
    put_small();
    add_all();
    for (size_t count = 1; count <= MOST; count *= 64) {
        reduce(count);
    }
    if (victim >= 0) {
        if (rank == victim) {
            kill(getpid(), SIGKILL);
        }
        for (;;) {
            reduce(1000);
        }
    }
    must(tern_window_destroy(window), "destroy");
    must(tern_comm_destroy(comm), "destroy");
    printf("right on %d ranks\n", n);
    return 0;
}
