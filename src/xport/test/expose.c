// SPDX-License-Identifier: Apache-2.0
// Copies for others: exactly their bytes, at any length and alignment, and there for another
// process that has seen a flag stored after them.
#include "support/cmocka.h"
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/order.h"
#include "xport/expose.h"

enum { GUARD = 128, ROOM = 3 * (int)TERN__EXPOSE_FROM + 4 * GUARD };

static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 37 + (i >> 8) + 11);
}

static void exactly_its_bytes_are_copied(void **state)
{
    static unsigned char from[ROOM];
    static unsigned char to[ROOM];
    static unsigned char wanted[ROOM];
    const size_t sizes[] = {0,
                            1,
                            63,
                            64,
                            100,
                            TERN__EXPOSE_FROM - 1,
                            TERN__EXPOSE_FROM,
                            TERN__EXPOSE_FROM + 1,
                            TERN__EXPOSE_FROM + 63,
                            2 * TERN__EXPOSE_FROM + 17,
                            3 * TERN__EXPOSE_FROM};
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = pattern(i);
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t shift = 0; shift < 66; shift++) {
            size_t at = GUARD + shift;
            size_t source = GUARD + shift * 7 % 65;
            memset(to, 0x5a, ROOM);
            memset(wanted, 0x5a, ROOM);
            memcpy(wanted + at, from + source, sizes[s]);
            tern__expose(to + at, from + source, sizes[s]);
            assert_memory_equal(to, wanted, ROOM);
        }
    }
}

enum { ROUNDS = 4000, LENGTH = 2 * (int)TERN__EXPOSE_FROM };

struct shared {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t written;
    alignas(TERN_CACHE_LINE) _Atomic uint32_t read;
    alignas(TERN_CACHE_LINE) unsigned char bytes[LENGTH];
};

static int follow(struct shared *shared)
{
    static unsigned char wanted[LENGTH];
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (tern__flag_load(&shared->written) != round) { // partner: the store below
            usleep(0);
        }
        memset(wanted, (int)round, LENGTH);
        if (memcmp(shared->bytes, wanted, LENGTH) != 0) {
            return 1;
        }
        tern__flag_store(&shared->read, round);
    }
    return 0;
}

static void who_sees_the_flag_sees_the_bytes(void **state)
{
    static unsigned char from[LENGTH];
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        _exit(follow(shared));
    }
    int status = 0;
    pid_t ended = 0;
    for (uint32_t round = 1; round <= ROUNDS && ended == 0; round++) {
        memset(from, (int)round, LENGTH);
        tern__expose(shared->bytes, from, LENGTH);
        tern__flag_store(&shared->written, round);
        while (ended == 0 && tern__flag_load(&shared->read) != round) {
            ended = waitpid(reader, &status, WNOHANG);
        }
    }
    if (ended == 0) {
        assert_int_equal(waitpid(reader, &status, 0), reader);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(munmap(shared, sizeof *shared), 0);
}

// Only in both cases; and who made it says the system, too.
static void only_far_and_where_it_is_quicker(void **state)
{
    _Atomic uint32_t votes;
    for (int is = 0; is < 4; is++) {
        struct tern__distance distance = {.votes = &votes, .past = (is & 1) != 0};
        tern__poke(&votes, (is & 2) != 0 ? TERN__DISTANCE_VOTES : 0);
        assert_int_equal(tern__goes_past(&distance), is == 3);
    }
    char line[256] = "";
    bool known = false;
    bool is_amd = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        known = known || strncmp(line, "vendor_id", strlen("vendor_id")) == 0;
        is_amd =
            is_amd || strstr(line, "AuthenticAMD") != NULL || strstr(line, "HygonGenuine") != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    assert_true(!known || tern__past_is_quicker() == is_amd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_its_bytes_are_copied),
        cmocka_unit_test(who_sees_the_flag_sees_the_bytes),
        cmocka_unit_test(only_far_and_where_it_is_quicker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
