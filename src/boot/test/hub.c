// SPDX-License-Identifier: Apache-2.0
// The hub, driven by hand through sockets: all of a gathering get the same end, and every HELLO
// that does not fit is refused with a sentence that says who said what.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/hub.h"
#include "boot/wire.h"
#include "mem/memfd.h"
#include "support/look.h"
#include "sync/ctl.h"

static const uint8_t token[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static struct tern__hub *hub;
static int before;

static int no_hub(void **state)
{
    before = look_fds();
    return 0;
}

// Whatever a test does, no descriptor stays open.
static int all_closed(void **state)
{
    tern__hub_destroy(hub);
    hub = NULL;
    return look_fds() == before ? 0 : -1;
}

static int connect_rank(void)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tern__hub_add(hub, ends[0]), TERN_OK);
    return ends[1];
}

static void pump(void)
{
    struct pollfd fds[300];
    int count = tern__hub_pollfds(hub, fds, 300);
    poll(fds, (nfds_t)count, 0);
    for (int i = 0; i < count; i++) {
        tern__hub_handle(hub, &fds[i]);
    }
}

static struct tern__wire_message hello_of(int rank, int nranks)
{
    struct tern__wire_message hello = tern__wire_message(TERN__WIRE_HELLO);
    hello.rank = rank;
    hello.nranks = nranks;
    hello.pid = 1000 + rank;
    hello.timeout_ns = INT64_C(60000000000);
    memcpy(hello.token, token, sizeof token);
    return hello;
}

static void say(int fd, struct tern__wire_message hello)
{
    int inbox[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, inbox), 0);
    assert_int_equal(tern__wire_send(fd, &hello, &inbox[1], 1), 0);
    close(inbox[0]);
    close(inbox[1]);
    pump();
}

static void expect_kind(int fd, uint32_t kind, struct tern__wire_message *answer)
{
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    assert_int_equal(tern__wire_receive(fd, answer, fds, &count), 1);
    assert_int_equal(answer->kind, kind);
    for (int i = 0; i < count; i++) {
        close(fds[i]);
    }
    assert_int_equal(count, kind == TERN__WIRE_WELCOME ? answer->nranks + 1 : 0);
}

static void expect_refusal(int fd, int status, const char *text)
{
    struct tern__wire_message answer;
    expect_kind(fd, TERN__WIRE_REFUSED, &answer);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.text, text);
}

static void expect_nothing(int fd)
{
    struct tern__wire_message answer;
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    assert_int_equal(tern__wire_receive(fd, &answer, fds, &count), -1);
}

static void gather(const int *fds, int nranks)
{
    struct tern__wire_message answer;
    for (int rank = 0; rank < nranks; rank++) {
        assert_int_equal(rank == 0 || !tern__hub_complete(hub), 1);
        say(fds[rank], hello_of(rank, nranks));
        expect_kind(fds[rank], TERN__WIRE_ACCEPTED, &answer);
    }
    assert_true(tern__hub_complete(hub));
    for (int rank = 0; rank < nranks; rank++) {
        expect_kind(fds[rank], TERN__WIRE_WELCOME, &answer);
        assert_int_equal(answer.rank, rank);
        assert_memory_equal(answer.token, token, sizeof token);
    }
}

static void nobody_is_welcomed_before_all_are_here_and_again_in_the_next_generation(void **state)
{
    int fds[3];
    assert_int_equal(tern__hub_create(3, token, &hub), TERN_OK);
    for (int rank = 0; rank < 3; rank++) {
        fds[rank] = connect_rank();
    }
    gather(fds, 3);
    gather(fds, 3);
    for (int rank = 0; rank < 3; rank++) {
        close(fds[rank]);
    }
}

static void wrong_hellos_are_refused_and_the_right_ones_still_gather(void **state)
{
    int fds[2];
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(2, token, &hub), TERN_OK);
    fds[0] = connect_rank();
    fds[1] = connect_rank();
    say(fds[0], hello_of(0, 2));
    expect_kind(fds[0], TERN__WIRE_ACCEPTED, &answer);
    struct tern__wire_message wrong = hello_of(1, 2);
    wrong.token[15]++;
    say(fds[1], wrong);
    expect_refusal(fds[1], TERN_ERR_REFUSED, "process 1001 has the token of another job");
    say(fds[1], hello_of(1, 3));
    expect_refusal(fds[1], TERN_ERR_REFUSED,
                   "process 1001 (rank 1) says that there are 3 ranks, the job has 2");
    say(fds[1], hello_of(2, 2));
    expect_refusal(fds[1], TERN_ERR_REFUSED, "process 1002 says it is rank 2; ranks are 0..1");
    say(fds[1], hello_of(-1, 2));
    expect_refusal(fds[1], TERN_ERR_REFUSED, "process 999 says it is rank -1; ranks are 0..1");
    wrong = hello_of(0, 2);
    wrong.pid = 77;
    say(fds[1], wrong);
    expect_refusal(fds[1], TERN_ERR_REFUSED, "process 77 says it is rank 0, but process 1000 is");
    wrong = hello_of(1, 2);
    assert_int_equal(tern__wire_send(fds[1], &wrong, NULL, 0), 0); // without an inbox
    pump();
    expect_refusal(fds[1], TERN_ERR_REFUSED, "the job's hub got a message that is no HELLO");
    expect_nothing(fds[0]);
    say(fds[1], hello_of(1, 2));
    expect_kind(fds[1], TERN__WIRE_ACCEPTED, &answer);
    expect_kind(fds[1], TERN__WIRE_WELCOME, &answer);
    expect_kind(fds[0], TERN__WIRE_WELCOME, &answer);
    close(fds[0]);
    close(fds[1]);
}

static void garbage_is_answered_and_closed_and_harms_nobody(void **state)
{
    struct tern__wire_message answer;
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    assert_int_equal(tern__hub_create(2, NULL, &hub), TERN_OK);
    int good = connect_rank();
    int bad = connect_rank();
    say(good, hello_of(0, 2));
    expect_kind(good, TERN__WIRE_ACCEPTED, &answer);
    assert_int_equal(send(bad, "garbage", 7, 0), 7);
    pump();
    expect_refusal(bad, TERN_ERR_REFUSED, "the job's hub runs another version of tern");
    assert_int_equal(tern__wire_receive(bad, &answer, fds, &count), 0);
    expect_nothing(good);
    close(bad);
    bad = connect_rank(); // comes and goes without a word
    close(bad);
    pump();
    expect_nothing(good);
    close(good);
}

static void deadline_names_all_that_are_missing_to_all_that_are_here(void **state)
{
    int fds[3];
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(6, token, &hub), TERN_OK);
    assert_true(tern__hub_expire(hub) == INT64_MAX);
    static const int ranks[3] = {0, 2, 5};
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_rank();
        struct tern__wire_message hello = hello_of(ranks[i], 6);
        hello.timeout_ns = i == 1 ? 20000000 : INT64_C(60000000000); // the earliest counts
        say(fds[i], hello);
        expect_kind(fds[i], TERN__WIRE_ACCEPTED, &answer);
    }
    int64_t expiry = tern__hub_expire(hub);
    assert_true(expiry != INT64_MAX);
    expect_nothing(fds[0]);
    poll(NULL, 0, 25);
    assert_true(tern__hub_expire(hub) == INT64_MAX);
    for (int i = 0; i < 3; i++) {
        expect_refusal(fds[i], TERN_ERR_TIMEOUT, "ranks 1, 3, 4 did not come within 0.02 s");
        close(fds[i]);
    }
}

// A rank whose deadline has passed has given up: what is wrong are the ranks that did not come.
static void rank_that_gives_up_did_not_die(void **state)
{
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(3, NULL, &hub), TERN_OK);
    int first = connect_rank();
    int second = connect_rank();
    struct tern__wire_message hello = hello_of(2, 3);
    hello.timeout_ns = 20000000;
    say(first, hello_of(0, 3));
    say(second, hello);
    expect_kind(first, TERN__WIRE_ACCEPTED, &answer);
    poll(NULL, 0, 25);
    close(second);
    pump();
    expect_refusal(first, TERN_ERR_TIMEOUT, "rank 1 did not come within 0.02 s");
    close(first);
}

static void rank_that_disconnects_during_the_gathering_is_named(void **state)
{
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(3, NULL, &hub), TERN_OK);
    int first = connect_rank();
    int second = connect_rank();
    say(first, hello_of(0, 3));
    say(second, hello_of(2, 3));
    expect_kind(first, TERN__WIRE_ACCEPTED, &answer);
    close(second);
    pump();
    expect_refusal(first, TERN_ERR_PEER, "rank 2 died before the job was complete");
    close(first);
}

static void rank_that_comes_after_the_end_learns_why(void **state)
{
    const char *why = "rank 2 died before the job was complete";
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(3, NULL, &hub), TERN_OK);
    int first = connect_rank();
    int dying = connect_rank();
    int late = connect_rank();
    say(first, hello_of(0, 3));
    expect_kind(first, TERN__WIRE_ACCEPTED, &answer);
    say(dying, hello_of(2, 3));
    close(dying);
    pump();
    expect_refusal(first, TERN_ERR_PEER, why);
    say(late, hello_of(1, 3));
    expect_refusal(late, TERN_ERR_PEER, why);
    close(first);
    close(late);
}

static void rank_whose_process_ended_is_named_with_its_end(void **state)
{
    struct tern__wire_message answer;
    assert_int_equal(tern__hub_create(3, token, &hub), TERN_OK);
    int first = connect_rank();
    say(first, hello_of(0, 3));
    expect_kind(first, TERN__WIRE_ACCEPTED, &answer);
    assert_false(tern__hub_rank_ended(hub, 1, 9));
    expect_refusal(first, TERN_ERR_PEER,
                   "rank 1 was killed by signal 9 (Killed) before it joined the job");
    say(first, hello_of(0, 3)); // who asks again hears it again
    expect_kind(first, TERN__WIRE_ACCEPTED, &answer);
    expect_refusal(first, TERN_ERR_PEER,
                   "rank 1 was killed by signal 9 (Killed) before it joined the job");
    close(first);
}

static void most_connections_are_taken_and_one_more_is_refused(void **state)
{
    enum { MOST = 4 * TERN_RANKS_MAX };
    static int fds[MOST];
    int ends[2];
    assert_int_equal(tern__hub_create(2, NULL, &hub), TERN_OK);
    for (int i = 0; i < MOST; i++) {
        fds[i] = connect_rank();
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tern__hub_add(hub, ends[0]), TERN_ERR_LIMIT);
    close(ends[1]);
    close(fds[100]);
    pump();
    fds[100] = connect_rank(); // a place that became free is used again
    for (int i = 0; i < MOST; i++) {
        close(fds[i]);
    }
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, no_hub, all_closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(nobody_is_welcomed_before_all_are_here_and_again_in_the_next_generation),
        CLEAN(wrong_hellos_are_refused_and_the_right_ones_still_gather),
        CLEAN(garbage_is_answered_and_closed_and_harms_nobody),
        CLEAN(deadline_names_all_that_are_missing_to_all_that_are_here),
        CLEAN(rank_that_gives_up_did_not_die),
        CLEAN(rank_that_disconnects_during_the_gathering_is_named),
        CLEAN(rank_that_comes_after_the_end_learns_why),
        CLEAN(rank_whose_process_ended_is_named_with_its_end),
        CLEAN(most_connections_are_taken_and_one_more_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
