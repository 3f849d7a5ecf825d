// SPDX-License-Identifier: Apache-2.0
// ctest-machines: 2, ctest-threads: none
// Elements that are only moved: every kind that moves, by every algorithm, takes them whole, of 1
// to 16 bytes; what would sum them is refused with a sentence, but a function of the caller's; and
// they are part of what ranks agree on.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/algo.h"
#include "tern/coll.h"

enum { DTYPES = 5, GUARD = 32, UNTOUCHED = 0x5a };

static const tern_dtype dtypes[DTYPES] = {TERN_BOOL, TERN_C64, TERN_C128, TERN_F8E4M3, TERN_F8E5M2};
static const size_t counts[] = {0, 1, 3, 1000, 20001};

// Byte i of what goes from one rank to another.
static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)(from * 31 + to * 7 + (int)(i % 1021) + 1);
}

static void fill(unsigned char *at, int from, int to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = byte_of(from, to, i);
    }
}

static bool holds(const unsigned char *at, int from, int to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != byte_of(from, to, i)) {
            return false;
        }
    }
    return true;
}

// One call of a kind without counts for each rank; what each rank says to all is said to rank 0.
static int move(tern_comm *comm, tern_coll *call, unsigned char *in, unsigned char *out)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    const tern_kind_facts *kind = tern_coll_kind_facts(call->kind);
    size_t share = call->count * tern_dtype_size(call->dtype);
    bool has_in = kind->root != TERN_KIND_ROOT_FROM || rank == call->root;
    bool has_out = kind->root != TERN_KIND_ROOT_TO || rank == call->root;
    bool in_all = kind->in == TERN_KIND_ALL;
    size_t out_bytes = !has_out ? 0 : kind->out == TERN_KIND_ALL ? share * (size_t)n : share;
    for (int to = 0; to < (in_all ? n : 1); to++) {
        fill(in + (size_t)to * share, rank, to, share);
    }
    memset(out, UNTOUCHED, share * (size_t)n + GUARD);
    call->in = has_in ? in : NULL;
    call->out = has_out ? out : NULL;
    int status = tern_coll_run(comm, call);
    if (status == TERN_ERR_ARG && call->algorithm != NULL) { // says why this one cannot
        CHECK(look_says(call->algorithm));
        return 0;
    }
    CHECK(status == TERN_OK);
    for (int from = 0; has_out && from < (kind->out == TERN_KIND_ALL ? n : 1); from++) {
        int whose = kind->out == TERN_KIND_ALL ? from : call->root;
        CHECK(holds(out + (size_t)from * share, whose, in_all ? rank : 0, share));
    }
    for (size_t i = 0; i < GUARD; i++) {
        CHECK(out[out_bytes + i] == UNTOUCHED);
    }
    return 0;
}

static int move_each(tern_comm *comm, unsigned char *in, unsigned char *out)
{
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        if (tern_coll_kind_facts((tern_coll_kind)kind)->sums || kind == TERN_COLL_BARRIER) {
            continue;
        }
        for (int d = 0; d < DTYPES; d++) {
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                tern_coll call = {.kind = (tern_coll_kind)kind,
                                  .count = counts[c],
                                  .dtype = dtypes[d],
                                  .root = (int)c % tern_comm_size(comm)};
                CHECK(move(comm, &call, in, out) == 0);
                // Of each algorithm the longest elements, which plans have no unit for.
                for (int i = 0; dtypes[d] == TERN_C128 && c > 0; i++) {
                    call.algorithm = tern_algo_name((tern_plan_kind)kind, i);
                    if (call.algorithm == NULL) {
                        break;
                    }
                    CHECK(move(comm, &call, in, out) == 0);
                }
            }
        }
    }
    return 0;
}

static int move_all(tern_comm *comm, void *arg)
{
    size_t most = (size_t)20001 * 16 * (size_t)tern_comm_size(comm) + GUARD;
    unsigned char *in = malloc(most);
    unsigned char *out = malloc(most);
    (void)arg;
    int wrong = in != NULL && out != NULL ? move_each(comm, in, out) : 1;
    free(in);
    free(out);
    return wrong;
}

static void every_kind_that_moves_moves_them(void **state)
{
    assert_true(ranks_run_comm(3, move_all, NULL, 100));
    assert_true(ranks_run_comm(5, move_all, NULL, 100));
}

// (a + bi)(c + di)
static void multiply(void *accumulator, const void *source, size_t count, void *arg)
{
    double *a = accumulator;
    const double *b = source;
    for (size_t i = 0; i < 2 * count; i += 2) {
        double real = a[i] * b[i] - a[i + 1] * b[i + 1];
        a[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
        a[i] = real;
    }
}

static int sum_them(tern_comm *comm, void *arg)
{
    double in[6] = {0, 1, 2, 0, 1, 1};
    double out[6] = {7, 7, 7, 7, 7, 7};
    for (int d = 0; d < DTYPES; d++) {
        for (int op = TERN_SUM; op < TERN_FUNCTION; op++) {
            CHECK(tern_all_reduce(comm, in, out, 2, dtypes[d], (tern_reduce_op)op) == TERN_ERR_ARG);
            CHECK(look_says("is only moved") && look_says(tern_dtype_name(dtypes[d])));
        }
    }
    CHECK(out[0] == 7);
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = in,
                      .out = out,
                      .count = 3,
                      .dtype = TERN_C128,
                      .op = TERN_FUNCTION,
                      .function = multiply};
    CHECK(tern_coll_run(comm, &call) == TERN_OK); // of 3 ranks: i^3, 2^3, (1 + i)^3
    CHECK(out[0] == 0 && out[1] == -1 && out[2] == 8 && out[3] == 0 && out[4] == -2 && out[5] == 2);
    return 0;
}

static void only_the_callers_function_sums_them(void **state)
{
    assert_true(ranks_run_comm(3, sum_them, NULL, 30));
}

// Elements of the same size.
static int disagree(tern_comm *comm, void *arg)
{
    const bool *message = arg;
    int rank = tern_comm_rank(comm);
    double in[4] = {1, 2, 3, 4};
    double out[12] = {0};
    tern_dtype dtype = rank == 0 ? TERN_C64 : TERN_F64;
    int status = !*message  ? tern_all_gather(comm, in, out, 4, dtype)
                 : rank > 0 ? tern_recv(comm, out, 4, dtype, 0)
                            : tern_send(comm, in, 4, dtype, 1);
    if (*message && rank != 1) {
        return 0;
    }
    CHECK(status == TERN_ERR_MISMATCH);
    CHECK(look_says("c64") && look_says("f64"));
    CHECK(out[0] == 0 && out[4] == 0);
    return 0;
}

static void ranks_must_agree_on_them(void **state)
{
    bool message = false;
    assert_true(ranks_run_comm(3, disagree, &message, 30));
    message = true;
    assert_true(ranks_run_comm(2, disagree, &message, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_that_moves_moves_them),
        cmocka_unit_test(only_the_callers_function_sums_them),
        cmocka_unit_test(ranks_must_agree_on_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
