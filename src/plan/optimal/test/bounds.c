// SPDX-License-Identifier: Apache-2.0
// The least times of trees, and the bounds that meet them: of topologies whose least times are
// known as fractions, and of random ones, where both come from the same programs but must agree.
#include "support/cmocka.h"

#include <math.h>

#include "base/clock.h"
#include "nets.h"
#include "plan/optimal/master.h"

static void solve(struct tern__arena *arena, const tern_topo *topo, const char *word,
                  tern_order order, bool in_sequence, struct tern__master *master)
{
    struct tern__net_graph graph;
    struct tern__aim aim;
    tern_plan_kind kind;
    assert_int_equal(tern_plan_kind_parse(word, &kind), TERN_OK);
    assert_int_equal(tern__net_graph_make(arena, topo, &graph), TERN_OK);
    assert_int_equal(tern__aim_make(arena, &graph, kind, 0, order, &aim), TERN_OK);
    aim.in_sequence = in_sequence;
    struct tern__patience patience = {.deadline_ns =
                                          tern__deadline_after(100 * TERN_NS_PER_SECOND)};
    if (tern__master_solve(arena, &aim, 1, &patience, master) != TERN_OK) {
        fail_msg("%s: %s", tern_topo_text(topo), tern_last_error());
    }
}

static void expect(tern_topo *topo, const char *word, tern_order order, double over, double under)
{
    struct tern__arena arena = {0};
    struct tern__master master;
    solve(&arena, topo, word, order, false, &master);
    if (fabs(master.time - over / under) > 1e-7 || fabs(master.bound - over / under) > 1e-7) {
        fail_msg("%s %s: time %.9f, bound %.9f, not %g/%g", word, tern_topo_text(topo), master.time,
                 master.bound, over, under);
    }
    tern__arena_free(&arena);
    tern_topo_destroy(topo);
}

// Rank r linked with r ^ 1, r ^ 2, r ^ 4, ...
static tern_topo *cube(int dimensions)
{
    int n = 1 << dimensions;
    double rates[n * n];
    for (int i = 0; i < n * n; i++) {
        int differ = (i / n) ^ (i % n);
        rates[i] = differ != 0 && (differ & (differ - 1)) == 0 ? 1 : 0;
    }
    return net_of_matrix(n, rates);
}

static tern_topo *torus(int side)
{
    int n = side * side;
    double rates[n * n];
    memset(rates, 0, sizeof rates);
    for (int r = 0; r < n; r++) {
        int right = r / side * side + (r + 1) % side;
        int down = (r + side) % n;
        rates[r * n + right] = rates[right * n + r] = 1;
        rates[r * n + down] = rates[down * n + r] = 1;
    }
    return net_of_matrix(n, rates);
}

static void all_reduce(void **state)
{
    static const struct {
        const char *net;
        double over, under;
    } known[] = {
        {"mesh:8", 1, 4},
        {"mesh:16", 1, 8},
        {"mesh:8 0-1", 7, 27},
        {"mesh:8 0-1 2-3", 7, 26},
        {"mesh:8 0-1 1-2 0-2", 7, 25},
        {"mesh:8 0-1 0-2 0-3 0-4", 1, 3},
        {"mesh:8 0-1 0-2 0-3 0-4 0-5 0-6", 1, 1},
        {"mesh:8 0-1=0.5", 14, 55},
        {"mesh:8 0>1", 14, 55},
        {"mesh:16 0-1", 15, 119},
        {"ring:8", 7, 8},
        {"ring:16", 15, 16},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        expect(net_of(known[i].net), "all_reduce", TERN_ORDER_ANY, known[i].over, known[i].under);
    }
    expect(cube(3), "all_reduce", TERN_ORDER_ANY, 7, 12);
    expect(cube(4), "all_reduce", TERN_ORDER_ANY, 15, 32);
    expect(torus(4), "all_reduce", TERN_ORDER_ANY, 15, 32);
}

static void all_reduce_in_rank_order(void **state)
{
    expect(net_of("mesh:8"), "all_reduce", TERN_ORDER_RANK, 1, 4);
    expect(net_of("mesh:8 0-1"), "all_reduce", TERN_ORDER_RANK, 41, 156);
    expect(net_of("mesh:8 0-1 2-3"), "all_reduce", TERN_ORDER_RANK, 47, 170);
    expect(net_of("mesh:8 0-1 1-2 0-2"), "all_reduce", TERN_ORDER_RANK, 13, 45);
    expect(net_of("ring:8"), "all_reduce", TERN_ORDER_RANK, 23, 16);
    expect(cube(3), "all_reduce", TERN_ORDER_RANK, 19, 24);
}

static void shares(void **state)
{
    static const char *const words[] = {"all_gather", "reduce_scatter"};
    for (size_t i = 0; i < 2; i++) {
        expect(net_of("mesh:8 0-1"), words[i], TERN_ORDER_ANY, 7, 48);
        expect(net_of("ring:8"), words[i], TERN_ORDER_ANY, 7, 16);
        expect(cube(3), words[i], TERN_ORDER_ANY, 7, 24);
        expect(torus(4), words[i], TERN_ORDER_ANY, 15, 64);
    }
}

static void blocks(void **state)
{
    expect(net_of("mesh:8 0-1"), "all_to_all", TERN_ORDER_ANY, 7, 48);
    expect(net_of("ring:8"), "all_to_all", TERN_ORDER_ANY, 1, 1);
    expect(cube(3), "all_to_all", TERN_ORDER_ANY, 1, 2);
    expect(torus(4), "all_to_all", TERN_ORDER_ANY, 1, 2);
    expect(net_of("ring:8"), "scatter", TERN_ORDER_ANY, 7, 16);
    expect(net_of("mesh:8 0-1"), "gather", TERN_ORDER_ANY, 7, 48);
}

static void roots(void **state)
{
    static const char *const words[] = {"broadcast", "reduce"};
    for (size_t i = 0; i < 2; i++) {
        expect(net_of("mesh:8"), words[i], TERN_ORDER_ANY, 1, 7);
        expect(net_of("mesh:8 0-1"), words[i], TERN_ORDER_ANY, 1, 6);
        expect(net_of("ring:8"), words[i], TERN_ORDER_ANY, 1, 2);
        expect(cube(3), words[i], TERN_ORDER_ANY, 1, 3);
    }
}

static void random_ones_meet_their_bound(void **state)
{
    static const char *const words[] = {"all_reduce", "all_gather", "all_to_all", "broadcast",
                                        "reduce"};
    uint64_t seed = random_seed();
    for (int run = 0; run < 40; run++) {
        int n = 2 + (int)random_below(&seed, 7);
        tern_topo *topo = net_random(n, run % 2 == 0, run % 4 < 2, &seed);
        struct tern__arena arena = {0};
        struct tern__master master;
        const char *word = words[random_below(&seed, 5)];
        tern_order order = run % 3 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY;
        solve(&arena, topo, word, order, false, &master);
        if (master.bound < master.time * (1 - 1e-6) || master.bound > master.time * (1 + 1e-6)) {
            fail_msg("%s of %d ranks: time %.9f, bound %.9f", word, n, master.time, master.bound);
        }
        tern__arena_free(&arena);
        tern_topo_destroy(topo);
    }
}

// Where a result goes out on the trees that it came in on, AllReduce takes twice as long.
static void two_phases_take_twice_as_long(void **state)
{
    tern_topo *topo = net_of("mesh:8 0-1");
    struct tern__arena arena = {0};
    struct tern__master master;
    solve(&arena, topo, "all_reduce", TERN_ORDER_ANY, true, &master);
    assert_true(fabs(2 * master.time - 7.0 / 27) < 1e-7);
    tern__arena_free(&arena);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce),
        cmocka_unit_test(all_reduce_in_rank_order),
        cmocka_unit_test(shares),
        cmocka_unit_test(blocks),
        cmocka_unit_test(roots),
        cmocka_unit_test(random_ones_meet_their_bound),
        cmocka_unit_test(two_phases_take_twice_as_long),
    };
    return cmocka_run_group_tests(tests, without_solver, NULL);
}
