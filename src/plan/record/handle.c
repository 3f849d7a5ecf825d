// SPDX-License-Identifier: Apache-2.0
// Streams, notifies and links of the ranks. Executors hand them back as pointers, right or wrong:
// each is looked up before it is followed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/record/record.h"

bool tern__record_grow(void **items, size_t *room, size_t count, size_t size)
{
    if (count < *room) {
        return true;
    }
    size_t more = *room * 2 + 16;
    void *grown = realloc(*items, more * size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *room = more;
    return true;
}

static struct record_rank *own_rank(void)
{
    return &tern__recording->ranks[tern__recording->call.rank];
}

static void no_memory(void)
{
    tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the recording");
}

void *tern_record_stream(void)
{
    if (tern__recording == NULL) {
        return NULL;
    }
    struct record_rank *rank = own_rank();
    if (rank->streams_count == TERN_RECORD_STREAMS_MAX) {
        tern__record_finding(TERN_ERR_LIMIT, "rank %d asks for more than %d streams",
                             tern__recording->call.rank, TERN_RECORD_STREAMS_MAX);
        return NULL;
    }
    struct record_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || !tern__record_grow((void **)&rank->streams, &rank->streams_room,
                                             rank->streams_count, sizeof *rank->streams)) {
        free(stream);
        no_memory();
        return NULL;
    }
    stream->rank = tern__recording->call.rank;
    stream->number = (int)rank->streams_count;
    rank->streams[rank->streams_count++] = stream;
    return stream;
}

int tern_record_stream_number(const void *stream)
{
    for (size_t i = 0; tern__recording != NULL && i < own_rank()->streams_count; i++) {
        if (own_rank()->streams[i] == stream) {
            return (int)i;
        }
    }
    return -1;
}

static struct record_bit *add_bit(int owner, int peer, int number)
{
    struct record_rank *rank = &tern__recording->ranks[owner];
    struct record_bit *bit = calloc(1, sizeof *bit);
    if (bit == NULL || !tern__record_grow((void **)&rank->bits, &rank->bits_room, rank->bits_count,
                                          sizeof(struct record_bit *))) {
        free(bit);
        no_memory();
        return NULL;
    }
    *bit = (struct record_bit){.owner = owner, .peer = peer, .number = number};
    rank->bits[rank->bits_count++] = bit;
    return bit;
}

void *tern_record_notify(void)
{
    if (tern__recording == NULL) {
        return NULL;
    }
    struct record_rank *rank = own_rank();
    if (rank->notifies == TERN_RECORD_NOTIFIES_MAX) {
        tern__record_finding(TERN_ERR_LIMIT, "rank %d asks for more than %d notifies",
                             tern__recording->call.rank, TERN_RECORD_NOTIFIES_MAX);
        return NULL;
    }
    return add_bit(tern__recording->call.rank, -1, rank->notifies++);
}

int tern__record_links(struct recording *recording)
{
    size_t n = (size_t)recording->nranks;
    recording->links = calloc(n * n, sizeof *recording->links);
    if (recording->links == NULL) {
        return tern__record_finding(TERN_ERR_MEMORY, "not enough memory for the links");
    }
    for (size_t i = 0; i < n * n; i++) {
        size_t rank = i / n;
        size_t peer = i % n;
        recording->links[i] =
            (struct record_link){.rank = (int)rank,
                                 .peer = (int)peer,
                                 .exists = rank != peer && (recording->linked[i] ||
                                                            recording->linked[peer * n + rank])};
    }
    return TERN_OK;
}

void *tern_record_link(int peer)
{
    struct recording *recording = tern__recording;
    if (recording == NULL || peer < 0 || peer >= recording->nranks) {
        return NULL;
    }
    struct record_link *link = &recording->links[recording->call.rank * recording->nranks + peer];
    return link->exists ? link : NULL;
}

// What a null link is about: the ranks to which there is none.
static void missing_text(char *text, size_t size)
{
    const struct recording *recording = tern__recording;
    int rank = recording->call.rank;
    size_t used = (size_t)snprintf(text, size, "rank %d has no link to", rank);
    bool any = false;
    for (int peer = 0; peer < recording->nranks; peer++) {
        if (peer != rank && !recording->links[rank * recording->nranks + peer].exists &&
            used + 16 < size) {
            used += (size_t)snprintf(text + used, size - used, "%s rank %d", any ? "," : "", peer);
            any = true;
        }
    }
    if (!any && used < size) {
        snprintf(text + used, size - used, " itself, and one to every other rank");
    }
}

const struct record_link *tern__record_check_link(const void *link, const char *what,
                                                  struct record_place place)
{
    struct recording *recording = tern__recording;
    if (recording == NULL) {
        return NULL;
    }
    size_t n = (size_t)recording->nranks;
    for (size_t peer = 0; peer < n; peer++) {
        const struct record_link *known =
            &recording->links[(size_t)recording->call.rank * n + peer];
        if (link == known) {
            return known;
        }
    }
    char missing[256];
    missing_text(missing, sizeof missing);
    tern_status_ignore(tern_record_fail(place.file, place.line, "%s needs a link that is %s: %s",
                                        what, link == NULL ? "missing" : "not one of its own",
                                        missing));
    return NULL;
}

int tern_record_link_peer(const void *link, const char *file, int line)
{
    const struct record_link *known =
        tern__record_check_link(link, "the number of a peer", (struct record_place){file, line});
    return known != NULL ? known->peer : -1;
}

int tern_record_link_memory(const void *link, bool output, void **address, uint64_t *bytes,
                            const char *file, int line)
{
    const struct record_link *known =
        tern__record_check_link(link, "the memory of a peer", (struct record_place){file, line});
    if (known == NULL) {
        return TERN_ERR_ARG;
    }
    if (address == NULL) {
        return tern_record_fail(file, line, "asks for the memory of rank %d without a place for it",
                                known->peer);
    }
    const struct record_memory *memory =
        &tern__recording->memory[(size_t)known->peer * 4 + (output ? 3 : 2)];
    *address = (void *)memory->base; // NOLINT(performance-no-int-to-ptr)
    if (bytes != NULL) {
        *bytes = memory->bytes;
    }
    return TERN_OK;
}

struct record_stream *tern__record_check_stream(void *stream, struct record_place place)
{
    if (tern__recording == NULL) {
        return NULL;
    }
    int number = tern_record_stream_number(stream);
    if (number < 0) {
        tern_status_ignore(
            tern_record_fail(place.file, place.line, "this is no stream of this rank"));
        return NULL;
    }
    return own_rank()->streams[number];
}

struct record_bit *tern__record_check_notify(const void *notify, struct record_place place)
{
    for (size_t i = 0; tern__recording != NULL && i < own_rank()->bits_count; i++) {
        if (own_rank()->bits[i] == notify && own_rank()->bits[i]->peer < 0) {
            return own_rank()->bits[i];
        }
    }
    if (tern__recording != NULL) {
        tern_status_ignore(tern_record_fail(place.file, place.line, "%s",
                                            notify == NULL ? "the notify is null"
                                                           : "this is no notify of this rank"));
    }
    return NULL;
}

struct record_bit *tern__record_link_bit(int owner, int peer, int number)
{
    struct recording *recording = tern__recording;
    struct record_bit **bit = &recording->links[owner * recording->nranks + peer].bits[number];
    if (*bit == NULL) {
        *bit = add_bit(owner, peer, number);
    }
    return *bit;
}

void tern__record_bit_text(const struct record_bit *bit, char text[96])
{
    static const char *const names[] = {"Ack", "DataSignal", "DataAck"};
    if (bit->peer < 0) {
        snprintf(text, 96, "notify %d of rank %d", bit->number, bit->owner);
    } else if (bit->number < 3) {
        snprintf(text, 96, "%s from rank %d at rank %d", names[bit->number], bit->peer, bit->owner);
    } else {
        snprintf(text, 96, "notify %d from rank %d at rank %d", bit->number - 3, bit->peer,
                 bit->owner);
    }
}
