// SPDX-License-Identifier: Apache-2.0
// `tern sim`: simulates a plan, or the plans of a kind, on a topology. Exit status 0: simulated; 1:
// it cannot be, or a rank never ends; 2: wrong usage.

#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cost.h"
#include "suggest.h"

#define EXIT_NOT_SIMULATED 1

static int refuse(const char *algorithm)
{
    fprintf(stderr, "tern sim: %s%s\n", tern_last_error(),
            algorithm != NULL ? cli_suggest_algorithm(algorithm) : "");
    return EXIT_NOT_SIMULATED;
}

// What has been simulated so far, and which of the algorithms is at hand.
struct progress {
    bool any;
    int algo;
    struct {
        double sum; // of the bandwidths at the sizes of the score
        int found;
    } scores[SIM_ALGOS_MAX];
};

// The score of the contest of 2025 is the mean of three sizes, as of tern perf --style hccl_test.
static void score(struct progress *progress, const tern_plan_spec *spec, const tern_sim *sim)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30};
    for (int i = 0; i < 3; i++) {
        if (spec->bytes == sizes[i]) {
            progress->scores[progress->algo].sum += tern_sim_get_facts(sim)->algbw_GBps;
            progress->scores[progress->algo].found++;
        }
    }
}

static void print_scores(const struct sim_arguments *arguments, const struct progress *progress)
{
    for (int i = 0; i < arguments->nalgos && arguments->nsizes > 1 && !arguments->json; i++) {
        if (progress->scores[i].found == 3) {
            printf("# mean algbw of 1K, 1M and 1G: %.3f GB/s, %s\n", progress->scores[i].sum / 3,
                   arguments->algos[i] != NULL ? arguments->algos[i] : "the quickest");
        }
    }
}

// Several cases are a table, without the details of each.
static bool is_table(const struct sim_arguments *arguments)
{
    return arguments->nsizes > 1 || arguments->nalgos > 1;
}

// Prints and lets go of a simulation. The exit status.
static int show(const struct sim_arguments *arguments, const tern_topo *topo,
                const tern_plan_spec *spec, tern_sim *sim, struct progress *progress)
{
    struct sim_case one = {.spec = spec, .topo = tern_topo_text(topo), .sim = sim};
    if (arguments->json) {
        sim_print_json(arguments, &one);
    } else if (is_table(arguments)) {
        if (!progress->any) {
            sim_print_head(&one);
        }
        sim_print_row(&one);
    } else {
        sim_print_report(arguments, &one);
    }
    fflush(stdout);
    progress->any = true;
    score(progress, spec, sim);
    const char *stuck = tern_sim_stuck(sim);
    if (stuck != NULL) {
        fprintf(stderr, "tern sim: %s\n", stuck);
    }
    int status = sim_show_page(arguments, &one);
    status = stuck != NULL ? EXIT_NOT_SIMULATED : status;
    tern_sim_destroy(sim);
    return status;
}

// The options of a run with so many bytes at hand. False after a sentence.
static bool choose_options(struct sim_arguments *arguments, const tern_topo *topo, uint64_t at_hand,
                           tern_sim_options *options)
{
    tern_tune_cost cost;
    bool here = strcmp(arguments->topo.word, "this") == 0 && arguments->options.processors == 0;
    *options = arguments->options;
    if (!arguments->measured && !here) {
        return true;
    }
    if (tern_tune_get_cost(tern_topo_size(topo), &cost) == TERN_OK) {
        cli_cost_apply(&cost, at_hand, options);
        return true;
    }
    if (!arguments->not_measured) {
        fprintf(stderr, "tern sim: %s%s\n", tern_last_error(),
                arguments->measured ? "" : "; the links of 'this' are nominal");
        arguments->not_measured = true;
    }
    return !arguments->measured;
}

static int sim_plan(struct sim_arguments *arguments, const tern_topo *topo, tern_plan *plan,
                    struct progress *progress)
{
    tern_sim *sim = NULL;
    tern_sim_options options;
    int status = EXIT_NOT_SIMULATED;
    if (choose_options(arguments, topo, cli_cost_at_hand(plan), &options)) {
        status = tern_sim_run(plan, topo, &options, &sim) == TERN_OK
                     ? show(arguments, topo, tern_plan_get_spec(plan), sim, progress)
                     : refuse(NULL);
    }
    tern_plan_destroy(plan);
    return status;
}

// Ranks of a machine, where the topology has machines of one size and nothing else was asked for.
static int group_of(const struct sim_arguments *arguments, const tern_topo *topo)
{
    tern_topo_machine machine;
    bool has_groups = strncmp(arguments->request.algorithm, "hierarchical", 12) == 0;
    if (arguments->group == 0 && has_groups && tern_topo_get_machine(topo, 0, &machine)) {
        return machine.ranks;
    }
    return (int)arguments->group;
}

static int sim_generated(struct sim_arguments *arguments, const tern_topo *topo,
                         struct progress *progress)
{
    const tern_algo_request *asked = &arguments->request;
    if (asked->algorithm == NULL) {
        fputs(
            "tern sim: which program? --algo ring, halving_doubling, tree, chain, hierarchical or "
            "hierarchical_ring\n",
            stderr);
        return CLI_EXIT_USAGE;
    }
    tern_program_request request = {.kind = asked->kind,
                                    .nranks = tern_topo_size(topo),
                                    .bytes = asked->bytes,
                                    .unit = asked->unit,
                                    .algorithm = asked->algorithm,
                                    .group = group_of(arguments, topo),
                                    .piece_bytes = arguments->piece_bytes};
    tern_program *program = NULL;
    tern_sim *sim = NULL;
    tern_sim_options options;
    uint64_t at_hand = 2 * asked->bytes * (uint64_t)request.nranks;
    if (!choose_options(arguments, topo, at_hand, &options)) {
        return EXIT_NOT_SIMULATED;
    }
    bool done = tern_program_create(&request, &program) == TERN_OK &&
                tern_sim_run_program(program, topo, &options, &sim) == TERN_OK;
    int status =
        done ? show(arguments, topo, tern_program_get_spec(program), sim, progress) : refuse(NULL);
    tern_program_destroy(program);
    return status;
}

static int sim_made(struct sim_arguments *arguments, const tern_topo *topo,
                    struct progress *progress)
{
    tern_plan *plan = NULL;
    if (arguments->generated || tern_topo_size(topo) > TERN_PLAN_RANKS_MAX) {
        return sim_generated(arguments, topo, progress);
    }
    return tern_algo_plan(&arguments->request, &plan) == TERN_OK
               ? sim_plan(arguments, topo, plan, progress)
               : refuse(arguments->request.algorithm);
}

static int sim_all(struct sim_arguments *arguments, const tern_topo *topo)
{
    struct progress progress = {0};
    int status = 0;
    if (arguments->file != NULL) {
        tern_plan *plan = NULL;
        return tern_plan_load(arguments->file, &plan) == TERN_OK
                   ? sim_plan(arguments, topo, plan, &progress)
                   : refuse(NULL);
    }
    arguments->request.topo = topo;
    for (int size = 0; size < arguments->nsizes; size++) {
        for (int algo = 0; algo < arguments->nalgos; algo++) {
            arguments->request.bytes = arguments->sizes[size];
            arguments->request.algorithm = arguments->algos[algo];
            progress.algo = algo;
            int one = sim_made(arguments, topo, &progress);
            status = one > status ? one : status;
        }
    }
    print_scores(arguments, &progress);
    return status;
}

int cli_sim(int argc, char **argv)
{
    static struct sim_arguments arguments;
    tern_topo *topo = NULL;
    int status = sim_read_options(argc, argv, &arguments);
    if (status >= 0) {
        return status;
    }
    arguments.options.without_path = is_table(&arguments) && !arguments.json;
    arguments.page.command = "tern sim";
    status = cli_make_topo(&arguments.topo, &topo) == 0 &&
                     cli_page_begin(&arguments.page, &arguments.options.trace) == 0
                 ? sim_all(&arguments, topo)
                 : EXIT_NOT_SIMULATED;
    cli_page_end(&arguments.page);
    tern_topo_destroy(topo);
    return status;
}
