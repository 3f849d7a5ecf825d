// SPDX-License-Identifier: Apache-2.0
// Ranks that would select differently are told so before any of them moves a byte.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/tune.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"

// What the last rank has different.
enum difference {
    NOTHING,
    SMALL_BYTES,
    CHUNK_BYTES,
    SMALL,
    WINDOW,
    STAGED,
    NAMED,
    SOURCE,
    DIFFERENCES
};

static void change(struct tern__choice *choice, enum difference difference)
{
    choice->small_bytes += difference == SMALL_BYTES;
    choice->chunk_bytes += difference == CHUNK_BYTES ? 64 : 0;
    choice->named = difference == NAMED;
    char *name = difference == SMALL    ? choice->small
                 : difference == WINDOW ? choice->window
                 : difference == STAGED ? choice->staged
                 : difference == SOURCE ? choice->source
                                        : NULL;
    if (name != NULL) {
        strcpy(name, "ring");
    }
}

static int agree(tern_comm *comm, void *arg)
{
    enum difference difference = *(enum difference *)arg;
    struct tern__choice choice;
    struct tern__group *group = &comm->group;
    bool last = group->rank == group->size - 1 && group->size > 1;
    tern__tune_built_in(TERN_PLAN_GATHER, group->size, &choice);
    CHECK(tern__choice_agree(group, TERN_PLAN_GATHER, &choice) == TERN_OK);
    tern__tune_built_in(TERN_PLAN_ALL_REDUCE, group->size, &choice);
    if (last) {
        change(&choice, difference);
    }
    int status = TERN_OK;
    if (!last) { // so that the last one comes last
        status = tern__choice_agree(group, TERN_PLAN_ALL_REDUCE, &choice);
        CHECK(status == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (last) {
        status = tern__choice_agree(group, TERN_PLAN_ALL_REDUCE, &choice);
    }
    bool same = difference == NOTHING || difference == SOURCE;
    if (same || group->size == 1) {
        CHECK(status == TERN_OK && tern_comm_barrier(comm) == TERN_OK);
        return 0;
    }
    CHECK(!last || status == TERN_ERR_MISMATCH);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH); // for all of them
    CHECK(look_says("would select other algorithms or sizes for all_reduce than rank"));
    return 0;
}

static void a_difference_fails_all_ranks(void **state)
{
    for (int difference = NOTHING; difference < DIFFERENCES; difference++) {
        assert_true(ranks_run_comm(3, agree, &difference, 20));
    }
}

static void any_number_of_ranks(void **state)
{
    for (size_t i = 0; i < sizeof ranks_counts / sizeof ranks_counts[0]; i++) {
        int difference = CHUNK_BYTES;
        assert_true(ranks_run_comm(ranks_counts[i], agree, &difference, 20));
        difference = NOTHING;
        assert_true(ranks_run_comm(ranks_counts[i], agree, &difference, 20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_fails_all_ranks),
        cmocka_unit_test(any_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
