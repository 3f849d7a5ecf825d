// SPDX-License-Identifier: Apache-2.0
// Executors for the tests of the recorder, each right or wrong in one way: an AllReduce in which
// every rank puts its input into its CCL_In, and adds up what lies in those of its peers. Asked for
// an AllGather, the right one copies instead.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tern/record.h"

#define HERE __FILE__, __LINE__

enum fault {
    NONE,
    BACKWARDS,  // the second use of a notify is appended before the first
    LOST,       // the second phase without hearing of the first
    SWAPPED,    // two streams wait for the same notify
    STUCK,      // everybody waits first
    NO_POST,    // a wait that nobody posts for
    LEFT,       // a post that nobody waits for
    UNRELEASED, // the slave stream begins by itself
    UNCOLLECTED,
    PAST_END,
    ROOM,
    FOREIGN, // an address of the host
    PEERS_INPUT,
    NULL_STREAM,
    OTHERS_STREAM,
    NULL_NOTIFY,
    NULL_LINK,
    WRONG_TYPE,
    NO_BIT,
    READS, // device memory
    RECURSES,
    LOOPS,
    DEAF,  // does not look at results
    FORKS, // leaves a process behind
    TWICE, // returns in two processes
    POSTS_FOR_EVER,
    EXITS,
    ABORTS,
    FAILS,
    FAULTS,
};

static volatile int sink;
static volatile int *volatile nowhere = (volatile int *)16; // NOLINT

static int recurse(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : recurse(depth + 1) + room[0];
}

struct job {
    const tern_record_call *call;
    enum fault fault;
    void *main, *slave, *go, *done;
};

#define DO(task)                                                                                   \
    do {                                                                                           \
        int do_status = (task);                                                                    \
        if (do_status != TERN_OK) {                                                                \
            return do_status;                                                                      \
        }                                                                                          \
    } while (0)

// Of the rank before.
static void *others_stream;
static void *others_input;

// Reads all peers' CCL_In; both phases do the same.
static int phase(const struct job *job, void *to)
{
    const tern_record_call *call = job->call;
    uint64_t bytes = call->in_bytes;
    if (job->fault != UNRELEASED) {
        DO(tern_record_post(job->main, job->go, HERE));
        DO(tern_record_wait(job->slave, job->go, HERE));
    }
    for (int peer = 0; peer < call->nranks; peer++) {
        void *theirs;
        void *link = tern_record_link(peer);
        if (peer == call->rank) {
            continue;
        }
        DO(tern_record_link_memory(link, false, &theirs, NULL, HERE));
        if (job->fault == STUCK) {
            DO(tern_record_link_wait(job->slave, link, 1, HERE));
        }
        DO(tern_record_link_post(job->slave, link, 0, HERE));
        DO(tern_record_link_wait(job->slave, link, 0, HERE));
        tern_record_reduce_task add = {.to = to,
                                       .from = theirs,
                                       .count = call->count,
                                       .dtype = call->dtype,
                                       .op = call->op,
                                       .atomic = true};
        add.from = job->fault == FOREIGN ? (void *)&sink : add.from;
        add.dtype = job->fault == WRONG_TYPE ? TERN_BF16 : add.dtype;
        if (job->fault == PEERS_INPUT) {
            add.from = others_input != NULL ? others_input : add.from;
            others_input = call->in;
        }
        add.to =
            job->fault == PAST_END ? (char *)call->ccl_out + call->ccl_bytes - bytes + 4 : add.to;
        if (call->kind == TERN_PLAN_ALL_GATHER) {
            char *place = (char *)to + (uint64_t)peer * bytes;
            DO(tern_record_copy(job->slave, place, bytes, theirs, bytes, HERE));
        } else {
            DO(tern_record_reduce(job->slave, &add, HERE));
        }
        if (job->fault != LOST) {
            DO(tern_record_link_post(job->slave, link, 1, HERE));
        }
        if (job->fault != STUCK && job->fault != LOST) {
            DO(tern_record_link_wait(job->slave, link, 1, HERE));
        }
    }
    if (job->fault != UNCOLLECTED) {
        DO(tern_record_post(job->slave, job->done, HERE));
        DO(tern_record_wait(job->main, job->done, HERE));
    }
    return TERN_OK;
}

static int misuse(const struct job *job)
{
    switch (job->fault) {
    case SWAPPED: {
        void *third = tern_record_stream();
        DO(tern_record_post(job->main, job->go, HERE));
        DO(tern_record_wait(third, job->go, HERE));
        DO(tern_record_post(third, job->done, HERE));
        DO(tern_record_wait(job->main, job->done, HERE));
        break;
    }
    case BACKWARDS: {
        void *first = tern_record_notify();
        void *third = tern_record_stream();
        void *back = tern_record_notify();
        DO(tern_record_wait(third, first, HERE)); // second
        DO(tern_record_wait(third, job->done, HERE));
        DO(tern_record_post(third, back, HERE));
        DO(tern_record_post(job->main, job->go, HERE));
        DO(tern_record_wait(job->slave, job->go, HERE));
        DO(tern_record_post(job->slave, job->done, HERE)); // first
        DO(tern_record_wait(job->main, job->done, HERE));
        DO(tern_record_post(job->main, first, HERE));
        DO(tern_record_post(job->main, job->done, HERE));
        DO(tern_record_wait(job->main, back, HERE));
        break;
    }
    case NO_POST:
        DO(tern_record_wait(job->main, tern_record_notify(), HERE));
        break;
    case LEFT:
        DO(tern_record_post(job->main, tern_record_notify(), HERE));
        break;
    case ROOM:
        DO(tern_record_copy(job->main, job->call->out, 8, job->call->in, 12, HERE));
        break;
    case NULL_STREAM:
        DO(tern_record_post(NULL, job->go, HERE));
        break;
    case OTHERS_STREAM:
        if (others_stream != NULL) {
            DO(tern_record_post(others_stream, job->go, HERE));
        }
        others_stream = job->main;
        break;
    case NULL_NOTIFY:
        DO(tern_record_wait(job->main, NULL, HERE));
        break;
    case NULL_LINK:
        DO(tern_record_link_post(job->slave, NULL, 0, HERE));
        break;
    case NO_BIT:
        DO(tern_record_link_post(job->slave, tern_record_link(1 - job->call->rank), 64, HERE));
        break;
    default:
        break;
    }
    return TERN_OK;
}

// What does not come back as it should.
static int misbehave(const struct job *job)
{
    switch (job->fault) {
    case READS:
        sink = *(const int *)job->call->in;
        break;
    case RECURSES:
        sink = recurse(0);
        break;
    case LOOPS:
        for (;;) {
            sink = 1;
        }
    case POSTS_FOR_EVER:
        for (;;) {
            DO(tern_record_copy(job->main, NULL, 0, NULL, 0, HERE));
        }
    case DEAF:
        for (;;) {
            tern_status_ignore(tern_record_copy(NULL, NULL, 0, NULL, 0, HERE));
        }
    case FORKS:
        while (fork() == 0) {
            pause();
        }
        break;
    case TWICE:
        (void)fork();
        break;
    case EXITS:
        exit(0);
    case ABORTS:
        abort();
    case FAILS:
        tern_record_say(true, HERE, "no %s", "idea");
        tern_record_returned("my.cc", 7, "Guess()", 4);
        return TERN_ERR_ARG;
    case FAULTS:
        *nowhere = 1;
        break;
    default:
        break;
    }
    return TERN_OK;
}

static int run(const tern_record_call *call, enum fault fault)
{
    struct job job = {.call = call, .fault = fault, .main = tern_record_stream()};
    job.slave = tern_record_stream();
    job.go = tern_record_notify();
    job.done = tern_record_notify();
    DO(misuse(&job));
    DO(misbehave(&job));
    uint64_t bytes = call->in_bytes;
    DO(tern_record_copy(job.main, call->ccl_in, call->ccl_bytes, call->in, bytes, HERE));
    uint64_t own = call->kind == TERN_PLAN_ALL_GATHER ? (uint64_t)call->rank * bytes : 0;
    char *place = (char *)call->out + own;
    DO(tern_record_copy(job.main, place, call->out_bytes - own, call->in, bytes, HERE));
    DO(phase(&job, call->out));
    if (fault == SWAPPED) { // beside the first wait for it
        DO(tern_record_post(job.main, job.go, HERE));
        DO(tern_record_wait(job.slave, job.go, HERE));
    }
    return fault == LOST ? phase(&job, call->ccl_out) : TERN_OK;
}

#define EXECUTOR(name)                                                                             \
    static int drive_##name(const tern_record_call *call)                                          \
    {                                                                                              \
        return run(call, name);                                                                    \
    }
#define EXECUTORS(X)                                                                               \
    X(NONE)                                                                                        \
    X(BACKWARDS)                                                                                   \
    X(LOST)                                                                                        \
    X(SWAPPED)                                                                                     \
    X(STUCK)                                                                                       \
    X(NO_POST)                                                                                     \
    X(LEFT)                                                                                        \
    X(UNRELEASED)                                                                                  \
    X(UNCOLLECTED)                                                                                 \
    X(PAST_END)                                                                                    \
    X(ROOM)                                                                                        \
    X(FOREIGN)                                                                                     \
    X(PEERS_INPUT)                                                                                 \
    X(NULL_STREAM)                                                                                 \
    X(OTHERS_STREAM)                                                                               \
    X(NULL_NOTIFY)                                                                                 \
    X(NULL_LINK)                                                                                   \
    X(WRONG_TYPE)                                                                                  \
    X(NO_BIT)                                                                                      \
    X(READS)                                                                                       \
    X(RECURSES)                                                                                    \
    X(LOOPS)                                                                                       \
    X(POSTS_FOR_EVER)                                                                              \
    X(DEAF)                                                                                        \
    X(FORKS)                                                                                       \
    X(TWICE)                                                                                       \
    X(EXITS)                                                                                       \
    X(ABORTS)                                                                                      \
    X(FAILS)                                                                                       \
    X(FAULTS)
EXECUTORS(EXECUTOR)

__attribute__((constructor)) static void register_all(void)
{
#define REGISTER(name) status |= tern_record_register(#name, drive_##name);
    int status = 0;
    EXECUTORS(REGISTER)
    if (status != 0) {
        abort();
    }
}
