// SPDX-License-Identifier: Apache-2.0
// Long results in ordinary memory, written past the caches: the same bytes, of every kind, through
// slots and out of other ranks' memory, at any address; and they are written so.
#include "coll/call/call.h"
#include "coll/call/test/calls.h"
#include "xport/copy.h"

enum { MOST = 24 << 20, PAST = 1, WAYS = 2 };

// As if the caches had been tried, and were the slower way.
static void prefer_past(struct tern__calls *calls)
{
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        for (int class = 0; class < TERN__QUICKEST_CLASSES; class ++) {
            struct tern__quickest *quickest = &calls->outward[kind][class];
            *quickest = (struct tern__quickest){.ns = {UINT32_MAX / 4, 1}};
            for (int way = 0; way < WAYS; way++) {
                tern__poke(&quickest->tried[way], TERN__QUICKEST_TRIALS);
            }
        }
    }
}

static uint32_t went_past(const struct tern__calls *calls)
{
    uint32_t went = 0;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        for (int class = 0; class < TERN__QUICKEST_CLASSES; class ++) {
            went += tern__peek(&calls->outward[kind][class].last) == PAST + 1;
        }
    }
    return went;
}

static int write_long(tern_comm *comm, void *arg)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_BF16, TERN_F64, TERN_I8};
    const char *way = arg;
    struct kit_bench bench;
    struct tern__calls *calls;
    int n = tern_comm_size(comm);
    CHECK(kit_open(comm, MOST, 1, &bench) == 0);
    CHECK(tern__calls_of("test", comm, &calls) == TERN_OK);
    for (int kind = 0; kind < TERN_COLL_KINDS; kind++) {
        struct ref_case c = {.kind = (tern_coll_kind)kind,
                             .dtype = dtypes[kind % 4],
                             .op = TERN_SUM,
                             .n = n,
                             .root = n - 1,
                             .seed = (uint64_t)kind + 1};
        if (kind == TERN_COLL_BARRIER || kind == TERN_COLL_SEND || kind == TERN_COLL_RECV) {
            continue;
        }
        size_t shares = ref_has_shares(c.kind) ? (size_t)n : 1;
        c.count = (size_t)MOST / 2 / shares / ref_element(&c) - 3;
        c.count -= ref_is_v(c.kind) ? c.count / 3 : 0; // theirs are up to half as long again
        for (int place = KIT_HEAP; place <= KIT_BYTE; place += KIT_BYTE - KIT_HEAP) {
            struct kit_work work;
            kit_make(&bench, KIT_WORLD, &c, false, place, place, 0, &work);
            prefer_past(calls);
            CHECK(kit_run(&work, KIT_RUN) == 0);
            bool is_long = work.in_bytes + work.out_bytes >= TERN__PAST_FROM;
            bool written = n > 1 && work.out_bytes > 0 && is_long;
            CHECK(strcmp(way, "off") != 0 || went_past(calls) == written);
        }
    }
    return kit_close(&bench);
}

static void through_slots(void **state)
{
    setenv("TERN_DIRECT", "off", 1);
    assert_true(ranks_run_counts(1, 3, write_long, "off", 120));
}

static void out_of_the_memory_of_others(void **state)
{
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(ranks_run_counts(2, 3, write_long, "4096", 120));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(through_slots),
        cmocka_unit_test(out_of_the_memory_of_others),
    };
    unsetenv("TERN_ALGO");
    setenv("TERN_TUNE", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
