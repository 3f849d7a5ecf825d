// SPDX-License-Identifier: Apache-2.0
// Windows that cannot be made: every rank gets the same status and a sentence that says why, no
// memory is touched, and the communicator works on.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/window.h"

static tern_window *const untouched = (tern_window *)(uintptr_t)0x1234;

// Checks that a window is refused, that the output was not written, and that nothing stays.
static int refused(tern_comm *comm, size_t size, uint32_t flags, int status, const char *words)
{
    tern_window_options options = {.flags = flags};
    tern_window *window = untouched;
    int fds = look_fds();
    int maps = look_maps();
    CHECK(tern_comm_split(NULL, 0, 0, NULL) == TERN_ERR_ARG); // leaves another sentence
    int got = tern_window_create(comm, size, &options, &window);
    if (got != status || !look_says(words)) {
        fprintf(stderr, "%s (rank %d): %s, wanted %s and '%s'\n", tern_status_name(got),
                tern_comm_rank(comm), tern_last_error(), tern_status_name(status), words);
        return 1;
    }
    CHECK(window == untouched);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(look_fds() == fds && look_maps() == maps);
    return 0;
}

static int still_works(tern_comm *comm)
{
    tern_window *window;
    CHECK(tern_comm_health(comm) == TERN_OK);
    CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
    *(int *)tern_window_address(window, tern_comm_rank(comm)) = 1 + tern_comm_rank(comm);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int peer = 0; peer < tern_comm_size(comm); peer++) {
        CHECK(*(int *)tern_window_address(window, peer) == 1 + peer);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static int absurd(tern_comm *comm, void *arg)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4096, (size_t)1 << 62, (size_t)1 << 48};
    for (int i = 0; i < 4; i++) {
        char words[100];
        snprintf(words, sizeof words,
                 "bytes on each of %d ranks cannot be had: ", tern_comm_size(comm));
        CHECK(refused(comm, sizes[i], 0, TERN_ERR_MEMORY, words) == 0);
        CHECK(!look_says("had: 0 bytes")); // there are more than that
        CHECK(refused(comm, sizes[i], TERN_WINDOW_PREFAULT, TERN_ERR_MEMORY, words) == 0);
        CHECK(refused(comm, sizes[i], TERN_WINDOW_HUGE, TERN_ERR_MEMORY, "cannot be had") == 0);
    }
    return still_works(comm);
}

static void absurd_size_is_refused_on_all_ranks(void **state)
{
    assert_true(ranks_run_counts(1, 16, absurd, NULL, 20));
}

// So many hundredths of what is available, shared by the ranks. Asked once for all of them: the
// figure changes all the time.
static size_t part_of_available(uint64_t percent, int nranks)
{
    uint64_t pages = (uint64_t)tern__memory_available() / 4096 / 100 * percent;
    return (size_t)(pages / (uint64_t)nranks * 4096);
}

// More than there is: refused without a touch.
static int beyond(tern_comm *comm, void *arg)
{
    static const uint32_t flags[] = {0, TERN_WINDOW_PREFAULT};
    size_t each = *(const size_t *)arg;
    for (int i = 0; i < 2; i++) {
        long rss = look_kib("VmRSS:");
        CHECK(refused(comm, each, flags[i], TERN_ERR_MEMORY, "bytes are available") == 0);
        CHECK(look_kib("VmRSS:") - rss < 4096);
    }
    return still_works(comm);
}

static void more_than_the_machine_has_is_refused_before_a_page_is_touched(void **state)
{
    for (int nranks = 1; nranks <= 3; nranks += 2) {
        size_t each = part_of_available(150, nranks);
        assert_true(ranks_run_comm(nranks, beyond, &each, 20));
    }
}

// What an older window has been promised counts, touched or not.
static int promised(tern_comm *comm, void *arg)
{
    tern_window *window;
    size_t size = *(const size_t *)arg;
    CHECK(tern_window_create(comm, size, NULL, &window) == TERN_OK);
    CHECK(refused(comm, size, 0, TERN_ERR_MEMORY, "less what other windows") == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_create(comm, size, NULL, &window) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void memory_promised_to_another_window_is_not_promised_twice(void **state)
{
    size_t size =
        part_of_available(70, 3); // twice that is too much, also when others let go of some
    assert_true(ranks_run_comm(3, promised, &size, 20));
}

static int mismatch(tern_comm *comm, void *arg)
{
    int rank = tern_comm_rank(comm);
    bool last = rank == tern_comm_size(comm) - 1;
    char words[200];
    snprintf(words, sizeof words,
             "rank %d asks for 200 bytes with flags 0x0, rank 0 for 100 bytes with flags 0x0",
             tern_comm_size(comm) - 1);
    CHECK(refused(comm, last ? 200 : 100, 0, TERN_ERR_MISMATCH, words) == 0);
    snprintf(words, sizeof words,
             "rank %d asks for 100 bytes with flags 0x1, rank 0 for 100 bytes with flags 0x0",
             tern_comm_size(comm) - 1);
    CHECK(refused(comm, 100, last, TERN_ERR_MISMATCH, words) == 0);
    CHECK(refused(comm, last ? 0 : 100, 0, TERN_ERR_MISMATCH, "asks for 0 bytes") == 0);
    CHECK(refused(comm, last ? SIZE_MAX : 100, 0, TERN_ERR_MISMATCH, "18446744073709551615") == 0);
    return still_works(comm);
}

static void ranks_that_differ_are_named_with_what_they_said(void **state)
{
    assert_true(ranks_run_counts(2, 16, mismatch, NULL, 20));
}

static int nonsense(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(refused(comm, 0, 0, TERN_ERR_ARG, "size_bytes is 0") == 0);
    CHECK(refused(comm, 5, 4, TERN_ERR_ARG, "flags 0x4 has bits beyond 0x3") == 0);
    CHECK(tern_window_create(comm, 5, NULL, NULL) == TERN_ERR_ARG);
    CHECK(tern_window_create(NULL, 5, NULL, &window) == TERN_ERR_ARG);
    CHECK(tern_window_destroy(NULL) == TERN_OK);
    return still_works(comm);
}

static void size_0_and_unknown_flags_are_wrong_arguments(void **state)
{
    assert_true(ranks_run_counts(1, 16, nonsense, NULL, 20));
}

static int huge(tern_comm *comm, void *arg)
{
    CHECK(refused(comm, 1, TERN_WINDOW_HUGE, TERN_ERR_MEMORY, "/proc/sys/vm/nr_hugepages") == 0);
    return still_works(comm);
}

static void missing_huge_pages_are_named(void **state)
{
    if (look_kib("HugePages_Free:") > 0) {
        skip(); // the machine has some
    }
    assert_true(ranks_run_comm(3, huge, NULL, 20));
}

// Rank 2 may open no more files: it and all others say so.
static int no_files(tern_comm *comm, void *arg)
{
    struct rlimit old;
    bool mine = tern_comm_rank(comm) == 2;
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    if (mine) {
        struct rlimit few = {.rlim_cur = 3, .rlim_max = old.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    tern_window *window;
    int status = tern_window_create(comm, 100, NULL, &window);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK(status == TERN_ERR_SYSTEM);
    CHECK(look_says(mine ? "ulimit -n" : "rank 2 could not map its window"));
    return still_works(comm);
}

static void limit_of_open_files_of_one_rank_is_said_to_all(void **state)
{
    assert_true(ranks_run_comm(3, no_files, NULL, 20));
}

// Rank 0 makes the memory, so its limit of file sizes decides; all others hear of it.
static int no_size(tern_comm *comm, void *arg)
{
    struct rlimit old;
    bool mine = tern_comm_rank(comm) == 0;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    if (mine) {
        struct rlimit few = {.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    }
    CHECK(refused(comm, 1 << 20, 0, TERN_ERR_MEMORY,
                  mine ? "ulimit -f" : "rank 0 could not make") == 0);
    CHECK(mine || !look_says("bytes are available"));
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    return still_works(comm);
}

static void limit_of_file_sizes_of_rank_0_is_said_to_all(void **state)
{
    assert_true(ranks_run_comm(3, no_size, NULL, 20));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they map terabytes
static int no_space(tern_comm *comm, void *arg)
{
    struct rlimit old;
    bool mine = tern_comm_rank(comm) == 1;
    CHECK(getrlimit(RLIMIT_AS, &old) == 0);
    if (mine) {
        struct rlimit few = {.rlim_cur = 256 << 20, .rlim_max = old.rlim_max};
        CHECK(setrlimit(RLIMIT_AS, &few) == 0);
    }
    CHECK(refused(comm, 200 << 20, 0, TERN_ERR_MEMORY,
                  mine ? "cannot map" : "rank 1 could not map its window") == 0);
    CHECK(setrlimit(RLIMIT_AS, &old) == 0);
    return still_works(comm);
}

static void limit_of_address_space_of_one_rank_is_said_to_all(void **state)
{
    assert_true(ranks_run_comm(3, no_space, NULL, 20));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absurd_size_is_refused_on_all_ranks),
        cmocka_unit_test(more_than_the_machine_has_is_refused_before_a_page_is_touched),
        cmocka_unit_test(memory_promised_to_another_window_is_not_promised_twice),
        cmocka_unit_test(ranks_that_differ_are_named_with_what_they_said),
        cmocka_unit_test(size_0_and_unknown_flags_are_wrong_arguments),
        cmocka_unit_test(missing_huge_pages_are_named),
        cmocka_unit_test(limit_of_open_files_of_one_rank_is_said_to_all),
        cmocka_unit_test(limit_of_file_sizes_of_rank_0_is_said_to_all),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(limit_of_address_space_of_one_rank_is_said_to_all),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
