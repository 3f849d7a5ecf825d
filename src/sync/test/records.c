// SPDX-License-Identifier: Apache-2.0
// Records of calls: the packed signature; the ring keeps the last 64 calls and every call that has
// not ended; readers see whole records while several threads write them.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sync/record_text.h"

// Control memory of our own: records need nothing else of a job.
static struct tern__job *make_job(void)
{
    struct tern__job *job = calloc(1, sizeof *job);
    job->ctl = aligned_alloc(64, sizeof *job->ctl);
    memset(job->ctl, 0, sizeof *job->ctl);
    job->rank = 3;
    return job;
}

static void free_job(struct tern__job *job)
{
    free(job->ctl);
    free(job);
}

static struct tern__record *begin(const struct tern__job *job, int slot, uint64_t sequence)
{
    return tern__record_begin(job, (struct tern__beginning){.comm_slot = slot,
                                                            .way = TERN__WAY_SLOT,
                                                            .sequence = sequence,
                                                            .signature = sequence * 3,
                                                            .bytes = sequence * 5,
                                                            .now_ns = (int64_t)sequence * 7});
}

static void a_signature_comes_back(void **state)
{
    uint64_t packed = tern__signature_pack(15, 16, 10, 63, 1, 62, TERN__SIGNATURE_BYTES_MAX - 1);
    struct tern__signature s = tern__signature_unpack(packed);
    assert_int_equal(s.kind, 15);
    assert_int_equal(s.dtype, 16);
    assert_int_equal(s.op, 10);
    assert_int_equal(s.root, 63);
    assert_int_equal(s.order, 1);
    assert_int_equal(s.algorithm, 62);
    assert_true(s.bytes == TERN__SIGNATURE_BYTES_MAX - 1);
    s = tern__signature_unpack(tern__signature_pack(0, 0, 0, 0, 0, -1, UINT64_MAX));
    assert_int_equal(s.kind + s.dtype + s.op + s.root + s.order, 0);
    assert_int_equal(s.algorithm, TERN__ALGORITHM_NONE);
    assert_true(s.bytes == TERN__SIGNATURE_BYTES_MAX);
}

// Each field by itself: no neighbour is touched.
static void fields_do_not_overlap(void **state)
{
    static const uint32_t most[6] = {31, 31, 15, 63, 1, 63};
    uint64_t seen = 0;
    for (int field = 0; field < 7; field++) {
        uint32_t v[6] = {0};
        if (field < 6) {
            v[field] = most[field];
        }
        uint64_t packed = tern__signature_pack(v[0], v[1], v[2], v[3], v[4], (int)v[5],
                                               field == 6 ? UINT64_MAX : 0);
        assert_true(packed != 0 && (packed & seen) == 0);
        seen |= packed;
    }
    assert_true(seen == UINT64_MAX);
}

static void the_last_64_are_kept(void **state)
{
    struct tern__job *job = make_job();
    struct tern__recorded calls[TERN__RECORDS];
    struct tern__recorded call;
    assert_int_equal(tern__records_read(job->ctl, 3, calls), 0);
    for (uint64_t i = 1; i <= 200; i++) {
        struct tern__record *record = begin(job, 7, i);
        assert_non_null(record);
        tern__record_end(record, i % 2 == 0 ? 0 : -4, (int64_t)i * 7 + 1);
    }
    assert_int_equal(tern__records_read(job->ctl, 3, calls), TERN__RECORDS);
    for (int i = 0; i < TERN__RECORDS; i++) {
        uint64_t sequence = 200 - (uint64_t)i;
        assert_true(calls[i].number == sequence && calls[i].sequence == sequence);
        assert_true(calls[i].bytes == sequence * 5);
        assert_int_equal(calls[i].comm_slot, 7);
        assert_int_equal(calls[i].way, TERN__WAY_SLOT);
        assert_int_equal(calls[i].state,
                         sequence % 2 == 0 ? TERN__RECORD_DONE : TERN__RECORD_FAILED);
        assert_int_equal(calls[i].status, sequence % 2 == 0 ? 0 : -4);
        assert_true(calls[i].end_ns - calls[i].begin_ns == 1);
    }
    assert_int_equal(tern__records_read(job->ctl, 2, calls), 0);
    assert_true(tern__record_find(job->ctl, 3, 7, 137, &call) && call.bytes == 137 * 5);
    assert_false(tern__record_find(job->ctl, 3, 7, 136, &call));
    assert_false(tern__record_find(job->ctl, 3, 6, 137, &call));
    assert_false(tern__record_find(job->ctl, 2, 7, 137, &call));
    free_job(job);
}

static void open_calls_stay_in_view(void **state)
{
    struct tern__job *job = make_job();
    struct tern__recorded call;
    struct tern__record *stuck = begin(job, 1, 5);
    for (uint64_t i = 0; i < 500; i++) {
        struct tern__record *record = begin(job, 2, i);
        assert_true(record != NULL && record != stuck);
        tern__record_end(record, 0, 0);
    }
    tern__record_waits(stuck, tern__stuck(63, 2, 9), 1234);
    assert_true(tern__record_find(job->ctl, 3, 1, 5, &call) && call.algorithm == 0);
    tern__record_travels(stuck, TERN__WAY_WINDOW, 4);
    assert_true(tern__record_find(job->ctl, 3, 1, 5, &call));
    assert_int_equal(call.state, TERN__RECORD_WAITING);
    assert_int_equal(call.way, TERN__WAY_WINDOW);
    assert_int_equal(call.algorithm, 4);
    assert_int_equal(call.comm_slot, 1);
    assert_int_equal(call.stuck_rank, 63);
    assert_int_equal(call.stuck_lane, 2);
    assert_int_equal(call.stuck_op, 9);
    assert_true(call.begin_ns == 35);
    tern__record_waits(stuck, tern__stuck(-1, 1000, 100000), 0);
    assert_true(tern__record_find(job->ctl, 3, 1, 5, &call));
    assert_int_equal(call.stuck_rank, -1);
    assert_int_equal(call.stuck_lane, 255);
    assert_int_equal(call.stuck_op, 65534);
    tern__record_waits(stuck, 0, 0);
    assert_true(tern__record_find(job->ctl, 3, 1, 5, &call));
    assert_int_equal(call.state, TERN__RECORD_ENTERED);
    assert_int_equal(call.stuck_op, -1);
    free_job(job);
}

// What a call without a clock waits for is dated when it is seen to wait.
static void waiting_dates_a_call(void **state)
{
    struct tern__job *job = make_job();
    struct tern__recorded call;
    struct tern__record *record = tern__record_begin(job, (struct tern__beginning){.sequence = 1});
    tern__record_waits(record, tern__stuck(0, 0, -1), 77);
    tern__record_waits(record, tern__stuck(1, 0, -1), 99);
    assert_true(tern__record_find(job->ctl, 3, 0, 1, &call));
    assert_true(call.begin_ns == 77);
    assert_int_equal(call.stuck_rank, 1);
    assert_int_equal(call.stuck_lane, -1);
    free_job(job);
}

static void when_all_are_open_a_call_goes_unrecorded(void **state)
{
    struct tern__job *job = make_job();
    struct tern__record *records[TERN__RECORDS];
    struct tern__recorded call;
    for (int i = 0; i < TERN__RECORDS; i++) {
        records[i] = begin(job, 0, (uint64_t)i);
        assert_non_null(records[i]);
    }
    assert_null(begin(job, 0, 1000));
    tern__record_waits(NULL, 1, 1);
    tern__record_travels(NULL, TERN__WAY_MAIL, 0);
    tern__record_end(NULL, 0, 1);
    tern__record_end(records[20], 0, 0);
    assert_ptr_equal(begin(job, 0, 1001), records[20]);
    assert_true(tern__record_find(job->ctl, 3, 0, 1001, &call) && call.bytes == 5005);
    assert_false(tern__record_find(job->ctl, 3, 0, 20, &call));
    free_job(job);
}

enum { THREADS = 3, ROUNDS = 5000 };

struct writer {
    const struct tern__job *job;
    int slot;
    _Atomic uint32_t *over;
    uint64_t made;
};

static void *write_calls(void *arg)
{
    struct writer *writer = arg;
    do { // at least once, however late this thread gets a processor
        uint64_t sequence = ++writer->made * 10 + (uint64_t)writer->slot;
        struct tern__record *record = begin(writer->job, writer->slot, sequence);
        tern__record_end(record, 0, 1);
    } while (tern__observe(writer->over) == 0);
    return NULL;
}

// The reader knows each field from the sequence number, and the thread from its last digit.
static void readers_see_whole_records(void **state)
{
    struct tern__job *job = make_job();
    pthread_t threads[THREADS];
    struct writer writers[THREADS];
    struct tern__recorded calls[TERN__RECORDS];
    _Atomic uint32_t over = 0;
    uint64_t read = 0;
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){job, i + 1, &over, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, write_calls, &writers[i]), 0);
    }
    for (int round = 0; round < ROUNDS || read <= ROUNDS; round++) {
        int count = tern__records_read(job->ctl, 3, calls);
        for (int i = 0; i < count; i++) {
            uint64_t sequence = calls[i].sequence;
            uint64_t packed =
                tern__signature_pack(calls[i].signature.kind, calls[i].signature.dtype,
                                     calls[i].signature.op, calls[i].signature.root,
                                     calls[i].signature.order, calls[i].signature.algorithm,
                                     calls[i].signature.bytes);
            assert_true(calls[i].comm_slot == (int)(sequence % 10));
            assert_true(calls[i].bytes == sequence * 5 && packed == sequence * 3);
            assert_true(calls[i].begin_ns == (int64_t)sequence * 7);
            read++;
        }
    }
    tern__publish(&over, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(writers[i].made > 0);
    }
    assert_true(read > ROUNDS);
    assert_int_equal(tern__records_read(job->ctl, 3, calls), TERN__RECORDS);
    free_job(job);
}

static void calls_in_words(void **state)
{
    static const struct {
        struct tern__signature signature;
        const char *text;
    } cases[] = {
        {{.kind = TERN_COLL_ALL_REDUCE, .dtype = TERN_BF16, .op = TERN_MAX},
         "all_reduce 17 of 1024 bytes (bf16 max)"},
        {{.kind = TERN_COLL_BARRIER}, "barrier 17"},
        {{.kind = TERN_COLL_BROADCAST, .dtype = TERN_U8, .op = TERN_MAX, .root = 63},
         "broadcast 17 of 1024 bytes from rank 63 (u8)"},
        {{.kind = TERN_COLL_GATHER_V, .dtype = TERN_I64, .root = 2},
         "gather_v 17 of 1024 bytes to rank 2 (i64)"},
        {{.kind = TERN_COLL_SEND, .root = 4}, "send 17 of 1024 bytes to rank 4 (f32)"},
        {{.kind = TERN_COLL_REDUCE_SCATTER_V, .op = TERN_MINLOC},
         "reduce_scatter_v 17 of 1024 bytes (f32 minloc)"},
        {{.kind = 31}, "unknown kind 17 of 1024 bytes (f32)"}, // of a torn or foreign record
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[160];
        struct tern__recorded call = {.sequence = 17, .bytes = 1024};
        call.signature = cases[i].signature;
        tern__record_text(&call, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_words),
        cmocka_unit_test(a_signature_comes_back),
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(the_last_64_are_kept),
        cmocka_unit_test(open_calls_stay_in_view),
        cmocka_unit_test(waiting_dates_a_call),
        cmocka_unit_test(when_all_are_open_a_call_goes_unrecorded),
        cmocka_unit_test(readers_see_whole_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
