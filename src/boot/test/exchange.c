// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Starts by an exchange: ranks that end after it, before those of their machine have met.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "boot/exchange.h"
#include "boot/join.h"
#include "boot/listen.h"
#include "support/look.h"
#include "support/ranks.h"

enum { RANKS = 5 };

struct board {
    struct tern__root root;
    _Atomic int made;
    int victim;
};

static int (*gather)(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                     int64_t deadline_ns);
static int victim;

static int gather_and_end(struct tern__exchange *exchange, const void *mine, size_t bytes,
                          void *all, int64_t deadline_ns)
{
    int status = gather(exchange, mine, bytes, all, deadline_ns);
    if (exchange->rank == victim) {
        raise(SIGKILL);
    }
    return status;
}

static void place(int rank)
{
    setenv("TERN_MACHINE", rank % 2 == 0 ? "even" : "odd", 1);
    setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
    setenv("TERN_NET_TIMEOUT", "60", 1);
}

static int ends_after_it(int rank, const struct ranks *ranks, void *arg)
{
    struct board *board = arg;
    struct tern__exchange exchange;
    struct tern__job *job;
    char name[16];
    place(rank);
    setenv("TMPDIR", ranks->folder, 1); // where nothing may be left
    if (rank == 0) {
        board->root.host = -1;
        CHECK(tern__address_read(&board->root.address, "127.0.0.1", 0));
        CHECK(tern__root_listen(&board->root) == TERN_OK);
        board->made = 1;
    }
    ranks_count_await(&board->made, 1);
    CHECK(tern__exchange_root(&board->root, rank, RANKS, &exchange) == TERN_OK);
    gather = exchange.gather;
    victim = board->victim;
    exchange.gather = gather_and_end;
    int fds = look_fds();
    int64_t begin_ns = tern__now_ns();
    int status = tern__join_exchanged(&exchange, 60 * TERN_NS_PER_SECOND, &job);
    CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
    if (rank % 2 != victim % 2) { // all of this machine are there
        CHECK(status == TERN_OK);
        tern__job_leave(job);
        return 0;
    }
    snprintf(name, sizeof name, "rank %d", victim);
    CHECK(status == TERN_ERR_PEER);
    CHECK(look_says(name) && look_says("ended before the job was complete"));
    CHECK(look_fds() <= fds + 1); // boot/reason.h
    return 0;
}

static void who_ends_before_its_machine_has_met_is_missed_at_once(void **state)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct board *board = ranks_shared(sizeof *board);
        struct ranks ranks;
        board->victim = rank;
        ranks_begin(&ranks, RANKS, ends_after_it, board);
        assert_true(ranks_wait(&ranks, 60) && ranks_end(&ranks));
        for (int i = 0; i < RANKS; i++) {
            assert_true(i == rank ? WIFSIGNALED(ranks.statuses[i]) : ranks.statuses[i] == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ends_before_its_machine_has_met_is_missed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
