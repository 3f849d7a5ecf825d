// SPDX-License-Identifier: Apache-2.0
// `tern example`: hands over to the runner of example folders, the Python module tern.run_example,
// or is one of the ranks that this starts.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "example/example.h"
#include "python.h"

enum { EXIT_NO_RUNNER = 1 };

static char module_option[] = "-m";
static char module_name[] = "tern.run_example";

static int print_help(void)
{
    puts(
        "usage: tern example run -k KERNELS_DIR -g GOLDEN.py [OPTIONS]\n"
        "\n"
        "Compiles a folder of kernels and their orchestration, prepares data, runs it on n chips of\n"
        "this machine, a process each, and verifies what they computed.\n"
        "\n"
        "'tern example run --help' lists the options, which are those of\n"
        "'python3 -m tern.run_example'. A Python with NumPy is needed: TERN_PYTHON, or python3, or\n"
        "/usr/bin/python3.\n"
        "\n"
        "Exit status: 0 when all is verified, 1 when not, 2 for wrong usage.");
    return 0;
}

// Only returns when there is no Python.
static int run(int argc, char **argv)
{
    static const struct cli_python wanted = {.command = "tern example",
                                             .file = "tern/run_example.py",
                                             .needs = "numpy",
                                             .called = "NumPy",
                                             .from = "python3-numpy"};
    char **again = calloc((size_t)argc + 3, sizeof *again);
    char *python = again != NULL ? cli_find_python(&wanted) : NULL;
    if (python != NULL) {
        again[0] = python;
        again[1] = module_option;
        again[2] = module_name;
        memcpy(&again[3], &argv[1], (size_t)(argc - 1) * sizeof *argv);
        execvp(python, again);
    }
    free(again);
    return EXIT_NO_RUNNER;
}

int cli_example(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "run") == 0) {
        return run(argc - 1, argv + 1);
    }
    if (strcmp(word, "rank") == 0) {
        return cli_example_rank(argc - 1, argv + 1);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_help();
    }
    fprintf(stderr, "tern example: %s%s%s; see 'tern example --help'\n", word[0] != '\0' ? "'" : "",
            word[0] != '\0' ? word : "no command given: run",
            word[0] != '\0' ? "' is not 'run'" : "");
    return CLI_EXIT_USAGE;
}
