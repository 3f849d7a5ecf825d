// SPDX-License-Identifier: Apache-2.0
// Calls to other machines in pieces: the next piece begins before the one before has ended.
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/call.h"
#include "support/cmocka.h"
#include "support/machines.h"

// Elements of 4 bytes: about 3 MiB, and pieces of which the last one is shorter.
enum { COUNT = (3 << 18) + 777, PIECES = 4 };

struct test {
    tern_coll_kind kind;
    tern_dtype dtype;
    tern_order order;
    bool in_place;
};

// Of the first machine, how many ranks have begun the second piece.
static _Atomic int *ahead;

static int at_machine(const char *layout, int rank)
{
    return layout[rank] - layout[0];
}

static int ranks_of_first(const char *layout)
{
    int count = 0;
    for (int rank = 0; layout[rank] != '\0'; rank++) {
        count += at_machine(layout, rank) == 0;
    }
    return count;
}

// Small numbers, whose sums are exact in every order.
static double input(int rank, size_t k)
{
    return (double)((k * 7 + (size_t)rank * 13) % 1000);
}

static void write_number(void *to, tern_dtype dtype, size_t k, double number)
{
    if (dtype == TERN_F32) {
        ((float *)to)[k] = (float)number;
    } else {
        ((int32_t *)to)[k] = (int32_t)number;
    }
}

static double read_number(const void *from, tern_dtype dtype, size_t k)
{
    return dtype == TERN_F32 ? (double)((const float *)from)[k] : ((const int32_t *)from)[k];
}

static double expected(int n, size_t k)
{
    double sum = 0;
    for (int rank = 0; rank < n; rank++) {
        sum += input(rank, k);
    }
    return sum;
}

// The ranks of the first machine begin, and go on until the second piece has; those of the others
// make the call after that, so the first piece cannot have ended.
static int begin_two(tern_comm *comm, const tern_coll *call, const char *layout)
{
    int rank = tern_comm_rank(comm);
    int first = ranks_of_first(layout);
    tern_request request;
    if (at_machine(layout, rank) != 0) {
        while (*ahead < first) {
            sched_yield();
        }
        return tern_coll_run(comm, call);
    }
    CHECK(tern_coll_start(comm, call, &request) == TERN_OK);
    const struct tern__calls *calls = comm->calls;
    const uint32_t ended = calls->ended;
    while (!calls->ahead->bound) { // for ever, where no piece begins before
        CHECK(tern_request_test(&request) == TERN_OK);
        CHECK(request != 0 && calls->ended == ended);
        sched_yield();
    }
    CHECK(calls->bound && calls->ahead->lanes.run == calls->lanes.run + 1);
    CHECK(calls->oldest->pieces == PIECES && calls->published - calls->ended == 2);
    ++*ahead;
    return tern_request_wait(&request);
}

static int make_call(tern_comm *comm, const struct test *test, const char *layout)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    bool shares = test->kind == TERN_COLL_REDUCE_SCATTER;
    size_t count = shares ? COUNT / (size_t)n : COUNT;
    size_t all = shares ? count * (size_t)n : count;
    size_t begin = shares ? (size_t)rank * count : 0;
    static char input_bytes[4 * COUNT];
    static char output_bytes[4 * COUNT];
    char *in = input_bytes;
    char *out = test->in_place ? in + 4 * begin : output_bytes;
    for (size_t k = 0; k < all; k++) {
        write_number(in, test->dtype, k, input(rank, k));
    }
    tern_coll call = {.kind = test->kind,
                      .in = in,
                      .out = out,
                      .count = count,
                      .dtype = test->dtype,
                      .op = TERN_SUM,
                      .order = test->order,
                      .timeout_ns = TERN_TIMEOUT_DEFAULT};
    int status = begin_two(comm, &call, layout);
    *ahead += status != TERN_OK ? TERN_RANKS_MAX : 0; // nobody waits for this rank
    CHECK(status == TERN_OK);
    for (size_t k = 0; k < count; k++) {
        CHECK(read_number(out, test->dtype, k) == expected(n, begin + k));
    }
    CHECK(!((struct tern__calls *)comm->calls)->ahead->bound);
    CHECK(tern_barrier(comm) == TERN_OK);
    if (rank == 0) {
        *ahead = 0;
    }
    CHECK(tern_barrier(comm) == TERN_OK);
    return 0;
}

static int make_calls(tern_comm *comm, void *arg)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_I32};
    static const tern_order orders[] = {TERN_ORDER_RANK, TERN_ORDER_ANY};
    static const tern_coll_kind kinds[] = {TERN_COLL_ALL_REDUCE, TERN_COLL_REDUCE_SCATTER};
    bool in_order = strcmp(arg, "abab") != 0; // else such sums of floats are made through slots
    for (int i = 0; i < 16; i++) {
        struct test test = {kinds[i & 1], dtypes[i >> 1 & 1], orders[i >> 2 & 1],
                            (i >> 3 & 1) != 0};
        if (in_order || test.dtype != TERN_F32 || test.order == TERN_ORDER_ANY) {
            CHECK(make_call(comm, &test, arg) == 0);
        }
    }
    return 0;
}

static void the_next_piece_begins_before_the_one_before_has_ended(void **state)
{
    static const char *const layouts[] = {"ab", "aabb", "aab", "abbb", "abc", "abab"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        ahead = ranks_shared(sizeof *ahead);
        if (!machines_run_comm(layouts[i], make_calls, (void *)(uintptr_t)layouts[i], 60)) {
            fail_msg("on %s", layouts[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_piece_begins_before_the_one_before_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
