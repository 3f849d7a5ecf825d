// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2, ctest-threads: none
// The short path: which calls take it.
#include "coll/call/test/calls.h"

#include <unistd.h>

#include "coll/call/call.h"
#include "comm/comm.h"

// A barrier does whatever its other fields say. One rank waits for nobody, so that nothing moves on
// the longer path.
static int make_barriers(tern_comm *comm, void *arg)
{
    for (int i = 0; i < 3; i++) {
        tern_coll call = {.kind = TERN_COLL_BARRIER,
                          .dtype = TERN_F32,
                          .op = TERN_MAX,
                          .count = (size_t)i,
                          .root = 7};
        const struct tern__calls *calls = comm->calls; // NULL before the first call
        uint32_t moves = calls != NULL ? calls->work.moves : 0;
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK(calls == NULL || tern_comm_size(comm) > 1 || calls->work.moves == moves);
    }
    return 0;
}

static void a_barrier_is_short_whatever_its_fields_say(void **state)
{
    assert_true(ranks_run_comm(1, make_barriers, NULL, 60));
    assert_true(ranks_run_comm(3, make_barriers, NULL, 60));
}

enum { SHARE_MOST = 40 * 16 }; // bytes

static void await_others(const struct tern__calls *calls, uint32_t run)
{
    for (int rank = 0; rank < calls->nranks; rank++) {
        while (rank != calls->rank &&
               tern__flag_load(&tern__area_head(calls->area, rank, run)->run) != run) {
            usleep(50);
        }
    }
}

// The same call twice, with other bytes; then the last rank that comes finds all others.
static int make_twice(struct kit_bench *bench, struct ref_case *c, int last, int place)
{
    tern_comm *world = bench->comms[KIT_WORLD];
    for (int time = 0; time < 2; time++) {
        struct kit_work work;
        c->seed++;
        kit_make(bench, KIT_WORLD, c, true, place, place, 0, &work);
        kit_fill(&work);
        CHECK(tern_comm_barrier(world) == TERN_OK); // no call, which could be remembered instead
        const struct tern__calls *calls = world->calls; // NULL before the first call
        bool waits = time == 1 && bench->rank == last;
        if (waits) {
            await_others(calls, calls->published + 1);
        }
        uint32_t moves = waits ? calls->work.moves : 0;
        CHECK(tern_coll_run(world, &work.call) == TERN_OK);
        CHECK(kit_compare(&work, true) == 0);
        if (waits && calls->work.moves != moves) {
            fprintf(stderr, "%s of %zu %s, %d ranks: rank %d took the longer path\n",
                    tern_coll_kind_name(c->kind), c->count, tern_dtype_name(c->dtype), bench->n,
                    last);
            return 1;
        }
    }
    return 0;
}

// Every kind with every count, dtype and operation, in one of the places.
static int make_in_place(tern_comm *world, void *arg)
{
    static const size_t counts[] = {1, 17, 40};
    static const tern_dtype dtypes[] = {TERN_F32, TERN_U8, TERN_F64};
    static const tern_reduce_op ops[] = {TERN_SUM, TERN_MAX, TERN_MINLOC};
    static const enum kit_place places[] = {KIT_HEAP, KIT_WINDOW, KIT_ODD, KIT_BYTE};
    struct kit_bench bench;
    int n = tern_comm_size(world);
    CHECK(kit_open(world, (size_t)n * SHARE_MOST, 1, &bench) == 0);
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        struct ref_case c = {.kind = (tern_coll_kind)kind, .n = n, .exact = true};
        int cases = !kit_can_be_in_place(&c) ? 0 : ref_reduces(c.kind) ? 27 : 9;
        for (int i = 0; i < cases; i++) {
            c.count = counts[i % 3];
            c.dtype = dtypes[i / 3 % 3];
            c.op = ops[i / 9];
            int last = (i + kind) % n;
            c.root = i % 2 == 0 ? last : (last + 1) % n;
            CHECK(make_twice(&bench, &c, last, (int)places[(i + kind) % 4]) == 0);
        }
    }
    return kit_close(&bench);
}

static void small_calls_in_place_are_short(void **state)
{
    assert_true(ranks_run_counts(1, 8, make_in_place, NULL, 60));
}

// Runs are counted in 32 bits. What was compared last on the longer path is so long ago at last
// that it would be taken for a run to come, which nobody waits for: three times 2^30 runs, of which
// most are left out.
static int count_far(tern_comm *world, void *arg)
{
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    for (uint32_t quarter = 1; quarter <= 3; quarter++) {
        int32_t out = 0;
        CHECK(tern_all_reduce(world, &rank, &out, 1, TERN_I32, TERN_SUM) == TERN_OK);
        CHECK(tern_comm_barrier(world) == TERN_OK); // all have ended it
        struct tern__calls *calls = world->calls;
        uint32_t run = quarter * TERN__COMPARED_ANEW - 2;
        calls->published = calls->ended = calls->settled = run;
        CHECK(tern_comm_barrier(world) == TERN_OK);
        for (int call = 0; call < 4; call++) {
            CHECK(tern_all_reduce(world, &rank, &out, 1, TERN_I32, TERN_SUM) == TERN_OK);
            CHECK(out == n * (n - 1) / 2);
        }
        for (int other = 0; other < n; other++) {
            CHECK(other == rank || tern__reached(calls->compared[other], run));
        }
    }
    return 0;
}

static void old_comparisons_are_made_anew(void **state)
{
    for (int n = 2; n <= 5; n += 3) {
        assert_true(ranks_run_comm(n, count_far, NULL, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_is_short_whatever_its_fields_say),
        cmocka_unit_test(small_calls_in_place_are_short),
        cmocka_unit_test(old_comparisons_are_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
