// SPDX-License-Identifier: Apache-2.0
// `tern example`: hands over to the runner of example folders, the Python module tern.run_example,
// or is one of the ranks that this starts.

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "example/example.h"
#include "place.h"

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

// Whether this is a Python with what the runner needs.
static bool has_numpy(char *python)
{
    char command[] = "-c";
    char program[] = "import importlib.util as u, sys; sys.exit(u.find_spec('numpy') is None)";
    char *const argv[] = {python, command, program, NULL};
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
    int error = posix_spawnp(&pid, python, &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    while (error == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return error == 0 && status == 0;
}

// The folder of the package: where this command is installed, else where it was built.
static bool find_package(char *folder, size_t size)
{
    char prefix[PATH_MAX];
    char module[2 * PATH_MAX];
    const char *const places[] = {"/" TERN_LIBDIR "/tern/python", NULL};
    for (int i = 0; i < 2; i++) {
        if (places[i] != NULL && !cli_find_prefix(prefix, sizeof prefix)) {
            continue;
        }
        snprintf(folder, size, "%s%s", places[i] != NULL ? prefix : TERN_BUILD_PYTHON,
                 places[i] != NULL ? places[i] : "");
        snprintf(module, sizeof module, "%s/tern/run_example.py", folder);
        if (access(module, R_OK) == 0) {
            return true;
        }
    }
    fprintf(stderr,
            "tern example: there is no tern/run_example.py in %s; install tern, or run it "
            "from its build\n",
            folder);
    return false;
}

// The runner finds its package, and this very command.
static void set_environment(const char *folder)
{
    char path[4 * PATH_MAX];
    char self[PATH_MAX];
    const char *before = getenv("PYTHONPATH");
    bool has_more = before != NULL && before[0] != '\0';
    snprintf(path, sizeof path, "%s%s%s", folder, has_more ? ":" : "", has_more ? before : "");
    setenv("PYTHONPATH", path, 1);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        setenv("TERN_COMMAND", self, 1);
    }
}

// Only returns when there is no Python.
static int run(int argc, char **argv)
{
    char folder[2 * PATH_MAX];
    char usual[] = "python3";
    char system[] = "/usr/bin/python3";
    char *asked = getenv("TERN_PYTHON");
    char *pythons[] = {asked != NULL && asked[0] != '\0' ? asked : usual, system};
    char **again = calloc((size_t)argc + 3, sizeof *again);
    if (again == NULL || !find_package(folder, sizeof folder)) {
        free(again);
        return EXIT_NO_RUNNER;
    }
    again[1] = module_option;
    again[2] = module_name;
    memcpy(&again[3], &argv[1], (size_t)(argc - 1) * sizeof *argv);
    for (int i = 0; i < (pythons[0] == asked ? 1 : 2); i++) {
        if (has_numpy(pythons[i])) {
            again[0] = pythons[i];
            set_environment(folder);
            execvp(pythons[i], again);
        }
    }
    fprintf(stderr,
            "tern example: %s is no Python with NumPy; install python3-numpy, or say in "
            "TERN_PYTHON which Python to take\n",
            pythons[0]);
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
