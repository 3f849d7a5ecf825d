// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Windows that can be made: zero at first, of the right size, at the right addresses, and gone
// without a trace. Those that cannot be made are in window_refused.c.
#include "support/cmocka.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/window.h"

static bool is_zero(const unsigned char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Before any barrier: each rank looks at all parts as soon as it has the window.
static int zero_again(tern_comm *comm, void *arg)
{
    for (int round = 0; round < 10; round++) {
        tern_window *window;
        CHECK(tern_window_create(comm, 20000, NULL, &window) == TERN_OK);
        size_t size = tern_window_size(window);
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            CHECK(is_zero(tern_window_address(window, peer), size));
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        memset(tern_window_address(window, tern_comm_rank(comm)), 0xee, size);
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    return 0;
}

static void window_is_zero_also_right_after_another_was_destroyed(void **state)
{
    assert_true(ranks_run_counts(1, 16, zero_again, NULL, 20));
}

static int all_sizes(tern_comm *comm, void *arg)
{
    const size_t sizes[] = {1, 4095, 4096, 4097, 12288, 1 << 20, *(const size_t *)arg};
    int rank = tern_comm_rank(comm);
    for (int i = 0; i < 7; i++) {
        tern_window *window;
        CHECK(tern_window_create(comm, sizes[i], NULL, &window) == TERN_OK);
        size_t size = tern_window_size(window);
        CHECK(size == (sizes[i] + 4095) / 4096 * 4096);
        char *own = tern_window_address(window, rank);
        CHECK((uintptr_t)own % 4096 == 0);
        own[0] = (char)(10 + rank);
        own[size - 1] = (char)(50 + rank);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            const char *part = tern_window_address(window, peer);
            CHECK(part[0] == 10 + peer && part[size - 1] == 50 + peer);
        }
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    return 0;
}

// The greatest one is sparse: nearly none of it is touched. It is 1 GiB where the machine has room
// for that on every rank, and tests that run at the same time.
static void sizes_are_rounded_up_to_pages_and_all_of_it_is_usable(void **state)
{
    for (int i = 0; i < 6; i++) {
        int64_t room = tern__memory_available() / (4 * ranks_counts[i]) / 4096 * 4096;
        size_t greatest = room < (int64_t)1 << 30 ? (size_t)room : (size_t)1 << 30;
        assert_true(ranks_run_comm(ranks_counts[i], all_sizes, &greatest, 20));
    }
}

static int look_at_context(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(tern_window_create(comm, 10000, NULL, &window) == TERN_OK);
    const unsigned char *bytes = (const unsigned char *)tern_window_context(window);
    uint32_t small[2];
    uint64_t large;
    CHECK(is_zero(bytes, 16)); // work space
    memcpy(small, bytes + 16, 8);
    CHECK(small[0] == (uint32_t)rank && small[1] == (uint32_t)size);
    memcpy(&large, bytes + 24, 8);
    CHECK(large == 12288);
    for (int peer = 0; peer < 64; peer++) {
        uintptr_t expected = peer < size ? (uintptr_t)tern_window_address(window, peer) : 0;
        memcpy(&large, bytes + 32 + 8 * peer, 8);
        CHECK(large == expected);
        memcpy(&large, bytes + 544 + 8 * peer, 8);
        CHECK(large == expected);
    }
    int *local = (int *)tern_window_address(window, rank) + 77;
    *local = 1000 + rank;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    const tern_context *context = tern_window_context(window);
    CHECK(tern_context_remote(context, local, (uint32_t)rank) == local);
    for (int peer = 0; peer < size; peer++) {
        CHECK(*(int *)tern_context_remote(context, local, (uint32_t)peer) == 1000 + peer);
    }
    CHECK(tern_window_address(window, -1) == NULL);
    CHECK(tern_window_address(window, size) == NULL && look_says("the window has ranks 0.."));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void context_has_the_layout_and_the_addresses(void **state)
{
    assert_true(ranks_run_counts(1, 16, look_at_context, NULL, 20));
    assert_true(ranks_run_comm(64, look_at_context, NULL, 60));
}

static int prefault(tern_comm *comm, void *arg)
{
    enum { SIZE = 8 << 20 };
    tern_window *window;
    static const tern_window_options options = {.flags = TERN_WINDOW_PREFAULT};
    long before = look_kib("VmRSS:");
    CHECK(tern_window_create(comm, SIZE, NULL, &window) == TERN_OK);
    CHECK(look_kib("VmRSS:") - before < SIZE / 1024 / 4); // else the next would mean nothing
    CHECK(tern_window_destroy(window) == TERN_OK);
    CHECK(tern_window_create(comm, SIZE, &options, &window) == TERN_OK);
    CHECK(look_kib("VmRSS:") - before > SIZE / 1024 * 3 / 4);
    CHECK(is_zero(tern_window_address(window, tern_comm_rank(comm)), SIZE));
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void prefault_makes_the_own_part_present(void **state)
{
    assert_true(ranks_run_comm(3, prefault, NULL, 20));
}

// Whoever gets at the memory itself (here through /proc, as root) cannot change its size.
static int resize(tern_comm *comm, void *arg)
{
    tern_window *window;
    int refused = 0;
    CHECK(tern_window_create(comm, 8192, NULL, &window) == TERN_OK);
    DIR *folder = opendir("/proc/self/map_files");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char target[200] = "";
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) <= 0 ||
            strstr(target, "memfd:tern") == NULL) {
            continue;
        }
        int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
        CHECK(fd >= 0);
        CHECK(ftruncate(fd, 0) != 0);
        CHECK(ftruncate(fd, 1 << 30) != 0);
        CHECK(fcntl(fd, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
        close(fd);
        refused++;
    }
    closedir(folder);
    // The two parts of the window, the area of the communicator and the control memory.
    CHECK(refused == 4);
    *(char *)tern_window_address(window, 0) = 1;
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void nobody_can_pull_a_window_away(void **state)
{
    if (getuid() != 0) {
        skip(); // /proc/self/map_files is root's
    }
    assert_true(ranks_run_comm(2, resize, NULL, 20));
}

static int create_often(tern_comm *comm, void *arg)
{
    tern_window *window;
    CHECK(tern_window_create(comm, 100, NULL, &window) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    int fds = look_fds();
    int maps = look_maps();
    for (int i = 0; i < 300; i++) {
        CHECK(tern_window_create(comm, (size_t)(1 + i * 100), NULL, &window) == TERN_OK);
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    CHECK(look_fds() == fds);
    CHECK(look_maps() == maps);
    return 0;
}

static void three_hundred_windows_in_a_row_leave_nothing(void **state)
{
    assert_true(ranks_run_counts(1, 16, create_often, NULL, 60));
}

// Windows of three communicators, made in turn and destroyed in another order on each rank.
static int interleave(tern_comm *comm, void *arg)
{
    tern_comm *comms[3] = {comm, NULL, NULL};
    tern_window *windows[9];
    int rank = tern_comm_rank(comm);
    CHECK(tern_comm_split(comm, rank % 2, -rank, &comms[1]) == TERN_OK);
    CHECK(tern_comm_split(comm, rank < 2, 0, &comms[2]) == TERN_OK);
    for (int i = 0; i < 9; i++) {
        tern_comm *on = comms[i % 3];
        CHECK(tern_window_create(on, 64, NULL, &windows[i]) == TERN_OK);
        int *own = tern_window_address(windows[i], tern_comm_rank(on));
        *own = 1000 * i + rank;
    }
    for (int i = 0; i < 3; i++) {
        CHECK(tern_comm_barrier(comms[i]) == TERN_OK);
    }
    for (int i = 0; i < 9; i++) {
        for (int peer = 0; peer < tern_comm_size(comms[i % 3]); peer++) {
            int value = *(int *)tern_window_address(windows[i], peer) - 1000 * i;
            bool together = i % 3 == 0   ? value == peer
                            : i % 3 == 1 ? value % 2 == rank % 2
                                         : (value < 2) == (rank < 2);
            CHECK(value >= 0 && value < tern_comm_size(comm) && together);
        }
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    for (int i = 0; i < 9; i++) {
        CHECK(tern_window_destroy(windows[(i * 4 + rank) % 9]) == TERN_OK);
    }
    CHECK(tern_comm_destroy(comms[2]) == TERN_OK);
    CHECK(tern_comm_destroy(comms[1]) == TERN_OK);
    return 0;
}

static void windows_of_several_communicators_do_not_mix(void **state)
{
    assert_true(ranks_run_counts(1, 16, interleave, NULL, 20));
}

// A peer's mapping stays when this rank lets go of the window.
static int let_go(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    CHECK(tern_window_create(comm, 4, NULL, &window) == TERN_OK);
    *(int *)tern_window_address(window, rank) = 70 + rank;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank != 1) {
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank == 1) {
        for (int peer = 0; peer < tern_comm_size(comm); peer++) {
            CHECK(*(int *)tern_window_address(window, peer) == 70 + peer);
        }
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    return 0;
}

static void peers_keep_a_window_that_a_rank_lets_go(void **state)
{
    assert_true(ranks_run_comm(3, let_go, NULL, 20));
}

// Whether the kernel leaves the page at an address out of a core: "dd" among the flags of its
// mapping.
static bool is_left_out(const void *address)
{
    char line[512];
    bool inside = false;
    bool left_out = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long low;
        unsigned long high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) {
            inside = (uintptr_t)address >= low && (uintptr_t)address < high;
        }
        left_out = left_out ||
                   (inside && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") != NULL);
    }
    if (file != NULL) {
        fclose(file);
    }
    return left_out;
}

static int dumped_parts(tern_comm *comm, void *arg)
{
    const char *word = arg;
    tern_window *window;
    CHECK(word == NULL || setenv("TERN_CORE", word, 1) == 0);
    CHECK(tern_window_create(comm, 20000, NULL, &window) == TERN_OK);
    for (int peer = 0; peer < tern_comm_size(comm); peer++) {
        bool own = word == NULL || strcmp(word, "own") == 0;
        bool wanted = own ? peer == tern_comm_rank(comm) : strcmp(word, "all") == 0;
        const char *part = tern_window_address(window, peer);
        CHECK(is_left_out(part) == !wanted);
        CHECK(is_left_out(part + tern_window_size(window) - 1) == !wanted);
    }
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void a_core_contains_ones_own_part(void **state)
{
    char *words[] = {NULL, (char *)"own", (char *)"all", (char *)"none"};
    unsetenv("TERN_CORE");
    for (int i = 0; i < 4; i++) {
        assert_true(ranks_run_comm(3, dumped_parts, words[i], 20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_is_zero_also_right_after_another_was_destroyed),
        cmocka_unit_test(sizes_are_rounded_up_to_pages_and_all_of_it_is_usable),
        cmocka_unit_test(context_has_the_layout_and_the_addresses),
        cmocka_unit_test(prefault_makes_the_own_part_present),
        cmocka_unit_test(nobody_can_pull_a_window_away),
        cmocka_unit_test(three_hundred_windows_in_a_row_leave_nothing),
        cmocka_unit_test(windows_of_several_communicators_do_not_mix),
        cmocka_unit_test(peers_keep_a_window_that_a_rank_lets_go),
        cmocka_unit_test(a_core_contains_ones_own_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
