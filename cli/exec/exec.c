// SPDX-License-Identifier: Apache-2.0
// `tern exec`: runs a plan file on this machine with made-up data, and compares every output of
// every run with what the plan's kind says. The command starts itself once per rank.

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "exec/exec.h"
#include "options.h"
#include "ranks.h"
#include "tern/algo.h"
#include "tern/coll.h"
#include "tern/file.h"

static const struct cli_command command = {
    .name = "exec",
    .head =
        "usage: tern exec FILE -n N [--dtype D] [--op O] [--runs R] [--seed S] [--trace FILE]\n"
        "       tern exec FILE --hosts a:2,b:2 [OPTIONS]\n"
        "       tern run ... tern exec FILE [OPTIONS]\n"
        "\n"
        "Proves a plan as 'tern check' does, runs it on N ranks of this machine, or on several machines, or\n"
        "on the ranks of the job that it is started in; compares the outputs of every run, and counts the\n"
        "bytes on each directed link. A refuted plan is not run.\n"
        "\n",
    .foot =
        "\n"
        "Exit status: 0 right, 1 a refuted plan, a wrong output or a failed run, 2 wrong usage, 125 when the ranks\n"
        "cannot be started.\n",
};

static int take_dtype(void *into, const char *option, const char *word)
{
    struct exec_arguments *arguments = into;
    arguments->dtype_word = word;
    return tern_dtype_parse(word, &arguments->dtype) == TERN_OK
               ? -1
               : cli_refuse(&command, "%s: %s", option, tern_last_error());
}

// Made-up data and the check of it know these operations.
static int take_op(void *into, const char *option, const char *word)
{
    struct exec_arguments *arguments = into;
    if (tern_reduce_op_parse(word, &arguments->op) != TERN_OK ||
        (arguments->op != TERN_SUM && arguments->op != TERN_PROD && arguments->op != TERN_MAX &&
         arguments->op != TERN_MIN)) {
        return cli_refuse(&command, "%s takes sum, prod, max or min, not '%s'", option, word);
    }
    return -1;
}

static int take_env(void *into, const char *option, const char *value)
{
    return cli_take_env(&command, &((struct exec_arguments *)into)->hosts, option, value);
}

static int refuse_trace(void)
{
    return cli_refuse(&command, "--trace is for one machine: clocks of machines differ");
}

// How many ranks, and where. Returns -1 to go on.
static int read_places(struct exec_arguments *arguments)
{
    struct cli_hosts *hosts = &arguments->hosts;
    int exit_status = cli_read_hosts(&command, hosts);
    if (exit_status >= 0) {
        return exit_status;
    }
    if (hosts->list != NULL && arguments->nranks != 0 && arguments->nranks != hosts->nranks) {
        return cli_refuse(&command, "-n %ld, and the hosts have %d ranks", arguments->nranks,
                          hosts->nranks);
    }
    arguments->nranks = hosts->list != NULL ? hosts->nranks : arguments->nranks;
    arguments->joins = arguments->nranks == 0;
    return arguments->trace == NULL || hosts->machines < 2 ? -1 : refuse_trace();
}

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct exec_arguments *arguments)
{
    const struct cli_option options[] = {
        {"-n N", "how many ranks; the plan must be for as many", .number = &arguments->nranks,
         .least = 1, .most = TERN_RANKS_MAX, .what = "a number of ranks"},
        {"--dtype D", "element type, of the plan's unit; default: f32, f64, f16 or u8",
         .take = take_dtype},
        {"--op O", "sum, prod, max or min; default: sum", .take = take_op},
        {"--runs R", "how many runs in a row; default: 10", .number = &arguments->runs, .least = 1,
         .most = EXEC_RUNS_MAX},
        {"--seed S", "of the data; default: 1", .number = &arguments->seed, .most = 2147483647},
        {"--unchecked", "run the plan without a proof, also a wrong one",
         .flag = &arguments->unchecked},
        {"--trace FILE", "write a Chrome trace of all ranks, for Perfetto",
         .word = &arguments->trace},
        CLI_HOSTS_OPTIONS(&arguments->hosts, take_env),
        {"--as-rank", .flag = &arguments->is_rank},
        {0},
    };
    int status = cli_read_options(&command, options, argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    if (argc - optind != 1) {
        return cli_refuse(&command, argc == optind ? "which FILE?" : "only one FILE can be run");
    }
    arguments->file = argv[optind];
    if (strcmp(arguments->file, "-") == 0) {
        return cli_refuse(&command, "FILE is read by every rank, so it cannot be standard input");
    }
    struct stat state;
    if (stat(arguments->file, &state) == 0 && !S_ISREG(state.st_mode)) {
        return cli_refuse(&command,
                          "FILE is read by every rank, so it must be a file; '%s' is none",
                          arguments->file);
    }
    return read_places(arguments);
}

static tern_dtype usual_dtype(uint32_t unit)
{
    return unit == 4 ? TERN_F32 : unit == 8 ? TERN_F64 : unit == 2 ? TERN_F16 : TERN_U8;
}

// What only the plan knows, of a job of so many ranks. Returns -1 to go on.
static int judge_plan(const struct exec_arguments *arguments, const tern_plan *plan, int nranks)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    if (spec->nranks != nranks && arguments->hosts.list == NULL && !arguments->joins) {
        return cli_refuse(&command, "the plan is for %d ranks, not %d", spec->nranks, nranks);
    }
    if (spec->nranks != nranks) {
        char fit[256];
        exec_fits(plan, NULL, fit, sizeof fit);
        return cli_refuse(&command, "the plan is for %d ranks, and the %s %d; %s", spec->nranks,
                          arguments->joins ? "job has" : "hosts have", nranks, fit);
    }
    if (tern_dtype_size(arguments->dtype) != spec->unit) {
        return cli_refuse(&command, "the plan's unit is %u bytes, an element of %s has %zu",
                          spec->unit, tern_dtype_name(arguments->dtype),
                          tern_dtype_size(arguments->dtype));
    }
    return -1;
}

// In a job that somebody else has started: what the launcher would have found, by rank 0, for all.
// *verdict: -1 to go on, else the exit status.
static int judge_job(const struct exec_arguments *arguments, tern_comm *comm, const tern_plan *plan,
                     int32_t *verdict)
{
    int nranks = tern_comm_size(comm);
    int32_t mine = -1;
    tern_topo *topo = NULL;
    int status = TERN_OK;
    if (tern_comm_rank(comm) == 0) {
        mine = nranks == 1 && tern_plan_get_spec(plan)->nranks > 1 && !cli_is_rank()
                   ? cli_refuse(&command, "-n N or --hosts LIST is missing: how many ranks?")
                   : judge_plan(arguments, plan, nranks);
        status = mine < 0 ? tern_comm_topo(comm, &topo) : status;
        mine = mine < 0 && arguments->trace != NULL && tern_topo_machine_count(topo) > 1
                   ? refuse_trace()
                   : mine;
        mine = mine < 0 && status == TERN_OK ? exec_prove(arguments, plan, topo) : mine;
        fflush(stdout);
        tern_topo_destroy(topo);
    }
    int told = tern_broadcast(comm, &mine, verdict, 1, TERN_I32, 0);
    return status == TERN_OK ? told : status;
}

// One rank of the job.
static int be_a_rank(const struct exec_arguments *arguments, const tern_plan *plan)
{
    tern_comm *comm = NULL;
    int32_t verdict = -1;
    int status = tern_init(NULL, &comm);
    if (status == TERN_OK) {
        status = arguments->joins ? judge_job(arguments, comm, plan, &verdict) : TERN_OK;
        status = status == TERN_OK && verdict < 0 ? exec_run(arguments, comm, plan) : status;
    }
    if (status < 0) {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
    }
    tern_comm_destroy(comm);
    return status != 0 ? 1 : verdict < 0 ? 0 : verdict;
}

// A trace that cannot be written is found before anything is run. Returns -1 to go on.
static int check_trace(const struct exec_arguments *arguments)
{
    if (arguments->trace == NULL || tern_file_probe(arguments->trace) == TERN_OK) {
        return -1;
    }
    fprintf(stderr, "tern exec: --trace: %s\n", tern_last_error());
    return CLI_EXIT_USAGE;
}

// Before ranks are started. Returns -1 to go on.
static int prepare(const struct exec_arguments *arguments, const tern_plan *plan)
{
    tern_topo *topo;
    int exit_status = judge_plan(arguments, plan, (int)arguments->nranks);
    exit_status = exit_status < 0 ? check_trace(arguments) : exit_status;
    if (exit_status >= 0) {
        return exit_status;
    }
    if (cli_hosts_topo(&arguments->hosts, &topo) != TERN_OK) {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
        return 1;
    }
    exit_status = exec_prove(arguments, plan, topo);
    tern_topo_destroy(topo);
    fflush(stdout); // before the ranks write
    return exit_status;
}

int cli_exec(int argc, char **argv)
{
    struct exec_arguments arguments = {.runs = 10, .seed = 1};
    tern_plan *plan = NULL;
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status < 0 && tern_plan_load(arguments.file, &plan) != TERN_OK) {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
        exit_status = CLI_EXIT_USAGE;
    }
    if (exit_status < 0 && arguments.dtype_word == NULL) {
        arguments.dtype = usual_dtype(tern_plan_get_spec(plan)->unit);
    }
    if (exit_status < 0 && (arguments.is_rank || arguments.joins)) {
        exit_status = be_a_rank(&arguments, plan);
    }
    exit_status = exit_status < 0 ? prepare(&arguments, plan) : exit_status;
    if (exit_status < 0) {
        exit_status = cli_start_ranks_on(&arguments.hosts, (int)arguments.nranks, argc, argv);
    }
    tern_plan_destroy(plan);
    return exit_status;
}
