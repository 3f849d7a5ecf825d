// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2, ctest-threads: none
// A long life in short: seeded random calls of all kinds on communicators that overlap, blocking,
// non-blocking and persistent, every result compared with the reference; and after a warm-up the
// process holds no more memory, descriptors or mappings than before. TERN_TEST_CALLS says how many.
#include <malloc.h>

#include "coll/call/call.h"
#include "coll/call/test/random.h"

enum { BYTES = 24000, PREPARED = 6, LARGE = 1 << 20 };

static uint64_t base_seed;

struct soak {
    struct kit_bench bench, large; // the second for a few calls of many bytes
    struct random_calls calls;
    struct kit_work prepared[PREPARED];
    struct kit_bench prepared_bench;
    uint64_t state;
};

// What the process holds.
struct held {
    long heap_kib, all_kib, mapped_kib;
    int descriptors, mappings;
};

static int count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    int count = 0;
    for (int c; file != NULL && (c = fgetc(file)) != EOF;) {
        count += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

// Memory of its own. VmRSS also counts pages of windows from when they are first touched, of which
// there are more than random calls touch in a short time; VmSize bounds them.
static long own_kib(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long value = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "RssAnon: %ld", &value);
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

static struct held look(void)
{
    return (struct held){.heap_kib = own_kib(),
                         .all_kib = look_kib("VmRSS:"),
                         .mapped_kib = look_kib("VmSize:"),
                         .descriptors = look_fds(),
                         .mappings = count_mappings()};
}

// Calls need the steps of their own rank: none keeps a plan, which is of all ranks.
static bool keeps_no_plans(const tern_comm *comm)
{
    const struct tern__calls *calls = comm->calls;
    for (int i = 0; i < TERN_PLAN_KINDS * 2; i++) {
        const struct tern__program *program = calls->selections[i / 2][i % 2].programs;
        for (; program != NULL; program = program->next) {
            if (program->plan != NULL || program->trimmed != NULL) {
                return false;
            }
        }
    }
    return true;
}

// Since `before`, in the second half of the calls.
static int check_held(tern_comm *world, const struct held *before, uint64_t calls, long most_kib)
{
    struct held after = look();
    if (tern_comm_rank(world) == 0) {
        printf("%llu calls on %d ranks; rank 0 in the second half: own memory %+ld KiB, all %+ld "
               "KiB of %ld\n",
               (unsigned long long)calls, tern_comm_size(world), after.heap_kib - before->heap_kib,
               after.all_kib - before->all_kib, before->all_kib);
    }
    // To ranks of other machines there are connections, both ways, from when they are first used;
    // and the thread that looks who lives may have a file open for a moment.
    int more = kit_is_spread() ? 2 * tern_comm_size(world) : 0;
    CHECK(after.descriptors >= before->descriptors - (more > 0) &&
          after.descriptors <= before->descriptors + more);
    if (!SANITIZED) {
        if (after.mappings > before->mappings + 1) {
            printf("rank %d: %ld mappings were %ld; mapped %+ld KiB\n", tern_comm_rank(world),
                   (long)after.mappings, (long)before->mappings,
                   after.mapped_kib - before->mapped_kib);
        }
        CHECK(after.mappings <= before->mappings + 1); // the allocator's
        CHECK(after.heap_kib - before->heap_kib < most_kib);
        CHECK(after.mapped_kib - before->mapped_kib < 1024); // windows included
    }
    return 0;
}

static int prepare(struct soak *s, int i)
{
    struct ref_case c = random_case(&s->state, BYTES);
    enum kit_comm comm = (enum kit_comm)random_below(&s->state, KIT_COMMS);
    int places = (int)random_below(&s->calls.state, KIT_PLACES * KIT_PLACES);
    kit_make(&s->prepared_bench, comm, &c, random_below(&s->state, 4) == 0, places % KIT_PLACES,
             places / KIT_PLACES, i, &s->prepared[i]);
    CHECK(kit_prepare(&s->prepared[i]) == TERN_OK);
    return 0;
}

static int run_prepared(struct soak *s)
{
    int i = (int)random_below(&s->state, PREPARED);
    struct kit_work *work = &s->prepared[i];
    if (random_below(&s->state, 10) == 0) {
        CHECK(kit_release(work) == TERN_OK);
        CHECK(prepare(s, i) == 0);
    }
    uint64_t seed = random_below(&s->state, UINT64_C(1) << 32);
    work->c.seed = ref_is_v(work->c.kind) ? work->c.seed : seed;
    kit_fill(work);
    CHECK(kit_begin(work) == TERN_OK);
    CHECK(random_end_some(&s->calls) == 0);
    CHECK(kit_wait(work) >= 0);
    return kit_compare(work, true);
}

static int run_blocking(struct soak *s, struct kit_bench *bench, size_t bytes)
{
    struct ref_case c = random_case(&s->state, bytes);
    struct kit_work work;
    enum kit_comm comm = (enum kit_comm)random_below(&s->state, KIT_COMMS);
    bool in_place = random_below(&s->state, 4) == 0;
    int places = (int)random_below(&s->state, KIT_PLACES * KIT_PLACES);
    bool by_name = random_below(&s->state, 2) == 0 && c.op != TERN_FUNCTION;
    kit_make(bench, comm, &c, in_place, places % KIT_PLACES, places / KIT_PLACES, bench->slots - 1,
             &work);
    return kit_run(&work, by_name ? KIT_BY_NAME : KIT_RUN);
}

static int run_started(struct soak *s)
{
    struct ref_case c = random_case(&s->state, BYTES);
    enum kit_comm comm = (enum kit_comm)random_below(&s->state, KIT_COMMS);
    while (s->calls.count > 0 &&
           (random_free_slot(&s->calls) < 0 || random_below(&s->calls.state, 2) == 0)) {
        CHECK(random_end_some(&s->calls) == 0);
    }
    return random_start(&s->calls, comm, &c);
}

// So that it is not seen to grow later.
static void touch_heap(struct kit_bench *bench)
{
    memset(bench->heap, 1, bench->region_bytes * 2 * (size_t)bench->slots);
    memset(bench->scratch, 1, bench->region_bytes);
}

static int open_all(tern_comm *world, struct soak *s)
{
    int n = tern_comm_size(world);
    CHECK(kit_open(world, random_most(BYTES, n), 12, &s->bench) == 0);
    CHECK(kit_open(world, random_most(BYTES, n), PREPARED + 1, &s->prepared_bench) == 0);
    CHECK(kit_open(world, random_most(LARGE, n), 1, &s->large) == 0);
    touch_heap(&s->bench);
    touch_heap(&s->prepared_bench);
    touch_heap(&s->large);
    s->state = base_seed;
    s->calls =
        (struct random_calls){.bench = &s->bench,
                              .state = ref_mix(base_seed, 7, (uint64_t)tern_comm_rank(world))};
    for (int i = 0; i < PREPARED; i++) {
        CHECK(prepare(s, i) == 0);
    }
    return 0;
}

static int close_all(struct soak *s)
{
    CHECK(random_end_all(&s->calls) == 0);
    for (int i = 0; i < PREPARED; i++) {
        CHECK(kit_release(&s->prepared[i]) == TERN_OK);
    }
    CHECK(kit_close(&s->large) == 0);
    CHECK(kit_close(&s->prepared_bench) == 0);
    return kit_close(&s->bench);
}

static int soak(tern_comm *world, void *arg)
{
    static struct soak s;
    uint64_t calls = *(const uint64_t *)arg;
    struct held before = {0};
    CHECK(open_all(world, &s) == 0);
    for (uint64_t i = 0; i < calls; i++) {
        if (i == calls / 2) {
            CHECK(random_end_all(&s.calls) == 0);
            before = look();
        }
        uint64_t chance = random_below(&s.state, 500);
        kit_dawdle(&s.bench, i);
        if (chance == 0) {
            CHECK(run_blocking(&s, &s.large, LARGE) == 0);
        } else if (chance < 200) {
            CHECK(run_blocking(&s, &s.prepared_bench, BYTES) == 0);
        } else if (chance < 300) {
            CHECK(run_prepared(&s) == 0);
        } else {
            CHECK(run_started(&s) == 0);
        }
    }
    CHECK(random_end_all(&s.calls) == 0);
    CHECK(check_held(world, &before, calls, 1024) == 0);
    CHECK(keeps_no_plans(world));
    return close_all(&s);
}

static void random_calls_are_right_and_leave_nothing(void **state)
{
    uint64_t calls = kit_number("TERN_TEST_CALLS", kit_is_spread() ? 10000 : 20000);
    uint64_t of_three = calls / 2;
    uint64_t of_eight = calls - of_three;
    assert_true(ranks_run_comm(3, soak, &of_three, 10 + (double)calls / 100));
    assert_true(ranks_run_comm(8, soak, &of_eight, 10 + (double)calls / 100));
}

// Communicators that come and go, and calls of many sizes by algorithms whose plans are made for
// one size: the plans that are kept for them are freed again.
static int come_and_go(tern_comm *world, void *arg)
{
    static const char *const one_machine[] = {"ring", "tree", "two_shot", NULL};
    static const char *const several[] = {"one", "two", "chain", NULL};
    const char *const *names = kit_is_spread() ? several : one_machine;
    enum { ROUNDS = 600, MOST = 3000 };
    static float in[MOST];
    static float out[MOST];
    struct held before = {0};
    for (int i = 0; i < ROUNDS; i++) {
        tern_comm *part;
        tern_request request = 0;
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                          .in = in,
                          .out = out,
                          .count = (size_t)(i * 37) % MOST + 1,
                          .order = TERN_ORDER_ANY,
                          .algorithm = names[i % 4]};
        if (i == ROUNDS / 2) {
            before = look();
        }
        for (size_t k = 0; k < call.count; k++) {
            in[k] = (float)((int)k % 100 + i);
        }
        CHECK(tern_comm_split(world, 0, 0, &part) == TERN_OK);
        CHECK(tern_coll_prepare(part, &call, &request) == TERN_OK);
        for (int run = 0; run < 2; run++) {
            memset(out, 0, sizeof out);
            CHECK(tern_request_start(request) == TERN_OK);
            CHECK(tern_request_wait(&request) >= 0);
            CHECK(tern_coll_run(world, &call) == TERN_OK);
            for (size_t k = 0; k < call.count; k++) {
                CHECK(out[k] == in[k] * (float)tern_comm_size(world));
            }
        }
        CHECK(tern_request_free(&request) == TERN_OK);
        CHECK(tern_comm_destroy(part) == TERN_OK);
    }
    return check_held(world, &before, ROUNDS, ROUNDS / 2);
}

static void communicators_and_shapes_that_come_and_go_leave_nothing(void **state)
{
    assert_true(ranks_run_comm(1, come_and_go, NULL, 60));
    assert_true(ranks_run_comm(3, come_and_go, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_are_right_and_leave_nothing),
        cmocka_unit_test(communicators_and_shapes_that_come_and_go_leave_nothing),
    };
    mallopt(M_ARENA_MAX, 1); // else a thread that meets another one there gets mappings of its own
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
