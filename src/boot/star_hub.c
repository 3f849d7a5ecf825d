// SPDX-License-Identifier: Apache-2.0
// The host's side of a gathering. Its listener may bring connections that are older than the call:
// of ranks that have waited and given up, which have ended by now, and of ranks that still wait.
// What says nothing, or says what is not asked for, is closed and holds nothing up.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/dial.h"
#include "boot/link.h"
#include "boot/star_words.h"
#include "sync/interrupt.h"
#include "sync/job.h"

enum {
    GUESTS = 2 * TERN_RANKS_MAX,
    STRANGER_MS = 10000, // how long one may take to say who it is
    PART_MS = 1000,      // how long those that have been answered may take to hear it
};

struct guest {
    struct tern__link link; // closed: its fd is -1
    int rank;               // -1: it has not said
    int64_t since_ns;
};

// To a rank that has not come.
struct probe {
    int fd; // -1: none
    bool connected;
    int64_t next_ns; // when to try again
};

struct hub {
    const struct tern__star *star;
    char *all;
    size_t bytes;
    int64_t timeout_ns;
    uint64_t missing; // bit r: rank r has not come
    struct guest guests[GUESTS];
    struct probe probes[TERN_RANKS_MAX];
};

static void say(struct guest *guest, enum tern__star_word kind, int value, uint64_t number,
                const void *payload, size_t bytes)
{
    struct tern__link_word word = {.kind = kind,
                                   .value = value,
                                   .number = number,
                                   .bytes = (uint32_t)bytes};
    tern__link_say(&guest->link, &word, payload);
}

static void say_in(struct hub *hub)
{
    for (int i = 0; i < GUESTS; i++) {
        if (hub->guests[i].rank >= 0) {
            say(&hub->guests[i], TERN__STAR_IN, 0, hub->missing, NULL, 0);
        }
    }
}

static void refuse(struct guest *guest, const char *text)
{
    say(guest, TERN__STAR_REFUSED, TERN_ERR_REFUSED, 0, text, strlen(text));
}

static void drop(struct guest *guest)
{
    tern__link_close(&guest->link);
    guest->rank = -1;
}

static void drop_probe(struct probe *probe)
{
    if (probe->fd >= 0) {
        close(probe->fd);
    }
    *probe = (struct probe){.fd = -1};
}

// A place for one more: a free one, or that of the stranger that has been here longest.
static struct guest *find_place(struct hub *hub)
{
    struct guest *oldest = NULL;
    for (int i = 0; i < GUESTS; i++) {
        struct guest *guest = &hub->guests[i];
        if (guest->link.fd < 0) {
            return guest;
        }
        if (guest->rank < 0 && (oldest == NULL || guest->since_ns < oldest->since_ns)) {
            oldest = guest;
        }
    }
    drop(oldest); // there are more places than ranks
    return oldest;
}

static void accept_all(struct hub *hub)
{
    int fd;
    while ((fd = accept4(hub->star->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct guest *guest = find_place(hub);
        guest->since_ns = tern__now_ns();
        if (tern__link_open(&guest->link, fd, hub->star->silence_ns) != TERN_OK) {
            return; // without memory: whoever it was tries again
        }
    }
}

// What is wrong with who wants to come; NULL: nothing.
static const char *find_fault(const struct hub *hub, const struct tern__link_word *come,
                              const char *payload)
{
    const struct tern__star *star = hub->star;
    if (come->bytes != TERN__STAR_TOKEN_BYTES + hub->bytes) {
        return "others meet there: what they give differs";
    }
    if (memcmp(payload, star->token, TERN__STAR_TOKEN_BYTES) != 0) {
        return "something else is at that address by now: the token that belongs to it differs";
    }
    return come->value != star->nranks || come->rank < 0 || come->rank >= star->nranks
               ? "others meet there: their number differs"
           : come->rank == star->host ? "who meets the others there is that rank, too"
                                      : NULL;
}

static void come(struct hub *hub, struct guest *guest, const struct tern__link_word *word,
                 const char *payload)
{
    const char *fault = find_fault(hub, word, payload);
    bool again = fault == NULL && (hub->missing >> word->rank & 1) == 0;
    if (again && hub->star->machines == NULL) { // who has come would have to end first
        fault = "another process has come as that rank already";
    }
    if (fault != NULL) {
        refuse(guest, fault);
        drop(guest);
        return;
    }
    for (int i = 0; i < GUESTS; i++) {
        if (hub->guests[i].rank == word->rank) {
            drop(&hub->guests[i]); // of an earlier attempt
        }
    }
    guest->rank = word->rank;
    memcpy(hub->all + (size_t)word->rank * hub->bytes, payload + TERN__STAR_TOKEN_BYTES,
           hub->bytes);
    drop_probe(&hub->probes[word->rank]);
    hub->missing &= ~(UINT64_C(1) << word->rank);
    say_in(hub);
}

// One that has come, and whose connection is not open any more: if it has ended, its probe will
// say so; if it has given up, it may come again. Nobody could tell where there are no probes.
static int part(struct hub *hub, struct guest *guest)
{
    const struct tern__star *star = hub->star;
    int rank = guest->rank;
    if (guest->link.state == TERN__LINK_SILENT) {
        return tern__star_silent(star, rank);
    }
    if (star->machines == NULL) {
        return tern__star_parted(star, rank);
    }
    drop(guest);
    hub->missing |= UINT64_C(1) << rank;
    say_in(hub);
    return TERN_OK;
}

static int serve(struct hub *hub, struct guest *guest)
{
    struct tern__link_word word;
    const void *payload;
    tern__link_turn(&guest->link);
    while (guest->link.fd >= 0 && tern__link_hear(&guest->link, &word, &payload)) {
        if (guest->rank < 0 && word.kind == TERN__STAR_COME) {
            come(hub, guest, &word, payload);
        } else {
            guest->link.state = TERN__LINK_FOREIGN;
            break;
        }
    }
    int64_t until_ns = guest->since_ns + STRANGER_MS * TERN_NS_PER_MS;
    bool ended = guest->link.fd >= 0 && guest->link.state != TERN__LINK_OPEN;
    if (ended && guest->rank >= 0) {
        return part(hub, guest);
    }
    if (ended || (guest->link.fd >= 0 && guest->rank < 0 && tern__now_ns() >= until_ns)) {
        drop(guest);
    }
    return TERN_OK;
}

// Reaches for a rank that has not come. That its kernel has accepted it is enough; when that ends,
// it may have been the network of an earlier attempt, so only a refusal counts.
static int look_for(struct hub *hub, int rank)
{
    struct probe *probe = &hub->probes[rank];
    if (probe->fd < 0) {
        int error = 0;
        if (tern__now_ns() >= probe->next_ns) {
            error = tern__dial_begin(&hub->star->machines->address[rank], &probe->fd);
        }
        return error == 0 ? TERN_OK : tern__star_unreached(hub->star, rank, error);
    }
    struct pollfd look = {.fd = probe->fd, .events = probe->connected ? POLLIN : POLLOUT};
    if (poll(&look, 1, 0) <= 0) {
        return TERN_OK;
    }
    int error = tern__dial_error(probe->fd);
    if (!probe->connected && error != 0) {
        return tern__star_unreached(hub->star, rank, error);
    }
    if (!probe->connected) {
        probe->connected = true;
        return TERN_OK;
    }
    drop_probe(probe);
    probe->next_ns = tern__now_ns() + TERN__STAR_RETRY_MS * TERN_NS_PER_MS;
    return TERN_OK;
}

static int turn(struct hub *hub)
{
    accept_all(hub);
    for (int i = 0; i < GUESTS; i++) {
        if (hub->guests[i].link.fd >= 0) {
            TERN_TRY(serve(hub, &hub->guests[i]));
        }
    }
    for (int rank = 0; rank < hub->star->nranks; rank++) {
        if (hub->star->machines != NULL && (hub->missing >> rank & 1) != 0) {
            TERN_TRY(look_for(hub, rank));
        }
    }
    return TERN_OK;
}

// Sleeps until there is something to do.
static void rest(const struct hub *hub, int64_t deadline_ns)
{
    struct pollfd fds[1 + GUESTS + TERN_RANKS_MAX];
    nfds_t count = 0;
    int64_t sign_ms = hub->star->silence_ns / TERN_NS_PER_MS / 20; // signs of life are due
    int most_ms = sign_ms < TERN__STAR_LOOK_MS ? (int)sign_ms + 1 : TERN__STAR_LOOK_MS;
    fds[count++] = (struct pollfd){.fd = hub->star->listener, .events = POLLIN};
    for (int i = 0; i < GUESTS; i++) {
        if (hub->guests[i].link.fd >= 0) {
            fds[count++] = tern__link_pollfd(&hub->guests[i].link);
        }
    }
    for (int rank = 0; hub->star->machines != NULL && rank < hub->star->nranks; rank++) {
        const struct probe *probe = &hub->probes[rank];
        if (probe->fd >= 0) {
            fds[count++] =
                (struct pollfd){.fd = probe->fd, .events = probe->connected ? POLLIN : POLLOUT};
        } else if ((hub->missing >> rank & 1) != 0 && most_ms > TERN__STAR_RETRY_MS) {
            most_ms = TERN__STAR_RETRY_MS;
        }
    }
    poll(fds, count, tern__deadline_ms(deadline_ns, most_ms));
}

static int gather(struct hub *hub)
{
    int64_t deadline_ns = tern__deadline_after(hub->timeout_ns);
    for (;;) {
        TERN_TRY(turn(hub));
        if (hub->missing == 0) {
            return TERN_OK;
        }
        if (tern__interrupt_wanted()) {
            return tern__star_interrupted(hub->star);
        }
        if (tern__now_ns() >= deadline_ns) {
            return tern__star_timed_out(hub->star, hub->missing, hub->timeout_ns);
        }
        rest(hub, deadline_ns);
    }
}

// Answers all that have come, and waits until they have heard it: they close their connections,
// and what is under way to somebody who reads no more might get lost.
static void answer(struct hub *hub, int status)
{
    char text[TERN_ERROR_BYTES];
    int64_t until_ns = tern__now_ns() + PART_MS * TERN_NS_PER_MS;
    snprintf(text, sizeof text, "%s", status == TERN_OK ? "" : tern_last_error());
    for (int i = 0; i < GUESTS; i++) {
        struct guest *guest = &hub->guests[i];
        if (guest->rank < 0) {
            drop(guest);
        } else if (status == TERN_OK) {
            say(guest, TERN__STAR_ALL, 0, 0, hub->all, hub->bytes * (size_t)hub->star->nranks);
        } else {
            say(guest, TERN__STAR_REFUSED, status, 0, text, strlen(text));
        }
    }
    bool open = true;
    while (open && tern__now_ns() < until_ns) {
        struct pollfd fds[GUESTS];
        open = false;
        for (int i = 0; i < GUESTS; i++) {
            struct tern__link *link = &hub->guests[i].link;
            tern__link_turn(link);
            fds[i] = tern__link_pollfd(link);
            open = open || fds[i].fd >= 0;
        }
        if (open) {
            poll(fds, GUESTS, tern__deadline_ms(until_ns, TERN__STAR_LOOK_MS));
        }
    }
    if (status != TERN_OK) {
        tern__set_error("%s", text);
    }
}

int tern__star_host(const struct tern__star *star, const void *mine, size_t bytes, void *all,
                    int64_t timeout_ns)
{
    struct hub *hub = calloc(1, sizeof *hub);
    if (hub == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to bring %d ranks together", star->nranks);
    }
    hub->star = star;
    hub->all = all;
    hub->bytes = bytes;
    hub->timeout_ns = timeout_ns;
    hub->missing = UINT64_MAX >> (64 - star->nranks) & ~(UINT64_C(1) << star->host);
    for (int i = 0; i < GUESTS; i++) {
        hub->guests[i].link.fd = hub->guests[i].rank = -1;
    }
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        hub->probes[rank].fd = -1;
    }
    memcpy(hub->all + (size_t)star->host * bytes, mine, bytes);
    int status = gather(hub);
    answer(hub, status);
    for (int i = 0; i < GUESTS; i++) {
        tern__link_close(&hub->guests[i].link);
    }
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        drop_probe(&hub->probes[rank]);
    }
    free(hub);
    return status;
}
