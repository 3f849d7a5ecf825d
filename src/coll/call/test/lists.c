// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2, ctest-threads: none
// Buffers that are lists, one for each rank: every kind that has shares, with and without counts,
// by every algorithm, in place or not, wherever the buffers lie, gives the bytes that the same call
// on flat buffers gives, and touches nothing beside them; ranks with lists and ranks without meet
// in one call. What is wrong with a list is a sentence.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/test/kit.h"
#include "tern/algo.h"

enum { MOST = 100003, GAP = 64, SPECIAL_RANKS = 8, UNTOUCHED = 0x5a };

static const tern_coll_kind kinds[] = {
    TERN_COLL_ALL_GATHER,     TERN_COLL_GATHER,     TERN_COLL_SCATTER,
    TERN_COLL_REDUCE_SCATTER, TERN_COLL_ALL_TO_ALL, TERN_COLL_ALL_GATHER_V,
    TERN_COLL_GATHER_V,       TERN_COLL_SCATTER_V,  TERN_COLL_REDUCE_SCATTER_V,
    TERN_COLL_ALL_TO_ALL_V,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

// Where the shares of a list lie: ordinary memory, memory of tern_alloc, every other one of each.
enum place { ORDINARY, GIVEN, MIXED, PLACES };

struct desk {
    tern_comm *comm;
    int rank, n;
    unsigned char *ordinary[2], *given[2]; // in, out
    unsigned char *flat_in, *flat_out;     // of the flat form
    size_t room;                           // of each
    uint64_t state;                        // alike on all ranks
    bool named;                            // an algorithm by the environment
};

static size_t stride_of(size_t bytes)
{
    return (bytes + GAP) / 8 * 8 + 8;
}

// One side of the call as a list: shares in an order of their own, with gaps.
static void lay_out(struct desk *d, bool out, enum place place, const size_t *bytes, void **list)
{
    size_t at = 0;
    for (int i = 0; i < d->n; i++) {
        int share = (i * 3 + 1) % d->n; // other orders where 3 divides n, too: see below
        share = d->n % 3 == 0 ? d->n - 1 - i : share;
        bool given = place == GIVEN || (place == MIXED && i % 2 == 0);
        list[share] = bytes[share] > 0 ? (given ? d->given : d->ordinary)[out] + at : NULL;
        at += stride_of(bytes[share]);
    }
}

// A call in both forms.
struct both {
    tern_coll flat, list;
    size_t element;
    size_t counts[SPECIAL_RANKS], theirs[SPECIAL_RANKS];
    size_t in_shares[SPECIAL_RANKS], out_shares[SPECIAL_RANKS]; // bytes
    void *ins[SPECIAL_RANKS], *outs[SPECIAL_RANKS];
    bool has_in, has_out, in_all, out_all;
};

static void draw_counts(struct desk *d, struct both *b, size_t count)
{
    size_t table[SPECIAL_RANKS][SPECIAL_RANKS];
    const tern_kind_facts *kind = tern_coll_kind_facts(b->flat.kind);
    bool alike = !kind->root && b->flat.kind != TERN_COLL_ALL_TO_ALL_V;
    bool gives = kind->in == TERN_KIND_ALL; // the share of a column
    for (int from = 0; from < d->n; from++) {
        for (int to = 0; to < d->n; to++) {
            table[from][to] = count == 0 ? 0 : random_below(&d->state, count + 1);
            if (from > 0 && (alike || kind->root) && gives) {
                table[from][to] = table[0][to];
            }
            if (to > 0 && (alike || kind->root) && !gives) {
                table[from][to] = table[from][0];
            }
        }
    }
    for (int r = 0; r < d->n; r++) {
        b->counts[r] = table[d->rank][r];
        b->theirs[r] = table[r][d->rank];
    }
    b->flat.count = gives ? table[0][d->rank] : table[d->rank][0];
    b->flat.in_counts = gives ? b->counts : NULL;
    b->flat.out_counts = kind->out == TERN_KIND_ALL ? b->theirs : NULL;
}

static void measure(struct desk *d, struct both *b)
{
    const tern_kind_facts *kind = tern_coll_kind_facts(b->flat.kind);
    b->has_in = kind->root != TERN_KIND_ROOT_FROM || d->rank == b->flat.root;
    b->has_out = kind->root != TERN_KIND_ROOT_TO || d->rank == b->flat.root;
    b->in_all = kind->in == TERN_KIND_ALL;
    b->out_all = kind->out == TERN_KIND_ALL;
    for (int r = 0; r < d->n; r++) {
        size_t in = kind->counts && b->in_all ? b->counts[r] : b->flat.count;
        size_t out = kind->counts && b->out_all ? b->theirs[r] : b->flat.count;
        b->in_shares[r] = b->has_in ? in * b->element : 0;
        b->out_shares[r] = b->has_out ? out * b->element : 0;
    }
}

static size_t total(const struct desk *d, const size_t *shares, bool all)
{
    size_t sum = 0;
    for (int r = 0; r < (all ? d->n : 1); r++) {
        sum += shares[r];
    }
    return sum;
}

// What is in the list form: out of the flat input; and the flat output out of the list's.
static void scatter(const struct desk *d, const unsigned char *flat, void *const *list,
                    const size_t *shares)
{
    for (int r = 0; r < d->n; r++) {
        if (shares[r] > 0) {
            memcpy(list[r], flat, shares[r]);
        }
        flat += shares[r];
    }
}

static int compare(const struct desk *d, const struct both *b)
{
    const unsigned char *flat = d->flat_out;
    for (int r = 0; r < (b->out_all ? d->n : 1); r++) {
        const unsigned char *share =
            b->list.outs != NULL ? b->outs[r]
                                 : (const unsigned char *)b->list.out + (flat - d->flat_out);
        size_t bytes = b->out_shares[r];
        CHECK(bytes == 0 || memcmp(share, flat, bytes) == 0);
        for (size_t i = 0; bytes > 0 && b->list.outs != NULL && i < 8; i++) {
            CHECK(share[bytes + i] == UNTOUCHED);
        }
        flat += bytes;
    }
    return 0;
}

// In place: the shares that the kind allows to be the same are.
static void share_memory(const struct desk *d, struct both *b)
{
    for (int r = 0; r < d->n; r++) {
        if (b->in_all && b->out_all) {
            b->outs[r] = b->ins[r];
        } else if (b->in_all && r == d->rank) {
            b->list.out = b->ins[r];
        } else if (b->out_all && r == d->rank) {
            b->list.in = b->outs[r];
        }
    }
}

// This rank's list form; ranks with a flat one take part, too.
static void make_list(struct desk *d, struct both *b, enum place place, bool in_place, bool lists)
{
    b->list = b->flat;
    memset(d->ordinary[1], UNTOUCHED, d->room);
    memset(d->given[1], UNTOUCHED, d->room);
    if (!lists) {
        b->list.in = b->flat.in;
        b->list.out = b->has_out ? d->given[1] : NULL;
        return;
    }
    if (b->in_all && b->has_in) {
        lay_out(d, false, place, b->in_shares, b->ins);
        b->list.in = NULL;
        b->list.ins = (const void *const *)b->ins;
    }
    if (b->out_all && b->has_out) {
        lay_out(d, true, place, b->out_shares, b->outs);
        b->list.out = NULL;
        b->list.outs = b->outs;
    } else if (b->has_out) {
        b->list.out = d->given[1] + d->room / 2;
    }
    if (in_place && b->has_in && b->has_out) {
        share_memory(d, b);
        if (b->out_all && !b->in_all && b->in_shares[0] > 0) {
            memcpy(b->outs[d->rank], b->flat.in, b->in_shares[0]);
        }
    }
    if (b->list.ins != NULL) { // with what lies behind each share
        for (int r = 0; r < d->n; r++) {
            if (b->in_shares[r] > 0) {
                memset((char *)b->ins[r] + b->in_shares[r], UNTOUCHED, 8);
            }
        }
        scatter(d, b->flat.in, b->ins, b->in_shares);
    }
}

static int run_both(struct desk *d, struct both *b, enum place place, bool in_place)
{
    const tern_kind_facts *kind = tern_coll_kind_facts(b->flat.kind);
    bool lists = (d->rank + (int)random_below(&d->state, 3)) % 4 != 0;
    measure(d, b);
    size_t bytes = total(d, b->in_shares, b->in_all);
    CHECK(total(d, b->out_shares, b->out_all) + bytes < d->room);
    for (size_t i = 0; i < bytes; i++) {
        d->flat_in[i] = (unsigned char)(i * 7 + (size_t)d->rank * 31 + (i >> 9));
    }
    for (size_t i = 0; b->flat.dtype == TERN_F32 && i + 4 <= bytes; i += 4) {
        float value = (float)((i / 4 * 13 + (size_t)d->rank * 7) % 61) / 8;
        memcpy(d->flat_in + i, &value, 4);
    }
    b->flat.in = b->has_in ? d->flat_in : NULL;
    b->flat.out = b->has_out ? d->flat_out : NULL;
    int status = tern_coll_run(d->comm, &b->flat);
    make_list(d, b, place, in_place && !kind->counts, lists);
    if (random_below(&d->state, 2) == 0) {
        tern_request request;
        int started = tern_coll_start(d->comm, &b->list, &request);
        CHECK((started == TERN_OK ? tern_request_wait(&request) : started) == status);
    } else {
        CHECK(tern_coll_run(d->comm, &b->list) == status);
    }
    if (status == TERN_ERR_ARG && (b->flat.algorithm != NULL || getenv("TERN_ALGO") != NULL)) {
        return 0; // the algorithm cannot do such calls
    }
    CHECK(status == TERN_OK);
    if (compare(d, b) != 0) {
        fprintf(stderr, "rank %d of %d: %s by %s of %zu x %s, root %d, place %d, in place %d\n",
                d->rank, d->n, kind->word, b->flat.algorithm != NULL ? b->flat.algorithm : "-",
                b->flat.count, tern_dtype_name(b->flat.dtype), b->flat.root, (int)place, in_place);
        return 1;
    }
    return 0;
}

static int run_kind(struct desk *d, tern_coll_kind which, const char *algorithm)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_U8, TERN_I64, TERN_C128, TERN_BF16};
#ifdef __SANITIZE_THREAD__ // each byte is looked at, twenty times as slowly
    static const size_t counts[] = {0, 3, 200, 5003};
#else
    static const size_t counts[] = {0, 1, 3, 200, 5003, 60001};
#endif
    const tern_kind_facts *kind = tern_coll_kind_facts(which);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct both b = {0};
        b.flat = (tern_coll){.kind = which,
                             .dtype = dtypes[random_below(&d->state, 5)],
                             .count = counts[c],
                             .root = (int)random_below(&d->state, (uint64_t)d->n),
                             .algorithm = algorithm};
        if (kind->sums && b.flat.dtype == TERN_C128) {
            b.flat.dtype = TERN_F32;
        }
        b.element = tern_dtype_size(b.flat.dtype);
        b.flat.count = b.flat.count * b.element > MOST * 4 ? MOST * 4 / b.element : b.flat.count;
        if (kind->counts) {
            draw_counts(d, &b, b.flat.count);
        }
        enum place place = (enum place)random_below(&d->state, PLACES);
        CHECK(run_both(d, &b, place, random_below(&d->state, 2) == 0) == 0);
    }
    return 0;
}

static int open_desk(tern_comm *comm, struct desk *d)
{
    *d = (struct desk){.comm = comm, .rank = tern_comm_rank(comm), .n = tern_comm_size(comm)};
    d->state = 23;
    d->room = 2 * (size_t)d->n * ((size_t)MOST * 4 + 2 * GAP) + 4096;
    d->flat_in = malloc(d->room);
    d->flat_out = malloc(d->room);
    CHECK(d->flat_in != NULL && d->flat_out != NULL);
    for (int i = 0; i < 2; i++) {
        d->ordinary[i] = malloc(d->room);
        CHECK(d->ordinary[i] != NULL);
        CHECK(tern_alloc(comm, d->room, (void **)&d->given[i]) == TERN_OK);
    }
    return 0;
}

static int close_desk(struct desk *d)
{
    for (int i = 0; i < 2; i++) {
        free(d->ordinary[i]);
        CHECK(tern_free(d->given[i]) == TERN_OK);
    }
    free(d->flat_in);
    free(d->flat_out);
    return 0;
}

static int run_lists(tern_comm *comm, void *arg)
{
    static struct desk d;
    CHECK(open_desk(comm, &d) == 0);
    uint64_t rounds = kit_number("TERN_TEST_SCALE", 1);
    for (uint64_t round = 0; round < rounds; round++) {
        for (int k = 0; k < KINDS; k++) {
            CHECK(run_kind(&d, kinds[k], NULL) == 0);
        }
    }
    for (int k = 0; k < KINDS; k++) {
        const char *name;
        for (int i = 0; !tern_coll_kind_facts(kinds[k])->counts &&
                        (name = tern_algo_name((tern_plan_kind)kinds[k], i)) != NULL;
             i++) {
            CHECK(run_kind(&d, kinds[k], name) == 0);
        }
    }
    return close_desk(&d);
}

static void lists_give_what_flat_buffers_give(void **state)
{
    assert_true(ranks_run_counts(1, 6, run_lists, NULL, 200));
}

static void lists_give_the_same_however_algorithms_are_chosen(void **state)
{
    static const char *const words[] = {"all_gather:ring,reduce_scatter:ring,all_to_all:pull",
                                        "TERN_DIRECT=1", "TERN_DIRECT=off"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *direct = strncmp(words[i], "TERN_DIRECT=", 12) == 0 ? words[i] + 12 : NULL;
        const char *variable = direct != NULL ? "TERN_DIRECT" : "TERN_ALGO";
        setenv(variable, direct != NULL ? direct : words[i], 1);
        bool right = ranks_run_comm(3, run_lists, NULL, 100);
        unsetenv(variable);
        assert_true(right);
    }
}

// A file that chooses other sizes and algorithms than what is built in.
static void lists_give_the_same_by_a_tune_file(void **state)
{
    static const char rows[] =
        "tern-tune 1\n"
        "all_gather ranks 2 small pull 200 window direct staged ring 4096\n"
        "reduce_scatter ranks 2 small direct 64 window direct staged direct "
        "2048\n"
        "all_to_all ranks 2 small pull 100 window pull staged pull 1024 "
        "direct 2048 60000\n"
        "gather ranks 2 small pull 300 window pull staged pull 4096\n"
        "scatter ranks 2 small direct 300 window direct staged direct 4096\n";
    char path[] = "/tmp/tern-lists-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, rows, sizeof rows - 1) == (ssize_t)sizeof rows - 1);
    close(fd);
    setenv("TERN_TUNE", path, 1);
    bool right = ranks_run_comm(3, run_lists, NULL, 100);
    unsetenv("TERN_TUNE");
    unlink(path);
    assert_true(right);
}

static int be_wrong(tern_comm *comm, void *arg)
{
    int in[6] = {1, 2, 3, 4, 5, 6};
    int out[6] = {0};
    int rank = tern_comm_rank(comm);
    const void *ins[3] = {in, in + 2, in + 4};
    void *outs[3] = {out, out + 2, out + 4};
    tern_coll call = {
        .kind = TERN_COLL_ALL_TO_ALL, .ins = ins, .outs = outs, .count = 2, .dtype = TERN_I32};
    outs[1] = NULL;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && look_says("outs[1] must not be NULL"));
    outs[1] = out + 1;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG);
    CHECK(look_says("the shares of rank 0 and rank 1 overlap in out"));
    outs[1] = in + 1;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && look_says("in place means"));
    outs[1] = out + 2;
    call.in = in;
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && look_says("in and ins are both given"));
    call = (tern_coll){
        .kind = TERN_COLL_ALL_GATHER, .ins = ins, .outs = outs, .count = 2, .dtype = TERN_I32};
    CHECK(tern_coll_run(comm, &call) == TERN_ERR_ARG && look_says("ins is a list"));
    call.ins = NULL;
    call.in = in + 2L * rank;
    CHECK(tern_coll_run(comm, &call) == TERN_OK);
    CHECK(memcmp(in, out, sizeof in) == 0);
    return 0;
}

static void what_is_wrong_with_a_list_is_a_sentence(void **state)
{
    assert_true(ranks_run_comm(3, be_wrong, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_give_what_flat_buffers_give),
        cmocka_unit_test(lists_give_the_same_however_algorithms_are_chosen),
        cmocka_unit_test(lists_give_the_same_by_a_tune_file),
        cmocka_unit_test(what_is_wrong_with_a_list_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
