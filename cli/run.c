// SPDX-License-Identifier: Apache-2.0
// `tern run`: reads the command line and calls tern_launch, which does the rest.

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "suggest.h"
#include "tern/launch.h"

// As timeout(1) and env(1) say that they failed themselves, not the program.
#define EXIT_LAUNCHER_FAILED 125
#define TIMEOUT_SECONDS_MAX 1e9

static const char help[] =
    "usage: tern run -n N [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Starts N ranks (1 to 64) of a program on this machine and waits for them.\n"
    "\n"
    "  -n N, -np N        how many ranks\n"
    "  --bind core|none   a processor for each rank, or (default) none of its own\n"
    "  --label            put the rank in front of each line of output: [3] text\n"
    "  --output FOLDER    also write what rank 3 writes to FOLDER/rank-3.log, and so on\n"
    "  --timeout SECONDS  end the job after this long (decimals allowed)\n"
    "  --trace FILE       write what all ranks did when as a Chrome trace, for Perfetto\n"
    "  -h, --help         print this text\n"
    "\n"
    "Exit status: 0, or that of the first rank that failed (128 + signal when one killed it);\n"
    "123 when all ended with 0 although a communicator had failed, 124 after the timeout, 126 or\n"
    "127 when the program cannot be executed or found, 125 when the ranks cannot be started,\n"
    "2 for wrong usage. TERN_LOG is 'error' for the ranks unless it is set.\n";

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern run: %s; see 'tern run --help'\n", sentence);
    return CLI_EXIT_USAGE;
}

// Digits only: strtol alone would take " +4".
static bool read_nranks(const char *text, int *nranks)
{
    size_t length = strlen(text);
    if (length == 0 || length > 3 || strspn(text, "0123456789") != length) {
        return false;
    }
    int value = atoi(text);
    if (value < 1 || value > TERN_RANKS_MAX) {
        return false;
    }
    *nranks = value;
    return true;
}

static bool read_seconds(const char *text, int64_t *duration_ns)
{
    if (strspn(text, "0123456789.") != strlen(text)) {
        return false;
    }
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 1e-9 && seconds <= TIMEOUT_SECONDS_MAX)) {
        return false;
    }
    *duration_ns = (int64_t)llround(seconds * 1e9);
    return true;
}

enum option_code { OPTION_BIND = 256, OPTION_LABEL, OPTION_OUTPUT, OPTION_TIMEOUT, OPTION_TRACE };

// Returns -1 to go on, else the exit status.
static int read_options(int argc, char **argv, tern_launch_options *options)
{
    static const struct option known[] = {
        {"bind", required_argument, NULL, OPTION_BIND},
        {"label", no_argument, NULL, OPTION_LABEL},
        {"output", required_argument, NULL, OPTION_OUTPUT},
        {"timeout", required_argument, NULL, OPTION_TIMEOUT},
        {"trace", required_argument, NULL, OPTION_TRACE},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    int code;
    // '+': what follows the program's name is the program's. ':': tell a missing argument apart.
    while ((code = getopt_long(argc, argv, "+:n:h", known, NULL)) != -1) {
        switch (code) {
        case 'n':
            // -np N, as other launchers have it, is -n with the value "p".
            if (optarg[0] == 'p') {
                optarg = optarg[1] != '\0' ? optarg + 1 : optind < argc ? argv[optind++] : "";
            }
            if (!read_nranks(optarg, &options->nranks)) {
                return wrong_usage("-n takes a number of ranks from 1 to %d, not '%s'",
                                   TERN_RANKS_MAX, optarg);
            }
            break;
        case OPTION_BIND:
            options->bind = strcmp(optarg, "core") == 0;
            if (!options->bind && strcmp(optarg, "none") != 0) {
                return wrong_usage("--bind takes core or none, not '%s'", optarg);
            }
            break;
        case OPTION_LABEL:
            options->label = true;
            break;
        case OPTION_OUTPUT:
            if (optarg[0] == '\0') {
                return wrong_usage("--output takes the name of a folder");
            }
            options->output = optarg;
            break;
        case OPTION_TIMEOUT:
            if (!read_seconds(optarg, &options->timeout_ns)) {
                return wrong_usage("--timeout takes a number of seconds above 0, not '%s'", optarg);
            }
            break;
        case OPTION_TRACE:
            options->trace = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case ':':
            return wrong_usage("%s needs a value", argv[optind - 1]);
        default:
            // A short option may be in the middle of an argument, a long one is all of it.
            if (optopt > 0 && optopt < OPTION_BIND) {
                return wrong_usage("there is no option '-%c'", optopt);
            }
            if (optopt == 0) {
                return wrong_usage("there is no option '%s'%s", argv[optind - 1],
                                   cli_suggest_option(argv[optind - 1], known));
            }
            return wrong_usage("'%s': it takes no value", argv[optind - 1]);
        }
    }
    return -1;
}

int cli_run(int argc, char **argv)
{
    tern_launch_options options = {0};
    int status = read_options(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    if (options.nranks == 0) {
        return wrong_usage("-n N is missing: how many ranks?");
    }
    if (optind >= argc) {
        return wrong_usage("no program to run");
    }
    options.argv = argv + optind;
    // An error that nobody looks at is a wrong answer that nobody sees.
    setenv("TERN_LOG", "error", 0);
    if (tern_launch(&options, &status) < 0) {
        fprintf(stderr, "tern run: %s\n", tern_last_error());
        return EXIT_LAUNCHER_FAILED;
    }
    return status;
}
