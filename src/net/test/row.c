// SPDX-License-Identifier: Apache-2.0
// Puts, adds, notifies and gets over the network, alone: right bytes, in order, from many threads,
// both ways at once, larger than what any buffer holds.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/state.h"
#include "support/nets.h"

#define MIB ((size_t)1 << 20)

static const struct tern__xport *const net = &tern__xport_net;

static char pattern(int rank, size_t at)
{
    return (char)((at * 7 + (at >> 12) + (size_t)rank * 31) % 251);
}

static void fill(char *bytes, size_t size_bytes, int rank)
{
    for (size_t i = 0; i < size_bytes; i++) {
        bytes[i] = pattern(rank, i);
    }
}

static bool has(const char *bytes, size_t size_bytes, int rank)
{
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i] != pattern(rank, i)) {
            fprintf(stderr, "byte %zu of %zu\n", i, size_bytes);
            return false;
        }
    }
    return true;
}

// Each rank puts to the next one in odd sizes, and is told; the words after tell that none is
// missing.
static int ring_body(struct net_rank *self, void *arg)
{
    static const size_t sizes[] = {1, 3, 8, 64, 4095, 65536, 70001, 3 * MIB + 5};
    int next = (self->job.rank + 1) % self->job.nranks;
    int previous = (self->job.rank + self->job.nranks - 1) % self->job.nranks;
    char *bytes = malloc(4 * MIB);
    (void)arg;
    CHECK(bytes != NULL);
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fill(bytes, sizes[i], self->job.rank + (int)i);
        net->put(nets_at(self, next, 64 + i), bytes, sizes[i]);
        memset(bytes, 0, sizes[i]); // it may be used again
        net->notify(nets_at(self, next, 0), 1, TERN_NOTIFY_ADD);
        CHECK(nets_await(self, 0, i + 1));
        CHECK(has(nets_at(self, self->job.rank, 64 + i), sizes[i], previous + (int)i));
        nets_meet(self);
        net->get(nets_at(self, previous, 64 + i), bytes, sizes[i]);
        int writer = (previous + self->job.nranks - 1) % self->job.nranks;
        CHECK(has(bytes, sizes[i], writer + (int)i));
        nets_meet(self);
    }
    free(bytes);
    return 0;
}

static void bytes_arrive(void **state)
{
    (void)state;
    assert_true(nets_run(2, 4 * MIB, ring_body, NULL, 30));
    assert_true(nets_run(5, 4 * MIB, ring_body, NULL, 30));
}

// A put with a post behind it is one message for each MiB, and the post comes last. Who is told of
// something else by this rank does not have to wait for it, as after a put alone.
static int post_body(struct net_rank *self, void *arg)
{
    static char bytes[3 * MIB];
    static const size_t sizes[] = {1, 8, 70001, 2 * MIB + 5};
    int next = (self->job.rank + 1) % self->job.nranks;
    int previous = (self->job.rank + self->job.nranks - 1) % self->job.nranks;
    (void)arg;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct tern__net_peer *peer = &self->job.net->peers[next];
        uint64_t before = peer->sent;
        fill(bytes, sizes[i], self->job.rank + (int)i);
        tern__net_put_post(nets_at(self, next, 64 + i), bytes, sizes[i], nets_at(self, next, 4));
        CHECK(peer->sent - before == (sizes[i] + MIB - 1) / MIB);
        CHECK(atomic_load(&self->job.net->unfenced) == 0);
        CHECK(atomic_load(&self->job.net->unconfirmed) == UINT64_C(1) << next);
        CHECK(nets_await(self, 4, i + 1));
        CHECK(has(nets_at(self, self->job.rank, 64 + i), sizes[i], previous + (int)i));
        nets_meet(self);
    }
    net->put(nets_at(self, next, 64), bytes, 1);
    CHECK(atomic_load(&self->job.net->unfenced) == UINT64_C(1) << next);
    nets_meet(self); // before anybody leaves
    return 0;
}

static void a_post_goes_with_its_put(void **state)
{
    (void)state;
    assert_true(nets_run(3, 4 * MIB, post_body, NULL, 30));
}

enum { THREADS = 3 };

struct worker {
    struct net_rank *self;
    int id;
    size_t bytes;
    int result;
};

// A part of the window belongs to each thread of each rank.
static int both_ways(struct worker *worker)
{
    struct net_rank *self = worker->self;
    int peer = 1 - self->job.rank;
    size_t begin = MIB + (size_t)worker->id * worker->bytes;
    char *bytes = malloc(worker->bytes);
    CHECK(bytes != NULL);
    fill(bytes, worker->bytes, self->job.rank + worker->id);
    net->put(nets_at(self, peer, begin), bytes, worker->bytes);
    memset(bytes, 0, worker->bytes);
    net->get(nets_at(self, peer, begin), bytes, worker->bytes); // behind the put
    CHECK(has(bytes, worker->bytes, self->job.rank + worker->id));
    net->notify(nets_at(self, peer, 0), 1, TERN_NOTIFY_ADD);
    free(bytes);
    return 0;
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    worker->result = both_ways(worker);
    return NULL;
}

static int threads_body(struct net_rank *self, void *arg)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){self, i, *(const size_t *)arg, 1};
        CHECK(pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].result == 0);
    }
    CHECK(nets_await(self, 0, THREADS));
    for (int i = 0; i < THREADS; i++) {
        CHECK(has(nets_at(self, self->job.rank, MIB + (size_t)i * workers[i].bytes),
                  workers[i].bytes, 1 - self->job.rank + i));
    }
    nets_meet(self);
    return 0;
}

static void both_put_much_at_once(void **state)
{
    size_t bytes = 21 * MIB + 12344;
    (void)state;
    assert_true(nets_run(2, 65 * MIB, threads_body, &bytes, 60));
}

// More threads than gets may be under way.
enum { GETTERS = 90, GETS = 20 };

static void *get_words(void *arg)
{
    struct worker *worker = arg;
    worker->result = 0;
    for (size_t i = 0; i < GETS; i++) {
        uint32_t word = 0;
        size_t at = ((size_t)worker->id * GETS + i) * sizeof word;
        net->get(nets_at(worker->self, 1 - worker->self->job.rank, at), (char *)&word, sizeof word);
        worker->result |= word != at + 1;
    }
    return NULL;
}

static int getters_body(struct net_rank *self, void *arg)
{
    static struct worker workers[GETTERS];
    static pthread_t threads[GETTERS];
    (void)arg;
    uint32_t *words = (uint32_t *)(void *)nets_at(self, self->job.rank, 0);
    for (uint32_t i = 0; i < GETTERS * GETS; i++) {
        words[i] = i * 4 + 1;
    }
    nets_meet(self);
    for (int i = 0; i < GETTERS; i++) {
        workers[i] = (struct worker){.self = self, .id = i};
        CHECK(pthread_create(&threads[i], NULL, get_words, &workers[i]) == 0);
    }
    for (int i = 0; i < GETTERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].result == 0);
    }
    nets_meet(self);
    return 0;
}

static void many_threads_get(void **state)
{
    (void)state;
    assert_true(nets_run(2, MIB, getters_body, NULL, 60));
}

static const tern_block blocks[] = {
    {.rows = 5, .row_bytes = 3, .window_stride_bytes = 7, .local_stride_bytes = 11},
    {.rows = 3000, .row_bytes = 100, .window_stride_bytes = 130, .local_stride_bytes = 100},
    {.rows = 3, .row_bytes = 300000, .window_stride_bytes = 300001, .local_stride_bytes = 300000},
    {.rows = 64, .row_bytes = 90000, .window_stride_bytes = 90008, .local_stride_bytes = 90000},
    {.rows = 1, .row_bytes = 33, .window_stride_bytes = 0, .local_stride_bytes = 0},
    {.rows = 9, .row_bytes = 16, .window_stride_bytes = 16, .local_stride_bytes = 16},
};

static int block_body(struct net_rank *self, void *arg)
{
    int peer = 1 - self->job.rank;
    static char local[8 * MIB];
    static char back[8 * MIB];
    (void)arg;
    fill(local, 8 * MIB, self->job.rank);
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        const tern_block *block = &blocks[b];
        memset(nets_at(self, self->job.rank, 64), 77, 8 * MIB);
        nets_meet(self);
        net->put_block(nets_at(self, peer, 64), local, block);
        net->notify(nets_at(self, peer, 0), 1, TERN_NOTIFY_ADD);
        CHECK(nets_await(self, 0, (uint32_t)b + 1));
        const char *window = nets_at(self, self->job.rank, 64);
        for (size_t row = 0; row < block->rows; row++) {
            const char *at = window + row * block->window_stride_bytes;
            for (size_t i = 0; i < block->row_bytes; i++) {
                CHECK(at[i] == pattern(peer, row * block->local_stride_bytes + i));
            }
            for (size_t i = block->row_bytes; i < block->window_stride_bytes; i++) {
                CHECK(at[i] == 77);
            }
        }
        memset(back, 0, 8 * MIB);
        net->get_block(nets_at(self, peer, 64), back, block);
        for (size_t row = 0; row < block->rows; row++) {
            size_t at = row * block->local_stride_bytes;
            CHECK(memcmp(back + at, local + at, block->row_bytes) == 0);
        }
        nets_meet(self);
    }
    return 0;
}

static void blocks_keep_their_strides(void **state)
{
    (void)state;
    assert_true(nets_run(2, 9 * MIB, block_body, NULL, 30));
}

enum { ADDS = 50000, ROUNDS = 4 };

static int add_body(struct net_rank *self, void *arg)
{
    int ranks = self->job.nranks;
    float *ones = malloc(ADDS * sizeof *ones);
    (void)arg;
    CHECK(ones != NULL);
    for (int i = 0; i < ADDS; i++) {
        ones[i] = (float)(i % 16 + 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int rank = 0; rank < ranks; rank++) {
            if (rank != self->job.rank) {
                net->put_add(nets_at(self, rank, 64), (const char *)ones, ADDS, TERN_F32);
            }
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (rank != self->job.rank) {
            net->notify(nets_at(self, rank, 0), 1, TERN_NOTIFY_ADD);
        }
    }
    CHECK(nets_await(self, 0, (uint32_t)ranks - 1));
    const float *sums = (const float *)(const void *)nets_at(self, self->job.rank, 64);
    for (int i = 0; i < ADDS; i++) {
        CHECK((int)sums[i] == ROUNDS * (ranks - 1) * (i % 16 + 1));
    }
    nets_meet(self);
    free(ones);
    return 0;
}

static void additions_lose_nothing(void **state)
{
    (void)state;
    assert_true(nets_run(3, MIB, add_body, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_post_goes_with_its_put),  cmocka_unit_test(bytes_arrive),
        cmocka_unit_test(both_put_much_at_once),     cmocka_unit_test(many_threads_get),
        cmocka_unit_test(blocks_keep_their_strides), cmocka_unit_test(additions_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
