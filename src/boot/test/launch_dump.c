// SPDX-License-Identifier: Apache-2.0
// A rank that crashes and writes a large core: the others learn of it meanwhile, and the launcher
// lets the core be finished. Needs a machine that writes cores where the process is.

#include "launch_run.h"

#include <elf.h>
#include <sys/stat.h>

#include "base/cgroup.h"

#define MIB ((size_t)1 << 20)

// The folder of this run, for the core.
static char folder[] = "/tmp/tern-test-core-XXXXXX";

static bool cores_come_here(void)
{
    char pattern[256] = "";
    struct rlimit limit;
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "re");
    if (file != NULL) {
        if (fgets(pattern, sizeof pattern, file) == NULL) {
            pattern[0] = '\0';
        }
        fclose(file);
    }
    return pattern[0] != '\0' && strpbrk(pattern, "|@/") == NULL &&
           getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == RLIM_INFINITY;
}

// Removes the cores. Returns the size that a core's headers promise less what the file has; -1: no
// core.
static long long take_core(void)
{
    long long missing = -1;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        Elf64_Ehdr head;
        Elf64_Phdr part;
        struct stat state;
        if (entry->d_name[0] == '.') {
            continue;
        }
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && fstat(fd, &state) == 0);
        assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
        unsigned long long end = 0;
        for (unsigned i = 0; i < head.e_phnum; i++) {
            assert_int_equal(pread(fd, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)),
                             sizeof part);
            end = part.p_offset + part.p_filesz > end ? part.p_offset + part.p_filesz : end;
        }
        missing = (long long)end - (long long)state.st_size;
        close(fd);
        unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    return missing;
}

static void a_crash_is_seen_before_the_core_is_written(void **state)
{
    if (!cores_come_here()) {
        print_message("left out: this machine writes no cores into the working folder\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    bool seen = false;
    bool quick = true;
    // A machine may write a core faster than others look: then a larger one.
    for (size_t mib = 200; mib <= 800 && !seen; mib *= 2) {
        char size[32];
        snprintf(size, sizeof size, "%zu", mib);
        if ((uint64_t)tern__memory_available() < 4 * mib * MIB) {
            break;
        }
        quick = false;
        struct setting setting = {0};
        struct run run =
            START(&setting, "run", "-n", "2", (char *)self_path(), "rank", folder, size);
        end_tern(&run);
        assert_int_equal(run.status, 128 + SIGABRT);
        assert_int_equal(take_core(), 0);
        char *out = read_all(run.out, NULL);
        char *err = read_all(run.err, NULL);
        assert_non_null(strstr(err, "tern run: rank 1 was killed by signal 6 (Aborted)"));
        seen = strstr(out, "has crashed and writes its core") != NULL;
        print_message("%zu MiB: %s", mib, out);
        free(out);
        free(err);
        close_run(&run);
    }
    rmdir(folder);
    if (quick) {
        print_message("left out: too little memory for a large core\n");
        skip();
    }
    assert_true(seen);
}

// Rank 1 crashes with so much memory; rank 0 waits for it and says what it hears.
static int rank_crashes(const char *there, const char *mib)
{
    tern_comm *world;
    struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    if (chdir(there) != 0 || setrlimit(RLIMIT_CORE, &unlimited) != 0 ||
        tern_init(NULL, &world) != TERN_OK) {
        return 9;
    }
    if (tern_comm_rank(world) == 1) {
        size_t size = (size_t)atoi(mib) * MIB;
        void *memory = malloc(size);
        if (memory == NULL || tern_comm_barrier(world) != TERN_OK) {
            return 9;
        }
        memset(memory, 1, size);
        __asm__ volatile("" : : "r"(memory) : "memory");
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
    }
    if (tern_comm_barrier(world) != TERN_OK || tern_comm_barrier(world) == TERN_OK) {
        return 9;
    }
    puts(tern_last_error());
    return tern_comm_destroy(world) == TERN_OK ? 0 : 9;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "rank") == 0) {
        return rank_crashes(argv[2], argv[3]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_seen_before_the_core_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
