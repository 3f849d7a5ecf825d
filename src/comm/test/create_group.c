// SPDX-License-Identifier: Apache-2.0
// Groups that only their members make: who is who, several at the same time and in any order, tags
// that are used again, and what is said when a member does not come, differs, leaves or dies.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/window.h"

// All members see the same sum, and rank i of the part is the one that was named at i.
static int works(tern_comm *part, const int *ranks, int count, int own)
{
    int mine[2] = {own, 1};
    int sums[2];
    int expected = 0;
    CHECK(tern_comm_size(part) == count);
    CHECK(ranks[tern_comm_rank(part)] == own);
    for (int i = 0; i < count; i++) {
        expected += ranks[i];
    }
    CHECK(tern_all_reduce(part, mine, sums, 2, TERN_I32, TERN_SUM) == TERN_OK);
    CHECK(sums[0] == expected && sums[1] == count);
    return 0;
}

// Rank r and the next ones, in each size; those that are not in it do not take part.
static int neighbours(tern_comm *comm, void *arg)
{
    int size = tern_comm_size(comm);
    int own = tern_comm_rank(comm);
    for (int count = 1; count <= size; count++) {
        int ranks[TERN_RANKS_MAX];
        int first = (5 * count) % size;
        bool member = false;
        for (int i = 0; i < count; i++) {
            ranks[i] = (first + i) % size;
            member |= ranks[i] == own;
        }
        tern_comm *part;
        if (member) {
            CHECK(tern_comm_create_group(comm, ranks, count, 7, &part) == TERN_OK);
            CHECK(works(part, ranks, count, own) == 0);
            CHECK(tern_comm_destroy(part) == TERN_OK);
        }
    }
    return 0;
}

static void members_alone_make_groups_in_the_order_they_name(void **state)
{
    assert_true(ranks_run_counts(1, 9, neighbours, NULL, 60));
}

// Every pair of ranks at the same time; each rank takes its pairs in an order of its own, each on a
// thread, so no order of calls can be relied on.
struct pair {
    tern_comm *comm;
    int ranks[2];
    int own;
    bool right;
};

static void *make_pair(void *arg)
{
    struct pair *pair = arg;
    tern_comm *part;
    uint64_t tag = (uint64_t)pair->ranks[0] * 100 + (uint64_t)pair->ranks[1];
    if (tern_comm_create_group(pair->comm, pair->ranks, 2, tag, &part) != TERN_OK) {
        fprintf(stderr, "rank %d: %s\n", pair->own, tern_last_error());
        return NULL;
    }
    pair->right = works(part, pair->ranks, 2, pair->own) == 0 && tern_comm_destroy(part) == TERN_OK;
    return NULL;
}

static int all_pairs(tern_comm *comm, void *arg)
{
    int size = tern_comm_size(comm);
    int own = tern_comm_rank(comm);
    struct pair pairs[8];
    pthread_t threads[8];
    for (int i = 0; i < size - 1; i++) {
        int other = (own + 1 + (i + own) % (size - 1)) % size;
        pairs[i] = (struct pair){.comm = comm, .own = own};
        pairs[i].ranks[0] =
            (own + other) % 2 != 0 ? (own < other ? own : other) : (own < other ? other : own);
        pairs[i].ranks[1] = own + other - pairs[i].ranks[0];
    }
    for (int i = 0; i < size - 1; i++) {
        CHECK(pthread_create(&threads[i], NULL, make_pair, &pairs[i]) == 0);
    }
    bool right = true;
    for (int i = 0; i < size - 1; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        right &= pairs[i].right;
    }
    CHECK(right);
    return 0;
}

static void groups_are_made_at_the_same_time_in_any_order(void **state)
{
    static const int counts[] = {2, 3, 4, 7};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_true(ranks_run_comm(counts[i], all_pairs, NULL, 60));
    }
}

// The parts of a job live and die alone; the tag is used again and again.
static int again_and_again(tern_comm *comm, void *arg)
{
    int own = tern_comm_rank(comm);
    uint64_t seed = 11;
    for (int round = 0; round < ROUNDS_OF(200); round++) {
        int ranks[5];
        int count = 0;
        uint64_t members = random_next(&seed);
        for (int i = 0; i < 5; i++) {
            int rank = (i * 2 + round) % 5;
            if ((members >> rank & 1) != 0) {
                ranks[count++] = rank;
            }
        }
        if ((members >> own & 1) == 0) {
            continue;
        }
        tern_comm *part;
        CHECK(tern_comm_create_group(comm, ranks, count, 0, &part) == TERN_OK);
        CHECK(works(part, ranks, count, own) == 0);
        CHECK(tern_comm_destroy(part) == TERN_OK);
    }
    return 0;
}

static void a_tag_serves_again(void **state)
{
    assert_true(ranks_run_comm(5, again_and_again, NULL, 60));
}

static int wrong_arguments(tern_comm *comm, void *arg)
{
    tern_comm *part = NULL;
    int own = tern_comm_rank(comm);
    int both[] = {own, 1 - own};
    int other[] = {1 - own};
    int twice[] = {own, own};
    int beyond[] = {own, 2};
#define REFUSED(sentence, ...)                                                                     \
    CHECK(says(tern_comm_create_group(__VA_ARGS__), TERN_ERR_ARG, sentence))
    REFUSED("part must not be NULL", comm, both, 2, 0, NULL);
    REFUSED("2 ranks at NULL; expected 1 to 2", comm, NULL, 2, 0, &part);
    REFUSED("0 ranks; expected 1 to 2", comm, both, 0, 0, &part);
    REFUSED("3 ranks; expected 1 to 2", comm, both, 3, 0, &part);
    REFUSED("ranks[1] is 2; the communicator has the ranks 0 to 1", comm, beyond, 2, 0, &part);
    REFUSED("is named twice", comm, twice, 2, 0, &part);
    REFUSED("is not among the ranks; only members make the call", comm, other, 1, 0, &part);
    CHECK(part == NULL);
    CHECK(tern_comm_health(comm) == TERN_OK);
    return 0;
}

static void wrong_arguments_wait_for_nobody(void **state)
{
    assert_true(ranks_run_comm(2, wrong_arguments, NULL, 30));
}

// Rank 2 means other ranks than ranks 0 and 1 do.
static int different_ranks(tern_comm *comm, void *arg)
{
    static const int all[] = {0, 1, 2}, turned[] = {0, 2, 1};
    int own = tern_comm_rank(comm);
    tern_comm *part;
    int status = tern_comm_create_group(comm, own == 2 ? turned : all, 3, 5, &part);
    CHECK(
        says(status, TERN_ERR_MISMATCH,
             "tern_comm_create_group (tag 5): rank 2 names the ranks 0, 2, 1; rank 0 the ranks 0, "
             "1, 2"));
    return 0;
}

static void members_that_name_other_ranks_are_told(void **state)
{
    assert_true(ranks_run_comm(3, different_ranks, NULL, 30));
}

enum { LATE, LEAVES, DIES };

// What rank 2 does in place of coming to a group of four, led by rank `leader`.
struct absence {
    int leader;
    int how;
};

static int absent(int rank, const struct ranks *ranks, void *arg)
{
    const struct absence *absence = arg;
    const int members[] = {absence->leader, (absence->leader + 1) % 4, (absence->leader + 2) % 4,
                           (absence->leader + 3) % 4};
    tern_comm *comm;
    tern_comm *part;
    int64_t limit_ns = absence->how == LATE ? 300000000 : RANKS_SOON_NS;
    CHECK(ranks_join(rank, ranks, limit_ns, &comm) == TERN_OK);
    if (rank == 2 && absence->how == DIES) {
        _exit(3);
    }
    if (rank == 2) {
        if (absence->how == LATE) {
            while (tern_comm_health(comm) == TERN_OK) {
                usleep(1000);
            }
        }
        CHECK(tern_comm_destroy(comm) == TERN_OK);
        return 0;
    }
    int status = tern_comm_create_group(comm, members, 4, 9, &part);
    static const int statuses[] = {
        [LATE] = TERN_ERR_TIMEOUT, [LEAVES] = TERN_ERR_LEFT, [DIES] = TERN_ERR_PEER};
    static const char *const sentences[] = {
        [LATE] = ", in this order: rank 2",
        [LEAVES] = ("rank 2 has left the communicator (tern_comm_destroy), so "
                    "tern_comm_create_group cannot complete"),
        [DIES] = "rank 2 died",
    };
    CHECK(status == statuses[absence->how]);
    // Who waits for a leader that waits for others may say so first.
    if (absence->how != LATE || absence->leader == 2) {
        CHECK(says(0, 0, sentences[absence->how]));
    }
    CHECK(tern_comm_create_group(comm, members, 4, 9, &part) == status);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void a_member_that_does_not_come_is_named(void **state)
{
    for (int how = LATE; how <= DIES; how++) {
        for (int leader = 0; leader <= 2; leader += 2) {
            struct absence absence = {.leader = leader, .how = how};
            struct ranks ranks;
            ranks_begin(&ranks, 4, absent, &absence);
            bool ended = ranks_wait(&ranks, 30);
            for (int rank = 0; rank < 4; rank++) {
                int expected = rank == 2 && how == DIES ? 3 : 0;
                ended &= WIFEXITED(ranks.statuses[rank]) &&
                         WEXITSTATUS(ranks.statuses[rank]) == expected;
            }
            assert_true(ranks_end(&ranks) && ended);
        }
    }
}

// As a program that makes a group for each of its steps; and as many alive as may be.
static int make_thousands(tern_comm *comm, void *arg)
{
    enum { GROUPS = ROUNDS_OF(2000), ALIVE = 256 };
    int size = tern_comm_size(comm);
    int own = tern_comm_rank(comm);
    int ranks[TERN_RANKS_MAX];
    tern_comm *parts[ALIVE];
    int fds = 0;
    int maps = 0;
    for (int i = 0; i < size; i++) {
        ranks[i] = size - 1 - i;
    }
    for (int i = 0; i < GROUPS; i++) {
        tern_comm *part;
        CHECK(tern_comm_create_group(comm, ranks, size, 7, &part) == TERN_OK);
        if (i % 100 == 0) {
            CHECK(works(part, ranks, size, own) == 0);
        }
        CHECK(tern_comm_destroy(part) == TERN_OK);
        fds = i == 0 ? look_fds() : fds;
        maps = i == 0 ? look_maps() : maps;
    }
    CHECK(look_fds() == fds && look_maps() == maps);
    CHECK(tern_comm_barrier(comm) == TERN_OK); // else the places of some may be taken for a while
    int alive = 0;
    int status = TERN_OK;
    while (alive < ALIVE && status == TERN_OK) {
        status = tern_comm_create_group(comm, ranks, size, (uint64_t)alive, &parts[alive]);
        alive += status == TERN_OK;
    }
    CHECK(alive == 254 || alive == 255);
    CHECK(status == TERN_ERR_LIMIT && look_says("256 communicators"));
    CHECK(look_fds() == fds); // a group takes none
    for (int i = 0; i < alive; i++) {
        CHECK(tern_comm_destroy(parts[i]) == TERN_OK);
    }
    return 0;
}

static void thousands_in_a_row_leak_nothing_and_take_no_descriptors(void **state)
{
    assert_true(ranks_run_comm(2, make_thousands, NULL, 110));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_alone_make_groups_in_the_order_they_name),
        cmocka_unit_test(groups_are_made_at_the_same_time_in_any_order),
        cmocka_unit_test(a_tag_serves_again),
        cmocka_unit_test(wrong_arguments_wait_for_nobody),
        cmocka_unit_test(members_that_name_other_ranks_are_told),
        cmocka_unit_test(a_member_that_does_not_come_is_named),
        cmocka_unit_test(thousands_in_a_row_leak_nothing_and_take_no_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
