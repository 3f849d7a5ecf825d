// SPDX-License-Identifier: Apache-2.0
// The Python that runs what of a command is written in Python.

#include "python.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "place.h"

static bool has_module(char *python, const char *module)
{
    char command[] = "-c";
    char program[] = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)";
    char name[64];
    char *const argv[] = {python, command, program, name, NULL};
    snprintf(name, sizeof name, "%s", module);
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
static bool find_package(const struct cli_python *wanted, char *folder, size_t size)
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
        snprintf(module, sizeof module, "%s/%s", folder, wanted->file);
        if (access(module, R_OK) == 0) {
            return true;
        }
    }
    fprintf(stderr, "%s: there is no %s in %s; install tern, or run it from its build\n",
            wanted->command, wanted->file, folder);
    return false;
}

// It finds its package, and this very command.
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

// The folder of the package goes to `folder`, of 2 * PATH_MAX bytes.
static char *find(const struct cli_python *wanted, char *folder)
{
    static char usual[] = "python3";
    static char system[] = "/usr/bin/python3";
    char *asked = getenv("TERN_PYTHON");
    char *pythons[] = {asked != NULL && asked[0] != '\0' ? asked : usual, system};
    if (!find_package(wanted, folder, (size_t)2 * PATH_MAX)) {
        return NULL;
    }
    for (int i = 0; i < (pythons[0] == asked ? 1 : 2); i++) {
        if (has_module(pythons[i], wanted->needs)) {
            return pythons[i];
        }
    }
    fprintf(stderr,
            "%s: %s is no Python with %s; install %s, or say in TERN_PYTHON which Python to "
            "take\n",
            wanted->command, pythons[0], wanted->called, wanted->from);
    return NULL;
}

char *cli_look_for_python(const struct cli_python *wanted)
{
    char folder[2 * PATH_MAX];
    signal(SIGCHLD, SIG_DFL); // where the parent ignores it, nobody hears how a child has ended
    return find(wanted, folder);
}

char *cli_find_python(const struct cli_python *wanted)
{
    char folder[2 * PATH_MAX];
    char *python = find(wanted, folder);
    if (python != NULL) {
        set_environment(folder);
    }
    return python;
}
