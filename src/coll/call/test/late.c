// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// A rank that does not come: stopped, asleep, computing, waiting for something else; before a call
// or in the middle of it. The others wait, or test, in every call that waits for it: each has
// TERN_ERR_TIMEOUT at the communicator's deadline, with a sentence that says once who did not come
// and what it does.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/process.h"
#include "comm/area.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"
#include "sync/records.h"
#include "tern/coll.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

enum { RANKS = 3, LATE = 1, LARGE = 1 << 19, TOGETHER = 32 };
#define TIMEOUT_NS (3 * TERN_NS_PER_SECOND)

// What the late rank does.
enum absence { STOPPED, ASLEEP, PUTTING, ELSEWHERE, STOPPED_INSIDE, ASLEEP_INSIDE, ABSENCES };

// What the others wait in, and how.
enum subject {
    SMALL,
    STAGED,
    WINDOWS,
    BARRIER,
    RECV,
    SEND,
    MEETING,
    CREATE,
    SPLIT,
    SIGNAL,
    SUBJECTS
};
enum manner { BLOCKING, WAITED, WAITED_ANY, TESTED, MANNERS };

static const char *const absences[] = {"stopped",   "asleep",         "putting",
                                       "elsewhere", "stopped inside", "asleep inside"};
static const char *const subjects[] = {"small", "staged",  "windows", "barrier", "recv",
                                       "send",  "meeting", "create",  "split",   "signal"};

struct trial {
    enum absence absence;
    enum subject subject;
    enum manner manner;
    struct board {
        _Atomic int reported;
        _Atomic int begun; // the late rank has begun to be late
        _Atomic int go;    // it is seen to be; the others call
        _Atomic int back;
    } * board;
};

struct party {
    tern_comm *world;
    tern_window *window;
    int rank;
    float *in, *out;
    tern_coll call;
    tern_request request;
};

static bool can_be_inside(enum subject subject)
{
    return subject == STAGED || subject == WINDOWS;
}

static bool can_be_tested(enum subject subject)
{
    return subject <= SEND;
}

static int open_party(struct party *p, int rank, const struct ranks *ranks, const struct trial *t)
{
    static float heap[2][LARGE];
    float first = 1;
    float sum = 0;
    *p = (struct party){.rank = rank};
    CHECK(ranks_join(rank, ranks, TIMEOUT_NS, &p->world) == TERN_OK);
    CHECK(tern_window_create(p->world, (size_t)2 * sizeof heap[0], NULL, &p->window) == TERN_OK);
    CHECK(tern_all_reduce(p->world, &first, &sum, 1, TERN_F32, TERN_SUM) == TERN_OK);
    float *part = tern_window_address(p->window, rank);
    bool windows = t->subject == WINDOWS || t->subject == SEND;
    p->in = windows ? part : heap[0];
    p->out = windows ? part + LARGE : heap[1];
    p->call = (tern_coll){.kind = TERN_COLL_ALL_REDUCE, .in = p->in, .out = p->out};
    p->call.count = t->subject == SMALL ? 4 : LARGE;
    p->call.root = LATE;
    if (t->subject == BARRIER) {
        p->call = (tern_coll){.kind = TERN_COLL_BARRIER};
    } else if (t->subject == RECV || t->subject == SEND) {
        p->call.kind = t->subject == RECV ? TERN_COLL_RECV : TERN_COLL_SEND;
    }
    return 0;
}

// The call of the others; its status.
static int meet(struct party *p, const struct trial *t)
{
    tern_window *window;
    tern_comm *part;
    int index;
    int status;
    switch (t->subject) {
    case MEETING:
        return tern_comm_barrier(p->world);
    case CREATE:
        return tern_window_create(p->world, 64, NULL, &window);
    case SPLIT:
        return tern_comm_split(p->world, 0, 0, &part);
    case SIGNAL:
        return tern_signal_wait(p->window, 8, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT);
    default:
        break;
    }
    if (t->manner == BLOCKING) {
        return tern_coll_run(p->world, &p->call);
    }
    CHECK(tern_coll_start(p->world, &p->call, &p->request) == TERN_OK);
    if (t->manner == WAITED) {
        return tern_request_wait(&p->request);
    }
    if (t->manner == WAITED_ANY) {
        return tern_request_wait_any(&p->request, 1, &index);
    }
    while ((status = tern_request_test(&p->request)) == 0) {
        poll(NULL, 0, 1); // it is the time of the deadline
    }
    return status;
}

static int count_words(const char *text, const char *words)
{
    int count = 0;
    for (; (text = strstr(text, words)) != NULL; text++) {
        count++;
    }
    return count;
}

static int check_sentence(const struct trial *t)
{
    static const char *const doings[] = {
        [STOPPED] = "rank 1 is stopped",
        [ASLEEP] = "rank 1 is not waiting in tern (its process ",
        [PUTTING] = "rank 1 is not waiting in tern (its process ",
        [ELSEWHERE] = "rank 1 waits for the signal at byte 16 (process ",
        [STOPPED_INSIDE] = "rank 1 is stopped in all_reduce 2 of 2097152 bytes",
        [ASLEEP_INSIDE] = "rank 1 has begun all_reduce 2 of 2097152 bytes",
    };
    const char *text = tern_last_error();
    // One that tests has begun the call and does not wait in it either: the two may be told
    // together.
    if (t->absence == ASLEEP_INSIDE && t->manner == TESTED &&
        (look_says("ranks 0, 1 have begun all_reduce 2 of 2097152 bytes") ||
         look_says("ranks 1, 2 have begun all_reduce 2 of 2097152 bytes"))) {
        return 0;
    }
    bool once = count_words(text, "rank 1 ") ==
                    1 + count_words(text, "to rank 1 ") + count_words(text, "for rank 1 ") &&
                count_words(text, " waited ") == 1 && count_words(text, "call 2 (") <= 1 &&
                count_words(text, "message 1,") <= 1;
    if (count_words(text, doings[t->absence]) != 1 || !once) {
        fprintf(stderr, "'%s' is not once in: %s\n", doings[t->absence], text);
        return 1;
    }
    return 0;
}

static int be_late(struct party *p, const struct trial *t)
{
    struct board *board = t->board;
    static const char bytes[4096];
    int status = TERN_OK;
    if (t->absence == STOPPED_INSIDE || t->absence == ASLEEP_INSIDE) {
        CHECK(tern_coll_start(p->world, &p->call, &p->request) == TERN_OK);
    }
    board->begun = 1;
    if (t->absence == STOPPED || t->absence == STOPPED_INSIDE) {
        raise(SIGSTOP); // until rank 2 has reported
    }
    board->back = 1;
    while (t->absence == PUTTING && board->reported < RANKS - 1) {
        CHECK(tern_put(p->window, 0, 2 * sizeof(float) * LARGE - sizeof bytes, bytes,
                       sizeof bytes) == TERN_OK ||
              tern_comm_health(p->world) == TERN_ERR_TIMEOUT);
        poll(NULL, 0, 1);
    }
    if (t->absence == ELSEWHERE) { // for longer than the others
        status = tern_signal_wait(p->window, 16, TERN_CMP_EQ, 1, RANKS_SOON_NS);
        CHECK(status == TERN_ERR_TIMEOUT);
    }
    while (board->reported < RANKS - 1) {
        poll(NULL, 0, 1);
    }
    CHECK(tern_comm_health(p->world) == TERN_ERR_TIMEOUT);
    if (p->request != 0) {
        status = tern_request_wait(&p->request); // its own part may have been done
        CHECK(status == TERN_ERR_TIMEOUT || status == TERN_OK);
    }
    return 0;
}

static int take_part(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *t = arg;
    struct party p;
    if (open_party(&p, rank, ranks, t) != 0) {
        return 1;
    }
    if (rank == LATE) {
        CHECK(be_late(&p, t) == 0);
    } else {
        bool stops = t->absence == STOPPED || t->absence == STOPPED_INSIDE;
        pid_t late = ranks->pids[LATE]; // known to rank 2
        while (t->board->begun == 0) {
            poll(NULL, 0, 1);
        }
        while (rank == 2 && stops && tern__process_state(late) != 'T') {
            poll(NULL, 0, 1);
        }
        t->board->go |= rank == 2;
        while (t->board->go == 0) {
            poll(NULL, 0, 1);
        }
        int64_t begin = tern__now_ns();
        int status = meet(&p, t);
        int64_t took = tern__now_ns() - begin;
        int wrong = status != TERN_ERR_TIMEOUT || check_sentence(t) != 0;
        t->board->reported++;
        while (rank == 2 && t->board->reported < RANKS - 1) {
            poll(NULL, 0, 1);
        }
        while (rank == 2 && t->board->back == 0) {
            if (tern__process_state(late) == 'T') { // not one that ends
                kill(late, SIGCONT);
            }
            poll(NULL, 0, 1);
        }
        CHECK(!wrong);
        CHECK(took < RANKS_SOON_NS && p.request == 0);
    }
    CHECK(tern_window_destroy(p.window) == TERN_OK);
    CHECK(tern_comm_destroy(p.world) == TERN_OK);
    return 0;
}

static bool end_trial(struct ranks *ranks, const struct trial *t)
{
    bool right = ranks_wait(ranks, 60);
    for (int rank = 0; rank < RANKS; rank++) {
        right = right && ranks->statuses[rank] == 0;
    }
    right = ranks_end(ranks) && right;
    if (!right) {
        fprintf(stderr, "the late rank: %s; the others: %s, manner %d; ended with 0x%x 0x%x 0x%x\n",
                absences[t->absence], subjects[t->subject], (int)t->manner,
                (unsigned)ranks->statuses[0], (unsigned)ranks->statuses[1],
                (unsigned)ranks->statuses[2]);
    }
    return right;
}

static void who_does_not_come_is_named_with_what_it_does(void **state)
{
    static struct trial trials[ABSENCES * SUBJECTS * MANNERS];
    static struct ranks ranks[ABSENCES * SUBJECTS * MANNERS];
    int count = 0;
    int wrong = 0;
    struct board *boards = ranks_shared(sizeof *boards * (sizeof trials / sizeof trials[0]));
    // Many at a time: each is the time of a deadline, and none computes.
    for (int s = 0; s < SUBJECTS; s++) {
        for (int m = 0; m < (can_be_tested((enum subject)s) ? MANNERS : 1); m++) {
            for (int a = 0; a < ABSENCES; a++) {
                bool inside = a == STOPPED_INSIDE || a == ASLEEP_INSIDE;
                if (inside && !can_be_inside((enum subject)s)) {
                    continue;
                }
                trials[count] = (struct trial){.absence = (enum absence)a,
                                               .subject = (enum subject)s,
                                               .manner = (enum manner)m,
                                               .board = &boards[count]};
                count++;
            }
        }
    }
    for (int i = 0; i < count + TOGETHER; i++) {
        if (i >= TOGETHER) {
            wrong += !end_trial(&ranks[i - TOGETHER], &trials[i - TOGETHER]);
        }
        if (i < count) {
            ranks_begin(&ranks[i], RANKS, take_part, &trials[i]);
        }
    }
    printf("%d trials\n", count);
    assert_int_equal(wrong, 0);
}

// Whom the record of a rank that sleeps in a call names.
static int waits_for(const tern_comm *comm, int rank)
{
    struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    int count = tern__records_read(group->job->ctl, group->members[rank], calls);
    return count > 0 && calls[0].state == TERN__RECORD_WAITING ? calls[0].stuck_rank : -1;
}

// The root is ahead of all and waits until they have taken its bytes. They come one by one, each
// when the root says that it waits for it.
static int come_when_awaited(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    int value = 7;
    while (rank != 0 && waits_for(comm, 0) != rank) {
        poll(NULL, 0, 1);
    }
    for (int call = 0; call < 2 * TERN__LINES; call++) {
        CHECK(tern_broadcast(comm, &value, &value, 1, TERN_I32, 0) == TERN_OK);
    }
    return 0;
}

static void a_sleeper_shows_whom_it_waits_for_now(void **state)
{
    assert_true(ranks_run_comm(5, come_when_awaited, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_come_is_named_with_what_it_does),
        cmocka_unit_test(a_sleeper_shows_whom_it_waits_for_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
