// SPDX-License-Identifier: Apache-2.0
// `tern exec`: runs a plan file on this machine with made-up data, and compares every output of every
// run with what the plan's kind says. The command starts itself once per rank.

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "exec/exec.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/check.h"
#include "tern/file.h"

#define RUNS_MAX 1000000
#define CHECKED_OPS_MAX 200000 // a check of so many takes less than a second or two

static const char help[] =
    "usage: tern exec FILE -n N [--dtype D] [--op O] [--runs R] [--seed S] [--trace FILE]\n"
    "\n"
    "Proves a plan as 'tern check' does, runs it on N ranks of this machine, compares the outputs of\n"
    "every run, and counts the bytes on each directed link. A refuted plan is not run.\n"
    "\n"
    "  -n N               how many ranks; the plan must be for as many\n"
    "  --dtype D          element type, of the plan's unit; default: f32, f64, f16 or u8\n"
    "  --op O             sum, prod, max or min; default: sum\n"
    "  --runs R           how many runs in a row; default: 10\n"
    "  --seed S           of the data; default: 1\n"
    "  --unchecked        run the plan without a proof, also a wrong one\n"
    "  --trace FILE       write a Chrome trace of all ranks, for Perfetto\n"
    "  -h, --help         print this text\n"
    "\n"
    "Exit status: 0 right, 1 a refuted plan, a wrong output or a failed run, 2 wrong usage, 125 when the ranks\n"
    "cannot be started.\n";

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern exec: %s; see 'tern exec --help'\n", sentence);
    return CLI_EXIT_USAGE;
}

static bool read_number(const char *text, long low, long high, long *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, "0123456789") != length) {
        return false;
    }
    long value = atol(text);
    if (value < low || value > high) {
        return false;
    }
    *number = value;
    return true;
}

// Made-up data and the check of it know these operations.
static bool read_op(const char *word, tern_reduce_op *op)
{
    tern_reduce_op read;
    if (tern_reduce_op_parse(word, &read) != TERN_OK ||
        (read != TERN_SUM && read != TERN_PROD && read != TERN_MAX && read != TERN_MIN)) {
        return false;
    }
    *op = read;
    return true;
}

static const struct option known[] = {{"dtype", required_argument, NULL, 'd'},
                                      {"op", required_argument, NULL, 'o'},
                                      {"runs", required_argument, NULL, 'r'},
                                      {"seed", required_argument, NULL, 's'},
                                      {"unchecked", no_argument, NULL, 'u'},
                                      {"trace", required_argument, NULL, 't'},
                                      {"as-rank", no_argument, NULL, 'R'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct exec_arguments *arguments)
{
    long number;
    int code;
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":n:h", known, NULL)) != -1) {
        switch (code) {
        case 'n':
            if (!read_number(optarg, 1, TERN_RANKS_MAX, &number)) {
                return wrong_usage("-n takes a number of ranks from 1 to %d, not '%s'",
                                   TERN_RANKS_MAX, optarg);
            }
            arguments->nranks = (int)number;
            break;
        case 'd':
            if (tern_dtype_parse(optarg, &arguments->dtype) != TERN_OK) {
                return wrong_usage("--dtype: %s", tern_last_error());
            }
            arguments->dtype_word = optarg;
            break;
        case 'o':
            if (!read_op(optarg, &arguments->op)) {
                return wrong_usage("--op takes sum, prod, max or min, not '%s'", optarg);
            }
            break;
        case 'r':
            if (!read_number(optarg, 1, RUNS_MAX, &arguments->runs)) {
                return wrong_usage("--runs takes a number from 1 to %d, not '%s'", RUNS_MAX,
                                   optarg);
            }
            break;
        case 's':
            if (!read_number(optarg, 0, 2147483647, &arguments->seed)) {
                return wrong_usage("--seed takes a number from 0 to 2147483647, not '%s'", optarg);
            }
            break;
        case 't':
            arguments->trace = optarg;
            break;
        case 'u':
            arguments->unchecked = true;
            break;
        case 'R':
            arguments->is_rank = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case ':':
            return wrong_usage("%s needs a value", argv[optind - 1]);
        default:
            return wrong_usage("there is no option '%s'%s", argv[optind - 1],
                               cli_suggest_option(argv[optind - 1], known));
        }
    }
    if (argc - optind != 1) {
        return wrong_usage(argc == optind ? "which FILE?" : "only one FILE can be run");
    }
    if (arguments->nranks == 0) {
        return wrong_usage("-n N is missing: how many ranks?");
    }
    arguments->file = argv[optind];
    if (strcmp(arguments->file, "-") == 0) {
        return wrong_usage("FILE is read by every rank, so it cannot be standard input");
    }
    struct stat state;
    if (stat(arguments->file, &state) == 0 && !S_ISREG(state.st_mode)) {
        return wrong_usage("FILE is read by every rank, so it must be a file; '%s' is none",
                           arguments->file);
    }
    return -1;
}

// What a run cannot show: whether the plan is right under every interleaving. Returns -1 to go on, else
// the exit status, after a sentence.
static int prove(const struct exec_arguments *arguments, const tern_plan *plan)
{
    size_t ops = tern_plan_total_ops(plan);
    if (arguments->unchecked || ops > CHECKED_OPS_MAX) {
        printf("check     unchecked, %s: 'tern check' proves it\n",
               arguments->unchecked ? "as asked" : "for it has very many ops");
        return -1;
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

int cli_exec(int argc, char **argv)
{
    struct exec_arguments arguments = {.runs = 10, .seed = 1};
    tern_plan *plan = NULL;
    // getopt moves words about; the ranks get them as they were given.
    char **given = calloc((size_t)argc + 1, sizeof *given);
    if (given == NULL) {
        fputs("tern exec: not enough memory\n", stderr);
        return CLI_EXIT_LAUNCHER_FAILED;
    }
    memcpy(given, argv, (size_t)argc * sizeof *argv);
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status < 0 && tern_plan_load(arguments.file, &plan) != TERN_OK) {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
        exit_status = CLI_EXIT_USAGE;
    }
    if (exit_status < 0) {
        const tern_plan_spec *spec = tern_plan_get_spec(plan);
        if (arguments.dtype_word == NULL) {
            arguments.dtype = usual_dtype(spec->unit);
        }
        if (spec->nranks != arguments.nranks) {
            exit_status =
                wrong_usage("the plan is for %d ranks, not %d", spec->nranks, arguments.nranks);
        } else if (tern_dtype_size(arguments.dtype) != spec->unit) {
            exit_status =
                wrong_usage("the plan's unit is %u bytes, an element of %s has %zu", spec->unit,
                            tern_dtype_name(arguments.dtype), tern_dtype_size(arguments.dtype));
        }
    }
    if (exit_status < 0 && !arguments.is_rank) {
        exit_status = check_trace(&arguments);
    }
    if (exit_status < 0 && !arguments.is_rank) {
        exit_status = prove(&arguments, plan);
        fflush(stdout); // before the ranks write
    }
    if (exit_status < 0) {
        exit_status = arguments.is_rank ? be_a_rank(&arguments, plan)
                                        : cli_start_ranks(arguments.nranks, argc, given);
    }
    tern_plan_destroy(plan);
    free(given);
    return exit_status;
}
