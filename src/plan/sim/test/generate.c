// SPDX-License-Identifier: Apache-2.0
// Generators: made plans for few ranks they are proved, for odd numbers of ranks and bytes, too;
// and a program and the plan made of it take the same simulated time.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "support/topo.h"
#include "tern/check.h"
#include "tern/program.h"
#include "tern/sim.h"
#include "tern/status.h"

static void assert_proved(const tern_plan *plan, const char *what)
{
    tern_check *check = NULL;
    assert_int_equal(tern_check_plan(plan, NULL, &check), TERN_OK);
    if (!tern_check_proved(check)) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
        fail_msg("%s is not proved", what);
    }
    tern_check_destroy(check);
}

static void assert_same_time(const tern_program *program, const tern_plan *plan,
                             const tern_sim_options *options)
{
    char word[24];
    tern_sim *sims[2] = {NULL, NULL};
    snprintf(word, sizeof word, "mesh:%d", tern_plan_get_spec(plan)->nranks);
    tern_topo *topo = topo_make(word);
    assert_int_equal(tern_sim_run(plan, topo, options, &sims[0]), TERN_OK);
    assert_int_equal(tern_sim_run_program(program, topo, options, &sims[1]), TERN_OK);
    for (int rank = 0; rank < tern_topo_size(topo); rank++) {
        assert_true(tern_sim_rank_us(sims[0], rank) == tern_sim_rank_us(sims[1], rank));
    }
    assert_int_equal(tern_sim_get_facts(sims[0])->events, tern_sim_get_facts(sims[1])->events);
    tern_sim_destroy(sims[0]);
    tern_sim_destroy(sims[1]);
    tern_topo_destroy(topo);
}

// Proves one; false when there is none for so many ranks.
static bool prove(const char *name, int nranks, int group, uint64_t bytes, uint64_t piece)
{
    tern_program_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                    .nranks = nranks,
                                    .bytes = bytes,
                                    .unit = 4,
                                    .algorithm = name,
                                    .group = group,
                                    .piece_bytes = piece};
    tern_program *program = NULL;
    tern_plan *plan = NULL;
    int status = tern_program_create(&request, &program);
    if (status == TERN_ERR_ARG) {
        return false;
    }
    assert_int_equal(status, TERN_OK);
    assert_string_equal(tern_program_get_spec(program)->algorithm, name);
    if (tern_program_plan(program, &plan) != TERN_OK) {
        fail_msg("%s: %s", name, tern_last_error());
    }
    char what[96];
    snprintf(what, sizeof what, "%s of %d ranks in groups of %d, %llu bytes", name, nranks, group,
             (unsigned long long)bytes);
    assert_proved(plan, what);
    assert_same_time(program, plan, &(tern_sim_options){.without_bound = true});
    assert_same_time(program, plan,
                     &(tern_sim_options){.jitter = 0.3, .seed = 5, .without_bound = true});
    tern_plan_destroy(plan);
    tern_program_destroy(program);
    return true;
}

static void every_generator_is_proved(void **state)
{
    static const uint64_t bytes[] = {0, 4, 4 * 7, 4 * 1003, 1 << 16};
    for (int i = 0; tern_program_name(i) != NULL; i++) {
        const char *name = tern_program_name(i);
        int proved = 0;
        bool grouped = strncmp(name, "hierarchical", 12) == 0;
        assert_non_null(tern_program_text(i));
        for (int nranks = 1; nranks <= 16; nranks += nranks < 8 ? 1 : 4) {
            for (int group = grouped ? 1 : 0; group <= (grouped ? nranks : 0); group++) {
                for (size_t b = nranks % 4 == 0 ? 0 : 2; b < sizeof bytes / sizeof bytes[0]; b++) {
                    proved += prove(name, nranks, group, bytes[b], b == 3 ? 400 : 0);
                }
            }
        }
        printf("%s: %d proved\n", name, proved);
        assert_true(proved >= 15);
    }
    assert_null(tern_program_text(-1));
}

static void assert_refused(tern_program_request request, const char *text)
{
    tern_program *program = NULL;
    assert_int_equal(tern_program_create(&request, &program), TERN_ERR_ARG);
    assert_null(program);
    if (strstr(tern_last_error(), text) == NULL) {
        fail_msg("'%s' does not say: %s", tern_last_error(), text);
    }
}

static void what_cannot_be_generated_is_a_sentence(void **state)
{
    tern_program_request right = {
        .kind = TERN_PLAN_ALL_REDUCE, .nranks = 6, .bytes = 24, .unit = 4, .algorithm = "ring"};
    tern_program_request wrong = right;
    wrong.algorithm = "rings";
    assert_refused(wrong, "no program 'rings'; there are ring, halving_doubling, tree, chain, ");
    wrong = right;
    wrong.kind = TERN_PLAN_BROADCAST;
    assert_refused(wrong, "all_reduce only");
    wrong = right;
    wrong.nranks = TERN_PROGRAM_RANKS_MAX + 1;
    assert_refused(wrong, "1 to 65536 ranks, not 65537");
    wrong = right;
    wrong.unit = 3;
    assert_refused(wrong, "whole elements");
    wrong = right;
    wrong.bytes = 25;
    assert_refused(wrong, "whole elements");
    wrong = right;
    wrong.group = 2;
    assert_refused(wrong, "only hierarchical");
    wrong.algorithm = "hierarchical_ring";
    wrong.group = 4;
    assert_refused(wrong, "groups of 4 of 6 ranks");
    wrong = right;
    wrong.algorithm = "halving_doubling";
    assert_refused(wrong, "a power of two of ranks, not 6");
    wrong = right;
    wrong.piece_bytes = 2;
    assert_refused(wrong, "pieces");
    assert_int_equal(tern_program_create(NULL, NULL), TERN_ERR_ARG);
    assert_null(tern_program_get_spec(NULL));
    assert_int_equal(tern_program_destroy(NULL), TERN_OK);
}

// A program may have more ranks than a plan.
static void a_program_too_large_for_a_plan_is_a_sentence(void **state)
{
    tern_program_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                    .nranks = 2048,
                                    .bytes = 1 << 20,
                                    .unit = 4,
                                    .algorithm = "ring"};
    tern_program *program = NULL;
    tern_plan *plan = NULL;
    assert_int_equal(tern_program_create(&request, &program), TERN_OK);
    assert_true(tern_program_plan(program, &plan) < 0);
    assert_non_null(strstr(tern_last_error(), "2048"));
    assert_null(plan);
    tern_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generator_is_proved),
        cmocka_unit_test(what_cannot_be_generated_is_a_sentence),
        cmocka_unit_test(a_program_too_large_for_a_plan_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
