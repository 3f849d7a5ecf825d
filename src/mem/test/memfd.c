// SPDX-License-Identifier: Apache-2.0
// Anonymous shared memory: zero at first, shared between mappings and processes, sealed against any
// change of its size, and refused with a sentence, never with a signal, beyond the process's
// limits.
#include "support/cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "mem/memfd.h"
#include "support/sanitized.h"

enum { PAGES = 16 };

static size_t size_of_all(void)
{
    return PAGES * tern__page_bytes();
}

static int make(size_t size_bytes)
{
    int fd = -1;
    assert_int_equal(tern__memfd_create("tern-test", size_bytes, false, &fd), TERN_OK);
    assert_true(fd >= 0);
    return fd;
}

static unsigned char *map(int fd, size_t size_bytes)
{
    void *base = NULL;
    assert_int_equal(tern__memfd_map(fd, size_bytes, &base), TERN_OK);
    return base;
}

static void new_memory_reads_as_zero(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    for (size_t i = 0; i < size_of_all(); i++) {
        assert_int_equal(bytes[i], 0);
    }
    tern__memfd_unmap(bytes, size_of_all());
    close(fd);
}

static void resizing_is_refused(void **state)
{
    int fd = make(size_of_all());
    errno = 0;
    assert_int_equal(ftruncate(fd, (off_t)tern__page_bytes()), -1); // to shrink
    assert_int_equal(errno, EPERM);
    errno = 0;
    assert_int_equal(ftruncate(fd, (off_t)(size_of_all() + tern__page_bytes())), -1); // to grow
    assert_int_equal(errno, EPERM);
    errno = 0;
    assert_int_equal(pwrite(fd, "x", 1, (off_t)size_of_all()), -1); // to grow by writing
    assert_int_equal(errno, EPERM);
    errno = 0;
    assert_int_equal(fallocate(fd, 0, 0, (off_t)(2 * size_of_all())), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(lseek(fd, 0, SEEK_END), size_of_all());
    close(fd);
}

static void the_seals_are_sealed(void **state)
{
    int fd = make(size_of_all());
    assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    errno = 0;
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(errno, EPERM);
    close(fd);
}

static void the_descriptor_is_closed_on_exec(void **state)
{
    int fd = make(size_of_all());
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
}

static void two_mappings_and_a_child_share_the_bytes(void **state)
{
    int fd = make(size_of_all());
    unsigned char *one = map(fd, size_of_all());
    unsigned char *other = map(fd, size_of_all());
    assert_ptr_not_equal(one, other);
    one[12345] = 7;
    assert_int_equal(other[12345], 7);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        other[54321] = 9;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(one[54321], 9);
    tern__memfd_unmap(one, size_of_all());
    tern__memfd_unmap(other, size_of_all());
    close(fd);
}

static void a_mapping_outlives_its_descriptor(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    close(fd);
    bytes[size_of_all() - 1] = 3;
    assert_int_equal(bytes[size_of_all() - 1], 3);
    tern__memfd_unmap(bytes, size_of_all());
}

static void unmapping_nothing_is_allowed(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    tern__memfd_unmap(NULL, 4096);
    tern__memfd_unmap(NULL, 0);
    tern__memfd_unmap(bytes, 0);
    bytes[0] = 1; // still there
    tern__memfd_unmap(bytes, size_of_all());
    close(fd);
}

static void prefault_makes_exactly_its_range_present(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    unsigned char present[PAGES];
    size_t page = tern__page_bytes();
    bytes[5 * page + 1] = 42;
    assert_int_equal(tern__memfd_untouched(fd, size_of_all()), (PAGES - 1) * page);
    assert_int_equal(tern__memfd_prefault(bytes + 4 * page, 3 * page), TERN_OK);
    assert_int_equal(tern__memfd_untouched(fd, size_of_all()), (PAGES - 3) * page);
    assert_int_equal(mincore(bytes, size_of_all(), present), 0);
    for (int i = 0; i < PAGES; i++) {
        assert_int_equal(present[i] & 1, i >= 4 && i < 7);
    }
    for (size_t i = 0; i < size_of_all(); i++) { // nothing was written
        assert_int_equal(bytes[i], i == 5 * page + 1 ? 42 : 0);
    }
    tern__memfd_unmap(bytes, size_of_all());
    close(fd);
}

static void prefault_of_what_is_not_mapped_fails(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    tern__memfd_unmap(bytes, size_of_all());
    assert_int_equal(tern__memfd_prefault(bytes, size_of_all()), TERN_ERR_MEMORY);
    assert_non_null(strstr(tern_last_error(), "65536 bytes"));
    close(fd);
}

static void untouched_bytes_are_those_without_memory(void **state)
{
    int fd = make(size_of_all());
    unsigned char *bytes = map(fd, size_of_all());
    assert_int_equal(tern__memfd_untouched(fd, size_of_all()), size_of_all());
    memset(bytes, 1, size_of_all());
    assert_int_equal(tern__memfd_untouched(fd, size_of_all()), 0);
    assert_int_equal(tern__memfd_untouched(-1, size_of_all()), 0);
    tern__memfd_unmap(bytes, size_of_all());
    close(fd);
}

static void sizes_are_rounded_up_without_overflow(void **state)
{
    assert_int_equal(tern__round_up(0, 4096), 0);
    assert_int_equal(tern__round_up(1, 4096), 4096);
    assert_int_equal(tern__round_up(4096, 4096), 4096);
    assert_int_equal(tern__round_up(4097, 4096), 8192);
    assert_true(tern__round_up(SIZE_MAX - 4095, 4096) == SIZE_MAX - 4095);
    assert_int_equal(tern__round_up(SIZE_MAX - 4094, 4096), 0);
    assert_int_equal(tern__round_up(SIZE_MAX, 4096), 0);
}

static void a_size_no_file_can_have_is_refused(void **state)
{
    int fd = -5;
    errno = 0;
    assert_int_equal(tern__memfd_create("tern-test", SIZE_MAX - 4095, false, &fd), TERN_ERR_MEMORY);
    assert_int_equal(fd, -5);
    assert_non_null(strstr(tern_last_error(), "18446744073709547520 bytes"));
    assert_null(strstr(tern_last_error(), "Success"));
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void a_refusal_leaves_no_descriptor(void **state)
{
    int before = open_descriptors();
    int fd;
    assert_int_equal(tern__memfd_create("tern-test", SIZE_MAX - 4095, false, &fd), TERN_ERR_MEMORY);
    assert_int_equal(open_descriptors(), before);
}

// Runs a body in a child that has lowered one of its limits; a signal would show in its status.
static void check_limited(__rlimit_resource_t resource, rlim_t limit, int (*body)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit lowered = {.rlim_cur = limit, .rlim_max = limit};
        _exit(setrlimit(resource, &lowered) != 0 ? 100 : body());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int exceed_file_size(void)
{
    int fd = -5;
    bool refused = tern__memfd_create("t", 69632, false, &fd) == TERN_ERR_MEMORY && fd == -5;
    bool said = strstr(tern_last_error(), "69632 bytes") != NULL &&
                strstr(tern_last_error(), "65536 bytes (ulimit -f)") != NULL;
    bool within = tern__memfd_create("t", 65536, false, &fd) == TERN_OK;
    return refused && said && within ? 0 : 1;
}

static void the_file_size_limit_is_a_sentence_and_no_signal(void **state)
{
    check_limited(RLIMIT_FSIZE, 65536, exceed_file_size);
}

static int exceed_address_space(void)
{
    int fd = -5;
    void *base = &fd;
    size_t size = (size_t)1 << 40;
    bool made = tern__memfd_create("t", size, false, &fd) == TERN_OK;
    bool refused = tern__memfd_map(fd, size, &base) == TERN_ERR_MEMORY && base == &fd;
    bool said = strstr(tern_last_error(), "1099511627776 bytes") != NULL;
    return made && refused && said ? 0 : 1;
}

static void the_address_space_limit_is_a_sentence_and_no_signal(void **state)
{
    if (SANITIZED) { // its shadow does not fit into a limited address space
        print_message("skipped: a sanitizer's shadow needs the whole address space\n");
        skip();
    }
    check_limited(RLIMIT_AS, (rlim_t)1 << 32, exceed_address_space);
}

static int exceed_descriptors(void)
{
    int fd = -5;
    bool refused = tern__memfd_create("t", 4096, false, &fd) == TERN_ERR_SYSTEM && fd == -5;
    return refused && strstr(tern_last_error(), "Too many open files") != NULL ? 0 : 1;
}

static void the_descriptor_limit_is_a_sentence(void **state)
{
    check_limited(RLIMIT_NOFILE, 0, exceed_descriptors);
}

static void huge_pages_that_are_not_there_are_a_sentence_and_no_signal(void **state)
{
    int fd = -5;
    void *base = &fd;
    // 1 TiB of them: more than any machine of a test has reserved.
    int status = tern__memfd_create("tern-test", (size_t)1 << 40, true, &fd);
    if (status == TERN_OK) {
        status = tern__memfd_map(fd, (size_t)1 << 40, &base);
        close(fd);
    }
    assert_true(status == TERN_ERR_MEMORY || status == TERN_ERR_SYSTEM);
    assert_ptr_equal(base, &fd);
    assert_true(tern_last_error()[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_reads_as_zero),
        cmocka_unit_test(resizing_is_refused),
        cmocka_unit_test(the_seals_are_sealed),
        cmocka_unit_test(the_descriptor_is_closed_on_exec),
        cmocka_unit_test(two_mappings_and_a_child_share_the_bytes),
        cmocka_unit_test(a_mapping_outlives_its_descriptor),
        cmocka_unit_test(unmapping_nothing_is_allowed),
        cmocka_unit_test(prefault_makes_exactly_its_range_present),
        cmocka_unit_test(prefault_of_what_is_not_mapped_fails),
        cmocka_unit_test(untouched_bytes_are_those_without_memory),
        cmocka_unit_test(sizes_are_rounded_up_without_overflow),
        cmocka_unit_test(a_size_no_file_can_have_is_refused),
        cmocka_unit_test(a_refusal_leaves_no_descriptor),
        cmocka_unit_test(the_file_size_limit_is_a_sentence_and_no_signal),
        cmocka_unit_test(the_address_space_limit_is_a_sentence_and_no_signal),
        cmocka_unit_test(the_descriptor_limit_is_a_sentence),
        cmocka_unit_test(huge_pages_that_are_not_there_are_a_sentence_and_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
