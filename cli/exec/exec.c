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
#include "tern/check.h"
#include "tern/file.h"

#define CHECKED_OPS_MAX 200000 // a check of so many takes less than a second or two

static const struct cli_command command = {
    .name = "exec",
    .head =
        "usage: tern exec FILE -n N [--dtype D] [--op O] [--runs R] [--seed S] [--trace FILE]\n"
        "\n"
        "Proves a plan as 'tern check' does, runs it on N ranks of this machine, compares the outputs of\n"
        "every run, and counts the bytes on each directed link. A refuted plan is not run.\n"
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
    if (arguments->nranks == 0) {
        return cli_refuse(&command, "-n N is missing: how many ranks?");
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
    return -1;
}

// What a run cannot show: whether the plan is right under every interleaving. Returns -1 to go on,
// else the exit status, after a sentence.
static int prove(const struct exec_arguments *arguments, const tern_plan *plan)
{
    size_t ops = tern_plan_total_ops(plan);
    if (arguments->unchecked || ops > CHECKED_OPS_MAX) {
        printf("check     unchecked, %s: 'tern check' proves it\n",
               arguments->unchecked ? "as asked" : "for it has very many ops");
        return -1;
    }
    if (tern_plan_get_spec(plan)->slots != 0) {
        return -1; // the run refuses it
    }
    tern_check *check;
    if (tern_check_plan(plan, NULL, &check) != TERN_OK) {
        printf("check     unchecked: %s\n", tern_last_error());
        return -1;
    }
    bool proved = tern_check_proved(check);
    if (proved) {
        printf("check     proved: right under every interleaving, if all links exist\n");
    }
    for (int rule = 0; !proved && rule < TERN_CHECK_RULES; rule++) {
        const char *finding = tern_check_finding(check, (tern_check_rule)rule, 0);
        if (finding != NULL) {
            fprintf(stderr,
                    "tern exec: the plan is refuted: %s; 'tern check' says more, and with "
                    "--unchecked it runs all the same\n",
                    finding);
            break;
        }
    }
    tern_check_destroy(check);
    return proved ? -1 : 1;
}

// One rank of the job.
static int be_a_rank(const struct exec_arguments *arguments, const tern_plan *plan)
{
    tern_comm *comm;
    int status = tern_init(NULL, &comm);
    if (status == TERN_OK) {
        status = exec_run(arguments, comm, plan);
        if (status < 0) {
            fprintf(stderr, "tern exec: %s\n", tern_last_error());
        }
        tern_comm_destroy(comm);
    } else {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
    }
    return status == 0 ? 0 : 1;
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

static tern_dtype usual_dtype(uint32_t unit)
{
    return unit == 4 ? TERN_F32 : unit == 8 ? TERN_F64 : unit == 2 ? TERN_F16 : TERN_U8;
}

// What only the plan knows. Returns -1 to go on.
static int judge_plan(struct exec_arguments *arguments, const tern_plan_spec *spec)
{
    if (arguments->dtype_word == NULL) {
        arguments->dtype = usual_dtype(spec->unit);
    }
    if (spec->nranks != arguments->nranks) {
        return cli_refuse(&command, "the plan is for %d ranks, not %ld", spec->nranks,
                          arguments->nranks);
    }
    if (tern_dtype_size(arguments->dtype) != spec->unit) {
        return cli_refuse(&command, "the plan's unit is %u bytes, an element of %s has %zu",
                          spec->unit, tern_dtype_name(arguments->dtype),
                          tern_dtype_size(arguments->dtype));
    }
    return -1;
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
    exit_status = exit_status < 0 ? judge_plan(&arguments, tern_plan_get_spec(plan)) : exit_status;
    if (exit_status < 0 && arguments.is_rank) {
        exit_status = be_a_rank(&arguments, plan);
    }
    exit_status = exit_status < 0 ? check_trace(&arguments) : exit_status;
    if (exit_status < 0) {
        exit_status = prove(&arguments, plan);
        fflush(stdout); // before the ranks write
    }
    if (exit_status < 0) {
        exit_status = cli_start_ranks((int)arguments.nranks, argc, argv);
    }
    tern_plan_destroy(plan);
    return exit_status;
}
