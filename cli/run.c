// SPDX-License-Identifier: Apache-2.0
// `tern run`: reads the command line and calls tern_launch, which does the rest.

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "hosts.h"
#include "numbers.h"
#include "options.h"
#include "page.h"
#include "ranks.h"
#include "tern/launch.h"

#define TIMEOUT_SECONDS_MAX 1e9

static const struct cli_command command = {
    .name = "run",
    .head = "usage: tern run -n N [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
            "       tern run --hosts a:2,b:2 [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
            "\n"
            "Starts N ranks (1 to 64) of a program on this machine, or on several, and waits for\n"
            "them.\n"
            "\n",
    .foot =
        "\n"
        "Exit status: 0, or that of the first rank that failed (128 + signal when one killed it);\n"
        "123 when all ended with 0 although a communicator had failed, 124 after the timeout, 126 or\n"
        "127 when the program cannot be executed or found, 125 when the ranks cannot be started,\n"
        "2 for wrong usage. TERN_LOG is 'error' for the ranks unless it is set.\n",
    .ordered = true,
};

struct arguments {
    int argc;
    char **argv;
    tern_launch_options launch;
    struct cli_hosts hosts;
    struct cli_page page;
};

static int take_nranks(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    long nranks = 0;
    // -np N, as other launchers have it, is -n with the value "p".
    if (value[0] == 'p') {
        value = value[1] != '\0'           ? value + 1
                : optind < arguments->argc ? arguments->argv[optind++]
                                           : "";
    }
    if (!cli_read_number(value, 1, TERN_RANKS_MAX, &nranks)) {
        return cli_refuse(&command, "%s takes a number of ranks from 1 to %d, not '%s'", option,
                          TERN_RANKS_MAX, value);
    }
    arguments->launch.nranks = (int)nranks;
    return -1;
}

static int take_bind(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    arguments->launch.bind = strcmp(value, "core") == 0;
    return arguments->launch.bind || strcmp(value, "none") == 0
               ? -1
               : cli_refuse(&command, "%s takes core or none, not '%s'", option, value);
}

static int take_output(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    arguments->launch.output = value;
    return value[0] != '\0' ? -1 : cli_refuse(&command, "%s takes the name of a folder", option);
}

static int take_timeout(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    double seconds;
    if (!cli_read_seconds(value, 1e-9, TIMEOUT_SECONDS_MAX, &seconds)) {
        return cli_refuse(&command, "%s takes a number of seconds above 0, not '%s'", option,
                          value);
    }
    arguments->launch.timeout_ns = (int64_t)llround(seconds * 1e9);
    return -1;
}

static int take_env(void *into, const char *option, const char *value)
{
    return cli_take_env(&command, &((struct arguments *)into)->hosts, option, value);
}

// Returns -1 to go on, else the exit status.
static int read_arguments(struct arguments *arguments)
{
    const struct cli_option options[] = {
        {"-n N, -np N", "how many ranks", .take = take_nranks},
        {"--bind core|none", "a processor for each rank, or (default) none of its own",
         .take = take_bind},
        {"--label", "put the rank in front of each line of output: [3] text",
         .flag = &arguments->launch.label},
        {"--output FOLDER", "also write what rank 3 writes to FOLDER/rank-3.log, and so on",
         .take = take_output},
        CLI_HOSTS_OPTIONS(&arguments->hosts, take_env),
        {"--timeout SECONDS", "end the job after this long (decimals allowed)",
         .take = take_timeout},
        {"--trace FILE", "write what all ranks did when as a Chrome trace, for Perfetto",
         .word = &arguments->launch.trace},
        {"--timeline FILE", "write it as a page for a browser; takes Python",
         .word = &arguments->page.file},
        {0},
    };
    int status = cli_read_options(&command, options, arguments->argc, arguments->argv, arguments);
    if (status >= 0) {
        return status;
    }
    status = cli_check_hosts(&command, &arguments->hosts);
    if (status >= 0) {
        return status;
    }
    cli_launch_hosts(&arguments->hosts, &arguments->launch);
    if (arguments->launch.nranks == 0 && arguments->launch.hosts == NULL) {
        return cli_refuse(&command, "-n N is missing: how many ranks?");
    }
    if (optind >= arguments->argc) {
        return cli_refuse(&command, "no program to run");
    }
    arguments->launch.argv = arguments->argv + optind;
    return -1;
}

// "tp_ffn on 2 ranks": what the page is of.
static int write_page(const struct arguments *arguments)
{
    const tern_launch_options *launch = &arguments->launch;
    const char *slash = strrchr(launch->argv[0], '/');
    const char *program = slash != NULL ? slash + 1 : launch->argv[0];
    char title[512];
    if (launch->hosts != NULL) {
        snprintf(title, sizeof title, "%s on %s", program, launch->hosts);
    } else {
        snprintf(title, sizeof title, "%s on %d rank%s", program, launch->nranks,
                 launch->nranks == 1 ? "" : "s");
    }
    return cli_page_write(&arguments->page, launch->trace, title);
}

// Runs the job; its trace and page are there also when it has failed. The exit status.
static int run_job(struct arguments *arguments)
{
    int status;
    if (cli_page_begin(&arguments->page, &arguments->launch.trace) != 0) {
        return CLI_EXIT_LAUNCHER_FAILED;
    }
    if (tern_launch(&arguments->launch, &status) < 0) {
        fprintf(stderr, "tern run: %s\n", tern_last_error());
        status = CLI_EXIT_LAUNCHER_FAILED;
    } else if (write_page(arguments) != 0 && status == 0) {
        status = CLI_EXIT_LOST;
    }
    cli_page_end(&arguments->page);
    return status;
}

// What the agent of a job on several hosts starts; not for people.
static int run_branch(void)
{
    int status;
    if (tern_launch_branch(&status) < 0) {
        fprintf(stderr, "tern run: %s\n", tern_last_error());
        return CLI_EXIT_LAUNCHER_FAILED;
    }
    return status;
}

int cli_run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--branch") == 0) {
        return run_branch();
    }
    struct arguments arguments = {.argc = argc, .argv = argv, .page.command = "tern run"};
    int status = read_arguments(&arguments);
    if (status >= 0) {
        return status;
    }
    // An error that nobody looks at is a wrong answer that nobody sees.
    setenv("TERN_LOG", "error", 0);
    return run_job(&arguments);
}
