// SPDX-License-Identifier: Apache-2.0
// Communicators made from others on several machines: split, and groups that only their members
// make, over and over, so that slots are given out again while word of their last life is on its
// way.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/machines.h"
#include "support/random.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum { ALIVE = 5 };

static int splits = ROUNDS_OF(200);
static int groups = ROUNDS_OF(400);

// A part that its members hold, with a window of it.
struct held {
    tern_comm *comm;
    tern_window *window;
    int uses;
};

static int hold(struct held *held, tern_comm *comm)
{
    held->comm = comm;
    held->uses = 0;
    return tern_window_create(comm, 4096, NULL, &held->window);
}

// Each sends to the next one, and all meet.
static int use(struct held *held)
{
    int own = tern_comm_rank(held->comm);
    int size = tern_comm_size(held->comm);
    int64_t value = ++held->uses * 100 + own;
    int before = (own + size - 1) % size;
    const volatile int64_t *here = tern_window_address(held->window, own);
    CHECK(tern_put(held->window, (own + 1) % size, 0, &value, sizeof value) == TERN_OK);
    CHECK(tern_signal_notify(held->window, (own + 1) % size, 64, 1, TERN_NOTIFY_ADD) == TERN_OK);
    CHECK(tern_signal_wait(held->window, 64, TERN_CMP_GE, held->uses, TERN_TIMEOUT_DEFAULT) ==
          TERN_OK);
    CHECK(here[0] == held->uses * 100 + before);
    CHECK(tern_comm_barrier(held->comm) == TERN_OK);
    return 0;
}

static int let_go(struct held *held)
{
    CHECK(tern_window_destroy(held->window) == TERN_OK);
    CHECK(tern_comm_destroy(held->comm) == TERN_OK);
    *held = (struct held){0};
    return 0;
}

static int split_and_split(tern_comm *comm, void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    int own = tern_comm_rank(comm);
    struct held held[ALIVE] = {0};
    for (int round = 0; round < splits; round++) {
        struct held *at = &held[random_below(&seed, ALIVE)];
        int colors[TERN_RANKS_MAX];
        for (int rank = 0; rank < tern_comm_size(comm); rank++) {
            colors[rank] = (int)random_below(&seed, 4) - 1;
        }
        if (at->comm != NULL) {
            CHECK(use(at) == 0 && let_go(at) == 0);
        }
        tern_comm *part = NULL;
        CHECK(tern_comm_split(comm, colors[own], 100 - own, &part) == TERN_OK);
        CHECK((part != NULL) == (colors[own] >= 0));
        if (part != NULL) {
            CHECK(hold(at, part) == TERN_OK && use(at) == 0);
        }
    }
    for (int i = 0; i < ALIVE; i++) {
        CHECK(held[i].comm == NULL || let_go(&held[i]) == 0);
    }
    return 0;
}

static void splits_are_made_and_destroyed_over_and_over(void **state)
{
    uint64_t seed = random_seed();
    assert_true(machines_run_all(split_and_split, &seed, 60));
}

// All draw the same ranks; those who are among them make the group. Nobody else waits.
static int group_and_group(tern_comm *comm, void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    int own = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    struct held held[ALIVE] = {0};
    for (int round = 0; round < groups; round++) {
        int ranks[TERN_RANKS_MAX];
        int count = 1 + (int)random_below(&seed, (uint64_t)size);
        struct held *at = &held[random_below(&seed, ALIVE)];
        bool member = false;
        for (int rank = 0; rank < size; rank++) {
            ranks[rank] = rank;
        }
        for (int i = 0; i < count; i++) {
            int other = i + (int)random_below(&seed, (uint64_t)(size - i));
            int drawn = ranks[other];
            ranks[other] = ranks[i];
            ranks[i] = drawn;
            member |= drawn == own;
        }
        // Members of what was held differ from those of what is made: each lets go by itself.
        if (at->comm != NULL) {
            CHECK(let_go(at) == 0);
        }
        tern_comm *part = NULL;
        if (member) {
            CHECK(tern_comm_create_group(comm, ranks, count, (uint64_t)round % 3, &part) ==
                  TERN_OK);
            CHECK(tern_comm_size(part) == count && ranks[tern_comm_rank(part)] == own);
            CHECK(hold(at, part) == TERN_OK && use(at) == 0 && use(at) == 0);
        }
    }
    for (int i = 0; i < ALIVE; i++) {
        CHECK(held[i].comm == NULL || let_go(&held[i]) == 0);
    }
    return 0;
}

static void groups_are_made_and_destroyed_over_and_over(void **state)
{
    uint64_t seed = random_seed();
    assert_true(machines_run_all(group_and_group, &seed, 60));
}

// As many as there can be, and the sentence for one more.
static int make_many(tern_comm *comm, void *arg)
{
    static tern_comm *parts[TERN__COMM_SLOTS];
    int count = 0;
    while (count < TERN__COMM_SLOTS && tern_comm_split(comm, 0, 0, &parts[count]) == TERN_OK) {
        count++;
    }
    CHECK(count == (TERN__COMM_SLOTS - 1) / comm->group.job->machines->count);
    CHECK(strstr(tern_last_error(), "there cannot be more") != NULL);
    for (int i = 0; i < count; i++) {
        CHECK(tern_comm_destroy(parts[i]) == TERN_OK);
    }
    CHECK(tern_comm_split(comm, 0, 0, &parts[0]) == TERN_OK);
    CHECK(tern_comm_barrier(parts[0]) == TERN_OK);
    CHECK(tern_comm_destroy(parts[0]) == TERN_OK);
    return 0;
}

static void there_are_so_many_and_a_sentence_for_more(void **state)
{
    assert_true(machines_run_comm("aab", make_many, NULL, 60));
}

int main(void)
{
    splits = getenv("TERN_TEST_LONG") != NULL ? 5000 : splits;
    groups = getenv("TERN_TEST_LONG") != NULL ? 10000 : groups;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_made_and_destroyed_over_and_over),
        cmocka_unit_test(groups_are_made_and_destroyed_over_and_over),
        cmocka_unit_test(there_are_so_many_and_a_sentence_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
