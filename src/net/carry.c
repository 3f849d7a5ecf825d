// SPDX-License-Identifier: Apache-2.0
// Loading an engine, and driving it from the receiving thread.

#include "net/carry.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "sync/group.h"

// An engine without a descriptor is asked all the time for a moment, then ever less often.
#define BUSY_NS INT64_C(50000)
#define NAP_NS INT64_C(50000)
#define NAP_MAX_NS INT64_C(1000000)

struct pending { // an answer whose payload is freed when it has gone
    struct pending *next;
    uint32_t done;
    char *own;
};

struct loose { // a payload that has no place
    struct loose *next;
    char bytes[];
};

// A small put, which a notify to the same part may make one message with. All that is sent to the
// rank, a flush too, goes behind it; else it goes at the next beat.
struct held {
    bool there;
    struct tern__net_message message;
    char payload[TERN__NET_SHORT_BYTES];
};

struct tern__net_carrier {
    const struct tern__net_engine *engine;
    void *state;
    void *library;
    struct pending *pending;
    int64_t moved_ns, nap_ns;
    struct loose *loose;
    struct held held[TERN_RANKS_MAX]; // with the lock of the peer
};

// What an engine asks of the network.

static char *place(void *arg, int peer, const void *header)
{
    struct tern__net *net = arg;
    struct tern__net_carrier *carrier = net->carrier;
    const struct tern__net_message *message = header;
    const struct tern__net_handler *handler =
        message->kind < TERN__NET_KINDS ? &net->handlers[message->kind] : NULL;
    char *to =
        handler != NULL && handler->place != NULL ? handler->place(net, peer, message) : NULL;
    if (to != NULL && to != tern__net_nowhere) {
        return to;
    }
    struct loose *loose = malloc(sizeof *loose + message->bytes);
    if (loose == NULL) {
        tern__log(TERN__LOG_ERROR, "network: no memory for %llu bytes of rank %d",
                  (unsigned long long)message->bytes, peer);
        abort(); // the engine cannot be told to drop it
    }
    loose->next = carrier->loose;
    carrier->loose = loose;
    return loose->bytes;
}

static void free_loose(struct tern__net_carrier *carrier, const char *payload)
{
    for (struct loose **link = &carrier->loose; *link != NULL; link = &(*link)->next) {
        struct loose *loose = *link;
        if (loose->bytes == payload) {
            *link = loose->next;
            free(loose);
            return;
        }
    }
}

static void came(void *arg, int peer, const void *header, const char *payload)
{
    struct tern__net *net = arg;
    struct tern__net_message message;
    memcpy(&message, header, sizeof message);
    if (message.kind == TERN__NET_FLUSH) {
        struct tern__net_message flushed = {.kind = TERN__NET_FLUSHED, .value = message.value};
        tern__net_carry_answer(net, peer, &flushed, NULL, NULL);
    } else if (message.kind == TERN__NET_FLUSHED) {
        tern__net_flushed(net, peer, message.value);
    } else if (message.kind < TERN__NET_KINDS && net->handlers[message.kind].done != NULL) {
        net->handlers[message.kind].done(net, peer, &message, message.bytes > 0 ? payload : NULL);
    }
    free_loose(net->carrier, payload);
}

static bool is_gone(void *net, int peer)
{
    return tern__net_is_gone(net, peer);
}

static void wake(void *arg)
{
    tern__net_wake(arg);
}

// Start.

// Beside libtern, or beside the program that it is part of.
static void find_folder(char folder[PATH_MAX])
{
    Dl_info info;
    char path[PATH_MAX] = "";
    if (dladdr((void *)(uintptr_t)&tern__net_engine_open, &info) != 0 && info.dli_fname != NULL) {
        snprintf(path, sizeof path, "%s", info.dli_fname);
    }
    char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
}

// The plug-in of an engine: "mpi" has one for each MPI.
static int name_plugin(const char *word, char name[64])
{
    const char *mpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL ? "openmpi"
                      : getenv("PMI_SIZE") != NULL           ? "mpich"
                                                             : NULL;
    if (strcmp(word, "mpi") == 0 && mpi == NULL) {
        return tern__fail(TERN_ERR_ARG, "TERN_NET is 'mpi', and neither mpirun of Open MPI nor "
                                        "mpiexec of MPICH has started this process");
    }
    if (strcmp(word, "mpi") == 0) {
        snprintf(name, 64, "libtern_net_mpi_%s.so", mpi);
    } else {
        snprintf(name, 64, "libtern_net_%s.so", word);
    }
    return TERN_OK;
}

static int load(struct tern__net_carrier *carrier, const char *word)
{
    char name[64];
    char folder[PATH_MAX];
    char path[PATH_MAX + 96];
    TERN_TRY(name_plugin(word, name));
    find_folder(folder);
    const char *const places[] = {"", "/tern", "/../lib", "/../lib/tern"};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && carrier->library == NULL; i++) {
        snprintf(path, sizeof path, "%s%s/%s", folder, places[i], name);
        if (access(path, R_OK) == 0) {
            carrier->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (carrier->library == NULL) {
                return tern__fail(TERN_ERR_SYSTEM, "TERN_NET is '%s': %s", word, dlerror());
            }
        }
    }
    if (carrier->library == NULL) {
        return tern__fail(TERN_ERR_SYSTEM,
                          "TERN_NET is '%s', and %s is not beside libtern in %s: it is built where "
                          "the library that it is for is installed",
                          word, name, folder);
    }
    carrier->engine = dlsym(carrier->library, "tern_net_engine");
    if (carrier->engine == NULL || carrier->engine->abi != TERN__NET_ENGINE_ABI) {
        return tern__fail(TERN_ERR_SYSTEM, "%s is of another version of tern", path);
    }
    return TERN_OK;
}

int tern__net_engine_word(const char **word)
{
    *word = getenv("TERN_NET");
    if (*word == NULL || (*word)[0] == '\0') {
        *word = "tcp";
    }
    if (strcmp(*word, "tcp") != 0 && strcmp(*word, "mpi") != 0 && strcmp(*word, "ucx") != 0) {
        return tern__fail(TERN_ERR_ARG, "TERN_NET is '%.40s'; there are tcp, mpi and ucx", *word);
    }
    return TERN_OK;
}

int tern__net_engine_open(struct tern__net *net, const char *word, void *card)
{
    struct tern__net_carrier *carrier = calloc(1, sizeof *carrier);
    char why[256] = "";
    if (carrier == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the engine %s", word);
    }
    int status = load(carrier, word);
    if (status == TERN_OK) {
        struct tern__net_host host = {.abi = TERN__NET_ENGINE_ABI,
                                      .rank = net->job->rank,
                                      .nranks = net->job->nranks,
                                      .token = net->job->token,
                                      .elsewhere = ~net->job->here,
                                      .net = net,
                                      .place = place,
                                      .came = came,
                                      .is_gone = is_gone,
                                      .wake = wake};
        host.elsewhere &=
            net->job->nranks < 64 ? (UINT64_C(1) << net->job->nranks) - 1 : UINT64_MAX;
        if (carrier->engine->start(&host, card, &carrier->state, why, sizeof why) != 0) {
            status = tern__fail(TERN_ERR_SYSTEM, "the engine %s: %s", word, why);
        }
    }
    if (status != TERN_OK) {
        free(carrier);
        return status;
    }
    net->opened = carrier;
    return TERN_OK;
}

int tern__net_engine_connect(struct tern__net *net, const char *cards)
{
    struct tern__net_carrier *carrier = net->opened;
    char why[256] = "";
    if (carrier->engine->connect(carrier->state, cards, why, sizeof why) != 0) {
        return tern__fail(TERN_ERR_SYSTEM, "the engine %s: %s", carrier->engine->name, why);
    }
    int fd = carrier->engine->descriptor(carrier->state);
    if (fd >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &net->wake};
        epoll_ctl(net->epoll, EPOLL_CTL_ADD, fd, &event);
    }
    pthread_mutex_lock(&net->work);
    net->carrier = carrier;
    pthread_mutex_unlock(&net->work);
    wake(net);
    return TERN_OK;
}

// While it runs.

// After a failure no call of the engine's library is made: it may never return.
static bool has_failed(const struct tern__net *net)
{
    return tern__flag_load(&net->job->ctl->failure) != TERN__WORKING ||
           tern__ctl_first_dead(net->job->ctl) >= 0;
}

static int send(struct tern__net *net, int rank, const struct tern__net_message *message,
                const void *payload)
{
    const struct tern__net_carrier *carrier = net->carrier;
    if (carrier->engine->send(carrier->state, rank, message, payload, message->bytes) == 0) {
        return TERN_OK;
    }
    return tern__net_is_gone(net, rank)
               ? tern__net_say_gone(net, rank)
               : tern__fail(TERN_ERR_PEER, "rank %d cannot be reached by the engine %s", rank,
                            carrier->engine->name);
}

static int release(struct tern__net *net, int rank)
{
    struct held *held = &net->carrier->held[rank];
    if (!held->there) {
        return TERN_OK;
    }
    held->there = false;
    return send(net, rank, &held->message, held->payload);
}

// Whether a message is a notify behind what is held, which then becomes the two in one.
static bool joins(struct held *held, const struct tern__net_message *message)
{
    struct tern__net_message *put = &held->message;
    if (!held->there || message->kind != TERN__NET_NOTIFY || put->slot != message->slot ||
        put->number != message->number || put->generation != message->generation ||
        put->rank != message->rank) {
        return false;
    }
    put->word = TERN__NET_PUT_POSTS;
    put->key = message->offset;
    put->value = message->value;
    put->more = message->word;
    return true;
}

int tern__net_carry(struct tern__net *net, int rank, const struct tern__net_message *message,
                    const void *payload)
{
    struct held *held = &net->carrier->held[rank];
    if (joins(held, message)) {
        return release(net, rank);
    }
    TERN_TRY(release(net, rank));
    if (message->kind == TERN__NET_PUT && message->word == 0 &&
        message->bytes <= TERN__NET_SHORT_BYTES) {
        held->there = true;
        held->message = *message;
        memcpy(held->payload, payload, message->bytes);
        return TERN_OK;
    }
    return send(net, rank, message, payload);
}

void tern__net_carry_beat(struct tern__net *net)
{
    const struct tern__net_carrier *carrier = net->carrier;
    for (int rank = 0; carrier != NULL && rank < net->job->nranks; rank++) {
        struct tern__net_peer *peer = &net->peers[rank];
        if (tern__job_is_here(net->job, rank) || pthread_mutex_trylock(&peer->lock) != 0) {
            continue; // who sends takes it along
        }
        if (carrier->held[rank].there && !has_failed(net) &&
            carrier->engine->has_room(carrier->state, rank)) {
            tern_status_ignore(release(net, rank)); // whoever flushes is told
        }
        pthread_mutex_unlock(&peer->lock);
    }
}

void tern__net_carry_answer(struct tern__net *net, int rank,
                            const struct tern__net_message *message, const char *payload, char *own)
{
    struct tern__net_carrier *carrier = net->carrier;
    struct pending *pending = own != NULL ? calloc(1, sizeof *pending) : NULL;
    bool went = own == NULL || pending != NULL;
    if (pending != NULL) {
        *pending = (struct pending){.next = carrier->pending, .own = own};
        carrier->pending = pending;
    }
    went = went && carrier->engine->answer(carrier->state, rank, message, payload, message->bytes,
                                           pending != NULL ? &pending->done : NULL) == 0;
    if (!went) {
        tern__net_lack(net, "to answer a rank of another machine");
    }
}

static void free_gone(struct tern__net_carrier *carrier, bool all)
{
    for (struct pending **link = &carrier->pending; *link != NULL;) {
        struct pending *pending = *link;
        if (all || __atomic_load_n(&pending->done, __ATOMIC_ACQUIRE) != 0) {
            *link = pending->next;
            free(pending->own);
            free(pending);
        } else {
            link = &pending->next;
        }
    }
}

bool tern__net_carry_take(struct tern__net *net)
{
    struct tern__net_carrier *carrier = net->carrier;
    bool moved = false;
    while (carrier != NULL && !has_failed(net) && carrier->engine->progress(carrier->state)) {
        moved = true;
    }
    if (moved) {
        free_gone(carrier, false);
    }
    return moved;
}

int64_t tern__net_carry_on(struct tern__net *net, int64_t most_ns)
{
    pthread_mutex_lock(&net->work);
    struct tern__net_carrier *carrier = net->carrier;
    if (carrier == NULL || has_failed(net)) {
        pthread_mutex_unlock(&net->work);
        return most_ns;
    }
    const struct tern__net_engine *engine = carrier->engine;
    bool moved = tern__net_carry_take(net);
    free_gone(carrier, false);
    bool sleeps = engine->descriptor(carrier->state) >= 0;
    bool armed = engine->arm(carrier->state);
    pthread_mutex_unlock(&net->work);
    if (sleeps) {
        return armed ? most_ns : 0;
    }
    int64_t now_ns = tern__now_ns();
    if (moved || carrier->moved_ns == 0) {
        carrier->moved_ns = now_ns;
        carrier->nap_ns = NAP_NS;
    } else if (!armed) {
        carrier->nap_ns = NAP_NS;
    }
    if (now_ns - carrier->moved_ns < BUSY_NS) {
        sched_yield();
        return 0;
    }
    int64_t nap_ns = carrier->nap_ns;
    carrier->nap_ns = 2 * nap_ns < NAP_MAX_NS ? 2 * nap_ns : NAP_MAX_NS;
    return nap_ns < most_ns ? nap_ns : most_ns;
}

void tern__net_carry_stop(struct tern__net *net)
{
    struct tern__net_carrier *carrier = net->opened;
    if (carrier == NULL) {
        return;
    }
    carrier->engine->stop(carrier->state, net->carrier != NULL && !has_failed(net));
    free_gone(carrier, true);
    while (carrier->loose != NULL) {
        free_loose(carrier, carrier->loose->bytes);
    }
    net->carrier = NULL;
    net->opened = NULL;
    free(carrier); // the library stays: what it has left behind may still run
}
