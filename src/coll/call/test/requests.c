// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Requests: many calls under way on communicators that overlap, ended in another order on every
// rank; persistent calls between blocking ones; messages; and every wrong use of a request.
#include "coll/call/test/random.h"

static uint64_t base_seed;

// Calls of every kind started in one order, on communicators of which a rank is in four, and ended
// in any order.
static int mix(tern_comm *world, void *arg)
{
    enum { BYTES = 20000 };
    struct kit_bench bench;
    uint64_t calls = kit_number("TERN_TEST_SCALE", 1) * 600;
    uint64_t state = base_seed;
    CHECK(kit_open(world, random_most(BYTES, tern_comm_size(world)), RANDOM_SLOTS, &bench) == 0);
    struct random_calls r = {.bench = &bench, .state = ref_mix(base_seed, 1, (uint64_t)bench.rank)};
    for (uint64_t i = 0; i < calls; i++) {
        struct ref_case c = random_case(&state, BYTES);
        enum kit_comm comm = (enum kit_comm)random_below(&state, KIT_COMMS);
        bool pause = random_below(&state, 100) == 0;
        kit_dawdle(&bench, c.seed);
        while (random_free_slot(&r) < 0 || random_below(&r.state, 3) == 0) {
            if (r.count == 0) {
                break;
            }
            CHECK(random_end_some(&r) == 0);
        }
        CHECK(random_start(&r, comm, &c) == 0);
        if (pause) { // a blocking call while others are under way
            CHECK(tern_barrier(bench.comms[comm]) == TERN_OK);
        }
    }
    CHECK(random_end_all(&r) == 0);
    CHECK(r.ended == calls);
    return kit_close(&bench);
}

static void calls_under_way_end_in_any_order_on_any_communicator(void **state)
{
    static const int sizes[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        assert_true(ranks_run_comm(sizes[i], mix, NULL, 120));
    }
}

// A rank may start its recv before it sends: what the other one sends by reference is copied later,
// else the two copies would follow each other.
static int receive_first(tern_comm *world, void *arg)
{
    enum { COUNT = 1 << 20 };
    tern_window *window;
    tern_request requests[2] = {0};
    int rank = tern_comm_rank(world);
    CHECK(tern_window_create(world, 2 * COUNT, NULL, &window) == TERN_OK);
    char *in = tern_window_address(window, rank);
    char *out = in + COUNT;
    tern_coll sending = {.kind = TERN_COLL_SEND, .in = in, .count = COUNT, .dtype = TERN_U8};
    tern_coll receiving = {.kind = TERN_COLL_RECV, .out = out, .count = COUNT, .dtype = TERN_U8};
    sending.root = receiving.root = 1 - rank;
    memset(in, 7 + rank, COUNT);
    if (rank == 0) {
        CHECK(tern_coll_start(world, &sending, &requests[0]) == TERN_OK);
    }
    CHECK(tern_barrier(world) == TERN_OK);
    CHECK(tern_coll_start(world, &receiving, &requests[1]) == TERN_OK);
    CHECK(out[0] == 0 && out[COUNT - 1] == 0);
    if (rank == 1) {
        CHECK(tern_coll_start(world, &sending, &requests[0]) == TERN_OK);
    }
    CHECK(tern_request_wait_all(requests, 2) == TERN_OK);
    CHECK(out[0] == 8 - rank && out[COUNT - 1] == 8 - rank);
    return tern_window_destroy(window);
}

static void a_recv_that_is_started_copies_nothing_long(void **state)
{
    assert_true(ranks_run_comm(2, receive_first, NULL, 60));
}

// More calls at once than there is room for in shared memory, all of one communicator.
static int flood(tern_comm *world, void *arg)
{
    enum { CALLS = 200, COUNT = 50 };
    static tern_request requests[CALLS];
    static float in[CALLS][COUNT];
    static float out[CALLS][COUNT];
    int n = tern_comm_size(world);
    for (int i = 0; i < CALLS; i++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = in[i], .out = out[i], .count = COUNT};
        for (int k = 0; k < COUNT; k++) {
            in[i][k] = (float)(i + k + tern_comm_rank(world));
        }
        CHECK(tern_coll_start(world, &call, &requests[i]) == TERN_OK);
        CHECK(requests[i] != 0);
        for (int k = 0; k < i; k++) {
            CHECK(requests[k] != requests[i]);
        }
    }
    int last = tern_comm_rank(world) % 2 == 0 ? CALLS - 1 : 0;
    CHECK(tern_request_wait(&requests[last]) >= 0);
    CHECK(tern_request_wait_all(requests, CALLS) >= 0);
    int ranks_sum = n * (n - 1) / 2;
    for (int i = 0; i < CALLS; i++) {
        for (int k = 0; k < COUNT; k++) {
            CHECK(out[i][k] == (float)(n * (i + k) + ranks_sum));
        }
    }
    return 0;
}

static void any_number_of_calls_may_be_under_way(void **state)
{
    assert_true(ranks_run_comm(1, flood, NULL, 30));
    assert_true(ranks_run_comm(2, flood, NULL, 30));
    assert_true(ranks_run_comm(5, flood, NULL, 30));
}

// Persistent calls of several communicators, begun in one order, ended in any, between blocking
// ones.
enum { PREPARED = 8 };

static int run_prepared(struct kit_bench *bench, struct kit_work *works, uint64_t *state,
                        uint64_t *own)
{
    uint64_t chosen = random_below(state, 1 << PREPARED);
    uint64_t before = random_below(state, PREPARED);
    uint64_t seed = random_below(state, 1 << 30);
    for (int i = 0; i < PREPARED; i++) {
        if ((chosen >> i & 1) != 0) {
            works[i].c.seed = ref_is_v(works[i].c.kind) ? works[i].c.seed : seed + (uint64_t)i;
            kit_fill(&works[i]);
            CHECK(kit_begin(&works[i]) == TERN_OK);
        }
        if ((uint64_t)i == before) {
            int32_t one = 1;
            int32_t sum = 0;
            enum kit_comm comm = (enum kit_comm)(seed % KIT_COMMS);
            CHECK(tern_all_reduce(bench->comms[comm], &one, &sum, 1, TERN_I32, TERN_SUM) ==
                  TERN_OK);
            CHECK(sum == tern_comm_size(bench->comms[comm]));
        }
    }
    for (int begin = (int)random_below(own, PREPARED), i = 0; i < PREPARED; i++) {
        struct kit_work *work = &works[(begin + i) % PREPARED];
        tern_request same = work->requests[0];
        if ((chosen >> ((begin + i) % PREPARED) & 1) != 0) {
            CHECK(random_below(own, 2) == 0 ? kit_wait(work) >= 0 : kit_wait_by_testing(work) >= 0);
            CHECK(work->requests[0] == same); // it lives on
            CHECK(kit_compare(work, true) == 0);
        }
    }
    return 0;
}

static int repeat(tern_comm *world, void *arg)
{
    enum { BYTES = 70000 };
    struct kit_bench bench;
    struct kit_work works[PREPARED];
    uint64_t state = base_seed + 5;
    uint64_t own = base_seed + (uint64_t)tern_comm_rank(world);
    CHECK(kit_open(world, random_most(BYTES, tern_comm_size(world)), PREPARED, &bench) == 0);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < PREPARED; i++) {
            struct ref_case c = random_case(&state, BYTES);
            bool in_place = random_below(&state, 4) == 0;
            enum kit_comm comm = (enum kit_comm)random_below(&state, KIT_COMMS);
            int places = (int)random_below(&own, KIT_PLACES * KIT_PLACES);
            kit_make(&bench, comm, &c, in_place, places % KIT_PLACES, places / KIT_PLACES, i,
                     &works[i]);
            CHECK(kit_prepare(&works[i]) == TERN_OK);
            CHECK(works[i].requests[0] != 0);
            CHECK(tern_request_wait(&works[i].requests[0]) >=
                  0); // not started: nothing to wait for
        }
        for (int run = 0; run < 40; run++) {
            CHECK(run_prepared(&bench, works, &state, &own) == 0);
        }
        for (int i = 0; i < PREPARED; i++) {
            CHECK(kit_release(&works[i]) == TERN_OK);
            CHECK(random_is_over(&works[i]));
        }
    }
    return kit_close(&bench);
}

static void a_prepared_call_runs_as_often_as_wanted(void **state)
{
    static const int sizes[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        assert_true(ranks_run_comm(sizes[i], repeat, NULL, 60));
    }
}

// Messages between all pairs, oneself included, as many as a rank likes, small and large, started
// in an order of its own except that those of a pair keep theirs, ended in any order.

enum { MESSAGES = 12 };

static size_t message_count(int from, int to, int number)
{
    static const size_t counts[] = {0, 1, 9, 15, 16, 17, 1000, 16384, 16385, 40000, 120000, 3};
    return counts[ref_mix((uint64_t)from, (uint64_t)to, (uint64_t)number + base_seed) % 12];
}

static uint32_t message_word(int from, int to, int number, size_t i)
{
    return (uint32_t)ref_mix((uint64_t)from * 64 + (uint64_t)to, (uint64_t)number, i % 1021);
}

struct post { // what one rank has with one other
    int peer, sent, received;
    tern_request sends[MESSAGES], receives[MESSAGES];
    uint32_t *out[MESSAGES], *in[MESSAGES];
};

static int post_next(tern_comm *comm, struct post *post, bool send)
{
    int me = tern_comm_rank(comm);
    int number = send ? post->sent++ : post->received++;
    size_t count =
        send ? message_count(me, post->peer, number) : message_count(post->peer, me, number);
    uint32_t *words = malloc(count * 4 + 1);
    CHECK(words != NULL);
    for (size_t i = 0; i < count; i++) {
        words[i] = send ? message_word(me, post->peer, number, i) : 0xa5a5a5a5;
    }
    tern_coll call = {.kind = send ? TERN_COLL_SEND : TERN_COLL_RECV,
                      .in = send ? words : NULL,
                      .out = send ? NULL : words,
                      .count = count,
                      .dtype = TERN_U32,
                      .root = post->peer};
    *(send ? &post->out[number] : &post->in[number]) = words;
    CHECK(tern_coll_start(comm, &call, send ? &post->sends[number] : &post->receives[number]) ==
          TERN_OK);
    return 0;
}

static int check_messages(struct post *post, int me)
{
    for (int number = 0; number < MESSAGES; number++) {
        CHECK(post->sends[number] == 0 && post->receives[number] == 0);
        for (size_t i = 0; i < message_count(post->peer, me, number); i++) {
            CHECK(post->in[number][i] == message_word(post->peer, me, number, i));
        }
        for (size_t i = 0; i < message_count(me, post->peer, number); i++) {
            CHECK(post->out[number][i] == message_word(me, post->peer, number, i));
        }
        free(post->in[number]);
        free(post->out[number]);
    }
    return 0;
}

static int exchange(tern_comm *world, void *arg)
{
    static struct post posts[8];
    static tern_request all[8 * 2 * MESSAGES];
    int n = tern_comm_size(world);
    int me = tern_comm_rank(world);
    uint64_t state = base_seed + 100 + (uint64_t)me;
    for (int peer = 0; peer < n; peer++) {
        posts[peer] = (struct post){.peer = peer};
    }
    for (int left = 2 * MESSAGES * n; left > 0;) {
        struct post *post = &posts[random_below(&state, (uint64_t)n)];
        bool send = random_below(&state, 2) == 0;
        if ((send ? post->sent : post->received) < MESSAGES) {
            CHECK(post_next(world, post, send) == 0);
            left--;
        }
    }
    for (int i = 0; i < 2 * n * MESSAGES; i++) { // any one at a time; then those that are left
        int count = 0;
        int index;
        for (int peer = 0; peer < n; peer++) {
            memcpy(&all[count], posts[peer].sends, sizeof posts[peer].sends);
            memcpy(&all[count + MESSAGES], posts[peer].receives, sizeof posts[peer].receives);
            count += 2 * MESSAGES;
        }
        if (random_below(&state, 30) == 0) {
            CHECK(tern_request_wait_all(all, count) >= 0);
        } else {
            CHECK(tern_request_wait_any(all, count, &index) >= 0);
        }
        count = 0;
        for (int peer = 0; peer < n; peer++) {
            memcpy(posts[peer].sends, &all[count], sizeof posts[peer].sends);
            memcpy(posts[peer].receives, &all[count + MESSAGES], sizeof posts[peer].receives);
            count += 2 * MESSAGES;
        }
    }
    int index = 5;
    CHECK(tern_request_wait_any(all, 2 * n * MESSAGES, &index) >= 0);
    CHECK(index == -1); // all are 0
    for (int peer = 0; peer < n; peer++) {
        CHECK(check_messages(&posts[peer], me) == 0);
    }
    return 0;
}

static void messages_arrive_in_the_order_of_their_pair(void **state)
{
    static const int sizes[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++) {
        for (int round = 0; round < 3; round++, base_seed++) {
            assert_true(ranks_run_comm(sizes[i], exchange, NULL, 60));
        }
    }
}

// Wrong use. In each, the communicator works afterwards.

static bool says_why(const char *call)
{
    return strlen(tern_last_error()) > strlen(call) + 10 && look_says(call);
}

// What a request that is no more gives.
static int use_after_end(tern_request old)
{
    tern_request request = old;
    int index;
    CHECK(tern_request_wait(&request) == TERN_ERR_ARG && says_why("tern_request_wait"));
    CHECK(tern_request_test(&request) == TERN_ERR_ARG && says_why("tern_request_test"));
    CHECK(tern_request_start(request) == TERN_ERR_ARG && says_why("tern_request_start"));
    CHECK(tern_request_free(&request) == TERN_ERR_ARG && says_why("tern_request_free"));
    CHECK(tern_request_wait_any(&request, 1, &index) == TERN_ERR_ARG &&
          says_why("tern_request_wait_any"));
    CHECK(tern_request_wait_all(&request, 1) == TERN_ERR_ARG && says_why("tern_request_wait"));
    return 0;
}

static int misuse_after_end(tern_comm *world, void *arg)
{
    float in = 1;
    float out = 0;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = &in, .out = &out, .count = 1};
    tern_request request = 0;
    CHECK(tern_coll_start(world, &call, &request) == TERN_OK);
    tern_request old = request;
    CHECK(old != 0);
    CHECK(tern_request_wait(&request) >= 0);
    CHECK(request == 0 && out == (float)tern_comm_size(world));
    CHECK(use_after_end(old) == 0);
    // Others in its place do not revive it.
    for (int i = 0; i < 300; i++) {
        CHECK(tern_coll_start(world, &call, &request) == TERN_OK);
        CHECK(request != old);
        CHECK(i % 50 != 0 || use_after_end(old) == 0);
        CHECK(tern_request_wait(&request) >= 0);
    }
    CHECK(tern_coll_prepare(world, &call, &request) == TERN_OK);
    old = request;
    CHECK(tern_request_free(&request) == TERN_OK);
    CHECK(request == 0);
    CHECK(use_after_end(old) == 0);
    CHECK(use_after_end(UINT64_MAX) == 0);
    CHECK(use_after_end(UINT64_C(0x123456789abcdef)) == 0);
    // 0 has ended.
    int index = 5;
    CHECK(tern_request_test(&request) == 1);
    CHECK(tern_request_wait(&request) >= 0);
    CHECK(tern_request_wait_any(&request, 1, &index) >= 0 && index == -1);
    CHECK(tern_request_wait_any(NULL, 0, &index) >= 0 && index == -1);
    CHECK(tern_request_wait_all(&request, 1) >= 0);
    CHECK(tern_request_wait_all(NULL, 0) >= 0);
    CHECK(tern_request_start(0) == TERN_ERR_ARG && says_why("tern_request_start"));
    // NULL.
    CHECK(tern_request_test(NULL) == TERN_ERR_ARG && says_why("tern_request_test"));
    CHECK(tern_request_wait(NULL) == TERN_ERR_ARG && says_why("tern_request_wait"));
    CHECK(tern_request_free(NULL) == TERN_ERR_ARG && says_why("tern_request_free"));
    CHECK(tern_request_wait_any(NULL, 1, &index) == TERN_ERR_ARG);
    CHECK(tern_request_wait_any(&request, 1, NULL) == TERN_ERR_ARG);
    CHECK(tern_request_wait_any(&request, -1, &index) == TERN_ERR_ARG);
    CHECK(tern_request_wait_all(NULL, 1) == TERN_ERR_ARG);
    CHECK(tern_request_wait_all(&request, -1) == TERN_ERR_ARG);
    return 0;
}

static void a_request_that_has_ended_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, misuse_after_end, NULL, 20));
    assert_true(ranks_run_comm(2, misuse_after_end, NULL, 20));
}

// Rank 0 begins and uses its request wrongly; the others join only after that.
static int misuse_running(tern_comm *world, void *arg)
{
    bool prepared = *(const bool *)arg;
    tern_comm *side;
    float in = 1;
    float out = 0;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = &in, .out = &out, .count = 1};
    tern_request request = 0;
    CHECK(tern_comm_split(world, 0, tern_comm_rank(world), &side) == TERN_OK);
    if (prepared) {
        CHECK(tern_coll_prepare(world, &call, &request) == TERN_OK);
    }
    if (tern_comm_rank(world) == 0) {
        tern_request kept;
        CHECK((prepared ? tern_request_start(request) : tern_coll_start(world, &call, &request)) ==
              TERN_OK);
        kept = request;
        CHECK(tern_request_test(&request) == 0);
        int status = tern_request_start(request);
        CHECK(status == TERN_ERR_STATE || (!prepared && status == TERN_ERR_ARG));
        CHECK(says_why("tern_request_start"));
        status = tern_request_free(&request);
        CHECK(status == TERN_ERR_STATE || (!prepared && status == TERN_ERR_ARG));
        CHECK(says_why("tern_request_free"));
        CHECK(request == kept);
        CHECK(tern_request_test(&request) == 0 && request == kept);
    }
    CHECK(tern_barrier(side) == TERN_OK);
    if (tern_comm_rank(world) != 0) {
        CHECK((prepared ? tern_request_start(request) : tern_coll_start(world, &call, &request)) ==
              TERN_OK);
    }
    CHECK(tern_request_wait(&request) >= 0);
    CHECK(out == (float)tern_comm_size(world));
    CHECK(prepared ? tern_request_free(&request) == TERN_OK : request == 0);
    CHECK(tern_barrier(world) == TERN_OK);
    CHECK(tern_comm_destroy(side) == TERN_OK);
    return 0;
}

static void a_running_request_cannot_be_started_or_freed(void **state)
{
    bool prepared = false;
    assert_true(ranks_run_comm(2, misuse_running, &prepared, 20));
    prepared = true;
    assert_true(ranks_run_comm(2, misuse_running, &prepared, 20));
    assert_true(ranks_run_comm(5, misuse_running, &prepared, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recv_that_is_started_copies_nothing_long),
        cmocka_unit_test(calls_under_way_end_in_any_order_on_any_communicator),
        cmocka_unit_test(any_number_of_calls_may_be_under_way),
        cmocka_unit_test(a_prepared_call_runs_as_often_as_wanted),
        cmocka_unit_test(messages_arrive_in_the_order_of_their_pair),
        cmocka_unit_test(a_request_that_has_ended_is_refused),
        cmocka_unit_test(a_running_request_cannot_be_started_or_freed),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
