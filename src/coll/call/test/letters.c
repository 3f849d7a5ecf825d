// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Small v-collectives in which each rank has counts of its own, blocking, many in a row: right at
// any counts, and nothing is written where the ranks disagree in anything.
#include "support/cmocka.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/call.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/window.h"

enum {
    CALLS = ROUNDS_OF(3000),
    MOST = 20,
    GAP = 3,
    RANKS = 8,
    ROOM = RANKS * (MOST + GAP) + 8,
    UNTOUCHED = 0x5a5a5a5a
};

static const tern_coll_kind kinds[] = {TERN_COLL_GATHER_V, TERN_COLL_SCATTER_V,
                                       TERN_COLL_ALL_TO_ALL_V};

// What one rank of up to eight gives to each, and where it has it and wants it.
struct shares {
    size_t counts[RANKS][RANKS]; // from, to
    size_t in_offsets[RANKS], out_offsets[RANKS];
    bool drawn;
};

static int32_t element(int call, int from, int to, size_t i)
{
    return call * 10000 + from * 1000 + to * 100 + (int32_t)i;
}

static void draw(uint64_t *state, tern_coll_kind kind, int n, int root, struct shares *s)
{
    memset(s, 0, sizeof *s);
    size_t in_at = 0;
    size_t out_at = 0;
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            bool moves = kind == TERN_COLL_GATHER_V    ? to == root
                         : kind == TERN_COLL_SCATTER_V ? from == root
                                                       : true;
            s->counts[from][to] = moves ? random_below(state, MOST + 1) : 0;
        }
    }
    for (int rank = 0; rank < n; rank++) { // any order, with gaps; alike on all ranks
        s->in_offsets[rank] = in_at += random_below(state, GAP);
        s->out_offsets[rank] = out_at += random_below(state, GAP);
        in_at += MOST;
        out_at += MOST;
    }
}

// The call of a rank. Its share of a rooted kind is one, at the beginning of the buffer.
static tern_coll describe(const struct shares *s, tern_coll_kind kind, int rank, int root,
                          size_t *mine, size_t *theirs)
{
    tern_coll call = {.kind = kind, .dtype = TERN_I32, .root = root};
    for (int r = 0; r < RANKS; r++) {
        mine[r] = s->counts[rank][r];
        theirs[r] = s->counts[r][rank];
    }
    if (kind != TERN_COLL_GATHER_V) {
        call.in_counts = mine;
        call.in_offsets = s->in_offsets;
    }
    if (kind != TERN_COLL_SCATTER_V) {
        call.out_counts = theirs;
        call.out_offsets = s->out_offsets;
    }
    call.count = kind == TERN_COLL_GATHER_V    ? mine[root]
                 : kind == TERN_COLL_SCATTER_V ? theirs[root]
                                               : 0;
    return call;
}

// Mostly as the call before of this kind and root, or but for where one share is.
static void draw_again(uint64_t *state, tern_coll_kind kind, int n, int root, struct shares *last)
{
    uint64_t what = random_below(state, 8);
    if (what < 2 || !last->drawn) {
        draw(state, kind, n, root, last);
        last->drawn = true;
    } else if (what == 2) {
        size_t *offsets = random_below(state, 2) == 0 ? last->in_offsets : last->out_offsets;
        offsets[n - 1] += offsets[n - 1] < ROOM - MOST ? 1 : 0;
    }
}

static int move_any_counts(tern_comm *comm, void *arg)
{
    static struct shares last[3][RANKS];
    uint64_t state = 11; // alike on all ranks
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    for (int number = 0; number < CALLS; number++) {
        size_t mine[RANKS];
        size_t theirs[RANKS];
        int32_t in[ROOM] = {0};
        int32_t out[ROOM];
        int32_t wanted[ROOM];
        uint64_t k = random_below(&state, 3);
        tern_coll_kind kind = kinds[k];
        int root = (int)random_below(&state, (uint64_t)n);
        draw_again(&state, kind, n, root, &last[k][root]);
        struct shares s = last[k][root];
        tern_coll call = describe(&s, kind, rank, root, mine, theirs);
        for (int r = 0; r < n; r++) {
            size_t in_at = kind == TERN_COLL_GATHER_V ? 0 : s.in_offsets[r];
            for (size_t i = 0; i < mine[r]; i++) {
                in[in_at + i] = element(number, rank, r, i);
            }
        }
        for (size_t i = 0; i < ROOM; i++) {
            out[i] = wanted[i] = UNTOUCHED;
        }
        for (int r = 0; r < n; r++) {
            size_t out_at = kind == TERN_COLL_SCATTER_V ? 0 : s.out_offsets[r];
            for (size_t i = 0; i < theirs[r]; i++) {
                wanted[out_at + i] = element(number, r, rank, i);
            }
        }
        call.in = in;
        call.out = out;
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK(memcmp(out, wanted, sizeof out) == 0);
    }
    return 0;
}

static void any_counts_are_right(void **state)
{
    assert_true(ranks_run_counts(1, RANKS, move_any_counts, NULL, 100));
    setenv("TERN_AGREE", "strict", 1);
    bool right = ranks_run_comm(2, move_any_counts, NULL, 100);
    unsetenv("TERN_AGREE");
    assert_true(right);
}

// What cannot be made is refused also where a call like it was made before.
static int refuse_again(tern_comm *comm, void *arg)
{
    struct shares s = {.counts = {{1, 2}, {3, 4}}, .in_offsets = {0, 9}, .out_offsets = {9, 0}};
    int32_t in[ROOM] = {0};
    int32_t out[ROOM];
    size_t mine[RANKS];
    size_t theirs[RANKS];
    tern_coll call = describe(&s, TERN_COLL_ALL_TO_ALL_V, tern_comm_rank(comm), 0, mine, theirs);
    for (int number = 0; number < 20; number++) {
        call.in = number % 5 == 1 ? NULL : in;
        call.out = number % 5 == 2 ? NULL : number % 5 == 3 ? in : out;
        CHECK(tern_coll_run(comm, &call) == (number % 5 % 4 == 0 ? TERN_OK : TERN_ERR_ARG));
        call.out_offsets = number % 5 == 4 ? NULL : s.out_offsets;
        call.out = out;
        call.in = in;
        memset(out, UNTOUCHED & 0xff, sizeof out);
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        size_t begin = number % 5 == 4 ? 0 : 9;
        CHECK(out[begin] == 0 && out[begin + theirs[0]] == (begin == 9 ? UNTOUCHED : 0));
        call.out_offsets = s.out_offsets;
    }
    return 0;
}

static void what_cannot_be_made_is_refused_again(void **state)
{
    assert_true(ranks_run_comm(2, refuse_again, NULL, 60));
}

// Rank 1 gives much, now through its slot, now from a window; then it may write into rank 0's
// window, if that is the one where the output is now.
static int move_buffers(tern_comm *comm, void *arg)
{
    enum { MUCH = 20000 };
    static int32_t elsewhere[2][MUCH + MOST];
    int rank = tern_comm_rank(comm);
    struct shares s = {.counts = {{0, 4}, {MUCH, 0}}};
    size_t mine[RANKS];
    size_t theirs[RANKS];
    tern_window *window = NULL;
    for (int number = 0; number < 60; number++) {
        tern_coll call = describe(&s, TERN_COLL_ALL_TO_ALL_V, rank, 0, mine, theirs);
        if (number % 6 == 0) { // another one, perhaps at the same place
            CHECK(window == NULL || tern_window_destroy(window) == TERN_OK);
            CHECK(tern_window_create(comm, 2 * sizeof elsewhere[0], NULL, &window) == TERN_OK);
        }
        int32_t *memory = tern_window_address(window, rank);
        bool in_window = rank == 0 ? number % 5 != 0 : number % 3 == 0;
        int32_t *in = in_window ? memory : elsewhere[0];
        int32_t *out = in_window ? memory + MUCH + MOST : elsewhere[1];
        for (int i = 0; i < (rank == 0 ? 4 : MUCH); i++) {
            in[i] = number * MUCH + i;
        }
        call.in = in;
        call.out = out;
        call.in_offsets = call.out_offsets = NULL;
        if (rank == 0) { // comes last as a rule, so that it need not wait
            usleep(200);
        }
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        for (int i = 0; i < (rank == 0 ? MUCH : 4); i++) {
            CHECK(out[i] == number * MUCH + i);
        }
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void buffers_that_move_are_found(void **state)
{
    setenv("TERN_DIRECT", "off", 1);
    bool right = ranks_run_comm(2, move_buffers, NULL, 60);
    unsetenv("TERN_DIRECT");
    assert_true(right);
}

struct beside {
    tern_coll_kind kind;
    bool alike; // the window is never another one
};

// Rank 1 has much of the root, or for it, now and then; rank 2 always as little, in or for buffers
// that move, so that it says what it said last time.
static int move_beside(tern_comm *comm, void *arg)
{
    enum { MUCH = 20000, LITTLE = 4, ALL = MUCH + 2 * MOST };
    static int32_t heap[2][ALL];
    const struct beside *beside = arg;
    bool scatters = beside->kind == TERN_COLL_SCATTER_V;
    int rank = tern_comm_rank(comm);
    tern_window *window = NULL;
    for (int number = 0; number < 90; number++) {
        size_t share = number % 4 == 3 ? MUCH : LITTLE;
        size_t counts[] = {0, share, LITTLE};
        if (number == 0 || (number % 6 == 0 && !beside->alike)) { // another one at the same place
            CHECK(window == NULL || tern_window_destroy(window) == TERN_OK);
            CHECK(tern_window_create(comm, 2 * sizeof heap[0], NULL, &window) == TERN_OK);
        }
        int32_t *memory = tern_window_address(window, rank);
        bool in_window = (number + rank) % 5 < 3;
        int32_t *in = in_window ? memory : heap[0];
        int32_t *out = in_window ? memory + ALL : heap[1];
        for (int i = 0; i < ALL; i++) {
            in[i] = (number * 10 + rank) * MUCH + i;
            out[i] = UNTOUCHED;
        }
        tern_coll call = {.kind = beside->kind,
                          .dtype = TERN_I32,
                          .in = in,
                          .out = out,
                          .count = counts[rank],
                          .in_counts = rank == 0 ? counts : NULL,
                          .out_counts = rank == 0 ? counts : NULL};
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        size_t wrote = scatters ? counts[rank] : rank == 0 ? share + LITTLE : 0;
        for (size_t i = 0; i < ALL; i++) {
            int from = scatters || i < share ? scatters ? 0 : 1 : 2;
            size_t at = scatters && rank == 2 ? share + i : from == 2 ? i - share : i;
            CHECK(out[i] == (i < wrote ? (number * 10 + from) * MUCH + (int)at : UNTOUCHED));
        }
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void who_has_little_beside_much_is_right(void **state)
{
    for (int i = 0; i < 8; i++) {
        struct beside beside = {i % 2 == 0 ? TERN_COLL_SCATTER_V : TERN_COLL_GATHER_V, i / 2 % 2};
        if (i >= 4) {
            setenv("TERN_DIRECT", "off", 1);
        }
        bool right = ranks_run_comm(3, move_beside, &beside, 60);
        unsetenv("TERN_DIRECT");
        assert_true(right);
    }
}

// In what rank 1 differs from rank 0; or the root, where it alone takes, or gives.
// OWN: one rank, the root if there is one, differs from itself.
enum difference { TAKES_LESS, TAKES_MORE, GIVES_LESS, GIVES_MORE, DTYPE, OWN, DIFFERENCES };

struct lie {
    tern_coll_kind kind;
    enum difference what;
    size_t share;
    bool strict; // TERN_AGREE
};

static int tell_a_lie(tern_comm *comm, void *arg)
{
    const struct lie *lie = arg;
    const size_t offsets[] = {0, MOST, 2 * MOST, 3 * MOST};
    struct shares s = {0};
    int32_t in[ROOM] = {0};
    int32_t out[ROOM];
    size_t mine[RANKS];
    size_t theirs[RANKS];
    int rank = tern_comm_rank(comm);
    bool gives = lie->kind != TERN_COLL_SCATTER_V; // rank 1, to the root
    bool takes = lie->kind != TERN_COLL_GATHER_V;
    int liar = (lie->what <= TAKES_MORE && !takes) ||
                       (lie->what >= GIVES_LESS && lie->what <= GIVES_MORE && !gives)
                   ? 0
                   : 1;
    size_t *taken = &s.counts[1 - liar][liar];
    size_t *given = &s.counts[liar][1 - liar];
    memcpy(s.in_offsets, offsets, sizeof offsets);
    memcpy(s.out_offsets, offsets, sizeof offsets);
    for (int other = 1; other < tern_comm_size(comm); other++) {
        s.counts[0][other] = takes ? lie->share : 0;
        s.counts[other][0] = gives ? lie->share : 0;
    }
    for (int number = 0; number < 4; number++) {
        CHECK(number < 3 || tern_comm_barrier(comm) == TERN_OK); // nobody is ahead
        if (number == 3 && rank == liar) {
            *taken += lie->what == TAKES_MORE;
            *taken -= lie->what == TAKES_LESS;
            *given += lie->what == GIVES_MORE;
            *given -= lie->what == GIVES_LESS;
        }
        tern_coll call = describe(&s, lie->kind, rank, 0, mine, theirs);
        call.dtype = number == 3 && rank == 1 && lie->what == DTYPE ? TERN_U32 : TERN_I32;
        bool rooted = lie->kind != TERN_COLL_ALL_TO_ALL_V;
        if (number == 3 && lie->what == OWN && rank == (rooted ? 0 : 1)) {
            (lie->kind == TERN_COLL_SCATTER_V ? mine : theirs)[rank]++;
        }
        call.in = in;
        call.out = out;
        memset(out, UNTOUCHED & 0xff, sizeof out);
        if (rank != liar) { // it need not wait, as a rule, so the short path finds the lie
            usleep(300);
        }
        int status = tern_coll_run(comm, &call);
        if (number < 3) {
            CHECK(status == TERN_OK);
            continue;
        }
        bool met = lie->strict || lie->kind == TERN_COLL_ALL_TO_ALL_V ||
                   rank == (lie->kind == TERN_COLL_GATHER_V || lie->what == OWN ? 0 : 1);
        for (size_t i = 0; i < ROOM && (met || rank == 0); i++) {
            CHECK(out[i] == UNTOUCHED);
        }
        if (status == TERN_OK && !met) {
            status = tern_barrier(comm);
        }
        CHECK(status == TERN_ERR_MISMATCH && look_says("the ranks disagree on call 4"));
    }
    return 0;
}

static void who_disagrees_writes_nothing(void **state)
{
    const size_t shares[] = {1, 7, 8, 9, MOST - 1}; // as many bytes as fit a letter, and not
    for (size_t k = 0; k < 3; k++) {
        for (enum difference what = 0; what < DIFFERENCES; what++) {
            for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
                struct lie lie = {kinds[k], what, shares[i], false};
                for (int n = 2; n <= 4; n++) {
                    assert_true(ranks_run_comm(n, tell_a_lie, &lie, 60));
                }
                lie.strict = true;
                setenv("TERN_AGREE", "strict", 1);
                bool right = ranks_run_comm(2 + (int)(i % 2), tell_a_lie, &lie, 60);
                unsetenv("TERN_AGREE");
                assert_true(right);
            }
        }
    }
}

// One that is 2^32 runs old lies where the next one is expected, and differs in its age alone.
static int find_an_old_letter(tern_comm *comm, void *arg)
{
    struct shares s = {.in_offsets = {0, MOST}, .out_offsets = {0, MOST}};
    size_t mine[RANKS];
    size_t theirs[RANKS];
    int rank = tern_comm_rank(comm);
    s.counts[0][1] = s.counts[1][0] = 3;
    for (int number = 0; number < 20; number++) {
        int32_t in[ROOM];
        int32_t out[ROOM];
        for (size_t i = 0; i < ROOM; i++) {
            in[i] = element(number, rank, 1 - rank, i);
        }
        tern_coll call = describe(&s, TERN_COLL_ALL_TO_ALL_V, rank, 0, mine, theirs);
        call.in = in;
        call.out = out;
        struct tern__calls *calls = comm->calls; // NULL before the first call
        uint32_t run = calls != NULL ? calls->published + 1 : 0;
        if (number > 1 && rank == 0) {
            struct tern__letter *last = tern__area_letter(calls->area, 0, run - 1);
            struct tern__letter *next = tern__area_letter(calls->area, 0, run);
            memcpy((char *)next + sizeof next->run, (const char *)last + sizeof last->run,
                   sizeof *last - sizeof last->run);
            next->age += 1 << 16;
            tern__flag_store(&next->run, run); // partner: tern__quick_comes
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        while (number > 1 &&
               rank == 0 && // partner: open_shares in quick_shares.c, on the other rank
               tern__flag_load(&tern__area_head(calls->area, 1, run)->run) != run) {
            sched_yield();
        }
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        for (size_t i = 0; i < 3; i++) {
            size_t first = rank == 0 ? MOST : 0;
            CHECK(out[first + i] == element(number, 1 - rank, rank, (rank == 0 ? 0 : MOST) + i));
        }
    }
    return 0;
}

static void an_old_letter_is_not_believed(void **state)
{
    assert_true(ranks_run_comm(2, find_an_old_letter, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_counts_are_right),
        cmocka_unit_test(what_cannot_be_made_is_refused_again),
        cmocka_unit_test(buffers_that_move_are_found),
        cmocka_unit_test(who_has_little_beside_much_is_right),
        cmocka_unit_test(who_disagrees_writes_nothing),
        cmocka_unit_test(an_old_letter_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
