// SPDX-License-Identifier: Apache-2.0
// A rank forks. In the child every call is refused with a sentence that names the rank, and
// destroying lets go of the child's copy; the rank's results, its communicator and its peers see
// nothing of it.
#include "support/cmocka.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/algo.h"
#include "tern/coll.h"
#include "tern/exec.h"
#include "tern/graph.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/topo.h"
#include "tern/trace.h"
#include "tern/window.h"

enum { COUNT = 2, MANY = 20000, WINDOW_BYTES = 4 * MANY };

// What a rank has when it forks. 0 in `running`: it was not started.
struct things {
    tern_comm *comm, *part;
    tern_window *window;
    tern_topo *topo;
    tern_plan *plan;
    tern_exec *exec;
    tern_graph *graph;
    tern_chip *chip;
    tern_request running, persistent;
    float in[MANY], out[MANY];
};

static int make_exec(struct things *things)
{
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .bytes = 1024,
                                 .unit = 4,
                                 .order = TERN_ORDER_RANK};
    tern_exec_options options = {.in = things->window,
                                 .out = things->window,
                                 .out_offset = 2048,
                                 .dtype = TERN_F32,
                                 .op = TERN_SUM};
    char word[16];
    snprintf(word, sizeof word, "mesh:%d", tern_comm_size(things->comm));
    CHECK(tern_topo_create(word, &things->topo) == TERN_OK);
    request.topo = things->topo;
    CHECK(tern_algo_plan(&request, &things->plan) == TERN_OK);
    CHECK(tern_exec_create(things->comm, things->plan, &options, &things->exec) == TERN_OK);
    CHECK(tern_exec_run(things->exec) == TERN_OK);
    return 0;
}

static void sum(struct things *things, tern_coll *call)
{
    *call = (tern_coll){.kind = TERN_COLL_ALL_REDUCE,
                        .in = things->in,
                        .out = things->out,
                        .count = MANY,
                        .dtype = TERN_F32,
                        .op = TERN_SUM};
}

// The sum of what the ranks have, small (the short path) and large, checked.
static int reduce(struct things *things, size_t count)
{
    int size = tern_comm_size(things->comm);
    float expected = (float)(size * (size + 1)) / 2;
    for (size_t i = 0; i < count; i++) {
        things->in[i] = (float)(tern_comm_rank(things->comm) + 1);
        things->out[i] = 0;
    }
    CHECK(tern_all_reduce(things->comm, things->in, things->out, count, TERN_F32, TERN_SUM) ==
          TERN_OK);
    for (size_t i = 0; i < count; i++) {
        CHECK(things->out[i] == expected);
    }
    return 0;
}

static int make(struct things *things, tern_comm *comm)
{
    tern_coll call;
    memset(things, 0, sizeof *things);
    things->comm = comm;
    CHECK(tern_comm_split(comm, 0, 0, &things->part) == TERN_OK);
    CHECK(tern_window_create(comm, WINDOW_BYTES, NULL, &things->window) == TERN_OK);
    CHECK(make_exec(things) == 0);
    CHECK(tern_graph_create(&things->graph) == TERN_OK);
    CHECK(tern_chip_create(comm, NULL, &things->chip) == TERN_OK);
    for (int i = 0; i < 5; i++) {
        CHECK(reduce(things, COUNT) == 0);
    }
    CHECK(reduce(things, MANY) == 0);
    sum(things, &call);
    CHECK(tern_coll_prepare(comm, &call, &things->persistent) == TERN_OK);
    return 0;
}

static int unmake(struct things *things)
{
    CHECK(tern_request_free(&things->persistent) == TERN_OK);
    CHECK(tern_chip_destroy(things->chip) == TERN_OK);
    CHECK(tern_graph_destroy(things->graph) == TERN_OK);
    CHECK(tern_exec_destroy(things->exec) == TERN_OK);
    CHECK(tern_plan_destroy(things->plan) == TERN_OK);
    CHECK(tern_topo_destroy(things->topo) == TERN_OK);
    CHECK(tern_window_destroy(things->window) == TERN_OK);
    CHECK(tern_comm_destroy(things->part) == TERN_OK);
    return 0;
}

// Forks; the child exits with what `body` returns.
static int in_child(int (*body)(struct things *things, const char *who), struct things *things)
{
    char who[80];
    int status;
    snprintf(who, sizeof who, "is a fork of rank %d, process %d, which made this ",
             tern_comm_rank(things->comm), (int)getpid());
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        _exit(body(things, who));
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        CHECK((call) == TERN_ERR_STATE);                                                           \
        CHECK(look_says(who));                                                                     \
    } while (0)

static int call_communicator(struct things *things, const char *who)
{
    float data[COUNT] = {-7, -7};
    tern_coll call;
    tern_comm *part = NULL;
    tern_request request = 0;
    int index;
    for (int i = 0; i < 100; i++) { // as many as could fill the slots of the short path
        REFUSED(tern_all_reduce(things->comm, data, data, COUNT, TERN_F32, TERN_SUM));
    }
    REFUSED(tern_all_reduce(things->comm, things->in, things->out, MANY, TERN_F32, TERN_SUM));
    REFUSED(tern_broadcast(things->comm, data, data, COUNT, TERN_F32, 0));
    REFUSED(tern_send(things->comm, data, COUNT, TERN_F32, 0));
    REFUSED(tern_recv(things->comm, data, COUNT, TERN_F32, 0));
    REFUSED(tern_barrier(things->comm));
    REFUSED(tern_comm_barrier(things->comm));
    REFUSED(tern_comm_barrier(things->part));
    REFUSED(tern_comm_health(things->comm));
    REFUSED(tern_comm_rank(things->comm));
    REFUSED(tern_comm_size(things->comm));
    REFUSED(tern_comm_split(things->comm, 0, 0, &part));
    REFUSED(tern_trace_end(things->comm, "/dev/null"));
    sum(things, &call);
    REFUSED(tern_coll_run(things->comm, &call));
    REFUSED(tern_coll_start(things->comm, &call, &request));
    REFUSED(tern_coll_prepare(things->comm, &call, &request));
    REFUSED(tern_request_start(things->persistent));
    REFUSED(tern_request_test(&things->persistent));
    REFUSED(tern_request_test(&things->running));
    REFUSED(tern_request_wait(&things->running));
    REFUSED(tern_request_wait_any(&things->running, 1, &index));
    REFUSED(tern_request_wait_all(&things->running, 1));
    CHECK(data[0] == -7 && part == NULL && request == 0);
    return 0;
}

static int call_window(struct things *things, const char *who)
{
    float data[COUNT] = {-7, -7};
    int32_t value;
    tern_window *window = NULL;
    tern_exec *exec = NULL;
    tern_chip *chip = NULL;
    tern_exec_options options = {.in = things->window, .out = things->window, .dtype = TERN_F32};
    REFUSED(tern_window_create(things->comm, 64, NULL, &window));
    REFUSED(tern_put(things->window, 0, 0, data, sizeof data));
    REFUSED(tern_get(things->window, 0, 0, data, sizeof data));
    REFUSED(tern_put_add(things->window, 0, 0, data, COUNT, TERN_F32));
    REFUSED(tern_signal_notify(things->window, 0, 0, 1, TERN_NOTIFY_ADD));
    REFUSED(tern_signal_wait(things->window, 0, TERN_CMP_GE, 1, 1000));
    REFUSED(tern_signal_test(things->window, 0, TERN_CMP_GE, 0));
    REFUSED(tern_signal_read(things->window, 0, &value));
    CHECK(tern_window_address(things->window, 0) == NULL && look_says(who));
    REFUSED(tern_exec_create(things->comm, things->plan, &options, &exec));
    REFUSED(tern_exec_start(things->exec));
    REFUSED(tern_exec_test(things->exec));
    REFUSED(tern_exec_wait(things->exec));
    REFUSED(tern_exec_run(things->exec));
    REFUSED(tern_chip_create(things->comm, NULL, &chip));
    REFUSED(tern_chip_launch(things->chip, things->graph));
    REFUSED(tern_chip_synchronize(things->chip));
    CHECK(tern_graph_task_count(things->graph) == 0); // memory and no more: the child's own
    return 0;
}

// Everything is refused while the parent's calls go on and stay right.
static int refuse(tern_comm *comm, void *arg)
{
    static struct things things;
    tern_coll call;
    CHECK(make(&things, comm) == 0);
    sum(&things, &call);
    CHECK(tern_coll_start(comm, &call, &things.running) == TERN_OK);
    CHECK(in_child(call_communicator, &things) == 0);
    CHECK(in_child(call_window, &things) == 0);
    CHECK(tern_request_wait(&things.running) == TERN_OK);
    for (int i = 0; i < 20; i++) {
        CHECK(reduce(&things, COUNT) == 0);
    }
    CHECK(tern_request_start(things.persistent) == TERN_OK);
    CHECK(tern_request_wait(&things.persistent) == TERN_OK);
    CHECK(tern_exec_run(things.exec) == TERN_OK);
    CHECK(unmake(&things) == 0);
    return 0;
}

static void every_call_of_a_child_is_refused(void **state)
{
    assert_true(ranks_run_comm(1, refuse, NULL, 60));
    assert_true(ranks_run_comm(3, refuse, NULL, 60));
}

// What the parent wrote can be read; everything can be let go, in any order, and then nothing is
// left.
static int let_go(struct things *things, const char *who)
{
    CHECK(tern_comm_destroy(things->comm) == TERN_OK);
    CHECK(unmake(things) == 0);
    CHECK(tern_comm_destroy(things->comm) == TERN_ERR_ARG && look_says("has been destroyed"));
    CHECK(look_maps() == 0);
    return 0;
}

// Threads of the chip that are just starting have a file of /proc open for a moment.
static int least_fds(void)
{
    int least = look_fds();
    for (int i = 0; i < 20; i++) {
        poll(NULL, 0, 1);
        int now = look_fds();
        least = now < least ? now : least;
    }
    return least;
}

static int see_peers_work(tern_comm *comm, void *arg)
{
    static struct things things;
    CHECK(make(&things, comm) == 0);
    int fds = least_fds();
    for (int i = 0; i < 3; i++) {
        CHECK(in_child(let_go, &things) == 0);
    }
    CHECK(least_fds() == fds);
    CHECK(reduce(&things, COUNT) == 0 && reduce(&things, MANY) == 0);
    CHECK(tern_exec_run(things.exec) == TERN_OK);
    CHECK(tern_comm_barrier(things.part) == TERN_OK);
    CHECK(tern_comm_health(comm) == TERN_OK);
    CHECK(unmake(&things) == 0);
    return 0;
}

static void child_that_destroys_everything_lets_go_of_its_copy(void **state)
{
    assert_true(ranks_run_comm(1, see_peers_work, NULL, 60));
    assert_true(ranks_run_comm(3, see_peers_work, NULL, 60));
}

static tern_comm *destroyed_at_exit;

static void destroy_at_exit(void)
{
    tern_comm_destroy(destroyed_at_exit);
}

static int exit_in_child(struct things *things, const char *who)
{
    exit(0);
}

static int exit_with_handler(int rank, const struct ranks *ranks, void *arg)
{
    static struct things things;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &things.comm) == TERN_OK);
    destroyed_at_exit = things.comm;
    CHECK(atexit(destroy_at_exit) == 0);
    CHECK(reduce(&things, COUNT) == 0);
    CHECK(in_child(exit_in_child, &things) == 0);
    CHECK(reduce(&things, COUNT) == 0);
    CHECK(tern_comm_health(things.comm) == TERN_OK);
    CHECK(tern_comm_barrier(things.comm) == TERN_OK);
    return 0;
}

static void exit_handlers_of_a_child_harm_nobody(void **state)
{
    assert_true(ranks_run(3, exit_with_handler, NULL, 60));
}

// Reading what a rank computed is what a child may well be for.
static int share_results(tern_comm *comm, void *arg)
{
    static struct things things;
    CHECK(make(&things, comm) == 0);
    float *mine = tern_window_address(things.window, tern_comm_rank(comm));
    mine[0] = 9;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(mine[0] == 9 ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(unmake(&things) == 0);
    return 0;
}

static void child_can_read_what_is_in_windows(void **state)
{
    assert_true(ranks_run_comm(2, share_results, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_a_child_is_refused),
        cmocka_unit_test(child_that_destroys_everything_lets_go_of_its_copy),
        cmocka_unit_test(exit_handlers_of_a_child_harm_nobody),
        cmocka_unit_test(child_can_read_what_is_in_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
