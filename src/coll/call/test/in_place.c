// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-threads: none
// In place by every algorithm of every kind, named by the call, by TERN_ALGO or by a row of a tune
// file; on all ranks, on some, on none; with buffers in windows and elsewhere; of sizes around the
// switches. Bit for bit the reference, and every rank goes the same way. TERN_TEST_SCALE takes more
// of the cases.
#include "coll/call/test/calls.h"

#include "sync/record_text.h"
#include "comm/comm.h"
#include "tern/tune.h"

#define COUNT_MAX ((size_t)66000)
#define NAMES_MAX 16 // algorithms of a kind

enum way { BY_CALL, BY_ENVIRONMENT, BY_TUNE_ROW, WAYS };

static const char *const way_names[WAYS] = {"the call", "TERN_ALGO", "a tune row"};

// Which ranks are in place; with a root, only it can be.
static const uint64_t who[] = {UINT64_MAX, 1, UINT64_C(0xaaaaaaaaaaaaaaaa), 0};

static const enum kit_place places[] = {KIT_WINDOW, KIT_UNEVEN, KIT_HEAP, KIT_ODD};

// Elements of f32, of a share where there are shares: in a line; in a slot, which holds 4096 bytes
// for two ranks; in one piece; in several.
static const size_t counts[] = {1, 11, 1000, 1025, 9000, COUNT_MAX};

enum {
    WHO = sizeof who / sizeof who[0],
    PLACES = sizeof places / sizeof places[0],
    COUNTS = sizeof counts / sizeof counts[0],
};

static uint64_t base_seed;
static uint64_t scale;

struct round {
    struct kit_bench bench;
    enum way way;
    int index; // of the algorithm, in its kind
    uint64_t seed;
    int made;
};

// Whether plans of it sum in rank order on that many ranks: what a tune row may hold.
static bool keeps_order(tern_plan_kind kind, const char *name, int n)
{
    tern_topo *topo;
    tern_plan *plan = NULL;
    char word[16];
    snprintf(word, sizeof word, "mesh:%d", n);
    if (tern_topo_create(word, &topo) != TERN_OK) {
        return false;
    }
    uint64_t bytes = kind == TERN_PLAN_BARRIER ? 0 : (uint64_t)n;
    tern_algo_request request = {
        .kind = kind, .topo = topo, .bytes = bytes, .unit = 1, .algorithm = name};
    bool keeps = tern_algo_plan(&request, &plan) == TERN_OK;
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return keeps;
}

// Makes algorithm `index` of each kind the one that calls without a name run.
static int name_environment(int index)
{
    char text[512] = "";
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name = tern_algo_name((tern_plan_kind)kind, index);
        size_t used = strlen(text);
        if (name != NULL) {
            snprintf(text + used, sizeof text - used, "%s%s:%s", used > 0 ? "," : "",
                     tern_plan_kind_name((tern_plan_kind)kind), name);
        }
    }
    CHECK(setenv("TERN_ALGO", text, 1) == 0);
    return 0;
}

static int name_rows(int index, int n)
{
    tern_tune_row rows[TERN_PLAN_KINDS];
    int count = 0;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name = tern_algo_name((tern_plan_kind)kind, index);
        if (name != NULL && keeps_order((tern_plan_kind)kind, name, n)) {
            tern_tune_row *row = &rows[count++];
            *row = (tern_tune_row){.kind = (tern_plan_kind)kind,
                                   .nranks = n,
                                   .small_bytes = 4096,
                                   .chunk_bytes = 65536};
            snprintf(row->small, sizeof row->small, "%s", name);
            snprintf(row->window, sizeof row->window, "%s", name);
            snprintf(row->staged, sizeof row->staged, "%s", name);
        }
    }
    CHECK(tern_tune_use(rows, count) == TERN_OK);
    return 0;
}

// How the last call of this rank's went, on all ranks alike.
static int compare_ways(struct round *round, const struct kit_work *work, const char *name)
{
    tern_comm *comm = round->bench.comms[KIT_WORLD];
    struct tern__recorded calls[TERN__RECORDS];
    int64_t went[2];
    int64_t most[2];
    const struct tern__group *group = &comm->group;
    CHECK(tern__records_read(group->job->ctl, group->members[group->rank], calls) > 0);
    went[0] = calls[0].way;
    went[1] = -went[0];
    CHECK(tern_all_reduce(comm, went, most, 2, TERN_I64, TERN_MAX) == TERN_OK);
    if (most[0] != -most[1]) {
        char text[400];
        kit_describe(work, text, sizeof text);
        fprintf(stderr, "%s: by %s, not the same way on all ranks\n", text, name);
        return 1;
    }
    return 0;
}

// One call, of what is named now.
static int run_case(struct round *round, tern_coll_kind kind, const char *name, int where, int in,
                    int size)
{
    struct kit_bench *bench = &round->bench;
    struct kit_work work;
    struct ref_case c = {.kind = kind,
                         .dtype = TERN_F32,
                         .op = TERN_SUM,
                         .n = bench->n,
                         .root = (int)random_below(&round->seed, (uint64_t)bench->n),
                         .count = kind == TERN_COLL_BARRIER ? 0 : counts[size],
                         .seed = random_below(&round->seed, 1 << 20),
                         .exact = true};
    bool here = ref_has_root(kind) ? in != WHO - 1 : (who[in] >> bench->rank & 1) != 0;
    kit_make(bench, KIT_WORLD, &c, here, (int)places[where], (int)places[where], 0, &work);
    if (round->way == BY_CALL) {
        work.call.algorithm = name;
        work.call.order = TERN_ORDER_ANY;
    }
    kit_fill(&work);
    int status = tern_coll_run(bench->comms[KIT_WORLD], &work.call);
    if (status == TERN_ERR_ARG) {
        CHECK(look_says(name)); // why it cannot: too few ranks, links that are missing
        CHECK(kit_compare(&work, false) == 0);
        return 0;
    }
    CHECK(status == TERN_OK);
    round->made++;
    bool wrong = kit_compare(&work, true) != 0 || compare_ways(round, &work, name) != 0;
    if (!wrong &&
        random_below(&round->seed, 8) == 0) { // and as a request, also one that runs twice
        wrong = kit_run(&work, random_below(&round->seed, 2) == 0 ? KIT_WAIT : KIT_PERSISTENT) != 0;
    }
    if (wrong) {
        fprintf(stderr, "   %s, named by %s, in place: %s\n", name, way_names[round->way],
                in == 0         ? "all ranks"
                : in == WHO - 1 ? "no rank"
                                : "some ranks");
        return 1;
    }
    return 0;
}

// The cases of an algorithm: each size, in windows and elsewhere, with all, some or none of the
// ranks in place; of these a draw.
static int run_algorithm(struct round *round, tern_coll_kind kind, const char *name)
{
    uint64_t share = (round->way == BY_CALL ? 4 : 16) * (SANITIZED ? 4 : 1); // one of so many
    share = share > scale ? share / scale : 1;
    int cases = kind == TERN_COLL_BARRIER ? 1 : WHO * PLACES * COUNTS;
    for (int i = 0; i < cases; i++) {
        int where = i / COUNTS % PLACES;
        int in = i / COUNTS / PLACES;
        bool main_case = where == 0 && in == 0 && !SANITIZED; // windows, all in place: always
        if (main_case || random_below(&round->seed, share) == 0) {
            CHECK(run_case(round, kind, name, where, in, i % COUNTS) == 0);
        }
    }
    return 0;
}

static int run_index(struct round *round, tern_comm *world)
{
    struct kit_bench *bench = &round->bench;
    if (round->way == BY_ENVIRONMENT) {
        CHECK(name_environment(round->index) == 0);
    } else if (round->way == BY_TUNE_ROW) {
        CHECK(name_rows(round->index, bench->n) == 0);
    }
    // What is named holds for communicators that have made no call yet.
    tern_comm *fresh;
    CHECK(tern_comm_split(world, 0, bench->rank, &fresh) == TERN_OK);
    bench->comms[KIT_WORLD] = fresh;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name = tern_algo_name((tern_plan_kind)kind, round->index);
        bool row = round->way != BY_TUNE_ROW ||
                   (name != NULL && keeps_order((tern_plan_kind)kind, name, bench->n));
        if (name != NULL && row) {
            CHECK(run_algorithm(round, (tern_coll_kind)kind, name) == 0);
        }
    }
    bench->comms[KIT_WORLD] = world;
    CHECK(tern_comm_destroy(fresh) == TERN_OK);
    unsetenv("TERN_ALGO");
    CHECK(tern_tune_use(NULL, 0) == TERN_OK);
    return 0;
}

static int run_all(tern_comm *world, void *arg)
{
    struct round round = {.seed = ref_mix(base_seed, (uint64_t)tern_comm_size(world), 0)};
    size_t bytes = COUNT_MAX * 4 * (size_t)tern_comm_size(world);
    CHECK(kit_open(world, bytes, 1, &round.bench) == 0);
    for (round.way = BY_CALL; round.way < WAYS; round.way++) {
        for (round.index = 0; round.index < NAMES_MAX; round.index++) {
            CHECK(run_index(&round, world) == 0);
        }
    }
    CHECK(round.made > 100);
    if (tern_comm_rank(world) == 0) {
        printf("%d ranks: %d calls\n", tern_comm_size(world), round.made);
        fflush(stdout);
    }
    return kit_close(&round.bench);
}

static void every_algorithm_is_right_in_place_on_any_ranks(void **state)
{
    assert_true(ranks_run_counts(1, 8, run_all, NULL, 200));
}

static void and_so_when_inputs_are_read_where_they_lie(void **state)
{
    setenv("TERN_DIRECT", "4096", 1);
    bool right = ranks_run_comm(2, run_all, NULL, 200) && ranks_run_comm(3, run_all, NULL, 200);
    unsetenv("TERN_DIRECT");
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_is_right_in_place_on_any_ranks),
        cmocka_unit_test(and_so_when_inputs_are_read_where_they_lie),
    };
    unsetenv("TERN_ALGO");
    setenv("TERN_TUNE", "", 1);
    base_seed = random_seed();
    scale = kit_number("TERN_TEST_SCALE", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
