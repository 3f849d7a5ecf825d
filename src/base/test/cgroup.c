// SPDX-License-Identifier: Apache-2.0
// Limits of the machine and of control groups. Each case runs in a child with mounts of its own, in
// which /sys/fs/cgroup, /proc/self/cgroup and /proc/meminfo say what the case wants; where a
// process may not have mounts of its own the cases are skipped.
#include "support/cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"

enum { NOT_ALLOWED = 77, WRONG = 1 };

static int write_file(const char *path, const char *text)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return -1;
    }
    int put = fputs(text, file);
    return fclose(file) == 0 && put >= 0 ? 0 : -1;
}

// A file system of the case's own: path and text of each file, then NULL. The two files below /proc
// are made aside and mounted over the real ones.
static int build(const char *const *files)
{
    static const char *const procs[] = {"/proc/self/cgroup", "/proc/meminfo"};
    uid_t uid = getuid();
    char map[64];
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
            return NOT_ALLOWED;
        }
        snprintf(map, sizeof map, "0 %u 1", (unsigned)uid);
        if (write_file("/proc/self/uid_map", map) != 0) {
            return NOT_ALLOWED;
        }
    }
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/sys/fs/cgroup", "tmpfs", 0, NULL) != 0) {
        return NOT_ALLOWED;
    }
    for (int i = 0; files[i] != NULL; i += 2) {
        char path[256];
        if (strncmp(files[i], "/proc/", 6) != 0) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s", files[i]);
            if (write_file(path, files[i + 1]) != 0) {
                return WRONG;
            }
        }
        for (int j = 0; j < 2; j++) {
            snprintf(path, sizeof path, "/sys/fs/cgroup/aside.%d", j);
            if (strcmp(files[i], procs[j]) == 0 &&
                (write_file(path, files[i + 1]) != 0 ||
                 mount(path, procs[j], NULL, MS_BIND, NULL) != 0)) {
                return NOT_ALLOWED;
            }
        }
    }
    return 0;
}

struct want {
    int64_t memory; // -1: do not look
    int cpus;       // -1: do not look
};

static void check_in_child(const char *const *files, struct want want)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int built = build(files);
        if (built != 0) {
            _exit(built);
        }
        int64_t memory = tern__memory_available();
        int cpus = tern__cpus_allowed();
        bool right =
            (want.memory < 0 || memory == want.memory) && (want.cpus < 0 || cpus == want.cpus);
        if (!right) {
            fprintf(stderr, "%lld bytes and %d processors; want %lld and %d\n", (long long)memory,
                    cpus, (long long)want.memory, want.cpus);
        }
        _exit(right ? 0 : WRONG);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED) {
        print_message("skipped: this process may not make mounts of its own\n");
        skip();
    }
    assert_int_equal(status, 0);
}

#define MEMINFO "/proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:   4000 kB\n"

static int own_cpus(void)
{
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    return CPU_COUNT(&mask);
}

static void without_groups_the_machine_decides(void **state)
{
    const char *const files[] = {MEMINFO, "/proc/self/cgroup", "", NULL};
    check_in_child(files, (struct want){.memory = 4000 * 1024, .cpus = own_cpus()});
}

static void without_anything_to_read_there_is_no_limit(void **state)
{
    const char *const files[] = {"/proc/meminfo", "", "/proc/self/cgroup", "", NULL};
    check_in_child(files, (struct want){.memory = INT64_MAX, .cpus = own_cpus()});
}

static void the_word_max_is_no_limit(void **state)
{
    const char *const files[] = {MEMINFO,        "/proc/self/cgroup",
                                 "0::/a\n",      "/a/memory.max",
                                 "max\n",        "/a/memory.current",
                                 "1000\n",       "/a/cpu.max",
                                 "max 100000\n", NULL};
    check_in_child(files, (struct want){.memory = 4000 * 1024, .cpus = own_cpus()});
}

static void memory_of_a_group_counts_droppable_cache_as_free(void **state)
{
    const char *const files[] = {MEMINFO,
                                 "/proc/self/cgroup",
                                 "0::/a/b\n",
                                 "/a/b/memory.max",
                                 "1000000\n",
                                 "/a/b/memory.current",
                                 "700000\n",
                                 "/a/b/memory.stat",
                                 "anon 5\nactive_file 90000\ninactive_file 100000\nslab 7\n",
                                 NULL};
    check_in_child(files, (struct want){.memory = 400000, .cpus = -1});
}

static void a_group_above_may_be_the_lowest(void **state)
{
    const char *const files[] = {MEMINFO,     "/proc/self/cgroup",   "0::/a/b\n", "/a/b/memory.max",
                                 "1000000\n", "/a/b/memory.current", "0\n",       "/a/memory.max",
                                 "600000\n",  "/a/memory.current",   "500000\n",  NULL};
    check_in_child(files, (struct want){.memory = 100000, .cpus = -1});
}

static void the_mount_point_is_the_group_of_a_container(void **state)
{
    const char *const files[] = {MEMINFO,
                                 "/proc/self/cgroup",
                                 "0::/outside/of/here\n",
                                 "/memory.max",
                                 "3000\n",
                                 "/memory.current",
                                 "1000\n",
                                 "/cpu.max",
                                 "50000 100000\n",
                                 NULL};
    check_in_child(files, (struct want){.memory = 2000, .cpus = 1});
}

static void a_group_over_its_limit_has_nothing_left(void **state)
{
    const char *const files[] = {MEMINFO,  "/proc/self/cgroup", "0::/\n", "/memory.max",
                                 "3000\n", "/memory.current",   "5000\n", NULL};
    check_in_child(files, (struct want){.memory = 0, .cpus = -1});
}

static void version_1_controllers_are_found_by_name(void **state)
{
    const char *const files[] = {
        MEMINFO,
        "/proc/self/cgroup",
        "9:name=memory-not:/x\n4:hugetlb,memory:/a\n2:cpu,cpuacct:/c\n0::/\n",
        "/memory/a/memory.limit_in_bytes",
        "1000000\n",
        "/memory/a/memory.usage_in_bytes",
        "900000\n",
        "/memory/a/memory.stat",
        "inactive_file 1\ntotal_inactive_file 50000\n",
        "/cpu/c/cpu.cfs_quota_us",
        "100000\n",
        "/cpu/c/cpu.cfs_period_us",
        "100000\n",
        NULL};
    check_in_child(files, (struct want){.memory = 150000, .cpus = 1});
}

static void version_1_without_a_quota_is_no_limit(void **state)
{
    const char *const files[] = {
        MEMINFO, "/proc/self/cgroup",      "2:cpu,cpuacct:/\n", "/cpu/cpu.cfs_quota_us",
        "-1\n",  "/cpu/cpu.cfs_period_us", "100000\n",          NULL};
    check_in_child(files, (struct want){.memory = 4000 * 1024, .cpus = own_cpus()});
}

static void a_quota_is_rounded_up_to_whole_processors(void **state)
{
    if (own_cpus() < 2) {
        print_message("skipped: one processor shows no rounding\n");
        skip();
    }
    const char *const above[] = {"/proc/self/cgroup", "0::/\n", "/cpu.max", "100001 100000\n",
                                 NULL};
    const char *const exact[] = {"/proc/self/cgroup", "0::/\n", "/cpu.max", "100000 100000\n",
                                 NULL};
    const char *const tiny[] = {"/proc/self/cgroup", "0::/\n", "/cpu.max", "1000 100000\n", NULL};
    check_in_child(above, (struct want){.memory = -1, .cpus = 2});
    check_in_child(exact, (struct want){.memory = -1, .cpus = 1});
    check_in_child(tiny, (struct want){.memory = -1, .cpus = 1});
}

static void a_large_quota_does_not_exceed_the_affinity(void **state)
{
    const char *const files[] = {"/proc/self/cgroup", "0::/\n", "/cpu.max", "900000000 100000\n",
                                 NULL};
    check_in_child(files, (struct want){.memory = -1, .cpus = own_cpus()});
}

static void damaged_files_are_no_limit(void **state)
{
    const char *const files[] = {MEMINFO,
                                 "/proc/self/cgroup",
                                 "garbage\n:\n0:\n0::/a\n",
                                 "/a/memory.max",
                                 "\n",
                                 "/a/memory.current",
                                 "x\n",
                                 "/a/cpu.max",
                                 "0 0\n",
                                 NULL};
    check_in_child(files, (struct want){.memory = 4000 * 1024, .cpus = own_cpus()});
}

static void the_affinity_mask_counts(void **state)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        cpu_set_t mask;
        int first = 0;
        sched_getaffinity(0, sizeof mask, &mask);
        while (!CPU_ISSET((size_t)first, &mask)) {
            first++;
        }
        CPU_ZERO(&mask);
        CPU_SET((size_t)first, &mask);
        _exit(sched_setaffinity(0, sizeof mask, &mask) == 0 && tern__cpus_allowed() == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_real_machine_has_something(void **state)
{
    assert_true(tern__memory_available() > 0);
    assert_true(tern__cpus_allowed() >= 1);
    assert_true(tern__cpus_allowed() <= own_cpus());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_groups_the_machine_decides),
        cmocka_unit_test(without_anything_to_read_there_is_no_limit),
        cmocka_unit_test(the_word_max_is_no_limit),
        cmocka_unit_test(memory_of_a_group_counts_droppable_cache_as_free),
        cmocka_unit_test(a_group_above_may_be_the_lowest),
        cmocka_unit_test(the_mount_point_is_the_group_of_a_container),
        cmocka_unit_test(a_group_over_its_limit_has_nothing_left),
        cmocka_unit_test(version_1_controllers_are_found_by_name),
        cmocka_unit_test(version_1_without_a_quota_is_no_limit),
        cmocka_unit_test(a_quota_is_rounded_up_to_whole_processors),
        cmocka_unit_test(a_large_quota_does_not_exceed_the_affinity),
        cmocka_unit_test(damaged_files_are_no_limit),
        cmocka_unit_test(the_affinity_mask_counts),
        cmocka_unit_test(the_real_machine_has_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
