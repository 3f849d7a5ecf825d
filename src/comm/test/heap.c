// SPDX-License-Identifier: Apache-2.0
// tern_alloc: the memory is the rank's own, alone, and of any size; what is freed comes back; ends
// that are wrong have a sentence; and collective calls use it where it lies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "comm/comm.h"
#include "comm/heap.h"
#include "support/look.h"
#include "support/ranks.h"
#include "sync/record_text.h"
#include "sync/records.h"
#include "tern/coll.h"
#include "tern/memory.h"

#define MIB ((size_t)1 << 20)

static int get_and_give(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    unsigned char *blocks[40] = {NULL};
    size_t sizes[40] = {0};
    unsigned seed = (unsigned)rank + 1;
    for (int i = 0; i < 1000; i++) {
        int at = rand_r(&seed) % 40;
        if (blocks[at] != NULL) {
            for (size_t byte = 0; byte < sizes[at]; byte++) {
                CHECK(blocks[at][byte] == (unsigned char)(at + rank));
            }
            CHECK(tern_free(blocks[at]) == TERN_OK);
            blocks[at] = NULL;
        } else {
            sizes[at] = (size_t)rand_r(&seed) % (rand_r(&seed) % 5 == 0 ? 100000 : 200);
            CHECK(tern_alloc(comm, sizes[at], (void **)&blocks[at]) == TERN_OK);
            CHECK((uintptr_t)blocks[at] % 64 == 0);
            memset(blocks[at], at + rank, sizes[at]);
        }
    }
    for (int at = 0; at < 40; at++) {
        CHECK(tern_free(blocks[at]) == TERN_OK);
    }
    return 0;
}

static void blocks_keep_what_is_written_into_them(void **state)
{
    for (int i = 0; i < 6; i++) {
        assert_true(ranks_run_comm(ranks_counts[i], get_and_give, NULL, 30));
    }
}

static int wrong_ends(tern_comm *comm, void *arg)
{
    char on_the_stack;
    char *block = NULL;
    tern_window *window;
    CHECK(tern_free(NULL) == TERN_OK);
    CHECK(tern_alloc(comm, 100, NULL) == TERN_ERR_ARG);
    CHECK(look_says("memory must not be NULL"));
    CHECK(tern_alloc(NULL, 100, (void **)&block) == TERN_ERR_ARG);
    CHECK(tern_free(&on_the_stack) == TERN_ERR_ARG);
    CHECK(look_says("tern_alloc has not given "));
    CHECK(tern_alloc(comm, 100, (void **)&block) == TERN_OK);
    CHECK(tern_free(block + 64) == TERN_ERR_ARG);
    CHECK(tern_window_find(block, NULL, NULL, NULL) == TERN_ERR_ARG);
    CHECK(look_says("is memory of tern_alloc, which is no window"));
    CHECK(tern_comm_destroy(comm) == TERN_ERR_STATE);
    CHECK(look_says("1 tern_alloc block of it has not ended; tern_free and destroy"));
    CHECK(tern_free(block) == TERN_OK);
    CHECK(tern_free(block) == TERN_ERR_ARG);
    CHECK(look_says("or it has been freed already"));
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_free(tern_window_address(window, 0)) == TERN_ERR_ARG);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void wrong_ends_have_a_sentence(void **state)
{
    assert_true(ranks_run_comm(3, wrong_ends, NULL, 20));
}

static int too_much(tern_comm *comm, void *arg)
{
    void *block = NULL;
    void *other;
    CHECK(tern_alloc(comm, SIZE_MAX, &block) == TERN_ERR_MEMORY);
    CHECK(look_says("do not fit into the addresses of this rank"));
    uint64_t available = (uint64_t)tern__memory_available();
    size_t addresses = tern__heap_bytes(tern_comm_size(comm));
    if (addresses / 4 > available) {
        CHECK(tern_alloc(comm, addresses / 2, &block) == TERN_ERR_MEMORY);
        CHECK(look_says("bytes are available"));
    }
    CHECK(block == NULL);
    // Promises count before they are touched.
    if (tern_comm_rank(comm) == 0 && addresses > 2 * available) {
        CHECK(tern_alloc(comm, available / 2, &block) == TERN_OK);
        CHECK(tern_alloc(comm, available / 4 * 3, &other) == TERN_ERR_MEMORY);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 1 && addresses > 2 * available) {
        CHECK(tern_alloc(comm, available / 4 * 3, &other) == TERN_ERR_MEMORY);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_free(block) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_alloc(comm, 100, &block) == TERN_OK);
    CHECK(tern_free(block) == TERN_OK);
    return 0;
}

static void what_cannot_be_had_is_refused(void **state)
{
    assert_true(ranks_run_comm(2, too_much, NULL, 20));
}

static int goes_back(tern_comm *comm, void *arg)
{
    char *block;
    size_t bytes = 80 * MIB;
    CHECK(tern_alloc(comm, bytes, (void **)&block) == TERN_OK);
    memset(block, 1, bytes);
    CHECK(tern__heap_untouched(comm) < 4096);
    CHECK(tern_free(block) == TERN_OK); // more than is kept
    CHECK(tern_alloc(comm, bytes, (void **)&block) == TERN_OK);
    CHECK(tern__heap_untouched(comm) > bytes / 2);
    CHECK(block[0] == 0 && block[bytes - 1] == 0);
    CHECK(tern_free(block) == TERN_OK);
    return 0;
}

static void large_blocks_go_back_to_the_machine(void **state)
{
    assert_true(ranks_run_comm(1, goes_back, NULL, 20));
}

static void *many(void *arg)
{
    unsigned char *blocks[50];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 50; i++) {
            if (tern_alloc(arg, 64 * (size_t)(i + 1), (void **)&blocks[i]) != TERN_OK) {
                return arg;
            }
            memset(blocks[i], i, 64 * (size_t)(i + 1));
        }
        for (int i = 0; i < 50; i++) {
            if (blocks[i][63 * i] != i || tern_free(blocks[i]) != TERN_OK) {
                return arg;
            }
        }
    }
    return NULL;
}

static int from_threads(tern_comm *comm, void *arg)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, many, comm) == 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        CHECK(pthread_join(threads[i], &failed) == 0);
        CHECK(failed == NULL);
    }
    return 0;
}

static void threads_may_get_and_give_at_the_same_time(void **state)
{
    assert_true(ranks_run_comm(2, from_threads, NULL, 30));
}

// 1 MiB does not fit into the short ways; the record of the call has the way.
static int sum(tern_comm *comm, size_t count, const char *way)
{
    float *in;
    float *out;
    int n = tern_comm_size(comm);
    CHECK(tern_alloc(comm, count * sizeof *in, (void **)&in) == TERN_OK);
    CHECK(tern_alloc(comm, count * sizeof *out, (void **)&out) == TERN_OK);
    for (size_t i = 0; i < count; i++) {
        in[i] = (float)(i % 1000) + (float)tern_comm_rank(comm);
    }
    CHECK(tern_all_reduce(comm, in, out, count, TERN_F32, TERN_SUM) == TERN_OK);
    for (size_t i = 0; i < count; i++) {
        int expected = n * (int)(i % 1000) + n * (n - 1) / 2;
        CHECK(out[i] == (float)expected);
    }
    struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    CHECK(tern__records_read(group->job->ctl, group->members[group->rank], calls) > 0);
    CHECK(strcmp(tern__way_name(calls[0].way), way) == 0);
    CHECK(tern_free(in) == TERN_OK);
    CHECK(tern_free(out) == TERN_OK);
    return 0;
}

static int sum_where_it_lies(tern_comm *comm, void *arg)
{
    tern_comm *part;
    void *shift;
    // Other addresses on each rank.
    CHECK(tern_alloc(comm, 64 * (size_t)(tern_comm_rank(comm) * 5 + 1), &shift) == TERN_OK);
    CHECK(sum(comm, MIB / 4, "window") == 0);
    CHECK(tern_comm_split(comm, tern_comm_rank(comm) % 2, 0, &part) == TERN_OK);
    CHECK(sum(part, MIB / 4, "window") == 0);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_free(shift) == TERN_OK);
    return 0;
}

static void calls_use_it_where_it_lies(void **state)
{
    for (int i = 1; i < 6; i++) {
        assert_true(ranks_run_comm(ranks_counts[i], sum_where_it_lies, NULL, 30));
    }
}

// A limit on addresses on one rank: no heap on any, and everything else works.
static int without_addresses(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    void *block;
    struct rlimit limit = {.rlim_cur = (rlim_t)1 << 36, .rlim_max = RLIM_INFINITY};
    CHECK(rank != 1 || setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(tern_alloc(comm, 100, &block) == TERN_ERR_MEMORY);
    CHECK(look_says("a rank of this job was not allowed to reserve"));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void where_addresses_are_limited_there_is_none(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: a sanitizer needs more addresses than the limit\n");
    skip();
#endif
    assert_true(ranks_run(3, without_addresses, NULL, 30));
}

static int in_a_fork(tern_comm *comm, void *arg)
{
    char *block;
    CHECK(tern_alloc(comm, 100, (void **)&block) == TERN_OK);
    block[0] = 7;
    pid_t child = fork();
    if (child == 0) {
        void *own;
        bool right = block[0] == 7 && tern_memory_owner(block) == 0 &&
                     tern_alloc(comm, 100, &own) == TERN_ERR_STATE && look_says("fork") &&
                     tern_free(block) == TERN_ERR_STATE && look_says("forked from") &&
                     tern_comm_destroy(comm) == TERN_OK;
        _exit(right ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(tern_free(block) == TERN_OK);
    return 0;
}

static void the_child_of_a_fork_has_none(void **state)
{
    assert_true(ranks_run_comm(2, in_a_fork, NULL, 20));
}

struct hammer {
    tern_comm *comm;
    _Atomic bool ended;
};

// Holds the lock of the heap most of the time.
static void *allocate_and_free(void *arg)
{
    struct hammer *hammer = arg;
    while (!atomic_load(&hammer->ended)) {
        void *block;
        if (tern_alloc(hammer->comm, 64, &block) != TERN_OK || tern_free(block) != TERN_OK) {
            abort();
        }
    }
    return NULL;
}

// Forks while threads are in the heap: no child waits for a lock that nobody will give back, and
// none gets memory that its parent or another child has.
static int fork_beside_threads(tern_comm *comm, void *arg)
{
    struct hammer hammer = {.comm = comm};
    pthread_t threads[3];
    char *block;
    CHECK(tern_alloc(comm, 4096, (void **)&block) == TERN_OK);
    memset(block, 3, 4096);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, allocate_and_free, &hammer) == 0);
    }
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        if (child == 0) {
            void *own = NULL;
            alarm(10);
            bool right = true;
            for (int i = 0; right && i < 10; i++) {
                right = tern_alloc(comm, 64, &own) == TERN_ERR_STATE && own == NULL &&
                        tern_memory_owner(block) == 0 && tern_free(block) == TERN_ERR_STATE;
            }
            _exit(right ? 0 : 1);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    atomic_store(&hammer.ended, true);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(block[0] == 3 && block[4095] == 3);
    CHECK(tern_free(block) == TERN_OK);
    return 0;
}

static void a_fork_beside_threads_that_allocate_does_not_hang(void **state)
{
#if defined(__SANITIZE_THREAD__)
    print_message(
        "skipped: under ThreadSanitizer a fork's child of several threads makes no calls\n");
    skip();
#endif
    assert_true(ranks_run_comm(2, fork_beside_threads, NULL, 60));
}

static int who_owns_what(tern_comm *comm, void *arg)
{
    char *blocks[3];
    char ordinary[100];
    tern_window *window;
    for (int i = 0; i < 3; i++) {
        CHECK(tern_alloc(comm, 1000, (void **)&blocks[i]) == TERN_OK);
    }
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    CHECK(tern_memory_owner(blocks[0]) == 1 && tern_memory_owner(blocks[2] + 999) == 1);
    CHECK(tern_memory_owner(blocks[2] + (1 << 20)) == 0);
    CHECK(tern_memory_owner(blocks[0] - 1) == 0);
    CHECK(tern_memory_owner(NULL) == 0 && tern_memory_owner(ordinary) == 0);
    CHECK(tern_memory_owner(tern_window_address(window, tern_comm_rank(comm))) == 0);
    CHECK(tern_free(blocks[1]) == TERN_OK);
    CHECK(tern_memory_owner(blocks[1]) == 0 && tern_memory_owner(blocks[1] + 500) == 0);
    CHECK(tern_free(blocks[0]) == TERN_OK && tern_free(blocks[2]) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void a_block_is_owned_until_it_is_freed(void **state)
{
    assert_true(ranks_run_comm(3, who_owns_what, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_what_is_written_into_them),
        cmocka_unit_test(wrong_ends_have_a_sentence),
        cmocka_unit_test(what_cannot_be_had_is_refused),
        cmocka_unit_test(large_blocks_go_back_to_the_machine),
        cmocka_unit_test(threads_may_get_and_give_at_the_same_time),
        cmocka_unit_test(calls_use_it_where_it_lies),
        cmocka_unit_test(where_addresses_are_limited_there_is_none),
        cmocka_unit_test(the_child_of_a_fork_has_none),
        cmocka_unit_test(a_fork_beside_threads_that_allocate_does_not_hang),
        cmocka_unit_test(a_block_is_owned_until_it_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
