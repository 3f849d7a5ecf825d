// SPDX-License-Identifier: Apache-2.0
// Whether something holds of a trace, in Python's words.
#ifndef TERN_TEST_TRACE_HOLDS_H
#define TERN_TEST_TRACE_HOLDS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// An expression over `trace`, the whole file, and E, all its events, after lines that define more.
// False is said on stderr.
static inline bool trace_holds(const char *path, const char *lines, const char *expression)
{
    char command[4096];
    snprintf(command, sizeof command,
             "python3 -c '\n"
             "import json, sys\n"
             "trace = json.load(open(\"%s\", encoding=\"utf-8\"))\n"
             "E = trace[\"traceEvents\"]\n"
             "%s"
             "sys.exit(0 if (%s) else 1)'",
             path, lines, expression);
    if (system(command) == 0) { // NOLINT: words of tests
        return true;
    }
    fprintf(stderr, "does not hold of the trace: %s\n", expression);
    return false;
}

#endif
