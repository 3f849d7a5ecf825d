// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2, ctest-threads: none
// Messages, blocking and started, of all lengths and dtypes, many on their way: each recv gets the
// message that is next from its sender, whole, and nothing else of its buffer changes. What the two
// disagree in is found before a byte is written.
#include "support/cmocka.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "coll/call/area.h"
#include "support/random.h"
#include "support/ranks.h"
#include "tern/coll.h"

enum {
    MESSAGES = 4000,
    PENDING = 6, // of a rank at a time
    GUARD = 16,
    UNTOUCHED = 0x5a,
};

static const tern_dtype dtypes[] = {TERN_U8, TERN_F16, TERN_I32, TERN_F64};

// Lengths around those at which messages take another way: the line, one piece, where they lie.
static size_t random_count(uint64_t *state, size_t element)
{
    static const size_t around[] = {0,     1,     TERN__LINE_BYTES, 4096, 16384, TERN__MAIL_BYTES,
                                    70000, 140000};
    size_t bytes = around[random_below(state, sizeof around / sizeof around[0])];
    bytes += random_below(state, 9) * element;
    return random_below(state, 4) != 0 ? random_below(state, 12) : bytes / element;
}

static unsigned char byte_of(uint64_t message, size_t i)
{
    return (unsigned char)(message * 29 + i * 7 + (i >> 8));
}

struct pending {
    tern_request request;
    unsigned char *buffer; // NULL: a send's is not looked at again
    uint64_t message;
    size_t bytes;
    bool receives;
};

struct mailing {
    tern_comm *comm;
    struct pending pending[PENDING];
    int count;
};

static int look_at(const struct pending *p)
{
    for (size_t i = 0; p->receives && i < p->bytes; i++) {
        CHECK(p->buffer[i] == byte_of(p->message, i));
    }
    for (size_t i = 0; p->receives && i < GUARD; i++) {
        CHECK(p->buffer[p->bytes + i] == UNTOUCHED);
    }
    free(p->buffer);
    return 0;
}

static int end_oldest(struct mailing *m)
{
    CHECK(tern_request_wait(&m->pending[0].request) == TERN_OK);
    CHECK(look_at(&m->pending[0]) == 0);
    m->count--;
    memmove(m->pending, m->pending + 1, sizeof *m->pending * (size_t)m->count);
    return 0;
}

static int begin(struct mailing *m, const tern_coll *call, const struct pending *p, bool blocking)
{
    if (!blocking) {
        if (m->count == PENDING) {
            CHECK(end_oldest(m) == 0);
        }
        m->pending[m->count] = *p;
        CHECK(tern_coll_start(m->comm, call, &m->pending[m->count].request) == TERN_OK);
        m->count++;
        return 0;
    }
    CHECK((p->receives
               ? tern_recv(m->comm, call->out, call->count, call->dtype, call->root)
               : tern_send(m->comm, call->in, call->count, call->dtype, call->root)) == TERN_OK);
    return look_at(p);
}

// All ranks draw the same messages, and take part in theirs in this order, so that nobody waits for
// one that comes later.
static int exchange(tern_comm *comm, void *arg)
{
    uint64_t state = 5;
    int rank = tern_comm_rank(comm);
    int n = tern_comm_size(comm);
    uint64_t own = 77 + (uint64_t)rank;
    struct mailing m = {.comm = comm};
    for (uint64_t message = 1; message <= MESSAGES; message++) {
        int from = (int)random_below(&state, (uint64_t)n);
        int to = (from + 1 + (int)random_below(&state, (uint64_t)n - 1)) % n;
        tern_coll call = {.dtype = dtypes[random_below(&state, 4)]};
        size_t element = tern_dtype_size(call.dtype);
        call.count = random_count(&state, element);
        if (rank != from && rank != to) {
            continue;
        }
        struct pending p = {.message = message, .bytes = call.count * element};
        p.receives = rank == to;
        p.buffer = malloc(p.bytes + GUARD);
        CHECK(p.buffer != NULL);
        memset(p.buffer, UNTOUCHED, p.bytes + GUARD);
        for (size_t i = 0; !p.receives && i < p.bytes; i++) {
            p.buffer[i] = byte_of(message, i);
        }
        call.kind = p.receives ? TERN_COLL_RECV : TERN_COLL_SEND;
        call.root = p.receives ? from : to;
        call.in = p.receives ? NULL : p.buffer;
        call.out = p.receives ? p.buffer : NULL;
        if (random_below(&own, 50) == 0) {
            sched_yield();
        }
        CHECK(begin(&m, &call, &p, random_below(&own, 3) != 0) == 0);
        if (m.count > 0 && random_below(&own, 4) == 0) {
            CHECK(end_oldest(&m) == 0);
        }
    }
    while (m.count > 0) {
        CHECK(end_oldest(&m) == 0);
    }
    return 0;
}

static void messages_arrive_in_order_and_whole(void **state)
{
    assert_true(ranks_run_counts(2, 5, exchange, NULL, 100));
}

// What the receiver says otherwise, after some messages that were right.
struct lie {
    size_t count;
    tern_dtype dtype;
    bool early; // the message is there before the receiver asks for it
};

static int disagree(tern_comm *comm, void *arg)
{
    const struct lie *lie = arg;
    int rank = tern_comm_rank(comm);
    int32_t sent[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t got[16];
    for (int message = 0; message < 3; message++) {
        CHECK((rank == 0 ? tern_send(comm, sent, 8, TERN_I32, 1)
                         : tern_recv(comm, got, 8, TERN_I32, 0)) == TERN_OK);
    }
    memset(got, UNTOUCHED, sizeof got);
    if (rank == 0) {
        CHECK(lie->early || tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_send(comm, sent, 8, TERN_I32, 1) == TERN_OK);
        CHECK(!lie->early || tern_comm_barrier(comm) == TERN_OK);
        return 0;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_recv(comm, got, lie->count, lie->dtype, 0) == TERN_ERR_MISMATCH);
    CHECK(strstr(tern_last_error(), "disagree on message 4") != NULL);
    for (size_t i = 0; i < sizeof got; i++) {
        CHECK(((const unsigned char *)got)[i] == UNTOUCHED);
    }
    return 0;
}

static void what_differs_is_not_received(void **state)
{
    const struct lie lies[] = {{7, TERN_I32, true},  {7, TERN_I32, false}, {9, TERN_I32, true},
                               {8, TERN_F32, true},  {8, TERN_F32, false}, {4, TERN_I64, true},
                               {16, TERN_I32, false}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct lie lie = lies[i];
        assert_true(ranks_run_comm(2, disagree, &lie, 20));
    }
}

// Bytes to the rank `distance` behind this one, and from the one before; or, of 2 ranks, from
// whoever sends: byte i of message m is byte_of.
static int exchange_as(tern_comm *comm, int distance, size_t count, unsigned char *in,
                       unsigned char *out, tern_dtype dtype, bool any)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    int from = (rank + n - distance) % n;
    for (size_t i = 0; i < count; i++) {
        in[i] = byte_of((uint64_t)rank * (uint64_t)n + (uint64_t)distance, i);
    }
    memset(out, UNTOUCHED, count + GUARD);
    CHECK(tern_send_recv(comm, in, count / tern_dtype_size(dtype), (rank + distance) % n, out,
                         count / tern_dtype_size(dtype), any ? TERN_RANK_ANY : from,
                         dtype) == TERN_OK);
    for (size_t i = 0; i < count; i++) {
        CHECK(out[i] == byte_of((uint64_t)(from * n + distance), i));
    }
    for (size_t i = 0; i < GUARD; i++) {
        CHECK(out[count + i] == UNTOUCHED);
    }
    return 0;
}

static int exchange_once(tern_comm *comm, int distance, size_t count, unsigned char *in,
                         unsigned char *out)
{
    return exchange_as(comm, distance, count, in, out, TERN_U8, false);
}

static int exchange_all(tern_comm *comm, void *arg)
{
    static const size_t counts[] = {0, 1, 40, 41, 4096, TERN__MAIL_BYTES + 1, 70000, 300000};
    static unsigned char in[300000];
    static unsigned char out[300000 + GUARD];
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int distance = 0; distance < tern_comm_size(comm); distance++) {
            CHECK(exchange_once(comm, distance, counts[i], in, out) == 0);
            CHECK(exchange_as(comm, distance, counts[i] & ~(size_t)7, in, out, TERN_F64, false) ==
                  0);
        }
        if (tern_comm_size(comm) == 2) {
            CHECK(exchange_as(comm, 1, counts[i] & ~(size_t)3, in, out, TERN_F32, true) == 0);
        }
    }
    return 0;
}

static void both_ways_at_once(void **state)
{
    const int sizes[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_true(ranks_run_comm(sizes[i], exchange_all, NULL, 30));
    }
}

// What is refused has sent nothing, so the next exchange is right.
static int refuse_exchanges(tern_comm *comm, void *arg)
{
    int other = 1 - tern_comm_rank(comm);
    unsigned char in[64] = {0};
    unsigned char out[64 + GUARD] = {0};
    CHECK(exchange_once(comm, 1, 8, in, out) == 0); // from now on the short path is there
    CHECK(tern_send_recv(comm, in, 8, other, out, 8, 2, TERN_U8) == TERN_ERR_ARG);
    CHECK(strstr(tern_last_error(), "ranks 0..1") != NULL);
    CHECK(tern_send_recv(comm, in, 8, other, NULL, 8, other, TERN_U8) == TERN_ERR_ARG);
    CHECK(tern_send_recv(comm, in, 8, other, in + 7, 8, other, TERN_U8) == TERN_ERR_ARG);
    CHECK(strstr(tern_last_error(), "must not overlap") != NULL);
    CHECK(tern_send_recv(comm, in, 8, other, out, 8, 1 - other, TERN_U8) == TERN_ERR_ARG);
    CHECK(strstr(tern_last_error(), "is this rank itself") != NULL);
    CHECK(tern_send_recv(comm, in, 8, other, out, SIZE_MAX, other, TERN_F64) == TERN_ERR_ARG);
    CHECK(tern_send_recv(comm, in, 8, other, out, 8, other, (tern_dtype)99) == TERN_ERR_ARG);
    CHECK(exchange_once(comm, 1, 40, in, out) == 0);
    CHECK(tern_send_recv(comm, in, 8, other, out, 9, other, TERN_U8) == TERN_ERR_MISMATCH);
    CHECK(tern_send_recv(comm, in, 8, other, out, 8, other, TERN_U8) == TERN_ERR_MISMATCH);
    return 0;
}

static void a_refused_exchange_sends_nothing(void **state)
{
    assert_true(ranks_run_comm(2, refuse_exchanges, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_order_and_whole),
        cmocka_unit_test(what_differs_is_not_received),
        cmocka_unit_test(both_ways_at_once),
        cmocka_unit_test(a_refused_exchange_sends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
