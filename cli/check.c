// SPDX-License-Identifier: Apache-2.0
// `tern check`: proves a plan file, or shows what is wrong with it. Exit status 0: proved; 1:
// refuted, or right but not in place; 2: the file or the command line cannot be read.

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check_hccl.h"
#include "cli.h"
#include "options.h"
#include "search.h"
#include "tern/check.h"
#include "tern/plan.h"
#include "topo.h"

static const struct cli_command command = {
    .name = "check",
    .head =
        "usage: tern check FILE [--in-place] [--topo T] [--cut A-B] ... [--style hccl]\n"
        "       tern check [FILE] --certificate PROOF --topo T [--cut A-B] ...\n"
        "\n"
        "Proves that a plan does what its kind says under every interleaving, or lists what is wrong.\n"
        "FILE may be '-' for standard input. Of a certificate: works out what it proves.\n"
        "\n",
    .foot = "\n"
            "Exit status: 0 proved, 1 refuted (or right, but not in place), 2 cannot be read.\n",
};

struct arguments {
    const char *file, *certificate;
    struct cli_topo topo;
    bool in_place, is_hccl;
};

static int take_style(void *into, const char *option, const char *word)
{
    struct arguments *arguments = into;
    arguments->is_hccl = strcmp(word, "hccl") == 0;
    return arguments->is_hccl || strcmp(word, "tern") == 0
               ? -1
               : cli_refuse(&command, "%s takes tern or hccl, not '%s'", option, word);
}

static int take_edit(void *into, const char *option, const char *links)
{
    struct arguments *arguments = into;
    return cli_take_edit(&arguments->topo, option, links);
}

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    const struct cli_option options[] = {
        {"--in-place", "also when out is the memory of in, on any of the ranks",
         .flag = &arguments->in_place},
        {"--topo T",
         "the links there are: mesh:8, torus:4x4, hosts:2x8, machines:2x4, a preset, a\nfile; default: all",
         .word = &arguments->topo.word},
        {"--cut A-B", "without the link between two ranks; A>B for one direction; repeatable",
         .take = take_edit},
        {"--slow A-B=F", "with F times the bandwidth on it; no proof depends on that; repeatable",
         .take = take_edit},
        {"--certificate PROOF", "the least time that this certificate proves, of tern plan",
         .word = &arguments->certificate},
        {"--style S", "hccl: the checks, codes and tasks of HCCL's analyser; default: tern",
         .take = take_style},
        {0},
    };
    arguments->topo.command = &command;
    int status = cli_read_options(&command, options, argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    bool none = argc == optind && arguments->certificate != NULL;
    if (argc - optind != 1 && !none) {
        return cli_refuse(&command,
                          argc == optind ? "which FILE?" : "only one FILE can be checked");
    }
    if (arguments->certificate != NULL && arguments->topo.word == NULL) {
        return cli_refuse(&command, "--certificate needs --topo: on which ranks and links?");
    }
    if (arguments->topo.count > 0 && arguments->topo.word == NULL) {
        return cli_refuse(&command, "--cut and --slow need --topo: of which topology?");
    }
    arguments->file = none ? NULL : argv[optind];
    return -1;
}

// The exit status.
static int check_plan(const struct arguments *arguments, const tern_plan *plan,
                      const tern_topo *topo)
{
    tern_check *check = NULL;
    int exit_status = CLI_EXIT_USAGE;
    bool lost = false;
    int status = arguments->in_place ? tern_check_plan_in_place(plan, topo, &check)
                                     : tern_check_plan(plan, topo, &check);
    if (status == TERN_OK && arguments->is_hccl) {
        lost = check_print_hccl(check, plan, arguments->in_place, stdout) != 0;
    } else if (status == TERN_OK) {
        status = tern_check_print(check, stdout);
    }
    if (lost) {
        fputs("tern check: no memory for the report\n", stderr);
    } else if (status != TERN_OK) {
        fprintf(stderr, "tern check: %s\n", tern_last_error());
    } else {
        exit_status = tern_check_proved(check) ? 0 : 1;
    }
    tern_check_destroy(check);
    return exit_status;
}

static int check_both(const struct arguments *arguments, const tern_topo *topo)
{
    tern_plan *plan = NULL;
    int exit_status = 0;
    if (arguments->file != NULL && tern_plan_load(arguments->file, &plan) != TERN_OK) {
        fprintf(stderr, "tern check: %s\n", tern_last_error());
        return CLI_EXIT_USAGE;
    }
    if (plan != NULL) {
        exit_status = check_plan(arguments, plan, topo);
    }
    if (arguments->certificate != NULL && exit_status != CLI_EXIT_USAGE) {
        int status = cli_certificate_print(arguments->certificate, topo, plan);
        if (status < 0) {
            fprintf(stderr, "tern check: %s\n", tern_last_error());
        }
        exit_status = status == TERN_OK ? exit_status : CLI_EXIT_USAGE;
    }
    tern_plan_destroy(plan);
    return exit_status;
}

int cli_check(int argc, char **argv)
{
    struct arguments arguments = {0};
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status >= 0) {
        return exit_status;
    }
    tern_topo *topo = NULL;
    exit_status =
        cli_make_topo(&arguments.topo, &topo) == 0 ? check_both(&arguments, topo) : CLI_EXIT_USAGE;
    tern_topo_destroy(topo);
    return exit_status;
}
