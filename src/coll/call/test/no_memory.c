// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2
// A rank gets no memory, once, at any of the places where it asks for some: it says so, the others
// name it, and nobody waits in vain. Where it can do without, nothing is said and the results are
// right.
#include "support/cmocka.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/memory.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum { RANKS = 3, POOR = 1, COUNT = 30000, TRIALS = 40 };

struct trial {
    long fail_at;           // which of the poor rank's requests for memory; 0: none
    _Atomic long *requests; // how many it has made
};

static _Atomic long requests;
static long fail_at = -1; // -1: they are not counted

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In place of the C library's, for all of this process.
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);

static bool fails(void)
{
    return fail_at >= 0 && atomic_fetch_add(&requests, 1) + 1 == fail_at;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}
#pragma GCC visibility pop
#endif

static int32_t in[RANKS * COUNT], out[RANKS * COUNT];

static int32_t element(int rank, int i)
{
    return rank * 1000 + i % 97;
}

static int sum_calls(tern_comm *comm)
{
    static const size_t counts[] = {1, 1000, COUNT};
    for (int i = 0; i < 6; i++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                          .in = in,
                          .out = out,
                          .count = counts[i / 2],
                          .dtype = TERN_I32,
                          .order = i % 2 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY};
        TERN_TRY(tern_coll_run(comm, &call));
        for (size_t k = 0; k < call.count; k++) {
            int32_t sum = 0;
            for (int rank = 0; rank < RANKS; rank++) {
                sum += element(rank, (int)k);
            }
            if (out[k] != sum) {
                return 1;
            }
        }
        TERN_TRY(tern_reduce_scatter(comm, in, out, counts[i / 2], TERN_I32, TERN_SUM));
        TERN_TRY(tern_reduce(comm, in, out, counts[i / 2], TERN_I32, TERN_MAX, 2));
    }
    return TERN_OK;
}

static int move_calls(tern_comm *comm)
{
    int rank = tern_comm_rank(comm);
    size_t counts[RANKS], offsets[RANKS];
    for (int i = 0; i < RANKS; i++) {
        counts[i] = COUNT / 2 + (size_t)i;
        offsets[i] = (size_t)i * COUNT;
    }
    for (size_t count = 10; count <= COUNT; count *= 30) {
        TERN_TRY(tern_all_gather(comm, in, out, count, TERN_I32));
        for (int from = 0; from < RANKS; from++) {
            if (out[(size_t)from * count + 9] != element(from, 9)) {
                return 1;
            }
        }
        TERN_TRY(tern_broadcast(comm, in, out, count, TERN_I32, 0));
        TERN_TRY(tern_scatter(comm, in, out, count, TERN_I32, 0));
        TERN_TRY(tern_gather(comm, in, out, count, TERN_I32, 1));
        TERN_TRY(tern_all_to_all(comm, in, out, count, TERN_I32));
        TERN_TRY(tern_send_recv(comm, in, count, (rank + 1) % RANKS, out, count,
                                (rank + RANKS - 1) % RANKS, TERN_I32));
    }
    TERN_TRY(tern_all_gather_v(comm, in, out, counts, offsets, TERN_I32));
    return tern_barrier(comm);
}

// Those that had begun before one could not, for which the sentence stays.
static int wait_for(tern_request several[3], int status)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", tern_last_error());
    for (int i = 0; i < 3; i++) {
        if (several[i] != 0) {
            tern_status_ignore(tern_request_wait(&several[i]));
        }
    }
    return tern__fail(status, "%s", text);
}

static int requests_and_parts(tern_comm *comm)
{
    tern_comm *part;
    tern_request several[3] = {0};
    int status = TERN_OK;
    for (int i = 0; i < 3 && status == TERN_OK; i++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                          .in = in,
                          .out = out + i * COUNT,
                          .count = (size_t)i * 5000 + 1,
                          .dtype = TERN_I32};
        status = tern_coll_start(comm, &call, &several[i]);
    }
    TERN_TRY(status == TERN_OK ? tern_request_wait_all(several, 3) : wait_for(several, status));
    TERN_TRY(tern_comm_split(comm, tern_comm_rank(comm) / 2, 0, &part));
    status = tern_all_reduce(part, in, out, 5000, TERN_I32, TERN_SUM);
    int destroyed = tern_comm_destroy(part);
    return status < 0 ? status : destroyed;
}

static int window_calls(tern_comm *comm)
{
    tern_window *window;
    void *block;
    int next = (tern_comm_rank(comm) + 1) % RANKS;
    TERN_TRY(tern_window_create(comm, 1 << 20, NULL, &window));
    int status = tern_put(window, next, 4096, in, sizeof in);
    status = status < 0 ? status : tern_signal_notify(window, next, 0, 1, TERN_NOTIFY_ADD);
    status =
        status < 0 ? status : tern_signal_wait(window, 0, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT);
    status = status < 0 ? status : tern_get(window, next, 4096, out, sizeof out);
    status = status < 0 ? status : tern_barrier(comm);
    int destroyed = tern_window_destroy(window);
    TERN_TRY(status < 0 ? status : destroyed);
    TERN_TRY(tern_alloc(comm, 1 << 20, &block));
    status = tern_all_reduce(comm, in, block, COUNT, TERN_I32, TERN_SUM);
    int freed = tern_free(block);
    return status < 0 ? status : freed;
}

static int all_calls(tern_comm *comm)
{
    TERN_TRY(sum_calls(comm));
    TERN_TRY(move_calls(comm));
    TERN_TRY(requests_and_parts(comm));
    return window_calls(comm);
}

static int one_is_poor(tern_comm *comm, void *arg)
{
    const struct trial *trial = arg;
    int rank = tern_comm_rank(comm);
    for (int i = 0; i < RANKS * COUNT; i++) {
        in[i] = element(rank, i % COUNT);
    }
    fail_at = rank == POOR ? trial->fail_at : -1;
    int status = all_calls(comm);
    fail_at = -1;
    if (rank == POOR) {
        atomic_store(trial->requests, atomic_load(&requests));
    }
    CHECK(status <= 0); // else a result is wrong
    CHECK(trial->fail_at != 0 || status == TERN_OK);
    if (status < 0 && rank == POOR) {
        CHECK(status == TERN_ERR_MEMORY);
        CHECK(strstr(tern_last_error(), "memory") != NULL);
    } else if (status < 0) {
        CHECK(status != TERN_ERR_TIMEOUT);
        // Rank 0 ends because of their part, which rank 2 is not in.
        CHECK(strstr(tern_last_error(), "rank 1") != NULL ||
              (rank == 2 && strstr(tern_last_error(), "rank 0 has left") != NULL));
    }
    return 0;
}

static void a_rank_without_memory_says_so(void **state)
{
    uint64_t seed = random_seed();
    struct trial trial = {.requests = ranks_shared(sizeof *trial.requests)};
    if (SANITIZED) {
        skip(); // they bring a malloc of their own
    }
    assert_true(ranks_run_comm(RANKS, one_is_poor, &trial, 60));
    uint64_t most = (uint64_t)atomic_load(trial.requests);
    assert_true(most > 100);
    for (int i = 0; i < TRIALS; i++) {
        trial.fail_at = 1 + (long)random_below(&seed, most);
        print_message("request %ld of %lld\n", trial.fail_at, (long long)most);
        assert_true(ranks_run_comm(RANKS, one_is_poor, &trial, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
