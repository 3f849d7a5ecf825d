// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 400
// Long calls whose results go past the caches, and through them: the same bytes, of every kind, in
// windows, through slots and out of other ranks' memory, in place or not, at any address; and they
// go the way that is quicker.
#include "coll/call/call.h"
#include "coll/call/test/calls.h"
#include "support/quickest.h"
#include "xport/copy.h"

// Nothing goes past the caches under a sanitizer, which does not see such stores.
enum { MOST = 24 << 20, MANY = SANITIZED ? 2 : 3 };

static void prefer(struct tern__calls *calls, enum tern__written way)
{
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        prefer_way(calls->outward[kind], (int)way);
    }
    prefer_way(tern__spread_known, (int)way);
    prefer_way(tern__reduce_known, (int)way);
    prefer_way(tern__copy_known, way == TERN__PAST ? TERN__COPY_PAST : TERN__COPY_PARTS);
}

static bool went(const struct tern__calls *calls, enum tern__written way)
{
    bool any = false;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        any = any || went_way(calls->outward[kind], (int)way);
    }
    return any;
}

// Of a kind without shares half of the most, else as much for all ranks together; not all shares
// of calls with counts are as long as others.
static struct ref_case case_of(tern_coll_kind kind, int n)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_BF16, TERN_F64, TERN_I8, TERN_F16};
    struct ref_case c = {.kind = kind,
                         .dtype = dtypes[(int)kind % 5],
                         .op = TERN_SUM,
                         .n = n,
                         .root = n - 1,
                         .seed = (uint64_t)kind + 1};
    size_t shares = ref_has_shares(kind) ? (size_t)n : 1;
    c.count = (size_t)MOST / 2 / shares / ref_element(&c) - 3;
    c.count -= ref_is_v(kind) ? c.count / 3 : 0; // theirs are up to half as long again
    return c;
}

struct lie {
    int place;
    bool in_place;
};

static int call_long(struct kit_bench *bench, const struct ref_case *c, const struct lie *lie,
                     enum tern__written way, bool slots)
{
    struct kit_work work;
    struct tern__calls *calls;
    CHECK(tern__calls_of("test", bench->comms[KIT_WORLD], &calls) == TERN_OK);
    kit_make(bench, KIT_WORLD, c, lie->in_place, lie->place, lie->place, 0, &work);
    prefer(calls, way);
    CHECK(kit_run(&work, KIT_RUN) == 0);
    bool heap = lie->place == KIT_HEAP || lie->place == KIT_BYTE;
    bool pieces = heap && c->n > 1 && !kit_is_pair_of_calls(&work);
    bool written =
        pieces && work.out_bytes > 0 && work.in_bytes + work.out_bytes >= TERN__PAST_FROM;
    // In windows some plans are not right in place, and calls go through slots.
    bool either = !slots || (!heap && lie->in_place);
    CHECK(either || went(calls, way) == written);
    CHECK(!went(calls, way == TERN__PAST ? TERN__THROUGH : TERN__PAST));
    return 0;
}

static int call_all(tern_comm *comm, void *arg)
{
    static const struct lie lies[] = {{KIT_WINDOW, false}, {KIT_WINDOW, true}, {KIT_SHIFTED, false},
                                      {KIT_HEAP, false},   {KIT_HEAP, true},   {KIT_BYTE, false}};
    bool slots = strcmp(arg, "off") == 0;
    struct kit_bench bench;
    CHECK(kit_open(comm, MOST, 1, &bench) == 0);
    for (int kind = 0; kind < TERN_COLL_KINDS; kind++) {
        struct ref_case c = case_of((tern_coll_kind)kind, tern_comm_size(comm));
        size_t end = c.kind == TERN_COLL_BARRIER ? 0 : sizeof lies / sizeof lies[0];
        for (size_t l = 0; l < end; l += SANITIZED ? 3 : 1) {
            bool skips = lies[l].in_place && !kit_can_be_in_place(&c);
            int first = c.n == 2 ? TERN__THROUGH : TERN__PAST; // of two ranks both
            for (int way = first; way < TERN__WRITTEN_WAYS && !skips; way++) {
                CHECK(call_long(&bench, &c, &lies[l], (enum tern__written)way, slots) == 0);
            }
        }
    }
    return kit_close(&bench);
}

static void in_windows_and_through_slots(void **state)
{
    setenv("TERN_DIRECT", "off", 1);
    assert_true(ranks_run_counts(1, MANY, call_all, "off", 200) &&
                (SANITIZED || ranks_run_comm(5, call_all, "off", 200)));
}

static void out_of_the_memory_of_others(void **state)
{
    setenv("TERN_DIRECT", "4096", 1);
    assert_true(ranks_run_counts(2, MANY, call_all, "4096", 200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_windows_and_through_slots),
        cmocka_unit_test(out_of_the_memory_of_others),
    };
    unsetenv("TERN_ALGO");
    setenv("TERN_TUNE", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
