// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 360
// Kills at random moments: in tern_init_at, in barriers, in signal waits, in streams of puts, while
// windows and parts come and go. Whatever was going on, each survivor ends by itself, with an error
// that names the killed rank (a start may name who did not come), or had finished before. Nothing
// stays behind. The seed is printed; TERN_TEST_SEED sets it.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum {
    ROUNDS = ROUNDS_OF(40),
    LATEST_US = 8000,
    FINISHED = 0,
    NAMED = 10,
    AT_START = 11,
    GAVE_UP = 12
};

// When a thread that wakes up all the time has not run for so long, the machine has stood still.
// Then the time of the start may be over before a rank was killed, or has ended.
#define STALLED_NS (500 * TERN_NS_PER_MS)

static uint64_t seed;

typedef int (*rank_work)(tern_comm *comm, tern_window *window);

struct plan {
    rank_work work;
    int victim;
    int *go;              // a pipe: the ranks start when it is closed
    _Atomic int *working; // ranks that have joined; shared with them
};

static int bare_init(tern_comm *comm, tern_window *window)
{
    return tern_comm_barrier(comm);
}

static int barriers(tern_comm *comm, tern_window *window)
{
    int status = TERN_OK;
    for (int i = 0; i < 1000000 && status == TERN_OK; i++) {
        status = tern_comm_barrier(comm);
    }
    return status;
}

// A token goes round through all ranks.
static int signals(tern_comm *comm, tern_window *window)
{
    int next = (tern_comm_rank(comm) + 1) % tern_comm_size(comm);
    int status = TERN_OK;
    for (int i = 1; i < 1000000 && status == TERN_OK; i++) {
        if (tern_comm_rank(comm) != 0 || i > 1) {
            int turn = tern_comm_rank(comm) == 0 ? i - 1 : i;
            status = tern_signal_wait(window, 0, TERN_CMP_GE, turn, TERN_TIMEOUT_DEFAULT);
        }
        if (status == TERN_OK) {
            status = tern_signal_notify(window, next, 0, 1, TERN_NOTIFY_ADD);
        }
    }
    return status;
}

static int puts_(tern_comm *comm, tern_window *window)
{
    static char bytes[16384];
    int next = (tern_comm_rank(comm) + 1) % tern_comm_size(comm);
    int status = TERN_OK;
    for (int i = 0; i < 1000000 && status == TERN_OK; i++) {
        status = tern_put(window, next, 4096, bytes, sizeof bytes);
        if (status == TERN_OK && i % 16 == 15) {
            status = tern_comm_barrier(comm);
        }
    }
    return status;
}

static int windows(tern_comm *comm, tern_window *window)
{
    int status = TERN_OK;
    for (int i = 0; i < 1000000 && status == TERN_OK; i++) {
        tern_window *made;
        status = tern_window_create(comm, 100 + (size_t)i, NULL, &made);
        if (status == TERN_OK) {
            tern_window_destroy(made);
        }
    }
    return status;
}

static int parts(tern_comm *comm, tern_window *window)
{
    int status = TERN_OK;
    for (int i = 0; i < 1000000 && status == TERN_OK; i++) {
        tern_comm *part;
        status = tern_comm_split(comm, 0, i % 3 * tern_comm_rank(comm), &part);
        if (status == TERN_OK) {
            tern_comm_destroy(part);
        }
    }
    return status;
}

static bool names(int victim, bool started)
{
    char died[64];
    snprintf(died, sizeof died, "rank %d died", victim);
    if (look_says(died)) {
        return true;
    }
    snprintf(died, sizeof died, "rank %d did not come", victim);
    // Who had not come when the others were told of the death finds nobody at the path. On a busy
    // machine the time of the start can be over before rank 0 gets to say who is missing.
    return !started && (look_says(died) || look_says("rank 0 did not come") ||
                        look_says("took this rank in, but gave no answer"));
}

static int take_part(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    // In the start all of it passes where rank 0 never listens.
    const int64_t seconds = plan->work == bare_init ? 3 : 20;
    const tern_options options = {.timeout_ns = seconds * TERN_NS_PER_SECOND};
    char byte;
    tern_comm *comm;
    tern_window *window = NULL;
    close(plan->go[1]);
    CHECK(read(plan->go[0], &byte, 1) == 0);
    int status = tern_init_at(rank, ranks->count, ranks->path, &options, &comm);
    if (status != TERN_OK) {
        CHECK(status == TERN_ERR_PEER || status == TERN_ERR_TIMEOUT);
        bool named = names(plan->victim, false);
        // On a machine that stands still another rank may have given up before this one looked.
        CHECK(named || status == TERN_ERR_TIMEOUT || look_says("died before the job was complete"));
        if (!named) {
            fprintf(stderr, "rank %d gives up: %s\n", rank, tern_last_error());
        }
        return named ? AT_START : GAVE_UP;
    }
    if (plan->work != bare_init) {
        status = tern_window_create(comm, 65536, NULL, &window);
    }
    CHECK(look_shm() == 0);
    ++*plan->working;
    if (status == TERN_OK) {
        status = plan->work(comm, window);
    }
    bool over = plan->work == bare_init && status == TERN_ERR_TIMEOUT;
    CHECK(over || status == TERN_OK || status == TERN_ERR_PEER);
    CHECK(over || status == TERN_OK || names(plan->victim, true));
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return over ? GAVE_UP : status == TERN_OK ? FINISHED : NAMED;
}

static int64_t slowest_ns;
static _Atomic int *working;

struct watch {
    pthread_t thread;
    _Atomic bool over;
    int64_t longest_ns; // that it did not run
};

static void *keep_watch(void *arg)
{
    struct watch *watch = arg;
    for (int64_t before = tern__now_ns(); !watch->over;) {
        poll(NULL, 0, 2);
        int64_t now = tern__now_ns();
        watch->longest_ns = now - before > watch->longest_ns ? now - before : watch->longest_ns;
        before = now;
    }
    return NULL;
}

static int64_t end_watch(struct watch *watch)
{
    watch->over = true;
    assert_int_equal(pthread_join(watch->thread, NULL), 0);
    return watch->longest_ns;
}

// One job, one kill; adds to the counts how its survivors ended.
static void kill_one(rank_work work, int nranks, int counts[4])
{
    struct ranks ranks;
    int go[2];
    assert_int_equal(pipe(go), 0);
    struct plan plan = {work, (int)random_below(&seed, (uint64_t)nranks), go, working};
    *working = 0;
    struct watch watch = {0};
    ranks_begin(&ranks, nranks, take_part, &plan);
    assert_int_equal(pthread_create(&watch.thread, NULL, keep_watch, &watch), 0);
    int64_t moment_us = (int64_t)random_below(&seed, LATEST_US);
    close(go[0]);
    close(go[1]);
    int64_t begin = tern__now_ns();
    while (work != bare_init && *working < nranks &&
           tern__now_ns() < begin + 10 * TERN_NS_PER_SECOND) {
        poll(NULL, 0, 1);
    }
    begin = work == bare_init ? begin : tern__now_ns();
    while (tern__now_ns() < begin + moment_us * 1000) {
    }
    kill(ranks.pids[plan.victim], SIGKILL);
    int64_t killed = tern__now_ns();
    bool all = ranks_wait(&ranks, 20);
    bool clean = ranks_end(&ranks);
    int64_t still_ns = end_watch(&watch);
    bool right = true;
    for (int rank = 0; rank < nranks; rank++) {
        int status = ranks.statuses[rank];
        if (rank == plan.victim) {
            right = right && (status == SIGKILL || status == 0);
            continue;
        }
        int ended = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        right = right && (ended == FINISHED || ended == NAMED || ended == AT_START ||
                          (ended == GAVE_UP && still_ns > STALLED_NS));
        counts[ended == NAMED ? 1 : ended == AT_START ? 2 : 0]++;
        if (ended == NAMED && ranks.ended_ns[rank] - killed > slowest_ns) {
            slowest_ns = ranks.ended_ns[rank] - killed;
        }
    }
    counts[3]++;
    if (!right || !all || !clean) {
        fail_msg("rank %d of %d, killed after %lld us; the machine stood still for up to %lld us",
                 plan.victim, nranks, (long long)moment_us, (long long)still_ns / 1000);
    }
}

static void kill_many(const char *name, rank_work work)
{
    static const int sizes[] = {2, 3, 5, 8};
    int counts[4] = {0};
    int fds = look_fds();
    slowest_ns = 0;
    for (int round = 0; round < ROUNDS; round++) {
        kill_one(work, sizes[round % 4], counts);
    }
    assert_int_equal(look_fds(), fds);
    printf("%s: %d kills; of the survivors %d named it, %d did so in the start, %d had finished; "
           "slowest %.0f ms\n",
           name, counts[3], counts[1], counts[2], counts[0], (double)slowest_ns * 1e-6);
}

static void kills_during_the_start(void **state)
{
    kill_many("start", bare_init);
}

static void kills_during_barriers(void **state)
{
    kill_many("barriers", barriers);
}

static void kills_during_signal_waits(void **state)
{
    kill_many("signals", signals);
}

static void kills_during_puts(void **state)
{
    kill_many("puts", puts_);
}

static void kills_while_windows_come_and_go(void **state)
{
    kill_many("windows", windows);
}

static void kills_while_parts_come_and_go(void **state)
{
    kill_many("parts", parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_during_the_start),
        cmocka_unit_test(kills_during_barriers),
        cmocka_unit_test(kills_during_signal_waits),
        cmocka_unit_test(kills_during_puts),
        cmocka_unit_test(kills_while_windows_come_and_go),
        cmocka_unit_test(kills_while_parts_come_and_go),
    };
    seed = random_seed();
    working = ranks_shared(sizeof *working);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
