// SPDX-License-Identifier: Apache-2.0
// An exchange of ranks that know a token and where one of them listens, or will: a gathering
// (boot/star.h) there.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/exchange.h"
#include "boot/listen.h"
#include "boot/star.h"

// Where this process listens, and has not joined. What nobody joins at is closed when there are
// more.
enum { PLACES = 64 };

struct listening {
    uint8_t token[16];
    int listener; // -1: none
    pid_t process;
};

static struct listening places[PLACES];
static int used; // places that have been used; the one that is used next is this, modulo PLACES
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of both

static int listen_anywhere(struct tern__address *address, int *listener)
{
    uint32_t port;
    TERN_TRY(tern__listen(listener, &port));
    int status = tern__listen_address(port, address);
    if (status != TERN_OK) {
        close(*listener);
    }
    return status;
}

int tern__root_listen(struct tern__root *root)
{
    int listener;
    TERN_TRY(root->address.length == 0 ? listen_anywhere(&root->address, &listener)
                                       : tern__listen_at(&root->address, &listener));
    pthread_mutex_lock(&lock);
    struct listening *place = &places[used % PLACES];
    if (used >= PLACES && place->listener >= 0) {
        close(place->listener);
    }
    memcpy(place->token, root->token, sizeof place->token);
    place->listener = listener;
    place->process = getpid();
    used++;
    pthread_mutex_unlock(&lock);
    return TERN_OK;
}

// The listener at which others come to this process; -1: somebody else's. What a parent has is
// not its child's.
static int take(const struct tern__root *root, int *listener)
{
    int status = TERN_OK;
    *listener = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < used && i < PLACES; i++) {
        struct listening *place = &places[i];
        if (place->listener < 0 || memcmp(place->token, root->token, sizeof place->token) != 0) {
            continue;
        }
        if (place->process == getpid()) {
            *listener = place->listener;
            place->listener = -1;
        } else {
            status = tern__fail(TERN_ERR_STATE,
                                "this process is a child of the one that prepared the place at "
                                "which all meet (%s); on several machines that one is a rank, and "
                                "prepares it when it has been forked",
                                tern__address_text(&root->address).text);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int listen_now(struct tern__root *root, int *listener)
{
    int status = tern__listen_at(&root->address, listener);
    return status == TERN_OK ? TERN_OK
                             : tern__fail(status, "%s; there rank %d meets the others",
                                          tern_last_error(), root->host);
}

struct meeting {
    struct tern__root root;
    int listener;
};

static int gather(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                  int64_t deadline_ns)
{
    const struct meeting *meeting = exchange->state;
    struct tern__star star = {.what = "the start of the job",
                              .rank = exchange->rank,
                              .nranks = exchange->nranks,
                              .host = meeting->listener >= 0 ? exchange->rank : meeting->root.host,
                              .begins_later = meeting->root.host >= 0,
                              .listener = meeting->listener,
                              .at = &meeting->root.address,
                              .token = meeting->root.token};
    int64_t now_ns = tern__now_ns();
    TERN_TRY(tern__net_timeout_option(&star.silence_ns));
    return tern__star_gather(&star, mine, bytes, all,
                             deadline_ns > now_ns ? deadline_ns - now_ns : 1);
}

static void end(struct tern__exchange *exchange)
{
    struct meeting *meeting = exchange->state;
    if (meeting->listener >= 0) {
        close(meeting->listener);
    }
    free(meeting);
    exchange->state = NULL;
}

int tern__exchange_root(const struct tern__root *root, int rank, int nranks,
                        struct tern__exchange *exchange)
{
    if (!tern__address_is_one(&root->address) || root->host < -1 || root->host >= nranks) {
        return tern__fail(TERN_ERR_ARG, "the place to meet is damaged: it has no address");
    }
    struct meeting *meeting = malloc(sizeof *meeting);
    if (meeting == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the start of %d ranks", nranks);
    }
    meeting->root = *root;
    int status = root->host == rank ? listen_now(&meeting->root, &meeting->listener)
                                    : take(root, &meeting->listener);
    if (status != TERN_OK) {
        free(meeting);
        return status;
    }
    *exchange = (struct tern__exchange){.name = "a place to meet",
                                        .rank = rank,
                                        .nranks = nranks,
                                        .state = meeting,
                                        .gather = gather,
                                        .end = end};
    return TERN_OK;
}
