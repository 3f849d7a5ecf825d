// SPDX-License-Identifier: Apache-2.0
// The comm_* face on several machines, and which backend there is where: words, where a process
// runs, and what is refused. Machines are those of support/machines.h.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "faces/comm_handle.h"
#include "support/look.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/status.h"

struct trial {
    const char *layout;
    const char *word;
};

static int run(const char *layout, rank_body body, const char *word)
{
    struct trial trial = {.layout = layout, .word = word};
    return ranks_run((int)strlen(layout), body, &trial, 60);
}

// Every rank stores its number, by the context's rule for addresses, in the window of every other.
static int exchange(const CommContext *context, int32_t turn)
{
    uint32_t rank = context->rankId;
    int32_t *own = (int32_t *)(uintptr_t)context->windowsIn[rank];
    int32_t value = (int32_t)rank + 100 * turn;
    tern_window *window;
    size_t offset;
    int member;
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        const void *there = tern_context_remote(context, own + rank, peer);
        CHECK(tern_window_find(there, &window, &member, &offset) == TERN_OK);
        CHECK(tern_put(window, member, offset, &value, sizeof value) == TERN_OK);
        CHECK(tern_signal_notify(window, member, 4 * 64, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    int32_t all = (int32_t)context->rankNum * turn;
    CHECK(tern_window_find(own, &window, &member, &offset) == TERN_OK);
    CHECK(tern_signal_wait(window, 4 * 64, TERN_CMP_GE, all, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        CHECK(own[peer] == (int32_t)peer + 100 * turn);
    }
    return 0;
}

// All ranks, the last first, in windows of their own.
static int domain(CommHandle handle, uint32_t rank, uint32_t n)
{
    uint32_t ids[TERN_RANKS_MAX];
    uint64_t address;
    uint64_t base;
    uint32_t own = n - 1 - rank;
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = n - 1 - i;
    }
    for (int turn = 0; turn < 2; turn++) {
        CHECK(comm_alloc_domain_windows(handle, 7, ids, n, own, 4096, &address, &base) == 0);
        CHECK(exchange((const CommContext *)(uintptr_t)address, 1) == 0);
        CHECK(comm_release_domain_windows(handle, 7, n, own) == 0);
    }
    return 0;
}

static int worker(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *trial = arg;
    uint64_t address;
    uint64_t base;
    size_t size;
    ranks_place(ranks, rank, trial->layout[rank]);
    CHECK(setenv("TERN_COMM_BACKEND", trial->word, 1) == 0);
    CommHandle handle = comm_init(rank, ranks->count, NULL);
    CHECK(handle != NULL);
    CHECK(comm_alloc_windows(handle, 5000, &address) == 0);
    CHECK(comm_get_local_window_base(handle, &base) == 0);
    CHECK(comm_get_window_size(handle, &size) == 0 && size >= 5000);
    const CommContext *context = (const CommContext *)(uintptr_t)address;
    CHECK(context->rankId == (uint32_t)rank && context->rankNum == (uint32_t)ranks->count);
    CHECK(context->windowsIn[rank] == base && context->winSize == size);
    for (int32_t turn = 1; turn <= 3; turn++) {
        CHECK(exchange(context, turn) == 0);
        CHECK(comm_barrier(handle) == 0);
    }
    CHECK(domain(handle, (uint32_t)rank, (uint32_t)ranks->count) == 0);
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void workers_meet_on_several_machines(void **state)
{
    assert_true(run("ab", worker, "tcp"));
    assert_true(run("aabb", worker, "tcp"));
    assert_true(run("abcab", worker, "tcp"));
    if (access(TERN_BUILD_DIR "/lib/libtern_net_ucx.so", F_OK) == 0) {
        assert_true(run("aabb", worker, "ucx"));
    } else {
        print_message("not tried: ucx; its engine was not built\n");
    }
}

static int refused(int rank, const struct ranks *ranks, void *arg)
{
    const struct trial *trial = arg;
    int n = ranks->count;
    CHECK(setenv("TERN_COMM_BACKEND", trial->word, 1) == 0);
    CHECK(comm_init(rank, n + 1, "path") == NULL && look_says("was started as rank 0 of 1"));
    ranks_place(ranks, rank, trial->layout[rank]);
    CHECK(comm_init(rank, n, "path") == NULL);
    CHECK(look_says(trial->word) && look_says("this job has one machine"));
    CHECK(setenv("TERN_NET", "other", 1) == 0);
    CHECK(comm_init(rank, n, "path") == NULL && look_says("but TERN_NET is 'other'"));
    return 0;
}

static void one_machine_is_refused(void **state)
{
    assert_true(run("aa", refused, "tcp"));
    assert_true(run("aaa", refused, "ucx"));
}

static int words(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(setenv("TERN_COMM_BACKEND", "smi", 1) == 0);
    CHECK(comm_init(0, 1, ranks->path) == NULL && look_says("TERN_COMM_BACKEND is 'smi'"));
    CHECK(look_says("sim (one machine), tcp (several machines), mpi (") &&
          look_says("hccl (cards"));
    CHECK(setenv("TERN_COMM_BACKEND", "", 1) == 0);
    CHECK(strcmp(tern__comm_backend_find()->name, "sim") == 0);
    CHECK(setenv("OMPI_COMM_WORLD_SIZE", "4", 1) == 0);
    CHECK(setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1) == 0);
    CHECK(strcmp(tern__comm_backend_find()->name, "sim") == 0);
    CHECK(setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1) == 0);
    CHECK(strcmp(tern__comm_backend_find()->name, "tcp") == 0);
    CHECK(setenv("TERN_HUB_FD", "3", 1) == 0); // tern run is the nearer launcher
    CHECK(strcmp(tern__comm_backend_find()->name, "sim") == 0);
    CHECK(setenv("TERN_LISTEN", "1", 1) == 0);
    CHECK(strcmp(tern__comm_backend_find()->name, "tcp") == 0);
    CHECK(setenv("TERN_COMM_BACKEND", "hccl", 1) == 0);
    CHECK(strcmp(tern__comm_backend_find()->name, "hccl") == 0);
    return 0;
}

static void backend_is_by_word_or_by_place(void **state)
{
    assert_true(ranks_run(1, words, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_meet_on_several_machines),
        cmocka_unit_test(one_machine_is_refused),
        cmocka_unit_test(backend_is_by_word_or_by_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
