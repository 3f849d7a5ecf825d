// SPDX-License-Identifier: Apache-2.0
// The command `tern`: finds the subcommand and hands over to it.

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "suggest.h"
#include "tern/api.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", cli_run, "start the ranks of a program on this machine"},
    {"plan", cli_plan, "write the plan of a collective, or say what it costs"},
    {"check", cli_check, "prove a plan, or show what is wrong with it"},
    {"sim", cli_sim, "simulate a plan on a topology: its time, and where it goes"},
    {"exec", cli_exec, "run a plan on data, verify, and count the bytes on each link"},
    {"perf", cli_perf, "measure a collective call over sizes, and check its results"},
    {"tune", cli_tune, "measure which algorithms suit this machine, and write that down"},
    {"kernel-cc", cli_kernel_cc, "compile kernels for the PTO ISA, and what launches them"},
    {"example", cli_example, "compile a folder of kernels, run it on n chips, and verify it"},
    {"info", cli_info, "this build, what is selected when, and what a running job does"},
};

#define NCOMMANDS (sizeof commands / sizeof commands[0])

static int print_help(void)
{
    puts("usage: tern COMMAND [ARGUMENTS]\n"
         "       tern help COMMAND\n"
         "       tern --help | --version\n");
    for (size_t i = 0; i < NCOMMANDS; i++) {
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\n'tern COMMAND --help' says more about a command.");
    return 0;
}

// The exit status, but for output that got lost: a full disk must not look like a success.
static int end(const char *name, int status)
{
    bool lost = ferror(stdout) != 0;
    errno = 0;
    lost = fflush(stdout) != 0 || lost;
    if (!lost || status != 0) {
        return status;
    }
    fprintf(stderr, "tern%s%s: standard output cannot be written: %s\n", name[0] != '\0' ? " " : "",
            name, errno != 0 ? strerror(errno) : "an earlier write failed");
    return CLI_EXIT_LOST;
}

// argv[0] is the word of a command, or what was typed instead of one.
static int run_command(int argc, char **argv)
{
    static const struct option known[] = {{"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    if (argv[0][0] == '-') {
        fprintf(stderr, "tern: there is no option '%s'%s; see 'tern --help'\n", argv[0],
                cli_suggest_option(argv[0], known));
        return CLI_EXIT_USAGE;
    }
    struct cli_nearest nearest = {.word = argv[0]};
    for (size_t i = 0; i < NCOMMANDS; i++) {
        if (strcmp(argv[0], commands[i].name) == 0) {
            return end(commands[i].name, commands[i].run(argc, argv));
        }
        cli_nearest_offer(&nearest, commands[i].name);
    }
    if (nearest.best != NULL) {
        fprintf(stderr,
                "tern: there is no command '%s' (did you mean '%s'?); 'tern --help' lists them\n",
                argv[0], nearest.best);
    } else {
        fprintf(stderr, "tern: there is no command '%s'; 'tern --help' lists them\n", argv[0]);
    }
    return CLI_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("tern: no command given; 'tern --help' lists them\n", stderr);
        return CLI_EXIT_USAGE;
    }
    bool help = strcmp(argv[1], "help") == 0;
    if (help && argc > 2) { // tern help COMMAND
        char option[] = "--help";
        return run_command(2, (char *[]){argv[2], option, NULL});
    }
    if (help || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return end("", print_help());
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tern %d.%d.%d\n", TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH);
        return end("", 0);
    }
    return run_command(argc - 1, argv + 1);
}
