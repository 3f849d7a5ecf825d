// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Gatherings of processes that know each other's addresses: early and late ones, those that never
// come, that end meanwhile or are not who they say, and what older attempts leave in the way.
#include "support/cmocka.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/dial.h"
#include "boot/listen.h"
#include "boot/star.h"
#include "support/look.h"
#include "support/ranks.h"

#define LONG_NS (60 * TERN_NS_PER_SECOND)

// Where the processes lay their addresses; and turns of theirs.
struct places {
    _Atomic int laid, done;
    struct tern__machines machines;
};

static const uint8_t token[16] = {1, 2, 3};

// Each on a machine of its own.
static struct tern__star lay(struct places *places, int rank, int nranks)
{
    struct tern__star star = {.what = "the test",
                              .rank = rank,
                              .nranks = nranks,
                              .at = &places->machines.address[0],
                              .machines = &places->machines,
                              .token = token,
                              .silence_ns = LONG_NS};
    uint32_t port = 0;
    if (tern__listen(&star.listener, &port) != TERN_OK ||
        !tern__address_read(&places->machines.address[rank], "127.0.0.1", port)) {
        abort();
    }
    struct tern__machine *machine = &places->machines.list[rank];
    snprintf(machine->name, sizeof machine->name, "m%d", rank);
    machine->ranks = UINT64_C(1) << rank;
    machine->leader = rank;
    places->machines.of[rank] = (uint8_t)rank;
    places->laid++;
    ranks_count_await(&places->laid, nranks);
    return star;
}

static int gather(const struct tern__star *star, uint32_t round, int64_t timeout_ns)
{
    uint32_t mine[3] = {(uint32_t)star->rank, round, 77};
    uint32_t all[TERN_RANKS_MAX][3];
    int status = tern__star_gather(star, mine, sizeof mine, all, timeout_ns);
    for (uint32_t rank = 0; status == TERN_OK && rank < (uint32_t)star->nranks; rank++) {
        CHECK(all[rank][0] == rank && all[rank][1] == round && all[rank][2] == 77);
    }
    return status;
}

// Again and again, each time somebody else is late.
static int meets(int rank, const struct ranks *ranks, void *arg)
{
    struct tern__star star = lay(arg, rank, ranks->count);
    int fds = look_fds();
    for (int round = 0; round < 6; round++) {
        usleep(round % ranks->count == rank ? 20000 : 0);
        CHECK(gather(&star, (uint32_t)round, LONG_NS) == TERN_OK);
        CHECK(look_fds() == fds);
    }
    return 0;
}

static void all_get_what_all_give(void **state)
{
    for (int i = 1; i < 6; i++) {
        assert_true(ranks_run(ranks_counts[i], meets, ranks_shared(sizeof(struct places)), 60));
    }
}

// Rank 2 comes to the third attempt only; the others are told so, and come again.
static int comes_late(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 4);
    int fds = look_fds();
    for (int i = 0; i < 2 && rank != 2; i++) {
        int64_t timeout_ns = rank == 0 ? TERN_NS_PER_SECOND : LONG_NS;
        CHECK(gather(&star, 1, timeout_ns) == TERN_ERR_TIMEOUT);
        CHECK(look_says("did not come: rank 2 on machine m2 (127.0.0.1:") && look_fds() == fds);
        places->done++;
        ranks_count_await(&places->done, 3 * (i + 1));
    }
    ranks_count_await(&places->done, 6);
    CHECK(gather(&star, 2, LONG_NS) == TERN_OK && look_fds() == fds);
    return 0;
}

static void who_never_comes_is_named_and_may_come_later(void **state)
{
    assert_true(ranks_run(4, comes_late, ranks_shared(sizeof(struct places)), 60));
}

// Rank 1 waits alone and gives up, twice, before rank 0 comes.
static int gives_up(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 3);
    for (int i = 0; i < 2 && rank == 1; i++) {
        CHECK(gather(&star, 1, 50 * TERN_NS_PER_MS) == TERN_ERR_TIMEOUT);
        CHECK(look_says("did not come: rank 0 on machine m0"));
    }
    places->done += rank == 1;
    ranks_count_await(&places->done, 1);
    CHECK(gather(&star, 2, LONG_NS) == TERN_OK);
    return 0;
}

static void what_has_given_up_is_in_nobodys_way(void **state)
{
    assert_true(ranks_run(3, gives_up, ranks_shared(sizeof(struct places)), 60));
}

// What listens there says something else, or nothing, and others connect that do not belong here.
static int strangers(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 2);
    int fds[40];
    if (rank == 1) {
        static const char words[200] = "GET / HTTP/1.1";
        for (int i = 0; i < 40; i++) {
            CHECK(tern__dial_begin(&places->machines.address[0], &fds[i]) == 0);
            usleep(1000);
            CHECK(i % 2 == 0 || send(fds[i], words, sizeof words, MSG_NOSIGNAL) > 0);
        }
        static const uint8_t other[16] = {9};
        star.token = other;
        CHECK(gather(&star, 1, LONG_NS) == TERN_ERR_REFUSED && look_says("token"));
        star.token = token;
        star.nranks = 3;
        CHECK(gather(&star, 1, LONG_NS) == TERN_ERR_REFUSED && look_says("differs"));
        star.nranks = 2;
    }
    CHECK(gather(&star, 2, LONG_NS) == TERN_OK);
    for (int i = 0; i < 40 && rank == 1; i++) {
        close(fds[i]);
    }
    return 0;
}

static void who_does_not_belong_there_is_told_or_closed(void **state)
{
    assert_true(ranks_run(2, strangers, ranks_shared(sizeof(struct places)), 60));
}

// Rank 1 is gone before it comes: at once, and not at the deadline.
static int ended(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 3);
    int64_t begin_ns = tern__now_ns();
    if (rank == 1) {
        places->done++;
        ranks_count_await(&places->done, 4);
    }
    places->done++;
    int status = gather(&star, 1, LONG_NS);
    CHECK(status == TERN_ERR_PEER && look_says("rank 1 on machine m1") &&
          look_says("nobody listens there any more"));
    CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
    return 0;
}

static void killed(int victim, rank_body body, struct places *places, int after)
{
    struct ranks ranks;
    ranks_begin(&ranks, 3, body, places);
    ranks_count_await(&places->done, after);
    usleep(50000);
    assert_int_equal(kill(ranks.pids[victim], SIGKILL), 0);
    assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
    for (int rank = 0; rank < 3; rank++) {
        assert_true(rank == victim ? WIFSIGNALED(ranks.statuses[rank]) : ranks.statuses[rank] == 0);
    }
}

static void who_ends_before_it_comes_is_missed_at_once(void **state)
{
    killed(1, ended, ranks_shared(sizeof(struct places)), 3);
}

// Ranks 0 and 2 have come and wait for rank 1, and one of the two is killed.
static int ends_inside(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 3);
    int64_t begin_ns = tern__now_ns();
    places->done++;
    if (rank == 1) {
        ranks_count_await(&places->done, 4);
        return 0;
    }
    int status = gather(&star, 1, LONG_NS);
    CHECK(status == TERN_ERR_PEER && tern__now_ns() - begin_ns < RANKS_SOON_NS);
    CHECK(look_says(rank == 0 ? "rank 2 on machine m2" : "rank 0 on machine m0"));
    places->done++;
    return 0;
}

static void who_ends_while_it_waits_is_missed_at_once(void **state)
{
    killed(0, ends_inside, ranks_shared(sizeof(struct places)), 3);
    killed(2, ends_inside, ranks_shared(sizeof(struct places)), 3);
}

// Rank 2 ends, rank 0 is told so and gives up, and rank 1 comes after that: rank 0 says nothing any
// more.
static int comes_after(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay(places, rank, 3);
    places->done++;
    if (rank == 2) {
        ranks_count_await(&places->done, 10);
    }
    if (rank == 1) {
        ranks_count_await(&places->done, 4);
    }
    int64_t begin_ns = tern__now_ns();
    CHECK(gather(&star, 1, LONG_NS) == TERN_ERR_PEER && look_says("rank 2 on machine m2"));
    CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
    places->done++;
    ranks_count_await(&places->done, 5); // it still listens
    return 0;
}

static void who_comes_after_others_gave_up_learns_why(void **state)
{
    killed(2, comes_after, ranks_shared(sizeof(struct places)), 3);
}

// Only the host's address is known, to rank 0 not even which rank that is.
static struct tern__star lay_one(struct places *places, int rank, int nranks, int host)
{
    struct tern__star star = lay(places, rank, nranks);
    star.machines = NULL;
    star.at = &places->machines.address[host];
    star.host = rank == 0 && host != 0 ? -1 : host;
    return star;
}

static int meets_at_one(int rank, const struct ranks *ranks, void *arg)
{
    for (int host = 0; host < ranks->count; host += 2) {
        struct places *places = (struct places *)arg + host;
        struct tern__star star = lay_one(places, rank, ranks->count, host);
        for (int round = 0; round < 3; round++) {
            usleep(round % ranks->count == rank ? 20000 : 0);
            CHECK(gather(&star, (uint32_t)round, LONG_NS) == TERN_OK);
        }
    }
    return 0;
}

static void any_rank_may_be_the_host(void **state)
{
    for (int i = 1; i < 4; i++) {
        int count = ranks_counts[i];
        size_t bytes = (size_t)count * sizeof(struct places);
        assert_true(ranks_run(count, meets_at_one, ranks_shared(bytes), 60));
    }
}

// The host listens when the others have come.
static int listens_late(int rank, const struct ranks *ranks, void *arg)
{
    struct places *places = arg;
    struct tern__star star = lay_one(places, rank, 3, 1);
    star.begins_later = true;
    if (rank == 1) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof at;
        close(star.listener);
        star.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK(bind(star.listener, (struct sockaddr *)&at, sizeof at) == 0 &&
              getsockname(star.listener, (struct sockaddr *)&at, &length) == 0);
        tern__address_set(&places->machines.address[1], (struct sockaddr *)&at, ntohs(at.sin_port));
        places->done++;
        ranks_count_await(&places->done, 3);
        usleep(100000);
        CHECK(listen(star.listener, 8) == 0);
    } else {
        ranks_count_await(&places->done, 1);
        places->done++;
    }
    CHECK(gather(&star, 1, LONG_NS) == TERN_OK);
    return 0;
}

static void a_host_may_listen_late(void **state)
{
    assert_true(ranks_run(3, listens_late, ranks_shared(sizeof(struct places)), 60));
}

// Rank 0 has come to rank 2 and gives up; rank 1 does not come.
static int parts_from_one(int rank, const struct ranks *ranks, void *arg)
{
    struct tern__star star = lay_one(arg, rank, 3, 2);
    if (rank == 2) {
        CHECK(gather(&star, 1, LONG_NS) == TERN_ERR_PEER);
        CHECK(look_says("rank 0 has ended, or given up, before all had come to the test"));
    }
    while (rank == 0 && gather(&star, 1, 300 * TERN_NS_PER_MS) == TERN_ERR_TIMEOUT &&
           !look_says("did not come: rank 1")) { // rank 2 has not taken it in yet
    }
    return 0;
}

static void who_parts_from_the_host_is_missed_at_once(void **state)
{
    assert_true(ranks_run(3, parts_from_one, ranks_shared(sizeof(struct places)), 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_get_what_all_give),
        cmocka_unit_test(who_never_comes_is_named_and_may_come_later),
        cmocka_unit_test(what_has_given_up_is_in_nobodys_way),
        cmocka_unit_test(who_does_not_belong_there_is_told_or_closed),
        cmocka_unit_test(who_ends_before_it_comes_is_missed_at_once),
        cmocka_unit_test(who_ends_while_it_waits_is_missed_at_once),
        cmocka_unit_test(who_comes_after_others_gave_up_learns_why),
        cmocka_unit_test(any_rank_may_be_the_host),
        cmocka_unit_test(a_host_may_listen_late),
        cmocka_unit_test(who_parts_from_the_host_is_missed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
