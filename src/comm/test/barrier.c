// SPDX-License-Identifier: Apache-2.0
// Barriers: nobody leaves before everybody has come, and what was written before is seen after.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "support/ranks.h"
#include "tern/window.h"

// Every rank writes the round's number into its own window before the barrier and reads all others
// after it; a second barrier keeps the next round's writers away.
static int all_see_all(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    for (int round = 1; round <= 500; round++) {
        *(volatile int *)tern_window_address(window, rank) = round * 1000 + rank;
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            CHECK(*(volatile int *)tern_window_address(window, peer) == round * 1000 + peer);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void barrier_orders_all_ranks(void **state)
{
    for (int i = 0; i < 6; i++) {
        assert_true(ranks_run_comm(ranks_counts[i], all_see_all, NULL, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_orders_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
