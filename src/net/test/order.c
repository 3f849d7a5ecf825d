// SPDX-License-Identifier: Apache-2.0
// What order is promised between streams: whoever is told that something is there finds it there,
// on whatever machine, whichever thread has put it.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/nets.h"

enum { ROUNDS = 30, BYTES = 6 << 20 }; // more than sockets hold when a put returns

static const struct tern__xport *const net = &tern__xport_net;

// Rank 0 puts much to rank 2 and tells rank 1; rank 1 tells rank 2, which looks at the last byte.
static int triangle(struct net_rank *self, void *arg)
{
    char *bytes = malloc(BYTES);
    (void)arg;
    CHECK(bytes != NULL);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        if (self->job.rank == 0) {
            memset(bytes, (int)round, BYTES);
            net->put(nets_at(self, 2, 64), bytes, BYTES);
            net->notify(nets_at(self, 1, 0), (int32_t)round, TERN_NOTIFY_SET);
        } else if (self->job.rank == 1) {
            CHECK(nets_await(self, 0, round));
            net->notify(nets_at(self, 2, 0), (int32_t)round, TERN_NOTIFY_SET);
        } else {
            CHECK(nets_await(self, 0, round));
            CHECK(nets_at(self, 2, 64)[BYTES - 1] == (char)round);
            CHECK(nets_at(self, 2, 64)[0] == (char)round);
        }
        nets_meet(self);
    }
    free(bytes);
    return 0;
}

static void a_notify_comes_after_what_was_put_elsewhere(void **state)
{
    (void)state;
    assert_true(nets_run(3, 7 << 20, triangle, NULL, 30));
}

// The same when another thread has put, and yet another one flushes all the time: neither takes
// away what the third one has to wait for.
struct duo {
    struct net_rank *self;
    _Atomic uint32_t put, stop;
    int result;
};

static void *flush_always(void *arg)
{
    struct duo *duo = arg;
    while (tern__flag_load(&duo->stop) == 0) {
        duo->result |= tern__net_flush(duo->self->job.net, -1) != TERN_OK;
    }
    return NULL;
}

static void *put_rounds(void *arg)
{
    struct duo *duo = arg;
    static char bytes[BYTES];
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (tern__flag_load(&duo->put) != 2 * round - 1) {
            usleep(50);
        }
        memset(bytes, (int)round, BYTES);
        net->put(nets_at(duo->self, 2, 64), bytes, BYTES);
        tern__flag_store(&duo->put, 2 * round);
    }
    return NULL;
}

static int with_threads(struct net_rank *self, void *arg)
{
    struct duo duo = {.self = self};
    pthread_t putter;
    pthread_t flusher;
    (void)arg;
    if (self->job.rank != 0) {
        return triangle(self, NULL);
    }
    CHECK(pthread_create(&putter, NULL, put_rounds, &duo) == 0);
    CHECK(pthread_create(&flusher, NULL, flush_always, &duo) == 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        tern__flag_store(&duo.put, 2 * round - 1);
        while (tern__flag_load(&duo.put) != 2 * round) {
            usleep(10);
        }
        net->notify(nets_at(self, 1, 0), (int32_t)round, TERN_NOTIFY_SET);
        nets_meet(self);
    }
    tern__flag_store(&duo.stop, 1);
    pthread_join(putter, NULL);
    pthread_join(flusher, NULL);
    CHECK(duo.result == 0);
    return 0;
}

static void also_what_other_threads_have_put(void **state)
{
    (void)state;
    assert_true(nets_run(3, 7 << 20, with_threads, NULL, 30));
}

// Who sees the first word of a put sees all of it, without a notify.
static int first_word(struct net_rank *self, void *arg)
{
    enum { WORDS = 700000 }; // more than one message
    uint32_t *words = malloc(WORDS * sizeof *words);
    (void)arg;
    CHECK(words != NULL);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        if (self->job.rank == 0) {
            for (size_t i = 0; i < WORDS; i++) {
                words[i] = round;
            }
            net->put(nets_at(self, 1, 64), (const char *)words, WORDS * sizeof *words);
        } else {
            CHECK(nets_await(self, 64, round));
            const uint32_t *here = (const uint32_t *)(const void *)nets_at(self, 1, 64);
            CHECK(here[1] == round && here[WORDS / 2] == round && here[WORDS - 1] == round);
        }
        nets_meet(self);
    }
    free(words);
    return 0;
}

static void the_first_word_of_a_put_comes_last(void **state)
{
    (void)state;
    assert_true(nets_run(2, 3 << 20, first_word, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notify_comes_after_what_was_put_elsewhere),
        cmocka_unit_test(also_what_other_threads_have_put),
        cmocka_unit_test(the_first_word_of_a_put_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
