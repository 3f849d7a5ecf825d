// SPDX-License-Identifier: Apache-2.0
// `tern check`: proves a plan file, or shows what is wrong with it. Exit status 0: proved; 1: refuted,
// or right but not in place; 2: the file or the command line cannot be read.

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "suggest.h"
#include "tern/check.h"
#include "tern/plan.h"
#include "tern/topo.h"

static const char help[] =
    "usage: tern check FILE [--in-place] [--topo T] [--cut A-B] ...\n"
    "\n"
    "Proves that a plan does what its kind says under every interleaving, or lists what is wrong.\n"
    "FILE may be '-' for standard input.\n"
    "\n"
    "  --in-place   also when out is the memory of in, on any of the ranks\n"
    "  --topo T     the links there are: mesh:8, ring:8, hosts:2x8, a preset, a file; default: all\n"
    "  --cut A-B    without the link between two ranks; A>B for one direction; repeatable\n"
    "  -h, --help   print this text\n"
    "\n"
    "Exit status: 0 proved, 1 refuted (or right, but not in place), 2 cannot be read.\n";

enum { CUTS_MAX = 1024 };

struct arguments {
    const char *file;
    const char *topo;
    const char *cuts[CUTS_MAX];
    int cuts_count;
    bool in_place;
};

static int wrong_usage(const char *what, const char *which)
{
    fprintf(stderr, "tern check: %s%s; see 'tern check --help'\n", what, which);
    return CLI_EXIT_USAGE;
}

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    static const struct option known[] = {{"in-place", no_argument, NULL, 'i'},
                                          {"topo", required_argument, NULL, 't'},
                                          {"cut", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    opterr = 0;
    int code;
    while ((code = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
        switch (code) {
        case 'i':
            arguments->in_place = true;
            break;
        case 't':
            arguments->topo = optarg;
            break;
        case 'c':
            if (arguments->cuts_count == CUTS_MAX) {
                return wrong_usage("more than 1024 links are cut", "");
            }
            arguments->cuts[arguments->cuts_count++] = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case ':':
            return wrong_usage("a value is missing after ", argv[optind - 1]);
        default:
            fprintf(stderr, "tern check: there is no option '%s'%s; see 'tern check --help'\n",
                    argv[optind - 1], cli_suggest_option(argv[optind - 1], known));
            return CLI_EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        return wrong_usage(argc == optind ? "which FILE?" : "only one FILE can be checked", "");
    }
    if (arguments->cuts_count > 0 && arguments->topo == NULL) {
        return wrong_usage("--cut needs --topo: of which topology?", "");
    }
    arguments->file = argv[optind];
    return -1;
}

static int make_topo(const struct arguments *arguments, tern_topo **topo)
{
    if (arguments->topo == NULL) {
        return TERN_OK;
    }
    int status = tern_topo_create(arguments->topo, topo);
    for (int i = 0; status == TERN_OK && i < arguments->cuts_count; i++) {
        status = tern_topo_cut(*topo, arguments->cuts[i]);
    }
    return status;
}

int cli_check(int argc, char **argv)
{
    struct arguments arguments = {0};
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status >= 0) {
        return exit_status;
    }
    tern_topo *topo = NULL;
    tern_plan *plan = NULL;
    tern_check *check = NULL;
    int status = make_topo(&arguments, &topo);
    status = status == TERN_OK ? tern_plan_load(arguments.file, &plan) : status;
    if (status == TERN_OK) {
        status = arguments.in_place ? tern_check_plan_in_place(plan, topo, &check)
                                    : tern_check_plan(plan, topo, &check);
    }
    status = status == TERN_OK ? tern_check_print(check, stdout) : status;
    if (status != TERN_OK) {
        fprintf(stderr, "tern check: %s\n", tern_last_error());
        exit_status = CLI_EXIT_USAGE;
    } else {
        exit_status = tern_check_proved(check) ? 0 : 1;
    }
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return exit_status;
}
