// SPDX-License-Identifier: Apache-2.0
// Coming to a gathering: the side of all ranks but the host.

#include "boot/star.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/dial.h"
#include "boot/link.h"
#include "boot/star_words.h"
#include "sync/interrupt.h"
#include "sync/job.h"

// How long whoever listens at the host's address may close connections without a word: the host may
// be about to end an attempt of its own that has failed.
#define TURNED_AWAY_NS TERN_NS_PER_SECOND

// How often a rank that the host has not answered looks after the others.
#define LOOK_AFTER_NS TERN_NS_PER_SECOND

struct attending {
    const struct tern__star *star;
    const void *mine;
    size_t bytes;
    void *all;
    int64_t timeout_ns;
    int64_t deadline_ns;
    struct tern__link link;
    int64_t look_ns;  // when to look after the others
    bool in;          // the host has said so
    uint64_t missing; // as the host has said last
};

// TERN_OK while there is still time.
static int check_time(const struct attending *attending)
{
    const struct tern__star *star = attending->star;
    if (tern__interrupt_wanted()) {
        return tern__star_interrupted(star);
    }
    return tern__now_ns() < attending->deadline_ns
               ? TERN_OK
               : tern__star_timed_out(star, attending->missing, attending->timeout_ns);
}

// -1 in *fd: it does not listen yet.
static int connect_host(struct attending *attending, int *fd)
{
    const struct tern__star *star = attending->star;
    int made = -1;
    int error = tern__dial_begin(star->at, &made);
    struct pollfd wait = {.fd = made, .events = POLLOUT};
    while (error == 0 &&
           poll(&wait, 1, tern__deadline_ms(attending->deadline_ns, TERN__STAR_LOOK_MS)) <= 0) {
        int status = check_time(attending);
        if (status != TERN_OK) {
            close(made);
            return status;
        }
    }
    error = error == 0 ? tern__dial_error(made) : error;
    if (error != 0) {
        if (made >= 0) {
            close(made);
        }
        return error == ECONNREFUSED && star->begins_later
                   ? TERN_OK
                   : tern__star_unreached(star, star->host, error);
    }
    *fd = made;
    return TERN_OK;
}

static void say_come(struct attending *attending)
{
    const struct tern__star *star = attending->star;
    char payload[TERN__LINK_PAYLOAD_MAX];
    struct tern__link_word come = {.kind = TERN__STAR_COME,
                                   .rank = star->rank,
                                   .value = star->nranks,
                                   .bytes = (uint32_t)(TERN__STAR_TOKEN_BYTES + attending->bytes)};
    memcpy(payload, star->token, TERN__STAR_TOKEN_BYTES);
    memcpy(payload + TERN__STAR_TOKEN_BYTES, attending->mine, attending->bytes);
    tern__link_say(&attending->link, &come, payload);
}

// While the host says nothing, which looks after all, this one looks now and then whether another
// one has ended: the host may have given up because of that.
static int look_after_others(struct attending *attending)
{
    const struct tern__star *star = attending->star;
    struct pollfd fds[TERN_RANKS_MAX];
    int errors[TERN_RANKS_MAX] = {0};
    if (star->machines == NULL || tern__now_ns() < attending->look_ns) {
        return TERN_OK;
    }
    for (int rank = 0; rank < star->nranks; rank++) {
        fds[rank] = (struct pollfd){.fd = -1, .events = POLLOUT};
        if (rank != star->host && rank != star->rank) {
            errors[rank] = tern__dial_begin(&star->machines->address[rank], &fds[rank].fd);
        }
    }
    int64_t until_ns = tern__now_ns() + TERN__STAR_RETRY_MS * TERN_NS_PER_MS;
    int ended = -1;
    for (int rank = 0; rank < star->nranks; rank++) {
        if (fds[rank].fd >= 0) {
            poll(&fds[rank], 1, tern__deadline_ms(until_ns, TERN__STAR_RETRY_MS));
            errors[rank] = tern__dial_error(fds[rank].fd);
            close(fds[rank].fd);
        }
        ended = ended < 0 && errors[rank] == ECONNREFUSED ? rank : ended;
    }
    attending->look_ns = tern__now_ns() + LOOK_AFTER_NS;
    return ended < 0 ? TERN_OK : tern__star_unreached(star, ended, ECONNREFUSED);
}

// 1: everything is here; 0: not yet; < 0: the host says no.
static int hear(struct attending *attending)
{
    const struct tern__star *star = attending->star;
    struct tern__link_word word;
    const void *payload;
    while (tern__link_hear(&attending->link, &word, &payload)) {
        if (word.kind == TERN__STAR_IN) {
            attending->in = true;
            attending->missing = word.number;
        } else if (word.kind == TERN__STAR_ALL &&
                   word.bytes == attending->bytes * (size_t)star->nranks) {
            memcpy(attending->all, payload, word.bytes);
            return 1;
        } else if (word.kind == TERN__STAR_REFUSED) {
            return tern__fail(word.value < 0 ? word.value : TERN_ERR_REFUSED, "%.*s",
                              (int)word.bytes, (const char *)payload);
        }
    }
    return 0;
}

// The link is not open any more. TERN_OK: it may be tried again.
static int check_end(const struct attending *attending)
{
    const struct tern__star *star = attending->star;
    switch (attending->link.state) {
    case TERN__LINK_FOREIGN:
        return tern__fail(TERN_ERR_REFUSED,
                          "what answers for %s is something else, or another version of tern",
                          tern__star_name(star, star->host).text);
    case TERN__LINK_SILENT:
        return tern__star_silent(star, star->host);
    default:
        return attending->in ? tern__star_parted(star, star->host) : TERN_OK;
    }
}

// As hear, but waits; 0: the connection has ended without a word.
static int attend(struct attending *attending)
{
    struct tern__link *link = &attending->link;
    for (;;) {
        if (!attending->in) {
            link->heard_ns = tern__now_ns(); // it may come much later
            TERN_TRY(look_after_others(attending));
        }
        int64_t next_ns = tern__link_turn(link);
        int heard = hear(attending);
        if (heard != 0) {
            return heard;
        }
        if (link->state != TERN__LINK_OPEN) {
            return check_end(attending);
        }
        TERN_TRY(check_time(attending));
        struct pollfd wait = tern__link_pollfd(link);
        int64_t until_ns = next_ns < attending->deadline_ns ? next_ns : attending->deadline_ns;
        poll(&wait, 1, tern__deadline_ms(until_ns, TERN__STAR_LOOK_MS));
    }
}

static int attend_until_deadline(struct attending *attending)
{
    const struct tern__star *star = attending->star;
    int64_t begin_ns = 0; // of the first connection that was closed without a word
    for (;;) {
        int fd = -1;
        TERN_TRY(connect_host(attending, &fd));
        if (fd < 0) {
            poll(NULL, 0, TERN__STAR_RETRY_MS);
            TERN_TRY(check_time(attending));
            continue;
        }
        TERN_TRY(tern__link_open(&attending->link, fd, star->silence_ns));
        say_come(attending);
        int heard = attend(attending);
        tern__link_close(&attending->link);
        if (heard != 0) {
            return heard < 0 ? heard : TERN_OK;
        }
        int64_t now_ns = tern__now_ns();
        begin_ns = begin_ns != 0 ? begin_ns : now_ns;
        if (now_ns - begin_ns >= TURNED_AWAY_NS) {
            return tern__fail(TERN_ERR_REFUSED,
                              "whoever listens for %s closes connections without a word: it is "
                              "somebody else, or is past %s",
                              tern__star_name(star, star->host).text, star->what);
        }
        poll(NULL, 0, TERN__STAR_RETRY_MS);
        TERN_TRY(check_time(attending));
    }
}

int tern__star_gather(const struct tern__star *star, const void *mine, size_t bytes, void *all,
                      int64_t timeout_ns)
{
    if (bytes * (size_t)star->nranks > TERN__LINK_PAYLOAD_MAX - TERN__STAR_TOKEN_BYTES) {
        return tern__fail(TERN_ERR_LIMIT, "%d ranks cannot give %zu bytes each", star->nranks,
                          bytes);
    }
    if (star->rank == star->host) {
        return tern__star_host(star, mine, bytes, all, timeout_ns);
    }
    struct attending attending = {.star = star,
                                  .mine = mine,
                                  .bytes = bytes,
                                  .all = all,
                                  .timeout_ns = timeout_ns,
                                  .deadline_ns = tern__deadline_after(timeout_ns),
                                  .look_ns = tern__now_ns() + LOOK_AFTER_NS,
                                  .missing = star->host >= 0 ? UINT64_C(1) << star->host : 0};
    return attend_until_deadline(&attending);
}
