// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// gather_v of ranks that give little, much, or nothing: who gives little leaves before the root
// enters, whatever the others give, and who gives much waits until it has been taken; the root
// finds wrong counts before it writes; and shares are right, bit for bit, wherever the buffers are.
#include "coll/call/call.h"
#include "coll/call/test/calls.h"
#include "coll/call/test/ended.h"
#include "comm/comm.h"
#include "sync/record_text.h"

enum { MUCH = 300000, MIDDLE = 20000, MOST = 2 * MUCH };

// Where buffers are: the inputs of those who give much, and the root's output.
static const struct {
    int in, out;
    const char *way; // of the root
} places[] = {
    {KIT_HEAP, KIT_HEAP, "direct"},
    {KIT_WINDOW, KIT_WINDOW, "window"},
    {KIT_WINDOW, KIT_HEAP, "direct"},
    {KIT_ODD, KIT_ALLOC, "window"},
};

// A call in which ranks give these shares by turns.
static const size_t shares[] = {100, MUCH, 0, MIDDLE, 8000};

static size_t share_of(int rank)
{
    return shares[rank % (int)(sizeof shares / sizeof shares[0])];
}

static const char *last_way(const tern_comm *comm)
{
    struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    int count = tern__records_read(group->job->ctl, group->members[group->rank], calls);
    return count > 0 ? tern__way_name(calls[0].way) : "none";
}

// The root's count of `wrong`, a rank, is one byte too much.
static int gather(struct kit_bench *bench, int place, int root, int call, int wrong)
{
    size_t counts[TERN_RANKS_MAX];
    size_t sum = 0;
    char *in = kit_place(bench, KIT_WORLD, places[place].in, 0, false, 1);
    char *out = kit_place(bench, KIT_WORLD, places[place].out, 0, true, 1);
    for (int rank = 0; rank < bench->n; rank++) {
        counts[rank] = share_of(rank) + (rank == wrong);
        sum += counts[rank];
    }
    memset(in, 'a' + call + bench->rank, share_of(bench->rank));
    memset(out, '-', sum + 1);
    int status = tern_gather_v(bench->comms[KIT_WORLD], in, share_of(bench->rank), out, counts,
                               NULL, TERN_U8, root);
    const char *at = out;
    for (int rank = 0; rank < bench->n; rank++) {
        for (size_t i = 0; i < counts[rank]; i++) {
            bool there = bench->rank == root && status == TERN_OK;
            CHECK(*at++ == (there ? 'a' + call + rank : '-'));
        }
    }
    CHECK(*at == '-');
    return status;
}

// What has been posted to this rank is what it has counted.
static int check_signals(const tern_comm *comm)
{
    const struct tern__calls *calls = comm->calls;
    for (uint32_t slot = 0; slot < TERN__SLOTS; slot++) {
        char *word =
            tern__area_signals(calls->area, slot) + (size_t)calls->rank * calls->area->size_bytes;
        CHECK(tern__peek((_Atomic uint32_t *)(void *)word) ==
              calls->bases[slot * TERN__SIGNALS_PACKED]);
    }
    return 0;
}

static int give_and_leave(tern_comm *world, void *arg)
{
    struct kit_bench bench;
    int n = tern_comm_size(world);
    CHECK(kit_open(world, (size_t)MOST + (size_t)n * MIDDLE, 1, &bench) == 0);
    for (int call = 0; call < 2 * (int)(sizeof places / sizeof places[0]); call++) {
        int place = call / 2;
        int root = (call * 2 + 1) % n;
        int early = 0;
        bool much = false;
        for (int rank = 0; rank < n; rank++) {
            early += rank != root && share_of(rank) <= 8000;
            much = much || (rank != root && share_of(rank) == MUCH);
        }
        if (bench.rank == root || share_of(bench.rank) > 8000) {
            await_ended(call * n + early);
        }
        if (bench.rank == root) { // those who give much, and have entered, are waiting
            poll(NULL, 0, 2);
            CHECK(board->ended == call * n + early);
        }
        CHECK(gather(&bench, place, root, call, -1) == TERN_OK);
        const char *way = much ? places[place].way : "slot";
        CHECK(bench.rank != root || strcmp(last_way(world), way) == 0);
        board->ended++;
        await_ended((call + 1) * n);
    }
    CHECK(check_signals(world) == 0);
    return kit_close(&bench);
}

static void who_gives_little_leaves_whatever_the_others_give(void **state)
{
    for (int n = 3; n <= 8; n += n == 3 ? 2 : 3) {
        memset(board, 0, sizeof *board);
        assert_true(ranks_run_comm(n, give_and_leave, NULL, 60));
    }
}

// Nobody's out is written; who left learns of it in the next call that waits for all.
static int count_wrongly(tern_comm *world, void *arg)
{
    int wrong = *(const int *)arg;
    struct kit_bench bench;
    CHECK(kit_open(world, MOST, 1, &bench) == 0);
    int status = gather(&bench, wrong % 2, 4, 0, wrong);
    bool little = bench.rank != 4 && share_of(bench.rank) <= 8000;
    CHECK(status == TERN_ERR_MISMATCH || (little && status == TERN_OK));
    CHECK(tern_barrier(world) == TERN_ERR_MISMATCH);
    char words[64];
    snprintf(words, sizeof words, "%zu", share_of(wrong) + 1);
    CHECK(kit_mentions(words) && kit_mentions("gather_v"));
    return kit_close(&bench);
}

static void wrong_counts_are_found_before_out_is_written(void **state)
{
    for (int wrong = 0; wrong < 4; wrong++) {
        assert_true(ranks_run_comm(5, count_wrongly, &wrong, 60));
    }
}

// Every communicator, root, place and form of a call; between them calls that wait for all.
static int walk(tern_comm *world, void *arg)
{
    static const size_t bytes[] = {8, 600, 7000, 30000, 70000, MUCH};
    const int walked[] = {KIT_HEAP, KIT_WINDOW, KIT_ODD, KIT_ALLOC, KIT_TWO, KIT_BYTE, KIT_PART};
    uint64_t state = *(const uint64_t *)arg;
    struct kit_bench bench;
    int n = tern_comm_size(world);
    CHECK(kit_open(world, (size_t)(MUCH + 64) * (size_t)n, 1, &bench) == 0);
    for (int call = 0; call < 240 / n; call++) {
        struct kit_work work;
        struct ref_case c = {.kind = TERN_COLL_GATHER_V,
                             .dtype = random_below(&state, 2) == 0 ? TERN_U8 : TERN_I64,
                             .root = (int)random_below(&state, (uint64_t)n),
                             .spread = random_below(&state, 2) == 0};
        if (call % 16 == 15) {
            c.kind = TERN_COLL_ALL_GATHER_V;
        }
        c.count = bytes[random_below(&state, n > 8 ? 5 : 6)] / tern_dtype_size(c.dtype);
        c.seed = random_below(&state, UINT64_C(1) << 32);
        enum kit_comm comm = (enum kit_comm)random_below(&state, KIT_COMMS);
        int in = walked[random_below(&state, 7)];
        int out = random_below(&state, 2) == 0 ? in : walked[random_below(&state, 7)];
        kit_make(&bench, comm, &c, false, in, out, 0, &work);
        kit_dawdle(&bench, c.seed);
        CHECK(kit_run(&work, (enum kit_mode)random_below(&state, KIT_MODES)) == 0);
    }
    return kit_close(&bench);
}

static void shares_are_right_wherever_the_buffers_are(void **state)
{
    static const int counts[] = {2, 3, 5, 8, 16};
    uint64_t seed = random_seed();
    for (int i = 0; i < 5; i++) {
        assert_true(ranks_run_comm(counts[i], walk, &seed, 60));
    }
    setenv("TERN_DIRECT", "off", 1);
    bool right = ranks_run_comm(4, walk, &seed, 60);
    unsetenv("TERN_DIRECT");
    setenv("TERN_ALGO", "gather:pull", 1);
    right = ranks_run_comm(4, walk, &seed, 60) && right;
    unsetenv("TERN_ALGO");
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gives_little_leaves_whatever_the_others_give),
        cmocka_unit_test(wrong_counts_are_found_before_out_is_written),
        cmocka_unit_test(shares_are_right_wherever_the_buffers_are),
    };
    unsetenv("TERN_AGREE");
    unsetenv("TERN_DIRECT");
    board = ranks_shared(sizeof *board);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
