// SPDX-License-Identifier: Apache-2.0
// The trace of a simulated run, and the page that tern.timeline makes of it.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "python.h"
#include "sim/sim.h"
#include "tern/file.h"

int sim_begin_page(struct sim_arguments *arguments)
{
    static const char end[] = ".json";
    const char *folder = getenv("TMPDIR");
    if (arguments->timeline == NULL) {
        return 0;
    }
    if (tern_file_probe(arguments->timeline) != TERN_OK) {
        fprintf(stderr, "tern sim: --timeline: %s\n", tern_last_error());
        return 1;
    }
    if (arguments->options.trace != NULL) {
        return 0;
    }
    int length = snprintf(arguments->page_trace, sizeof arguments->page_trace,
                          "%s/tern-sim-XXXXXX%s", folder != NULL ? folder : "/tmp", end);
    bool fits = (size_t)length < sizeof arguments->page_trace;
    int file = fits ? mkstemps(arguments->page_trace, (int)strlen(end)) : -1;
    if (file < 0) {
        fprintf(stderr, "tern sim: --timeline: cannot make a file in %s: %s\n",
                folder != NULL ? folder : "/tmp", strerror(fits ? errno : ENAMETOOLONG));
        arguments->page_trace[0] = '\0';
        return 1;
    }
    close(file);
    arguments->options.trace = arguments->page_trace;
    return 0;
}

void sim_end_page(struct sim_arguments *arguments)
{
    if (arguments->page_trace[0] != '\0') {
        unlink(arguments->page_trace);
    }
}

// Waits for the Python that makes the page.
static int make_page(char *python, const char *trace, const char *page, const char *title)
{
    const char *words[] = {python, "-m", "tern.timeline", trace, "-o", page, "--title", title};
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
        fprintf(stderr, "tern sim: --timeline: cannot run %s: %s\n", python, strerror(error));
    }
    for (int i = 0; i < WORDS; i++) {
        free(copies[i]);
    }
    return error != 0 || status != 0; // then it has said why
}

int sim_show_page(const struct sim_arguments *arguments, const struct sim_case *one)
{
    static const struct cli_python wanted = {.command = "tern sim",
                                             .file = "tern/timeline/__main__.py",
                                             .needs = "json",
                                             .called = "its library",
                                             .from = "python3"};
    const tern_sim_facts *facts = tern_sim_get_facts(one->sim);
    char title[512];
    if (facts->traced_us > 0 && !isinf(facts->traced_us)) {
        fprintf(stderr,
                "tern sim: the trace holds %" PRIu64 " events, up to %.3f us of %.3f us; "
                "--trace-events N is for more\n",
                facts->traced, facts->traced_us, facts->time_us);
    }
    if (arguments->timeline == NULL) {
        return 0;
    }
    snprintf(title, sizeof title, "%s %s, %" PRIu64 " bytes, on %s: simulated",
             tern_plan_kind_name(one->spec->kind), one->spec->algorithm, one->spec->bytes,
             one->topo);
    char *python = cli_find_python(&wanted);
    return python == NULL ||
           make_page(python, arguments->options.trace, arguments->timeline, title) != 0;
}
