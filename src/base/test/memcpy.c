// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Copies are exactly their bytes, wherever they lie in their pages, and moves also where they
// overlap.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "base/memcpy.h"

enum { PAGE = 4096, GUARD = 64, MOST = 9 * PAGE, ROOM = MOST + 4 * PAGE };

static const size_t lengths[] = {
    0,
    1,
    TERN__MEMCPY_PART - 1,
    TERN__MEMCPY_PART,
    TERN__MEMCPY_PART + 1,
    3 * TERN__MEMCPY_PART - 1,
    5000,
    MOST,
};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static _Alignas(PAGE) unsigned char from[ROOM], to[ROOM], expected[ROOM];

static void fill(unsigned char *memory, unsigned salt)
{
    for (size_t i = 0; i < ROOM; i++) {
        memory[i] = (unsigned char)(i * 37 + (i >> 8) + salt);
    }
}

// Byte by byte, since what is tested is made of memcpy.
static void check_all(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        if (to[i] != expected[i]) {
            fail_msg("byte %zu is %d, not %d", i, to[i], expected[i]);
        }
    }
}

static void copies_are_exact_at_every_place(void **state)
{
    fill(from, 1);
    for (size_t behind = 0; behind < PAGE; behind += behind < 40 || behind >= PAGE - 40 ? 1 : 253) {
        for (size_t l = 0; l < LENGTHS; l++) {
            size_t from_at = PAGE + (l % 2) * 16;
            size_t to_at = from_at + behind;
            fill(to, 2);
            fill(expected, 2);
            for (size_t i = 0; i < lengths[l]; i++) {
                expected[to_at + i] = from[from_at + i];
            }
            tern__memcpy(to + to_at, from + from_at, lengths[l]);
            check_all();
        }
    }
}

static void moves_are_exact_where_they_overlap(void **state)
{
    const int distances[] = {0, 1, 16, 31, 32, 2048, PAGE + 8, MOST};
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            for (size_t l = 0; l < LENGTHS; l++) {
                size_t length = lengths[l] < MOST / 3 ? lengths[l] : MOST / 3;
                size_t from_at = sign > 0 ? GUARD : ROOM - GUARD - length;
                size_t to_at = from_at + (size_t)(sign * distances[d]);
                fill(to, 3);
                fill(from, 3);
                fill(expected, 3);
                for (size_t i = 0; i < length; i++) {
                    expected[to_at + i] = from[from_at + i];
                }
                tern__memmove(to + to_at, to + from_at, length);
                check_all();
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_exact_at_every_place),
        cmocka_unit_test(moves_are_exact_where_they_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
