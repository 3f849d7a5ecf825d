// SPDX-License-Identifier: Apache-2.0
// Windows whose parts are on several machines: what is local, what reaches the rest, and what a
// pointer to it does.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "comm/window.h"
#include "net/state.h"
#include "support/look.h"
#include "support/machines.h"
#include "tern/memory.h"
#include "tern/put.h"
#include "tern/signal.h"

enum { BYTES = 1 << 20 };

static bool same_machine(const tern_comm *comm, int rank)
{
    const struct tern__job *job = comm->group.job;
    return job->machines->of[job->rank] == job->machines->of[comm->group.members[rank]];
}

// Each rank writes its number to all others in every way, and each looks.
static int every_way(tern_comm *comm, void *arg)
{
    tern_window *window;
    int size = tern_comm_size(comm);
    int own = tern_comm_rank(comm);
    tern_window_options options = {.flags = *(const uint32_t *)arg};
    CHECK(tern_window_create(comm, BYTES, &options, &window) == TERN_OK);
    char *mine = tern_window_address(window, own);
    CHECK(mine != NULL);
    for (int rank = 0; rank < size; rank++) {
        uint32_t number = 1000u + (uint32_t)own;
        float one = 1.5f;
        size_t at = 4096 + (size_t)own * 8;
        CHECK(tern_window_is_local(window, rank) == same_machine(comm, rank));
        CHECK((tern_window_address(window, rank) != NULL) == same_machine(comm, rank));
        if (!same_machine(comm, rank)) {
            CHECK(look_says("is on machine") && look_says("tern_put"));
        }
        CHECK(tern_put(window, rank, at, &number, sizeof number) == TERN_OK);
        CHECK(tern_put_add(window, rank, 256, (const char *)&one, 1, TERN_F32) == TERN_OK);
        CHECK(tern_signal_notify(window, rank, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
    }
    CHECK(tern_signal_wait(window, 0, TERN_CMP_EQ, size, TERN_TIMEOUT_DEFAULT) == TERN_OK);
    for (int rank = 0; rank < size; rank++) {
        uint32_t number;
        memcpy(&number, mine + 4096 + rank * 8, sizeof number);
        CHECK(number == 1000u + (uint32_t)rank);
    }
    CHECK(*(float *)(void *)(mine + 256) == 1.5f * (float)size);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int rank = 0; rank < size; rank++) {
        uint32_t number = 0;
        CHECK(tern_get(window, rank, 4096 + (size_t)own * 8, &number, sizeof number) == TERN_OK);
        CHECK(number == 1000u + (uint32_t)own);
        int found;
        size_t offset;
        tern_window *same;
        const tern_context *context = tern_window_context(window);
        const char *name = (const char *)(uintptr_t)(context->windowsIn[rank] + 12);
        CHECK(tern_window_find(name, &same, &found, &offset) == TERN_OK);
        CHECK(same == window && found == rank && offset == 12);
    }
    CHECK(tern_window_is_local(window, size) < 0 && look_says("the window has ranks"));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void all_ranks_reach_all_parts(void **state)
{
    uint32_t flags = 0;
    (void)state;
    assert_true(machines_run_all(every_way, &flags, 30));
    flags = TERN_WINDOW_PREFAULT;
    assert_true(machines_run_comm("abbc", every_way, &flags, 30));
}

// A machine needs huge pages for its own ranks' parts alone.
static void huge_pages_are_those_of_the_ranks_here(void **state)
{
    uint32_t flags = TERN_WINDOW_HUGE;
    long had = look_kib("HugePages_Free:"); // a number of pages
    (void)state;
    if (had < 3) {
        skip();
    }
    assert_true(machines_run_comm("abb", every_way, &flags, 30));
}

// Many windows one after the other and beside each other, some released, with puts into each.
static int many(tern_comm *comm, void *arg)
{
    enum { KEPT = 5, ROUNDS = 20 };
    tern_window *windows[KEPT] = {NULL};
    int own = tern_comm_rank(comm);
    int next = (own + 1) % tern_comm_size(comm);
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        tern_window **window = &windows[round % KEPT];
        CHECK(tern_window_destroy(*window) == TERN_OK);
        CHECK(tern_window_create(comm, 8192, NULL, window) == TERN_OK);
        uint32_t value = (uint32_t)round;
        CHECK(tern_put(*window, next, 4096, &value, sizeof value) == TERN_OK);
        CHECK(tern_signal_notify(*window, next, 0, 1, TERN_NOTIFY_ADD) == TERN_OK);
        CHECK(tern_signal_wait(*window, 0, TERN_CMP_EQ, 1, TERN_TIMEOUT_DEFAULT) == TERN_OK);
        CHECK(*(uint32_t *)(void *)((char *)tern_window_address(*window, own) + 4096) == value);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int i = 0; i < KEPT; i++) {
        CHECK(tern_window_destroy(windows[i]) == TERN_OK);
    }
    return 0;
}

static void windows_come_and_go(void **state)
{
    (void)state;
    assert_true(machines_run_comm("ab", many, NULL, 30));
    assert_true(machines_run_comm("aabbb", many, NULL, 30));
}

static bool all_are_gone(const struct tern__net *net)
{
    for (int i = 0; i < 2000; i++) {
        bool gone = true;
        pthread_rwlock_rdlock((pthread_rwlock_t *)&net->windows_lock);
        for (uint32_t w = 0; w < net->windows_count; w++) {
            gone = gone && !net->windows[w].retired;
        }
        pthread_rwlock_unlock((pthread_rwlock_t *)&net->windows_lock);
        if (gone) {
            return true;
        }
        poll(NULL, 0, 10);
    }
    return false;
}

// Rank 0 lets go of its window at once; the others use its part later, then it is given back.
static int late(tern_comm *comm, void *arg)
{
    bool releases = *(const bool *)arg;
    tern_window *window;
    uint32_t word = 0;
    CHECK(tern_window_create(comm, BYTES, NULL, &window) == TERN_OK);
    char *mine = tern_window_address(window, tern_comm_rank(comm));
    memset(mine, 3, BYTES);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        char *base = mine;
        CHECK((releases ? tern_window_release(window) : tern_window_destroy(window)) == TERN_OK);
        CHECK(!releases || munmap(base, (size_t)BYTES * (size_t)tern_comm_size(comm)) == 0);
    } else {
        poll(NULL, 0, 100);
        CHECK(tern_get(window, 0, 4096, &word, sizeof word) == TERN_OK && word == 0x03030303);
        size_t at = 8192 + 4 * (size_t)tern_comm_rank(comm);
        CHECK(tern_put(window, 0, at, &at, sizeof word) == TERN_OK);
        CHECK(tern_get(window, 0, at, &word, sizeof word) == TERN_OK && word == (uint32_t)at);
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(all_are_gone(comm->group.job->net));
    for (int i = 0; i < TERN__CTL_WINDOWS; i++) {
        CHECK(comm->group.job->ctl->windows[i].name == 0);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static void a_part_stays_for_those_that_still_use_it(void **state)
{
    bool releases = false;
    (void)state;
    assert_true(machines_run_comm("ab", late, &releases, 30));
    assert_true(machines_run_comm("aabbc", late, &releases, 30));
    releases = true;
    assert_true(machines_run_comm("abb", late, &releases, 30));
}

static int allocs(tern_comm *comm, void *arg)
{
    void *memory;
    (void)arg;
    CHECK(tern_alloc(comm, 3 << 20, &memory) == TERN_OK);
    memset(memory, 1, 3 << 20);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_free(memory) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static void tern_alloc_gives_memory(void **state)
{
    (void)state;
    assert_true(machines_run_comm("aab", allocs, NULL, 30));
}

// What a process says before it ends by a signal.
struct crash {
    bool heap;
    bool handler; // of the program: it is asked, after the sentence
    char said[1000];
};

static void exits_7(int number)
{
    (void)number;
    _exit(7);
}

static int crash_body(int rank, const struct ranks *ranks, void *arg)
{
    const struct crash *crash = arg;
    tern_comm *comm;
    tern_window *window;
    if (crash->handler) {
        signal(SIGSEGV, exits_7);
    }
    CHECK(machines_join(rank, ranks, "aab", &comm) == TERN_OK);
    CHECK(tern_window_create(comm, BYTES, NULL, &window) == TERN_OK);
    if (rank == 0) {
        const tern_context *context = tern_window_context(window);
        volatile char *remote = (char *)(uintptr_t)context->windowsIn[2] + 4096;
        if (crash->heap) {
            void *mine;
            CHECK(tern_alloc(comm, 64, &mine) == TERN_OK);
            remote = (char *)mine + 2 * comm->area->size_bytes;
        }
        *remote = 1;
        return 3; // it did not fault
    }
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    tern_status_ignore(tern_window_destroy(window));
    tern_status_ignore(tern_comm_destroy(comm));
    return 0;
}

static void run_crash(struct crash *crash, int wanted_status)
{
    struct ranks ranks;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    ranks_begin(&ranks, 3, crash_body, crash);
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    bool in_time = ranks_wait(&ranks, 30);
    ssize_t got = read(ends[0], crash->said, sizeof crash->said - 1);
    crash->said[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
    assert_true(in_time);
    if (ranks.statuses[0] != wanted_status) {
        print_message("%s\n", crash->said);
    }
    assert_int_equal(ranks.statuses[0], wanted_status);
    assert_int_equal(ranks.statuses[1], 0);
    assert_int_equal(ranks.statuses[2], 0);
}

static void assert_said(const struct crash *crash, const char *words)
{
    if (strstr(crash->said, words) == NULL) {
        fprintf(stderr, "said: %s\n", crash->said);
        fail();
    }
}

static void a_pointer_to_another_machine_is_a_named_fault(void **state)
{
    static const char words[] =
        "rank 0 touched byte 4096 of rank 2's part of window 0, which is on "
        "machine b: put, get and notify reach it";
    struct crash crash = {.heap = false};
    (void)state;
    run_crash(&crash, SIGSEGV);
    assert_said(&crash, words);
    struct crash handled = {.handler = true};
    run_crash(&handled, 7 << 8);
    assert_said(&handled, words);
    struct crash heap = {.heap = true};
    run_crash(&heap, SIGSEGV);
    assert_said(&heap, "of rank 2's memory of tern_alloc, which is on machine b");
}

// Deaths while others put and get: told by the calls themselves.
static int death_body(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    (void)arg;
    CHECK(machines_join(rank, ranks, "aabb", &comm) == TERN_OK);
    CHECK(tern_window_create(comm, BYTES, NULL, &window) == TERN_OK);
    static char bytes[BYTES];
    if (rank == 3) {
        raise(SIGKILL);
    }
    int status = TERN_OK;
    while (status == TERN_OK) {
        status =
            rank == 1 ? tern_get(window, 3, 0, bytes, BYTES) : tern_put(window, 3, 0, bytes, BYTES);
    }
    CHECK(says(status, TERN_ERR_PEER, "rank 3"));
    CHECK(tern_signal_notify(window, 3, 0, 1, TERN_NOTIFY_ADD) == TERN_ERR_PEER);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void a_death_ends_puts_and_gets(void **state)
{
    struct ranks ranks;
    (void)state;
    ranks_begin(&ranks, 4, death_body, NULL);
    assert_true(ranks_wait(&ranks, 30));
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(ranks.statuses[rank], 0);
    }
    assert_int_equal(ranks.statuses[3], SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_reach_all_parts),
        cmocka_unit_test(huge_pages_are_those_of_the_ranks_here),
        cmocka_unit_test(windows_come_and_go),
        cmocka_unit_test(a_part_stays_for_those_that_still_use_it),
        cmocka_unit_test(tern_alloc_gives_memory),
        cmocka_unit_test(a_pointer_to_another_machine_is_a_named_fault),
        cmocka_unit_test(a_death_ends_puts_and_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
