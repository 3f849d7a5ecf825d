// SPDX-License-Identifier: Apache-2.0
// Graphs of topologies, and trees over random lengths: the shortest ones compared with all trees
// that there are.
#include "support/cmocka.h"

#include "nets.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/prefix.h"

enum { MOST = 6 };

// Random lengths, few different ones so that there are ties, some edges missing.
static void draw(int n, uint64_t *seed, int64_t *lengths)
{
    for (int i = 0; i < n * n; i++) {
        bool there = i / n != i % n && random_below(seed, 5) > 0;
        lengths[i] = there ? (int64_t)random_below(seed, 8) : TERN__NO_EDGE;
    }
}

static bool leads_to(int n, const int *parent, int root)
{
    for (int v = 0; v < n; v++) {
        int at = v;
        for (int steps = 0; steps < n && at != root; steps++) {
            at = parent[at];
        }
        if (at != root) {
            return false;
        }
    }
    return true;
}

static int64_t length_of(int n, const int64_t *lengths, int root, const int *parent)
{
    int64_t total = 0;
    for (int v = 0; v < n; v++) {
        if (v != root) {
            int64_t length = lengths[parent[v] * n + v];
            if (length == TERN__NO_EDGE) {
                return -1;
            }
            total += length;
        }
    }
    return total;
}

// The shortest of all n^(n-1) choices of parents.
static int64_t try_all(int n, const int64_t *lengths, int root)
{
    int64_t best = -1;
    int choices = 1;
    for (int i = 0; i < n; i++) {
        choices *= n;
    }
    for (int choice = 0; choice < choices; choice++) {
        int parent[MOST];
        int rest = choice;
        for (int v = 0; v < n; v++) {
            parent[v] = rest % n;
            rest /= n;
        }
        int64_t length = length_of(n, lengths, root, parent);
        bool better = length >= 0 && (best < 0 || length < best);
        if (better && leads_to(n, parent, root)) {
            best = length;
        }
    }
    return best;
}

static void arborescences_are_the_shortest(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < 300; run++) {
        int n = 1 + (int)random_below(&seed, run % 10 == 0 ? MOST : 5);
        int root = (int)random_below(&seed, (uint64_t)n);
        int64_t lengths[MOST * MOST];
        int parent[MOST];
        draw(n, &seed, lengths);
        int64_t found = tern__arborescence(lengths, n, root, parent);
        assert_int_equal(found, try_all(n, lengths, root));
        if (found >= 0) {
            assert_int_equal(parent[root], -1);
            assert_true(leads_to(n, parent, root));
            assert_int_equal(length_of(n, lengths, root, parent), found);
        }
    }
}

// On many ranks: a tree, and as long in the reverse graph as the other way round.
static void large_ones_are_trees(void **state)
{
    enum { N = TERN__NET_RANKS_MAX };
    static int64_t lengths[N * N];
    static int64_t symmetric[N * N];
    uint64_t seed = random_seed();
    for (int run = 0; run < 20; run++) {
        int parent[N];
        draw(N, &seed, lengths);
        int64_t found = tern__arborescence(lengths, N, run, parent);
        assert_true(found >= 0 && leads_to(N, parent, run));
        assert_int_equal(length_of(N, lengths, run, parent), found);
        tern__reverse_lengths(lengths, N, symmetric);
        for (int i = 0; i < N * N; i++) {
            symmetric[i] = lengths[i] < symmetric[i] ? lengths[i] : symmetric[i];
        }
        int64_t here = tern__arborescence(symmetric, N, run, parent);
        assert_int_equal(here, tern__arborescence(symmetric, N, N - 1 - run, parent));
        assert_true(here <= found);
    }
}

// Against Floyd and Warshall.
static void paths_are_the_shortest(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < 300; run++) {
        int n = 1 + (int)random_below(&seed, MOST);
        int64_t lengths[MOST * MOST] = {0};
        int64_t all[MOST * MOST] = {0};
        draw(n, &seed, lengths);
        for (int i = 0; i < n * n; i++) {
            all[i] = i / n == i % n ? 0 : lengths[i];
        }
        for (int k = 0; k < n; k++) {
            for (int i = 0; i < n * n; i++) {
                int64_t a = all[i / n * n + k];
                int64_t b = all[k * n + i % n];
                if (a != TERN__NO_EDGE && b != TERN__NO_EDGE && a + b < all[i]) {
                    all[i] = a + b;
                }
            }
        }
        for (int root = 0; root < n; root++) {
            int parent[MOST];
            int64_t distance[MOST];
            (void)tern__shortest_paths(lengths, n, root, parent, distance);
            assert_memory_equal(distance, &all[root * n], (size_t)n * sizeof *distance);
        }
    }
}

// The shortest of all n^n choices of where the sums of the first ranks are made.
static int64_t try_all_sums(int n, const struct tern__prefix_ways *ways, int root)
{
    int64_t best = -1;
    int choices = 1;
    for (int i = 0; i < n; i++) {
        choices *= n;
    }
    for (int choice = 0; choice < choices; choice++) {
        int64_t total = 0;
        int rest = choice;
        int before = rest % n;
        for (int k = 0; k < n && total >= 0; k++, rest /= n) {
            int here = rest % n;
            int64_t moved = ways->distance[before * n + here];
            int64_t came = ways->distance[k * n + here];
            bool can = moved != TERN__NO_EDGE && came != TERN__NO_EDGE;
            total = can ? total + moved + came : -1;
            before = here;
        }
        int64_t last = ways->distance[before * n + root];
        if (total >= 0 && last != TERN__NO_EDGE && (best < 0 || total + last < best)) {
            best = total + last;
        }
    }
    return best;
}

static void sums_that_grow_go_the_shortest_way(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < 200; run++) {
        int n = 1 + (int)random_below(&seed, 5);
        int64_t lengths[MOST * MOST];
        int64_t reversed[MOST * MOST];
        static struct tern__prefix_ways ways;
        draw(n, &seed, lengths);
        tern__reverse_lengths(lengths, n, reversed);
        tern__prefix_find(lengths, n, &ways);
        for (int root = 0; root < n; root++) {
            int to[MOST];
            int64_t found = tern__prefix_length(&ways, root);
            assert_int_equal(found, try_all_sums(n, &ways, root));
            if (found >= 0) {
                tern__prefix_tree(&ways, root, to);
                assert_int_equal(to[root], -1);
                assert_true(leads_to(n, to, root));
                assert_true(length_of(n, reversed, root, to) >= 0);
            }
        }
    }
}

static void shallow_trees_are_as_deep_as_they_say(void **state)
{
    uint64_t seed = random_seed();
    for (int run = 0; run < 100; run++) {
        int n = 2 + (int)random_below(&seed, MOST - 1);
        int64_t lengths[MOST * MOST];
        int parent[MOST];
        draw(n, &seed, lengths);
        int depth = tern__shallow_tree(lengths, n, 0, 100, &seed, parent);
        int found[MOST];
        assert_int_equal(depth < 0, tern__arborescence(lengths, n, 0, found) < 0);
        if (depth >= 0) {
            assert_true(leads_to(n, parent, 0));
            assert_true(depth >= 1 && depth < n);
        }
    }
}

static void graphs_say_what_links_use(void **state)
{
    struct tern__arena arena = {0};
    struct tern__net_graph graph;
    tern_topo *topo = net_of("mesh:4 0-1 2>3");
    assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_OK);
    assert_int_equal(graph.edges_count, 9);
    assert_int_equal(graph.resources_count, 9);
    assert_false(graph.symmetric);
    assert_int_equal(graph.edge_at[0 * 4 + 1], -1);
    assert_int_equal(tern__net_graph_connects(&graph, TERN_PLAN_ALL_REDUCE, 0), TERN_OK);
    tern_topo_destroy(topo);

    topo = net_of("machines:2x2");
    assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_OK);
    const struct tern__net_edge *edge = &graph.edges[graph.edge_at[0 * 4 + 2]];
    assert_int_equal(edge->uses_count, 3);
    assert_true(graph.symmetric);
    for (int r = 0; r < graph.resources_count; r++) {
        assert_int_equal(graph.mirror[graph.mirror[r]], r);
        assert_true(graph.capacity[graph.mirror[r]] == graph.capacity[r]); // copied
    }
    tern_topo_destroy(topo);
    tern__arena_free(&arena);
}

static void ranks_without_a_way_are_named(void **state)
{
    struct tern__arena arena = {0};
    struct tern__net_graph graph;
    tern_topo *topo = net_of("mesh:3 0>1 2>1");
    assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_OK);
    assert_int_equal(tern__net_graph_connects(&graph, TERN_PLAN_ALL_GATHER, 0), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), "no links lead from rank 0 to rank 1");
    assert_int_equal(tern__net_graph_connects(&graph, TERN_PLAN_BROADCAST, 1), TERN_OK);
    assert_int_equal(tern__net_graph_connects(&graph, TERN_PLAN_REDUCE_TO_ROOT, 1), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), "no links lead from rank 0 to rank 1");
    assert_int_equal(tern__net_graph_connects(&graph, TERN_PLAN_GATHER, 0), TERN_OK);
    tern_topo_destroy(topo);
    topo = net_of("mesh:65");
    assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_ERR_LIMIT);
    assert_non_null(strstr(tern_last_error(), "1 to 64 ranks, not 65"));
    tern_topo_destroy(topo);
    tern__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arborescences_are_the_shortest),
        cmocka_unit_test(large_ones_are_trees),
        cmocka_unit_test(paths_are_the_shortest),
        cmocka_unit_test(sums_that_grow_go_the_shortest_way),
        cmocka_unit_test(shallow_trees_are_as_deep_as_they_say),
        cmocka_unit_test(graphs_say_what_links_use),
        cmocka_unit_test(ranks_without_a_way_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
