// SPDX-License-Identifier: Apache-2.0
// Inboxes. Parcels of several communicators may come in any order, so what is not asked for yet is
// kept.

#include "boot/inbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "boot/wire.h"

struct tern__parcel {
    struct tern__parcel *next;
    uint64_t tag;
    int fd;
};

int tern__inbox_send(struct tern__job *job, int rank, uint64_t tag, int fd)
{
    struct tern__wire_message parcel = tern__wire_message(TERN__WIRE_PARCEL);
    parcel.rank = job->rank;
    parcel.tag = tag;
    memcpy(parcel.token, job->token, sizeof parcel.token);
    int64_t deadline_ns = tern__deadline_after(job->timeout_ns);
    while (tern__wire_send(job->outbox[rank], &parcel, &fd, 1) != 0) {
        if (tern__wire_is_full() && tern__now_ns() < deadline_ns) {
            poll(NULL, 0, 1); // until somebody takes theirs
            continue;
        }
        if (tern__wire_is_full()) {
            tern__wire_stayed_full(job->timeout_ns);
            return TERN_ERR_SYSTEM;
        }
        return tern__fail_errno(errno == EPIPE || errno == ECONNRESET ? TERN_ERR_PEER
                                                                      : TERN_ERR_SYSTEM,
                                "cannot hand a descriptor to rank %d", rank);
    }
    return TERN_OK;
}

// Takes a parcel out of the list; -1 when it is not there.
static int find_parcel(struct tern__job *job, uint64_t tag)
{
    for (struct tern__parcel **link = &job->parcels; *link != NULL; link = &(*link)->next) {
        struct tern__parcel *parcel = *link;
        if (parcel->tag == tag) {
            int fd = parcel->fd;
            *link = parcel->next;
            free(parcel);
            return fd;
        }
    }
    return -1;
}

// Moves what has arrived into the list.
static int read_inbox(struct tern__job *job)
{
    for (;;) {
        struct tern__wire_message message;
        int fds[TERN__WIRE_FDS_MAX];
        int count;
        int got = tern__wire_receive(job->inbox, &message, fds, &count);
        if (got < 0 && (errno == EPROTO || errno == EMFILE)) {
            continue;
        }
        if (got <= 0) {
            return TERN_OK;
        }
        struct tern__parcel *parcel = calloc(1, sizeof *parcel);
        bool ours = message.kind == TERN__WIRE_PARCEL && count == 1 &&
                    memcmp(message.token, job->token, sizeof job->token) == 0;
        if (parcel == NULL || !ours) {
            tern__log(TERN__LOG_WARN, "a stray message in the inbox was dropped");
            for (int i = 0; i < count; i++) {
                close(fds[i]);
            }
            free(parcel);
            if (!ours) {
                continue;
            }
            return tern__fail(TERN_ERR_MEMORY, "no memory for a descriptor from a peer");
        }
        int older = find_parcel(job, message.tag); // of a window that could not be made
        if (older >= 0) {
            close(older);
        }
        *parcel = (struct tern__parcel){.next = job->parcels, .tag = message.tag, .fd = fds[0]};
        job->parcels = parcel;
    }
}

int tern__inbox_take(struct tern__job *job, uint64_t tag, int *fd)
{
    pthread_mutex_lock(&job->inbox_lock);
    int status = read_inbox(job); // always: a newer parcel of this tag replaces an older one
    int found = find_parcel(job, tag);
    pthread_mutex_unlock(&job->inbox_lock);
    if (found < 0) {
        return status != TERN_OK
                   ? status
                   : tern__fail(TERN_ERR_SYSTEM, "a descriptor that was sent did not arrive; is "
                                                 "the limit of open files (ulimit -n) reached?");
    }
    *fd = found;
    return TERN_OK;
}

void tern__inbox_discard(struct tern__job *job)
{
    while (job->parcels != NULL) {
        int fd = find_parcel(job, job->parcels->tag);
        close(fd);
    }
}
