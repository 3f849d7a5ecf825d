// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-threads: none
// Calls on ordinary memory that ranks read out of each other: right, bit for bit, wherever the
// buffers are, and recorded as what they are; what a rank may not read goes through slots; a buffer
// that is no memory and a rank that dies in the middle become sentences.
#include "coll/call/test/calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/kind.h"
#include "coll/call/call.h"
#include "coll/record_algorithm.h"
#include "comm/comm.h"
#include "sync/record_text.h"

enum { FROM = 4096, SHARE_MAX = 70000, LARGE = 8 << 20 };

static const tern_coll_kind kinds[] = {
    TERN_COLL_ALL_GATHER,       TERN_COLL_BROADCAST, TERN_COLL_ALL_TO_ALL,
    TERN_COLL_GATHER,           TERN_COLL_SCATTER,   TERN_COLL_ALL_GATHER_V,
    TERN_COLL_ALL_TO_ALL_V,     TERN_COLL_GATHER_V,  TERN_COLL_SCATTER_V,
    TERN_COLL_ALL_REDUCE,       TERN_COLL_REDUCE,    TERN_COLL_REDUCE_SCATTER,
    TERN_COLL_REDUCE_SCATTER_V, TERN_COLL_SEND,
};

static const int places[][2] = {
    {KIT_HEAP, KIT_HEAP}, {KIT_BYTE, KIT_BYTE},   {KIT_ODD, KIT_HEAP}, {KIT_HEAP, KIT_ODD},
    {KIT_PART, KIT_BYTE}, {KIT_HEAP, KIT_WINDOW}, {KIT_TWO, KIT_HEAP}, {KIT_BYTE, KIT_ALLOC},
};

// How the last collective call of this rank has travelled.
static const char *last_way(const tern_comm *comm)
{
    struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    int count = tern__records_read(group->job->ctl, group->members[group->rank], calls);
    return count > 0 ? tern__way_name(calls[0].way) : "none";
}

static int run_case(struct kit_bench *bench, const struct ref_case *c, int place, int *seen)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        struct kit_work work;
        // One rank of them in place, or all.
        bool here = in_place != 0 && (c->count % 2 == 0 || bench->rank == 1);
        kit_make(bench, place % 3 == 2 ? KIT_BACKWARDS : KIT_WORLD, c, here, places[place][0],
                 places[place][1], 0, &work);
        CHECK(kit_run(&work, place % 2 == 0 ? KIT_RUN : KIT_WAIT) == 0);
        *seen += strcmp(last_way(bench->comms[work.comm]), "direct") == 0;
    }
    return 0;
}

static int run_matrix(tern_comm *world, void *arg)
{
    static const size_t bytes[] = {FROM - 8, FROM, FROM + 24, 20008, 65536, SHARE_MAX};
    static const tern_dtype dtypes[] = {TERN_U8, TERN_BF16, TERN_F32, TERN_I64};
    static const tern_reduce_op ops[] = {TERN_SUM, TERN_AVG, TERN_MAX};
    struct kit_bench bench;
    int n = tern_comm_size(world);
    const char *wanted = arg; // how calls travel; NULL: through slots
    CHECK(kit_open(world, (size_t)SHARE_MAX * 2 * (size_t)n, 1, &bench) == 0);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int direct = 0;
        for (int place = 0; place < (int)(sizeof places / sizeof places[0]); place++) {
            size_t turn = k + (size_t)place;
            size_t size = bytes[turn % (sizeof bytes / sizeof bytes[0])];
            struct ref_case c = {.kind = kinds[k], .dtype = dtypes[turn % 4], .op = ops[place % 3]};
            c.count = size / tern_dtype_size(c.dtype);
            c.root = place;
            c.seed = 100 * turn + k;
            CHECK(run_case(&bench, &c, place, &direct) == 0);
        }
        bool leaves = kinds[k] == TERN_COLL_GATHER_V && n > 2; // who gives little
        bool moves = kinds[k] != TERN_COLL_SEND && wanted != NULL && n > 1;
        CHECK(moves ? direct > 0 || leaves : direct == 0);
    }
    return kit_close(&bench);
}

static void results_are_right_wherever_the_buffers_are(void **state)
{
    assert_true(ranks_run_counts(1, 8, run_matrix, "direct", 200));
}

static void without_it_slots_do_the_same(void **state)
{
    setenv("TERN_DIRECT", "off", 1);
    bool right = ranks_run_comm(3, run_matrix, NULL, 100);
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(right);
}

// Sums that take several runs, by a function whose order shows: in place on no rank, on all, on
// one; prepared, so that the second start finds what the first one has left.
static void add_in_order(void *accumulator, const void *source, size_t count, void *arg)
{
    uint32_t *to = accumulator;
    const uint32_t *from = source;
    for (size_t i = 0; i < count; i++) {
        to[i] = 3 * to[i] + from[i];
    }
}

static uint32_t give(int rank, size_t i, int turn)
{
    return (uint32_t)((size_t)(rank + 2) * 2654435761U + i * 40503U + (size_t)turn);
}

static int compare_sums(const tern_coll *call, int n, int turn)
{
    const uint32_t *out = (const uint32_t *)call->out;
    for (size_t i = 0; i < call->count; i++) {
        uint32_t wanted = give(0, i, turn);
        for (int rank = 1; rank < n; rank++) {
            wanted = 3 * wanted + give(rank, i, turn);
        }
        CHECK(out[i] == wanted);
    }
    return 0;
}

static int sum_in_pieces(tern_comm *comm, void *arg)
{
    enum { WORDS = 450000 };
    static const size_t counts[] = {20000, 65536, 65537, 196611, WORDS};
    static uint32_t in[WORDS];
    static uint32_t out[WORDS];
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    for (int turn = 0; turn < 5 * 2 * 3; turn++) {
        bool root = turn / 5 % 2 == 0 || rank == turn % n;
        bool here = root && (turn / 10 == 1 || (turn / 10 == 2 && rank == turn % n));
        tern_coll call = {.kind = turn / 5 % 2 == 0 ? TERN_COLL_ALL_REDUCE : TERN_COLL_REDUCE,
                          .in = here ? out : in,
                          .out = root ? out : NULL,
                          .count = counts[turn % 5],
                          .root = turn % n,
                          .dtype = TERN_U32,
                          .op = TERN_FUNCTION,
                          .function = add_in_order};
        tern_request request;
        CHECK(tern_coll_prepare(comm, &call, &request) == TERN_OK);
        for (int start = 0; start < 2; start++) {
            for (size_t i = 0; i < call.count; i++) {
                out[i] = 0;
                ((uint32_t *)(uintptr_t)call.in)[i] = give(rank, i, turn + start);
            }
            CHECK(tern_request_start(request) == TERN_OK);
            CHECK(tern_request_wait(&request) == TERN_OK);
            // Who comes back may write: nobody reads the input any more.
            for (size_t i = 0; !here && i < call.count; i++) {
                in[i] = 0;
            }
            CHECK(strcmp(last_way(comm), "direct") == 0);
            CHECK(!root || compare_sums(&call, n, turn + start) == 0);
        }
        CHECK(tern_request_free(&request) == TERN_OK);
    }
    return 0;
}

static void sums_of_several_runs_are_right(void **state)
{
    assert_true(ranks_run_counts(2, 5, sum_in_pieces, NULL, 100));
}

static const char *last_algorithm(const tern_comm *comm)
{
    static struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    int count = tern__records_read(group->job->ctl, group->members[group->rank], calls);
    return count > 0 ? tern__record_algorithm(&calls[0]) : "none";
}

// Of few bytes each rank reads all it needs, where nobody is in place that it would read then.
static int sum_few(tern_comm *comm, void *arg)
{
    enum { FEW = 128 << 10 }; // all that two ranks read is twice as much
    static uint8_t in[2 * FEW + 1];
    static uint8_t out[2 * FEW + 1];
    bool two = tern_comm_size(comm) == 2;
    for (int turn = 0; turn < 6; turn++) {
        size_t bytes = FEW + (turn % 2 != 0);
        bool here = turn / 2 == 1 && tern_comm_rank(comm) == 1;
        bool few = two && turn % 2 == 0;
        memset(here ? out : in, 3 + tern_comm_rank(comm), bytes);
        if (turn / 2 < 2) {
            const void *from = here ? out : in;
            CHECK(tern_all_reduce(comm, from, out, bytes, TERN_U8, TERN_MAX) == TERN_OK);
            few = few && turn / 2 == 0;
        } else {
            bytes = (two ? (size_t)2 * FEW : FEW) + (turn % 2 != 0);
            few = turn % 2 == 0;
            memset(in, 3 + tern_comm_rank(comm), bytes);
            CHECK(tern_reduce(comm, in, out, bytes, TERN_U8, TERN_MAX, 0) == TERN_OK);
        }
        const char *algorithm = !few ? "staged" : turn / 2 < 2 ? "one_shot" : "pull";
        CHECK(strcmp(last_way(comm), "direct") == 0);
        CHECK(strcmp(last_algorithm(comm), algorithm) == 0);
        uint8_t most = (uint8_t)(2 + tern_comm_size(comm));
        CHECK(turn / 2 == 2 && tern_comm_rank(comm) != 0
                  ? true
                  : out[0] == most && out[bytes - 1] == most);
    }
    return 0;
}

static void few_bytes_are_read_by_all_who_need_them(void **state)
{
    assert_true(ranks_run_counts(2, 3, sum_few, NULL, 60));
}

static int forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    return 0;
}

// A message to the next rank.
static int pass_on(tern_comm *comm, const char *in, char *out)
{
    int n = tern_comm_size(comm);
    tern_request request;
    tern_coll receiving = {.kind = TERN_COLL_RECV, .out = out, .count = LARGE, .dtype = TERN_U8};
    receiving.root = (tern_comm_rank(comm) + n - 1) % n;
    int status = tern_coll_start(comm, &receiving, &request);
    int next = (tern_comm_rank(comm) + 1) % n;
    status = status < 0 ? status : tern_send(comm, in, LARGE, TERN_U8, next);
    int received = status < 0 ? status : tern_request_wait(&request);
    return status < 0 ? status : received;
}

// What rank 1 does before it joins.
enum { READS, CANNOT, WILL_NOT };

static int exchange_much(int rank, const struct ranks *ranks, void *arg)
{
    int does = *(int *)arg;
    tern_comm *comm;
    size_t share = (size_t)LARGE / (size_t)ranks->count;
    static char in[LARGE];
    static char out[LARGE];
    if (rank == 1 && does == WILL_NOT) {
        CHECK(setenv("TERN_DIRECT", "off", 1) == 0);
    } else if (rank == 1 && does == CANNOT) {
        CHECK(forbid() == 0);
    }
    tern_tune_row row;
    CHECK(tern_tune_get_built_in(TERN_PLAN_ALL_TO_ALL, ranks->count, &row) == TERN_OK);
    row.direct_from = FROM;
    row.direct_to = 0;
    CHECK(tern_tune_use(&row, 1) == TERN_OK);
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    memset(in, rank, LARGE);
    CHECK(tern_all_to_all(comm, in, out, share, TERN_U8) == TERN_OK);
    CHECK(strcmp(last_way(comm), does == READS ? "direct" : "staged") == 0);
    for (int from = 0; from < ranks->count; from++) {
        CHECK(out[(size_t)from * share] == from && out[((size_t)from + 1) * share - 1] == from);
    }
    CHECK(pass_on(comm, in, out) == TERN_OK);
    int before = (rank + ranks->count - 1) % ranks->count;
    CHECK(out[0] == before && out[LARGE / 2] == before && out[LARGE - 1] == before);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void what_one_rank_may_not_nobody_does(void **state)
{
    for (int does = READS; does <= WILL_NOT; does++) {
        unsetenv("TERN_DIRECT");
        bool right = ranks_run(3, exchange_much, &does, 60);
        setenv("TERN_DIRECT", "4096", 1); // messages, too, with more ranks than processors
        assert_true(right && (does == WILL_NOT || ranks_run(3, exchange_much, &does, 60)));
    }
}

// To the nth processor that this process may use; false when there are not that many.
static bool bind_to(int nth, int wanted)
{
    cpu_set_t all;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < wanted) {
        return false;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && nth-- == 0) {
            CPU_SET(cpu, &one);
        }
    }
    return CPU_COUNT(&one) == 1 && sched_setaffinity(0, sizeof one, &one) == 0;
}

// What rank 0 writes into a message after it has started to send it arrives when rank 1 reads it
// where it lies, and not when it was copied.
static int change_what_is_sent(tern_comm *comm, size_t bytes, bool arrives)
{
    static char buffer[LARGE];
    tern_request request = 0;
    tern_coll call = {
        .kind = TERN_COLL_SEND, .in = buffer, .count = bytes, .dtype = TERN_U8, .root = 1};
    buffer[0] = 0;
    if (tern_comm_rank(comm) == 0) {
        CHECK(tern_coll_start(comm, &call, &request) == TERN_OK);
        buffer[0] = 1;
    }
    CHECK(tern_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        return tern_request_wait(&request);
    }
    CHECK(tern_recv(comm, buffer, bytes, TERN_U8, 0) == TERN_OK);
    CHECK(buffer[0] == arrives);
    return 0;
}

// What has been measured, on all ranks: as it takes many votes to change, it stays so.
static int set_distance(tern_comm *comm, bool is_long, bool past)
{
    struct tern__calls *calls = comm->calls;
    CHECK(tern_barrier(comm) == TERN_OK);
    calls->distance.past = past;
    tern__poke(calls->distance.votes, is_long ? TERN__DISTANCE_VOTES : 0);
    CHECK(tern__distance_is_long(&calls->distance) == is_long);
    return tern_barrier(comm);
}

// The least is more than half of what a mailbox has room for, if the ranks are far from each other,
// or more than all of it; less, where nothing goes past the caches. Near ones that have a processor
// each never read where it lies.
static int change_small_and_large(tern_comm *comm, bool is_long, bool past)
{
    bool alone = tern__job_ladder(comm->group.job).alone;
    size_t room = (size_t)TERN__MAIL_SLOTS * TERN__MAIL_BYTES;
    size_t copied = alone ? room / 2 : room;
    bool reads = !alone || is_long;
    if (is_long && !past) {
        copied = (alone ? ((size_t)16 << 10) : room / 2) - 1;
    }
    CHECK(set_distance(comm, is_long, past) == 0);
    CHECK(change_what_is_sent(comm, copied, false) == 0);
    CHECK(change_what_is_sent(comm, copied + 1, reads) == 0);
    return change_what_is_sent(comm, LARGE, reads);
}

static int send_from_own_processors(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    bool bound = bind_to(rank, ranks->count);
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(tern_barrier(comm) == TERN_OK);
    CHECK(!bound || tern__job_ladder(comm->group.job).alone);
    for (int i = 0; i < 4; i++) {
        CHECK(change_small_and_large(comm, i % 2 != 0, i / 2 != 0) == 0);
    }
    tern__job_add_threads(comm->group.job, 1000); // no rank has a processor for itself
    CHECK(tern_barrier(comm) == TERN_OK);
    CHECK(!tern__job_ladder(comm->group.job).alone);
    for (int i = 0; i < 4; i++) {
        CHECK(change_small_and_large(comm, i % 2 != 0, i / 2 != 0) == 0);
    }
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void messages_are_read_where_they_lie_if_they_are_large(void **state)
{
    unsetenv("TERN_DIRECT");
    bool right = ranks_run(2, send_from_own_processors, NULL, 60);
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(right);
}

static int move(tern_comm *comm, tern_coll_kind kind, size_t bytes)
{
    size_t n = (size_t)tern_comm_size(comm);
    char *in = calloc(n, bytes);
    char *out = calloc(n, bytes);
    tern_coll call = {.kind = kind, .in = in, .out = out, .count = bytes, .dtype = TERN_U8};
    int status = tern_coll_run(comm, &call); // TERN_ERR_ARG without memory
    free(in);
    free(out);
    CHECK(status == TERN_OK);
    return 0;
}

// What the choice says: from which size of a share on, and up to which.
static int keep_to_the_sizes(tern_comm *comm, void *arg)
{
    int bounded = 0;
    const tern_tune_row *tuned = arg; // for gather; or what is built in holds, said by rows
    tern_tune_row rows[TERN_PLAN_KINDS];
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        CHECK(tern_tune_get_built_in((tern_plan_kind)kind, tern_comm_size(comm), &rows[kind]) ==
              TERN_OK);
    }
    CHECK(tern_tune_use(tuned != NULL ? tuned : rows, tuned != NULL ? 1 : TERN_PLAN_KINDS) ==
          TERN_OK);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && kinds[k] != TERN_COLL_SEND; k++) {
        bool said = tuned == NULL || kinds[k] == TERN_COLL_GATHER; // else it is learned
        if (tern__kinds[kinds[k]].counts || !said) {
            continue;
        }
        CHECK(move(comm, kinds[k], 1) == 0); // after it the choice is known
        const struct tern__calls *calls = comm->calls;
        const struct tern__choice *choice = &calls->selections[kinds[k]][TERN_ORDER_RANK].choice;
        CHECK(tuned == NULL || kinds[k] != TERN_COLL_GATHER ||
              choice->direct_from == tuned->direct_from);
        const uint64_t sizes[] = {choice->direct_from, choice->direct_to, choice->direct_to + 1};
        for (int s = 0; s < (choice->direct_from == 0 ? 0 : choice->direct_to == 0 ? 1 : 3); s++) {
            CHECK(move(comm, kinds[k], sizes[s]) == 0);
            CHECK(strcmp(last_way(comm), s < 2 ? "direct" : "staged") == 0);
            bounded += s == 2;
        }
    }
    CHECK(bounded > 0 || tern_comm_size(comm) > 2);
    return 0;
}

static void small_and_very_large_shares_go_through_slots(void **state)
{
    unsetenv("TERN_DIRECT");
    tern_tune_row row;
    assert_int_equal(tern_tune_get_built_in(TERN_PLAN_GATHER, 2, &row), TERN_OK);
    row.direct_from = 50000;
    row.direct_to = 60000;
    bool right = ranks_run_comm(2, keep_to_the_sizes, NULL, 60) &&
                 ranks_run_comm(2, keep_to_the_sizes, &row, 60) &&
                 ranks_run_comm(3, keep_to_the_sizes, NULL, 60);
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(right);
}

// A root gives the first half of its bytes in slots while the other rank reads the rest: if each
// of the two has a processor, when they are near each other and the bytes are few. They are right
// in any case; how many runs there were tells what was done.
static int give_halves(tern_comm *comm, void *arg)
{
    static const size_t sizes[] = {8192, 100001, 600000, TERN__HELP_FROM - 1, TERN__HELP_FROM};
    static const uint32_t pieces[] = {1, 1, 2, 2, 0};
    static char in[LARGE];
    static char out[LARGE];
    bool alone = tern__job_ladder(comm->group.job).alone;
    CHECK(tern_barrier(comm) == TERN_OK);
    for (int turn = 0; turn < 20; turn++) {
        size_t bytes = sizes[turn % 5];
        bool is_long = turn % 2 != 0;
        int root = turn / 2 % 2;
        for (size_t i = 0; i < bytes; i++) {
            in[i] = (char)((i * 7 + i / 4096 + (size_t)turn) % 251);
            out[i] = -1;
        }
        CHECK(set_distance(comm, is_long, true) == 0);
        const struct tern__calls *calls = comm->calls;
        uint32_t before = calls->published;
        CHECK(tern_broadcast(comm, tern_comm_rank(comm) == root ? in : NULL, out, bytes, TERN_U8,
                             root) == TERN_OK);
        bool halves = alone && !is_long && bytes < TERN__HELP_FROM;
        CHECK(calls->published - before == 1 + (halves ? pieces[turn % 5] : 0));
        CHECK(strcmp(last_way(comm), "direct") == 0 && memcmp(in, out, bytes) == 0);
    }
    return 0;
}

static void a_root_of_two_gives_one_half_while_the_other_is_read(void **state)
{
    assert_true(ranks_run_comm(2, give_halves, NULL, 60));
}

// Who takes what lies in slots finds out how far the other rank is.
static int gather_into_slots(tern_comm *comm, void *arg)
{
    static char in[60000];
    static char out[sizeof in];
    const size_t counts[] = {sizeof in / 3, sizeof in - sizeof in / 3};
    const size_t offsets[] = {0, sizeof in / 3};
    int rank = tern_comm_rank(comm);
    for (int call = 0; call < 8; call++) {
        memset(in, 3 + rank, sizeof in);
        CHECK(tern_gather_v(comm, in, counts[rank], out, counts, offsets, TERN_U8, 0) == TERN_OK);
        CHECK(strcmp(last_way(comm), "slot") == 0);
        CHECK(rank != 0 || (out[0] == 3 && out[offsets[1]] == 4 && out[sizeof out - 1] == 4));
    }
    const struct tern__calls *calls = comm->calls;
    CHECK(rank != 0 || calls->distance.calls > 0);
    return 0;
}

static void what_slots_hold_is_measured(void **state)
{
    unsetenv("TERN_DIRECT");
    bool right = ranks_run_comm(2, gather_into_slots, NULL, 60);
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(right);
}

// A tune file may choose a plan that cannot do counts for each rank.
static int exchange_with_counts(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_tune_row row;
    static char in[LARGE];
    static char out[LARGE];
    size_t counts[TERN_RANKS_MAX];
    size_t share = (size_t)LARGE / (size_t)n;
    CHECK(tern_tune_get_built_in(TERN_PLAN_ALL_TO_ALL, 2, &row) == TERN_OK);
    snprintf(row.staged, sizeof row.staged, "direct");
    row.direct_from = 0;
    CHECK(tern_tune_use(&row, 1) == TERN_OK);
    for (int r = 0; r < n; r++) {
        counts[r] = share;
    }
    memset(in, rank, LARGE);
    CHECK(tern_all_to_all(comm, in, out, share, TERN_U8) == TERN_OK);
    CHECK(tern_all_to_all_v(comm, in, counts, NULL, out, counts, NULL, TERN_U8) == TERN_OK);
    for (int from = 0; from < n; from++) {
        CHECK(out[(size_t)from * share] == from && out[((size_t)from + 1) * share - 1] == from);
    }
    return 0;
}

static void a_tuned_plan_for_equal_shares_leaves_others_theirs(void **state)
{
    setenv("TERN_DIRECT", "off", 1);
    bool right = ranks_run_comm(2, exchange_with_counts, NULL, 60) &&
                 ranks_run_comm(3, exchange_with_counts, NULL, 60);
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(right);
}

// The buffer of one rank ends before its count does.
static int give_too_little(tern_comm *comm, void *arg)
{
    int owner = *(int *)arg;
    char words[16];
    char *buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(buffer != MAP_FAILED);
    if (tern_comm_rank(comm) == owner) {
        CHECK(mprotect(buffer + LARGE / 2, LARGE / 2, PROT_NONE) == 0);
    }
    snprintf(words, sizeof words, "rank %d", owner);
    int status = tern_broadcast(comm, buffer, buffer, LARGE, TERN_U8, 0);
    if (status == TERN_OK && tern_comm_rank(comm) != 0 && tern_comm_rank(comm) != owner) {
        status = tern_barrier(comm); // it had read everything before the owner failed
    }
    CHECK(status == TERN_ERR_ARG);
    CHECK(kit_mentions(words) && kit_mentions("broadcast") && kit_mentions("call 1"));
    CHECK(kit_mentions(owner == 0 ? "read" : "written"));
    CHECK(munmap(buffer, LARGE) == 0);
    return 0;
}

static int send_too_little(tern_comm *comm, void *arg)
{
    int owner = *(int *)arg;
    int rank = tern_comm_rank(comm);
    char words[16];
    char *buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(buffer != MAP_FAILED);
    if (rank == owner) {
        CHECK(mprotect(buffer + LARGE / 2, LARGE / 2, PROT_NONE) == 0);
    }
    snprintf(words, sizeof words, "rank %d", owner);
    int status = rank == 0 ? tern_send(comm, buffer, LARGE, TERN_U8, 1)
                           : tern_recv(comm, buffer, LARGE, TERN_U8, 0);
    CHECK(status == TERN_ERR_ARG);
    CHECK(kit_mentions(words) && kit_mentions("recv") && kit_mentions("message 1"));
    CHECK(kit_mentions(owner == 0 ? "read" : "written"));
    CHECK(munmap(buffer, LARGE) == 0);
    return 0;
}

// An input of sums is read in blocks, by whoever sums that part of it.
static int sum_too_little(tern_comm *comm, void *arg)
{
    int owner = *(int *)arg;
    int rank = tern_comm_rank(comm);
    char words[16];
    static char out[LARGE];
    char *in = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(in != MAP_FAILED);
    // A page that the other rank alone reads: of the second half of a piece, or of the first.
    if (rank == owner) {
        CHECK(mprotect(in + (owner == 0 ? LARGE - 4096 : LARGE / 2), 4096, PROT_NONE) == 0);
    }
    snprintf(words, sizeof words, "rank %d", owner);
    int status = tern_all_reduce(comm, in, out, LARGE, TERN_U8, TERN_MAX);
    CHECK(status == TERN_ERR_ARG);
    CHECK(kit_mentions(words) && kit_mentions("all_reduce") && kit_mentions("call 1"));
    CHECK(kit_mentions("read"));
    CHECK(munmap(in, LARGE) == 0);
    return 0;
}

static void a_buffer_that_is_too_short_names_its_rank(void **state)
{
    for (int owner = 0; owner < 2; owner++) {
        assert_true(ranks_run_comm(2, give_too_little, &owner, 60));
        assert_true(ranks_run_comm(2, send_too_little, &owner, 60));
        assert_true(ranks_run_comm(2, sum_too_little, &owner, 60));
    }
    int owner = 2;
    assert_true(ranks_run_comm(3, give_too_little, &owner, 60));
}

// All ranks move much, one of them is killed by its own timer.
static void die(int signal_number)
{
    raise(SIGKILL);
}

static int move_until_it_dies(int rank, const struct ranks *ranks, void *arg)
{
    const int *moment_us = arg;
    int n = ranks->count;
    int status = TERN_OK;
    tern_comm *comm;
    size_t share = (size_t)LARGE / (size_t)n;
    static char in[LARGE];
    static char out[LARGE];
    memset(in, rank, LARGE);
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(tern_barrier(comm) == TERN_OK);
    if (rank == n - 1) {
        signal(SIGALRM, die);
        ualarm((useconds_t)*moment_us, 0);
    }
    enum { EXCHANGE, BROADCAST, MESSAGES, SUMS };
    int what = *moment_us % 4;
    what = n > 2 && what != SUMS ? EXCHANGE : what;
    size_t part = what == BROADCAST ? share / 4 : share; // halves go together
    while (status == TERN_OK) {
        status = what == MESSAGES    ? pass_on(comm, in, out)
                 : what == SUMS      ? tern_all_reduce(comm, in, out, LARGE, TERN_U8, TERN_MAX)
                 : what == BROADCAST ? tern_broadcast(comm, in, out, 2 * part, TERN_U8, n - 1)
                                     : tern_all_to_all(comm, in, out, share, TERN_U8);
        for (int from = 0; status == TERN_OK && from < n; from++) {
            int wanted = what == MESSAGES                    ? 1 - rank
                         : what == BROADCAST || what == SUMS ? n - 1
                                                             : from;
            size_t at = (size_t)from * part;
            CHECK(out[at] == wanted && out[at + part - 1] == wanted);
        }
    }
    char words[16];
    snprintf(words, sizeof words, "rank %d", n - 1);
    CHECK(status == TERN_ERR_PEER && kit_mentions(words));
    CHECK(what == MESSAGES || kit_mentions(what == BROADCAST ? "broadcast"
                                           : what == SUMS    ? "all_reduce"
                                                             : "all_to_all"));
    return 0;
}

static void a_rank_that_dies_in_the_middle_is_named(void **state)
{
    for (int i = 0; i < (int)kit_number("TERN_TEST_CASES", 24); i++) {
        struct ranks ranks;
        int n = i % 3 == 0 ? 5 : 2;
        int moment_us = 1000 + i * 1771 % 20000;
        ranks_begin(&ranks, n, move_until_it_dies, &moment_us);
        bool ended = ranks_wait(&ranks, 60);
        bool clean = ranks_end(&ranks);
        for (int rank = 0; rank < n - 1; rank++) {
            assert_int_equal(ranks.statuses[rank], 0);
        }
        assert_int_equal(ranks.statuses[n - 1], SIGKILL);
        assert_true(ended && clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right_wherever_the_buffers_are),
        cmocka_unit_test(without_it_slots_do_the_same),
        cmocka_unit_test(sums_of_several_runs_are_right),
        cmocka_unit_test(few_bytes_are_read_by_all_who_need_them),
        cmocka_unit_test(what_one_rank_may_not_nobody_does),
        cmocka_unit_test(messages_are_read_where_they_lie_if_they_are_large),
        cmocka_unit_test(small_and_very_large_shares_go_through_slots),
        cmocka_unit_test(a_root_of_two_gives_one_half_while_the_other_is_read),
        cmocka_unit_test(what_slots_hold_is_measured),
        cmocka_unit_test(a_tuned_plan_for_equal_shares_leaves_others_theirs),
        cmocka_unit_test(a_buffer_that_is_too_short_names_its_rank),
        cmocka_unit_test(a_rank_that_dies_in_the_middle_is_named),
    };
    setenv("TERN_DIRECT", "4096", 1); // wherever it is faster or not
    unsetenv("TERN_ALGO");
    setenv("TERN_TUNE", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
