// SPDX-License-Identifier: Apache-2.0
// Every argument that a rank can see to be wrong by itself: TERN_ERR_ARG, with a sentence that
// names the call, no byte written, and the communicator works afterwards, on all ranks, as if
// nothing had been called.
#include "coll/call/test/calls.h"

enum { COUNT = 10 };

struct bench {
    tern_comm *comm;
    int n, rank;
    float in[COUNT * 8], out[COUNT * 8];
    size_t counts[8];
};

static int begin(tern_comm *comm, struct bench *b)
{
    *b = (struct bench){.comm = comm, .n = tern_comm_size(comm), .rank = tern_comm_rank(comm)};
    for (int i = 0; i < 8; i++) {
        b->counts[i] = COUNT;
    }
    for (int i = 0; i < COUNT * 8; i++) {
        b->in[i] = (float)i;
        b->out[i] = -1;
    }
    return 0;
}

// A right call of the kind.
static tern_coll right(struct bench *b, tern_coll_kind kind)
{
    tern_coll call = {.kind = kind, .in = b->in, .out = b->out, .count = COUNT};
    call.in_counts = call.out_counts = b->counts;
    if (kind == TERN_COLL_SEND || kind == TERN_COLL_RECV) {
        call.root = (b->rank + 1) % b->n;
    }
    return call;
}

// Messages to oneself of one size, in one place: the first of the two cannot be blocking.
static int meet_oneself(tern_comm *comm, float *in, float *out, size_t count)
{
    int rank = tern_comm_rank(comm);
    tern_coll calls[2] = {{.kind = TERN_COLL_SEND, .in = in, .count = count, .root = rank},
                          {.kind = TERN_COLL_RECV, .out = out, .count = count, .root = rank}};
    for (int first = 0; first < 2; first++) {
        const tern_coll *one = &calls[first];
        const tern_coll *other = &calls[1 - first];
        for (int way = 0; way < 3; way++) { // started, prepared; both started
            tern_request requests[2] = {0};
            memset(out, 0, (count + 1) * sizeof *out);
            CHECK(tern_coll_run(comm, one) == TERN_ERR_ARG);
            CHECK(look_says("itself") && look_says("tern_coll_start"));
            if (way == 1) {
                CHECK(tern_coll_prepare(comm, one, &requests[0]) == TERN_OK);
                CHECK(tern_coll_run(comm, other) == TERN_ERR_ARG); // it has not been started
                CHECK(tern_request_start(requests[0]) == TERN_OK);
            } else {
                CHECK(tern_coll_start(comm, one, &requests[0]) == TERN_OK);
            }
            if (way == 2) {
                CHECK(tern_coll_start(comm, other, &requests[1]) == TERN_OK);
            } else {
                CHECK(tern_coll_run(comm, other) == TERN_OK);
            }
            CHECK(tern_coll_run(comm, other) == TERN_ERR_ARG); // that one has met the first
            CHECK(tern_request_wait_all(requests, 2) == TERN_OK);
            CHECK(memcmp(in, out, count * sizeof *in) == 0 && out[count] == 0);
            CHECK(way != 1 || tern_request_free(&requests[0]) == TERN_OK);
        }
    }
    return 0;
}

// On both sides of each size at which messages begin to travel in another way.
static int alone(tern_comm *comm, void *arg)
{
    static const size_t counts[] = {0,     1,     2047,   2048, 2049,  4095,  4096,
                                    4097,  8191,  8192,   8193, 16384, 16385, 32767,
                                    32768, 32769, 100000, 12,   13};
    enum { LARGE = 100001 };
    static float heap[2][LARGE];
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, sizeof heap, NULL, &window) == TERN_OK);
    float *part = tern_window_address(window, rank);
    for (size_t i = 0; i < LARGE; i++) {
        heap[0][i] = part[i] = (float)(i + 1);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        CHECK(meet_oneself(comm, heap[0], heap[1], counts[i]) == 0);
        CHECK(meet_oneself(comm, part, part + LARGE, counts[i]) == 0);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return tern_barrier(comm);
}

static void a_message_that_would_wait_for_itself_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, alone, NULL, 20));
    assert_true(ranks_run_comm(2, alone, NULL, 20));
}

// The call is refused in all three ways to make it, and the sentence has the word.
static int refused(struct bench *b, const tern_coll *call, const char *word)
{
    tern_request request = 0;
    for (int way = 0; way < 3; way++) {
        int status = way == 0   ? tern_coll_run(b->comm, call)
                     : way == 1 ? tern_coll_start(b->comm, call, &request)
                                : tern_coll_prepare(b->comm, call, &request);
        if (status != TERN_ERR_ARG) {
            fprintf(stderr, "%s, way %d, %s: ", tern_coll_kind_name(call->kind), way, word);
        }
        CHECK(status == TERN_ERR_ARG);
        CHECK(look_says(word));
        CHECK(strlen(tern_last_error()) > 20);
        CHECK(look_says("tern_") || look_says(tern_coll_kind_name(call->kind)));
        CHECK(request == 0);
    }
    for (int i = 0; i < COUNT * 8; i++) {
        CHECK(b->out[i] == -1 && b->in[i] == (float)i);
    }
    return 0;
}

// And all ranks go on.
static int end(struct bench *b)
{
    float one = 1;
    float sum = 0;
    CHECK(tern_all_reduce(b->comm, &one, &sum, 1, TERN_F32, TERN_SUM) == TERN_OK);
    CHECK(sum == (float)b->n);
    CHECK(tern_comm_health(b->comm) == TERN_OK);
    return 0;
}

static bool has_in(const struct bench *b, tern_coll_kind kind)
{
    bool from_root =
        kind == TERN_COLL_BROADCAST || kind == TERN_COLL_SCATTER || kind == TERN_COLL_SCATTER_V;
    return kind != TERN_COLL_RECV && kind != TERN_COLL_BARRIER && (!from_root || b->rank == 0);
}

static bool has_out(const struct bench *b, tern_coll_kind kind)
{
    bool to_root =
        kind == TERN_COLL_REDUCE || kind == TERN_COLL_GATHER || kind == TERN_COLL_GATHER_V;
    return kind != TERN_COLL_SEND && kind != TERN_COLL_BARRIER && (!to_root || b->rank == 0);
}

static int null_pointers(tern_comm *comm, void *arg)
{
    struct bench b;
    tern_request request = 0;
    CHECK(begin(comm, &b) == 0);
    tern_coll call = right(&b, TERN_COLL_ALL_REDUCE);
    CHECK(tern_coll_run(NULL, &call) == TERN_ERR_ARG && look_says("comm"));
    CHECK(tern_coll_run(comm, NULL) == TERN_ERR_ARG && look_says("call"));
    CHECK(tern_coll_start(NULL, &call, &request) == TERN_ERR_ARG && look_says("comm"));
    CHECK(tern_coll_start(comm, NULL, &request) == TERN_ERR_ARG && look_says("call"));
    CHECK(tern_coll_start(comm, &call, NULL) == TERN_ERR_ARG && look_says("request"));
    CHECK(tern_coll_prepare(NULL, &call, &request) == TERN_ERR_ARG && look_says("comm"));
    CHECK(tern_coll_prepare(comm, NULL, &request) == TERN_ERR_ARG && look_says("call"));
    CHECK(tern_coll_prepare(comm, &call, NULL) == TERN_ERR_ARG && look_says("request"));
    for (int kind = 0; kind <= TERN_COLL_RECV; kind++) {
        call = right(&b, (tern_coll_kind)kind);
        CHECK(kit_named(NULL, &call) == TERN_ERR_ARG);
        CHECK(look_says("tern_") && look_says("comm must not be NULL"));
        // The sentence names the function that was called.
        CHECK(look_says(tern_coll_kind_name((tern_coll_kind)kind)));
        call.in = NULL;
        CHECK(!has_in(&b, (tern_coll_kind)kind) || refused(&b, &call, "in must not be NULL") == 0);
        call = right(&b, (tern_coll_kind)kind);
        call.out = NULL;
        CHECK(!has_out(&b, (tern_coll_kind)kind) ||
              refused(&b, &call, "out must not be NULL") == 0);
    }
    return end(&b);
}

static void null_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, null_pointers, NULL, 20));
    assert_true(ranks_run_comm(3, null_pointers, NULL, 20));
}

static int unknown_words(tern_comm *comm, void *arg)
{
    struct bench b;
    tern_coll_kind kind;
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k <= TERN_COLL_RECV; k++) {
        tern_coll call = right(&b, (tern_coll_kind)k);
        if (k == TERN_COLL_BARRIER) {
            continue;
        }
        call.dtype = (tern_dtype)17;
        CHECK(refused(&b, &call, "17") == 0);
        call.dtype = (tern_dtype)-1;
        CHECK(refused(&b, &call, "-1") == 0);
        call.dtype = TERN_F32;
        if (!ref_reduces((tern_coll_kind)k)) {
            continue;
        }
        call.op = (tern_reduce_op)11;
        CHECK(refused(&b, &call, "11") == 0);
        call.op = (tern_reduce_op)-1;
        CHECK(refused(&b, &call, "-1") == 0);
        call.op = TERN_FUNCTION; // without a function
        CHECK(refused(&b, &call, "function") == 0);
        static const tern_dtype floats[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_F64};
        for (int i = 0; i < 4; i++) {
            for (int op = TERN_AND; op <= TERN_XOR; op++) {
                call.op = (tern_reduce_op)op;
                call.dtype = floats[i];
                CHECK(refused(&b, &call, tern_reduce_op_name(call.op)) == 0);
                CHECK(look_says(tern_dtype_name(call.dtype)));
            }
        }
        call = right(&b, (tern_coll_kind)k);
        call.order = (tern_order)2;
        CHECK(refused(&b, &call, "order") == 0);
    }
    tern_coll call = right(&b, (tern_coll_kind)16);
    CHECK(refused(&b, &call, "16") == 0);
    call.kind = (tern_coll_kind)-1;
    CHECK(refused(&b, &call, "-1") == 0);
    CHECK(tern_coll_kind_parse("all_redcue", &kind) == TERN_ERR_ARG);
    CHECK(look_says("all_redcue") && look_says("scatter_v") && look_says("recv"));
    CHECK(tern_coll_kind_parse(NULL, &kind) == TERN_ERR_ARG);
    CHECK(tern_coll_kind_parse("recv", NULL) == TERN_ERR_ARG);
    CHECK(tern_coll_kind_parse("gather_v", &kind) == TERN_OK && kind == TERN_COLL_GATHER_V);
    CHECK(strcmp(tern_coll_kind_name((tern_coll_kind)16), "unknown kind") == 0);
    return end(&b);
}

static void what_does_not_exist_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, unknown_words, NULL, 20));
    assert_true(ranks_run_comm(3, unknown_words, NULL, 20));
}

static int wrong_ranks(tern_comm *comm, void *arg)
{
    struct bench b;
    char word[16];
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k <= TERN_COLL_RECV; k++) {
        bool message = k == TERN_COLL_SEND || k == TERN_COLL_RECV;
        const int roots[] = {b.n, k == TERN_COLL_RECV ? -2 : TERN_RANK_ANY, 64, INT32_MAX,
                             INT32_MIN};
        for (int i = 0; i < 5 && (message || ref_has_root((tern_coll_kind)k)); i++) {
            tern_coll call = right(&b, (tern_coll_kind)k);
            call.root = roots[i];
            snprintf(word, sizeof word, "%d", roots[i]);
            CHECK(refused(&b, &call, word) == 0);
        }
    }
    return end(&b);
}

static void a_rank_that_does_not_exist_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, wrong_ranks, NULL, 20));
    assert_true(ranks_run_comm(3, wrong_ranks, NULL, 20));
}

static int overflows(tern_comm *comm, void *arg)
{
    struct bench b;
    static const size_t sizes[] = {SIZE_MAX / 2, SIZE_MAX, SIZE_MAX / 4 + 1, SIZE_MAX / 4 + 2};
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k <= TERN_COLL_RECV; k++) {
        bool v = ref_is_v((tern_coll_kind)k);
        bool own = k == TERN_COLL_GATHER_V || k == TERN_COLL_SCATTER_V;
        for (int i = 0; i < 4 && k != TERN_COLL_BARRIER; i++) {
            tern_coll call = right(&b, (tern_coll_kind)k);
            call.count = sizes[i];
            CHECK((v && !own) || refused(&b, &call, "bytes") == 0);
            call.dtype = TERN_F64;
            CHECK((v && !own) || refused(&b, &call, "bytes") == 0);
            call = right(&b, (tern_coll_kind)k);
            b.counts[b.n - 1] = sizes[i];
            CHECK(!v || (own && b.rank != 0) || refused(&b, &call, "bytes") == 0);
            b.counts[b.n - 1] = COUNT;
        }
        // Each share can be counted, all together cannot.
        if (ref_has_shares((tern_coll_kind)k) && b.n > 1) {
            tern_coll call = right(&b, (tern_coll_kind)k);
            call.count = SIZE_MAX / 4 / (size_t)b.n + 1;
            CHECK(v || refused(&b, &call, "bytes") == 0);
            for (int q = 0; q < b.n; q++) {
                b.counts[q] = call.count;
            }
            call.count = COUNT;
            CHECK(!v || (own && b.rank != 0) || refused(&b, &call, "bytes") == 0);
            for (int q = 0; q < b.n; q++) {
                b.counts[q] = COUNT;
            }
        }
    }
    // A pair is larger than its dtype.
    tern_coll call = right(&b, TERN_COLL_ALL_REDUCE);
    call.op = TERN_MINLOC;
    call.dtype = TERN_I8;
    call.count = SIZE_MAX / 8 + 1;
    CHECK(refused(&b, &call, "bytes") == 0);
    return end(&b);
}

static void sizes_that_cannot_be_counted_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, overflows, NULL, 20));
    assert_true(ranks_run_comm(3, overflows, NULL, 20));
}

// Overlaps are pointed to, never written: buffers of one array, in elements.
static int overlap(struct bench *b, tern_coll_kind kind, int in, int out)
{
    static float both[COUNT * 40];
    tern_coll call = right(b, kind);
    call.in = both + COUNT * 8 + in;
    call.out = both + COUNT * 8 + out;
    return refused(b, &call, "overlap") || refused(b, &call, " bytes at 0x");
}

static int overlaps(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k <= TERN_COLL_SCATTER_V; k++) {
        tern_coll_kind kind = (tern_coll_kind)k;
        int own = b.rank * COUNT;
        if (kind == TERN_COLL_BARRIER || !has_in(&b, kind) || !has_out(&b, kind)) {
            continue;
        }
        // One element off what is in place.
        int at = kind == TERN_COLL_REDUCE_SCATTER || kind == TERN_COLL_SCATTER ? own
                 : kind == TERN_COLL_ALL_GATHER || kind == TERN_COLL_GATHER    ? -own
                                                                               : 0;
        CHECK(overlap(&b, kind, 0, at + 1) == 0);
        CHECK(overlap(&b, kind, 0, at - 1) == 0);
        if (ref_is_v(kind)) {
            CHECK(overlap(&b, kind, 0, 0) == 0); // not in place
            CHECK(overlap(&b, kind, 0, at) == 0);
        }
        // Only the last element of one is the first of the other.
        bool in_wide = kind == TERN_COLL_REDUCE_SCATTER || kind == TERN_COLL_SCATTER ||
                       kind == TERN_COLL_ALL_TO_ALL || kind == TERN_COLL_REDUCE_SCATTER_V ||
                       kind == TERN_COLL_SCATTER_V || kind == TERN_COLL_ALL_TO_ALL_V;
        bool out_wide = kind == TERN_COLL_ALL_GATHER || kind == TERN_COLL_GATHER ||
                        kind == TERN_COLL_ALL_TO_ALL || kind == TERN_COLL_ALL_GATHER_V ||
                        kind == TERN_COLL_GATHER_V || kind == TERN_COLL_ALL_TO_ALL_V;
        CHECK(overlap(&b, kind, 0, (in_wide ? b.n : 1) * COUNT - 1) == 0);
        CHECK(overlap(&b, kind, (out_wide ? b.n : 1) * COUNT - 1, 0) == 0);
        // Somebody else's share.
        if (b.n > 1 && kind != TERN_COLL_ALL_TO_ALL && (in_wide || out_wide)) {
            int other = (b.rank + 1) % b.n * COUNT;
            CHECK(overlap(&b, kind, 0, in_wide ? other : -other) == 0);
        }
    }
    return end(&b);
}

static void overlaps_other_than_in_place_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, overlaps, NULL, 20));
    assert_true(ranks_run_comm(3, overlaps, NULL, 20));
}

static int wrong_shares(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(begin(comm, &b) == 0);
    for (int k = TERN_COLL_REDUCE_SCATTER_V; k <= TERN_COLL_SCATTER_V; k++) {
        tern_coll_kind kind = (tern_coll_kind)k;
        bool reads = kind != TERN_COLL_ALL_GATHER_V && kind != TERN_COLL_GATHER_V;
        bool writes = kind != TERN_COLL_REDUCE_SCATTER_V && kind != TERN_COLL_SCATTER_V;
        bool root_only = kind == TERN_COLL_GATHER_V || kind == TERN_COLL_SCATTER_V;
        if (root_only && b.rank != 0) {
            continue;
        }
        tern_coll call = right(&b, kind);
        call.in_counts = NULL;
        CHECK(!reads || refused(&b, &call, "counts") == 0);
        call = right(&b, kind);
        call.out_counts = NULL;
        CHECK(!writes || refused(&b, &call, "counts") == 0);
        // Shares that would be written twice.
        size_t offsets[8] = {0, COUNT, 2 * COUNT, 3 * COUNT};
        call = right(&b, kind);
        call.out_offsets = offsets;
        for (int off = -1; off <= 1 && writes && b.n > 1; off++) {
            offsets[1] = (size_t)(b.n > 2 ? 2 : 0) * COUNT + (size_t)off;
            offsets[1] = offsets[1] > SIZE_MAX / 2 ? 0 : offsets[1];
            CHECK(refused(&b, &call, "overlap") == 0);
        }
        // An offset that no buffer can have.
        offsets[b.n - 1] = SIZE_MAX / 4;
        CHECK(!writes || refused(&b, &call, "bytes") == 0);
        offsets[b.n - 1] = SIZE_MAX - 2;
        CHECK(!writes || refused(&b, &call, "bytes") == 0);
        call.out_offsets = NULL;
        call.in_offsets = offsets;
        CHECK(!reads || refused(&b, &call, "bytes") == 0);
    }
    return end(&b);
}

static void shares_that_cannot_be_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, wrong_shares, NULL, 20));
    assert_true(ranks_run_comm(3, wrong_shares, NULL, 20));
}

// Names of algorithms.
static int wrong_algorithms(tern_comm *comm, void *arg)
{
    struct bench b;
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        tern_coll call = right(&b, (tern_coll_kind)k);
        call.algorithm = "quickest";
        CHECK(refused(&b, &call, "quickest") == 0);
        const char *name;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)k, i)) != NULL; i++) {
            CHECK(look_says(name)); // the sentence lists what there is
        }
        call.algorithm = "";
        CHECK(refused(&b, &call, "") == 0);
    }
    // Sums in another order than that of the ranks.
    static const struct {
        tern_coll_kind kind;
        const char *name;
    } rows[] = {{TERN_COLL_ALL_REDUCE, "ring"},
                {TERN_COLL_ALL_REDUCE, "tree"},
                {TERN_COLL_REDUCE_SCATTER, "ring"}};
    for (int i = 0; i < 3; i++) {
        tern_coll call = right(&b, rows[i].kind);
        call.algorithm = rows[i].name;
        CHECK(refused(&b, &call, rows[i].name) == 0);
        CHECK(look_says("order"));
    }
    // One of another kind.
    tern_coll call = right(&b, TERN_COLL_ALL_GATHER);
    call.algorithm = "two_shot";
    CHECK(refused(&b, &call, "two_shot") == 0);
    return end(&b);
}

static void an_algorithm_that_does_not_fit_is_refused(void **state)
{
    assert_true(ranks_run_comm(2, wrong_algorithms, NULL, 20));
    assert_true(ranks_run_comm(3, wrong_algorithms, NULL, 20));
}

// A call that was refused on one rank has not been made there: it makes the right one, late.
static int refused_on_one(tern_comm *comm, void *arg)
{
    struct bench b;
    float sum[COUNT];
    CHECK(begin(comm, &b) == 0);
    for (int k = 0; k < 50; k++) {
        if (b.rank == k % b.n) {
            CHECK(tern_all_reduce(comm, b.in, sum, COUNT, (tern_dtype)99, TERN_SUM) ==
                  TERN_ERR_ARG);
            CHECK(tern_broadcast(comm, b.in, sum, COUNT, TERN_F32, b.n) == TERN_ERR_ARG);
        }
        CHECK(tern_all_reduce(comm, b.in, sum, COUNT, TERN_F32, TERN_SUM) == TERN_OK);
        for (int i = 0; i < COUNT; i++) {
            CHECK(sum[i] == (float)(b.n * i));
        }
    }
    return end(&b);
}

static void a_refused_call_has_not_been_made(void **state)
{
    assert_true(ranks_run_comm(3, refused_on_one, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(what_does_not_exist_is_refused),
        cmocka_unit_test(a_rank_that_does_not_exist_is_refused),
        cmocka_unit_test(a_message_that_would_wait_for_itself_is_refused),
        cmocka_unit_test(sizes_that_cannot_be_counted_are_refused),
        cmocka_unit_test(overlaps_other_than_in_place_are_refused),
        cmocka_unit_test(shares_that_cannot_be_are_refused),
        cmocka_unit_test(an_algorithm_that_does_not_fit_is_refused),
        cmocka_unit_test(a_refused_call_has_not_been_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
