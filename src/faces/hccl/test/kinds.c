// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2
// Every collective of HCCL against the naive reference, bit for bit: kinds x types x operations x
// sizes x in place x where buffers lie, several under way on one stream and on two, on the first
// communicator and on parts of it, for 1, 2, 3, 5 and 8 ranks.
#include "faces/hccl/test/kit.h"

enum { SLOTS = 6, COUNT_MOST = 3001 };

static const tern_coll_kind kinds[] = {
    TERN_COLL_ALL_REDUCE,
    TERN_COLL_REDUCE_SCATTER,
    TERN_COLL_ALL_GATHER,
    TERN_COLL_BROADCAST,
    TERN_COLL_REDUCE,
    TERN_COLL_SCATTER,
    TERN_COLL_ALL_TO_ALL,
    TERN_COLL_BARRIER,
    TERN_COLL_SEND,
    TERN_COLL_RECV,
    TERN_COLL_ALL_GATHER_V,
    TERN_COLL_ALL_TO_ALL_V,
    TERN_COLL_REDUCE_SCATTER_V,
};

struct bench {
    HcclComm comm;
    aclrtStream streams[2];
    struct kit_bench kit;
    struct kit_work works[SLOTS];
    int pending;
    uint64_t state; // of random numbers, the same on all ranks
    int made;
};

static int settle(struct bench *b)
{
    for (int i = 0; i < 2; i++) {
        CHECK(aclrtSynchronizeStream(b->streams[i]) == ACL_SUCCESS);
    }
    for (int i = 0; i < b->pending; i++) {
        CHECK(kit_compare(&b->works[i], true) == 0);
    }
    b->pending = 0;
    return 0;
}

static int try_case(struct bench *b, struct ref_case c)
{
    static const size_t counts[] = {0, 1, 2, 63, 1000, COUNT_MOST};
    static const int places[] = {KIT_HEAP, KIT_WINDOW, KIT_BYTE, KIT_ALLOC};
    c.count = c.kind == TERN_COLL_BARRIER ? 0 : counts[random_below(&b->state, 6)];
    c.seed = random_below(&b->state, 1 << 20);
    c.root = (int)random_below(&b->state, 8);
    c.spread = random_below(&b->state, 2) != 0;
    // A broadcast of HCCL is in place.
    bool in_place = c.kind == TERN_COLL_BROADCAST || random_below(&b->state, 2) != 0;
    int place = places[random_below(&b->state, 4)];
    int other = places[random_below(&b->state, 4)];
    struct kit_work *w = &b->works[b->pending];
    kit_make(&b->kit, KIT_WORLD, &c, in_place, place, other, b->pending, w);
    kit_fill(w);
    aclrtStream stream = b->streams[random_below(&b->state, 2)];
    stream = random_below(&b->state, 16) == 0 ? NULL : stream;
    CHECK(hccl_make(w, b->comm, stream) == HCCL_SUCCESS);
    b->made++;
    return ++b->pending == SLOTS ? settle(b) : 0;
}

static int run_cases(HcclComm comm, uint64_t seed)
{
    static struct bench b;
    b = (struct bench){.comm = comm, .state = seed};
    int n = hccl_size_of(comm);
    CHECK(kit_open(((struct hccl *)comm)->comm, (size_t)COUNT_MOST * 8 * 4 * (size_t)n, SLOTS,
                   &b.kit) == 0);
    CHECK(aclrtCreateStream(&b.streams[0]) == 0 && aclrtCreateStream(&b.streams[1]) == 0);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        for (int dtype = 0; dtype < 12; dtype++) {
            struct ref_case c = {.kind = kinds[kind], .dtype = (tern_dtype)dtype};
            int ops = ref_reduces(c.kind) ? 4 : 1;
            for (int op = 0; op < ops; op++) {
                c.op = (tern_reduce_op)op;
                CHECK(try_case(&b, c) == 0);
            }
        }
    }
    CHECK(settle(&b) == 0);
    CHECK(b.made == 9 * 12 + 4 * 12 * 4);
    CHECK(aclrtDestroyStream(b.streams[0]) == 0 && aclrtDestroyStream(b.streams[1]) == 0);
    return kit_close(&b.kit);
}

static uint64_t base_seed;

static int run_world(HcclComm comm, void *arg)
{
    return run_cases(comm, base_seed);
}

// Types of a byte that nobody adds: their bytes arrive as they are.
static int move_bytes(HcclComm comm, void *arg)
{
    enum { COUNT = 100 };
    const HcclDataType types[] = {HCCL_DATA_TYPE_HIF8, HCCL_DATA_TYPE_FP8E4M3,
                                  HCCL_DATA_TYPE_FP8E5M2, HCCL_DATA_TYPE_FP8E8M0};
    int n = hccl_size_of(comm), rank = hccl_rank_of(comm);
    uint8_t in[COUNT], out[COUNT * TERN_RANKS_MAX];
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        memset(in, (int)i * 64 + rank, sizeof in);
        memset(out, 255, sizeof out);
        CHECK(HcclAllGather(in, out, COUNT, types[i], comm, NULL) == HCCL_SUCCESS);
        for (int at = 0; at < n * COUNT; at++) {
            CHECK(out[at] == (int)i * 64 + at / COUNT);
        }
        CHECK(out[n * COUNT] == 255);
    }
    return 0;
}

static void types_of_a_byte_are_moved(void **state)
{
    assert_true(hccl_run(3, move_bytes, NULL, 60));
}

static void every_call_gives_the_bits_of_the_reference(void **state)
{
    for (int i = 0; i < 5; i++) {
        assert_true(hccl_run(ranks_counts[i], run_world, NULL, 200));
    }
}

// All of them backwards, and of those the lower half.
static int run_parts(HcclComm comm, void *arg)
{
    int n = hccl_size_of(comm), rank = hccl_rank_of(comm);
    uint32_t list[TERN_RANKS_MAX];
    HcclComm backwards = NULL, half = NULL;
    for (int i = 0; i < n; i++) {
        list[i] = (uint32_t)(n - 1 - i);
    }
    CHECK(HcclCreateSubCommConfig(&comm, (uint32_t)n, list, 7, (uint32_t)(n - 1 - rank), NULL,
                                  &backwards) == HCCL_SUCCESS);
    CHECK(hccl_rank_of(backwards) == n - 1 - rank && hccl_size_of(backwards) == n);
    int own = n - 1 - rank, members = (n + 1) / 2;
    for (int i = 0; i < members; i++) {
        list[i] = (uint32_t)i;
    }
    if (own < members) { // the others do not call at all
        CHECK(HcclCreateSubCommConfig(&backwards, (uint32_t)members, list, 7, (uint32_t)own, NULL,
                                      &half) == HCCL_SUCCESS);
        CHECK(run_cases(half, base_seed + 1) == 0);
        CHECK(HcclCommDestroy(half) == HCCL_SUCCESS);
    }
    CHECK(run_cases(backwards, base_seed + 2) == 0);
    CHECK(HcclCommDestroy(backwards) == HCCL_SUCCESS);
    return 0;
}

static void so_it_is_on_parts_of_a_communicator(void **state)
{
    assert_true(hccl_run(3, run_parts, NULL, 200));
    assert_true(hccl_run(5, run_parts, NULL, 200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_a_byte_are_moved),
        cmocka_unit_test(every_call_gives_the_bits_of_the_reference),
        cmocka_unit_test(so_it_is_on_parts_of_a_communicator),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
