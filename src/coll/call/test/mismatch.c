// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2
// Ranks that disagree: seeded random calls in which one rank, or two, differ in kind, count, dtype,
// op, root, order, algorithm, order of calls, or in the counts of a v-collective. With
// TERN_AGREE=strict every rank gets TERN_ERR_MISMATCH in that call, with a sentence that names who
// differs and both things said, and no byte of any out is written. With TERN_AGREE=early a rank may
// end a rooted call that it has no part of the disagreement in: then its out is right, and it gets
// the same error in the next call that waits for all. That communicator stays failed, and others
// work on. TERN_TEST_CASES says how many of each.
#include <poll.h>

#include "coll/call/test/random.h"

enum { BYTES = 100000, PER_JOB = 6, WORD_BYTES = 48 };

static uint64_t base_seed;
static _Atomic int *met; // see meet

enum difference { KIND, COUNT, DTYPE, OP, ROOT, ORDER, ALGORITHM, SEQUENCE, COUNTS, MESSAGE, ENDS };

static const char *const differences[] = {"kind",  "count",     "dtype",    "op",     "root",
                                          "order", "algorithm", "sequence", "counts", "message"};

enum { BLOCKING, STARTED, PREPARED, WAYS };

// What the ranks are about to do; the same on all of them.
struct trial {
    enum difference difference;
    int n;
    int victims[2];           // who differ; the second may be the first
    struct ref_case calls[2]; // as most make it; as the victims do
    const char *algorithms[2];
    tern_order orders[2];
    int pair; // of COUNTS: the other rank
    bool in_place;
    int places[2];
    int way;                  // in which the calls are made
    char said[2][WORD_BYTES]; // what the sentence must mention
};

static void say_bytes(const struct ref_case *c, size_t count, char *to)
{
    snprintf(to, WORD_BYTES, "%zu", count * ref_element(c));
}

static bool change_kind(struct trial *t, uint64_t *state)
{
    t->calls[1].kind = (tern_coll_kind)random_below(state, TERN_COLL_SCATTER_V + 1);
    if (!ref_reduces(t->calls[1].kind)) {
        t->calls[1].op = TERN_SUM;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(t->said[i], WORD_BYTES, "%s", tern_coll_kind_name(t->calls[i].kind));
    }
    return t->calls[0].kind != t->calls[1].kind;
}

static bool change_count(struct trial *t, uint64_t *state)
{
    size_t count = t->calls[0].count;
    size_t counts[] = {count + 1, count / 2, 0, count + 100, count - (count > 0)};
    t->calls[1].count = counts[random_below(state, 5)];
    for (int i = 0; i < 2; i++) {
        say_bytes(&t->calls[i], t->calls[i].count, t->said[i]);
    }
    return !ref_is_v(t->calls[0].kind) && t->calls[0].count != t->calls[1].count;
}

static bool change_dtype(struct trial *t, uint64_t *state)
{
    t->calls[1].dtype = (tern_dtype)random_below(state, 12);
    t->calls[1].op = t->calls[0].op = TERN_SUM;
    if (random_below(state, 2) == 0) { // the same number of bytes
        size_t bytes = t->calls[0].count * ref_element(&t->calls[0]);
        t->calls[1].count = bytes / ref_element(&t->calls[1]);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(t->said[i], WORD_BYTES, "%s", tern_dtype_name(t->calls[i].dtype));
    }
    return t->calls[0].dtype != t->calls[1].dtype;
}

static bool change_op(struct trial *t, uint64_t *state)
{
    t->calls[0].dtype = (tern_dtype)(TERN_I8 + (int)random_below(state, 8)); // all ops fit
    t->calls[1] = t->calls[0];
    t->calls[1].op = (tern_reduce_op)random_below(state, TERN_FUNCTION + 1);
    for (int i = 0; i < 2; i++) {
        snprintf(t->said[i], WORD_BYTES, "%s", tern_reduce_op_name(t->calls[i].op));
    }
    return ref_reduces(t->calls[0].kind) && t->calls[0].op != t->calls[1].op;
}

static bool change_root(struct trial *t, uint64_t *state)
{
    t->calls[1].root = (int)random_below(state, (uint64_t)t->n);
    for (int i = 0; i < 2; i++) {
        snprintf(t->said[i], WORD_BYTES, "root %d", t->calls[i].root);
    }
    return ref_has_root(t->calls[0].kind) && t->calls[0].root != t->calls[1].root;
}

static bool change_order(struct trial *t, uint64_t *state)
{
    t->orders[random_below(state, 2)] = TERN_ORDER_ANY;
    snprintf(t->said[0], WORD_BYTES, "any order");
    snprintf(t->said[1], WORD_BYTES, "any order");
    return ref_reduces(t->calls[0].kind);
}

static bool change_algorithm(struct trial *t, uint64_t *state)
{
    static const struct {
        tern_coll_kind kind;
        const char *names[2];
    } rows[] = {
        // the second is never selected by itself
        {TERN_COLL_ALL_REDUCE, {"fused", "tree"}},
        {TERN_COLL_REDUCE_SCATTER, {"direct", "ring"}},
        {TERN_COLL_ALL_GATHER, {"direct", "ring"}},
        {TERN_COLL_BROADCAST, {"direct", "tree"}},
        // between machines
        {TERN_COLL_ALL_REDUCE, {"one_shot", "one"}},
        {TERN_COLL_REDUCE_SCATTER, {"direct", "one"}},
        {TERN_COLL_ALL_GATHER, {"direct", "one"}},
        {TERN_COLL_BROADCAST, {"direct", "chain"}},
    };
    uint64_t row = random_below(state, 4) + (kit_is_spread() ? 4 : 0);
    bool none = random_below(state, 2) == 0;
    t->calls[0].kind = t->calls[1].kind = rows[row].kind;
    t->calls[0].op = t->calls[1].op = TERN_SUM;
    t->orders[0] = t->orders[1] = TERN_ORDER_ANY;
    for (int i = 0; i < 2; i++) {
        t->algorithms[i] = none && i == 0 ? NULL : rows[row].names[i];
        snprintf(t->said[i], WORD_BYTES, "%s", rows[row].names[none ? 1 : i]);
    }
    return true;
}

// The first is followed by the second, for the victims the other way round.
static bool change_sequence(struct trial *t, uint64_t *state)
{
    uint64_t seed = t->calls[1].seed + 1;
    bool other_kind = change_kind(t, state);
    t->calls[1].seed = seed;
    return other_kind && t->calls[0].kind <= TERN_COLL_SCATTER_V;
}

// One count of the victim's; of the pair of it and another.
static bool change_counts(struct trial *t, uint64_t *state)
{
    const struct ref_case *c = &t->calls[0];
    t->pair = (int)random_below(state, (uint64_t)t->n);
    t->victims[1] = t->victims[0];
    t->calls[0].spread = t->calls[1].spread = false;
    bool rooted = c->kind == TERN_COLL_GATHER_V || c->kind == TERN_COLL_SCATTER_V;
    if (rooted && t->victims[0] != c->root) {
        t->pair = c->root;
    }
    return ref_is_v(c->kind) && t->pair != t->victims[0];
}

static bool change_message(struct trial *t, uint64_t *state)
{
    t->calls[0].kind = t->calls[1].kind = TERN_COLL_SEND;
    t->pair = (t->victims[0] + 1) % t->n;
    t->victims[1] = t->victims[0];
    return random_below(state, 2) == 0 ? change_count(t, state) : change_dtype(t, state);
}

static bool change(struct trial *t, uint64_t *state)
{
    static bool (*const changes[])(struct trial *, uint64_t *) = {change_kind,      change_count,
                                                                  change_dtype,     change_op,
                                                                  change_root,      change_order,
                                                                  change_algorithm, change_sequence,
                                                                  change_counts,    change_message};
    return changes[t->difference](t, state);
}

static bool too_large(const struct ref_case *c)
{
    return c->count * ref_element(c) > BYTES + 2000;
}

static struct trial draw_trial(int n, uint64_t *state)
{
    struct trial t;
    do {
        t = (struct trial){.difference = (enum difference)random_below(state, ENDS), .n = n};
        t.victims[0] = t.victims[1] = (int)random_below(state, (uint64_t)n);
        if (n >= 5 && random_below(state, 4) == 0) {
            t.victims[1] = (int)random_below(state, (uint64_t)n);
        }
        t.calls[0] = random_case(state, random_below(state, 2) == 0 ? BYTES : 100);
        t.calls[0].root %= n;
        t.calls[0].n = n;
        if (t.calls[0].kind == TERN_COLL_BARRIER) {
            t.calls[0].count = 0;
        }
        t.calls[1] = t.calls[0];
        t.in_place = random_below(state, 4) == 0;
        t.places[0] = (int)random_below(state, 4);
        t.places[1] = (int)random_below(state, 4);
        t.way = (int)random_below(state, WAYS);
    } while ((t.calls[0].kind > TERN_COLL_SCATTER_V && t.difference != MESSAGE) ||
             (t.calls[0].kind == TERN_COLL_BARRIER && t.difference != KIND) || !change(&t, state) ||
             too_large(&t.calls[0]) || too_large(&t.calls[1]));
    return t;
}

// Sets one count of this rank's call off by one.
static void spoil_counts(struct trial *t, struct kit_work *w)
{
    size_t *own = &w->call.count;
    size_t *counts;
    bool out = t->calls[0].seed % 2 == 0;
    switch (w->c.kind) {
    case TERN_COLL_GATHER_V:
    case TERN_COLL_SCATTER_V:
        counts = w->c.kind == TERN_COLL_GATHER_V ? w->shares.out_counts : w->shares.in_counts;
        own = w->rank == w->c.root ? &counts[t->pair] : own;
        break;
    case TERN_COLL_REDUCE_SCATTER_V:
        own = &w->shares.in_counts[t->pair];
        break;
    case TERN_COLL_ALL_GATHER_V:
        own = &w->shares.out_counts[t->pair];
        break;
    default:
        own = out ? &w->shares.out_counts[t->pair] : &w->shares.in_counts[t->pair];
    }
    ++*own;
    w->call.in = w->in; // it may have been without elements
    w->call.out = w->out;
}

// What COUNTS must say: the count as the pair has it, and one more.
static void say_counts(struct trial *t)
{
    struct ref_shares shares;
    const struct ref_case *c = &t->calls[0];
    ref_shares(c, t->victims[0], &shares);
    bool own = (c->kind == TERN_COLL_GATHER_V || c->kind == TERN_COLL_SCATTER_V) &&
               t->victims[0] != c->root;
    bool out = c->kind == TERN_COLL_ALL_TO_ALL_V
                   ? c->seed % 2 == 0
                   : c->kind == TERN_COLL_GATHER_V || c->kind == TERN_COLL_ALL_GATHER_V;
    int which = own ? t->victims[0] : t->pair;
    size_t count = out || (own && c->kind == TERN_COLL_SCATTER_V) ? shares.out_counts[which]
                                                                  : shares.in_counts[which];
    say_bytes(c, count, t->said[0]);
    say_bytes(c, count + 1, t->said[1]);
}

static int run(struct kit_work *w, int way)
{
    tern_comm *comm = w->bench->comms[w->comm];
    int status;
    if (way == BLOCKING) {
        return tern_coll_run(comm, &w->call);
    }
    // Who comes late learns at once that two others disagree.
    if (way == STARTED) {
        status = tern_coll_start(comm, &w->call, &w->requests[0]);
        CHECK(status == TERN_OK || status == TERN_ERR_MISMATCH);
        status = status == TERN_OK ? tern_request_wait(&w->requests[0]) : status;
    } else {
        status = tern_coll_prepare(comm, &w->call, &w->requests[0]);
        CHECK(status == TERN_OK || status == TERN_ERR_MISMATCH);
        if (status != TERN_OK) {
            return status;
        }
        status = tern_request_start(w->requests[0]);
        CHECK(status == TERN_OK || status == TERN_ERR_MISMATCH);
        status = status == TERN_OK ? tern_request_wait(&w->requests[0]) : status;
        CHECK(tern_request_free(&w->requests[0]) == TERN_OK);
    }
    CHECK(w->requests[0] == 0);
    return status;
}

// The sentence of the failure, on any rank.
static int check_sentence(const struct trial *t)
{
    char names[2][WORD_BYTES];
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], WORD_BYTES, "rank %d", t->victims[i]);
    }
    if (!kit_mentions(names[0]) && !kit_mentions(names[1])) {
        fprintf(stderr, "%s or %s is not in: %s\n", names[0], names[1], tern_last_error());
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        if (!kit_mentions(t->said[i])) {
            fprintf(stderr, "'%s' is not in: %s\n", t->said[i], tern_last_error());
            return 1;
        }
    }
    return 0;
}

// How a call that others disagree with has ended: it has failed, or it was none of this rank's
// business; then the next one fails that waits for all.
static int check_end(const struct trial *t, struct kit_work *w, int status)
{
    tern_comm *comm = w->bench->comms[w->comm];
    if (status == TERN_OK && kit_may_be_early(w->c.kind)) {
        // With a count off by one at the root, the shares behind it begin elsewhere.
        bool moved = t->difference == COUNTS && t->victims[0] == w->c.root && w->rank > t->pair;
        CHECK(moved || kit_compare(w, true) == 0);
        CHECK(tern_barrier(comm) == TERN_ERR_MISMATCH);
        return check_sentence(t);
    }
    CHECK(status == TERN_ERR_MISMATCH);
    CHECK(check_sentence(t) == 0);
    // From a root elsewhere, with which it agrees, pieces may have come before the failure.
    return kit_is_spread() && kit_may_be_early(w->c.kind) ? 0 : kit_compare(w, false);
}

static int run_sequence(struct trial *t, struct kit_bench *bench, bool victim)
{
    struct kit_work works[2];
    int first = victim ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        kit_make(bench, KIT_WORLD, &t->calls[i], false, t->places[0], t->places[1], i, &works[i]);
        kit_fill(&works[i]);
    }
    int statuses[2];
    if (t->way == BLOCKING) {
        for (int i = 0; i < 2; i++) {
            statuses[first ^ i] = tern_coll_run(bench->comms[KIT_WORLD], &works[first ^ i].call);
        }
    } else {
        tern_request requests[2] = {0};
        for (int i = 0; i < 2; i++) {
            int at = first ^ i;
            statuses[at] = tern_coll_start(bench->comms[KIT_WORLD], &works[at].call, &requests[at]);
        }
        for (int i = 0; i < 2; i++) {
            int status = tern_request_wait(&requests[i]); // 0 counts as ended
            statuses[i] = statuses[i] == TERN_OK ? status : statuses[i];
        }
        CHECK(requests[0] == 0 && requests[1] == 0);
    }
    bool second_ran = statuses[1 - first] == TERN_OK;
    CHECK(statuses[first] == TERN_OK || !second_ran);
    for (int i = 0; i < 2; i++) {
        CHECK(check_end(t, &works[i], statuses[i]) == 0);
    }
    return 0;
}

// The victim sends something else than the next rank receives.
static int run_message(struct trial *t, struct kit_bench *bench)
{
    struct kit_work work;
    tern_comm *comm = bench->comms[KIT_WORLD];
    bool sends = bench->rank == t->victims[0];
    bool receives = bench->rank == t->pair;
    kit_make(bench, KIT_WORLD, &t->calls[sends ? 1 : 0], false, t->places[0], t->places[1], 0,
             &work);
    kit_fill(&work);
    if (sends) {
        work.call = kit_sending(&work);
        int status = run(&work, t->way);
        CHECK(status == TERN_OK || status == TERN_ERR_MISMATCH);
    }
    if (receives) {
        work.call = kit_receive(&work);
        CHECK(run(&work, t->way) == TERN_ERR_MISMATCH);
        CHECK(check_sentence(t) == 0);
    }
    CHECK(tern_barrier(comm) == TERN_ERR_MISMATCH);
    CHECK(check_sentence(t) == 0);
    return kit_compare(&work, false);
}

static int run_trial(struct trial *t, struct kit_bench *bench)
{
    bool victim = bench->rank == t->victims[0] || bench->rank == t->victims[1];
    struct kit_work work;
    if (t->difference == COUNTS) {
        say_counts(t);
    }
    if (t->difference == SEQUENCE) {
        return run_sequence(t, bench, victim);
    }
    if (t->difference == MESSAGE) {
        return run_message(t, bench);
    }
    kit_make(bench, KIT_WORLD, &t->calls[victim], t->in_place, t->places[0], t->places[1], 0,
             &work);
    kit_fill(&work);
    work.call.order = t->orders[victim];
    work.call.algorithm = t->algorithms[victim];
    if (victim && t->difference == COUNTS) {
        spoil_counts(t, &work);
    }
    int status = run(&work, t->way);
    return check_end(t, &work, status);
}

// What is left of a communicator whose ranks disagreed.
static int check_failed(tern_comm *comm)
{
    const char *why;
    char first[1024];
    float in = 1;
    float out = 0;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = &in, .out = &out, .count = 1};
    tern_request request = 0;
    CHECK(tern_comm_health(comm) == TERN_ERR_MISMATCH);
    snprintf(first, sizeof first, "%s", tern_last_error());
    why = strstr(first, "rank");
    CHECK(tern_barrier(comm) == TERN_ERR_MISMATCH);
    CHECK(why != NULL && look_says(why)); // the same reason
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_MISMATCH);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH);
    int status = tern_coll_start(comm, &call, &request);
    CHECK(status == TERN_ERR_MISMATCH ||
          (status == TERN_OK && tern_request_wait(&request) == TERN_ERR_MISMATCH));
    CHECK(request == 0 && out == 0);
    return 0;
}

// Between machines a failure may overtake the end of the call before it: all have ended that one.
static void meet(int n, int trial)
{
    (*met)++;
    while (kit_is_spread() && *met < n * (trial + 1)) {
        poll(NULL, 0, 1);
    }
}

static int disagree(tern_comm *world, void *arg)
{
    uint64_t state = *(const uint64_t *)arg;
    struct kit_bench bench;
    int n = tern_comm_size(world);
    CHECK(kit_open(world, random_most(BYTES + 2000, n), 2, &bench) == 0);
    for (int i = 0; i < PER_JOB; i++) {
        struct trial trial = draw_trial(n, &state);
        tern_comm *child = NULL;
        float in = 1;
        float out = 0;
        if (i < PER_JOB - 1) { // the last fails the world itself
            CHECK(tern_comm_split(world, 0, bench.rank, &child) == TERN_OK);
            bench.comms[KIT_WORLD] = child;
        }
        meet(n, i);
        kit_dawdle(&bench, state);
        if (run_trial(&trial, &bench) != 0 || check_failed(bench.comms[KIT_WORLD]) != 0) {
            fprintf(stderr, "   trial %d: %s of rank %d or %d of %d, way %d, %s of %zu\n", i,
                    differences[trial.difference], trial.victims[0], trial.victims[1], n, trial.way,
                    tern_coll_kind_name(trial.calls[0].kind), trial.calls[0].count);
            return 1;
        }
        bench.comms[KIT_WORLD] = world;
        if (child != NULL) {
            CHECK(tern_comm_destroy(child) == TERN_OK);
            CHECK(tern_all_reduce(world, &in, &out, 1, TERN_F32, TERN_SUM) == TERN_OK);
            CHECK(out == (float)n);
        }
    }
    return kit_close(&bench);
}

static void run_cases(const char *agree)
{
    static const int sizes[] = {2, 3, 5, 8};
    uint64_t cases = kit_number("TERN_TEST_CASES", 240);
    setenv("TERN_AGREE", agree, 1);
    for (uint64_t job = 0; job * PER_JOB < cases; job++) {
        uint64_t seed = ref_mix(base_seed, job, 3);
        *met = 0;
        if (!ranks_run_comm(sizes[job % 4], disagree, &seed, 40)) {
            fail_msg("job %llu of seed %llu, %s", (unsigned long long)job,
                     (unsigned long long)base_seed, agree);
        }
    }
}

static void ranks_that_disagree_all_learn_who_said_what(void **state)
{
    run_cases("strict");
}

static void ranks_that_may_end_early_learn_it_in_the_next_call_that_waits_for_all(void **state)
{
    run_cases("early");
}

#ifdef __SANITIZE_THREAD__
// Between machines a large call begins when the ranks here have come (run.c): a rank elsewhere that
// makes another call may then write where this one reads, in slots that are tern's own. What comes
// of it is never shown, as all must have come before the end: check_end compares.
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:tern__lanes_sweep\nrace:tern__net_receive\n";
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_disagree_all_learn_who_said_what),
        cmocka_unit_test(ranks_that_may_end_early_learn_it_in_the_next_call_that_waits_for_all),
    };
    base_seed = random_seed();
    met = ranks_shared(sizeof *met);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
