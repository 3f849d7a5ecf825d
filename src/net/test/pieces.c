// SPDX-License-Identifier: Apache-2.0
// What an engine with two sides (net/plugin/two_sided.inc) makes of long payloads: an MPI counts
// bytes in an int, so they go in pieces. Over a library of this file, that hands what is sent to
// what is received; the pieces are short here.
#include "support/cmocka.h"
#include <stdatomic.h>

typedef struct handed *operation;
struct link {
    int rank;
};

#define TERN_NET_LONG_PIECE 200000
#include "../plugin/two_sided.inc"

struct handed {
    struct handed *next;
    bool sends, over;
    int from, to, tag;
    char *memory;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handed *waiting; // the oldest first
static size_t longest;
static int payloads; // sends of them

static int hand(struct handed one, operation *request)
{
    struct handed *made = malloc(sizeof *made);
    struct handed **link = &waiting;
    *made = one;
    *request = made;
    pthread_mutex_lock(&lock);
    while (*link != NULL && ((*link)->sends == one.sends || (*link)->from != one.from ||
                             (*link)->to != one.to || (*link)->tag != one.tag)) {
        link = &(*link)->next;
    }
    struct handed *other = *link;
    if (other == NULL) {
        *link = made;
    } else {
        const struct handed *sent = one.sends ? made : other;
        const struct handed *received = one.sends ? other : made;
        assert_true(sent->bytes <= received->bytes);
        memcpy(received->memory, sent->memory, sent->bytes);
        *link = other->next;
        other->over = true;
        made->over = true;
    }
    if (one.sends && one.tag % 2 == 0) {
        longest = one.bytes > longest ? one.bytes : longest;
        payloads++;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static int post_send(struct link *link, int rank, int tag, const void *from, size_t bytes,
                     operation *request)
{
    return hand((struct handed){.sends = true,
                                .from = link->rank,
                                .to = rank,
                                .tag = tag,
                                .memory = (char *)(uintptr_t)from,
                                .bytes = bytes},
                request);
}

static int post_receive(struct link *link, int rank, int tag, void *to, size_t bytes,
                        operation *request)
{
    return hand(
        (struct handed){.from = rank, .to = link->rank, .tag = tag, .memory = to, .bytes = bytes},
        request);
}

static int test(struct link *link, operation *request)
{
    (void)link;
    pthread_mutex_lock(&lock);
    bool over = (*request)->over;
    pthread_mutex_unlock(&lock);
    if (over) {
        free(*request);
    }
    return over;
}

static void cancel(struct link *link, operation *request)
{
    struct handed **at = &waiting;
    (void)link;
    while (*at != *request) {
        at = &(*at)->next;
    }
    *at = (*request)->next;
    free(*request);
}

enum { MOST = 20 * TERN_NET_LONG_PIECE + 1 };
static char from[MOST], to[MOST];
static _Atomic int came_count, stops;

static char *place(void *net, int peer, const void *header)
{
    (void)net, (void)peer, (void)header;
    return to;
}

static void came(void *net, int peer, const void *header, const char *payload)
{
    (void)net, (void)peer;
    assert_true(payload == to || bytes_of(header) == 0);
    assert_memory_equal(to, from, bytes_of(header));
    came_count++;
}

static bool is_gone(void *net, int peer)
{
    (void)net, (void)peer;
    return false;
}

static void wake(void *net)
{
    (void)net;
}

static struct engine *engine_of(int rank)
{
    struct tern__net_host host = {.rank = rank,
                                  .nranks = 2,
                                  .elsewhere = UINT64_C(1) << (1 - rank),
                                  .place = place,
                                  .came = came,
                                  .is_gone = is_gone,
                                  .wake = wake};
    struct engine *engine = new_engine(&host);
    assert_non_null(engine);
    engine->link.rank = rank;
    listen_to_all(engine);
    return engine;
}

static void *drive(void *engine)
{
    while (!stops) {
        take_all(engine);
    }
    return NULL;
}

// Sends so many bytes from rank 0 to rank 1, in so many pieces.
static void goes(struct engine *engine, bool answers, uint64_t bytes, int pieces)
{
    char header[TERN__NET_HEADER_BYTES] = {0};
    uint32_t done = 0;
    int before = came_count;
    memcpy(header + TERN__NET_BYTES_AT, &bytes, sizeof bytes);
    memset(to, 0, sizeof to);
    payloads = 0;
    if (answers) {
        assert_int_equal(answer_message(engine, 1, header, from, bytes, &done), 0);
        while (done == 0) {
            take_all(engine);
        }
    } else {
        assert_int_equal(send_message(engine, 1, header, from, bytes), 0);
    }
    while (came_count == before) {
        take_all(engine);
    }
    assert_int_equal(payloads, pieces);
}

static void long_payloads_go_in_pieces(void **state)
{
    struct engine *sender = engine_of(0);
    struct engine *receiver = engine_of(1);
    pthread_t thread;
    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        from[i] = (char)(i * 7 + i / 1000);
    }
    assert_int_equal(pthread_create(&thread, NULL, drive, receiver), 0);
    for (int answers = 0; answers < 2; answers++) {
        goes(sender, answers, COPIED, PIECES);
        longest = 0;
        goes(sender, answers, COPIED + 1, 1);
        goes(sender, answers, LONG_PIECE, 1);
        goes(sender, answers, LONG_PIECE + 1, 2);
        goes(sender, answers, 3 * LONG_PIECE - 1, 3);
        goes(sender, answers, MOST, 21); // more than are received at a time
        assert_int_equal(longest, LONG_PIECE);
    }
    drain_all(sender);
    stops = 1;
    pthread_join(thread, NULL);
    cancel_all(sender);
    cancel_all(receiver);
    assert_null(waiting);
    free_engine(sender);
    free_engine(receiver);
}

static void there_is_room_until_nobody_takes(void **state)
{
    struct engine *sender = engine_of(0);
    struct engine *receiver = engine_of(1);
    char header[TERN__NET_HEADER_BYTES] = {0};
    (void)state;
    listen_to(receiver, MESSAGES, 0); // for one
    for (int sent = 0; sent < PARCELS + 1; sent++) {
        assert_true(has_room(sender, 1));
        assert_int_equal(send_message(sender, 1, header, NULL, 0), 0);
    }
    assert_false(has_room(sender, 1));
    pthread_mutex_lock(&sender->outboxes[1].lock); // somebody sends
    assert_false(has_room(sender, 1));
    pthread_mutex_unlock(&sender->outboxes[1].lock);
    came_count = 0;
    while (came_count < PARCELS + 1) {
        take_all(receiver);
    }
    assert_true(has_room(sender, 1));
    drain_all(sender);
    cancel_all(sender);
    cancel_all(receiver);
    free_engine(sender);
    free_engine(receiver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_room_until_nobody_takes),
        cmocka_unit_test(long_payloads_go_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
