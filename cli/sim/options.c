// SPDX-License-Identifier: Apache-2.0
// The command line of `tern sim`.

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "numbers.h"
#include "options.h"
#include "sim/sim.h"
#include "suggest.h"

#define ROWS_DEFAULT 8

static const struct cli_command command = {
    .name = "sim",
    .head =
        "usage: tern sim PLAN --topo T [OPTIONS]\n"
        "       tern sim KIND --topo T --bytes B [OPTIONS]\n"
        "       tern sim KIND --topo T --sizes A[,B...] [--algo A[,B...]] [OPTIONS]\n"
        "\n"
        "Simulates a plan on a topology: a file, or the plan of a KIND as 'tern plan' makes it. Says\n"
        "how long it takes, which links and resources it uses, and what it waits for. Several sizes\n"
        "or algorithms are a table.\n"
        "\n",
    .foot = "\n"
            "Exit status: 0 simulated, 1 it cannot be, or a rank never ends, 2 wrong usage.\n",
};

static int take_edit(void *into, const char *option, const char *links)
{
    struct sim_arguments *arguments = into;
    return cli_take_edit(&arguments->topo, option, links);
}

static int take_sizes(void *into, const char *option, const char *list)
{
    struct sim_arguments *arguments = into;
    bool one = strcmp(option, "--bytes") == 0;
    arguments->has_bytes = true;
    return cli_read_sizes(list, TERN_PLAN_BYTES_MAX, arguments->sizes, one ? 1 : SIM_SIZES_MAX,
                          &arguments->nsizes)
               ? -1
           : one ? cli_refuse(&command,
                              "%s takes a number up to 2^48, as 4096, 64K, 1M or 1G, not '%s'",
                              option, list)
                 : cli_refuse(&command, "%s takes up to %d sizes as 8,64K,1M, not '%s'", option,
                              SIM_SIZES_MAX, list);
}

static int take_piece(void *into, const char *option, const char *text)
{
    struct sim_arguments *arguments = into;
    return cli_read_bytes(text, strlen(text), TERN_PLAN_BYTES_MAX, &arguments->piece_bytes)
               ? -1
               : cli_refuse(&command, "%s takes a number of bytes, as 64K, not '%s'", option, text);
}

static int take_algos(void *into, const char *option, const char *list)
{
    struct sim_arguments *arguments = into;
    size_t length = strlen(list);
    if (length >= sizeof arguments->algo_words) {
        return cli_refuse(&command, "%s: that is too long", option);
    }
    memcpy(arguments->algo_words, list, length + 1);
    arguments->nalgos = 0;
    for (char *word = strtok(arguments->algo_words, ","); word != NULL; word = strtok(NULL, ",")) {
        if (arguments->nalgos == SIM_ALGOS_MAX) {
            return cli_refuse(&command, "%s takes up to %d algorithms", option, SIM_ALGOS_MAX);
        }
        arguments->algos[arguments->nalgos++] = word;
    }
    return arguments->nalgos > 0 ? -1
                                 : cli_refuse(&command, "%s takes names of algorithms", option);
}

static int take_order(void *into, const char *option, const char *word)
{
    struct sim_arguments *arguments = into;
    arguments->has_order = true;
    return cli_take_order(&command, option, word, &arguments->request.order);
}

static int take_fail(void *into, const char *option, const char *text)
{
    tern_sim_options *options = &((struct sim_arguments *)into)->options;
    if (options->fails_count == TERN_SIM_FAILS_MAX) {
        return cli_refuse(&command, "%s: more than %d links fail", option, TERN_SIM_FAILS_MAX);
    }
    options->fails[options->fails_count++] = text;
    return -1;
}

// Rates and other numbers with decimals; what is in their range the simulator says.
static int take_decimal(void *into, const char *option, const char *text)
{
    tern_sim_options *options = &((struct sim_arguments *)into)->options;
    double *reduce = options->reduce_GBps;
    const struct {
        const char *option;
        double *value;
    } numbers[] = {{"--memory", &options->memory_GBps},
                   {"--machine-memory", &options->machine_memory_GBps},
                   {"--copy", &options->copy_GBps},
                   {"--fresh", &options->fresh_GBps},
                   {"--reduce", &reduce[0]},
                   {"--op", &options->op_us},
                   {"--begin", &options->begin_us},
                   {"--meet", &options->meet_us},
                   {"--post", &options->post_us},
                   {"--wake", &options->wake_us},
                   {"--jitter", &options->jitter}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(option, numbers[i].option) == 0 &&
            cli_read_seconds(text, 0, 1e9, numbers[i].value)) {
            if (numbers[i].value == reduce) {
                reduce[1] = reduce[2] = reduce[3] = reduce[0];
            }
            return -1;
        }
    }
    return cli_refuse(&command, "%s takes a number from 0 on, as 12.5, not '%s'", option, text);
}

static int read_options(int argc, char **argv, struct sim_arguments *arguments)
{
    const struct cli_option options[] = {
        {"--topo T",
         "the ranks and links: mesh:8, ring:8, hosts:2x8, machines:2x4, this, a\npreset, a file",
         .word = &arguments->topo.word},
        {"--cut A-B", "without the link between two ranks; A>B for one direction; repeatable",
         .take = take_edit},
        {"--slow A-B=F", "with F times the bandwidth on it; repeatable", .take = take_edit},
        {"--bytes B", "the size of the larger buffer, may end in K, M or G (binary)",
         .take = take_sizes},
        {"--sizes A[,B...]", "a line for each of these sizes", .take = take_sizes},
        {"--algo A[,B...]", "these algorithms instead of the quickest", .take = take_algos},
        {"--order rank|any", "sums in rank order (default without --algo), or any fixed order",
         .take = take_order},
        {"--unit U", "bytes of an element: 1, 2, 4 (default) or 8", .number = &arguments->unit,
         .least = 1, .most = 8},
        {"--root R", "of broadcast, reduce, gather and scatter; default 0",
         .number = &arguments->root, .most = TERN_PLAN_RANKS_MAX - 1},
        {"--generated",
         "not a plan but a program that makes its ops when they are reached:\n"
         "ring, halving_doubling, tree, chain, hierarchical, hierarchical_ring;\n"
         "above 1024 ranks always",
         .flag = &arguments->generated},
        {"--group R", "of the hierarchical ones: ranks of a host", .number = &arguments->group,
         .least = 1, .most = TERN_PROGRAM_RANKS_MAX},
        {"--piece B", "of the tree and the chain; default: 1M", .take = take_piece},
        {"--memory GBPS", "of a rank, for what it copies and adds in its own memory; else no time",
         .take = take_decimal},
        {"--machine-memory GBPS", "likewise of a machine", .take = take_decimal},
        {"--copy GBPS", "of that, the most that one copy reaches", .take = take_decimal},
        {"--reduce GBPS", "and the most that one reduce reaches", .take = take_decimal},
        {"--op US", "what each copy and reduce takes before it begins", .take = take_decimal},
        {"--processors N",
         "of each machine, which its ranks share; they move the bytes within it at\n"
         "--copy and --reduce",
         .number = &arguments->processors, .least = 1, .most = 65536},
        {"--fresh GBPS", "the most that reads reach of what another rank has written in the run",
         .take = take_decimal},
        {"--measured",
         "these and the rates as 'tern tune costs' has measured them here, where they\n"
         "are not given; of the topology 'this' always",
         .flag = &arguments->measured},
        {"--begin US", "what a run takes before its first op", .take = take_decimal},
        {"--meet US", "and more in windows: where the plan has no slots", .take = take_decimal},
        {"--post US", "what a post takes there", .take = take_decimal},
        {"--wake US", "of a processor, for a rank that goes on, where ranks outnumber them",
         .take = take_decimal},
        {"--jitter F", "latencies and transfers take up to 1 + F times as long, by chance",
         .take = take_decimal},
        {"--seed N", "of that chance; default: 0", .number = &arguments->seed, .most = 2147483647},
        {"--fail LINK@US", "a link that fails at a time: 0-1@100, or 0>1@100; repeatable",
         .take = take_fail},
        {"--trace FILE", "write the run as a Chrome trace, for Perfetto",
         .word = &arguments->options.trace},
        {"--timeline FILE", "write it as a page for a browser", .word = &arguments->page.file},
        {"--trace-events N", "the most events of both; default: 262144",
         .number = &arguments->trace_events, .least = 1, .most = TERN_SIM_TRACE_MAX},
        {"--rows N", "of links and of parts of the path that are shown; default: 8",
         .number = &arguments->rows, .most = 1000000},
        {"--ranks", "show when each rank ends", .flag = &arguments->ranks},
        {"--steps", "show each step of the critical path", .flag = &arguments->steps},
        {"--json", "everything as JSON, an object a line", .flag = &arguments->json},
        {0},
    };
    return cli_read_options(&command, options, argc, argv, arguments);
}

static int judge_kind(struct sim_arguments *arguments, const char *word)
{
    if (tern_plan_kind_parse(word, &arguments->request.kind) < 0) {
        return cli_refuse(&command, "'%s' is no file; %s%s", word, tern_last_error(),
                          cli_suggest_kind(word));
    }
    if (!arguments->has_bytes && arguments->request.kind != TERN_PLAN_BARRIER) {
        return cli_refuse(&command, "--bytes is missing: how large?");
    }
    arguments->nsizes += arguments->nsizes == 0; // a barrier: of 0 bytes
    if (arguments->nalgos > 0 && !arguments->has_order) {
        arguments->request.order = TERN_ORDER_ANY; // an algorithm that is named has its own order
    }
    arguments->nalgos += arguments->nalgos == 0;
    return -1;
}

int sim_read_options(int argc, char **argv, struct sim_arguments *arguments)
{
    *arguments = (struct sim_arguments){.unit = 4, .rows = ROWS_DEFAULT};
    arguments->topo.command = &command;
    int status = read_options(argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    arguments->request.unit = (uint32_t)arguments->unit;
    arguments->request.root = (int)arguments->root;
    arguments->options.seed = (uint64_t)arguments->seed;
    arguments->options.processors = (int)arguments->processors;
    if (argc - optind != 1) {
        return cli_refuse(&command,
                          argc == optind ? "which PLAN or KIND?" : "one PLAN or KIND only");
    }
    if (arguments->topo.word == NULL) {
        return cli_refuse(&command, "--topo is missing: on which ranks and links?");
    }
    arguments->options.trace_events = (size_t)arguments->trace_events;
    if ((arguments->options.trace != NULL || arguments->page.file != NULL) &&
        (arguments->nsizes > 1 || arguments->nalgos > 1)) {
        return cli_refuse(&command, "--trace and --timeline are of one size and one algorithm");
    }
    const char *word = argv[optind];
    struct stat facts;
    tern_plan_kind kind;
    bool is_kind = tern_plan_kind_parse(word, &kind) == TERN_OK;
    if (is_kind || (strcmp(word, "-") != 0 && stat(word, &facts) != 0)) {
        return judge_kind(arguments, word);
    }
    arguments->file = word;
    bool made = arguments->has_bytes || arguments->nalgos > 0 || arguments->generated;
    return made ? cli_refuse(&command,
                             "'%s' is a plan; not with --bytes, --sizes, --algo or "
                             "--generated",
                             word)
                : -1;
}
