// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// The short path: which calls take it.
#include "support/cmocka.h"
#include <unistd.h>

#include "coll/call/call.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"

// A barrier does whatever its other fields say. One rank waits for nobody, so that nothing moves on
// the longer path.
static int make_barriers(tern_comm *comm, void *arg)
{
    for (int i = 0; i < 3; i++) {
        tern_coll call = {.kind = TERN_COLL_BARRIER,
                          .dtype = TERN_F32,
                          .op = TERN_MAX,
                          .count = (size_t)i,
                          .root = 7};
        const struct tern__calls *calls = comm->calls; // NULL before the first call
        uint32_t moves = calls != NULL ? calls->work.moves : 0;
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK(calls == NULL || tern_comm_size(comm) > 1 || calls->work.moves == moves);
    }
    return 0;
}

static void a_barrier_is_short_whatever_its_fields_say(void **state)
{
    assert_true(ranks_run_comm(1, make_barriers, NULL, 60));
    assert_true(ranks_run_comm(3, make_barriers, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_is_short_whatever_its_fields_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
