// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2
// Counts that all ranks have alike (all_gather_v, reduce_scatter_v): told apart when they differ in
// anything, and right when they change from call to call.
#include "support/cmocka.h"
#include <stdio.h>

#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "tern/coll.h"

// Rank 2 gives one element more to rank 0 and one less to rank 1, so the sum is the same, when the
// counts have been right three times.
static int move_an_element(tern_comm *comm, void *arg)
{
    enum { MOST = 30000 };
    static float in[3 * MOST];
    static float out[3 * MOST];
    const size_t *share = arg;
    int rank = tern_comm_rank(comm);
    size_t counts[] = {*share, *share, *share};
    char words[128];
    bool scatter = *share % 2 == 0;
    for (int call = 0; call < 4; call++) {
        if (call == 3 && rank == 2) {
            counts[0]++;
            counts[1]--;
        }
        int status = scatter ? tern_reduce_scatter_v(comm, in, out, counts, TERN_F32, TERN_SUM)
                             : tern_all_gather_v(comm, in, out, counts, NULL, TERN_F32);
        CHECK(status == (call < 3 ? TERN_OK : TERN_ERR_MISMATCH));
    }
    snprintf(words, sizeof words, "the ranks disagree on call 4, %s: rank 0 has %zu bytes as rank ",
             scatter ? "reduce_scatter_v" : "all_gather_v", *share * sizeof *in);
    CHECK(look_says(words));
    snprintf(words, sizeof words, " counts, %zu as rank 2 does", (*share + 1) * sizeof *in);
    CHECK(look_says(words));
    return 0;
}

static void counts_with_the_same_sum_are_told_apart(void **state)
{
    size_t shares[] = {1, 2, 9, 10, 501, 502, 20001, 20002};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        assert_true(ranks_run_comm(3, move_an_element, &shares[i], 60));
    }
}

// Counts that change in every call, or come again later.
static int change_counts_always(tern_comm *comm, void *arg)
{
    enum { CALLS = 300, MOST = 40 };
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    uint64_t state = 7; // alike on all ranks
    int32_t in[MOST];
    int32_t out[MOST * TERN_RANKS_MAX];
    for (int call = 0; call < CALLS; call++) {
        size_t counts[TERN_RANKS_MAX];
        if (call % 5 == 0) {
            state = 7 + (uint64_t)(call % 3);
        }
        for (int r = 0; r < n; r++) {
            counts[r] = random_below(&state, MOST);
        }
        for (size_t i = 0; i < counts[rank]; i++) {
            in[i] = call * 1000 + rank * 100 + (int)i;
        }
        CHECK(tern_all_gather_v(comm, in, out, counts, NULL, TERN_I32) == TERN_OK);
        const int32_t *at = out;
        for (int r = 0; r < n; r++) {
            for (size_t i = 0; i < counts[r]; i++) {
                CHECK(*at++ == call * 1000 + r * 100 + (int)i);
            }
        }
        if (n == 1 && counts[0] > 0) { // also when it is known
            CHECK(tern_all_gather_v(comm, in, in, counts, NULL, TERN_I32) == TERN_ERR_ARG);
            CHECK(look_says("with counts they may not"));
        }
    }
    return 0;
}

static void counts_that_change_are_right(void **state)
{
    assert_true(ranks_run_counts(1, 8, change_counts_always, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_with_the_same_sum_are_told_apart),
        cmocka_unit_test(counts_that_change_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
