// SPDX-License-Identifier: Apache-2.0
// `tern info`: what this build and this machine are, which algorithms are selected when and why,
// and what the ranks of a running job are doing.

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "info/info.h"
#include "numbers.h"
#include "options.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/coll.h"
#include "tern/job.h"
#include "tern/machine.h"
#include "tern/tune.h"

#define CALLS_SHOWN 8

static const struct cli_command command = {
    .name = "info",
    .head = "usage: tern info\n"
            "       tern info --algos [-p RANKS] [--kind KIND]\n"
            "       tern info --jobs\n"
            "       tern info --job PID [--last N] [--json]\n"
            "       tern info --words LIST\n"
            "\n"
            "Says what this build and this machine are.\n"
            "\n",
    .foot = "\n"
            "Exit status: 0; 1 when it cannot be said; 2 wrong usage.\n",
};

struct arguments {
    bool algos, jobs, json, has_kind;
    const char *words;
    long pid, last, nranks; // pid and nranks 0, last -1: not given
    tern_coll_kind kind;
};

static int take_pid(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    return cli_read_number(value, 1, INT_MAX, &arguments->pid)
               ? -1
               : cli_refuse(&command, "%s takes the number of a process, not '%s'", option, value);
}

static int take_kind(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    arguments->has_kind = true;
    return tern_coll_kind_parse(value, &arguments->kind) == TERN_OK
               ? -1
               : cli_refuse(&command, "%s: %s%s", option, tern_last_error(),
                            cli_suggest_kind(value));
}

static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    const struct cli_option options[] = {
        {"--algos", "the algorithms of each kind of collective, and which sizes get which, and why",
         .flag = &arguments->algos},
        {"-p RANKS", "for so many ranks; default: the processors there are, at least 2",
         .number = &arguments->nranks, .least = 1, .most = TERN_RANKS_MAX,
         .what = "a number of ranks"},
        {"--kind KIND", "only this kind", .take = take_kind},
        {"--jobs", "the jobs of this user: process, ranks, age, program", .flag = &arguments->jobs},
        {"--job PID",
         "what the ranks of a job do, while it runs or hangs; PID: `tern run`, or a rank",
         .take = take_pid},
        {"--last N", "the last N calls of each rank, 0 to 64; default: 8",
         .number = &arguments->last, .most = TERN_JOB_CALLS_MAX},
        {"--json", "as JSON", .flag = &arguments->json},
        {"--words L", "the words that commands take, one a line; L is one of\n" CLI_INFO_LISTS,
         .word = &arguments->words},
        {0},
    };
    int status = cli_read_options(&command, options, argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    if (optind < argc) {
        return cli_refuse(&command, "what is '%s'?", argv[optind]);
    }
    if (arguments->algos + arguments->jobs + (arguments->pid > 0) + (arguments->words != NULL) >
        1) {
        return cli_refuse(&command, "one of --algos, --jobs, --job and --words, not several");
    }
    if (!arguments->algos && (arguments->has_kind || arguments->nranks > 0)) {
        return cli_refuse(&command, "%s belongs to --algos", arguments->has_kind ? "--kind" : "-p");
    }
    if (arguments->pid == 0 && (arguments->json || arguments->last >= 0)) {
        return cli_refuse(&command, "%s belongs to --job", arguments->json ? "--json" : "--last");
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

static void print_variable(const char *name)
{
    const char *value = getenv(name);
    if (value != NULL && value[0] != '\0') {
        printf("%-11s %s\n", name, value);
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
    print_variable("TERN_ALGO");
    print_variable("TERN_AGREE");
    print_variable("TERN_DIRECT");
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
    int last = arguments->last >= 0 ? (int)arguments->last : CALLS_SHOWN;
    int status = tern_job_report((int)arguments->pid, last,
                                 arguments->json ? TERN_JOB_JSON : TERN_JOB_TEXT, &text);
    if (status == TERN_OK) {
        fputs(text, stdout);
        free(text);
    }
    return status;
}

int cli_info(int argc, char **argv)
{
    struct arguments arguments = {.last = -1};
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status >= 0) {
        return exit_status;
    }
    int status = TERN_OK;
    if (arguments.words != NULL) {
        if (cli_info_words(arguments.words) != 0) {
            return cli_refuse(&command, "there is no list '%s', but " CLI_INFO_LISTS,
                              arguments.words);
        }
    } else if (arguments.jobs) {
        status = print_jobs();
    } else if (arguments.algos) {
        status = cli_info_algos(arguments.has_kind ? (int)arguments.kind : -1,
                                arguments.nranks > 0 ? (int)arguments.nranks : cli_usual_nranks());
    } else {
        status = arguments.pid > 0 ? print_job(&arguments) : print_machine();
    }
    if (status != TERN_OK) {
        fprintf(stderr, "tern info: %s\n", tern_last_error());
        return 1;
    }
    return 0;
}
