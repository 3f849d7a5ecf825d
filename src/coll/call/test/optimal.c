// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// Calls that name the algorithm `optimal`: every kind, both orders, in place or not, wherever the
// buffers lie, few ranks and odd ones, against the reference. And by TERN_ALGO.
#include "coll/call/test/samples.h"

#include "coll/record_algorithm.h"
#include "comm/comm.h"
#include "tern/tune.h"

// 0 when it is right, or refused because there is no solver (*solver: whether there is).
static int run_one(struct kit_bench *bench, const struct ref_case *c, tern_order order, int place,
                   bool in_place, bool *solver)
{
    struct kit_work work;
    kit_make(bench, KIT_WORLD, c, in_place, place, place, 0, &work);
    work.call.algorithm = "optimal";
    work.call.order = order;
    kit_fill(&work);
    int status = tern_coll_run(bench->comms[KIT_WORLD], &work.call);
    if (status == TERN_ERR_STATE) {
        *solver = false;
        return 0;
    }
    CHECK(status == TERN_OK);
    return kit_compare(&work, true);
}

static int run_kinds(tern_comm *world, void *arg)
{
    static const size_t counts[] = {1, 7, 20001};
    static const tern_dtype dtypes[] = {TERN_F32, TERN_BF16, TERN_F64, TERN_I8};
    struct kit_bench bench;
    struct tern__recorded calls[TERN__RECORDS];
    uint64_t seed = base_seed;
    bool solver = true;
    CHECK(kit_open(world, (size_t)20001 * 8 * (size_t)tern_comm_size(world), 1, &bench) == 0);
    for (int kind = 0; kind < TERN_PLAN_KINDS && solver; kind++) {
        for (int i = 0; i < 12 && kind != TERN_PLAN_BARRIER && solver; i++) {
            struct ref_case c = {.kind = (tern_coll_kind)kind,
                                 .dtype = dtypes[random_below(&seed, 4)],
                                 .op = (tern_reduce_op)random_below(&seed, 4),
                                 .n = bench.n,
                                 .root = (int)random_below(&seed, (uint64_t)bench.n),
                                 .count = counts[i % 3],
                                 .exact = i / 6 != 0,
                                 .seed = random_below(&seed, 1 << 20)};
            int place = (int)random_below(&seed, KIT_PLACES);
            tern_order order = i / 6 != 0 ? TERN_ORDER_ANY : TERN_ORDER_RANK;
            CHECK(run_one(&bench, &c, order, place, i / 3 % 2 != 0, &solver) == 0);
            struct tern__group *group = &world->group;
            CHECK(!solver || tern__records_read(group->job->ctl, group->rank, calls) > 0);
            CHECK(!solver || strcmp(tern__record_algorithm(&calls[0]), "optimal") == 0);
        }
    }
    CHECK(setenv("TERN_ALGO", "broadcast:optimal", 1) == 0);
    tern_coll_choice choice;
    tern_coll call = {.kind = TERN_COLL_BROADCAST, .count = 1000, .dtype = TERN_F32};
    CHECK(!solver || tern_coll_select(&call, bench.n, 1, &choice) == TERN_OK);
    CHECK(!solver || strcmp(choice.algorithm, "optimal") == 0);
    CHECK(unsetenv("TERN_ALGO") == 0);
    return kit_close(&bench);
}

static void searched_plans_give_the_bits_of_the_reference(void **state)
{
    assert_true(ranks_run_counts(1, 5, run_kinds, NULL, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searched_plans_give_the_bits_of_the_reference),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
