// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// Certificates: what is known of some topologies is proved; spoiled ones prove no more than there
// is to prove; texts are read as they were written, and wrong ones get a sentence.
#include "support/cmocka.h"

#include <math.h>

#include "nets.h"
#include "plan/optimal/certificate.h"
#include "plan/optimal/lp.h"
#include "support/folder.h"

static tern_certificate *make(const tern_topo *topo, tern_plan_kind kind, tern_order order,
                              uint32_t unit)
{
    tern_algo_request request = {
        .kind = kind, .topo = topo, .bytes = unit, .unit = unit, .order = order};
    tern_certificate *certificate = NULL;
    if (tern_certificate_make(&request, &certificate) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return certificate;
}

static tern_certificate_proof prove(const tern_certificate *certificate, const tern_topo *topo)
{
    tern_certificate_proof proof;
    if (tern_certificate_check(certificate, topo, &proof) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return proof;
}

static void known_bounds_are_proved(void **state)
{
    static const struct {
        const char *net;
        tern_plan_kind kind;
        tern_order order;
        tern_certificate_scope scope;
        const char *text;
    } known[] = {
        {"mesh:8 0-1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS,
         "no plan of all_reduce takes less than 7/27 of its bytes at 25 GB/s, without start-up"},
        {"mesh:8 0-1=0.5", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS,
         "14/55"},
        {"mesh:8 0-1 2-3", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS,
         "7/26"},
        {"mesh:8 0>1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS, "14/55"},
        {"mesh:8 0-1", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, TERN_CERTIFICATE_PREFIX_PLANS,
         "no plan that sums in rank order, the first inputs of each byte on one rank, of all_reduce "
         "takes less than 41/156"},
        {"mesh:8", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, TERN_CERTIFICATE_ALL_PLANS, "1/4"},
        {"hosts:2x4@25", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, TERN_CERTIFICATE_PREFIX_PLANS,
         "1/1"},
        {"mesh:8 0-1", TERN_PLAN_ALL_GATHER, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS, "7/48"},
        {"mesh:8 0-1", TERN_PLAN_ALL_TO_ALL, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS, "7/48"},
        {"mesh:8 0-1", TERN_PLAN_BROADCAST, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS, "1/6"},
        {"ring:8", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, TERN_CERTIFICATE_ALL_PLANS, "7/8"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tern_topo *topo = net_of(known[i].net);
        tern_certificate *certificate = make(topo, known[i].kind, known[i].order, 4);
        tern_certificate_proof proof = prove(certificate, topo);
        if (strstr(proof.text, known[i].text) == NULL || proof.scope != known[i].scope) {
            fail_msg("%s: %s (scope %d)", known[i].net, proof.text, (int)proof.scope);
        }
        assert_true(proof.us_per_byte_all <= proof.us_per_byte * (1 + 1e-9));
        tern_certificate_destroy(certificate);
        tern_topo_destroy(topo);
    }
}

// Elements that may be f16 are summed once: more has to go between two hosts.
static void sums_that_are_rounded_once_cost_more(void **state)
{
    tern_topo *topo = net_of("hosts:2x4@25");
    tern_certificate *certificate = make(topo, TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, 2);
    tern_certificate_proof proof = prove(certificate, topo);
    assert_int_equal(proof.scope, TERN_CERTIFICATE_RANK_ORDER_PLANS);
    assert_non_null(strstr(proof.text, "on one rank of all_reduce takes less than 5/2 of its"));
    certificate->scope = TERN_CERTIFICATE_PREFIX_PLANS;
    proof = prove(certificate, topo);
    assert_true(fabs(proof.us_per_byte * 25e3 - 1) < 1e-9); // the uplinks alone have prices
    tern_certificate_destroy(certificate);
    tern_topo_destroy(topo);
}

// The least time of all spanning trees that share symmetric links, by one linear program over all
// of them: what no certificate of AllReduce may exceed.
static double exact(const struct tern__net_graph *graph)
{
    int n = graph->n;
    struct tern__lp *lp;
    assert_int_equal(tern__lp_create(&lp), TERN_OK);
    assert_int_equal(tern__lp_add_column(lp, 1, NULL, 0), 0);
    for (int e = 0; e < graph->edges_count; e++) {
        struct tern__lp_entry time = {0, -graph->capacity[e] / graph->reference};
        assert_int_equal(tern__lp_add_row(lp, TERN__LP_AT_MOST, 0, &time, 1), e);
    }
    assert_int_equal(tern__lp_add_row(lp, TERN__LP_EQUAL, 1, NULL, 0), graph->edges_count);
    int choices = 1;
    for (int v = 1; v < n; v++) {
        choices *= n;
    }
    for (int choice = 0; choice < choices; choice++) { // parents of ranks 1 to n - 1; the root is 0
        struct tern__lp_entry entries[2 * 5 + 1];
        int count = 0;
        int parent[5] = {-1};
        int rest = choice;
        bool tree = true;
        for (int v = 1; v < n; v++, rest /= n) {
            parent[v] = rest % n;
        }
        for (int v = 1; v < n && tree; v++) {
            int at = v;
            for (int steps = 0; steps < n && at > 0; steps++) {
                at = parent[at];
            }
            int up = parent[v] == v ? -1 : graph->edge_at[v * n + parent[v]];
            tree = at == 0 && up >= 0;
            if (tree) {
                entries[count++] = (struct tern__lp_entry){up, 1};
                entries[count++] = (struct tern__lp_entry){graph->edge_at[parent[v] * n + v], 1};
            }
        }
        if (tree) {
            entries[count++] = (struct tern__lp_entry){graph->edges_count, 1};
            assert_true(tern__lp_add_column(lp, 0, entries, count) > 0);
        }
    }
    assert_int_equal(tern__lp_solve_afresh(lp, NULL), TERN_OK);
    double time = tern__lp_objective(lp);
    tern__lp_destroy(lp);
    return time;
}

static void spoil(tern_certificate *c, uint64_t *seed)
{
    for (uint64_t i = 0; i <= random_below(seed, 3); i++) {
        struct tern__price_line *line = &c->lines[random_below(seed, (uint64_t)c->count)];
        switch (random_below(seed, 4)) {
        case 0:
            line->price = 1 + (int64_t)random_below(seed, 1000);
            break;
        case 1:
            line->price += 1 + (int64_t)random_below(seed, 3);
            break;
        case 2:
            line->price = line->price > 1 ? line->price - 1 : TERN__PRICE_MAX;
            break;
        default:
            *line = c->lines[--c->count]; // a line is lost
            c->count += c->count == 0;
        }
    }
}

static void spoiled_ones_prove_no_more(void **state)
{
    enum { NETS = 50, MUTANTS = 200 };
    uint64_t seed = random_seed();
    int less = 0;
    for (int net = 0; net < NETS; net++) {
        tern_topo *topo = net_random(3 + net % 3, true, net % 2 == 0, &seed);
        struct tern__arena arena = {0};
        struct tern__net_graph graph;
        assert_int_equal(tern__net_graph_make(&arena, topo, &graph), TERN_OK);
        double optimum = exact(&graph) / (graph.reference * 1e3);
        tern_certificate *whole = make(topo, TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, 4);
        assert_true(fabs(prove(whole, topo).us_per_byte / optimum - 1) < 1e-8);
        for (int mutant = 0; mutant < MUTANTS; mutant++) {
            tern_certificate copy = *whole;
            struct tern__price_line lines[5 * 5];
            memcpy(lines, whole->lines, (size_t)whole->count * sizeof *lines);
            copy.lines = lines;
            spoil(&copy, &seed);
            copy.scope = random_below(&seed, 2) == 0 ? TERN_CERTIFICATE_ALL_PLANS
                                                     : TERN_CERTIFICATE_TREE_PLANS;
            tern_certificate_proof proof = prove(&copy, topo);
            assert_true(proof.us_per_byte_all <= optimum * (1 + 1e-9));
            assert_true(proof.us_per_byte <= optimum * (1 + 1e-9));
            less += proof.us_per_byte < optimum * (1 - 1e-9);
        }
        tern_certificate_destroy(whole);
        tern_topo_destroy(topo);
        tern__arena_free(&arena);
    }
    assert_true(less > NETS * MUTANTS / 4); // most are spoiled indeed
}

static void texts_are_read_as_written(void **state)
{
    tern_topo *topo = net_of("machines:2x2");
    tern_certificate *made = make(topo, TERN_PLAN_BROADCAST, TERN_ORDER_ANY, 4);
    tern_certificate *read = NULL;
    assert_int_equal(tern_certificate_save(made, folder_file), TERN_OK);
    if (tern_certificate_load(folder_file, &read) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    tern_certificate_proof one = prove(made, topo);
    tern_certificate_proof two = prove(read, topo);
    assert_string_equal(one.text, two.text);
    assert_memory_equal(&one.us_per_byte, &two.us_per_byte, sizeof one.us_per_byte);
    tern_topo *other = net_of("mesh:4");
    assert_int_equal(tern_certificate_check(read, other, &two), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "not there on mesh:4"));
    tern_topo_destroy(other);
    other = net_of("mesh:5");
    assert_int_equal(tern_certificate_check(read, other, &two), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "for 4 ranks, the topology has 5"));
    tern_topo_destroy(other);
    tern_certificate_destroy(read);
    tern_certificate_destroy(made);
    tern_topo_destroy(topo);
    unlink(folder_file);
}

#define HEAD "tern-certificate 1\nkind all_reduce\nranks 3\nscope all-plans\n"

static void wrong_texts_get_a_sentence(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"", "no line 'end'"},
        {"tern-plan 1\n", ":1:1: expected 'tern-certificate', found 'tern-plan'"},
        {"tern-certificate 2\n", ":1:18:"},
        {"tern-certificate 1\nkind barrier\n", ":2:6: expected a kind of collective that moves"},
        {"tern-certificate 1\nkind all_reduce\nranks 65\n", ":3:7:"},
        {"tern-certificate 1\nkind broadcast\nranks 2\nroot 2\n", ":4:6:"},
        {"tern-certificate 1\nkind broadcast\nranks 2\nscope all-plans\n", ":4:1: expected 'root'"},
        {"tern-certificate 1\nkind all_reduce\nranks 3\nscope some\n", ":4:7: expected a scope"},
        {HEAD, "no line 'end'"},
        {HEAD "link 0 3 1\nend\n", ":5:8:"},
        {HEAD "link 0 1 0\nend\n", ":5:10:"},
        {HEAD "link 0 1 1\nlink 0 1 1\nend\n", ":6:1: links must ascend"},
        {HEAD "resource a 1\nresource a 1\nend\n", ":6:1: links must ascend"},
        {HEAD "resource a 1\nlink 0 1 1\nend\n", ":6:1: links must ascend"},
        {HEAD "port a 1\nend\n", ":5:1: expected 'link', 'resource' or 'end', found 'port'"},
        {HEAD "end\nend\n", ":6:1: nothing may stand behind"},
        {HEAD "end", "5"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(folder_file, "w");
        assert_non_null(file);
        fputs(wrong[i].text, file);
        fclose(file);
        tern_certificate *certificate = NULL;
        assert_int_not_equal(tern_certificate_load(folder_file, &certificate), TERN_OK);
        if (strstr(tern_last_error(), wrong[i].sentence) == NULL) {
            fail_msg("'%s', not '%s'", tern_last_error(), wrong[i].sentence);
        }
        assert_null(certificate);
    }
    unlink(folder_file);
}

static int begin(void **state)
{
    struct tern__lp *lp = NULL;
    if (tern__lp_create(&lp) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        exit(77);
    }
    tern__lp_destroy(lp);
    return folder_make(state);
}

// At its time: nothing, or what was proved until then, which is less than the bound, 64/8: no
// machine finds that in a microsecond.
static void a_search_for_prices_ends_at_its_time(void **state)
{
    tern_topo *topo = net_of("ring:64");
    const tern_search search = {.seconds = 1e-6};
    tern_algo_request request = {
        .kind = TERN_PLAN_ALL_TO_ALL, .topo = topo, .bytes = 256, .unit = 4, .search = &search};
    tern_certificate *certificate = NULL;
    tern_certificate_proof proof = {0};
    int status = tern_certificate_make(&request, &certificate);
    assert_true(status == TERN_ERR_TIMEOUT || status == TERN_OK);
    if (status == TERN_OK) {
        assert_int_equal(tern_certificate_check(certificate, topo, &proof), TERN_OK);
        assert_true(proof.us_per_byte < 8 / 25e3 * (1 - 1e-9));
    }
    tern_certificate_destroy(certificate);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bounds_are_proved),
        cmocka_unit_test(sums_that_are_rounded_once_cost_more),
        cmocka_unit_test(spoiled_ones_prove_no_more),
        cmocka_unit_test(a_search_for_prices_ends_at_its_time),
        cmocka_unit_test(texts_are_read_as_written),
        cmocka_unit_test(wrong_texts_get_a_sentence),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
