// SPDX-License-Identifier: Apache-2.0
// Measuring over all ranks: every iteration begins at one instant (meet.h) and lasts until the last
// rank has ended its call. Or, as the OSU benchmarks do, it begins with a barrier, each rank times
// its own call, and the slowest rank's time is the iteration's. Or, as nccl-tests do, several calls
// together. cli/perf/mpi.c does the same.

#include "perf/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "timing.h"
#include "tern/put.h"
#include "tern/status.h"

// A rank's part of the board.
struct part {
    struct perf_meet meet; // of rank 0's
    int64_t value;
    double times[PERF_ITERATIONS_MAX];
};

#define COPY_TIME_US 20000.0 // of measuring the copy rate at one size
#define COPY_LEAST_US 2.0    // shorter copies are repeated: the clock itself takes some 20 ns
#define COPY_ITERATIONS_MAX 200
#define COPY_ITERATIONS_MIN 3

// This rank's.
static struct part *own_part(const struct perf_board *board)
{
    return tern_window_address(board->window, board->rank);
}

// Of any rank, which may be on another machine.
static int get_value(const struct perf_board *board, int rank, int64_t *value)
{
    return tern_get(board->window, rank, offsetof(struct part, value), value, sizeof *value);
}

int perf_board_open(tern_comm *comm, bool instant, struct perf_board *board)
{
    *board = (struct perf_board){.comm = comm,
                                 .rank = tern_comm_rank(comm),
                                 .nranks = tern_comm_size(comm)};
    int status = tern_window_create(comm, sizeof(struct part), NULL, &board->window);
    for (int rank = 0; status == TERN_OK && rank < board->nranks; rank++) {
        instant = instant && tern_window_is_local(board->window, rank) == 1;
    }
    if (status == TERN_OK && instant) {
        board->meet = &((struct part *)tern_window_address(board->window, 0))->meet;
        board->meeting = perf_meeting_of(board->nranks);
    }
    return status;
}

void perf_board_close(struct perf_board *board)
{
    tern_window_destroy(board->window);
    board->window = NULL;
}

int perf_share_value(const struct perf_board *board, int64_t *value)
{
    if (board->rank == 0) {
        own_part(board)->value = *value;
    }
    int status = tern_comm_barrier(board->comm);
    status = status == TERN_OK ? get_value(board, 0, value) : status;
    return status == TERN_OK ? tern_comm_barrier(board->comm) : status;
}

int perf_sum_values(const struct perf_board *board, uint64_t own, uint64_t *sum)
{
    own_part(board)->value = (int64_t)own;
    int status = tern_comm_barrier(board->comm);
    *sum = 0;
    for (int rank = 0; status == TERN_OK && rank < board->nranks; rank++) {
        int64_t value = 0;
        status = get_value(board, rank, &value);
        *sum += (uint64_t)value;
    }
    return status == TERN_OK ? tern_comm_barrier(board->comm) : status;
}

// The slowest rank's time of each iteration, into rank 0's part; then over the iterations.
static int summarise(const struct perf_board *board, long iterations, struct perf_time *time)
{
    static double times[PERF_ITERATIONS_MAX];
    double *slowest = own_part(board)->times;
    for (int rank = 1; rank < board->nranks; rank++) {
        int status = tern_get(board->window, rank, offsetof(struct part, times), times,
                              (size_t)iterations * sizeof *times);
        if (status != TERN_OK) {
            return status;
        }
        for (long i = 0; i < iterations; i++) {
            slowest[i] = times[i] > slowest[i] ? times[i] : slowest[i];
        }
    }
    time->median_us = cli_median(slowest, iterations);
    time->min_us = slowest[0];
    time->max_us = slowest[iterations - 1];
    time->iterations = iterations;
    return TERN_OK;
}

// All begin: when.
static int begin(struct perf_board *board, double *begin_us)
{
    if (board->meet == NULL) {
        int status = tern_comm_barrier(board->comm);
        *begin_us = cli_now_us();
        return status;
    }
    perf_meet_arrive(board->meet, &board->meeting);
    while (!perf_meet_await(board->meet, &board->meeting)) {
        int status = tern_comm_health(board->comm);
        if (status != TERN_OK) {
            return status;
        }
    }
    *begin_us = board->meeting.start_us;
    return TERN_OK;
}

int perf_time_action(struct perf_board *board, perf_action *action, void *arg, long iterations,
                     long together, struct perf_time *time)
{
    double *times = own_part(board)->times;
    int status = TERN_OK;
    long groups = (iterations + together - 1) / together;
    for (long i = 0; i < groups && status == TERN_OK; i++) {
        double begin_us = 0;
        status = begin(board, &begin_us);
        for (long call = 0; call < together && status == TERN_OK; call++) {
            status = action(arg);
        }
        times[i] = (cli_now_us() - begin_us) / (double)together;
    }
    status = status == TERN_OK ? tern_comm_barrier(board->comm) : status;
    if (status == TERN_OK && board->rank == 0 && groups > 0) {
        status = summarise(board, groups, time);
        time->iterations = groups * together;
    }
    return status == TERN_OK ? tern_comm_barrier(board->comm) : status;
}

struct copy {
    char *memory; // pairs of from and to
    size_t bytes, pages;
    int64_t repeat;
    long nbuffers, next;
};

static int copy_once(void *arg)
{
    struct copy *copy = arg;
    for (int64_t i = 0; i < copy->repeat; i++) {
        char *from = copy->memory + (size_t)(2 * copy->next) * copy->pages;
        char *to = from + copy->pages;
        memcpy(to, from, copy->bytes);
        // The compiler must not think that nobody reads it.
        __asm__ volatile("" : : "r"(to) : "memory");
        copy->next = copy->next + 1 < copy->nbuffers ? copy->next + 1 : 0;
    }
    return TERN_OK;
}

static int time_copies(struct perf_board *board, struct copy *copy, struct perf_time *time)
{
    struct perf_time trial = {0};
    int status = perf_time_action(board, copy_once, copy, 2, 1, &trial);
    copy->repeat =
        trial.min_us < COPY_LEAST_US ? (int64_t)(COPY_LEAST_US / (trial.min_us + 0.01)) + 1 : 1;
    status = status == TERN_OK ? perf_share_value(board, &copy->repeat) : status;
    double once_us = trial.min_us * (double)copy->repeat + 0.01;
    int64_t iterations = (int64_t)(COPY_TIME_US / once_us);
    iterations = iterations < COPY_ITERATIONS_MIN   ? COPY_ITERATIONS_MIN
                 : iterations > COPY_ITERATIONS_MAX ? COPY_ITERATIONS_MAX
                                                    : iterations;
    status = status == TERN_OK ? perf_share_value(board, &iterations) : status;
    status = status == TERN_OK ? perf_time_action(board, copy_once, copy, (long)iterations, 1, time)
                               : status;
    double scale = 1.0 / (double)copy->repeat;
    time->median_us *= scale;
    time->min_us *= scale;
    time->max_us *= scale;
    return status;
}

int perf_time_copy(struct perf_board *board, uint64_t bytes, long nbuffers, struct perf_time *time)
{
    uint64_t each = (bytes / 2 + (uint64_t)board->nranks - 1) / (uint64_t)board->nranks;
    struct copy copy = {.bytes = each > 0 ? each : 1, .repeat = 1, .nbuffers = nbuffers};
    copy.pages = (copy.bytes + 4095) / 4096 * 4096;
    size_t all = 2 * copy.pages * (size_t)nbuffers;
    char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("tern perf: no memory to measure the copy rate with");
        return TERN_ERR_MEMORY;
    }
    memset(memory, 1, all);
    copy.memory = memory;
    int status = time_copies(board, &copy, time);
    munmap(memory, all);
    return status;
}
