// SPDX-License-Identifier: Apache-2.0
// Windows and communicators that are released: gone for tern, but their memory stays where it is.
#include "support/cmocka.h"
#include <sys/mman.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/memory.h"
#include "tern/window.h"

static int release(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm = NULL;
    tern_window *window = NULL;
    int *block = NULL;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_alloc(comm, 4096, (void **)&block) == TERN_OK);
    int *first = tern_window_address(window, 0);
    int *own = tern_window_address(window, rank);
    size_t size = tern_window_size(window);
    *own = 100 + rank;
    *block = 200 + rank;
    CHECK(tern_comm_barrier(comm) == TERN_OK);

    CHECK(tern_comm_release(comm) == TERN_ERR_STATE && look_says("1 window of it has not ended"));
    CHECK(tern_window_release(window) == TERN_OK);
    CHECK(tern_window_size(window) == 0 && look_says("destroyed"));
    CHECK(tern_window_release(window) == TERN_ERR_ARG && look_says("tern_window_release"));
    CHECK(tern_comm_destroy(comm) == TERN_ERR_STATE && look_says("1 tern_alloc block"));
    CHECK(tern_comm_release(comm) == TERN_OK);

    for (int peer = 0; peer < ranks->count; peer++) {
        CHECK(first[(size_t)peer * size / sizeof *first] == 100 + peer);
    }
    CHECK(*block == 200 + rank);
    own[1] = 1;
    *block = 2;
    CHECK(tern_free(block) == TERN_ERR_ARG);
    CHECK(munmap(first, size * (size_t)ranks->count) == 0);
    CHECK(tern_window_release(NULL) == TERN_OK && tern_comm_release(NULL) == TERN_OK);
    return 0;
}

static void memory_stays_where_it_is(void **state)
{
    static const int counts[] = {1, 3};
    for (int i = 0; i < 2; i++) {
        assert_true(ranks_run(counts[i], release, NULL, 30));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays_where_it_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
