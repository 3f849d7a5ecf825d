// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Calls on ordinary memory are right whatever the ranks think of their distance, and whenever they
// change their minds; all know what one has found; pieces lie where nobody has just read, and the
// first one comes with what says where buffers are.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/call.h"
#include "comm/comm.h"
#include "support/random.h"
#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/memory.h"

enum {
    CALLS = 120,
    MOST = 150000,
    GUARD = 16,
    PIECE = 10000,
    LARGEST = 131072,
    UNTOUCHED = 0x5a5a5a5a
};

static const tern_coll_kind kinds[] = {TERN_COLL_ALL_REDUCE, TERN_COLL_REDUCE,
                                       TERN_COLL_REDUCE_SCATTER};

static int32_t element(int call, int rank, size_t i)
{
    // Every byte differs from that of the call before: one that is not copied is seen.
    return (int32_t)((unsigned)call * 0x9e3779b1U + (unsigned)rank * 0x85ebca6bU +
                     (unsigned)i * 0x01000193U);
}

static int32_t sum_of(int call, int n, size_t i)
{
    int32_t sum = 0;
    for (int rank = 0; rank < n; rank++) {
        sum = (int32_t)((unsigned)sum + (unsigned)element(call, rank, i));
    }
    return sum;
}

struct buffers {
    int32_t *in, *out; // with a guard behind
};

static int sum_once(tern_comm *comm, tern_coll_kind kind, int call, size_t count, bool in_place,
                    const struct buffers *b)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    int root = call % n;
    bool scatters = kind == TERN_COLL_REDUCE_SCATTER;
    size_t in_count = scatters ? count * (size_t)n : count;
    bool takes = kind != TERN_COLL_REDUCE || rank == root;
    size_t first = scatters ? count * (size_t)rank : 0;
    int32_t *out = in_place && takes ? b->in + (scatters ? first : 0) : b->out;
    for (size_t i = 0; i < in_count; i++) {
        b->in[i] = element(call, rank, i);
    }
    for (size_t i = 0; i < count + GUARD; i++) {
        b->out[i] = UNTOUCHED;
    }
    tern_coll made = {.kind = kind,
                      .dtype = TERN_I32,
                      .op = TERN_SUM,
                      .count = count,
                      .root = root,
                      .in = b->in,
                      .out = takes ? out : NULL};
    CHECK(tern_coll_run(comm, &made) == TERN_OK);
    for (size_t i = 0; takes && i < count; i++) {
        CHECK(out[i] == sum_of(call, n, first + i));
    }
    for (size_t i = out == b->out && takes ? count : 0; i < count + GUARD; i++) {
        CHECK(b->out[i] == UNTOUCHED);
    }
    return 0;
}

static int move_once(tern_comm *comm, int call, size_t count, const struct buffers *b)
{
    size_t n = (size_t)tern_comm_size(comm);
    size_t rank = (size_t)tern_comm_rank(comm);
    for (size_t i = 0; i < count * n; i++) {
        b->in[i] = element(call, (int)rank, i);
    }
    for (size_t i = 0; i < count * n + GUARD; i++) {
        b->out[i] = UNTOUCHED;
    }
    CHECK(tern_all_to_all(comm, b->in, b->out, count, TERN_I32) == TERN_OK);
    for (size_t i = 0; i < count * n; i++) {
        CHECK(b->out[i] == element(call, (int)(i / count), rank * count + i % count));
    }
    for (size_t i = count * n; i < count * n + GUARD; i++) {
        CHECK(b->out[i] == UNTOUCHED);
    }
    return 0;
}

// Shares of count, 2 count, ... in turn, which sum to the same on all ranks; of all_gather_v, whose
// counts all ranks have alike, and of all_to_all_v, where each has its own.
static int move_shares(tern_comm *comm, int call, size_t count, bool gathers,
                       const struct buffers *b)
{
    size_t n = (size_t)tern_comm_size(comm);
    size_t rank = (size_t)tern_comm_rank(comm);
    size_t gives[TERN_RANKS_MAX];
    size_t takes[TERN_RANKS_MAX];
    size_t total = 0;
    for (size_t other = 0; other < n; other++) {
        gives[other] = count * (1 + (rank + 2 * other) % n);
        takes[other] = count * (1 + (gathers ? other : other + 2 * rank) % n);
        total += takes[other];
    }
    for (size_t i = 0; i < count * n * n; i++) {
        b->in[i] = element(call, (int)rank, i);
    }
    for (size_t i = 0; i < total + GUARD; i++) {
        b->out[i] = UNTOUCHED;
    }
    CHECK((gathers ? tern_all_gather_v(comm, b->in, b->out, takes, NULL, TERN_I32)
                   : tern_all_to_all_v(comm, b->in, gives, NULL, b->out, takes, NULL, TERN_I32)) ==
          TERN_OK);
    size_t at = 0;
    for (size_t other = 0; other < n; other++) {
        size_t first = 0; // of what `other` gives to this rank, in its input
        for (size_t before = 0; !gathers && before < rank; before++) {
            first += count * (1 + (other + 2 * before) % n);
        }
        for (size_t i = 0; i < takes[other]; i++) {
            CHECK(b->out[at++] == element(call, (int)other, first + i));
        }
    }
    for (; at < total + GUARD; at++) {
        CHECK(b->out[at] == UNTOUCHED);
    }
    return 0;
}

static int send_on(tern_comm *comm, int call, size_t count, const struct buffers *b)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    int from = (rank + n - 1) % n;
    for (size_t i = 0; i < count; i++) {
        b->in[i] = element(call, rank, i);
    }
    for (size_t i = 0; i < count + GUARD; i++) {
        b->out[i] = UNTOUCHED;
    }
    CHECK(tern_send_recv(comm, b->in, count, (rank + 1) % n, b->out, count, from, TERN_I32) ==
          TERN_OK);
    for (size_t i = 0; i < count + GUARD; i++) {
        CHECK(b->out[i] == (i < count ? element(call, from, i) : UNTOUCHED));
    }
    return 0;
}

static int small_once(tern_comm *comm, int which, int call, size_t count, const struct buffers *b)
{
    switch (which) {
    case 3:
        return move_once(comm, call, count, b);
    case 4:
    case 5:
        return move_shares(comm, call, count, which == 5, b);
    case 6:
        return send_on(comm, call, count, b);
    default:
        return sum_once(comm, kinds[which], call, count, call % 2 != 0, b);
    }
}

// Of each kind and size several, so that the later ones take the short path, one of them with a
// rank that comes late; around the sizes from
// which on copies go past the caches and do not go through slots at once.
static int run_small_at_any_distance(tern_comm *comm, void *arg)
{
    static const size_t counts[] = {1, 13, 511, 512, 529, 1024, 2049, 9000, 40000};
    enum { SIZES = sizeof counts / sizeof counts[0], WAYS = 7, TIMES = 6 };
    size_t n = (size_t)tern_comm_size(comm);
    size_t room = counts[SIZES - 1] * n * n + GUARD;
    CHECK(tern_barrier(comm) == TERN_OK); // the first call makes what is looked at
    int32_t *memory = malloc(2 * room * sizeof *memory);
    CHECK(memory != NULL);
    struct buffers b = {memory, memory + room};
    int status = 0;
    struct tern__calls *calls = comm->calls;
    bool past = calls->distance.past;
    for (int call = 0; status == 0 && call < WAYS * SIZES * TIMES; call++) {
        // Far, near, and, in the last two of each, what each rank finds. Far ones go past the
        // caches whoever made the processor.
        bool is_long = call % TIMES < 2;
        if (call % TIMES < 4) {
            tern__poke(calls->distance.votes, is_long ? TERN__DISTANCE_VOTES : 0);
        }
        calls->distance.past = is_long || past;
        if (call % TIMES == 4 && comm->group.rank == call / TIMES % tern_comm_size(comm)) {
            usleep(2000); // the others hand the call over when they have looked for a while
        }
        status = small_once(comm, call / (SIZES * TIMES), call, counts[call / TIMES % SIZES], &b);
    }
    free(memory);
    return status;
}

static void small_calls_are_right_at_any_distance(void **state)
{
    assert_true(ranks_run_counts(1, 5, run_small_at_any_distance, NULL, 60));
}

static int run_at_any_distance(tern_comm *comm, void *arg)
{
    uint64_t state = 23; // alike on all ranks
    uint64_t own = 100 + (uint64_t)tern_comm_rank(comm);
    size_t room = (size_t)MOST * (size_t)tern_comm_size(comm) + GUARD;
    int32_t *memory = malloc(2 * room * sizeof *memory);
    CHECK(memory != NULL);
    struct buffers b = {memory, memory + room};
    for (int call = 0; call < CALLS; call++) {
        tern_coll_kind kind = kinds[random_below(&state, 3)];
        bool moves = random_below(&state, 3) == 0;
        size_t count = 1 + random_below(&state, MOST);
        bool in_place = random_below(&state, 2) != 0;
        // As many pieces as this go one way, if the processors are near.
        struct tern__calls *calls = comm->calls;
        uint32_t votes = (uint32_t)random_below(&own, TERN__DISTANCE_VOTES + 1);
        if (calls != NULL) { // the first call makes it
            tern__poke(calls->distance.votes, votes);
            calls->distance.past = random_below(&own, 2) != 0; // whoever made the processor
        }
        CHECK((moves ? move_once(comm, call, count, &b)
                     : sum_once(comm, kind, call, count, in_place, &b)) == 0);
    }
    free(memory);
    return 0;
}

static void any_distance_is_right(void **state)
{
    assert_true(ranks_run_counts(1, 3, run_at_any_distance, NULL, 100));
}

// Who only gives must learn from who takes.
static int hear_of_it(tern_comm *comm, void *arg)
{
    int32_t value = 1;
    int32_t sum;
    CHECK(tern_all_reduce(comm, &value, &sum, 1, TERN_I32, TERN_SUM) == TERN_OK);
    const struct tern__calls *calls = comm->calls;
    const struct tern__distance *distance = &calls->distance;
    CHECK(!tern__distance_is_long(distance));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 1) {
        tern__poke(distance->votes, TERN__DISTANCE_VOTES);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern__distance_is_long(distance));
    return 0;
}

static void all_hear_what_one_finds(void **state)
{
    assert_true(ranks_run_comm(3, hear_of_it, NULL, 60));
}

// A call of one piece; where in its payload the other rank has put it.
static int sum_a_piece(tern_comm *comm, int call, const struct buffers *b, uint64_t *at)
{
    CHECK(sum_once(comm, TERN_COLL_ALL_REDUCE, call, PIECE, false, b) == 0);
    const struct tern__calls *calls = comm->calls;
    int other = 1 - calls->rank;
    const char *payload = tern__area_payload(calls->area, other, calls->ended);
    *at = (uint64_t)(calls->binding.in[other] - payload);
    return 0;
}

static int move_on(tern_comm *comm, void *arg)
{
    static int32_t in[PIECE];
    static int32_t out[PIECE + GUARD];
    struct buffers b = {in, out};
    bool crowded = arg != NULL;
    uint64_t before = UINT64_MAX;
    if (crowded) {
        tern__job_add_threads(comm->group.job, 1000); // no rank has a processor for itself
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    bool alone = tern__job_ladder(comm->group.job).alone;
    for (int call = 0; call < 5 * TERN__SLOTS; call++) {
        uint64_t at;
        CHECK(sum_a_piece(comm, call, &b, &at) == 0);
        CHECK(at % TERN_CACHE_LINE == 0 && at + sizeof in <= TERN__SLOT_BYTES);
        if (call % TERN__SLOTS == 0) {
            CHECK(alone ? at != before : at == 0);
            before = at;
        }
    }
    return 0;
}

// The same of inputs of a v-collective that are whole in their slots.
static int move_on_with_counts(tern_comm *comm, void *arg)
{
    enum { COUNT = 5000 }; // few enough not to be read where they lie
    static int32_t in[COUNT];
    static int32_t out[2 * COUNT];
    static const size_t counts[] = {COUNT, COUNT / 3};
    int rank = tern_comm_rank(comm);
    bool alone = tern__job_ladder(comm->group.job).alone;
    uint64_t before = UINT64_MAX;
    for (int call = 0; call < 5 * TERN__SLOTS; call++) {
        for (size_t i = 0; i < counts[rank]; i++) {
            in[i] = element(call, rank, i);
        }
        CHECK(tern_all_gather_v(comm, in, out, counts, NULL, TERN_I32) == TERN_OK);
        for (size_t i = 0; i < COUNT + COUNT / 3; i++) {
            CHECK(out[i] == element(call, i >= COUNT, i % COUNT));
        }
        const struct tern__calls *calls = comm->calls;
        const struct tern__share *table =
            (const void *)tern__area_payload(calls->area, 0, calls->ended);
        if (call % TERN__SLOTS == 0) {
            CHECK((table[1].in_offset != before) == (alone || call == 0));
            before = table[1].in_offset;
        }
    }
    return 0;
}

static void pieces_lie_where_nobody_has_just_read(void **state)
{
    static char crowded;
    assert_true(ranks_run_comm(2, move_on, NULL, 60));
    assert_true(ranks_run_comm(2, move_on_with_counts, NULL, 60));
    assert_true(ranks_run_comm(2, move_on, &crowded, 60));
}

// The runs of a sum of two pieces, the buffers of some ranks in memory that counts as a window.
static int count_runs(tern_comm *comm, unsigned in_windows, uint32_t *runs)
{
    static int32_t in[2 * LARGEST / sizeof(int32_t)];
    static int32_t out[2 * LARGEST / sizeof(int32_t) + GUARD];
    struct buffers b = {in, out};
    bool here = (in_windows >> tern_comm_rank(comm) & 1) != 0;
    if (here) {
        CHECK(tern_alloc(comm, sizeof in, (void **)&b.in) == TERN_OK);
        CHECK(tern_alloc(comm, sizeof out, (void **)&b.out) == TERN_OK);
    }
    uint32_t before = ((struct tern__calls *)comm->calls)->published;
    CHECK(sum_once(comm, TERN_COLL_ALL_REDUCE, 3, sizeof in / sizeof in[0], false, &b) == 0);
    *runs = ((struct tern__calls *)comm->calls)->published - before;
    if (here) {
        CHECK(tern_free(b.in) == TERN_OK && tern_free(b.out) == TERN_OK);
    }
    return 0;
}

static int scatter_shares(tern_comm *comm, size_t count, uint32_t *runs)
{
    static char in[2 * LARGEST];
    static char out[LARGEST];
    const size_t counts[] = {count, count, count};
    uint32_t before = ((struct tern__calls *)comm->calls)->published;
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (char)i;
    }
    CHECK(tern_scatter_v(comm, in, counts, NULL, out, count, TERN_U8, 0) == TERN_OK);
    for (size_t i = 0; i < count; i++) {
        CHECK(out[i] == (char)(count * (size_t)tern_comm_rank(comm) + i));
    }
    *runs = ((struct tern__calls *)comm->calls)->published - before;
    return 0;
}

// A root gives little at once, and much in pieces.
static int give(tern_comm *comm, void *arg)
{
    uint32_t runs;
    CHECK(tern_barrier(comm) == TERN_OK);
    CHECK(scatter_shares(comm, 70000 / (size_t)tern_comm_size(comm), &runs) == 0 && runs == 1);
    CHECK(scatter_shares(comm, 90000 / (size_t)tern_comm_size(comm), &runs) == 0 && runs == 2);
    return 0;
}

static void a_root_gives_much_in_pieces(void **state)
{
    assert_true(ranks_run_counts(2, 3, give, NULL, 60));
}

static int come_with_it(tern_comm *comm, void *arg)
{
    uint32_t runs;
    int n = tern_comm_size(comm);
    CHECK(tern_barrier(comm) == TERN_OK); // the first call makes what is looked at
    CHECK(count_runs(comm, 0, &runs) == 0 && runs == 2);
    CHECK(count_runs(comm, 2, &runs) == 0 && runs == 3);
    CHECK(count_runs(comm, (1U << n) - 1, &runs) == 0 && runs == 1);
    return 0;
}

static void the_first_piece_comes_with_where_buffers_are(void **state)
{
    assert_true(ranks_run_counts(2, 3, come_with_it, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_distance_is_right),
        cmocka_unit_test(small_calls_are_right_at_any_distance),
        cmocka_unit_test(all_hear_what_one_finds),
        cmocka_unit_test(pieces_lie_where_nobody_has_just_read),
        cmocka_unit_test(the_first_piece_comes_with_where_buffers_are),
        cmocka_unit_test(a_root_gives_much_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
