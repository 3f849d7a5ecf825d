// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2, ctest-threads: none
// Messages with tags, recvs of any rank, recvs of at most so much: in any order of tags, each recv
// gets the message that is next with its tag, whole; nobody starves; what does not fit is found
// before a byte is written; and who waits for any rank is told when nobody is left to send.
#include <sched.h>
#include <signal.h>

#include "coll/call/area.h"
#include "coll/call/test/kit.h"

enum {
    BATCH = 9, // messages of each pair in a round
    TAGS = 3,
    GUARD = 16,
    UNTOUCHED = 0x5a,
    MOST = 150000,
};

static unsigned char byte_of(uint64_t message, size_t i)
{
    return (unsigned char)(message * 29 + i * 7 + (i >> 8));
}

// Lengths around those at which messages take another way.
static size_t random_bytes(uint64_t *state)
{
    static const size_t around[] = {0,       1, TERN__MAIL_LINE_BYTES, 100, 16384, TERN__MAIL_BYTES,
                                    MOST - 8};
    size_t bytes = around[random_below(state, random_below(state, 4) != 0 ? 4 : 7)];
    return bytes + random_below(state, 9);
}

// One message of a round: each rank sends a batch to each, itself, too.
struct letter {
    uint64_t number; // of all
    uint64_t tag;
    size_t bytes;
};

static void draw(uint64_t *state, uint64_t *number, struct letter *batch)
{
    for (int i = 0; i < BATCH; i++) {
        batch[i] = (struct letter){.number = ++*number,
                                   .tag = random_below(state, TAGS) * UINT64_C(0x100000000007),
                                   .bytes = random_bytes(state)};
    }
}

static void shuffle(uint64_t *state, int *order, int count)
{
    for (int i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        int other = (int)random_below(state, (uint64_t)i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

struct taken {
    unsigned char *buffer;
    tern_received received;
    tern_request request;
    int from;
    uint64_t tag;
};

// The letters of a sender with one tag are received in the order sent, whichever order the recvs of
// different tags come in.
static int look_at(const struct taken *taken, struct letter batches[][BATCH], int next[][TAGS],
                   bool *found)
{
    int from = taken->received.from;
    int tag = (int)(taken->tag / UINT64_C(0x100000000007));
    int at = next[from][tag];
    CHECK(taken->received.tag == taken->tag);
    CHECK(taken->from == TERN_RANK_ANY || from == taken->from);
    while (at < BATCH && batches[from][at].tag != taken->tag) {
        at++;
    }
    CHECK(at < BATCH);
    next[from][tag] = at + 1;
    const struct letter *letter = &batches[from][at];
    CHECK(taken->received.count == letter->bytes);
    for (size_t i = 0; i < letter->bytes; i++) {
        CHECK(taken->buffer[i] == byte_of(letter->number, i));
    }
    for (size_t i = 0; i < GUARD; i++) {
        CHECK(taken->buffer[letter->bytes + i] == UNTOUCHED);
    }
    *found = true;
    return 0;
}

struct round {
    struct letter batches[5][5][BATCH]; // from, to
    unsigned char *sent[5 * BATCH];
    tern_request sends[5 * BATCH];
    struct taken taken[5 * BATCH];
};

static int begin_sends(tern_comm *comm, struct round *r, uint64_t *own)
{
    int rank = tern_comm_rank(comm);
    int n = tern_comm_size(comm);
    for (int i = 0; i < n * BATCH; i++) { // in order for each rank, the ranks mixed
        int to = i % n;
        const struct letter *letter = &r->batches[rank][to][i / n];
        r->sent[i] = malloc(letter->bytes + 1);
        CHECK(r->sent[i] != NULL);
        for (size_t b = 0; b < letter->bytes; b++) {
            r->sent[i][b] = byte_of(letter->number, b);
        }
        tern_coll send = {.kind = TERN_COLL_SEND,
                          .in = r->sent[i],
                          .count = letter->bytes,
                          .dtype = TERN_U8,
                          .root = to,
                          .tag = letter->tag};
        CHECK(tern_coll_start(comm, &send, &r->sends[i]) == TERN_OK);
        if (random_below(own, 20) == 0) {
            sched_yield();
        }
    }
    return 0;
}

static int begin_recv(tern_comm *comm, struct taken *t, const struct letter *letter, int from)
{
    t->buffer = malloc(MOST + GUARD);
    CHECK(t->buffer != NULL);
    memset(t->buffer, UNTOUCHED, MOST + GUARD);
    t->received = (tern_received){.from = -9};
    t->tag = letter->tag;
    t->from = from;
    tern_coll recv = {.kind = TERN_COLL_RECV,
                      .out = t->buffer,
                      .count = MOST,
                      .dtype = TERN_U8,
                      .root = from,
                      .tag = letter->tag,
                      .received = &t->received};
    CHECK(tern_coll_start(comm, &recv, &t->request) == TERN_OK);
    return 0;
}

// Half of the rounds receive from any rank.
static int play(tern_comm *comm, struct round *r, bool any, uint64_t *own)
{
    int rank = tern_comm_rank(comm);
    int n = tern_comm_size(comm);
    int order[5 * BATCH];
    int next[5][TAGS] = {{0}};
    struct letter mine[5][BATCH];
    bool first = random_below(own, 2) == 0;
    shuffle(own, order, n * BATCH);
    CHECK(!first || begin_sends(comm, r, own) == 0);
    for (int i = 0; i < n * BATCH; i++) {
        int from = order[i] / BATCH;
        CHECK(begin_recv(comm, &r->taken[i], &r->batches[from][rank][order[i] % BATCH],
                         any ? TERN_RANK_ANY : from) == 0);
    }
    CHECK(first || begin_sends(comm, r, own) == 0);
    for (int from = 0; from < n; from++) {
        memcpy(mine[from], r->batches[from][rank], sizeof mine[from]);
    }
    for (int i = 0; i < n * BATCH; i++) { // in the order of the recvs: that of each tag
        bool found = false;
        CHECK(tern_request_wait(&r->taken[i].request) == TERN_OK);
        CHECK(look_at(&r->taken[i], mine, next, &found) == 0 && found);
        free(r->taken[i].buffer);
    }
    CHECK(tern_request_wait_all(r->sends, n * BATCH) == TERN_OK);
    for (int i = 0; i < n * BATCH; i++) {
        free(r->sent[i]);
    }
    return 0;
}

static int exchange(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    uint64_t state = 11;
    uint64_t own = 5 + (uint64_t)tern_comm_rank(comm);
    uint64_t number = 0;
    static struct round room;
    struct round *r = &room;
    int rounds = (int)kit_number("TERN_TEST_SCALE", 1) * (SANITIZED ? 30 : 100) / n;
    for (int round = 0; round < rounds; round++) {
        for (int from = 0; from < n; from++) {
            for (int to = 0; to < n; to++) {
                draw(&state, &number, r->batches[from][to]);
            }
        }
        CHECK(play(comm, r, round % 2 != 0, &own) == 0);
        // Else a recv of any rank could take a message of the next round.
        CHECK(tern_barrier(comm) == TERN_OK);
    }
    return 0;
}

static void tags_may_be_received_in_any_order(void **state)
{
    assert_true(ranks_run_counts(1, 5, exchange, NULL, 110));
}

// Two ranks send without end; the third one is heard, too.
static int flood(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    int seen[4] = {0};
    int value = rank;
    enum { EACH = 2000 };
    if (rank > 0) {
        for (int i = 0; i < EACH; i++) {
            tern_coll send = {
                .kind = TERN_COLL_SEND, .in = &value, .count = 1, .dtype = TERN_I32, .tag = 4};
            CHECK(tern_coll_run(comm, &send) == TERN_OK);
        }
        return 0;
    }
    for (int i = 0; i < 3 * EACH; i++) {
        tern_received received;
        tern_coll recv = {.kind = TERN_COLL_RECV,
                          .out = &value,
                          .count = 1,
                          .dtype = TERN_I32,
                          .root = TERN_RANK_ANY,
                          .tag = 4,
                          .received = &received};
        CHECK(tern_coll_run(comm, &recv) == TERN_OK);
        CHECK(received.from == value && received.count == 1 && received.tag == 4);
        seen[value]++;
        if (i == 0) { // now all have messages ready: they take turns
            CHECK(tern_comm_health(comm) == TERN_OK);
            usleep(200000);
        } else if (i <= 9) {
            seen[0] += seen[1] <= 5 && seen[2] <= 5 && seen[3] <= 5;
        }
    }
    CHECK(seen[0] == 9);
    CHECK(seen[1] == EACH && seen[2] == EACH && seen[3] == EACH);
    return 0;
}

static void ranks_with_messages_ready_take_turns(void **state)
{
    assert_true(ranks_run_comm(4, flood, NULL, 60));
}

// A large message in a window, in memory of tern_alloc or anywhere, before a small one that is
// received first, blocking on both sides.
static int overtake(tern_comm *comm, void *arg)
{
    enum { BYTES = 3000000 };
    int rank = tern_comm_rank(comm);
    unsigned char *large;
    for (int place = 0; place < 2; place++) {
        if (place == 0) {
            large = malloc(BYTES);
            CHECK(large != NULL);
        } else {
            CHECK(tern_alloc(comm, BYTES, (void **)&large) == TERN_OK);
        }
        for (size_t i = 0; i < BYTES; i++) {
            large[i] = rank == 0 ? byte_of(3, i) : 0;
        }
        int small = 17;
        tern_coll calls[2] = {{.in = large,
                               .out = large,
                               .count = BYTES,
                               .dtype = TERN_U8,
                               .root = 1 - rank,
                               .tag = 1},
                              {.in = &small,
                               .out = &small,
                               .count = 1,
                               .dtype = TERN_I32,
                               .root = 1 - rank,
                               .tag = 2}};
        for (int i = 0; i < 2; i++) {
            tern_coll call = calls[rank == 0 ? i : 1 - i];
            call.kind = rank == 0 ? TERN_COLL_SEND : TERN_COLL_RECV;
            small = rank == 0 ? 18 : small;
            CHECK(tern_coll_run(comm, &call) == TERN_OK);
        }
        CHECK(small == 18);
        for (size_t i = 0; i < BYTES; i++) {
            CHECK(large[i] == byte_of(3, i));
        }
        CHECK(tern_barrier(comm) == TERN_OK);
        if (place == 0) {
            free(large);
        } else {
            CHECK(tern_free(large) == TERN_OK);
        }
    }
    return 0;
}

static void a_small_message_overtakes_a_large_one_with_another_tag(void **state)
{
    assert_true(ranks_run_comm(2, overtake, NULL, 60));
}

// What the receiver asks for; the sender sends 8 of i32 with tag 5.
struct lie {
    size_t most;
    tern_dtype dtype;
    bool any, early;
    const char *words;
};

static int disagree(tern_comm *comm, void *arg)
{
    const struct lie *lie = arg;
    int rank = tern_comm_rank(comm);
    int32_t sent[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t got[16];
    tern_received received = {.from = -7};
    tern_coll send = {
        .kind = TERN_COLL_SEND, .in = sent, .count = 8, .dtype = TERN_I32, .root = 1, .tag = 5};
    memset(got, UNTOUCHED, sizeof got);
    if (rank == 0) {
        CHECK(lie->early || tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_coll_run(comm, &send) == TERN_OK);
        CHECK(!lie->early || tern_comm_barrier(comm) == TERN_OK);
        return 0;
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    tern_coll recv = {.kind = TERN_COLL_RECV,
                      .out = got,
                      .count = lie->most,
                      .dtype = lie->dtype,
                      .root = lie->any ? TERN_RANK_ANY : 0,
                      .tag = 5,
                      .received = &received};
    CHECK(tern_coll_run(comm, &recv) == TERN_ERR_MISMATCH);
    CHECK(look_says(lie->words) && look_says("tag 5") && look_says("32 bytes of i32"));
    CHECK(received.from == -7);
    for (size_t i = 0; i < sizeof got; i++) {
        CHECK(((const unsigned char *)got)[i] == UNTOUCHED);
    }
    return 0;
}

static void what_does_not_fit_is_not_received(void **state)
{
    const struct lie lies[] = {{7, TERN_I32, false, true, "at most 28 bytes of i32"},
                               {7, TERN_I32, true, false, "at most 28 bytes of i32"},
                               {0, TERN_I32, true, true, "at most 0 bytes of i32"},
                               {16, TERN_F32, false, false, "at most 64 bytes of f32"},
                               {8, TERN_F32, true, true, "at most 32 bytes of f32"}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct lie lie = lies[i];
        assert_true(ranks_run_comm(2, disagree, &lie, 20));
    }
}

// How those end that a recv of any rank waits for.
enum end { ONE_LEAVES, ALL_LEAVE, ONE_DIES, NOBODY_COMES };

static int be_left(int rank, const struct ranks *ranks, void *arg)
{
    enum end end = *(const enum end *)arg;
    tern_comm *comm;
    int64_t deadline = end == NOBODY_COMES ? INT64_C(700000000) : RANKS_SOON_NS;
    CHECK(ranks_join(rank, ranks, deadline, &comm) == TERN_OK);
    int value = 5;
    tern_received received;
    tern_coll recv = {.kind = TERN_COLL_RECV,
                      .out = &value,
                      .count = 1,
                      .dtype = TERN_I32,
                      .root = TERN_RANK_ANY,
                      .tag = 1,
                      .received = &received};
    if (rank == 0) {
        static const struct {
            int status;
            const char *words;
        } told[] = {[ONE_LEAVES] = {TERN_OK, ""},
                    [ALL_LEAVE] = {TERN_ERR_LEFT, "from any rank, tag 1"},
                    [ONE_DIES] = {TERN_ERR_PEER, "rank 1"},
                    [NOBODY_COMES] = {TERN_ERR_TIMEOUT, "a recv of at most 4 bytes from any rank"}};
        int status = tern_coll_run(comm, &recv);
        CHECK(status == told[end].status);
        CHECK(status == TERN_OK ? received.from == 2 : look_says(told[end].words));
        CHECK(tern_comm_destroy(comm) == TERN_OK);
        return 0;
    }
    if (end == ONE_DIES && rank == 1) {
        raise(SIGKILL);
    }
    if (end == ONE_LEAVES && rank == 2) {
        usleep(300000); // the other one has left
        recv.kind = TERN_COLL_SEND;
        recv.in = &value;
        recv.root = 0;
        CHECK(tern_coll_run(comm, &recv) == TERN_OK);
    }
    if (end == ONE_DIES || end == NOBODY_COMES) {
        while (tern_comm_health(comm) == TERN_OK) {
            usleep(10000);
        }
    }
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void who_waits_for_any_rank_is_told_when_nobody_is_left(void **state)
{
    for (enum end end = ONE_LEAVES; end <= NOBODY_COMES; end++) {
        struct ranks ranks;
        ranks_begin(&ranks, 3, be_left, &end);
        bool ended = ranks_wait(&ranks, 60);
        for (int rank = 0; rank < 3; rank++) {
            int expected = end == ONE_DIES && rank == 1 ? SIGKILL : 0;
            ended = ended && ranks.statuses[rank] == expected;
        }
        assert_true(ranks_end(&ranks) && ended);
    }
}

// To oneself: what has been started with the same tag counts.
static int alone(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    int values[2] = {rank + 40, 0};
    tern_received received;
    tern_request request;
    tern_coll send = {.kind = TERN_COLL_SEND,
                      .in = &values[0],
                      .count = 1,
                      .dtype = TERN_I32,
                      .root = rank,
                      .tag = 8};
    tern_coll recv = {.kind = TERN_COLL_RECV,
                      .out = &values[1],
                      .count = 1,
                      .dtype = TERN_I32,
                      .root = rank,
                      .tag = 9,
                      .received = &received};
    CHECK(tern_coll_start(comm, &send, &request) == TERN_OK);
    CHECK(tern_coll_run(comm, &recv) == TERN_ERR_ARG);
    CHECK(look_says("it would wait for itself"));
    recv.tag = 8;
    recv.root = TERN_RANK_ANY;
    CHECK(tern_coll_run(comm, &recv) == TERN_OK);
    CHECK(values[1] == rank + 40 && received.from == rank);
    CHECK(tern_request_wait(&request) == TERN_OK);
    CHECK(tern_coll_run(comm, &send) == TERN_ERR_ARG);
    CHECK(tern_coll_start(comm, &recv, &request) == TERN_OK);
    values[0] = 3;
    CHECK(tern_coll_run(comm, &send) == TERN_OK);
    CHECK(tern_request_wait(&request) == TERN_OK);
    CHECK(values[1] == 3);
    send.root = TERN_RANK_ANY;
    CHECK(tern_coll_run(comm, &send) == TERN_ERR_ARG);
    return 0;
}

static void messages_to_oneself_meet_by_tag(void **state)
{
    assert_true(ranks_run_counts(1, 3, alone, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_may_be_received_in_any_order),
        cmocka_unit_test(ranks_with_messages_ready_take_turns),
        cmocka_unit_test(a_small_message_overtakes_a_large_one_with_another_tag),
        cmocka_unit_test(what_does_not_fit_is_not_received),
        cmocka_unit_test(who_waits_for_any_rank_is_told_when_nobody_is_left),
        cmocka_unit_test(messages_to_oneself_meet_by_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
