// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2, ctest-threads: none
// A deadline for a call: every kind, however it is made, ends after its own where a rank does not
// come, and the sentence says so; without one, it outlasts the communicator's.
#include <poll.h>
#include <stdatomic.h>

#include "coll/call/test/kit.h"

#define OWN_NS INT64_C(20000000)
#define LATE "waited 0.02 s"

enum form { BLOCKING, STARTED, TESTED, ANY, PERSISTENT, NAMED, FORMS };

enum { COUNT = 4, LONG = 1 << 20, MOST = 5 };

static char in[LONG * MOST];
static char out[LONG * MOST];
static const size_t counts[MOST] = {COUNT, COUNT, COUNT, COUNT, COUNT};

// The last rank does not come; it is the root where that is who is waited for.
static tern_coll call_of(tern_coll_kind kind, int n)
{
    bool message = kind == TERN_COLL_SEND || kind == TERN_COLL_RECV;
    bool from = kind == TERN_COLL_BROADCAST || kind == TERN_COLL_SCATTER ||
                kind == TERN_COLL_SCATTER_V || message;
    return (tern_coll){.kind = kind,
                       .in = in,
                       .out = out,
                       .count = message ? LONG / sizeof(float) : COUNT,
                       .root = from ? n - 1 : 0,
                       .in_counts = counts,
                       .out_counts = counts,
                       .timeout_ns = OWN_NS};
}

static int make(tern_comm *comm, tern_coll *call, enum form form)
{
    tern_request request = 0;
    int index = -1;
    int status;
    call->algorithm = form == NAMED && call->kind == TERN_COLL_ALL_REDUCE
                          ? kit_is_spread() ? "two_raw" : "fused"
                          : NULL;
    if (form == BLOCKING || form == NAMED) {
        return tern_coll_run(comm, call);
    }
    if (form == PERSISTENT) {
        status = tern_coll_prepare(comm, call, &request);
        if (status != TERN_OK) { // a rank that is quicker has given up already
            return status;
        }
        status = tern_request_start(request);
        if (status == TERN_OK) {
            status = tern_request_wait(&request);
        }
        CHECK(tern_request_free(&request) == TERN_OK);
        return status;
    }
    status = tern_coll_start(comm, call, &request);
    if (status != TERN_OK) {
        return status;
    }
    if (form == STARTED) {
        return tern_request_wait(&request);
    }
    if (form == ANY) {
        return tern_request_wait_any(&request, 1, &index);
    }
    while ((status = tern_request_test(&request)) == 0) {
        poll(NULL, 0, 1);
    }
    return status > 0 ? TERN_OK : status;
}

// The others make the call on a communicator of its own, and give up.
static int miss_one(tern_comm *world, tern_coll_kind kind, enum form form)
{
    tern_comm *part;
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    tern_coll call = call_of(kind, n);
    CHECK(tern_comm_split(world, 0, rank, &part) == TERN_OK);
    if (rank < n - 1) {
        int status = make(part, &call, form);
        if (status == TERN_OK) { // it did not need the last rank
            status = tern_barrier(part);
        }
        CHECK(status == TERN_ERR_TIMEOUT && strstr(tern_last_error(), LATE) != NULL);
    } else {
        while (tern_comm_health(part) == TERN_OK) {
            poll(NULL, 0, 1);
        }
        CHECK(tern_barrier(part) == TERN_ERR_TIMEOUT && strstr(tern_last_error(), LATE) != NULL);
    }
    return tern_comm_destroy(part);
}

static int miss_all(tern_comm *world, void *arg)
{
    int forms = tern_comm_size(world) == 3 ? FORMS : TESTED; // it takes the time of deadlines
    for (int kind = 0; kind < TERN_COLL_KINDS; kind++) {
        for (int form = 0; form < forms; form++) {
            CHECK(miss_one(world, (tern_coll_kind)kind, (enum form)form) == 0);
        }
    }
    return 0;
}

static void a_call_ends_after_its_own_deadline(void **state)
{
    static const int sizes[] = {2, 3, 5};
    static const char *const agrees[] = {"early", "strict", "early"};
    for (int i = 0; i < 3; i++) {
        setenv("TERN_AGREE", agrees[i], 1);
        assert_true(ranks_run_comm(sizes[i], miss_all, NULL, 110));
    }
    unsetenv("TERN_AGREE");
}

// The communicator's deadline is short; who has none of its own waits longer.
static int outlast(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_request request;
    float value = 1;
    float sum = 0;
    CHECK(ranks_join(rank, ranks, INT64_C(200000000), &comm) == TERN_OK);
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = &value,
                      .out = &sum,
                      .count = 1,
                      .timeout_ns = TERN_TIMEOUT_NEVER};
    for (int round = 0; round < 2; round++) { // of a shape that is new, and one that is known
        if (rank == 1) {
            poll(NULL, 0, 600);
        }
        CHECK(tern_coll_run(comm, &call) == TERN_OK && sum == (float)ranks->count);
        if (rank == 1) {
            poll(NULL, 0, 600);
        }
        CHECK(tern_coll_start(comm, &call, &request) == TERN_OK);
        CHECK(tern_request_wait(&request) == TERN_OK);
    }
    call.timeout_ns = -2;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && kit_mentions("timeout_ns is -2"));
    CHECK(tern_coll_start(comm, &call, &request) == TERN_ERR_ARG);
    call.kind = TERN_COLL_RECV;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && kit_mentions("timeout_ns is -2"));
    return tern_comm_destroy(comm);
}

static void never_outlasts_the_communicator(void **state)
{
    assert_true(ranks_run(2, outlast, NULL, 60));
    assert_true(ranks_run(3, outlast, NULL, 60));
}

struct away {
    _Atomic int *ended; // how many others have
    _Atomic int *late;  // of these, after their deadline
    tern_order order;
    bool alloc; // buffers of tern_alloc
};

// The last rank begins a large call, and goes on with something else until it has ended on the
// others: where they need nothing more of it, well.
static int begin_and_go_away(tern_comm *comm, void *arg)
{
    const struct away *away = arg;
    int n = tern_comm_size(comm);
    void *from = in;
    void *to = out;
    tern_request request;
    if (away->alloc) {
        CHECK(tern_alloc(comm, sizeof in, &from) == TERN_OK);
        CHECK(tern_alloc(comm, sizeof out, &to) == TERN_OK);
    }
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = from,
                      .out = to,
                      .count = LONG,
                      .order = away->order,
                      .timeout_ns = INT64_C(300000000)};
    CHECK(tern_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == n - 1) {
        call.timeout_ns = TERN_TIMEOUT_DEFAULT;
        CHECK(tern_coll_start(comm, &call, &request) == TERN_OK);
        ranks_count_await(away->ended, n - 1);
        tern_status_ignore(tern_request_wait(&request));
    } else {
        int status = tern_coll_run(comm, &call);
        atomic_fetch_add(away->ended, 1);
        char last[32];
        snprintf(last, sizeof last, "rank %d has begun", n - 1);
        // Or whose signal is awaited, and waits itself; or who, on a busy machine, was not done.
        CHECK(status == TERN_OK || kit_mentions(last) ||
              (n > 2 && (kit_mentions("waits in all_reduce") || kit_mentions("runs"))));
        atomic_fetch_add(away->late, status == TERN_ERR_TIMEOUT);
    }
    if (away->alloc) {
        CHECK(tern_free(from) == TERN_OK && tern_free(to) == TERN_OK);
    }
    return 0;
}

static void who_has_begun_and_gone_away_is_named(void **state)
{
    _Atomic int *late = ranks_shared(sizeof *late);
    for (int i = 0; i < 12; i++) {
        struct away away = {.ended = ranks_shared(sizeof *away.ended),
                            .late = late,
                            .order = i % 2 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY,
                            .alloc = i / 2 % 2 != 0};
        assert_true(ranks_run_comm(2 + i / 4, begin_and_go_away, &away, 60));
    }
    assert_true(atomic_load(late) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_ends_after_its_own_deadline),
        cmocka_unit_test(never_outlasts_the_communicator),
        cmocka_unit_test(who_has_begun_and_gone_away_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
