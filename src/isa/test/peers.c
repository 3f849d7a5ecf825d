// SPDX-License-Identifier: Apache-2.0
// The way to each peer is its own: with a stand-in for a transport to another machine, what goes to
// that rank takes it, also on parts of the communicator, and nothing else does; and it has no
// address.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "comm/window.h"
#include "support/ranks.h"
#include "tern/put.h"
#include "tern/signal.h"

enum { RANKS = 3, FAR = 2 };

static int far_puts, far_gets, far_notifies;

static void far_put(char *remote, const char *local, size_t size_bytes)
{
    far_puts++;
    tern__xport_shm.put(remote, local, size_bytes);
}

static void far_get(const char *remote, char *local, size_t size_bytes)
{
    far_gets++;
    tern__xport_shm.get(remote, local, size_bytes);
}

static void far_notify(char *remote, int32_t value, tern_notify_op op)
{
    far_notifies++;
    tern__xport_shm.notify(remote, value, op);
}

static int talk_to_each(tern_comm *comm, int far)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    far_puts = far_gets = far_notifies = 0;
    for (int peer = 0; peer < tern_comm_size(comm); peer++) {
        int32_t word = 7 + rank;
        int32_t back = 0;
        size_t at = 64 + 4 * (size_t)rank;
        CHECK(tern_put(window, peer, at, &word, sizeof word) == TERN_OK);
        CHECK(tern_get(window, peer, at, &back, sizeof back) == TERN_OK);
        CHECK(back == word);
        CHECK(tern_signal_notify(window, peer, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
        int reached = peer >= far && rank != far;
        CHECK(far_puts == reached && far_gets == reached && far_notifies == reached);
        void *address = tern_window_address(window, peer);
        CHECK((address == NULL) == (peer == far && rank != far));
        CHECK(address != NULL || strstr(tern_last_error(), "tern_put, tern_get") != NULL);
    }
    CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, tern_comm_size(comm), TERN_TIMEOUT_DEFAULT) ==
          TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return tern_window_destroy(window);
}

static int with_a_far_rank(tern_comm *comm, void *arg)
{
    struct tern__xport far = tern__xport_shm;
    tern_comm *part;
    far.is_mapped = false;
    far.put = far_put;
    far.get = far_get;
    far.notify = far_notify;
    if (tern_comm_rank(comm) != FAR) {
        comm->xports[FAR] = &far;
    }
    CHECK(talk_to_each(comm, FAR) == TERN_OK);
    CHECK(tern_comm_split(comm, 0, -tern_comm_rank(comm), &part) == TERN_OK); // FAR becomes rank 0
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK(part->xports[rank] == comm->xports[RANKS - 1 - rank]);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return 0;
}

static void what_goes_to_a_peer_takes_the_way_to_it(void **state)
{
    assert_true(ranks_run_comm(RANKS, with_a_far_rank, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_to_a_peer_takes_the_way_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
