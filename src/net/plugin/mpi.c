// SPDX-License-Identifier: Apache-2.0
// An engine over whatever MPI a program runs under; compiled by that MPI's own mpicc. Lives beside
// the program's own MPI calls: it uses a duplicate of the world's communicator. MPI has no
// descriptor to sleep on, so it is asked again and again.

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

typedef MPI_Request operation;
struct link {
    MPI_Comm comm;
    bool began; // MPI has been begun here
};

#include "two_sided.inc"

static int post_send(struct link *link, int rank, int tag, const void *from, size_t bytes,
                     operation *request)
{
    return MPI_Isend(from, (int)bytes, MPI_BYTE, rank, tag, link->comm, request) == MPI_SUCCESS
               ? 0
               : -1;
}

static int post_receive(struct link *link, int rank, int tag, void *to, size_t bytes,
                        operation *request)
{
    return MPI_Irecv(to, (int)bytes, MPI_BYTE, rank, tag, link->comm, request) == MPI_SUCCESS ? 0
                                                                                              : -1;
}

static int test(struct link *link, operation *request)
{
    int over = 0;
    (void)link;
    return MPI_Test(request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS ? -1 : over != 0;
}

static void cancel(struct link *link, operation *request)
{
    (void)link;
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

// What a program may have done with MPI before. 0, or -1 with a sentence.
static int begin_mpi(const struct tern__net_host *host, bool *began, char *why, size_t why_bytes)
{
    int begun = 0;
    int level = MPI_THREAD_MULTIPLE;
    int rank = -1;
    int size = 0;
    MPI_Initialized(&begun);
    if (!begun) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        *began = true;
    } else {
        MPI_Query_thread(&level);
    }
    if (level < MPI_THREAD_MULTIPLE) {
        snprintf(why, why_bytes,
                 "the engine mpi needs MPI_THREAD_MULTIPLE: begin MPI with MPI_Init_thread");
        return -1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != host->rank || size != host->nranks) {
        snprintf(
            why, why_bytes,
            "rank %d of %d of the job is rank %d of %d of MPI; the engine mpi is for jobs that "
            "mpirun has started",
            host->rank, host->nranks, rank, size);
        return -1;
    }
    return 0;
}

static int start(const struct tern__net_host *host, void *card, void **state, char *why,
                 size_t why_bytes)
{
    struct engine *engine = new_engine(host);
    (void)card;
    if (engine == NULL) {
        snprintf(why, why_bytes, "no memory for the engine mpi");
        return -1;
    }
    if (begin_mpi(host, &engine->link.began, why, why_bytes) != 0) {
        free_engine(engine);
        return -1;
    }
    *state = engine;
    return 0;
}

static int connect_all(void *state, const char *cards, char *why, size_t why_bytes)
{
    struct engine *engine = state;
    (void)cards;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &engine->link.comm) != MPI_SUCCESS) {
        snprintf(why, why_bytes, "MPI_Comm_dup failed");
        return -1;
    }
    MPI_Comm_set_errhandler(engine->link.comm, MPI_ERRORS_RETURN);
    listen_to_all(engine);
    return 0;
}

static bool progress(void *state)
{
    return take_all(state);
}

static int descriptor(void *state)
{
    (void)state;
    return -1;
}

static bool arm(void *state)
{
    const struct engine *engine = state;
    return !engine->sending && !engine->receiving; // MPI moves a long payload only when it is asked
}

static void stop(void *state, bool well)
{
    struct engine *engine = state;
    if (well) {
        drain_all(engine);
        cancel_all(engine);
        MPI_Comm_free(&engine->link.comm);
        if (engine->link.began) {
            MPI_Finalize();
        }
    }
    free_engine(engine);
}

const struct tern__net_engine tern_net_engine = {
    .abi = TERN__NET_ENGINE_ABI,
    .name = "mpi",
    .start = start,
    .connect = connect_all,
    .send = send_message,
    .has_room = has_room,
    .answer = answer_message,
    .progress = progress,
    .descriptor = descriptor,
    .arm = arm,
    .stop = stop,
};
