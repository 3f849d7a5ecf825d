// SPDX-License-Identifier: Apache-2.0
// The page of a run. Python is looked for before the run, whose trace cannot be made again.

#include "page.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "python.h"
#include "tern/file.h"

static struct cli_python wanted_by(const struct cli_page *page)
{
    return (struct cli_python){.command = page->command,
                               .file = "tern/timeline/__main__.py",
                               .needs = "json",
                               .called = "its library",
                               .from = "python3"};
}

// What ends this command takes its file away.
static char ours[sizeof((struct cli_page *)NULL)->own];
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void remove_ours(int number)
{
    unlink(ours);
    signal(number, SIG_DFL);
    raise(number);
}

// Makes the file of a pattern, as mkstemps, and from then on it is looked after: no signal comes in
// between.
static int make_ours(char *pattern, size_t end)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int file = mkstemps(pattern, (int)end);
    int error = errno;
    if (file >= 0) {
        snprintf(ours, sizeof ours, "%s", pattern);
    }
    for (size_t i = 0; file >= 0 && i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction now;
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            signal(ends[i], remove_ours);
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file;
}

// A file in TMPDIR: "tern-page-XXXXXX.json".
static int make_own(struct cli_page *page)
{
    static const char end[] = ".json";
    const char *folder = getenv("TMPDIR");
    int length = snprintf(page->own, sizeof page->own, "%s/tern-page-XXXXXX%s",
                          folder != NULL ? folder : "/tmp", end);
    bool fits = (size_t)length < sizeof page->own;
    int file = fits ? make_ours(page->own, strlen(end)) : -1;
    if (file < 0) {
        fprintf(stderr, "%s: --timeline: cannot make a file in %s: %s\n", page->command,
                folder != NULL ? folder : "/tmp", strerror(fits ? errno : ENAMETOOLONG));
        page->own[0] = '\0';
        return 1;
    }
    close(file);
    return 0;
}

int cli_page_begin(struct cli_page *page, const char **trace)
{
    page->own[0] = '\0';
    if (page->file == NULL) {
        return 0;
    }
    if (tern_file_probe(page->file) != TERN_OK) {
        fprintf(stderr, "%s: --timeline: %s\n", page->command, tern_last_error());
        return 1;
    }
    if (*trace != NULL && strcmp(*trace, page->file) == 0) {
        fprintf(stderr, "%s: --trace and --timeline are two files, not both %s\n", page->command,
                page->file);
        return 1;
    }
    struct cli_python wanted = wanted_by(page);
    if (cli_look_for_python(&wanted) == NULL) {
        return 1;
    }
    if (*trace == NULL) {
        if (make_own(page) != 0) {
            return 1;
        }
        *trace = page->own;
    }
    return 0;
}

// Waits for the Python that makes the page.
static int make_page(const struct cli_page *page, char *python, const char *trace,
                     const char *title)
{
    const char *words[] = {python, "-m",       "tern.timeline", trace,
                           "-o",   page->file, "--title",       title};
    enum { WORDS = sizeof words / sizeof words[0] };
    char *copies[WORDS + 1] = {NULL};
    pid_t pid;
    int status = 0;
    int error = 0;
    for (int i = 0; i < WORDS && error == 0; i++) {
        copies[i] = strdup(words[i]);
        error = copies[i] == NULL ? ENOMEM : 0;
    }
    error = error != 0 ? error : posix_spawnp(&pid, python, NULL, NULL, copies, environ);
    while (error == 0 && waitpid(pid, &status, 0) < 0) {
        error = errno == EINTR ? 0 : errno;
    }
    if (error != 0) {
        fprintf(stderr, "%s: --timeline: cannot run %s: %s\n", page->command, python,
                strerror(error));
    }
    for (int i = 0; i < WORDS; i++) {
        free(copies[i]);
    }
    return error != 0 || status != 0; // then it has said why
}

int cli_page_write(const struct cli_page *page, const char *trace, const char *title)
{
    if (page->file == NULL) {
        return 0;
    }
    struct cli_python wanted = wanted_by(page);
    char *python = cli_find_python(&wanted);
    return python == NULL || make_page(page, python, trace, title) != 0;
}

void cli_page_end(const struct cli_page *page)
{
    if (page->own[0] != '\0') {
        unlink(page->own);
        ours[0] = '\0';
    }
}
