// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Calls between machines, which the ranks take this one for. Every kind of call against the naive
// reference, bit for bit, as matrix.c has it for one machine, where ranks are 2 x 2, 2 x 3, 3 x 1,
// 4 x 2, unevenly many, and not in the order of the machines. And ranks that have done their part
// and leave, while others of their machine still need what is sent to them.
#include "coll/call/test/samples.h"
#include "support/machines.h"
#include "tern/algo.h"

static const char *const layouts[] = {"aabb", "aaabbb", "abc", "abb", "aabbccdd", "ab", "abab"};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };
static int sizes_of[LAYOUTS];

static int run_layout(tern_comm *world, void *arg)
{
    return run_samples(world, *(const int *)arg);
}

static void every_call_gives_the_bits_of_the_reference(void **state)
{
    for (int i = 0; i < LAYOUTS; i++) {
        sizes_of[i] = (int)strlen(layouts[i]);
    }
    samples_ranks = sizes_of;
    samples_ranks_count = LAYOUTS;
    samples_megabytes = 12;
    take_samples();
    for (int i = 0; i < LAYOUTS; i++) {
        int64_t begin = tern__now_ns();
        if (!machines_run_comm(layouts[i], run_layout, &i, 600)) {
            fail_msg("on %s, seed %llu", layouts[i], (unsigned long long)base_seed);
        }
        printf("%s: %d calls in %.1f s\n", layouts[i], samples_of(i),
               (double)(tern__now_ns() - begin) * 1e-9);
    }
    free(samples);
}

// In a gather those that give leave at once; the root, last on its machine, still waits.
static int leave_early(tern_comm *world, void *arg)
{
    enum { ROUNDS = 40, MOST = 30000 };
    static int32_t in[MOST];
    static int32_t out[8 * MOST];
    static const size_t counts[] = {1, 100, 5000, MOST};
    int n = tern_comm_size(world);
    int rank = tern_comm_rank(world);
    for (int round = 0; round < ROUNDS; round++) {
        tern_comm *part;
        size_t count = counts[round % 4];
        int root = n - 1 - round / 4 % n;
        for (size_t k = 0; k < count; k++) {
            in[k] = (int32_t)k * 3 + rank * 1000 + round;
        }
        CHECK(tern_comm_split(world, 0, rank, &part) == TERN_OK);
        if (ref_mix((uint64_t)round, (uint64_t)rank, 5) % 4 == 0) {
            usleep(2000); // others are ahead
        }
        CHECK(tern_gather(part, in, out, count, TERN_I32, root) == TERN_OK);
        CHECK(tern_comm_destroy(part) == TERN_OK);
        for (int from = 0; rank == root && from < n; from++) {
            for (size_t k = 0; k < count; k++) {
                CHECK(out[(size_t)from * count + k] == (int32_t)k * 3 + from * 1000 + round);
            }
        }
    }
    return 0;
}

static void who_has_done_its_part_may_leave(void **state)
{
    for (int i = 0; i < LAYOUTS; i++) {
        assert_true(machines_run_comm(layouts[i], leave_early, NULL, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_the_bits_of_the_reference),
        cmocka_unit_test(who_has_done_its_part_may_leave),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
