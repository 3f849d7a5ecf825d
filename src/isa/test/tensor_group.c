// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, broadcast and reduce by one root: every shape, every root, right and nothing
// else touched; the order in which a reduction goes through the ranks, and where it rounds.
#include "isa/test/tensor_cases.h"

#include "base/half.h"

enum kind { GATHER, SCATTER, BROADCAST, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, KINDS };

// What the instruction does to `out` on this rank: an OUT area as it should be, in b->wanted.
struct goal {
    enum kind kind;
    const struct tensor_case *c;
    int64_t gap;
    int root;
};

static int64_t first_of(int rank)
{
    return 100 * rank;
}

// The numbers of all ranks in dimension 3, where the area begins at `data`.
static tern_tensor whole(const struct goal *g, int n, void *data)
{
    int64_t shape[5];
    memcpy(shape, g->c->shape, sizeof shape);
    shape[3] *= n;
    return case_tensor(data, g->c->dtype, shape, g->gap);
}

static tern_tensor share(const struct goal *g, const tern_tensor *all, int rank)
{
    tern_tensor part = *all;
    part.shape[3] = g->c->shape[3];
    part.data = (char *)all->data +
                rank * part.shape[3] * part.stride[3] * (int64_t)tern_dtype_size(g->c->dtype);
    return part;
}

static void fill_sums(const struct goal *g, int n, const tern_tensor *to)
{
    for (int64_t i = 0; i < case_count(to->shape); i++) {
        int64_t sum = n * i + 100 * (int64_t)(n * (n - 1) / 2);
        int64_t most = i + 100 * (int64_t)(n - 1);
        case_put_number(to->dtype, case_at(to, i),
                        g->kind == REDUCE_SUM   ? sum
                        : g->kind == REDUCE_MAX ? most
                                                : i);
    }
}

static int judge(const struct case_bench *b, const struct goal *g)
{
    bool root = b->rank == g->root;
    memset(b->wanted, POISON, b->area);
    tern_tensor own = case_tensor(b->wanted, g->c->dtype, g->c->shape, g->gap);
    if (g->kind == GATHER && root) {
        tern_tensor all = whole(g, b->n, b->wanted);
        for (int rank = 0; rank < b->n; rank++) {
            tern_tensor part = share(g, &all, rank);
            case_fill(&part, first_of(rank));
        }
    } else if (g->kind == SCATTER || g->kind == BROADCAST) {
        case_fill(&own, first_of(g->kind == SCATTER ? b->rank : g->root));
    } else if (g->kind >= REDUCE_SUM && root) {
        fill_sums(g, b->n, &own);
    }
    CHECK(memcmp(b->wanted, case_area(b, b->rank, CASE_OUT), b->area) == 0);
    return 0;
}

static int run(const struct case_bench *b, const struct goal *g)
{
    tern_tensor tensors[8];
    enum case_place place = g->kind == SCATTER || g->kind == BROADCAST ? CASE_OUT : CASE_IN;
    tern_tile ping = case_tile(b, g->c, 0);
    tern_tile pong = case_tile(b, g->c, 1);
    tern_tile acc = ping; // its memory is scratch
    tern_tile *second = g->c->two_tiles ? &pong : NULL;
    for (int rank = 0; rank < b->n; rank++) {
        tensors[rank] = case_tensor(case_area(b, rank, place), g->c->dtype, g->c->shape, g->gap);
    }
    tern_group group = {tensors, b->n, g->root};
    tern_tensor out = tensors[g->root];
    out.data = case_area(b, g->root, CASE_OUT);
    tern_tensor in = out;
    in.data = case_area(b, g->root, CASE_IN);
    tern_tensor all_out = whole(g, b->n, out.data);
    tern_tensor all_in = whole(g, b->n, in.data);
    switch (g->kind) {
    case GATHER:
        return tern_group_gather(&group, &all_out, &ping, second);
    case SCATTER:
        for (int rank = 0; rank < b->n; rank++) {
            tern_tensor part = share(g, &all_in, rank);
            case_fill(&part, first_of(rank));
        }
        return tern_group_scatter(&group, &all_in, &ping, second);
    case BROADCAST:
        return tern_group_broadcast(&group, &in, &ping, second);
    case REDUCE_SUM:
        return tern_group_reduce(&group, &out, &acc, &ping, second, TERN_SUM);
    case REDUCE_MAX:
        return tern_group_reduce(&group, &out, &acc, &ping, second, TERN_MAX);
    default:
        return tern_group_reduce(&group, &out, &acc, &ping, second, TERN_MIN);
    }
}

static int together(tern_comm *comm, void *arg)
{
    struct case_bench b;
    CHECK(case_open(comm, &b) == 0);
    for (int i = 0; i < TENSOR_CASES; i++) {
        const struct tensor_case *c = &tensor_cases[i];
        size_t bytes = (size_t)case_count(c->shape) * tern_dtype_size(c->dtype);
        bool reduces = c->dtype != TERN_F16 && c->dtype != TERN_U8; // bits; and maxima that wrap
        for (int kind = 0; kind < (reduces ? KINDS : REDUCE_SUM); kind++) {
            struct goal g = {(enum kind)kind, c, i % 3, kind % 2 == 0 ? 0 : b.n - 1};
            if ((kind == GATHER || kind == SCATTER) && bytes * (size_t)b.n > AREA / 2) {
                continue;
            }
            g.gap = bytes > AREA / 4 ? 0 : g.gap;
            tern_tensor own =
                case_tensor(case_area(&b, b.rank, CASE_IN), c->dtype, c->shape, g.gap);
            case_begin(&b, bytes * (size_t)(kind == GATHER ? b.n : 1));
            memset(case_area(&b, b.rank, CASE_OUT), POISON, b.area);
            case_fill(&own, first_of(b.rank));
            CHECK(tern_comm_barrier(comm) == TERN_OK);
            CHECK(b.rank != g.root || run(&b, &g) == TERN_OK);
            CHECK(tern_comm_barrier(comm) == TERN_OK);
            if (judge(&b, &g) != 0) {
                fprintf(stderr, "case %d, kind %d, root %d of %d\n", i, kind, g.root, b.n);
                return 1;
            }
        }
    }
    return case_close(&b);
}

static void every_shape_is_right(void **state)
{
    const int counts[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_true(ranks_run_comm(counts[i], together, NULL, 120));
    }
    assert_true(machines_run_comm("abb", together, NULL, 120));
}

// ((root + 0) + 1) + 2: with root 1 of 3, and numbers of which each order gives another sum.
static void sums_begin_with_the_root(void **state)
{
    float values[3] = {1e8F, 5.0F, -1e8F};
    float sum = 0;
    float memory[2][8];
    tern_tensor tensors[3];
    for (int rank = 0; rank < 3; rank++) {
        tensors[rank] = tern_tensor_1d(&values[rank], TERN_F32, 1);
    }
    tern_tensor to = tern_tensor_1d(&sum, TERN_F32, 1);
    tern_tile acc = tern_tile_2d(memory[0], TERN_F32, 1, 8);
    tern_tile recv = tern_tile_2d(memory[1], TERN_F32, 1, 8);
    for (int root = 0; root < 3; root++) {
        const tern_group group = {tensors, 3, root};
        volatile float wanted = values[root];
        for (int rank = 0; rank < 3; rank++) {
            if (rank != root) {
                wanted = wanted + values[rank];
            }
        }
        assert_int_equal(tern_group_reduce(&group, &to, &acc, &recv, NULL, TERN_SUM), 0);
        assert_true(sum == wanted);
    }
    assert_true(5.0F + 1e8F - 1e8F != -1e8F + 1e8F + 5.0F); // the orders differ
}

// 2048 + 1 is 2048 in f16, and so again: a wider accumulator would make 2050 of it.
static void each_step_is_rounded_to_the_dtype(void **state)
{
    uint16_t values[3][40];
    uint16_t sums[40];
    uint16_t memory[2][48];
    tern_tensor tensors[3];
    for (int i = 0; i < 40; i++) {
        values[0][i] = 0x6800; // 2048
        values[1][i] = values[2][i] = 0x3c00;
    }
    for (int rank = 0; rank < 3; rank++) {
        tensors[rank] = tern_tensor_2d(values[rank], TERN_F16, 5, 8, 8);
    }
    tern_tensor to = tern_tensor_2d(sums, TERN_F16, 5, 8, 8);
    tern_tile acc = tern_tile_2d(memory[0], TERN_F16, 1, 48);
    tern_tile recv = tern_tile_2d(memory[1], TERN_F16, 1, 48);
    const tern_group group = {tensors, 3, 0};
    acc.valid_columns = recv.valid_columns = 8;
    assert_int_equal(tern_group_reduce(&group, &to, &acc, &recv, NULL, TERN_SUM), 0);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(sums[i], 0x6800);
    }
}

// Long rows go in blocks, and elements apart from one another one by one.
static void long_and_scattered_rows_are_reduced(void **state)
{
    enum { N = 5000 };
    static int32_t in[3][2 * N];
    static int32_t out[3 * N];
    static int32_t memory[2][N];
    for (int apart = 1; apart <= 2; apart++) {
        tern_tensor tensors[3];
        for (int rank = 0; rank < 3; rank++) {
            for (int i = 0; i < 2 * N; i++) {
                in[rank][i] = i * (rank + 1);
            }
            tensors[rank] = tern_tensor_1d(in[rank], TERN_I32, N);
            tensors[rank].stride[4] = apart;
        }
        for (int step = 1; step <= 3; step += 2) {
            memset(out, 0, sizeof out);
            tern_tensor to = tern_tensor_1d(out, TERN_I32, N);
            to.stride[4] = step;
            tern_tile acc = tern_tile_2d(memory[0], TERN_I32, 1, N);
            tern_tile recv = tern_tile_2d(memory[1], TERN_I32, 1, N);
            const tern_group group = {tensors, 3, 2};
            assert_int_equal(tern_group_reduce(&group, &to, &acc, &recv, NULL, TERN_SUM), 0);
            for (int i = 0; i < 3 * N; i++) {
                bool there = i % step == 0 && i / step < N;
                assert_int_equal(out[i], there ? i / step * apart * 6 : 0);
            }
        }
    }
}

// Numbers that every dtype holds, as do their sums; bytes without a sign on both sides of 128.
static void put_small(tern_dtype dtype, void *to, int number)
{
    uint16_t half =
        dtype == TERN_BF16 ? tern__f32_to_bf16((float)number) : tern__f32_to_f16((float)number);
    int64_t integer = number;
    float f32 = (float)number;
    double f64 = number;
    const void *bits = dtype == TERN_F32                         ? (const void *)&f32
                       : dtype == TERN_F64                       ? (const void *)&f64
                       : dtype == TERN_F16 || dtype == TERN_BF16 ? (const void *)&half
                                                                 : (const void *)&integer;
    memcpy(to, bits, tern_dtype_size(dtype));
}

static void every_dtype_is_reduced(void **state)
{
    enum { N = 37, RANKS = 5 };
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_F64,
                                        TERN_I8,  TERN_U8,  TERN_I16,  TERN_U16,
                                        TERN_I32, TERN_U32, TERN_I64,  TERN_U64};
    static const tern_reduce_op ops[] = {TERN_SUM, TERN_MAX, TERN_MIN};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        tern_dtype dtype = dtypes[d];
        size_t element = tern_dtype_size(dtype);
        bool is_unsigned =
            dtype == TERN_U8 || dtype == TERN_U16 || dtype == TERN_U32 || dtype == TERN_U64;
        for (int o = 0; o < 3; o++) {
            alignas(8) char in[RANKS][N * 8];
            alignas(8) char out[N * 8];
            alignas(8) char wanted[N * 8];
            alignas(8) char memory[2][N * 8];
            tern_tensor tensors[RANKS];
            for (int i = 0; i < N; i++) {
                int result = 0;
                for (int rank = 0; rank < RANKS; rank++) {
                    int number = (i * 7 + rank * 11) % 19 + (is_unsigned ? 120 : -9);
                    bool better = o == 1 ? number > result : number < result;
                    result = rank == 0 ? number
                             : o == 0  ? result + number
                             : better  ? number
                                       : result;
                    put_small(dtype, in[rank] + (size_t)i * element, number);
                }
                put_small(dtype, wanted + (size_t)i * element, result);
            }
            for (int rank = 0; rank < RANKS; rank++) {
                tensors[rank] = tern_tensor_1d(in[rank], dtype, N);
            }
            tern_tensor to = tern_tensor_1d(out, dtype, N);
            tern_tile acc = tern_tile_2d(memory[0], dtype, 1, N);
            tern_tile recv = tern_tile_2d(memory[1], dtype, 1, N);
            const tern_group group = {tensors, RANKS, (int)(d % RANKS)};
            assert_int_equal(tern_group_reduce(&group, &to, &acc, &recv, NULL, ops[o]), 0);
            assert_memory_equal(out, wanted, N * element);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_right),
        cmocka_unit_test(sums_begin_with_the_root),
        cmocka_unit_test(each_step_is_rounded_to_the_dtype),
        cmocka_unit_test(every_dtype_is_reduced),
        cmocka_unit_test(long_and_scattered_rows_are_reduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
