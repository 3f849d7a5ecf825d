// SPDX-License-Identifier: Apache-2.0
// `tern plan`: emits the plan of a collective for a topology, and says what it costs there. Exit
// status 0: done; 1: no such plan can be made or written; 2: wrong usage.

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "emit/emit.h"
#include "executor.h"
#include "numbers.h"
#include "options.h"
#include "search.h"
#include "suggest.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/record.h"
#include "tern/summary.h"
#include "tern/tune.h"
#include "topo.h"

#define EXIT_NO_PLAN 1

static const struct cli_command command = {
    .name = "plan",
    .head =
        "usage: tern plan KIND --topo T [--bytes B] [OPTIONS]\n"
        "       tern plan KIND --topo T [--bytes B] --executor FILE [OPTIONS]\n"
        "       tern plan KIND --list\n"
        "\n"
        "Emits the plan of a collective: all_reduce, reduce_scatter, all_gather, broadcast, reduce,\n"
        "gather, scatter, all_to_all or barrier. It goes to standard output, unless a file or the\n"
        "summary is asked for.\n"
        "\n",
    .foot = "\n"
            "Exit status: 0 done, 1 no such plan can be made or written, 2 wrong usage.\n",
};

struct arguments {
    tern_algo_request request;
    bool has_bytes, has_order, summary, list, fuse, simple;
    long unit, root;
    const char *output, *as_run, *executor_out, *from, *certificate;
    struct cli_search search;
    enum emit_target target;
    struct cli_topo topo;
    struct cli_executor executor;
};

static int take_target(void *into, const char *option, const char *word)
{
    static const char *const words[] = {
        [EMIT_910B] = "910B", [EMIT_910_93] = "910_93", [EMIT_950] = "950"};
    for (int i = EMIT_910B; i <= EMIT_950; i++) {
        if (strcmp(word, words[i]) == 0) {
            ((struct arguments *)into)->target = (enum emit_target)i;
            return -1;
        }
    }
    return cli_refuse(&command, "%s takes 910B, 910_93 or 950, not '%s'", option, word);
}

static int take_edit(void *into, const char *option, const char *links)
{
    struct arguments *arguments = into;
    return cli_take_edit(&arguments->topo, option, links);
}

static int take_bytes(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    arguments->has_bytes = true;
    return cli_read_bytes(text, strlen(text), TERN_PLAN_BYTES_MAX, &arguments->request.bytes)
               ? -1
               : cli_refuse(&command,
                            "%s takes a number up to 2^48, as 4096, 64K, 1M or 1G, not '%s'",
                            option, text);
}

static int take_ccl(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    return cli_take_ccl(&command, &arguments->executor, option, text);
}

static int take_unit(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    return cli_read_number(text, 0, 999999, &arguments->unit)
               ? -1
               : cli_refuse(&command, "%s takes 1, 2, 4 or 8, not '%s'", option, text);
}

static int take_root(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    return cli_read_number(text, 0, 999999, &arguments->root)
               ? -1
               : cli_refuse(&command, "%s takes the number of a rank, not '%s'", option, text);
}

static int take_order(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    arguments->has_order = true;
    return cli_take_order(&command, option, text, &arguments->request.order);
}

static int take_time(void *into, const char *option, const char *text)
{
    struct arguments *arguments = into;
    return cli_read_seconds(text, 0.001, 1e6, &arguments->search.how.seconds)
               ? -1
               : cli_refuse(&command, "%s takes seconds, as 0.5 or 60, not '%s'", option, text);
}

static int read_options(int argc, char **argv, struct arguments *arguments)
{
    const struct cli_option options[] = {
        {"--topo T",
         "the ranks and links: mesh:8, ring:8, torus:4x4, cube:3, switch:8, hosts:2x8,\nhosts:2x8@50, machines:2x4, random:8,1, this, a preset, a file",
         .word = &arguments->topo.word},
        {"--cut A-B", "without the link between two ranks; A>B for one direction; repeatable",
         .take = take_edit},
        {"--slow A-B=F", "with F times the bandwidth on it; NAME=F of a resource; repeatable",
         .take = take_edit},
        {"--bytes B", "the size of the larger buffer, may end in K, M or G (binary)",
         .take = take_bytes},
        {"--unit U", "bytes of an element: 1, 2, 4 (default) or 8", .take = take_unit},
        {"--algo A", "this algorithm instead of the quickest; optimal: search for a quicker plan",
         .word = &arguments->request.algorithm},
        {"--time SECONDS", "end a search then, with the best plan so far", .take = take_time},
        {"--certificate FILE", "write the proof there that no plan can take less than some time",
         .word = &arguments->certificate},
        {"--order rank|any", "sums in rank order (default without --algo), or any fixed order",
         .take = take_order},
        {"--root R", "of broadcast, reduce, gather and scatter; default 0", .take = take_root},
        {"--as-run WAY",
         "the plan that a call runs on these ranks: window, slot, direct or\nstaged",
         .word = &arguments->as_run},
        {"--executor FILE",
         "the plan that an executor of HCCL's framework asks for: a C++ source\nor a shared object",
         .word = &arguments->executor.file},
        {"--executor-name NAME", "which, if it registers several",
         .word = &arguments->executor.name},
        {"--ccl-bytes B", "of each of its CCL buffers; default HCCL_BUFFSIZE MiB, else 200M",
         .take = take_ccl},
        {"-o FILE", "write the plan there; '-' is standard output", .word = &arguments->output},
        {"--from FILE", "the plan in this file instead of a new one", .word = &arguments->from},
        {"--fuse",
         "with one op for each sum of an executor, and only the posts and waits that\n"
         "the ops need: the same result and links, less work",
         .flag = &arguments->fuse},
        {"--simple", "with ops of one source and one destination each, all in scratch",
         .flag = &arguments->simple},
        {"--emit-executor FILE", "write it as the C++ source of an executor for HCCL's framework",
         .word = &arguments->executor_out},
        {"--target T", "910B, 910_93 or 950: warn of reduces that its engines do not have",
         .take = take_target},
        {"--summary", "print what it costs, and the lower bound of the topology",
         .flag = &arguments->summary},
        {"--list", "print the algorithms of the kind", .flag = &arguments->list},
        {0},
    };
    return cli_read_options(&command, options, argc, argv, arguments);
}

// What is missing or does not go together.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    arguments->unit = 4;
    arguments->topo.command = &command;
    int status = read_options(argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    arguments->request.unit = (uint32_t)arguments->unit;
    arguments->request.root = (int)arguments->root;
    if (argc - optind != 1) {
        return cli_refuse(&command, argc == optind ? "which KIND of collective?" : "one KIND only");
    }
    if (tern_plan_kind_parse(argv[optind], &arguments->request.kind) < 0) {
        return cli_refuse(&command, "%s%s", tern_last_error(), cli_suggest_kind(argv[optind]));
    }
    if (arguments->list) {
        return -1;
    }
    if (arguments->from != NULL) {
        bool both = arguments->has_bytes || arguments->request.algorithm != NULL ||
                    arguments->as_run != NULL || arguments->summary ||
                    arguments->certificate != NULL || arguments->search.how.seconds > 0;
        return both ? cli_refuse(&command, "--from: the plan is made; not with --bytes, --algo, "
                                           "--as-run, --summary, --certificate or --time")
                    : -1;
    }
    if (arguments->topo.word == NULL) {
        return cli_refuse(&command, "--topo is missing: for which ranks and links?");
    }
    if (!arguments->has_bytes && arguments->request.kind != TERN_PLAN_BARRIER) {
        return cli_refuse(&command, "--bytes is missing: how large?");
    }
    bool executor = arguments->executor.file != NULL;
    if (executor && (arguments->request.algorithm != NULL || arguments->as_run != NULL)) {
        return cli_refuse(&command, "--executor goes without --algo and --as-run");
    }
    if (!executor && (arguments->executor.name != NULL || arguments->executor.has_ccl_bytes)) {
        return cli_refuse(&command, "--executor-name and --ccl-bytes go with --executor");
    }
    const char *output = arguments->output;
    if (arguments->certificate != NULL && strcmp(arguments->certificate, "-") == 0 &&
        (output == NULL ? !arguments->summary : strcmp(output, "-") == 0)) {
        return cli_refuse(&command, "--certificate and the plan cannot both be standard output; -o "
                                    "FILE writes the plan elsewhere");
    }
    if (arguments->request.algorithm != NULL && !arguments->has_order) {
        arguments->request.order = TERN_ORDER_ANY; // an algorithm that is named has its own order
    }
    return -1;
}

static void print_list(tern_plan_kind kind)
{
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        printf("%-17s %s\n", tern_algo_name(kind, i), tern_algo_text(kind, i));
    }
    if (kind != TERN_PLAN_BARRIER) {
        printf("%-17s %s\n", TERN_ALGO_OPTIMAL,
               "searched for: the quickest of many plans for any links");
    }
}

static int print_summary(const struct arguments *arguments, const tern_plan *plan,
                         const tern_topo *topo, FILE *file)
{
    tern_summary summary;
    int status = tern_summary_make(plan, topo, &summary);
    status = status == TERN_OK ? tern_summary_print(&summary, file) : status;
    cli_search_print(&arguments->search, file);
    return status;
}

// A staged call may run its plan more than once.
static void note_piece(const tern_algo_request *request, const tern_plan *plan)
{
    uint64_t bytes = tern_plan_get_spec(plan)->bytes;
    if (bytes != request->bytes) {
        fprintf(stderr, "tern plan: this is the plan of a piece of %llu bytes, of %llu\n",
                (unsigned long long)bytes, (unsigned long long)request->bytes);
    }
}

// 0, or the exit status after a sentence.
static int emit(const struct arguments *arguments, const tern_plan *plan)
{
    return arguments->executor_out == NULL ||
                   emit_executor(plan, arguments->executor_out, arguments->target) == 0
               ? 0
               : EXIT_NO_PLAN;
}

// 0 for a plan that is right, else 1 after a sentence and the findings.
static int prove(const tern_plan *plan, const tern_topo *topo, const char *option,
                 const char *which)
{
    tern_check *check = NULL;
    int status = tern_check_plan(plan, topo, &check);
    if (status != TERN_OK) {
        fprintf(stderr, "tern plan: %s: %s\n", option, tern_last_error());
        return 1;
    }
    bool proved = tern_check_proved(check);
    if (!proved) {
        fprintf(stderr, "tern plan: %s: %s is not right:\n", option, which);
        status = tern_check_print(check, stderr);
    }
    tern_check_destroy(check);
    return proved && status == TERN_OK ? 0 : 1;
}

// In the place of a plan the simple one, proved. 0, or 1 after a sentence.
static int simplify(tern_plan **plan, const tern_topo *topo)
{
    struct emit_refusal refusal;
    tern_plan *made = NULL;
    if (emit_simplify(*plan, &made, &refusal) != 0) {
        fprintf(stderr, "tern plan: --simple: %s\n", refusal.text);
        return 1;
    }
    tern_plan_destroy(*plan);
    *plan = made;
    return prove(made, topo, "--simple", "what came of it");
}

// In the place of a plan the one of less work; both are proved. 0, or 1 after a sentence.
static int fuse(tern_plan **plan, const tern_topo *topo)
{
    if (prove(*plan, topo, "--fuse", "the plan") != 0) {
        return 1;
    }
    if (tern_check_quicken(plan, topo) != TERN_OK) {
        fprintf(stderr, "tern plan: --fuse: %s\n", tern_last_error());
        return 1;
    }
    return 0;
}

// Both steps, where they are asked for. 0, or 1 after a sentence.
static int change(const struct arguments *arguments, tern_plan **plan)
{
    const tern_topo *topo = arguments->request.topo;
    int failed = arguments->fuse ? fuse(plan, topo) : 0;
    return failed == 0 && arguments->simple ? simplify(plan, topo) : failed;
}

static int take_plan(const struct arguments *arguments)
{
    tern_plan *plan = NULL;
    int status = tern_plan_load(arguments->from, &plan);
    if (status == TERN_OK && tern_plan_get_spec(plan)->kind != arguments->request.kind) {
        fprintf(stderr, "tern plan: '%s' has a plan of %s\n", arguments->from,
                tern_plan_kind_name(tern_plan_get_spec(plan)->kind));
        tern_plan_destroy(plan);
        return EXIT_NO_PLAN;
    }
    if (status == TERN_OK && change(arguments, &plan) != 0) {
        tern_plan_destroy(plan);
        return EXIT_NO_PLAN;
    }
    bool prints = arguments->output != NULL || arguments->executor_out == NULL;
    if (status == TERN_OK && prints) {
        status = tern_plan_save(plan, arguments->output != NULL ? arguments->output : "-");
    }
    if (status != TERN_OK) {
        fprintf(stderr, "tern plan: %s\n", tern_last_error());
    }
    int exit_status = status == TERN_OK ? emit(arguments, plan) : EXIT_NO_PLAN;
    tern_plan_destroy(plan);
    return exit_status;
}

// TERN_OK, a status with a sentence, or 1 after one on standard error.
static int record_plan(struct arguments *arguments, tern_plan **plan)
{
    const tern_algo_request *asked = &arguments->request;
    const char *library = cli_executor_build(&command, &arguments->executor);
    if (library == NULL) {
        return EXIT_NO_PLAN;
    }
    tern_record_request request = {.library = library,
                                   .source = arguments->executor.file,
                                   .executor = arguments->executor.name,
                                   .kind = asked->kind,
                                   .bytes = asked->bytes,
                                   .unit = asked->unit,
                                   .root = asked->root,
                                   .topo = asked->topo,
                                   .ccl_bytes = arguments->executor.ccl_bytes};
    int status = tern_record_plan(&request, plan);
    cli_executor_remove(&arguments->executor);
    return status;
}

static int search_plan(struct arguments *arguments, tern_plan **plan)
{
    cli_search_begin(&arguments->search);
    arguments->request.search = &arguments->search.how;
    int status = tern_algo_plan(&arguments->request, plan);
    cli_search_end(&arguments->search, "tern plan: ");
    return status;
}

// TERN_OK, a status with a sentence, or 1 after one on standard error.
static int new_plan(struct arguments *arguments, tern_plan **plan)
{
    int status = arguments->executor.file != NULL ? record_plan(arguments, plan)
                 : arguments->as_run != NULL
                     ? tern_coll_plan(&arguments->request, arguments->as_run, plan)
                     : search_plan(arguments, plan);
    if (status == TERN_OK && change(arguments, plan) != 0) {
        status = EXIT_NO_PLAN;
    }
    if (status == TERN_OK && arguments->certificate != NULL) {
        status = cli_certificate_write(&arguments->request, arguments->certificate);
    }
    return status;
}

// Of a plan that was made: what is asked for.
static int write_plan(const struct arguments *arguments, const tern_plan *plan)
{
    const char *output = arguments->output;
    int status = TERN_OK;
    if (output == NULL && !arguments->summary && arguments->executor_out == NULL) {
        output = "-";
    }
    note_piece(&arguments->request, plan);
    if (output != NULL) {
        status = tern_plan_save(plan, output);
    }
    if (status == TERN_OK && arguments->summary) {
        // Beside a plan on standard output the summary must not get into it.
        bool beside = output != NULL && strcmp(output, "-") == 0;
        status = print_summary(arguments, plan, arguments->request.topo, beside ? stderr : stdout);
    }
    return status;
}

static int make_plan(struct arguments *arguments)
{
    tern_topo *topo = NULL;
    tern_plan *plan = NULL;
    if (cli_make_topo(&arguments->topo, &topo) != 0) {
        tern_topo_destroy(topo);
        return EXIT_NO_PLAN;
    }
    arguments->request.topo = topo;
    int status = new_plan(arguments, &plan);
    status = status == TERN_OK ? write_plan(arguments, plan) : status;
    if (status < 0) {
        const char *algorithm = arguments->request.algorithm;
        fprintf(stderr, "tern plan: %s%s\n", tern_last_error(),
                algorithm != NULL ? cli_suggest_algorithm(algorithm) : "");
    }
    int exit_status = status == TERN_OK ? emit(arguments, plan) : EXIT_NO_PLAN;
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return exit_status;
}

int cli_plan(int argc, char **argv)
{
    struct arguments arguments = {0};
    int status = read_arguments(argc, argv, &arguments);
    if (status >= 0) {
        return status;
    }
    if (arguments.list) {
        print_list(arguments.request.kind);
        return 0;
    }
    return arguments.from != NULL ? take_plan(&arguments) : make_plan(&arguments);
}
