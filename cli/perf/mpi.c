// SPDX-License-Identifier: Apache-2.0
// What `tern perf --compare` runs under an MPI: the same calls on buffers of the same sizes, timed
// in the same way (cli/perf/clock.c), one measurement per question. Compiled on the spot with the
// MPI's own mpicc; every rank is connected to the asking process by a socket and sleeps in it
// between questions.
//
//     question   KIND TOTAL DTYPE OP ROOT IN_PLACE WARMUP ITERATIONS TOGETHER BUFFERS INSTANT
//                BUDGET_US
//     answer     ok ITERATIONS MEDIAN_US MIN_US MAX_US, or a sentence; from rank 0

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "timing.h"
#include "perf/meet.h"
#include "perf/shape.h"

#define ITERATIONS_MIN 3 // whatever the budget

struct question {
    enum perf_kind kind;
    unsigned long long total;
    char dtype[16], op[16];
    int root, in_place;
    int instant;  // they begin at one, not after a barrier
    int malloced; // buffers; else they begin with a page
    long warmup, iterations;
    long together, nbuffers; // calls between two beginnings; pairs of buffers in turn
    double budget_us;
};

// A call, ready to be made again and again.
struct call {
    enum perf_kind kind;
    int rank, n, root;
    void *in, *out;
    int total, count; // elements; of the equal shares
    int in_count;     // of this rank
    MPI_Datatype type;
    MPI_Op op;
    int in_counts[PERF_RANKS_MAX], in_offsets[PERF_RANKS_MAX];
    int out_counts[PERF_RANKS_MAX], out_offsets[PERF_RANKS_MAX];
};

static MPI_Datatype type_of(const char *dtype, const char *op)
{
    const struct {
        const char *word;
        MPI_Datatype single, pair;
    } types[] = {
        {"f32", MPI_FLOAT, MPI_FLOAT_INT},        {"f64", MPI_DOUBLE, MPI_DOUBLE_INT},
        {"i8", MPI_INT8_T, MPI_DATATYPE_NULL},    {"i16", MPI_INT16_T, MPI_SHORT_INT},
        {"i32", MPI_INT32_T, MPI_2INT},           {"i64", MPI_INT64_T, MPI_LONG_INT},
        {"u8", MPI_UINT8_T, MPI_DATATYPE_NULL},   {"u16", MPI_UINT16_T, MPI_DATATYPE_NULL},
        {"u32", MPI_UINT32_T, MPI_DATATYPE_NULL}, {"u64", MPI_UINT64_T, MPI_DATATYPE_NULL}};
    int pairs = strcmp(op, "minloc") == 0 || strcmp(op, "maxloc") == 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(dtype, types[i].word) == 0) {
            return pairs ? types[i].pair : types[i].single;
        }
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op op_of(const char *word)
{
    const struct {
        const char *word;
        MPI_Op op;
    } ops[] = {{"sum", MPI_SUM},     {"prod", MPI_PROD},     {"max", MPI_MAX},
               {"min", MPI_MIN},     {"and", MPI_BAND},      {"or", MPI_BOR},
               {"xor", MPI_BXOR},    {"minloc", MPI_MINLOC}, {"maxloc", MPI_MAXLOC},
               {"none", MPI_OP_NULL}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(word, ops[i].word) == 0) {
            return ops[i].op;
        }
    }
    return MPI_OP_NULL;
}

// In place: what MPI wants instead of the input, and for a scatter instead of the output.
static void place(struct call *call)
{
    int roots = perf_has(call->kind, PERF_OUT_ROOT) || perf_has(call->kind, PERF_IN_ROOT);
    if (roots && call->rank != call->root) {
        return;
    }
    if (call->kind == PERF_SCATTER) {
        call->out = MPI_IN_PLACE;
    } else if (call->kind != PERF_BROADCAST) {
        call->in = MPI_IN_PLACE;
    }
}

static void describe(struct call *call, const struct question *question)
{
    enum perf_kind kind = question->kind;
    uint64_t total = question->total;
    int at = 0;
    int from = 0;
    for (int rank = 0; rank < call->n; rank++) {
        int exchange = kind == PERF_ALL_TO_ALL_V;
        int out = (int)(exchange ? perf_block(kind, total, call->n, rank, call->rank)
                                 : perf_share(kind, total, call->n, rank));
        int in =
            (int)(exchange ? perf_block(kind, total, call->n, call->rank, rank) : (uint64_t)out);
        call->out_counts[rank] = out;
        call->out_offsets[rank] = at;
        call->in_counts[rank] = in;
        call->in_offsets[rank] = from;
        at += out;
        from += in;
    }
    call->total = (int)total;
    call->count = (int)(total / (uint64_t)call->n);
    call->in_count = (int)perf_in(kind, total, call->n, call->rank, call->root);
}

static void make_call(const struct call *c)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype t = c->type;
    int next = (c->rank + 1) % c->n;
    int previous = (c->rank + c->n - 1) % c->n;
    int own = c->out_counts[c->rank];
    switch (c->kind) {
    case PERF_ALL_REDUCE:
        MPI_Allreduce(c->in, c->out, c->total, t, c->op, world);
        break;
    case PERF_REDUCE_SCATTER:
        MPI_Reduce_scatter_block(c->in, c->out, c->count, t, c->op, world);
        break;
    case PERF_ALL_GATHER:
        MPI_Allgather(c->in, c->count, t, c->out, c->count, t, world);
        break;
    case PERF_BROADCAST:
        MPI_Bcast(c->out, c->total, t, c->root, world);
        break;
    case PERF_REDUCE:
        MPI_Reduce(c->in, c->out, c->total, t, c->op, c->root, world);
        break;
    case PERF_GATHER:
        MPI_Gather(c->in, c->count, t, c->out, c->count, t, c->root, world);
        break;
    case PERF_SCATTER:
        MPI_Scatter(c->in, c->count, t, c->out, c->count, t, c->root, world);
        break;
    case PERF_ALL_TO_ALL:
        MPI_Alltoall(c->in, c->count, t, c->out, c->count, t, world);
        break;
    case PERF_REDUCE_SCATTER_V:
        MPI_Reduce_scatter(c->in, c->out, c->out_counts, t, c->op, world);
        break;
    case PERF_ALL_GATHER_V:
        MPI_Allgatherv(c->in, c->in_count, t, c->out, c->out_counts, c->out_offsets, t, world);
        break;
    case PERF_GATHER_V:
        MPI_Gatherv(c->in, c->in_count, t, c->out, c->out_counts, c->out_offsets, t, c->root,
                    world);
        break;
    case PERF_SCATTER_V:
        MPI_Scatterv(c->in, c->in_counts, c->in_offsets, t, c->out, own, t, c->root, world);
        break;
    case PERF_ALL_TO_ALL_V:
        MPI_Alltoallv(c->in, c->in_counts, c->in_offsets, t, c->out, c->out_counts, c->out_offsets,
                      t, world);
        break;
    case PERF_SEND_RECV:
        MPI_Sendrecv(c->in, c->total, t, next, 0, c->out, c->total, t, previous, 0, world,
                     MPI_STATUS_IGNORE);
        break;
    case PERF_BARRIER:
    case PERF_KINDS:
        MPI_Barrier(world);
        break;
    }
}

static struct perf_meet *meet; // in memory of rank 0 that all share
static struct perf_meeting meeting;

static void share_meet(int rank, int n)
{
    MPI_Win window;
    MPI_Aint size = rank == 0 ? (MPI_Aint)sizeof *meet : 0;
    int unit;
    void *own;
    MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &meet);
    if (rank == 0) {
        memset(meet, 0, sizeof *meet);
    }
    meeting = perf_meeting_of(n);
    MPI_Barrier(MPI_COMM_WORLD);
}

// All begin: when.
static double begin_all(const struct question *question)
{
    if (!question->instant) {
        MPI_Barrier(MPI_COMM_WORLD);
        return cli_now_us();
    }
    perf_meet_arrive(meet, &meeting);
    while (!perf_meet_await(meet, &meeting)) { // the launcher ends all when one dies
    }
    return meeting.start_us;
}

// The time of one call, of as many as are made together, on the pairs of buffers in turn.
static double time_some(const struct call *calls, const struct question *question, long *next)
{
    double begin = begin_all(question);
    for (long i = 0; i < question->together; i++) {
        make_call(&calls[*next]);
        *next = *next + 1 < question->nbuffers ? *next + 1 : 0;
    }
    return (cli_now_us() - begin) / (double)question->together;
}

// One call nobody counts, then the warm-up; how many iterations the time allows, the same on all
// ranks.
static long warm_up(const struct call *calls, const struct question *question, long *next)
{
    double begin = cli_now_us();
    time_some(calls, question, next);
    double one_us = (cli_now_us() - begin) / (double)question->together; // with its beginning
    MPI_Bcast(&one_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    long warmup = question->warmup;
    if ((double)warmup * one_us > question->budget_us / 4) {
        warmup = 1;
    }
    for (long i = 0; i < warmup && i < question->warmup; i += question->together) {
        begin = cli_now_us();
        time_some(calls, question, next);
        one_us = (cli_now_us() - begin) / (double)question->together;
    }
    MPI_Bcast(&one_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double affordable = question->budget_us / (one_us + 0.01);
    long least = question->iterations < ITERATIONS_MIN ? question->iterations : ITERATIONS_MIN;
    return affordable > (double)question->iterations ? question->iterations
           : affordable < (double)least              ? least
                                                     : (long)affordable;
}

static void measure(const struct call *calls, const struct question *question, char *answer,
                    size_t size)
{
    long next = 0;
    long together = question->together;
    long iterations = (warm_up(calls, question, &next) + together - 1) / together;
    double *times = calloc((size_t)iterations * 2, sizeof *times);
    if (times == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    double *slowest = times + iterations;
    for (long i = 0; i < iterations; i++) {
        times[i] = time_some(calls, question, &next);
    }
    MPI_Reduce(times, slowest, (int)iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    double median = cli_median(slowest, iterations);
    snprintf(answer, size, "ok %ld %.4f %.4f %.4f", iterations * together, median, slowest[0],
             slowest[iterations - 1]);
    free(times);
}

// Ordinary numbers, so that no processor takes its time over them: 1.0, 1.0, … or bytes of 1.
// Touches every page.
static void *make_buffer(size_t bytes, const struct question *question)
{
    void *memory = NULL;
    const char *dtype = question->dtype;
    size_t whole = (bytes + 4095) / 4096 * 4096 + 4096;
    if (question->malloced) {
        memory = malloc(whole);
    } else if (posix_memalign(&memory, 4096, whole) != 0) {
        return NULL;
    }
    char *buffer = memory;
    if (buffer == NULL) {
        return NULL;
    }
    uint64_t one = UINT64_C(0x0101010101010101);
    one = strcmp(dtype, "f32") == 0 ? UINT64_C(0x3f8000003f800000) : one;
    one = strcmp(dtype, "f64") == 0 ? UINT64_C(0x3ff0000000000000) : one;
    for (size_t i = 0; i < whole; i += sizeof one) {
        memcpy(buffer + i, &one, sizeof one);
    }
    return buffer;
}

// Why MPI has no such call; NULL when it has.
static const char *refusal(const struct question *question, const struct call *call)
{
    static char text[96];
    if (call->type == MPI_DATATYPE_NULL) {
        snprintf(text, sizeof text, "MPI has no %s%s", question->dtype,
                 strstr(question->op, "loc") != NULL ? " with a location" : "");
        return text;
    }
    if (perf_has(question->kind, PERF_REDUCES) && call->op == MPI_OP_NULL) {
        snprintf(text, sizeof text, "MPI has no operation %s", question->op);
        return text;
    }
    return question->total > INT_MAX ? "MPI counts in int" : NULL;
}

static void answer_question(const struct question *question, char *answer, size_t size)
{
    struct call call = {.kind = question->kind,
                        .root = question->root,
                        .type = type_of(question->dtype, question->op),
                        .op = op_of(question->op)};
    MPI_Comm_rank(MPI_COMM_WORLD, &call.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &call.n);
    const char *why = refusal(question, &call);
    if (why != NULL) {
        snprintf(answer, size, "%s", why);
        return;
    }
    MPI_Aint low;
    MPI_Aint element;
    MPI_Type_get_extent(call.type, &low, &element);
    size_t bytes = ((size_t)question->total * (size_t)element + 127) / 64 * 64;
    size_t pairs = (size_t)question->nbuffers;
    char *in = make_buffer(bytes * pairs, question);
    char *out = make_buffer(bytes * pairs, question);
    struct call *calls = calloc(pairs, sizeof *calls);
    if (in == NULL || out == NULL || calls == NULL) {
        fprintf(stderr, "no memory for two buffers of %zu bytes\n", bytes * pairs);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (size_t pair = 0; pair < pairs; pair++) {
        calls[pair] = call;
        calls[pair].in = in + pair * bytes;
        calls[pair].out = out + pair * bytes;
        describe(&calls[pair], question);
        if (question->in_place) {
            place(&calls[pair]);
        }
    }
    measure(calls, question, answer, size);
    free(calls);
    free(in);
    free(out);
}

// Everybody exchanges a message with everybody: whatever an MPI opens for that, it has opened then.
static void greet_all(int rank)
{
    int n;
    int word = rank;
    int theirs;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int distance = 0; distance < n; distance++) {
        MPI_Sendrecv(&word, 1, MPI_INT, (rank + distance) % n, 0, &theirs, 1, MPI_INT,
                     (rank + n - distance) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    share_meet(rank, n);
}

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length >= sizeof address.sun_path) {
        return -1;
    }
    memcpy(address.sun_path + 1, name, length); // abstract
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return connect(fd, (struct sockaddr *)&address, size) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    char text[256];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    greet_all(rank);
    int fd = argc == 2 ? connect_to(argv[1]) : -1;
    snprintf(text, sizeof text, "%d", rank);
    if (fd < 0 || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
        perror("nobody asks");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    ssize_t length;
    while ((length = recv(fd, text, sizeof text - 1, 0)) > 0) {
        struct question question;
        char kind[32];
        text[length] = '\0';
        if (sscanf(text, "%31s %llu %15s %15s %d %d %ld %ld %ld %ld %d %d %lf", kind,
                   &question.total, question.dtype, question.op, &question.root, &question.in_place,
                   &question.warmup, &question.iterations, &question.together, &question.nbuffers,
                   &question.instant, &question.malloced, &question.budget_us) != 13 ||
            question.together < 1 || question.nbuffers < 1) {
            break;
        }
        question.kind = perf_kind_of(kind);
        answer_question(&question, text, sizeof text);
        if (rank == 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    close(fd);
    MPI_Finalize();
    return 0;
}
