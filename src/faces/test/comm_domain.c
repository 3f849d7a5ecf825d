// SPDX-License-Identifier: Apache-2.0
// Domains of the comm_* face: ranks in several of them at once, in orders of their own; contexts in
// parts of the base windows; what is refused, what leaves nothing behind, and a member that dies.
#include "support/cmocka.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"

enum { WORDS = 70 };

static int32_t *word_of(uint64_t address)
{
    const CommContext *context = (const CommContext *)(uintptr_t)address;
    return (int32_t *)(uintptr_t)context->windowsIn[context->rankId];
}

// Adds `value` to the first word of all members.
static void tell(uint64_t address, int32_t value)
{
    const CommContext *context = (const CommContext *)(uintptr_t)address;
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        int32_t *word = tern_context_remote(context, word_of(address), peer);
        __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
    }
}

// Waits until the own word is `wanted`.
static int hear(uint64_t address, int32_t wanted)
{
    while (__atomic_load_n(word_of(address), __ATOMIC_ACQUIRE) < wanted) {
        sched_yield();
    }
    CHECK(__atomic_load_n(word_of(address), __ATOMIC_ACQUIRE) == wanted);
    return 0;
}

static int meet(uint64_t address, int32_t value, int32_t wanted)
{
    tell(address, value);
    return hear(address, wanted);
}

static int join(int rank, const struct ranks *ranks, size_t bytes, CommHandle *handle)
{
    uint64_t address;
    *handle = comm_init(rank, ranks->count, ranks->path);
    CHECK(*handle != NULL);
    CHECK(bytes == 0 || comm_alloc_windows(*handle, bytes, &address) == 0);
    return 0;
}

// Domains {0,1}, {1,2} and {2,0}, alive together; each rank has two of them, in its own order. What
// arrives in one is of its members alone, by their ranks there.
static int ring_of_domains(int rank, const struct ranks *ranks, void *arg)
{
    CommHandle handle;
    uint64_t contexts[2];
    CHECK(join(rank, ranks, 0, &handle) == 0);
    for (int turn = 0; turn < 2; turn++) {
        bool with_next = (turn == 0) == (rank != 1);
        uint32_t first = (uint32_t)(with_next ? rank : (rank + 2) % 3);
        const uint32_t ids[] = {first, (first + 1) % 3};
        uint32_t own = with_next ? 0 : 1;
        uint64_t base;
        CHECK(comm_alloc_domain_windows(handle, first, ids, 2, own, WORDS * 4, &contexts[own],
                                        &base) == 0);
        const CommContext *context = (const CommContext *)(uintptr_t)contexts[own];
        CHECK(context->rankId == own && context->rankNum == 2 && context->winSize == WORDS * 4);
        CHECK(context->windowsIn[own] == base && context->windowsIn[2] == 0);
        CHECK(memcmp(context->windowsIn, context->windowsOut, sizeof context->windowsIn) == 0);
        const int32_t *words = (const int32_t *)(uintptr_t)base;
        for (int i = 1; i < WORDS; i++) {
            CHECK(words[i] == 0);
        }
        if (turn == 0) {
            continue; // the second is made while the first is alive and nobody has met in it
        }
        tell(contexts[0], 1 << rank);
        tell(contexts[1], 1 << rank);
        CHECK(hear(contexts[0], (1 << rank) + (1 << (rank + 1) % 3)) == 0);
        CHECK(hear(contexts[1], (1 << rank) + (1 << (rank + 2) % 3)) == 0);
    }
    for (uint32_t d = 0; d < 2; d++) { // in one order on all: each release waits for the others
        uint32_t leader = d == 0 ? (uint32_t)(rank == 2 ? 1 : 0) : (uint32_t)(rank == 0 ? 2 : rank);
        uint32_t own = leader == (uint32_t)rank ? 0 : 1;
        CHECK(comm_release_domain_windows(handle, leader, 2, own) == 0);
    }
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void domains_of_ranks_overlap(void **state)
{
    assert_true(ranks_run(3, ring_of_domains, NULL, 60));
}

// All ranks backwards, and each half, in parts of the base windows that lie side by side.
static int derived(int rank, const struct ranks *ranks, void *arg)
{
    CommHandle handle;
    uint32_t ids[TERN_RANKS_MAX];
    uint64_t address;
    uint64_t base;
    size_t count = (size_t)ranks->count;
    CHECK(join(rank, ranks, 4096, &handle) == 0);
    CHECK(comm_get_local_window_base(handle, &base) == 0);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (uint32_t)(count - 1 - i);
    }
    uint32_t own = (uint32_t)(count - 1) - (uint32_t)rank;
    CHECK(comm_derive_context(handle, ids, count, own, 256, 512, &address) == 0);
    const CommContext *context = (const CommContext *)(uintptr_t)address;
    CHECK(context->rankId == own && context->rankNum == count && context->winSize == 512);
    CHECK(context->windowsIn[own] == base + 256);
    CHECK(meet(address, rank + 1, (int32_t)(count * (count + 1) / 2)) == 0);
    bool upper = (size_t)rank >= count / 2;
    size_t begin = upper ? count / 2 : 0;
    size_t end = upper ? count : count / 2;
    for (size_t i = begin; i < end; i++) {
        ids[i - begin] = (uint32_t)i;
    }
    CHECK(comm_derive_context(handle, ids, end - begin, (uint32_t)((size_t)rank - begin), 768, 4,
                              &address) == 0);
    CHECK(meet(address, 1, (int32_t)(end - begin)) == 0);
    CHECK(comm_barrier(handle) == 0);
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void contexts_are_derived_from_base_windows(void **state)
{
    for (int i = 0; i < 6; i++) {
        assert_true(ranks_run(ranks_counts[i], derived, NULL, 60));
    }
}

#define REFUSED(words, call) CHECK((call) == -1 && look_says(words))

static int refused(int rank, const struct ranks *ranks, void *arg)
{
    CommHandle h;
    uint64_t ctx = 77;
    uint64_t base = 78;
    uint32_t own = (uint32_t)rank;
    const uint32_t both[] = {0, 1}, twice[] = {own, own}, beyond[] = {own, 2};
    void *dma = &h;
    CHECK(join(rank, ranks, 0, &h) == 0);
    REFUSED("call comm_alloc_windows first", comm_derive_context(h, both, 2, own, 0, 4, &ctx));
    CHECK(comm_alloc_windows(h, 4096, &base) == 0);
    base = 78;
    REFUSED("h must not be NULL", comm_derive_context(NULL, both, 2, own, 0, 4, &ctx));
    REFUSED("may be NULL", comm_derive_context(h, NULL, 2, own, 0, 4, &ctx));
    REFUSED("may be NULL", comm_derive_context(h, both, 2, own, 0, 4, NULL));
    REFUSED("rank_count is 0", comm_derive_context(h, both, 0, own, 0, 4, &ctx));
    REFUSED("rank_count is 3", comm_derive_context(h, both, 3, own, 0, 4, &ctx));
    REFUSED("a second time", comm_derive_context(h, twice, 2, 0, 0, 4, &ctx));
    REFUSED("there is no such rank", comm_derive_context(h, beyond, 2, 0, 0, 4, &ctx));
    REFUSED("must be the caller", comm_derive_context(h, both, 2, 1 - own, 0, 4, &ctx));
    REFUSED("must be the caller", comm_derive_context(h, both, 2, 2, 0, 4, &ctx));
    REFUSED("0 bytes from byte 0", comm_derive_context(h, both, 2, own, 0, 0, &ctx));
    REFUSED("the windows have", comm_derive_context(h, both, 2, own, 4096, 1, &ctx));
    REFUSED("the windows have", comm_derive_context(h, both, 2, own, SIZE_MAX, 2, &ctx));
    REFUSED("may be NULL", comm_alloc_domain_windows(h, 1, both, 2, own, 4, &ctx, NULL));
    REFUSED("window_size is 0", comm_alloc_domain_windows(h, 1, both, 2, own, 0, &ctx, &base));
    REFUSED("a second time", comm_alloc_domain_windows(h, 1, twice, 2, 0, 4, &ctx, &base));
    REFUSED("bytes are available",
            comm_alloc_domain_windows(h, 1, both, 2, own, (size_t)1 << 61, &ctx, &base));
    CHECK(ctx == 77 && base == 78);
    CHECK(comm_alloc_domain_windows(h, 1, both, 2, own, 4, &ctx, &base) == 0);
    REFUSED("is alive", comm_alloc_domain_windows(h, 1, both, 2, own, 4, &ctx, &base));
    REFUSED("no allocation 2", comm_release_domain_windows(h, 2, 2, own));
    REFUSED("is of 2 ranks", comm_release_domain_windows(h, 1, 1, own));
    REFUSED("is of 2 ranks", comm_release_domain_windows(h, 1, 2, 1 - own));
    CHECK(comm_release_domain_windows(h, 1, 2, own) == 0);
    REFUSED("no allocation 1", comm_release_domain_windows(h, 1, 2, own));
    CHECK(dma_workspace_supported_mask() == 0 && dma_workspace_channel_count() == 0);
    REFUSED("mask 0x2", dma_workspace_provision(2, &base, 1, &dma));
    REFUSED("handle_out", dma_workspace_provision(0, NULL, 0, NULL));
    CHECK(dma_workspace_provision(0, NULL, 0, &dma) == 0 && dma == NULL);
    dma_workspace_release(dma);
    CHECK(comm_barrier(h) == 0); // none of this has broken it
    CHECK(comm_destroy(h) == 0);
    return 0;
}

static void wrong_domains_are_minus_one_and_break_nothing(void **state)
{
    assert_true(ranks_run(2, refused, NULL, 60));
}

// The same numbers again, released or left to comm_destroy.
static int again(int rank, const struct ranks *ranks, void *arg)
{
    uint32_t ids[] = {2, 0, 3, 1};
    static const uint32_t at[] = {1, 3, 0, 2};
    int fds = look_fds();
    for (int i = 0; i < 8; i++) {
        CommHandle handle;
        CHECK(join(rank, ranks, 100, &handle) == 0);
        for (int j = 0; j < 5; j++) {
            uint64_t context;
            uint64_t base;
            CHECK(comm_derive_context(handle, ids, 4, at[rank], 0, 4, &context) == 0);
            CHECK(comm_alloc_domain_windows(handle, (uint64_t)(j == 4), ids, 4, at[rank], 5000,
                                            &context, &base) == 0);
            CHECK(meet(context, rank, 6) == 0);
            CHECK(j >= 3 || comm_release_domain_windows(handle, 0, 4, at[rank]) == 0);
        }
        CHECK(comm_destroy(handle) == 0);
    }
    CHECK(look_fds() == fds && look_maps() == 0);
    return 0;
}

static void domains_leave_nothing_behind(void **state)
{
    assert_true(ranks_run(4, again, NULL, 60));
}

// The last rank dies, with a domain and before one; both end, and both name it.
static int lose_the_last(int rank, const struct ranks *ranks, void *arg)
{
    uint64_t context;
    uint64_t base;
    CommHandle handle;
    const uint32_t ids[] = {0, 1, 2};
    uint32_t own = (uint32_t)rank;
    bool before = *(bool *)arg;
    CHECK(join(rank, ranks, 0, &handle) == 0);
    if (!before) {
        CHECK(comm_alloc_domain_windows(handle, 5, ids, 3, own, 64, &context, &base) == 0);
    }
    if (rank == 2) {
        _exit(3);
    }
    if (before) {
        REFUSED("rank 2 died",
                comm_alloc_domain_windows(handle, 5, ids, 3, own, 64, &context, &base));
    } else {
        REFUSED("rank 2 died", comm_release_domain_windows(handle, 5, 3, own));
    }
    CHECK(comm_destroy(handle) == 0);
    return 0;
}

static void a_member_that_dies_is_named(void **state)
{
    for (int before = 0; before <= 1; before++) {
        bool flag = before != 0;
        struct ranks ranks;
        ranks_begin(&ranks, 3, lose_the_last, &flag);
        bool ended = ranks_wait(&ranks, 30);
        for (int rank = 0; rank < 3; rank++) {
            int status = ranks.statuses[rank];
            ended &= WIFEXITED(status) && WEXITSTATUS(status) == (rank == 2 ? 3 : 0);
        }
        assert_true(ranks_end(&ranks) && ended);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_of_ranks_overlap),
        cmocka_unit_test(contexts_are_derived_from_base_windows),
        cmocka_unit_test(wrong_domains_are_minus_one_and_break_nothing),
        cmocka_unit_test(domains_leave_nothing_behind),
        cmocka_unit_test(a_member_that_dies_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
