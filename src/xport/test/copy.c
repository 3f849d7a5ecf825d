// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Copies are exactly their bytes, by every way, at any length and alignment; long puts and gets are
// such copies.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "support/quickest.h"
#include "xport/copy.h"
#include "xport/xport.h"

enum { GUARD = 192, MOST = (9 << 20) + 77, ROOM = MOST + 2 * GUARD };

static unsigned char from[ROOM];
static unsigned char to[ROOM];

static void fill(unsigned salt)
{
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (unsigned char)(i * 37 + (i >> 9) + salt);
    }
    memset(to, 0x5a, ROOM);
}

static void check(size_t to_at, size_t from_at, size_t bytes)
{
    assert_memory_equal(to + to_at, from + from_at, bytes);
    for (size_t i = 0; i < GUARD / 2; i++) {
        assert_int_equal(to[to_at - 1 - i], 0x5a);
        assert_int_equal(to[to_at + bytes + i], 0x5a);
    }
}

static void every_way_copies_the_same(void **state)
{
    const size_t lengths[] = {0,
                              1,
                              TERN__COPY_PART - 1,
                              TERN__COPY_PART,
                              TERN__COPY_PART + 1,
                              3 * TERN__COPY_PART + 63,
                              TERN__COPY_LONG + 5};
    for (int way = 0; way < TERN__COPY_WAYS; way++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            for (size_t shift = 0; shift < 64; shift += 21) {
                fill((unsigned)shift);
                tern__copy_by((enum tern__copy_way)way, (char *)to + GUARD + shift,
                              (char *)from + GUARD + 2 * shift / 3, lengths[l]);
                check(GUARD + shift, GUARD + 2 * shift / 3, lengths[l]);
            }
        }
    }
}

static void puts_and_gets_are_copies(void **state)
{
    const size_t lengths[] = {TERN__COPY_LONG - 1, TERN__COPY_LONG, TERN__COPY_LONG + 1,
                              TERN__PAST_FROM / 2 - 1, MOST};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        fill((unsigned)l);
        for (int way = 0; way < TERN__COPY_WAYS; way++) {
            size_t at = GUARD - (size_t)(7 * way);
            bool may = lengths[l] >= (way == TERN__COPY_PAST ? MOST : TERN__COPY_LONG);
            memset(to, 0x5a, lengths[l] + (size_t)2 * GUARD);
            prefer_way(tern__copy_known, way);
            tern__xport_shm.put((char *)to + at, (char *)from + GUARD, lengths[l]);
            check(at, GUARD, lengths[l]);
            assert_int_equal(went_way(tern__copy_known, way), may);
            memset(to, 0x5a, lengths[l] + (size_t)2 * GUARD);
            prefer_way(tern__copy_known, way);
            tern__xport_shm.get((char *)from + GUARD, (char *)to + at, lengths[l]);
            check(at, GUARD, lengths[l]);
            assert_int_equal(went_way(tern__copy_known, way), may);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_copies_the_same),
        cmocka_unit_test(puts_and_gets_are_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
