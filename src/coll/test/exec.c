// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// Every algorithm executed: ranks are processes, 1 to 8 of them and 16, sizes are odd, each plan
// runs three times on other data. What the checker calls a sum in rank order must have the bits of
// the naive sum in rank order; other orders are compared on whole numbers, which are exact in any
// order.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/half.h"
#include "support/kinds.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/exec.h"
#include "tern/window.h"

enum { UNITS_MAX = 12289, RUNS = 3 };

struct subject {
    tern_algo_request request;
    const tern_plan_spec *spec;
    bool whole; // the data are whole numbers
    int run;
    int rank;
};

static float input_at(const struct subject *subject, int rank, uint64_t i)
{
    uint64_t hash = (uint64_t)(subject->run * 1000 + rank + 1) * UINT64_C(0x9e3779b97f4a7c15) + i;
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    if (subject->whole) {
        return (float)(int)(hash % 1000) - 500;
    }
    return (float)(int64_t)hash * 0x1p-60f; // many digits, so that the order of a sum shows
}

static float sum_at(const struct subject *subject, uint64_t i)
{
    float sum = input_at(subject, 0, i);
    for (int rank = 1; rank < subject->spec->nranks; rank++) {
        sum += input_at(subject, rank, i);
    }
    return sum;
}

// Of a rank that has no output by the plan's kind, what lies there stays.
static float untouched(void)
{
    float value;
    memset(&value, 0xff, sizeof value);
    return value;
}

static float expected_at(const struct subject *subject, uint64_t i)
{
    uint64_t share = subject->spec->bytes / 4 / (uint64_t)subject->spec->nranks;
    uint64_t own = share * (uint64_t)subject->rank;
    tern_plan_kind kind = subject->spec->kind;
    bool ends_at_root = kind == TERN_PLAN_REDUCE_TO_ROOT || kind == TERN_PLAN_GATHER;
    if (ends_at_root && subject->rank != subject->spec->root) {
        return untouched();
    }
    switch (kind) {
    case TERN_PLAN_ALL_REDUCE:
    case TERN_PLAN_REDUCE_TO_ROOT:
        return sum_at(subject, i);
    case TERN_PLAN_REDUCE_SCATTER:
        return sum_at(subject, own + i);
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        return input_at(subject, (int)(i / share), i % share);
    case TERN_PLAN_BROADCAST:
        return input_at(subject, subject->spec->root, i);
    case TERN_PLAN_SCATTER:
        return input_at(subject, subject->spec->root, own + i);
    case TERN_PLAN_ALL_TO_ALL:
        return input_at(subject, (int)(i / share), own + i % share);
    default:
        return 0;
    }
}

static int run_plan(tern_comm *comm, struct subject *subject, const tern_plan *plan,
                    tern_exec_options *options)
{
    tern_exec *exec;
    float *in = tern_window_address(options->in, subject->rank);
    float *out = tern_window_address(options->out, subject->rank);
    uint64_t in_count = tern_plan_buffer_bytes(plan, TERN_PLAN_IN) / 4;
    uint64_t out_count = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT) / 4;
    CHECK(tern_exec_create(comm, plan, options, &exec) == TERN_OK);
    for (subject->run = 0; subject->run < RUNS; subject->run++) {
        for (uint64_t i = 0; i < in_count; i++) {
            in[i] = input_at(subject, subject->rank, i);
        }
        memset(out, 0xff, out_count * sizeof *out);
        CHECK(tern_exec_run(exec) == TERN_OK);
        for (uint64_t i = 0; i < out_count; i++) {
            float expected = expected_at(subject, i);
            if (tern__f32_to_bits(out[i]) != tern__f32_to_bits(expected)) {
                fprintf(stderr, "%s %s, %d ranks, rank %d, run %d: out[%llu] is %a, not %a\n",
                        tern_plan_kind_name(subject->spec->kind), subject->spec->algorithm,
                        subject->spec->nranks, subject->rank, subject->run, (unsigned long long)i,
                        (double)out[i], (double)expected);
                return 1;
            }
        }
    }
    CHECK(tern_exec_destroy(exec) == TERN_OK);
    return 0;
}

// Emits and runs one plan; nothing when the algorithm says that it cannot.
static int try_plan(tern_comm *comm, struct subject *subject, tern_exec_options *options)
{
    tern_plan *plan;
    tern_check *check;
    int status = tern_algo_plan(&subject->request, &plan);
    if (status == TERN_ERR_ARG) {
        return 0;
    }
    CHECK(status == TERN_OK);
    CHECK(tern_check_plan(plan, subject->request.topo, &check) == TERN_OK);
    CHECK(tern_check_proved(check));
    subject->whole = tern_check_sum_order(check) == TERN_CHECK_ORDER_FIXED;
    subject->spec = tern_plan_get_spec(plan);
    subject->rank = tern_comm_rank(comm);
    int result = run_plan(comm, subject, plan, options);
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    return result;
}

static int run_topo(tern_comm *comm, const tern_topo *topo, tern_exec_options *options)
{
    static const uint64_t sizes[] = {0, 1, 7, 1000, UNITS_MAX};
    int n = tern_comm_size(comm);
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        bool shares = kind_has_shares((tern_plan_kind)kind);
        bool rooted = kind_has_root((tern_plan_kind)kind);
        for (int s = 0; s < 5; s++) {
            uint64_t units = shares ? sizes[s] / (uint64_t)n * (uint64_t)n : sizes[s];
            struct subject subject = {.request = {.kind = (tern_plan_kind)kind,
                                                  .topo = topo,
                                                  .unit = 4,
                                                  .order = TERN_ORDER_ANY,
                                                  .root = rooted ? n - 1 : 0}};
            subject.request.bytes = kind == TERN_PLAN_BARRIER ? 0 : units * 4;
            for (int i = 0; tern_algo_name(subject.request.kind, i) != NULL; i++) {
                subject.request.algorithm = tern_algo_name(subject.request.kind, i);
                if (try_plan(comm, &subject, options) != 0) {
                    return 1;
                }
            }
        }
    }
    return 0;
}

static int run_all(tern_comm *comm, void *arg)
{
    const char *cut = arg;
    char word[16];
    tern_topo *topo;
    tern_exec_options options = {.dtype = TERN_F32};
    snprintf(word, sizeof word, "mesh:%d", tern_comm_size(comm));
    CHECK(tern_topo_create(word, &topo) == TERN_OK);
    CHECK(cut == NULL || tern_topo_cut(topo, cut) == TERN_OK);
    CHECK(tern_window_create(comm, UNITS_MAX * 4, NULL, &options.in) == TERN_OK);
    CHECK(tern_window_create(comm, UNITS_MAX * 4, NULL, &options.out) == TERN_OK);
    int result = run_topo(comm, topo, &options);
    tern_window_destroy(options.in);
    tern_window_destroy(options.out);
    tern_topo_destroy(topo);
    return result;
}

static void every_algorithm_runs_right(void **state)
{
    for (int n = 1; n <= 8; n += 1 + SANITIZED) {
        assert_true(ranks_run_comm(n, run_all, NULL, 120));
    }
    assert_true(ranks_run_comm(16, run_all, NULL, 120));
}

static void a_cut_link_is_gone_around(void **state)
{
    static char cuts[3][4] = {"0-1", "1-3", "2-3"};
    for (int n = 4; n <= 8; n += 1 + SANITIZED) {
        assert_true(ranks_run_comm(n, run_all, cuts[n % 3], 120));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_runs_right),
        cmocka_unit_test(a_cut_link_is_gone_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
