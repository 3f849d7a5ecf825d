// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2
// Calls of HCCL in time: the order of one communicator's calls on several streams, communicators
// that do not wait for each other, groups and batches, destroying with work under way.
#include "faces/hccl/test/kit.h"

#include <sched.h>

enum { N = 1000 };

struct gate {
    _Atomic int open;
};

static int pass(void *args)
{
    struct gate *gate = *(void **)args;
    while (gate->open == 0) {
        sched_yield();
    }
    return TERN_OK;
}

// The stream goes on when the gate is opened.
static int close_stream(aclrtStream stream, struct gate *gate)
{
    const void *arg = gate;
    tern_stream_host_call what = {.function = pass, .args = &arg, .args_bytes = sizeof arg};
    return tern_stream_call(stream, &what);
}

static int all_sum_to(const float *values, int count, float wanted)
{
    for (int i = 0; i < count; i++) {
        CHECK(values[i] == wanted);
    }
    return 0;
}

static void fill(float *values, int count, float value)
{
    for (int i = 0; i < count; i++) {
        values[i] = value;
    }
}

static HcclResult sum(float *in, float *out, HcclComm comm, aclrtStream stream)
{
    return HcclAllReduce(in, out, N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
}

static int run_two_streams(HcclComm comm, void *arg)
{
    static float a[N], b[N], c[N];
    static struct gate gate;
    aclrtStream streams[2];
    float n = (float)hccl_size_of(comm);
    CHECK(aclrtCreateStream(&streams[0]) == 0 && aclrtCreateStream(&streams[1]) == 0);
    for (int round = 0; round < 50; round++) {
        fill(a, N, 1);
        gate.open = 0;
        CHECK(close_stream(streams[0], &gate) == TERN_OK);
        CHECK(sum(a, b, comm, streams[0]) == HCCL_SUCCESS);
        CHECK(sum(b, c, comm, streams[1]) == HCCL_SUCCESS); // needs the first, on another stream
        if (round == 0) {
            CHECK(aclrtSynchronizeStreamWithTimeout(streams[1], 20) ==
                  ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        }
        gate.open = 1;
        CHECK(aclrtSynchronizeStream(streams[1]) == ACL_SUCCESS);
        CHECK(all_sum_to(c, N, n * n) == 0);
        fill(b, N, 7);
        CHECK(sum(b, c, comm, streams[0]) == HCCL_SUCCESS); // at once, behind both
        CHECK(sum(c, b, comm, NULL) == HCCL_SUCCESS);
        CHECK(all_sum_to(b, N, 7 * n * n) == 0);
    }
    CHECK(aclrtDestroyStream(streams[0]) == 0 && aclrtDestroyStream(streams[1]) == 0);
    return 0;
}

static void calls_on_two_streams_keep_their_order(void **state)
{
    assert_true(hccl_run(1, run_two_streams, NULL, 60));
    assert_true(hccl_run(3, run_two_streams, NULL, 60));
}

static int other_comm(HcclComm comm, uint64_t id, HcclComm *other)
{
    uint32_t list[TERN_RANKS_MAX];
    int n = hccl_size_of(comm);
    for (int i = 0; i < n; i++) {
        list[i] = (uint32_t)i;
    }
    return (int)HcclCreateSubCommConfig(&comm, (uint32_t)n, list, id, (uint32_t)hccl_rank_of(comm),
                                        NULL, other);
}

// On one rank after the other, the first communicator's stream is closed: the second goes on.
static int run_independent(HcclComm comm, void *arg)
{
    static float a[N], b[N];
    static struct gate gate;
    aclrtStream streams[2];
    HcclComm other = NULL;
    float n = (float)hccl_size_of(comm);
    CHECK(other_comm(comm, 1, &other) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&streams[0]) == 0 && aclrtCreateStream(&streams[1]) == 0);
    for (int round = 0; round < hccl_size_of(comm); round++) {
        gate.open = hccl_rank_of(comm) == round ? 0 : 1;
        fill(a, N, 2);
        CHECK(close_stream(streams[0], &gate) == TERN_OK);
        CHECK(sum(a, a, comm, streams[0]) == HCCL_SUCCESS);
        for (int i = 0; i < 20; i++) {
            fill(b, N, 3);
            CHECK(sum(b, b, other, streams[1]) == HCCL_SUCCESS);
            CHECK(aclrtSynchronizeStream(streams[1]) == ACL_SUCCESS);
            CHECK(all_sum_to(b, N, 3 * n) == 0);
        }
        gate.open = 1;
        CHECK(aclrtSynchronizeStream(streams[0]) == ACL_SUCCESS);
        CHECK(all_sum_to(a, N, 2 * n) == 0);
    }
    CHECK(aclrtDestroyStream(streams[0]) == 0 && aclrtDestroyStream(streams[1]) == 0);
    CHECK(HcclCommDestroy(other) == HCCL_SUCCESS);
    return 0;
}

static void communicators_do_not_wait_for_each_other(void **state)
{
    assert_true(hccl_run(3, run_independent, NULL, 60));
}

// Each communicator's result is the other's input, ordered by events alone; nobody waits but at the
// end of a round.
static int run_events(HcclComm comm, void *arg)
{
    static float a[N], b[N];
    HcclComm comms[2] = {comm, NULL};
    aclrtStream streams[2];
    aclrtEvent events[2];
    float *buffers[2] = {a, b};
    CHECK(other_comm(comm, 1, &comms[1]) == HCCL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(aclrtCreateStream(&streams[i]) == 0 && aclrtCreateEvent(&events[i]) == 0);
    }
    for (int round = 0; round < 30; round++) {
        fill(a, N, 1);
        for (int i = 0; i < 20; i++) { // the largest of copies: 1 stays 1
            int k = i % 2;
            CHECK(aclrtStreamWaitEvent(streams[k], events[1 - k]) == 0);
            CHECK(HcclAllReduce(buffers[k], buffers[1 - k], N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX,
                                comms[k], streams[k]) == HCCL_SUCCESS);
            CHECK(aclrtRecordEvent(events[k], streams[k]) == 0);
        }
        CHECK(sum(a, a, comms[0], streams[1]) == HCCL_SUCCESS);
        CHECK(aclrtSynchronizeStream(streams[1]) == ACL_SUCCESS);
        CHECK(all_sum_to(a, N, (float)hccl_size_of(comm)) == 0);
        CHECK(all_sum_to(b, N, 1) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(aclrtDestroyStream(streams[i]) == 0 && aclrtDestroyEvent(events[i]) == 0);
    }
    CHECK(HcclCommDestroy(comms[1]) == HCCL_SUCCESS);
    return 0;
}

static void events_order_calls_of_two_communicators(void **state)
{
    assert_true(hccl_run(2, run_events, NULL, 60));
    assert_true(hccl_run(5, run_events, NULL, 60));
}

// Ranks make the calls of two communicators in orders of their own, and wait for them in others.
static int run_crossed(HcclComm comm, void *arg)
{
    static float buffers[2][N];
    HcclComm comms[2] = {comm, NULL};
    aclrtStream streams[2];
    float n = (float)hccl_size_of(comm);
    uint64_t state = (uint64_t)hccl_rank_of(comm) + 1;
    CHECK(other_comm(comm, 1, &comms[1]) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&streams[0]) == 0 && aclrtCreateStream(&streams[1]) == 0);
    for (int round = 0; round < 200; round++) {
        uint64_t first = random_below(&state, 2), awaited = random_below(&state, 2);
        for (uint64_t i = 0; i < 2; i++) {
            uint64_t k = first ^ i;
            fill(buffers[k], N, 1);
            CHECK(sum(buffers[k], buffers[k], comms[k], streams[k]) == HCCL_SUCCESS);
        }
        for (uint64_t i = 0; i < 2; i++) {
            CHECK(aclrtSynchronizeStream(streams[awaited ^ i]) == ACL_SUCCESS);
            CHECK(all_sum_to(buffers[awaited ^ i], N, n) == 0);
        }
    }
    CHECK(aclrtDestroyStream(streams[0]) == 0 && aclrtDestroyStream(streams[1]) == 0);
    CHECK(HcclCommDestroy(comms[1]) == HCCL_SUCCESS);
    return 0;
}

static void ranks_may_differ_in_which_communicator_is_first(void **state)
{
    assert_true(hccl_run(2, run_crossed, NULL, 60));
    assert_true(hccl_run(3, run_crossed, NULL, 60));
}

// Everybody sends to everybody, itself too, in an order of its own.
static int run_batches(HcclComm comm, void *arg)
{
    enum { EACH = 300 };
    static int32_t in[8][EACH], out[8][EACH];
    uint32_t n = (uint32_t)hccl_size_of(comm), rank = (uint32_t)hccl_rank_of(comm);
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream) == 0);
    for (uint32_t round = 0; round < 40; round++) {
        HcclSendRecvItem items[16];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t peer = (i * 3 + rank * round) % n; // 3 and n have no common divisor
            for (int k = 0; k < EACH; k++) {
                in[peer][k] = (int32_t)(rank * 1000 + peer * 10 + round);
                out[peer][k] = -1;
            }
            items[i] = (HcclSendRecvItem){HCCL_SEND, in[peer], EACH, HCCL_DATA_TYPE_INT32, peer};
            items[2 * n - 1 - i] =
                (HcclSendRecvItem){HCCL_RECV, out[peer], EACH, HCCL_DATA_TYPE_INT32, peer};
        }
        if (round % 2 == 0) {
            CHECK(HcclBatchSendRecv(items, 2 * n, comm, stream) == HCCL_SUCCESS);
        } else {
            bool grouped = true;
            CHECK(HcclGroupStatusGet(&grouped) == HCCL_SUCCESS && !grouped);
            CHECK(HcclGroupStart() == HCCL_SUCCESS);
            CHECK(HcclGroupStart() == HCCL_SUCCESS);
            for (uint32_t i = 0; i < 2 * n; i++) {
                HcclSendRecvItem *it = &items[i];
                CHECK(
                    (it->sendRecvType == HCCL_SEND
                         ? HcclSend(it->buf, it->count, it->dataType, it->remoteRank, comm, stream)
                         : HcclRecv(it->buf, it->count, it->dataType, it->remoteRank, comm,
                                    stream)) == HCCL_SUCCESS);
            }
            CHECK(HcclGroupEnd() == HCCL_SUCCESS); // the inner one: nothing is made yet
            CHECK(tern_stream_test(stream) == 1);
            CHECK(HcclGroupStatusGet(&grouped) == HCCL_SUCCESS && grouped);
            CHECK(HcclGroupEnd() == HCCL_SUCCESS);
            CHECK(HcclGroupStatusGet(&grouped) == HCCL_SUCCESS && !grouped);
        }
        memset(items, 0xee, sizeof items);
        CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
        for (uint32_t peer = 0; peer < n; peer++) {
            for (int k = 0; k < EACH; k++) {
                CHECK(out[peer][k] == (int32_t)(peer * 1000 + rank * 10 + round));
            }
        }
    }
    CHECK(aclrtDestroyStream(stream) == 0);
    return 0;
}

static void messages_of_a_batch_are_under_way_together(void **state)
{
    assert_true(hccl_run(1, run_batches, NULL, 60));
    assert_true(hccl_run(2, run_batches, NULL, 60));
    assert_true(hccl_run(5, run_batches, NULL, 60));
}

// A group has calls of two communicators and streams, with arrays of counts.
static int run_group(HcclComm comm, void *arg)
{
    static float a[N], b[N];
    HcclComm other = NULL;
    aclrtStream streams[2];
    uint32_t n = (uint32_t)hccl_size_of(comm), rank = (uint32_t)hccl_rank_of(comm);
    uint64_t counts[8] = {0}, places[8];
    int64_t in[8], out[24];
    CHECK(other_comm(comm, 1, &other) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&streams[0]) == 0 && aclrtCreateStream(&streams[1]) == 0);
    for (int round = 0; round < 20; round++) {
        fill(a, N, 1);
        fill(b, N, 2);
        for (uint32_t i = 0; i < n; i++) {
            counts[i] = i % 2 + 1;
            places[i] = 3 * (n - 1 - i);
            in[i] = rank * 10 + i;
        }
        memset(out, 0xff, sizeof out);
        CHECK(HcclGroupStart() == HCCL_SUCCESS);
        CHECK(HcclAllGatherV(in, counts[rank], out, counts, places, HCCL_DATA_TYPE_INT64, comm,
                             streams[0]) == HCCL_SUCCESS);
        CHECK(sum(b, b, other, streams[1]) == HCCL_SUCCESS);
        CHECK(sum(a, a, comm, streams[0]) == HCCL_SUCCESS);
        memset(counts, 0xee, sizeof counts);
        memset(places, 0xee, sizeof places);
        CHECK(HcclCommDestroy(other) == HCCL_E_AGAIN); // its call is not made yet
        CHECK(HcclGroupEnd() == HCCL_SUCCESS);
        CHECK(aclrtSynchronizeStream(streams[0]) == 0 && aclrtSynchronizeStream(streams[1]) == 0);
        CHECK(all_sum_to(a, N, (float)n) == 0 && all_sum_to(b, N, 2 * (float)n) == 0);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t *place = out + (size_t)3 * (n - 1 - i);
            CHECK(place[0] == i * 10 && place[2] == -1);
            CHECK(place[1] == (i % 2 != 0 ? (int64_t)i * 10 + 1 : -1));
        }
    }
    CHECK(aclrtDestroyStream(streams[0]) == 0 && aclrtDestroyStream(streams[1]) == 0);
    CHECK(HcclCommDestroy(other) == HCCL_SUCCESS);
    return 0;
}

static void a_group_may_have_several_communicators(void **state)
{
    assert_true(hccl_run(3, run_group, NULL, 60));
}

// Blocks of a reduce_scatter_v that are not packed, in an order of their own.
static int run_gaps(HcclComm comm, void *arg)
{
    uint32_t n = (uint32_t)hccl_size_of(comm), rank = (uint32_t)hccl_rank_of(comm);
    uint64_t counts[8], places[8];
    int32_t in[64], out[4] = {-1, -1, -1, -1};
    for (uint32_t i = 0; i < n; i++) {
        counts[i] = i % 3;
        places[i] = (n - 1 - i) * 5 + 1;
    }
    for (int i = 0; i < 64; i++) {
        in[i] = i * 100 + (int)rank;
    }
    CHECK(HcclReduceScatterV(in, counts, places, out, counts[rank], HCCL_DATA_TYPE_INT32,
                             HCCL_REDUCE_SUM, comm, NULL) == HCCL_SUCCESS);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t wanted = (uint32_t)(places[rank] + i) * 100 * n + n * (n - 1) / 2;
        CHECK(out[i] == (i < counts[rank] ? (int32_t)wanted : -1));
    }
    return 0;
}

static void blocks_of_a_reduce_scatter_may_lie_anywhere(void **state)
{
    assert_true(hccl_run(1, run_gaps, NULL, 60));
    assert_true(hccl_run(3, run_gaps, NULL, 60));
    assert_true(hccl_run(8, run_gaps, NULL, 60));
}

// Destroys with calls under way that nobody has waited for.
static int run_destroy(HcclComm comm, void *arg)
{
    static float a[N];
    HcclComm other = NULL;
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream) == 0);
    for (uint64_t round = 0; round < 5; round++) {
        CHECK(other_comm(comm, round, &other) == HCCL_SUCCESS);
        fill(a, N, 1);
        for (int i = 0; i < 10; i++) {
            CHECK(HcclAllReduce(a, a, N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, other, stream) ==
                  HCCL_SUCCESS);
        }
        CHECK(sum(a, a, other, stream) == HCCL_SUCCESS);
        CHECK(HcclCommDestroy(other) == HCCL_SUCCESS);
        CHECK(all_sum_to(a, N, (float)hccl_size_of(comm)) == 0);
        CHECK(HcclBarrier(other, stream) == HCCL_E_PARA);
    }
    CHECK(aclrtDestroyStream(stream) == 0);
    return 0;
}

static void destroying_waits_for_the_calls_that_were_made(void **state)
{
    assert_true(hccl_run(3, run_destroy, NULL, 60));
}

struct from_callback {
    HcclComm comm;
    aclrtStream stream;
    float *values;
};

static int call_from_stream(void *args)
{
    const struct from_callback *to = args;
    return sum(to->values, to->values, to->comm, to->stream) == HCCL_SUCCESS ? TERN_OK
                                                                             : TERN_ERR_ARG;
}

// A function in one stream makes a call on another, while somebody waits for the communicator and,
// likely, runs that function.
static int run_callback(HcclComm comm, void *arg)
{
    static float a[N], b[N];
    aclrtStream streams[2];
    CHECK(aclrtCreateStream(&streams[0]) == 0 && aclrtCreateStream(&streams[1]) == 0);
    fill(a, N, 1);
    for (int round = 0; round < 50; round++) {
        struct from_callback to = {comm, streams[1], a};
        tern_stream_host_call what = {.function = call_from_stream,
                                      .args = &to,
                                      .args_bytes = sizeof to};
        for (int i = 0; i < 5; i++) { // somebody waits for its calls
            CHECK(sum(b, b, comm, streams[0]) == HCCL_SUCCESS);
            CHECK(aclrtSynchronizeStream(streams[0]) == ACL_SUCCESS);
        }
        CHECK(tern_stream_call(streams[0], &what) == TERN_OK);
        CHECK(sum(b, b, comm, streams[0]) == HCCL_SUCCESS);
        CHECK(HcclBarrier(comm, NULL) == HCCL_SUCCESS);
        CHECK(aclrtSynchronizeStream(streams[0]) == ACL_SUCCESS);
        CHECK(aclrtSynchronizeStream(streams[1]) == ACL_SUCCESS);
    }
    CHECK(all_sum_to(a, N, 1) == 0);
    CHECK(aclrtDestroyStream(streams[0]) == 0 && aclrtDestroyStream(streams[1]) == 0);
    return 0;
}

static void functions_in_streams_may_make_calls(void **state)
{
    assert_true(hccl_run(1, run_callback, NULL, 60)); // of more ranks: in which order?
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_two_streams_keep_their_order),
        cmocka_unit_test(communicators_do_not_wait_for_each_other),
        cmocka_unit_test(events_order_calls_of_two_communicators),
        cmocka_unit_test(ranks_may_differ_in_which_communicator_is_first),
        cmocka_unit_test(messages_of_a_batch_are_under_way_together),
        cmocka_unit_test(a_group_may_have_several_communicators),
        cmocka_unit_test(blocks_of_a_reduce_scatter_may_lie_anywhere),
        cmocka_unit_test(functions_in_streams_may_make_calls),
        cmocka_unit_test(destroying_waits_for_the_calls_that_were_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
