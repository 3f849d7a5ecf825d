// SPDX-License-Identifier: Apache-2.0
// Asking the MPIs beside tern. Questions and answers go through a socket to every rank of the MPI
// by itself: an MPI's own standard input reaches rank 0 only, and ranks that wait for rank 0 inside
// MPI burn a processor that the next measurement needs.

#include "perf/peers.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define ANSWER_MS 60000

const struct perf_system perf_systems[PERF_PEERS] = {
    {"openmpi",
     "Open MPI",
     "mpicc.openmpi",
     "mpirun.openmpi",
     "openmpi-bin and libopenmpi-dev",
     {"--allow-run-as-root", "--oversubscribe", NULL},
     true},
    {"mpich", "MPICH", "mpicc.mpich", "mpirun.mpich", "mpich and libmpich-dev", {NULL}, false},
};

int perf_peer_of(const char *word)
{
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        if (strcmp(word, perf_systems[peer].word) == 0) {
            return peer;
        }
    }
    return -1;
}

// Rank 0's answer.
static enum perf_answer hear(struct perf_peer *peer, char *text, size_t size)
{
    struct pollfd fd = {.fd = peer->fds[0], .events = POLLIN};
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += 1000) {
        if (poll(&fd, 1, 1000) > 0) {
            ssize_t length = recv(peer->fds[0], text, size - 1, 0);
            text[length > 0 ? length : 0] = '\0';
            return length > 0 ? PERF_ANSWERED : PERF_FAILED;
        }
        if (perf_peer_ended(peer, 0)) {
            return PERF_FAILED;
        }
    }
    return PERF_TOO_SLOW;
}

static enum perf_answer fail(struct perf_peer *peer)
{
    char printed[400];
    perf_peer_ended(peer, 1000);
    perf_peer_printed(peer, printed, sizeof printed);
    perf_say("%s has ended: %s", peer->system->title, printed);
    perf_peer_stop(peer);
    return PERF_FAILED;
}

static enum perf_answer give_up(struct perf_peer *peer, const struct perf_question *question)
{
    int nranks = peer->nranks;
    perf_say("%s has not made a few calls of %s with %llu elements within %d s: not compared, and "
             "neither are greater sizes",
             peer->system->title, perf_shapes[question->kind].word,
             (unsigned long long)question->total, ANSWER_MS / 1000);
    perf_peer_stop(peer);
    peer->restart_nranks = nranks;
    return PERF_TOO_SLOW;
}

static enum perf_answer ask(struct perf_peer *peer, const struct perf_question *question,
                            char *text, size_t size)
{
    snprintf(text, size, "%s %llu %s %s %d %d %ld %ld %ld %ld %d %d %.0f",
             perf_shapes[question->kind].word, (unsigned long long)question->total, question->dtype,
             question->op, question->root, question->in_place, question->warmup,
             question->iterations, question->together, question->nbuffers, question->instant,
             question->malloced, question->budget_us);
    peer->busy = true;
    for (int rank = 0; rank < peer->nranks; rank++) {
        if (send(peer->fds[rank], text, strlen(text), MSG_NOSIGNAL) < 0) {
            return fail(peer);
        }
    }
    enum perf_answer answer = hear(peer, text, size);
    peer->busy = answer != PERF_ANSWERED;
    return answer == PERF_FAILED     ? fail(peer)
           : answer == PERF_TOO_SLOW ? give_up(peer, question)
                                     : answer;
}

enum perf_answer perf_peer_ask(struct perf_peer *peer, const struct perf_question *question,
                               struct perf_time *time)
{
    char text[256];
    *time = (struct perf_time){0};
    int restart_nranks = peer->restart_nranks;
    peer->restart_nranks = 0;
    if (restart_nranks > 0 && perf_peer_start(peer, restart_nranks) != 0) {
        return PERF_FAILED;
    }
    if (peer->nranks == 0) {
        return PERF_NOT_THERE; // not wanted, or it has failed before
    }
    enum perf_answer answer = ask(peer, question, text, sizeof text);
    if (answer != PERF_ANSWERED) {
        return answer;
    }
    if (sscanf(text, "ok %ld %lf %lf %lf", &time->iterations, &time->median_us, &time->min_us,
               &time->max_us) == 4) {
        return PERF_ANSWERED;
    }
    *time = (struct perf_time){0};
    if (strcmp(peer->said, text) != 0) {
        snprintf(peer->said, sizeof peer->said, "%s", text);
        perf_say("%s is not compared: %s", peer->system->title, text);
    }
    return PERF_NOT_THERE;
}
