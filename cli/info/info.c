// SPDX-License-Identifier: Apache-2.0
// `tern info`: what this build and this machine are, which algorithms are selected when and why, and what
// the ranks of a running job are doing.

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "info/info.h"
#include "suggest.h"
#include "tern/coll.h"
#include "tern/job.h"
#include "tern/machine.h"
#include "tern/tune.h"

#define CALLS_SHOWN 8

static const char help[] =
    "usage: tern info\n"
    "       tern info --algos [-p RANKS] [--kind KIND]\n"
    "       tern info --jobs\n"
    "       tern info --job PID [--last N] [--json]\n"
    "       tern info --words LIST\n"
    "\n"
    "Says what this build and this machine are.\n"
    "\n"
    "  --algos      the algorithms of each kind of collective, and which sizes get which, and why\n"
    "  -p RANKS     for so many ranks; default: the processors there are, at least 2\n"
    "  --kind KIND  only this kind\n"
    "  --jobs       the jobs of this user: process, ranks, age, program\n"
    "  --job PID    what the ranks of a job do, while it runs or hangs; PID: `tern run`, or a rank\n"
    "  --last N     the last N calls of each rank, 0 to 64; default: 8\n"
    "  --json       as JSON\n"
    "  --words L    the words that commands take, one a line; L is one of\n"
    "               " CLI_INFO_LISTS "\n"
    "  -h, --help   print this text\n"
    "\n"
    "Exit status: 0; 1 when it cannot be said; 2 wrong usage.\n";

struct arguments {
    bool algos, jobs, json;
    const char *words;
    bool has_pid, has_last, has_kind;
    long pid, last, nranks;
    tern_coll_kind kind;
};

static const struct option known[] = {{"algos", no_argument, NULL, 'a'},
                                      {"kind", required_argument, NULL, 'k'},
                                      {"jobs", no_argument, NULL, 'L'},
                                      {"job", required_argument, NULL, 'j'},
                                      {"last", required_argument, NULL, 'l'},
                                      {"json", no_argument, NULL, 'J'},
                                      {"words", required_argument, NULL, 'w'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern info: %s; see 'tern info --help'\n", sentence);
    return CLI_EXIT_USAGE;
}

static bool read_number(const char *text, long low, long high, long *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, "0123456789") != length) {
        return false;
    }
    *number = atol(text);
    return *number >= low && *number <= high;
}

// One option. Returns -1 to go on, else the exit status.
static int read_option(int code, char **argv, struct arguments *arguments)
{
    switch (code) {
    case 'a':
        arguments->algos = true;
        return -1;
    case 'j':
        arguments->has_pid = true;
        return read_number(optarg, 1, 2147483647, &arguments->pid)
                   ? -1
                   : wrong_usage("--job takes the number of a process, not '%s'", optarg);
    case 'l':
        arguments->has_last = true;
        return read_number(optarg, 0, TERN_JOB_CALLS_MAX, &arguments->last)
                   ? -1
                   : wrong_usage("--last takes a number from 0 to %d, not '%s'", TERN_JOB_CALLS_MAX,
                                 optarg);
    case 'L':
        arguments->jobs = true;
        return -1;
    case 'J':
        arguments->json = true;
        return -1;
    case 'p':
        return read_number(optarg, 1, TERN_RANKS_MAX, &arguments->nranks)
                   ? -1
                   : wrong_usage("-p takes a number of ranks from 1 to %d, not '%s'",
                                 TERN_RANKS_MAX, optarg);
    case 'w':
        arguments->words = optarg;
        return -1;
    case 'k':
        arguments->has_kind = true;
        return tern_coll_kind_parse(optarg, &arguments->kind) == TERN_OK
                   ? -1
                   : wrong_usage("--kind: %s%s", tern_last_error(), cli_suggest_kind(optarg));
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

static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    opterr = 0;
    int code;
    while ((code = getopt_long(argc, argv, ":p:h", known, NULL)) != -1) {
        int exit_status = read_option(code, argv, arguments);
        if (exit_status >= 0) {
            return exit_status;
        }
    }
    if (optind < argc) {
        return wrong_usage("what is '%s'?", argv[optind]);
    }
    if (arguments->algos + arguments->jobs + arguments->has_pid + (arguments->words != NULL) > 1) {
        return wrong_usage("one of --algos, --jobs, --job and --words, not several");
    }
    if (!arguments->algos && (arguments->has_kind || arguments->nranks > 0)) {
        return wrong_usage("%s belongs to --algos", arguments->has_kind ? "--kind" : "-p");
    }
    if (!arguments->has_pid && (arguments->json || arguments->has_last)) {
        return wrong_usage("%s belongs to --job", arguments->json ? "--json" : "--last");
    }
    return -1;
}

static void print_bytes(const char *name, int64_t bytes, const char *end)
{
    if (bytes < 0) {
        printf("%sunknown%s", name, end);
    } else {
        printf("%s%.1f GiB%s", name, (double)bytes / (double)(INT64_C(1) << 30), end);
    }
}

static int print_machine(void)
{
    tern_machine machine;
    char path[1024] = "";
    char place[1024] = "";
    int status = tern_machine_look(&machine);
    if (status != TERN_OK) {
        return status;
    }
    printf("tern        %d.%d.%d\n", TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH);
    printf("processors  %d, this process may run on %d", machine.cpus, machine.cpus_affinity);
    if (machine.cpus_usable < machine.cpus_affinity) {
        printf(", a control group's quota allows %d at once", machine.cpus_usable);
    }
    printf("\nvectors     %s\n", machine.vectors);
    print_bytes("memory      ", machine.memory_available, " available");
    print_bytes(" of ", machine.memory_total, "\n");
    if (tern_tune_path(path, sizeof path) != TERN_OK) {
        printf("tune file   %s\n", tern_last_error());
    } else if (path[0] != '\0') {
        printf("tune file   %s\n", path);
    } else if (tern_tune_default_path(place, sizeof place) == TERN_OK) {
        printf("tune file   none, so what is built in holds; `tern tune` writes %s\n", place);
    } else {
        printf("tune file   none, so what is built in holds; %s\n", tern_last_error());
    }
    const char *algorithm = getenv("TERN_ALGO");
    if (algorithm != NULL && algorithm[0] != '\0') {
        printf("TERN_ALGO   %s\n", algorithm);
    }
    printf("limits      %d ranks of a communicator, %d communicators of a job, %d calls of a rank "
           "remembered\n",
           machine.ranks_max, machine.comms_max, TERN_JOB_CALLS_MAX);
    return TERN_OK;
}

static int print_jobs(void)
{
    char *text;
    int status = tern_job_list(&text);
    if (status == TERN_OK) {
        fputs(text, stdout);
        free(text);
    }
    return status;
}

static int print_job(const struct arguments *arguments)
{
    char *text;
    int last = arguments->has_last ? (int)arguments->last : CALLS_SHOWN;
    int status = tern_job_report((int)arguments->pid, last,
                                 arguments->json ? TERN_JOB_JSON : TERN_JOB_TEXT, &text);
    if (status == TERN_OK) {
        fputs(text, stdout);
        free(text);
    }
    return status;
}

static int usual_nranks(void)
{
    tern_machine machine;
    int cpus = tern_machine_look(&machine) == TERN_OK ? machine.cpus_usable : 2;
    return cpus < 2 ? 2 : cpus > TERN_RANKS_MAX ? TERN_RANKS_MAX : cpus;
}

int cli_info(int argc, char **argv)
{
    struct arguments arguments = {0};
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status >= 0) {
        return exit_status;
    }
    int status = TERN_OK;
    if (arguments.words != NULL) {
        if (cli_info_words(arguments.words) != 0) {
            return wrong_usage("there is no list '%s', but " CLI_INFO_LISTS, arguments.words);
        }
    } else if (arguments.jobs) {
        status = print_jobs();
    } else if (arguments.algos) {
        status = cli_info_algos(arguments.has_kind ? (int)arguments.kind : -1,
                                arguments.nranks > 0 ? (int)arguments.nranks : usual_nranks());
    } else {
        status = arguments.has_pid ? print_job(&arguments) : print_machine();
    }
    if (status != TERN_OK) {
        fprintf(stderr, "tern info: %s\n", tern_last_error());
        return 1;
    }
    return 0;
}
