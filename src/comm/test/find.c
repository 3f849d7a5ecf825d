// SPDX-License-Identifier: Apache-2.0
// tern_window_find: exact at the edges, of several windows, and while other windows come and go.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/window.h"

static int find_all(tern_comm *comm, void *arg)
{
    tern_window *windows[5];
    tern_window *found;
    int rank;
    size_t offset;
    for (int i = 0; i < 5; i++) {
        CHECK(tern_window_create(comm, (size_t)(1 + 5000 * i), NULL, &windows[i]) == TERN_OK);
    }
    for (int i = 0; i < 5; i++) {
        size_t size = tern_window_size(windows[i]);
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            size_t offsets[] = {0, 1, size / 2 + 3, size - 1};
            for (int j = 0; j < 4; j++) {
                const char *at = (char *)tern_window_address(windows[i], peer) + offsets[j];
                CHECK(tern_window_find(at, &found, &rank, &offset) == TERN_OK);
                CHECK(found == windows[i] && rank == peer && offset == offsets[j]);
            }
        }
    }
    CHECK(tern_window_find(tern_window_address(windows[0], 0), NULL, NULL, NULL) == TERN_OK);
    CHECK(tern_window_find(&rank, &found, &rank, &offset) == TERN_ERR_ARG);
    CHECK(look_says("is in no window of this process"));
    CHECK(tern_window_find(NULL, NULL, NULL, NULL) == TERN_ERR_ARG);
    const void *gone = tern_window_address(windows[3], 0);
    CHECK(tern_window_destroy(windows[3]) == TERN_OK);
    CHECK(tern_window_find(gone, NULL, NULL, NULL) == TERN_ERR_ARG);
    for (int i = 0; i < 5; i++) {
        CHECK(i == 3 || tern_window_destroy(windows[i]) == TERN_OK);
    }
    return 0;
}

static void every_byte_belongs_to_its_window_rank_and_offset(void **state)
{
    assert_true(ranks_run_counts(1, 16, find_all, NULL, 20));
}

struct finder {
    tern_window *window;
    _Atomic int stop;
    _Atomic int wrong;
};

static void *find_always(void *arg)
{
    struct finder *finder = arg;
    const char *address = (const char *)tern_window_address(finder->window, 0) + 100;
    while (!finder->stop) {
        tern_window *found;
        int rank;
        size_t offset;
        if (tern_window_find(address, &found, &rank, &offset) != TERN_OK ||
            found != finder->window || rank != 0 || offset != 100) {
            finder->wrong++;
        }
    }
    return NULL;
}

// The looked-for window lies between where the small and the great ones come and go, and its place
// in the table is behind theirs.
static int find_while_others_change(tern_comm *comm, void *arg)
{
    tern_window *first;
    tern_window *hole;
    struct finder finder = {0};
    pthread_t threads[3];
    CHECK(tern_window_create(comm, 100, NULL, &first) == TERN_OK);
    CHECK(tern_window_create(comm, 100, NULL, &hole) == TERN_OK);
    CHECK(tern_window_create(comm, 100, NULL, &finder.window) == TERN_OK);
    CHECK(tern_window_destroy(first) == TERN_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, find_always, &finder) == 0);
    }
    for (int i = 0; i < 4000; i++) {
        tern_window *window;
        CHECK(tern_window_create(comm, i % 2 == 0 ? 100 : 1 << 20, NULL, &window) == TERN_OK);
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    finder.stop = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(finder.wrong == 0);
    CHECK(tern_window_destroy(hole) == TERN_OK);
    CHECK(tern_window_destroy(finder.window) == TERN_OK);
    return 0;
}

static void window_is_found_while_others_come_and_go(void **state)
{
    assert_true(ranks_run_comm(1, find_while_others_change, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_belongs_to_its_window_rank_and_offset),
        cmocka_unit_test(window_is_found_while_others_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
